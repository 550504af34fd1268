package contract

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live/watch"
)

// watchFlags are the flags of contract watch.
type watchFlags struct {
	watching
	time time.Duration
}

func watchCommand(env *cli.Env) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Judge how controllers behave in a running cluster, only reading",
		Long: `Watches a management cluster and judges what its controllers do, beside a test
run or a person at work. It only reads: one LIST and one WATCH for each resource
of *.cluster.x-k8s.io, for Secrets, of which only the sizes of the values are
kept, for Leases, and with --events for Events. Resources that must not be read
are named, with the checks that cannot be decided without them.

Findings are shown as they are made. After --for, or when interrupted with ^C,
the report is written; with --record everything can be judged again by "contract
replay". The exit code is 1 if there are findings at or above --fail-on.`,
		Example: `  # Beside an end-to-end test
  clusterctl-repo contract watch --kubeconfig management.kubeconfig --record life.jsonl.gz &
  watcher=$!
  make test-e2e
  kill -INT $watcher; wait $watcher`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	f.bind(cmd.Flags(), "the kubeconfig of the management cluster (default: as clusterctl)", "watch only this namespace (default: all)")
	cmd.Flags().DurationVar(&f.time, "for", 0, "stop after this time (default: when interrupted)")
	return cmd
}

func (f *watchFlags) run(ctx context.Context, env *cli.Env) error {
	if err := f.parse(env); err != nil {
		return err
	}
	if f.time < 0 {
		return cli.Usagef("--for is %s; it must be more than nothing", f.time)
	}
	cluster, err := targets.Cluster(env, f.cluster)
	if err != nil {
		return err
	}
	s, err := newSession(env, f.options, f.record)
	if err != nil {
		return err
	}
	if f.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.time)
		defer cancel()
	}
	env.CloseWhenStopped()
	env.Say("watching %s; stop with ^C", cluster.Host)
	stop := s.tick(ctx)
	err = patiently(ctx, func() error {
		return watch.Run(ctx, cluster.REST(), watch.Options{Namespace: f.namespace, Events: f.events}, s.line)
	})
	stop()
	if closeErr := s.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return f.finish(ctx, env, "contract watch", s.judge, cluster)
}
