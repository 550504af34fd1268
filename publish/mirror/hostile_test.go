//go:build unix

package mirror

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestHostileFolder: whatever others put into the place of a file beside the
// releases, a run neither writes through it nor waits for it.
func TestHostileFolder(t *testing.T) {
	for _, name := range []string{journalFile, layouts.ImageListFile, layouts.ImageInventoryFile, layouts.ChecksumFile, layouts.ConfigFile, layouts.LockFile, layouts.ConfigMapFolder} {
		for kind, plant := range map[string]func(at, outside string) error{
			"link to a file":   func(at, outside string) error { return os.Symlink(filepath.Join(outside, "file"), at) },
			"link to a folder": func(at, outside string) error { return os.Symlink(outside, at) },
			"link to nothing":  func(at, outside string) error { return os.Symlink(filepath.Join(outside, "new"), at) },
			"pipe":             func(at, _ string) error { return syscall.Mkfifo(at, 0o600) },
		} {
			dir, outside := t.TempDir(), t.TempDir()
			from := newPlace("far", map[string][]string{"v1.0.0": filesOf(foo, "v1.0.0")})
			opts := toFolder(t, dir)
			opts.Settings.ConfigMaps = true
			mirrored(t, []Want{{From: from}}, opts) // so that it is a mirror
			at := filepath.Join(dir, name)
			given.NoError(t, os.RemoveAll(at))
			given.NoError(t, os.WriteFile(filepath.Join(outside, "file"), []byte("mine"), 0o600))
			given.NoError(t, plant(at, outside))
			ended := make(chan error, 1)
			go func() {
				_, err := Run(context.Background(), []Want{{From: from}}, opts)
				ended <- err
			}()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "not a plain file or folder") {
					t.Errorf("%s as a %s: %v", name, kind, err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s as a %s: the run waits", name, kind)
			}
			if data, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(data) != "mine" {
				t.Errorf("%s as a %s: written through: %q, %v", name, kind, data, err)
			}
			if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
				t.Errorf("%s as a %s: written outside: %v, %v", name, kind, entries, err)
			}
		}
	}
}

// TestHostileLockFile: a mirror is not entered without its lock.
func TestHostileLockFile(t *testing.T) {
	const lock = local.OccupiedFile
	for kind, plant := range map[string]func(at, outside string) error{
		"link outside": func(at, outside string) error { return os.Symlink(filepath.Join(outside, "file"), at) },
		"link inside":  func(at, _ string) error { return os.Symlink("other", at) },
		"pipe":         func(at, _ string) error { return syscall.Mkfifo(at, 0o600) },
		"folder":       func(at, _ string) error { return os.Mkdir(at, 0o700) },
	} {
		dir := t.TempDir()
		given.NoError(t, plant(filepath.Join(dir, lock), t.TempDir()))
		if held, err := local.Occupy(dir, dir); err == nil || !strings.Contains(err.Error(), "is not a plain file") {
			t.Errorf("%s: %v", kind, err)
			if held != nil {
				held.Close()
			}
		}
	}
}

// TestModes: all files and folders have the modes that the umask leaves.
func TestModes(t *testing.T) {
	for _, mask := range []int{0o022, 0o077, 0o027} {
		old := syscall.Umask(mask)
		dir := filepath.Join(t.TempDir(), "mirror")
		opts := toFolder(t, dir)
		opts.Settings.ConfigMaps = true
		mirrored(t, []Want{{From: newPlace("far", map[string][]string{"v1.0.0": filesOf(foo, "v1.0.0")})}}, opts)
		syscall.Umask(old)
		err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			want := os.FileMode(0o666 &^ mask)
			if err == nil && info.IsDir() {
				want = os.FileMode(0o777 &^ mask)
			}
			if err == nil && info.Mode().Perm() != want {
				t.Errorf("umask %03o: %s has the mode %s", mask, path, info.Mode().Perm())
			}
			return err
		})
		given.NoError(t, err)
	}
}

// A file without end is not read to it, whatever lists it.
func TestSparseFiles(t *testing.T) {
	_, own := twoPlaces()
	dir := given.MemoryDir(t)
	mirrored(t, []Want{{From: own, Provider: foo}}, toFolder(t, dir))
	for _, name := range []string{"clusterctl.yaml", "images.json", "mirror.lock.json", "SHA256SUMS"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		old := given.Read(t, path)
		if err := os.Truncate(path, 300<<30); err != nil {
			t.Skip(err)
		}
		start := time.Now()
		report, err := Check(t.Context(), dir, 2)
		if err == nil && len(report.Problems) == 0 {
			t.Errorf("%s: the mirror is called whole", name)
		}
		if _, err := Prune(t.Context(), nil, nil, toFolder(t, dir)); err == nil {
			t.Errorf("%s: prune succeeded", name)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		given.NoError(t, os.WriteFile(path, old, 0o644))
	}
}
