package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
)

// Store keeps the bytes that a fake was given, and hashes them while they come in, as a
// server must. The zero value keeps them in memory.
type Store struct {
	// Dir is the folder for the bytes; empty means memory.
	Dir string
}

// Blob is what was received. It does not change.
type Blob struct {
	Size   int64
	SHA256 string

	data []byte
	path string
}

// Receive reads all of r. With Spoil the first byte that is kept is another one
// than the one that came. The error is that of r or of the disk; what was
// received until then is gone.
func (s Store) Receive(r io.Reader, sizeHint int64, spoil bool) (*Blob, error) {
	sum := sha256.New()
	if spoil {
		r = &spoiler{Reader: r}
	}
	if s.Dir != "" {
		return s.receiveFile(r, sum)
	}
	var buf bytes.Buffer
	if sizeHint > 0 {
		// One more lets the buffer see the end without growing.
		buf.Grow(int(min(sizeHint, 256<<20)) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.TeeReader(r, sum))
	if err != nil {
		return nil, err
	}
	return &Blob{Size: n, SHA256: hex.EncodeToString(sum.Sum(nil)), data: buf.Bytes()}, nil
}

func (s Store) receiveFile(r io.Reader, sum hash.Hash) (*Blob, error) {
	f, err := os.CreateTemp(s.Dir, "blob-")
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(io.MultiWriter(f, sum), r)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return &Blob{Size: n, SHA256: hex.EncodeToString(sum.Sum(nil)), path: f.Name()}, nil
}

type spoiler struct {
	io.Reader
	done bool
}

func (s *spoiler) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n > 0 && !s.done {
		p[0] ^= 1
		s.done = true
	}
	return n, err
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// Open returns a reader of the bytes.
func (b *Blob) Open() (io.ReadSeekCloser, error) {
	if b.path != "" {
		return os.Open(b.path)
	}
	return memory{bytes.NewReader(b.data)}, nil
}

// Bytes returns all bytes.
func (b *Blob) Bytes() ([]byte, error) {
	r, err := b.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
