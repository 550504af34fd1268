package dist

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestGoInstall puts the module at the commit of the release into a module proxy
// of files and installs it: both programs must say the same.
func TestGoInstall(t *testing.T) {
	const path = "github.com/clusterctl-repo/clusterctl-repo"
	want := metadata(t)
	proxy := t.TempDir()
	dir := filepath.Join(proxy, path, "@v")
	given.NoError(t, os.MkdirAll(dir, 0o755))
	f := given.Value(os.Create(filepath.Join(dir, want.Version+".zip")))(t)
	m := module.Version{Path: path, Version: want.Version}
	given.NoError(t, zip.CreateFromVCS(f, m, root, want.Commit, ""))
	given.NoError(t, f.Close())
	mod := must(t, exec.CommandContext(t.Context(), "git", "-C", root, "show", want.Commit+":go.mod"))
	write(t, filepath.Join(dir, want.Version+".mod"), []byte(mod), 0o644)
	write(t, filepath.Join(dir, want.Version+".info"), []byte(`{"Version":"`+want.Version+`"}`), 0o644)
	write(t, filepath.Join(dir, "list"), []byte(want.Version+"\n"), 0o644)

	goproxy := strings.TrimSpace(must(t, exec.CommandContext(t.Context(), "go", "env", "GOPROXY")))
	bin, cache := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "install", "-trimpath", "-modcacherw", path+"/cmd/clusterctl-repo@"+want.Version)
	// A module cache of its own, so that the unpublished version does not stay;
	// everything else comes from the usual cache, which is a proxy too.
	usual := strings.TrimSpace(must(t, exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE")))
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOBIN="+bin, "GOMODCACHE="+cache, "GONOSUMDB="+path, "GOPROXY=file://"+proxy+",file://"+usual+"/cache/download,"+goproxy)
	cmd.Dir = t.TempDir()
	must(t, cmd)
	got := askVersion(t, filepath.Join(bin, "clusterctl-repo"))
	if got.Version != want.Version {
		t.Errorf("go install gives %s, the release is %s", got.Version, want.Version)
	}
	if strings.Contains(want.Version, "-0.") || strings.HasPrefix(want.Version, "v0.0.0-") {
		if got.Commit == "" || !strings.HasPrefix(want.Commit, got.Commit) {
			t.Errorf("go install names the commit %q, the release %s", got.Commit, want.Commit)
		}
	}
	begin := exec.CommandContext(t.Context(), filepath.Join(bin, "clusterctl-repo"), "lint", example(t))
	must(t, begin)
}
