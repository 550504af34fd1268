package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// shelf is a storage in memory. As a registry does, it refuses a manifest whose
// parts it lacks.
type shelf struct {
	mu   sync.Mutex
	have map[digest.Digest][]byte
	// claimed are said to exist, and do not.
	claimed map[digest.Digest]bool
}

func (s *shelf) Exists(_ context.Context, d v1.Descriptor) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.have[d.Digest]
	return ok || s.claimed[d.Digest], nil
}

func (s *shelf) Fetch(_ context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.have[d.Digest]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (s *shelf) Push(_ context.Context, d v1.Descriptor, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.have[d.Digest]; ok {
		return errdef.ErrAlreadyExists
	}
	if d.MediaType == v1.MediaTypeImageIndex {
		var index v1.Index
		if err := json.Unmarshal(data, &index); err != nil {
			return err
		}
		for _, part := range index.Manifests {
			if _, ok := s.have[part.Digest]; !ok {
				return &errcode.ErrorResponse{Method: http.MethodPut, URL: &url.URL{}, StatusCode: http.StatusBadRequest, Errors: errcode.Errors{{Code: errcode.ErrorCodeManifestBlobUnknown}, {Code: errcode.ErrorCodeManifestBlobUnknown}}}
			}
		}
	}
	s.have[d.Digest] = data
	return nil
}

func emptyShelf() *shelf { return &shelf{have: map[digest.Digest][]byte{}} }

// TestCopiesWhatWasCutOff: a registry says that a manifest exists whose upload was
// interrupted, and then refuses the index that refers to it.
func TestCopiesWhatWasCutOff(t *testing.T) {
	from, to := emptyShelf(), emptyShelf()
	part := image(t, from, "a")
	root := indexOf(t, from, nil, part)
	to.claimed = map[digest.Digest]bool{part.Digest: true}
	given.NoError(t, copyImage(t.Context(), from, to, root))
	if _, ok := to.have[root.Digest]; !ok || to.have[part.Digest] == nil {
		t.Error("the index or its manifest is missing")
	}
}

// TestCopiesAnIndexAgain: an index that is there already is not written again.
func TestCopiesAnIndexAgain(t *testing.T) {
	from, to := emptyShelf(), emptyShelf()
	part := image(t, from, "a")
	part.Platform = &v1.Platform{OS: "linux", Architecture: "amd64"}
	root := indexOf(t, from, nil, part)
	for range 2 {
		given.Value(copyPlatforms(t.Context(), from, to, root, []string{"linux/amd64"}))(t)
	}
}

// TestRefusesHugeManifests: what the source says about a size is not trusted with
// the memory.
func TestRefusesHugeManifests(t *testing.T) {
	from := emptyShelf()
	data := make([]byte, maxManifest+1)
	root := layer(v1.MediaTypeImageIndex, data)
	from.have[root.Digest] = data
	if err := copyImage(t.Context(), from, emptyShelf(), root); err == nil {
		t.Error("a manifest larger than registries accept was copied")
	}
}
