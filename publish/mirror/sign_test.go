package mirror

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror/documents"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestSignedImages checks that container images are fetched again before they are
// signed, unless the mirror's own signature covers their index.
func TestSignedImages(t *testing.T) {
	dir := given.MemoryDir(t)
	index := filepath.Join(dir, layouts.ImagesFolder, "index.json")
	fetched := false
	again := func(sign bool) bool {
		t.Helper()
		wants, opts, _, _ := scene(t, dir, nil, nil)
		opts.Settings.Images = true
		opts.Bring = func(_ context.Context, _ []documents.MirroredImage, _ []string, changed bool) (map[string]repo.Sum, error) {
			fetched = changed
			if err := os.MkdirAll(filepath.Dir(index), 0o755); err != nil {
				return nil, err
			}
			text := []byte(`{"schemaVersion":2,"manifests":[]}`)
			return map[string]repo.Sum{"index.json": sumOf(text)}, os.WriteFile(index, text, 0o644)
		}
		if sign {
			opts.Sign = func([]byte) ([]byte, error) { return []byte("good"), nil }
			opts.Vouched = func(_, sig []byte) (bool, error) { return string(sig) == "good", nil }
		}
		mirrored(t, wants, opts)
		return fetched
	}
	if again(false) {
		t.Error("without a signature nothing is fetched again")
	}
	if !again(true) {
		t.Error("images that no signature covers are signed")
	}
	if again(true) {
		t.Error("images that the signature covers are fetched again")
	}
	given.NoError(t, os.WriteFile(index, []byte(`{"schemaVersion":2,"manifests":[],"forged":true}`), 0o644))
	if !again(true) {
		t.Error("a forged index of images is signed")
	}
}
