package term

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Most commands are short, so that frequent collections cost time and save little
// memory. The percentage is set here, because this package needs few others and so is
// initialized before most libraries. Their tables alone would start a collection, which
// takes a quarter of the time of `version`. With more to keep than that, the next
// collection is due at large, or at twice what is kept if that is more.
const (
	lazy  = 400 // percent
	usual = 100
	small = 40 << 20 // bytes
	large = small * (100 + lazy) / 100
)

// cycle is freed in each collection. It has 16 bytes, because smaller objects share a block
// and may never be freed.
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
