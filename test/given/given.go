// Package given has what many tests begin with: files, and steps that must succeed.
// It must not know what the program does.
package given

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// NoError ends the test with an error, if there is one.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value is for a call that must succeed: given.Value(call())(t) is its result.
func Value[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return v
	}
}

// File writes a file, and makes its folder.
func File(t testing.TB, name, text string) {
	t.Helper()
	NoError(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)))
}

// Files writes files below a folder, by their names there with slashes.
func Files(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		File(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
}

// Read returns what a file holds.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	NoError(t, err)
	return data
}

// MemoryDir returns a new folder that is not on a disk, if the platform has such a
// thing: tests that publish often would else measure how long the disk takes to sync.
func MemoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "clusterctl-repo-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
