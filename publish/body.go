package publish

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Body reads an artifact from the start, for an upload. It does not give away the
// last bytes of a file that is not what it should be, so that the server cannot
// treat it as whole. It opens the file when it is first read.
type Body struct {
	a *repo.Artifact

	mu     sync.Mutex // HTTP/2 closes while it reads
	r      io.ReadCloser
	closed bool
	read   int64
	hash   hash.Hash
}

// NewBody returns the content of an artifact for one upload.
func NewBody(a *repo.Artifact) *Body { return &Body{a: a, hash: sha256.New()} }

// SourceError is a failure of the file that is uploaded, not of the server.
type SourceError struct{ error }

func (e *SourceError) Unwrap() error { return e.error }

func (b *Body) open() (io.Reader, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fs.ErrClosed
	}
	if b.r == nil {
		r, err := b.a.Open()
		if err != nil {
			return nil, &SourceError{err}
		}
		b.r = r
	}
	return b.r, nil
}

// Read fails with a *SourceError if the file does.
func (b *Body) Read(p []byte) (int, error) {
	r, err := b.open()
	if err != nil {
		return 0, err
	}
	n, err := r.Read(p)
	b.mu.Lock()
	b.hash.Write(p[:n])
	b.read += int64(n)
	left := b.a.Size - b.read
	b.mu.Unlock()
	if err == nil && left == 0 {
		// Only its end shows whether the file is what it was when it was listed.
		var more [1]byte
		var m int
		if m, err = io.ReadFull(r, more[:]); m > 0 {
			left = -1
		}
	}
	switch {
	case left < 0 || left > 0 && err == io.EOF:
		return 0, &SourceError{fmt.Errorf("%s: the file no longer has the %d bytes it had when it was listed; it must not change while it is read", b.a.Path, b.a.Size)}
	case err != nil && err != io.EOF:
		return 0, &SourceError{err}
	}
	return n, err
}

// Sum returns the checksum of what was read, if all was read.
func (b *Body) Sum() (repo.Sum, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return repo.Sum(b.hash.Sum(nil)), b.read == b.a.Size
}

func (b *Body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.r == nil {
		return nil
	}
	return b.r.Close()
}
