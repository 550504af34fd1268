package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.yaml")
	for _, mode := range []os.FileMode{0o600, 0o644, 0o755} {
		if err := os.WriteFile(name, []byte("old"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if err := Replace(name, []byte("old"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(name)
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode || string(data) != "new" {
			t.Errorf("%v: %v, %q", mode, info.Mode(), data)
		}
		os.Remove(name)
	}
	if err := os.WriteFile(name, []byte("saved meanwhile"), 0o644); err != nil {
		t.Fatal(err)
	}
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
