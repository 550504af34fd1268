package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestOverlayfs replaces and removes releases of a lower layer, as in a container
// whose image holds a mirror.
func TestOverlayfs(t *testing.T) {
	const variable = "CLUSTERCTL_REPO_TEST_OVERLAY"
	base := os.Getenv(variable)
	if base == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOverlayfs$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"="+given.MemoryDir(t))
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if _, exited := err.(*exec.ExitError); err != nil && !exited {
			t.Skip(err)
		}
		if strings.Contains(string(out), "--- SKIP") {
			t.Skip("overlayfs cannot be mounted here")
		}
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	at := func(name string) string { return filepath.Join(base, name) }
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Skip(err)
	}
	for _, dir := range []string{"upper", "work", "merged"} {
		given.NoError(t, os.Mkdir(at(dir), 0o777))
	}
	for _, version := range []string{"v1.0.0", "v1.1.0"} {
		given.Value(destination(t, at("lower")).Put(t.Context(), sample(version)))(t)
	}
	if err := syscall.Mount("overlay", at("merged"), "overlay", 0, "lowerdir="+at("lower")+",upperdir="+at("upper")+",workdir="+at("work")); err != nil {
		t.Skip(err)
	}
	defer syscall.Unmount(at("merged"), 0)
	d := destination(t, at("merged"))
	two := release("v1.0.0", "infrastructure-components.yaml", "kind: Other\n", "metadata.yaml", "v1.0.0")
	if _, err := d.Replace(t.Context(), two); err == nil || !strings.Contains(err.Error(), "cannot be replaced, because") {
		t.Errorf("of the lower layer: %v", err)
	}
	holds(t, d, sample("v1.0.0"))
	if note, err := d.Remove(t.Context(), foo, "v1.1.0"); err != nil || note == "" {
		t.Errorf("%q, %v", note, err)
	}
	given.Value(d.Put(t.Context(), sample("v1.1.0")))(t)
	holds(t, d, sample("v1.1.0"))
}
