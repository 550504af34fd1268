package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.yaml")
	for _, mode := range []os.FileMode{0o600, 0o644, 0o755} {
		given.NoError(t, os.WriteFile(name, []byte("old"), mode))
		given.NoError(t, os.Chmod(name, mode))
		given.NoError(t, Replace(name, []byte("old"), []byte("new")))
		data, _ := os.ReadFile(name)
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode || string(data) != "new" {
			t.Errorf("%v: %v, %q", mode, info.Mode(), data)
		}
		os.Remove(name)
	}
	given.NoError(t, os.WriteFile(name, []byte("saved meanwhile"), 0o644))
	if err := Replace(name, []byte("old"), []byte("new")); err == nil || !errors.Is(err, errChanged) {
		t.Errorf("a changed file: %v", err)
	}
	if data, _ := os.ReadFile(name); string(data) != "saved meanwhile" {
		t.Errorf("a changed file was written to: %q", data)
	}
	if err := os.Symlink(name, filepath.Join(dir, "link")); err == nil {
		if err := Replace(filepath.Join(dir, "link"), []byte("saved meanwhile"), nil); err == nil {
			t.Error("a link was replaced")
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}
