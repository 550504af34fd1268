// The program clusterctl-repo assembles, validates and publishes Cluster API provider
// repositories. As `clusterctl repo` it is a plugin of clusterctl.
//
// This package must not know verbs, flags or the work.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/root"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// After the first signal the default is back, so that a second one kills.
	context.AfterFunc(ctx, stop)
	os.Exit(program.Main(ctx, os.Args[1:], cli.OS(root.Version())))
}
