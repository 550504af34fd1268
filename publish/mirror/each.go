package mirror

import (
	"context"
	"errors"
	"sync"
)

// each calls work for every index below n, on at most limit goroutines. After
// an error nothing new begins, what runs goes on to its end, and all errors are
// returned.
func each(ctx context.Context, n, limit int, work func(ctx context.Context, i int) error) error {
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		next   int
		failed []error
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(failed) > 0 || ctx.Err() != nil || next == n {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(limit, n) {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := work(ctx, i); err != nil {
					mu.Lock()
					failed = append(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(failed...)
}
