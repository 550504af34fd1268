package migrate_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestMigrateKilled kills migrate --write while it writes. Every file is then the old
// one or the new one, and the next run completes.
func TestMigrateKilled(t *testing.T) {
	kills := share.Of(3, 100)
	const count = 20
	old, want := map[string][]byte{}, map[string][]byte{}
	name := func(i int) string { return fmt.Sprintf("%02d/cluster-template.yaml", i) }
	for i := range count {
		padding := bytes.Repeat([]byte("# a comment that stays\n"), 500)
		text := func(kind string) []byte {
			return append([]byte(fmt.Sprintf(kind, i)), padding...)
		}
		old[name(i)] = text("apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: c%d\nspec:\n  topology:\n    class: x\n")
		want[name(i)] = text("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: c%d\nspec:\n  topology:\n    classRef:\n      name: x\n")
	}
	program := given.Value(os.Executable())(t)
	command := func(dir string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Args = []string{"clusterctl-repo", "migrate", dir, "--write"}
		return cmd
	}
	between, n := 0, 0
	// On a busy machine the first kills may all come too late.
	for ; n < kills || between == 0 && n < 100+kills && !t.Failed(); n++ {
		random := rand.New(rand.NewPCG(7, uint64(n)))
		dir := t.TempDir()
		for file, data := range old {
			given.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755))
			given.NoError(t, os.WriteFile(filepath.Join(dir, file), data, 0o600))
		}
		cmd := command(dir)
		given.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// It dies soon after one of the first files is replaced.
		first := filepath.Join(dir, name(random.IntN(count/2)))
		var end error
		for waiting := true; waiting; {
			select {
			case end = <-ended:
				waiting = false
			default:
				if data, err := os.ReadFile(first); err == nil && bytes.HasPrefix(data, []byte("apiVersion: cluster.x-k8s.io/v1beta2")) {
					time.Sleep(time.Duration(random.IntN(1500)) * time.Microsecond)
					_ = cmd.Process.Kill()
					end = <-ended
					waiting = false
				}
			}
		}
		before, after := 0, 0
		for file := range old {
			switch data, err := os.ReadFile(filepath.Join(dir, file)); {
			case err != nil:
				t.Error(err)
			case bytes.Equal(data, old[file]):
				before++
			case bytes.Equal(data, want[file]):
				after++
			default:
				t.Errorf("kill %d: %s is neither the old nor the new one (%d bytes)", n, file, len(data))
			}
		}
		if end != nil && before > 0 && after > 0 {
			between++
		}
		if out, err := command(dir).CombinedOutput(); err != nil {
			t.Fatalf("the next run: %v\n%s", err, out)
		}
		for file := range old {
			if data, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Equal(data, want[file]) {
				t.Errorf("kill %d: %s is not migrated by the next run: %v", n, file, err)
			}
		}
	}
	t.Logf("%d of %d kills came between two files", between, n)
	if between == 0 {
		t.Error("no kill came while files were written")
	}
}
