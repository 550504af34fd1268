package publish

import (
	"context"
	"io"
	"slices"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Progress is how far a release has been read. A file that is read twice, for
// its checksum or because it had to be sent again, counts twice.
type Progress struct {
	Release string
	// Read and Total are in bytes. Read may exceed Total.
	Read, Total int64
}

// Watch returns the site with destinations that tell how far a release has been read,
// whenever some of it was. The function may be called from several goroutines.
func (s Site) Watch(tell func(Progress)) Site {
	of := s.Of
	s.Of = func(p layouts.Provider) (Destination, error) {
		d, err := of(p)
		return watch{d, tell}, err
	}
	return s
}

type watch struct {
	Destination
	tell func(Progress)
}

func (d watch) Put(ctx context.Context, r *repo.Release) (Result, error) {
	seen := *r
	seen.Artifacts = slices.Clone(r.Artifacts)
	var total int64
	for _, a := range r.Artifacts {
		total += a.Size
	}
	var read atomic.Int64
	for i, a := range seen.Artifacts {
		seen.Artifacts[i] = a.Through(func(body io.ReadCloser) io.ReadCloser {
			return counted{body, func(n int) { d.tell(Progress{Name(r), read.Add(int64(n)), total}) }}
		})
	}
	return d.Destination.Put(ctx, &seen)
}

type counted struct {
	io.ReadCloser
	count func(n int)
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 {
		c.count(n)
	}
	return n, err
}
