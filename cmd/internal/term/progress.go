package term

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress is one line of a terminal that tells how far something is, and for how long
// it has been at it. It is safe for concurrent use; nil shows nothing.
type Progress struct {
	// line puts a text in place of the line; "" removes it. Unless it is news, the
	// text is only shown if nothing else was written since the last news.
	line func(text string, news bool)
	end  chan struct{}

	mu    sync.Mutex
	text  string
	began time.Time
	last  time.Time // when it was shown
}

// lined is a stream with a line at its end that makes room for what is written.
type lined interface {
	io.Writer
	Line(text string, news bool)
}

const (
	// often is how long a shown line stays at least.
	often = 100 * time.Millisecond
	// patience is how long people wait before they wonder.
	patience = time.Second
)

// NewProgress returns a line on w that begins with what is being done, if w is a
// terminal. What says nothing of itself appears after a second.
func NewProgress(w io.Writer, what string) *Progress {
	out, ok := w.(lined)
	if inner, writes := w.(*Writer); writes {
		out, ok = inner.Unwrap().(lined) // it moves the cursor, and escapes names itself
	}
	if !ok || !isTerminal(w) {
		return nil
	}
	return begin(out.Line, what, patience)
}

func begin(line func(string, bool), what string, every time.Duration) *Progress {
	p := &Progress{line: line, end: make(chan struct{}), text: escape(what), began: time.Now()}
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.mu.Lock()
				p.line(p.now(), false)
				p.mu.Unlock()
			case <-p.end:
				return
			}
		}
	}()
	return p
}

// now is the text with its time.
func (p *Progress) now() string {
	if d := time.Since(p.began); d >= patience {
		return fmt.Sprintf("%s, %s", p.text, d.Truncate(time.Second))
	}
	return p.text
}

// Show says how many bytes of something are there.
func (p *Progress) Show(what string, done, total int64) {
	p.show(what, func() string { return size(min(done, total)) + " of " + size(total) })
}

// Count says how many of some things, such as files, are done.
func (p *Progress) Count(what string, done, total int, things string) {
	p.show(what, func() string { return fmt.Sprintf("%d of %d %s", done, total, things) })
}

func (p *Progress) show(what string, text func() string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.last) >= often {
		p.last, p.text = now, escape(what)+": "+text()
		p.line(p.now(), true)
	}
}

// Done removes the line until there is news.
func (p *Progress) Done() {
	if p != nil {
		p.line("", false)
	}
}

// Close removes the line for good.
func (p *Progress) Close() {
	if p != nil {
		close(p.end)
		p.Done()
	}
}

func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, i := float64(n)/unit, 0
	for ; value >= unit && i < 3; i++ {
		value /= unit
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[i])
}
