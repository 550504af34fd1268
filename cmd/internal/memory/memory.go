// Package memory decides how much memory the process takes and when garbage is
// collected. It must not know what the process does.
package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// The collector of garbage runs rarely, because most work is short: usualGrowth is
// GOGC, in percent. From a size on, in bytes, it runs more often: at baseMemory, which
// few releases need, or at what is in use and spareMemory on top of its growthPercent,
// up to mostGrowth, so that large input does not keep it running all the time.
const (
	usualGrowth   = 800
	baseMemory    = 80 << 20
	spareMemory   = 24 << 20
	growthPercent = 50
	mostGrowth    = 96 << 20
)

// Trade takes more memory than is usual for Go, to save time. It is for the beginning
// of a process.
func Trade() { debug.SetGCPercent(usualGrowth) }

// Bound bounds the memory of the process by what is in use, in bytes, until stop is
// called. With largePages, large work gets pages of 2 MB where the system has them; they
// stay until the process ends.
func Bound(largePages bool) (stop func()) {
	before := debug.SetMemoryLimit(baseMemory)
	var stopped atomic.Bool
	afterCollection(func() bool {
		if stopped.Load() {
			return false
		}
		debug.SetMemoryLimit(limitFor(live() - reserved.Load()))
		return true
	})
	noMorePages := func() {}
	if largePages {
		noMorePages = reservePages()
	}
	return func() {
		noMorePages()
		stopped.Store(true)
		debug.SetMemoryLimit(before)
	}
}

// reserved are bytes that are in use only until they can be used for something.
var reserved atomic.Int64

// transferGrowth is GOGC, in percent, while releases are published.
const transferGrowth = 100

// CollectOften collects garbage as often as is usual for Go, until stop is called.
// What publishes makes a little garbage for each of many files, keeps nearly
// nothing, and waits for servers anyway; collected rarely, that garbage would be
// most of its memory.
func CollectOften() (stop func()) {
	before := debug.SetGCPercent(transferGrowth)
	return func() { debug.SetGCPercent(before) }
}

// limitFor is the limit for a number of bytes that are in use.
func limitFor(live int64) int64 {
	return max(baseMemory, live+min(live/100*growthPercent, mostGrowth)+spareMemory)
}

// live is what the last collection found in use.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}

// afterCollection calls a function after each collection of garbage, as long as it
// returns true.
func afterCollection(call func() bool) {
	type sentinel struct{ _ [16]byte }
	var arm func()
	arm = func() {
		runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
			if call() {
				arm()
			}
		})
	}
	arm()
}
