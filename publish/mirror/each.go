package mirror

import (
	"context"
	"errors"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
)

// each calls work for every index below n, on at most limit goroutines. After
// an error nothing new begins, what runs continues to its end, and all errors are
// returned.
func each(ctx context.Context, n, limit int, work func(ctx context.Context, i int) error) error {
	var mu sync.Mutex
	var failed []error
	stopped := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(failed) > 0 || ctx.Err() != nil
	}
	parallel.Limited(limit, n, func(i int) {
		if stopped() {
			return
		}
		if err := work(ctx, i); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(failed...)
}
