package publish_test

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// The last bytes of a file that is not what it should be are kept back, however
// it is read.
func TestBody(t *testing.T) {
	const listed = "12345"
	for _, tt := range []struct {
		name, content string
		stated        string
		ok            bool
	}{
		{"as listed", listed, "", true},
		{"as stated", listed, listed, true},
		{"longer", listed + "6", "", false},
		{"shorter", "1234", "", false},
		{"other content", "54321", listed, false},
	} {
		for way, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with the end": iotest.DataErrReader,
		} {
			a := repo.NewArtifact("f", "here/f", int64(len(listed)), func() (io.ReadCloser, error) {
				return io.NopCloser(wrap(strings.NewReader(tt.content))), nil
			})
			if tt.stated != "" {
				a = a.Stating(sha256.Sum256([]byte(tt.stated)))
			}
			b := publish.NewBody(a)
			got, err := io.ReadAll(b)
			sum, whole := b.Sum()
			if tt.ok {
				if err != nil || string(got) != listed || !whole || sum != sha256.Sum256(got) {
					t.Errorf("%s, %s: %q, %v", tt.name, way, got, err)
				}
				given.NoError(t, b.Close())
				if _, err := b.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
					t.Errorf("%s, %s: reading after Close: %v", tt.name, way, err)
				}
				continue
			}
			if _, source := errors.AsType[*publish.SourceError](err); !source || len(got) >= len(listed) {
				t.Errorf("%s, %s: gave away %q, %v", tt.name, way, got, err)
			}
		}
	}
}
