package transport

import (
	"context"
	"io"
	"sync"
	"time"
)

// watchdog cancels a request whose server neither takes nor gives bytes, or so
// few that it would never end: what is left of its patience shrinks while it
// waits, and grows by a second for every MinRate bytes. It sleeps while the
// server has nothing to do: while the source of an upload is read, and between
// two reads of the answer.
type watchdog struct {
	patience time.Duration
	timer    *time.Timer

	mu    sync.Mutex
	left  time.Duration
	began time.Time
	// answer is set once there is one; what is still being sent then no longer
	// counts.
	answer bool
}

// wake begins to wait for the server.
func (d *watchdog) wake() {
	d.began = time.Now()
	d.timer.Reset(d.left)
}

// sleep ends waiting, after a number of bytes.
func (d *watchdog) sleep(n int) {
	d.timer.Stop()
	d.left = min(d.patience, max(0, d.left-time.Since(d.began))+time.Duration(n)*(time.Second/MinRate))
}

// answered lets the watchdog sleep until the answer is read.
func (d *watchdog) answered() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = true
	d.sleep(0)
	d.left = d.patience // the answer may have taken work
}

// sending is the body of a request.
type sending struct {
	io.ReadCloser
	dog  *watchdog
	last int // bytes that were given to the connection
}

func (s *sending) Read(p []byte) (int, error) {
	s.dog.mu.Lock()
	if !s.dog.answer {
		s.dog.sleep(s.last)
	}
	s.dog.mu.Unlock()
	n, err := s.ReadCloser.Read(p)
	s.dog.mu.Lock()
	defer s.dog.mu.Unlock()
	if s.last = n; !s.dog.answer {
		s.dog.wake()
	}
	return n, err
}

// receiving is the body of an answer.
type receiving struct {
	io.ReadCloser
	dog    *watchdog
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (r *receiving) Read(p []byte) (int, error) {
	r.dog.mu.Lock()
	r.dog.wake()
	r.dog.mu.Unlock()
	n, err := r.ReadCloser.Read(p)
	r.dog.mu.Lock()
	r.dog.sleep(n)
	r.dog.mu.Unlock()
	if err != nil && err != io.EOF {
		if cause := context.Cause(r.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

func (r *receiving) Close() error {
	err := r.ReadCloser.Close()
	r.cancel(nil)
	return err
}
