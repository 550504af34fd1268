package main

import (
	"context"
	"os"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

func TestMain(m *testing.M) {
	clitest.Start(m, func(ctx context.Context, io cli.IO) int {
		return guarded(os.Getenv("SECRETS"), io, func(io cli.IO) int { return program.Main(ctx, os.Args[1:], io) })
	})
}

// TestScripts runs the command lines in testdata that concern the whole program; those
// of a verb lie with it.
func TestScripts(t *testing.T) {
	share.SkipInRace(t)
	clitest.Scripts(t, nil)
}
