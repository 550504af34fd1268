package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

func TestMain(m *testing.M) {
	startTests(m, func(ctx context.Context, io cli.IO) int {
		return guarded(os.Getenv("SECRETS"), io, func(io cli.IO) int { return program.Main(ctx, os.Args[1:], io) })
	})
}

// TestScripts runs the command lines in testdata as a user would type them: a folder for
// each package of verbs, and program for what concerns all of them.
func TestScripts(t *testing.T) {
	for _, folder := range []struct {
		name string
		// racing scripts start goroutines that work together.
		racing bool
	}{
		{"build", true}, {"contract", false}, {"extension", true}, {"lint", true}, {"look", false}, {"mirror", true}, {"program", false}, {"publish", true},
	} {
		t.Run(folder.name, func(t *testing.T) {
			if !folder.racing {
				share.SkipInRace(t)
			}
			runScripts(t, testscript.Params{Dir: filepath.Join("testdata", folder.name), Cmds: map[string]scriptCmd{"serve": serve}})
		})
	}
}
