package cluster

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// makeAdoption makes the template of two kustomizations that only the Makefile of
// Cluster API knows how to put together.
func makeAdoption(t *testing.T, source string) {
	t.Helper()
	tree := given.Value(kustomize.OpenTree(source, nil))(t)
	defer tree.Close()
	const dir = "test/e2e/data/infrastructure-docker/main/cluster-template-kcp-adoption"
	var steps [][]byte
	for _, step := range []string{"step1", "step2"} {
		steps = append(steps, given.Value(kustomize.Text(t.Context(), tree, path.Join(dir, step), kustomize.Options{NoLoadRestrictions: true}))(t))
	}
	given.NoError(t, os.WriteFile(filepath.Join(source, filepath.FromSlash(dir+".yaml")), bytes.Join(steps, []byte("---\n")), 0o600))
}

// TestSuiteRepository installs Cluster API from the local repository of its e2e
// suite with the stock clusterctl, and makes clusters of all its flavors.
func TestSuiteRepository(t *testing.T) {
	const version = "v1.15.99"
	source := filepath.Join(t.TempDir(), "cluster-api")
	given.NoError(t, os.CopyFS(source, os.DirFS(filepath.Join(share.Corpus(t, "e2e"), "cluster-api"))))
	makeAdoption(t, source)
	suite := filepath.Join(source, "test", "e2e", "config", "docker.yaml")
	m := newManagement(t)
	args := []string{"build", suite, "--out", m.repository, "--offline"}
	labels := []string{"cluster-api", "bootstrap-kubeadm", "control-plane-kubeadm", "infrastructure-docker", "runtime-extension-test-extension"}
	for _, label := range labels {
		args = append(args, "--provider", label+":"+version)
	}
	if _, stderr, err := m.run(t, nil, m.tool, args...); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	m.config = filepath.Join(m.repository, "clusterctl-config.yaml")
	r := given.Value(folder.Open(t.Context(), m.repository))(t)
	flavors := 0
	for _, p := range r.Providers {
		release := p.Releases[0]
		env := environment(t, release)
		args := []string{"generate", "provider", "--config", m.config, "--write-to", filepath.Join(t.TempDir(), "x"), providerFlags[p.Type], p.Name + ":" + version}
		if _, stderr, err := m.run(t, env, m.clusterctl, args...); err != nil {
			t.Errorf("%v: %v\n%s", args, err, stderr)
		}
		if err := m.init(t, release); err != nil {
			t.Errorf("init of %s: %v", p.Label(), err)
		}
		for _, part := range parts(t, release) {
			flavor, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(part.file.Name), ".yaml"), "cluster-template")
			if part.kind != layouts.ClusterTemplate || !ok {
				continue
			}
			args := []string{"generate", "cluster", "a", "--config", m.config, "--kubeconfig", m.Kubeconfig, "--infrastructure", p.Name + ":" + version, "--flavor", strings.TrimPrefix(flavor, "-"), "--kubernetes-version", "v1.34.0"}
			var env []string
			for name, value := range plausible(part.required) {
				env = append(env, name+"="+value)
			}
			stdout, stderr, err := m.run(t, env, m.clusterctl, args...)
			if err != nil || !strings.Contains(stdout, "kind: Cluster\n") {
				t.Errorf("%v: %v\n%s", args, err, stderr)
			}
			flavors++
		}
	}
	if len(r.Providers) != len(labels) || flavors < 20 {
		t.Errorf("%d providers and %d flavors", len(r.Providers), flavors)
	}
}
