package open_test

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// each runs a test at every kind of place. Start makes a fresh place.
func each(t *testing.T, test func(t *testing.T, start func() publish.Destination)) {
	for kind, fresh := range map[string]func(*testing.T) place{
		"GitHub": gitHub, "GitLab": gitLab, "OCI": oci,
		"folder": func(t *testing.T) place { return place{url: t.TempDir()} },
	} {
		t.Run(kind, func(t *testing.T) {
			test(t, func() publish.Destination {
				at := fresh(t)
				site, err := (&open.Places{Env: func(n string) (string, bool) { v, ok := at.env[n]; return v, ok }}).Site(at.url, open.Options{})
				given.NoError(t, err)
				return given.Value(site.Of(layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}))(t)
			})
		})
	}
}

// with is a release with one more file.
func with(name string, size int64, content func() io.Reader) *repo.Release {
	return &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Artifacts: []*repo.Artifact{
		repo.NewArtifact(name, "here/"+name, size, func() (io.ReadCloser, error) { return io.NopCloser(content()), nil }),
		repo.BytesArtifact("infrastructure-components.yaml", []byte("kind: Namespace\n")),
		repo.BytesArtifact("metadata.yaml", []byte("kind: Metadata\n")),
	}}
}

// A file that breaks off, or is no longer what it was, is named, is no fault of the
// server, and nothing of its release becomes visible. The next run publishes it.
func TestBadSources(t *testing.T) {
	const listed = "12345678"
	text := func(s string) func() io.Reader {
		return func() io.Reader { return iotest.OneByteReader(strings.NewReader(s)) }
	}
	broken := &fs.PathError{Op: "read", Path: "here/a.yaml", Err: errors.New("the disk is on fire")}
	each(t, func(t *testing.T, start func() publish.Destination) {
		for name, content := range map[string]func() io.Reader{
			"breaks off":              func() io.Reader { return io.MultiReader(strings.NewReader("1234"), iotest.ErrReader(broken)) },
			"breaks off at the end":   func() io.Reader { return io.MultiReader(strings.NewReader(listed), iotest.ErrReader(broken)) },
			"shrinks":                 text(listed[1:]),
			"is empty":                text(""),
			"grows":                   text(listed + "9"),
			"grows much":              text(strings.Repeat(listed, 1<<10)),
			"changes":                 text("87654321"),
			"breaks when opened":      nil,
			"changes once it is read": changing(text(listed), text("87654321")),
		} {
			d := start()
			r := with("a.yaml", int64(len(listed)), content)
			if content == nil {
				r.Artifacts[0] = repo.NewArtifact("a.yaml", "here/a.yaml", r.Artifacts[0].Size, func() (io.ReadCloser, error) { return nil, broken })
			}
			unstated := name == "changes once it is read"
			if !unstated {
				r.Artifacts[0] = r.Artifacts[0].Stating(sha256.Sum256([]byte(listed)))
			}
			_, err := d.Put(t.Context(), r)
			if unstated && err == nil { // who reads it only once publishes what it was then
				if err := d.Verify(t.Context(), with("a.yaml", int64(len(listed)), text(listed))); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "a.yaml") || strings.HasPrefix(name, "breaks") && !errors.Is(err, broken) || transport.IsTemporary(err) {
				t.Errorf("%s: %v", name, err)
			}
			if got, err := d.Fetch(t.Context(), r.Version); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: visible is %v, %v", name, got, err)
			}
			r = with("a.yaml", int64(len(listed)), text(listed))
			if _, err := d.Put(t.Context(), r); err != nil {
				t.Errorf("after one that %s: %v", name, err)
			}
			if err := d.Verify(t.Context(), r); err != nil {
				t.Errorf("after one that %s: %v", name, err)
			}
		}
	})
}

// changing is first in the first reading, and then in all others.
func changing(first, then func() io.Reader) func() io.Reader {
	var readings atomic.Int64
	return func() io.Reader {
		if readings.Add(1) == 1 {
			return first()
		}
		return then()
	}
}

// A file of any size goes through clients in constant memory.
func TestLargeFile(t *testing.T) {
	size := int64(share.Of(32, 64) << 20)
	each(t, func(t *testing.T, start func() publish.Destination) {
		d := start()
		r := with("large.bin", size, func() io.Reader { return io.LimitReader(zeros{}, size) })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		given.Value(d.Put(t.Context(), r))(t)
		if err := d.Verify(t.Context(), r); err != nil {
			t.Error(err)
		}
		runtime.ReadMemStats(&after)
		// The servers run in this process, and two keep the file in memory; the race detector empties pools.
		kept := map[string]int64{"GitHub": size, "GitLab": size}[path.Base(t.Name())]
		if got := int64(after.TotalAlloc - before.TotalAlloc); got > kept+size/4+1<<20 { // and what requests cost
			t.Errorf("allocated %d bytes", got)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
