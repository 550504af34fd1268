package mirror

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestSignedReleases signs no release of an earlier run that is not what the signature
// covered then, or that nothing covers and nothing verifies.
func TestSignedReleases(t *testing.T) {
	edit := func(name string, change func(string) string) func(dir string) error {
		return func(dir string) error {
			file := filepath.Join(dir, name)
			data, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, []byte(change(string(data))), 0o644))
		}
	}
	more := func(text string) string { return text + "\n" }
	unsigned := edit(layouts.SignatureFile, more)
	metadata := filepath.Join(foo.Label(), "v1.2.0", "metadata.yaml")
	for name, tc := range map[string]struct {
		change func(dir string) error
		verify func() error
		want   string // of the error
	}{
		"as it was":       {func(string) error { return nil }, nil, ""},
		"other content":   {edit(metadata, strings.ToUpper), nil, "metadata.yaml"},
		"other size":      {edit(metadata, more), nil, "infrastructure-foo v1.2.0 in the mirror does not match mirror.lock.json; run mirror repair"},
		"other lock":      {edit(layouts.LockFile, more), nil, "no signature covers infrastructure-foo v1.2.0"},
		"other signature": {unsigned, nil, "no signature covers infrastructure-foo v1.2.0"},
		"verified":        {unsigned, func() error { return nil }, ""},
		"refused":         {unsigned, func() error { return fs.ErrInvalid }, "it holds infrastructure-foo v1.2.0 from an earlier run: invalid"},
		"gone":            {func(dir string) error { return os.RemoveAll(filepath.Join(dir, foo.Label())) }, nil, ""},
		"gone, not signed": {func(dir string) error {
			return errors.Join(unsigned(dir), os.RemoveAll(filepath.Join(dir, foo.Label())))
		}, nil, "it lacks infrastructure-foo v1.2.0"},
	} {
		dir := given.MemoryDir(t)
		shared, own := twoPlaces()
		opts := toFolder(t, dir)
		opts.Sign = func([]byte) ([]byte, error) { return []byte("good"), nil }
		opts.Vouched = func(_, sig []byte) bool { return string(sig) == "good" }
		mirrored(t, []Want{{From: own, Provider: foo}}, opts)
		given.NoError(t, tc.change(dir))
		if tc.verify != nil {
			opts.Verify = func(_ context.Context, r *repo.Release, _ []layouts.Provider) error {
				if r.Artifact("infrastructure-components.yaml") == nil {
					return nil // of this run
				}
				return tc.verify()
			}
		}
		_, err := Run(t.Context(), []Want{{From: shared, Provider: bar}}, opts)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

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
		opts.Bring = func(_ context.Context, _ []MirroredImage, _ []string, changed bool) (map[string]repo.Sum, error) {
			fetched = changed
			if err := os.MkdirAll(filepath.Dir(index), 0o755); err != nil {
				return nil, err
			}
			text := []byte(`{"schemaVersion":2,"manifests":[]}`)
			return map[string]repo.Sum{"index.json": sumOf(text)}, os.WriteFile(index, text, 0o644)
		}
		if sign {
			opts.Sign = func([]byte) ([]byte, error) { return []byte("good"), nil }
			opts.Vouched = func(_, sig []byte) bool { return string(sig) == "good" }
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

// An old signature goes away as soon as it no longer covers what is there.
func TestOldSignature(t *testing.T) {
	_, own := twoPlaces()
	opts := toFolder(t, given.MemoryDir(t))
	opts.Sign = func([]byte) ([]byte, error) { return []byte("good"), nil }
	opts.Verify = func(context.Context, *repo.Release, []layouts.Provider) error { return nil }
	for i, version := range []string{"v0.9.0", "v0.9.0", "v1.2.0"} {
		result := mirrored(t, []Want{{From: own, Version: selector(t, version)}}, opts)
		removed := strings.Contains(strings.Join(result.Warnings, "\n"), "its old signature was removed")
		if _, there := tree(t, opts.Dir)[layouts.SignatureFile]; removed != (i == 2) || there == removed {
			t.Errorf("run %d: the signature is there: %t, %q", i, there, result.Warnings)
		}
		opts.Sign = nil
	}
}
