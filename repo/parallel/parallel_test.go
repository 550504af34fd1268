package parallel_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
)

func TestEach(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		old := runtime.GOMAXPROCS(procs)
		for _, n := range []int{0, 1, 2, 1000} {
			calls := make([]atomic.Int32, n)
			parallel.Each(n, func(i int) { calls[i].Add(1) })
			for i := range calls {
				if got := calls[i].Load(); got != 1 {
					t.Errorf("GOMAXPROCS %d, n %d: index %d was called %d times", procs, n, i, got)
				}
			}
		}
		runtime.GOMAXPROCS(old)
	}
}
