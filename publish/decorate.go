package publish

import (
	"context"
	"io"
	"slices"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// With returns the site whose destinations are decorated, the first decorator
// innermost.
func (s Site) With(decorators ...func(Destination) Destination) Site {
	of := s.Of
	s.Of = func(p layouts.Provider) (Destination, error) {
		d, err := of(p)
		if err != nil {
			return nil, err
		}
		for _, decorate := range decorators {
			d = decorate(d)
		}
		return d, nil
	}
	return s
}

// DryRun makes Put plan, and Verify find nothing.
func DryRun(d Destination) Destination { return dryRun{d} }

type dryRun struct{ Destination }

func (d dryRun) Put(ctx context.Context, r *repo.Release) (Result, error) { return d.Plan(ctx, r) }

func (d dryRun) Verify(context.Context, *repo.Release) error { return nil }

// Receipt is what was published where.
type Receipt struct {
	Version   string        `json:"version" doc:"the version of the release"`
	To        string        `json:"to" doc:"the place, in the form that the flag --to accepts"`
	Where     string        `json:"where" doc:"where the release is now: a URL or a path"`
	Unchanged bool          `json:"unchanged" doc:"the place already had the same release"`
	Digest    string        `json:"digest,omitempty" doc:"the digest of the manifest in a registry; absent elsewhere"`
	Files     []ReceiptFile `json:"files" doc:"the files of the release"`
	Notes     []string      `json:"notes,omitempty" doc:"what the user should know; absent if there is nothing"`
}

// ReceiptFile is one published file; its size is in bytes.
type ReceiptFile struct {
	Name   string `json:"name" doc:"the name of the file"`
	Size   int64  `json:"size" doc:"the size in bytes"`
	SHA256 string `json:"sha256" doc:"the SHA-256 checksum in hexadecimal digits"`
}

// Receipts tells of every release that was published and read back. An error of
// tell becomes that of Verify.
func Receipts(tell func(Receipt) error) func(Destination) Destination {
	return func(d Destination) Destination { return &receipts{Destination: d, tell: tell} }
}

type receipts struct {
	Destination
	tell func(Receipt) error
	last Result
}

func (d *receipts) Put(ctx context.Context, r *repo.Release) (result Result, err error) {
	d.last, err = d.Destination.Put(ctx, r)
	return d.last, err
}

func (d *receipts) Verify(ctx context.Context, r *repo.Release) error {
	if err := d.Destination.Verify(ctx, r); err != nil {
		return err
	}
	out := Receipt{Version: r.Version, To: d.String(), Where: d.last.Where, Digest: d.last.Digest, Unchanged: d.last.Unchanged, Notes: d.last.Notes, Files: []ReceiptFile{}}
	for _, a := range r.Artifacts {
		sum, err := a.Digest(ctx)
		if err != nil {
			return err
		}
		out.Files = append(out.Files, ReceiptFile{a.Name, a.Size, sum.String()})
	}
	return d.tell(out)
}

// Progress is how far a release has been read. A file that is read twice, for
// its checksum or because it had to be sent again, counts twice.
type Progress struct {
	Release string
	// Read and Total are in bytes. Read may exceed Total.
	Read, Total int64
}

// Watch tells how far a release has been read, whenever some of it was. The
// function may be called from several goroutines.
func Watch(tell func(Progress)) func(Destination) Destination {
	return func(d Destination) Destination { return watch{d, tell} }
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
