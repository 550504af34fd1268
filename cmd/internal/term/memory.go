package term

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Most commands are short, so that frequent collections cost time and save little
// memory. The percentage is set here, because this package needs few others and so is
// initialized before most libraries. Their tables alone would start a collection, which
// takes a quarter of the time of `version`. With more than small to keep, so lazy a
// collector would need several times as much memory: up to large, and twice what is kept.
const (
	lazy  = 400 // percent
	usual = 100
	small = 40 << 20 // bytes
	large = small * (100 + lazy) / 100
)

// cycle is collected in each collection; it is not tiny, for these may never be.
type cycle struct{ _ [16]byte }

func init() {
	debug.SetGCPercent(lazy)
	runtime.SetFinalizer(&cycle{}, adapt)
}

// adapt runs after a collection and says when the next one is due.
func adapt(c *cycle) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	kept := max(live[0].Value.Uint64(), small)
	debug.SetGCPercent(max(usual, int(100*large/kept)-100))
	runtime.SetFinalizer(c, adapt)
}
