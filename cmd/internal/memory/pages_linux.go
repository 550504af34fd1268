package memory

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"
)

// Memory that is touched for the first time is asked for page by page, and with pages
// of 4 kB that is a tenth of the processor time of large work. So as soon as largeWork
// bytes are in use, the next reserve bytes get pages of 2 MB, where the system leaves
// that to programs. Small work ends before.
const (
	largeWork = 12 << 20
	reserve   = 64 << 20
)

// reservePages waits for large work, until stop is called.
func reservePages() (stop func()) {
	done := make(chan struct{})
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		// Large work shows early; what waits for servers must not be woken up often.
		for wait := 2 * time.Millisecond; ; wait = min(wait+wait/4, 100*time.Millisecond) {
			select {
			case <-done:
				return
			case <-time.After(wait):
			}
			metrics.Read(sample)
			if sample[0].Value.Kind() != metrics.KindUint64 {
				return
			}
			if sample[0].Value.Uint64() > largeWork {
				makeLargePages()
				return
			}
		}
	}()
	return func() { close(done) }
}

// makeLargePages marks memory for large pages. The runtime has no call for that: a
// piece of memory is taken, marked, and left to the collector untouched, so that what
// is allocated next gets it.
func makeLargePages() {
	policy, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !bytes.Contains(policy, []byte("[madvise]")) {
		return // always or never, whatever the program says
	}
	reserved.Store(reserve)
	before := debug.SetGCPercent(-1) // one collection, not two
	// Without large pages all works as well.
	_ = unix.Madvise(make([]byte, reserve), unix.MADV_HUGEPAGE)
	runtime.GC()
	debug.SetGCPercent(before)
	reserved.Store(0)
}
