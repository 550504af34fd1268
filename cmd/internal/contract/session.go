package contract

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
)

// patiently calls do, and waits for its end no longer than cli.Grace after ctx is
// done.
func patiently(ctx context.Context, do func() error) error {
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
	case <-time.After(cli.Grace):
		return nil // what was seen is reported
	}
}

// session records and judges what comes from a running cluster.
type session struct {
	env   *cli.Env
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

func newSession(env *cli.Env, o behaviour.Options, name string) (*session, error) {
	s := &session{env: env, judge: behaviour.New(o), order: record.Order{Window: lag, Most: 1 << 16}}
	if name == "" {
		return s, nil
	}
	f, err := os.OpenFile(env.Path(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", name, cli.Cause(err))
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
			e.File = s.env.Short(s.out.Name())
		}
		if e.Type == record.Denied {
			s.env.Say("%s cannot be watched: %s", e.Note.Get("resource").Str(), e.Note.Get("reason").Str())
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
		s.env.Say("%s %s %s: %s: %s", f.New.At.Local().Format(time.TimeOnly), f.Check.ID, f.Severity, f.Object, f.Message)
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
		return fmt.Errorf("record: %w", cli.Cause(err))
	}
	return nil
}
