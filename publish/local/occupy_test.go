package local

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestOccupy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mirror")
	first := given.Value(Occupy(dir, dir))(t)
	if second, err := Occupy(dir, dir); err == nil {
		second.Close()
		if runtime.GOOS == "linux" {
			t.Error("two are in the folder")
		}
	} else if !strings.Contains(err.Error(), "another run is working in "+dir) {
		t.Error(err)
	}
	given.NoError(t, first.Close())
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder that nothing was written to is left: %v", err)
	}
	// What a killed process leaves keeps nobody out.
	given.NoError(t, os.Mkdir(dir, 0o755))
	given.NoError(t, os.WriteFile(filepath.Join(dir, OccupiedFile), nil, 0o600))
	again := given.Value(Occupy(dir, dir))(t)
	given.NoError(t, again.Close())
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	// A file in the way is for the one who writes to complain about.
	file := filepath.Join(dir, "file")
	given.NoError(t, os.WriteFile(file, nil, 0o600))
	none := given.Value(Occupy(file, file))(t)
	given.NoError(t, none.Close())
}

// TestOccupyTogether: runs come and go, and no two are in the folder.
func TestOccupyTogether(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("locks of other systems are not that strict")
	}
	dir := filepath.Join(given.MemoryDir(t), "mirror")
	var inside atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				o, err := Occupy(dir, dir)
				if err != nil {
					if !strings.Contains(err.Error(), "another run is working") {
						t.Error(err)
					}
					continue
				}
				if inside.Add(1) > 1 {
					t.Error("two are in the folder")
				}
				runtime.Gosched()
				inside.Add(-1)
				if err := o.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
