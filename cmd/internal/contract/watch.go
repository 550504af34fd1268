package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// watching is what watch and drive share: the cluster, and what is kept of it.
type watching struct {
	judging
	kubeconfig        cli.Kubeconfig
	namespace, record string
	events            bool
}

// bind adds the flags.
func (w *watching) bind(f *pflag.FlagSet) {
	w.kubeconfig.Bind(f)
	f.StringVarP(&w.namespace, "namespace", "n", "", "")
	f.BoolVar(&w.events, "events", false, "")
	f.StringVar(&w.record, "record", "", "")
	w.judging.bind(f)
}

func watchCommand(env *cli.Env) *cobra.Command {
	var w watching
	var most time.Duration
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Judge how controllers behave in a running cluster, only reading",
		Long: `Watches a management cluster and judges what its controllers do, next to a test
run or a person at work. It only reads: one LIST and one WATCH for each resource
of *.cluster.x-k8s.io, for Secrets, of which only the sizes of the values are
kept, for Leases, and with --events for Events. Resources it may not read
are named, with the checks that cannot be decided without them. Without
--kubeconfig the cluster is the one that clusterctl would use, and without
--namespace all namespaces are watched.

Findings are shown as they occur. After --for, or when interrupted with ^C,
the report is written; with --record everything can be judged again by "contract
replay". The exit code is 1 if there are findings at or above --fail-on, and 3 if
nothing that happened could be judged.`,
		Example: `  # During an end-to-end test
  clusterctl-repo contract watch --kubeconfig management.kubeconfig \
      --record life.jsonl.gz &
  watcher=$!
  make test-e2e
  kill -INT $watcher; wait $watcher`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := w.parse(env); err != nil {
				return err
			}
			if most < 0 {
				return cli.Usagef("--for is %s; it must not be negative", most)
			}
			cluster, err := targets.Cluster(env, w.kubeconfig)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if most > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, most)
				defer cancel()
			}
			env.Say("watching %s; stop with ^C", cluster.Host)
			return w.follow(ctx, env, "contract watch", cluster, func(ctx context.Context, _ *session) error { <-ctx.Done(); return nil })
		},
	}
	w.bind(cmd.Flags())
	cmd.Flags().DurationVar(&most, "for", 0, "")
	return cmd
}

// follow watches a cluster while something is done, and reports what was seen. ^C ends
// what is done, but not the report.
func (w *watching) follow(ctx context.Context, env *cli.Env, command string, c *live.Cluster, do func(context.Context, *session) error) error {
	s, err := newSession(env, w.options, w.record)
	if err != nil {
		return err
	}
	env.CloseWhenStopped()
	doing, stop := context.WithCancel(ctx)
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	watched, done := make(chan error, 1), make(chan error, 1)
	go func() {
		err := c.Watch(watching, live.WatchOptions{Namespace: w.namespace, Events: w.events}, func(line []byte) { _ = s.line(line) }) // see close
		if err != nil {
			stop()
		}
		watched <- err
	}()
	go func() { done <- do(doing, s) }()
	for running := true; running; {
		select {
		case err = <-done:
			running = false
		case <-time.After(time.Second):
			s.pass(time.Now())
		}
	}
	stop()
	end()
	if ctx.Err() != nil {
		err = nil // it was interrupted
	}
	select {
	case watchErr := <-watched:
		err = errors.Join(err, watchErr)
	case <-time.After(cli.Grace): // what was seen is reported
	}
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	r := s.judge.Report(command, fmt.Sprintf("%d events of %s", s.judge.Events, c.Host))
	lines, err := w.explain(context.WithoutCancel(ctx), env, s.judge, w.record)
	if err != nil {
		return err
	}
	return w.out.Judge(env, r, report.Options{Timelines: lines})
}

// session records and judges what comes from a running cluster.
type session struct {
	env   *cli.Env
	mu    sync.Mutex
	judge *behaviour.Judge
	file  *record.File
	out   *os.File
	shown int
	lines int
	err   error
	// closed sessions take nothing more.
	closed bool
}

func newSession(env *cli.Env, o behaviour.Options, name string) (*session, error) {
	s := &session{env: env, judge: behaviour.New(o)}
	if name == "" {
		return s, nil
	}
	f, err := os.OpenFile(env.Path(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", name, files.Cause(err))
	}
	s.out, s.file = f, record.Create(name, f)
	return s, nil
}

// line takes a line of a recording. What a driver does is in the file when it returns; the
// error says that the file cannot be written.
func (s *session) line(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err // a watch that did not end in time
	}
	s.lines++
	e, err := record.Decode(line)
	if s.file != nil && s.err == nil {
		s.err = s.file.Write(line)
		if s.err == nil && err == nil && e.Type == record.Action {
			s.err = s.file.Flush()
		}
	}
	if err != nil {
		return s.err
	}
	e.File, e.Line = "stream", s.lines
	if s.out != nil {
		e.File = s.env.Short(s.out.Name())
	}
	if e.Type == record.Denied {
		s.env.Say("%s cannot be watched: %s", e.Note.Get("resource").Str(), e.Note.Get("reason").Str())
	}
	s.judge.Add(e)
	return s.err
}

// pass lets time pass also when nothing happens, and shows new findings.
func (s *session) pass(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.judge.Events > 0 {
		s.judge.Advance(now)
	}
	if s.file != nil && s.err == nil {
		s.err = s.file.Flush()
	}
	all := s.judge.Findings()
	for _, f := range all[min(s.shown, len(all)):] {
		s.env.Say("%s %s %s: %s: %s", f.New.At.Local().Format(time.TimeOnly), f.Check.ID, f.Severity, f.Object, f.Message)
	}
	s.shown = len(all)
}

// close takes nothing more, and ends the recording.
func (s *session) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.file == nil {
		return nil
	}
	if err := cmp.Or(s.err, s.file.Close(), s.out.Close()); err != nil {
		return fmt.Errorf("record: %w", files.Cause(err))
	}
	return nil
}
