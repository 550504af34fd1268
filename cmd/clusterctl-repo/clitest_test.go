package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
)

// update is the flag that rewrites what tests compare with.
var update = flag.Bool("update", false, "rewrite the files that tests compare with")

// A scriptCmd is a command of scripts.
type scriptCmd = func(ts *testscript.TestScript, neg bool, args []string)

// startTests runs the tests, whose scripts start the program as clusterctl-repo.
func startTests(m *testing.M, run func(context.Context, cli.IO) int) {
	testscript.Main(m, map[string]func(){
		"clusterctl-repo": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			os.Exit(run(ctx, cli.OS("")))
		},
	})
}

// runScripts runs the command lines of a folder as a user would type them. Each script has
// "exits" and the given commands.
func runScripts(t *testing.T, p testscript.Params) {
	p.UpdateScripts, p.RequireExplicitExec = *update, true
	all := map[string]scriptCmd{"exits": exits}
	for name, cmd := range p.Cmds {
		all[name] = cmd
	}
	p.Cmds = all
	testscript.Run(t, p)
}

// exits runs the program and checks the exit code: exits CODE ARG…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE [ARG...]")
	}
	err := ts.Exec("clusterctl-repo", args[1:]...)
	got := "0"
	if e, ok := err.(interface{ ExitCode() int }); ok {
		got = string(rune('0' + e.ExitCode()))
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}
