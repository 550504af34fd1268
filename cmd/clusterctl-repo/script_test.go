package main

import (
	"context"
	"os"
	"os/signal"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"clusterctl-repo": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			os.Exit(guarded(os.Getenv("SECRETS"), func(io cli.IO) int { return program.Main(ctx, os.Args[1:], io) }))
		},
	})
}

// TestScripts runs the command lines in testdata as a user would type them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"serve": serve,
		},
	})
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
