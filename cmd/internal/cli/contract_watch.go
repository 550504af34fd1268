package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live/watch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// watchFlags are the flags of contract watch.
type watchFlags struct {
	kubeconfig, kubeContext, namespace, record string
	events                                     bool
	time                                       time.Duration
	bounds                                     bounds
	fail                                       failOn
	out                                        outputs
}

func (a *app) contractWatchCommand() *cobra.Command {
	f := watchFlags{out: outputs{formats: report.FindingsFormats}}
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
		RunE: func(cmd *cobra.Command, _ []string) error { return a.watch(cmd.Context(), &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig of the management cluster (default: as clusterctl)")
	flags.StringVar(&f.kubeContext, "kubeconfig-context", "", "the context in the kubeconfig to use")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "watch only this namespace (default: all)")
	flags.BoolVar(&f.events, "events", false, "also watch Events, which some checks need")
	flags.DurationVar(&f.time, "for", 0, "stop after this time (default: when interrupted)")
	flags.StringVar(&f.record, "record", "", "write a recording into this `FILE`, gzipped if its name ends in .gz")
	f.bounds.flag(cmd)
	f.fail.flag(cmd)
	f.out.flag(cmd)
	return cmd
}

func (a *app) watch(ctx context.Context, f *watchFlags) error {
	level, err := f.fail.level()
	if err != nil {
		return err
	}
	outs, err := f.out.parse()
	if err != nil {
		return err
	}
	o, err := f.bounds.parse(a)
	if err != nil {
		return err
	}
	if f.time < 0 {
		return usagef("--for is %s; it must be more than nothing", f.time)
	}
	cluster, err := a.liveCluster(f.kubeconfig, f.kubeContext)
	if err != nil {
		return err
	}
	s, err := a.session(o, f.record)
	if err != nil {
		return err
	}
	if f.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.time)
		defer cancel()
	}
	a.stopping.closing.Store(true)
	a.say("watching %s; stop with ^C", cluster.Host)
	stop := s.tick(ctx)
	err = a.patiently(ctx, func() error {
		return watch.Run(ctx, cluster.REST(), watch.Options{Namespace: f.namespace, Events: f.events}, s.line)
	})
	stop()
	if closeErr := s.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	r := s.judge.Report("contract watch", fmt.Sprintf("%d events of %s", s.judge.Events, cluster.Host))
	a.undecided(s.judge)
	var timelines []report.Timeline
	if wantsPage(outs) {
		// ^C ended the watch, but must not end the report.
		if timelines, err = a.timelines(context.WithoutCancel(ctx), s.judge, f.record); err != nil {
			return err
		}
	}
	return a.judge(r, outs, level, report.Options{Timelines: timelines})
}

// patiently calls do, and waits for its end no longer than grace after ctx is
// done.
func (a *app) patiently(ctx context.Context, do func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(grace):
		return nil // what was seen is reported
	}
}

func (a *app) liveCluster(kubeconfig, kubeContext string) (*live.Cluster, error) {
	if kubeconfig != "" {
		kubeconfig = a.path(kubeconfig)
	}
	cluster, err := live.Open(kubeconfig, kubeContext)
	if err != nil {
		return nil, usage(err)
	}
	return cluster, nil
}

// session records and judges what comes from a running cluster.
type session struct {
	a     *app
	mu    sync.Mutex
	judge *behaviour.Judge
	order record.Order
	file  *record.File
	out   *os.File
	shown int
	lines int
	err   error
	// closed sessions take nothing more.
	closed bool
}

// lag is how long events wait for others that are older.
const lag = 2 * time.Second

func (a *app) session(o behaviour.Options, name string) (*session, error) {
	s := &session{a: a, judge: behaviour.New(o), order: record.Order{Window: lag, Most: 1 << 16}}
	if name == "" {
		return s, nil
	}
	f, err := os.OpenFile(a.path(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", name, cause(err))
	}
	s.out, s.file = f, record.Create(name, f)
	return s, nil
}

// line takes a line of a recording.
func (s *session) line(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return // a watch that did not end in time
	}
	s.lines++
	if s.file != nil && s.err == nil {
		s.err = s.file.Write(line)
	}
	if e, err := record.Decode(line); err == nil {
		e.File, e.Line = "stream", s.lines
		if s.out != nil {
			e.File = s.a.short(s.out.Name())
		}
		if e.Type == record.Denied {
			s.a.say("%s cannot be watched: %s", e.Note.Get("resource").Str(), e.Note.Get("reason").Str())
		}
		s.order.Add(e, s.judge.Add)
	}
}

// tick lets time pass also when nothing happens, and shows new findings.
func (s *session) tick(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-done:
				return
			case <-time.After(time.Second):
				s.pass(time.Now().Add(-lag))
			}
		}
	})
	return func() { close(done); wait.Wait() }
}

func (s *session) pass(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.Until(now, s.judge.Add)
	if s.judge.Events > 0 {
		s.judge.Advance(now)
	}
	if s.file != nil && s.err == nil {
		s.err = s.file.Flush()
	}
	all := s.judge.Findings()
	for _, f := range all[s.shown:] {
		s.a.say("%s %s %s: %s: %s", f.New.At.Local().Format(time.TimeOnly), f.Check.ID, f.Severity, f.Object, f.Message)
	}
	s.shown = len(all)
}

// close judges what waits and ends the recording.
func (s *session) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.order.Flush(s.judge.Add)
	if s.file == nil {
		return nil
	}
	err := s.err
	for _, close := range []func() error{s.file.Close, s.out.Close} {
		if closeErr := close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		return fmt.Errorf("record: %w", cause(err))
	}
	return nil
}
