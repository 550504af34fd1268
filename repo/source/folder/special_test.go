//go:build linux || darwin

package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// within fails the test if f waits for something that never comes.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
}

func TestPipesAndDevicesAreNeverOpened(t *testing.T) {
	root := t.TempDir()
	grow(t, root, `
		addon-foo/v1.0.0/metadata.yaml
		addon-foo/v1.0.0/zero.yaml -> /dev/zero`)
	for _, name := range []string{"pipe.yaml", "addon-foo/v2.0.0", "addon-foo/v1.0.0/addon-components.yaml"} {
		if err := syscall.Mkfifo(filepath.Join(root, name), 0o644); err != nil {
			t.Skip(err)
		}
	}
	within(t, func() {
		got, err := folder.Open(t.Context(), root)
		if err != nil {
			t.Error(err)
			return
		}
		want := unindent(`
			entry: pipe.yaml
			AddonProvider "foo"
			entry: addon-foo/v2.0.0
			v1.0.0 = metadata.yaml
			special: addon-foo/v1.0.0/addon-components.yaml
			unreadable: addon-foo/v1.0.0/zero.yaml`)
		if show(root, got) != want {
			t.Errorf("got\n%s", show(root, got))
		}
		a := got.Providers[0].Releases[0].Artifacts[0]
		if err := errors.Join(os.Remove(a.Path), syscall.Mkfifo(a.Path, 0o644)); err != nil {
			t.Error(err)
		}
		if _, err := a.Open(); err == nil || !strings.Contains(err.Error(), "no longer a regular file") {
			t.Errorf("opening a pipe in place of a file: %v", err)
		}
		_, err = folder.Open(t.Context(), filepath.Join(root, "pipe.yaml"))
		if !errors.Is(err, folder.ErrNotRepository) {
			t.Errorf("opening a pipe: %v", err)
		}
	})
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	root := t.TempDir()
	grow(t, root, `
		addon-foo/v1.0.0/metadata.yaml
		addon-foo/v2.0.0/metadata.yaml
		addon-foo/next/metadata.yaml
		strange/v1.0.0/metadata.yaml
		addon-shut/v1.0.0/metadata.yaml`)
	shut := func(name string) {
		name = filepath.Join(root, name)
		given.NoError(t, os.Chmod(name, 0))
		t.Cleanup(func() { os.Chmod(name, 0o755) })
	}
	shut("addon-foo/v1.0.0/metadata.yaml")
	shut("addon-foo/v2.0.0")
	shut("addon-shut")
	shut("addon-foo/next") // which might hold a release
	shut("strange/v1.0.0")
	got := given.Value(folder.Open(t.Context(), root))(t)
	want := unindent(`
		unreadable: addon-shut
		unreadable: strange
		AddonProvider "foo"
		unreadable: addon-foo/next
		unreadable: addon-foo/v2.0.0
		v1.0.0 = metadata.yaml`)
	if show(root, got) != want {
		t.Errorf("got\n%s", show(root, got))
	}
	a := got.Providers[0].Releases[0].Artifacts[0]
	if _, err := a.Open(); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), a.Path) {
		t.Errorf("opening an unreadable file: %v", err)
	}
	shut(".")
	if _, err := folder.Open(t.Context(), root); !errors.Is(err, os.ErrPermission) {
		t.Errorf("opening an unreadable folder: %v", err)
	}
}
