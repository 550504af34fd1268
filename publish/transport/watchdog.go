package transport

import (
	"context"
	"io"
	"sync"
	"time"
)

// watchdog cancels a request whose server neither takes nor gives a byte. It
// sleeps while the server has nothing to do: while the source of an upload is
// read, and between two reads of the answer.
type watchdog struct {
	patience time.Duration
	timer    *time.Timer

	mu sync.Mutex
	// answer is set once there is one; what is still being sent then no longer
	// counts.
	answer bool
}

// uploading wakes the watchdog, or lets it sleep, before there is an answer.
func (d *watchdog) uploading(awake bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.answer:
	case awake:
		d.timer.Reset(d.patience)
	default:
		d.timer.Stop()
	}
}

// answered lets the watchdog sleep until the answer is read.
func (d *watchdog) answered() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = true
	d.timer.Stop()
}

// sending is the body of a request.
type sending struct {
	io.ReadCloser
	dog *watchdog
}

func (s *sending) Read(p []byte) (int, error) {
	s.dog.uploading(false)
	defer s.dog.uploading(true)
	return s.ReadCloser.Read(p)
}

// receiving is the body of an answer.
type receiving struct {
	io.ReadCloser
	dog    *watchdog
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (r *receiving) Read(p []byte) (int, error) {
	r.dog.timer.Reset(r.dog.patience)
	n, err := r.ReadCloser.Read(p)
	r.dog.timer.Stop()
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
