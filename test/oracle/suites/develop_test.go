package suites

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// warning is what kustomize says on standard error, which the script writes into the
// components.
var warning = regexp.MustCompile(`(?m)^# Warning: .*\n`)

// TestDevelopment compares development repositories with those that
// create-local-repository.py of Cluster API v1.14.2 makes of the same trees.
func TestDevelopment(t *testing.T) {
	corpus := share.Corpus(t, ".")
	if err := exec.Command("python3", "-c", "import distutils").Run(); err != nil {
		t.Skip("the script needs a Python before 3.12")
	}
	binary := given.Value(kustomizeBinary())(t)
	module := given.Value(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output())(t)
	dir := t.TempDir()
	tree := filepath.Join(dir, "cluster-api")
	copyTree(t, filepath.Join(corpus, "sources", "cluster-api"), tree)
	for _, name := range []string{"e2e/cluster-api-provider-gcp", "trees/cluster-api-provider-proxmox", "trees/cluster-api-provider-vsphere"} {
		copyTree(t, filepath.Join(corpus, filepath.FromSlash(name)), filepath.Join(dir, filepath.Base(name)))
	}
	for name, text := range map[string]string{
		"Makefile": "kustomize:\n",
		"clusterctl-settings.json": `{
  "providers": ["bootstrap-kubeadm", "control-plane-kubeadm", "infrastructure-docker", "runtime-extension-test", "infrastructure-gcp", "infrastructure-proxmox", "infrastructure-vsphere"],
  "provider_repos": ["../cluster-api-provider-gcp", "../cluster-api-provider-proxmox", "../cluster-api-provider-vsphere"]
}`,
	} {
		given.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600))
	}
	given.NoError(t, os.MkdirAll(filepath.Join(tree, "hack", "tools", "bin"), 0o700))
	given.NoError(t, os.Symlink(binary, filepath.Join(tree, "hack", "tools", "bin", "kustomize")))
	script := exec.Command("python3", filepath.Join(strings.TrimSpace(string(module)), "cmd", "clusterctl", "hack", "create-local-repository.py"))
	script.Dir, script.Env = tree, append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(dir, "script"))
	printed, err := script.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	want := filepath.Join(dir, "script", "cluster-api", "dev-repository")

	made, others, err := localrepo.Develop(t.Context(), []string{tree}, localrepo.Options{
		// Our tree is newer than the script.
		Version: "bootstrap-kubeadm=v1.14.99,control-plane-kubeadm=v1.14.99,infrastructure-docker=v1.14.99,runtime-extension-test=v1.14.99",
	})
	if err != nil || len(others) > 0 {
		t.Fatal(others, err)
	}
	got := filepath.Join(dir, "got")
	dest := given.Value(local.New(got))(t)
	for _, r := range made.Releases {
		given.Value(dest.Replace(t.Context(), r))(t)
		if line := " " + r.Provider.Name + ":" + r.Version + " \\\n"; !strings.Contains(string(printed), line) {
			t.Errorf("the script does not print %q", line)
		}
	}
	config := given.Value(made.ConfigFile("OUT"))(t)
	scripts, ours := folderOf(t, want), folderOf(t, got)
	var a, b any
	given.NoError(t, yaml.Unmarshal([]byte(scripts["config.yaml"]), &a))
	given.NoError(t, yaml.Unmarshal(config, &b))
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("config.yaml (-script +ours):\n%s", diff)
	}
	delete(scripts, "config.yaml")
	for name, text := range scripts {
		scripts[name] = warning.ReplaceAllString(text, "")
	}
	if len(scripts) < 14 {
		t.Errorf("the script wrote only %d files", len(scripts))
	}
	sameFiles(t, scripts, ours)
}
