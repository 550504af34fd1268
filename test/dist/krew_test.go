package dist

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestKrew installs the plugin with krew from an index and a server of its own.
func TestKrew(t *testing.T) {
	krew := need(t, "krew", "go install sigs.k8s.io/krew/cmd/krew@v0.4.4")
	git := need(t, "git", "install the Debian package of that name")
	manifest := given.Read(t, filepath.Join(release, "krew", "clusterctl-repo.yaml"))
	server := httptest.NewServer(http.FileServer(http.Dir(release)))
	t.Cleanup(server.Close)
	urls := regexp.MustCompile(`https://github\.com/clusterctl-repo/clusterctl-repo/releases/download/[^/]+/`)
	if n := len(urls.FindAll(manifest, -1)); n != len(platforms()) {
		t.Errorf("the manifest has %d downloads, want %d:\n%s", n, len(platforms()), manifest)
	}
	home, index := t.TempDir(), t.TempDir()
	write(t, filepath.Join(index, "plugins", "clusterctl-repo.yaml"), urls.ReplaceAll(manifest, []byte(server.URL+"/")), 0o644)
	run := func(dir, program string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "KREW_ROOT=" + filepath.Join(home, "krew"), "KREW_NO_UPGRADE_CHECK=1", "KREW_DEFAULT_INDEX_URI=" + index,
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_NOSYSTEM=1",
		}
		return must(t, cmd)
	}
	run(index, git, "init", "-q", "-b", "main", ".")
	run(index, git, "add", ".")
	run(index, git, "commit", "-q", "-m", "index")
	run(home, krew, "update")
	if out := run(home, krew, "search", "clusterctl-repo"); !strings.Contains(out, "clusterctl-repo") {
		t.Errorf("krew search: %s", out)
	}
	if out := run(home, krew, "install", "clusterctl-repo"); !strings.Contains(out, `as "clusterctl repo"`) {
		t.Errorf("krew install does not show the caveats: %s", out)
	}
	plugin := filepath.Join(home, "krew", "bin", "kubectl-clusterctl_repo")
	isRelease(t, plugin)

	// What the caveats advise makes it a plugin of clusterctl.
	link := filepath.Join(home, "clusterctl-repo")
	given.NoError(t, os.Symlink(plugin, link))
	isRelease(t, link)
	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		cmd := exec.CommandContext(t.Context(), kubectl, "clusterctl-repo", "--version")
		cmd.Env = []string{"PATH=" + filepath.Dir(plugin) + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + home}
		if out := must(t, cmd); !strings.Contains(out, metadata(t).Commit) {
			t.Errorf("kubectl clusterctl-repo --version: %s", out)
		}
	}
}
