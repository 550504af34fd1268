package mirror

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
)

// each calls work for every index below n, on at most limit goroutines. After
// an error nothing new begins, what runs continues to its end, and all errors are
// returned.
func each(ctx context.Context, n, limit int, work func(ctx context.Context, i int) error) error {
	errs := make([]error, n)
	var failed atomic.Bool
	parallel.Limited(limit, n, func(i int) {
		if failed.Load() || ctx.Err() != nil {
			return
		}
		if errs[i] = work(ctx, i); errs[i] != nil {
			failed.Store(true)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}
