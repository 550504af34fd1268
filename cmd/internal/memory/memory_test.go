package memory

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestMemoryLimitFollowsWhatIsInUse(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	stop := Bound(false)
	if got := debug.SetMemoryLimit(-1); got != baseMemory {
		t.Errorf("the limit begins with %d", got)
	}
	held := make([]byte, 200<<20)
	for range 100 {
		runtime.GC()
		if debug.SetMemoryLimit(-1) > int64(len(held)) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := debug.SetMemoryLimit(-1); got < int64(len(held)) || got > 2*int64(len(held))+spareMemory {
		t.Errorf("with %d bytes in use the limit is %d", len(held), got)
	}
	runtime.KeepAlive(held)
	stop()
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("at the end the limit is %d, and was %d", got, before)
	}
}
