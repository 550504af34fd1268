package term

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress is one line of a terminal that tells how far something is. It writes
// nothing where there is no terminal. It is safe for concurrent use; the zero
// value and nil show nothing.
type Progress struct {
	out io.Writer

	mu    sync.Mutex
	shown bool
	last  time.Time
}

// NewProgress returns a line on w, if that is a terminal.
func NewProgress(w io.Writer) *Progress {
	if !IsTerminal(w) {
		return nil
	}
	if inner, ok := w.(*Writer); ok {
		w = inner.Unwrap() // it moves the cursor, and escapes names itself
	}
	return &Progress{out: w}
}

// often is how long a shown line stays at least.
const often = 100 * time.Millisecond

// Show replaces the line. Done and total are in bytes.
func (p *Progress) Show(what string, done, total int64) {
	if p == nil || p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.last) >= often {
		p.last, p.shown = now, true
		fmt.Fprintf(p.out, "\r\x1b[K%s: %s of %s", Escape(what), size(min(done, total)), size(total))
	}
}

// Done removes the line.
func (p *Progress) Done() {
	if p == nil || p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, "\r\x1b[K")
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
