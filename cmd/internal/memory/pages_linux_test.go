package memory

import (
	"bytes"
	"os"
	"runtime"
	"testing"
	"time"
)

func TestLargeWorkGetsLargePages(t *testing.T) {
	policy, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !bytes.Contains(policy, []byte("[madvise]")) {
		t.Skipf("the system does not leave large pages to programs: %s", policy)
	}
	marked := func() bool {
		maps, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Skip(err)
		}
		return bytes.Contains(maps, []byte(" hg "))
	}
	if marked() {
		t.Skip("there are large pages already")
	}
	stop := reservePages()
	defer stop()
	held := make([]byte, largeWork)
	for range 500 {
		if marked() && reserved.Load() == 0 {
			runtime.KeepAlive(held)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("no memory is marked for large pages")
}
