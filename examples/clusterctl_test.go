package examples_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// TestClusterctl hands the built releases to the real clusterctl, the way a
// user does: a folder repository and a clusterctl.yaml.
func TestClusterctl(t *testing.T) {
	binary := os.Getenv("CLUSTERCTL")
	if binary == "" {
		t.Skip("no clusterctl: set $CLUSTERCTL to the path of one to run this")
	}
	root := t.TempDir()
	var releases []*repo.Release
	for folder := range examples {
		releases = append(releases, build(t, folder)...)
	}
	providers := "providers:\n"
	for _, r := range releases {
		dir := filepath.Join(root, filepath.FromSlash(r.Path))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, a := range r.Artifacts {
			if err := os.WriteFile(filepath.Join(dir, a.Name), read(t, a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		providers += fmt.Sprintf("- name: %s\n  type: %s\n  url: file://%s\n", r.Provider.Name, r.Provider.Type, filepath.ToSlash(filepath.Join(dir, r.Components().Name)))
	}
	file := filepath.Join(root, "clusterctl.yaml")
	if err := os.WriteFile(file, []byte(providers), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(context.Background(), binary, append(args, "--config", file)...)
		cmd.Env = []string{
			"HOME=" + root, "XDG_CONFIG_HOME=" + root, "KUBECONFIG=" + filepath.Join(root, "none"),
			"CLUSTERCTL_DISABLE_VERSIONCHECK=true", "ACME_B64ENCODED_TOKEN=dG9rZW4=",
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("clusterctl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
		}
		return string(out)
	}
	for _, r := range releases {
		info, _ := r.Provider.Type.Info()
		name := r.Provider.Name + ":" + r.Version
		t.Run(r.Provider.Label(), func(t *testing.T) {
			for _, how := range []string{"--raw", "--describe"} {
				run(t, "generate", "provider", info.Flag, name, how)
			}
			out := run(t, "generate", "provider", info.Flag, name)
			if !strings.Contains(out, "kind: Deployment") || strings.Contains(out, "${") {
				t.Errorf("the components lack a Deployment, or hold a variable:\n%s", out)
			}
		})
		for _, a := range r.Artifacts {
			flavor, ok := layouts.Flavor(a.Name)
			if !ok {
				continue
			}
			t.Run(r.Provider.Label()+"/"+a.Name, func(t *testing.T) {
				args := []string{"generate", "cluster", "my-cluster", info.Flag, name, "--kubernetes-version", "v1.34.0", "--target-namespace", "default"}
				if flavor != "" {
					args = append(args, "--flavor", flavor)
				}
				out := run(t, args...)
				if !strings.Contains(out, "kind: Cluster\n") || strings.Contains(out, "${") {
					t.Errorf("the template lacks a Cluster, or holds a variable:\n%s", out)
				}
				// The class is looked up by the name in the template.
				if flavor == "topology" && !strings.Contains(out, "kind: ClusterClass\n") {
					t.Errorf("clusterctl did not add the ClusterClass:\n%s", out)
				}
			})
		}
	}
}
