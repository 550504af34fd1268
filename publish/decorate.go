package publish

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
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
	seen.Artifacts = Watched(Name(r), r.Artifacts, d.tell)
	return d.Destination.Put(ctx, &seen)
}

// Watched returns files that tell how far all of them have been read.
func Watched(release string, files []*repo.Artifact, tell func(Progress)) []*repo.Artifact {
	var total int64
	for _, a := range files {
		total += a.Size
	}
	var read atomic.Int64
	return phrase.List(files, func(a *repo.Artifact) *repo.Artifact {
		return a.Through(func(body io.ReadCloser) io.ReadCloser {
			return counted{body, func(n int) { tell(Progress{release, read.Add(int64(n)), total}) }}
		})
	})
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
