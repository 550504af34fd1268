package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func tree(t *testing.T) (dir string, f *Folder) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "in")
	given.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	for name, text := range map[string]string{"../outside": "secret", "a": "hello", "sub/b": "", "large": ""} {
		given.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	// A sparse file: large without taking space.
	given.NoError(t, os.Truncate(filepath.Join(dir, "large"), MaxSize+1))
	f = given.Value(Open(dir))(t)
	t.Cleanup(func() { f.Close() })
	return dir, f
}

func TestFolder(t *testing.T) {
	dir, f := tree(t)
	for link, to := range map[string]string{"near": "a", "far": "../outside", "absolute": "/etc/hosts", "loop": "loop", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	for name, want := range map[string]string{
		"a": "hello", "near": "hello", "sub/b": "",
		"large": "more than the", "far": "escapes", "absolute": "escapes", "up/outside": "escapes", "loop": "loop",
		"../outside": "invalid", "/etc/hosts": "invalid", "./a": "invalid", "sub": "directory", "none": "no such file",
	} {
		data, err := f.ReadFile(name)
		switch {
		case err == nil && string(data) != want:
			t.Errorf("%s: %q, want %q", name, data, want)
		case err != nil && !(strings.Contains(err.Error(), want) || name == "loop"):
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if _, ok := errors.AsType[*fs.PathError](err); err != nil && !ok {
			t.Errorf("%s: %T is no *fs.PathError", name, err)
		}
	}
}

func TestFolderIsAFileSystem(t *testing.T) {
	dir, f := tree(t)
	given.NoError(t, os.Remove(filepath.Join(dir, "large")))
	given.NoError(t, fstest.TestFS(f, "a", "sub/b"))
}

func TestReadTakesWhatTheUserNames(t *testing.T) {
	dir, _ := tree(t)
	if data, err := Read(filepath.Join(dir, "..", "outside")); string(data) != "secret" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	r, w, err := os.Pipe()
	given.NoError(t, err)
	defer r.Close()
	go func() {
		w.WriteString(strings.Repeat("x", 100_000))
		w.Close()
	}()
	name := filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd())))
	if _, err := os.Stat(name); err != nil {
		t.Skipf("no %s here", name)
	}
	if data, err := Read(name); len(data) != 100_000 || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := Read("/dev/zero"); err == nil || !strings.Contains(err.Error(), "more than the") {
		t.Errorf("an endless file: %v", err)
	}
}
