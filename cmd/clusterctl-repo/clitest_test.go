package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
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
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if setup != nil {
			if err := setup(env); err != nil {
				return err
			}
		}
		return withRest(env.WorkDir)
	}
	testscript.Run(t, p)
}

// rest is what a script leaves out of components that must pass, under the line restLine.
const (
	restLine = "# and the rest\n"
	rest     = `---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: rest, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: rest}}
  template:
    metadata: {labels: {app: rest}}
    spec:
      containers:
      - {name: manager, image: "registry.example.com/rest:v1.0.0"}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rests.rest.example.com}
spec:
  group: rest.example.com
  names: {kind: Rest, plural: rests, singular: rest, listKind: RestList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
)

// withRest writes the rest into the files of a script that ask for it.
func withRest(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.HasSuffix(data, []byte(restLine)) {
			namespace := regexp.MustCompile(`name: ([a-z-]+-system)`).FindSubmatch(data)
			if namespace == nil {
				return fmt.Errorf("%s has no Namespace", path)
			}
			text := strings.TrimSuffix(string(data), restLine) + strings.Replace(rest, "NAMESPACE", string(namespace[1]), 1)
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		return err
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
