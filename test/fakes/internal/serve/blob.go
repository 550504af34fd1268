package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// Blob is bytes that a fake was given. It does not change.
type Blob struct {
	Size   int64
	SHA256 string

	data []byte
}

// Receive reads all of r. With spoil the first byte that is kept is another one
// than the one that came. The error is that of r.
func Receive(r io.Reader, sizeHint int64, spoil bool) (*Blob, error) {
	// The room for one more read lets the buffer see the end without growing.
	buf := bytes.NewBuffer(make([]byte, 0, max(0, min(sizeHint, 256<<20))+bytes.MinRead))
	n, err := buf.ReadFrom(r)
	if err != nil {
		return nil, err
	}
	data := buf.Bytes()
	if spoil && n > 0 {
		data[0] ^= 1
	}
	sum := sha256.Sum256(data)
	return &Blob{Size: n, SHA256: hex.EncodeToString(sum[:]), data: data}, nil
}
