package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"
)

// Grace is how long a command may take to end by itself after an interrupt. What
// waits for a pipe or computes without looking at its context does not end.
const Grace = 120 * time.Millisecond

// stopping is how a run ends before its time.
type stopping struct {
	mu   sync.Mutex
	shut bool
	// written are the output files that are whole.
	written []string
	// stepwise is set for verbs that make their work visible in whole steps, and continue
	// where they were left.
	stepwise bool
	// line is where a line of progress stands, and said tells that something was
	// written after it.
	line io.Writer
	said bool
}

// errStopped is what writers get after the end.
var errStopped = errors.New("interrupted")

// gate lets nothing through after the end.
type gate struct {
	w io.Writer
	s *stopping
	// err is the first error of w.
	err error
}

func (g *gate) Write(p []byte) (int, error) {
	n, err := g.all(bytes.NewReader(p))
	return int(n), err
}

// all writes a text that may come in parts. An interrupt waits for the last of them,
// as it does for a text that comes at once.
func (g *gate) all(text io.WriterTo) (n int64, err error) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if g.s.shut {
		return 0, errStopped
	}
	g.s.makeRoom()
	n, err = text.WriteTo(g.w)
	g.err = cmp.Or(g.err, err)
	return n, err
}

// Line implements term.Lined. An error does not matter here.
func (g *gate) Line(text string, news bool) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if g.s.shut || text != "" && g.s.said && !news {
		return
	}
	if text == "" {
		g.s.makeRoom()
		return
	}
	_, _ = io.WriteString(g.w, emptyLine+text)
	g.s.line, g.s.said = g.w, false
}

// emptyLine makes a terminal remove the line that the cursor is in.
const emptyLine = "\r\x1b[K"

// makeRoom removes the line of progress, before something else is written.
func (s *stopping) makeRoom() {
	if s.line != nil {
		_, _ = io.WriteString(s.line, emptyLine)
		s.line = nil
	}
	s.said = true
}

// failure is the first error of the stream below, if there was one.
func (g *gate) failure() error {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	return g.err
}

func (g *gate) Unwrap() io.Writer { return g.w }

// wrote takes note of a whole output file; put makes it visible in one step. After
// the end it does nothing.
func (s *stopping) wrote(name string, put func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return errStopped
	}
	err := put()
	if err == nil {
		s.written = append(s.written, name)
	}
	return err
}

// run calls do, and returns early once ctx is done and do does not end. Nothing
// that do writes afterwards is let through. When all is over it calls ended.
func (s *stopping) run(ctx context.Context, do func(context.Context) error, ended func()) error {
	if ended == nil {
		ended = func() {}
	}
	if ctx.Err() != nil {
		ended()
		return errStopped
	}
	done := make(chan error, 1)
	go func() {
		defer ended()
		done <- do(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(Grace):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom()
	s.shut = true
	return errStopped
}

// left reports whether a run was left before its end.
func (s *stopping) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut
}

// interrupted is the error of a run that was stopped: what there is of it.
func (s *stopping) interrupted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := "interrupted"
	if s.stepwise {
		text += "; nothing unfinished is visible, and running the same command again finishes it"
	} else if len(s.written) == 0 {
		text += " before there was a result"
	}
	if len(s.written) > 0 {
		text += "; already written: " + strings.Join(s.written, ", ")
	}
	return errors.New(text)
}
