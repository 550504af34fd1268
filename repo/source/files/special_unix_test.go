//go:build unix

package files

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe nobody writes to must not make anyone wait.
func TestPipe(t *testing.T) {
	dir, f := tree(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	if _, err := f.ReadFile("pipe"); err == nil || !strings.Contains(err.Error(), "pipe") {
		t.Errorf("got %v", err)
	}
}
