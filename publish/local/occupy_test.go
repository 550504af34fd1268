package local

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestOccupy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mirror")
	first, err := Occupy(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Occupy(dir, dir); err == nil {
		second.Close()
		if runtime.GOOS == "linux" {
			t.Error("two are in the folder")
		}
	} else if !strings.Contains(err.Error(), "another run is working in "+dir) {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder that nothing was written to is left: %v", err)
	}
	// What a killed process leaves keeps nobody out.
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, OccupiedFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Occupy(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	// A file in the way is for the one who writes to complain about.
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none, err := Occupy(file, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}
