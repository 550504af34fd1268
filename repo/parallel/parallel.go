// Package parallel spreads independent work over the processors. It must not
// know what the work is.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls work once for every index from 0 to n-1, on as many goroutines as
// there are processors, and returns when all calls have. Results belong into
// one slot for each index, so that they do not depend on the order of calls.
func Each(n int, work func(i int)) { Limited(runtime.GOMAXPROCS(0), n, work) }

// Limited is Each on so many goroutines, for work that waits.
func Limited(workers, n int, work func(i int)) {
	workers = min(workers, n)
	if workers < 2 {
		for i := range n {
			work(i)
		}
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wg.Wait()
}
