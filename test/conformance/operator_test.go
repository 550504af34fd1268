package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// operator builds a program of the module that has the Cluster API operator.
func operator(t *testing.T, pkg string) program {
	t.Helper()
	at := filepath.Join(t.TempDir(), "program")
	given.NoError(t, do("env", "CGO_ENABLED=0", "go", "run", "-C", "operator", "-exec", "cp", "-trimpath", pkg, at))
	// The operator keeps what it reads from a registry in a map without a lock, while
	// several goroutines of oras write to it.
	return find(t, at, "it was built just now", "KUBECONFIG=/nonexistent", "GOMAXPROCS=1")
}

// operatorCRDs is the folder with the operator's CRDs.
func operatorCRDs(t *testing.T) string {
	t.Helper()
	dir := given.Value(filepath.Abs("operator"))(t)
	at := program{"go", os.Environ()}.must(t, "list", "-C", dir, "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api-operator")
	return filepath.Join(strings.TrimSpace(at), "config", "crd", "bases")
}

// operatorReads has the phases of the operator read the releases in a registry: each
// gives the objects that its provider has, and no other.
func operatorReads(t *testing.T, all []*repo.Release, places ...func(*repo.Release) *oci.Repository) {
	reader, crds := operator(t, "."), operatorCRDs(t)
	for i, at := range places {
		var objects strings.Builder
		var want []string
		for _, r := range all {
			reference := at(r).OperatorReference("v1.0.0")
			if i%2 == 1 {
				reference = at(r).OperatorReference("") // the version is that of the object
			}
			fmt.Fprintf(&objects, "---\napiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: %s\nmetadata: {name: %s}\nspec: {version: v1.0.0, fetchConfig: {oci: %q}}\n", r.Provider.Type, r.Provider.Name, reference)
			want = append(want, "ConfigMap/of-"+r.Provider.Label())
		}
		file := filepath.Join(t.TempDir(), "providers.yaml")
		given.NoError(t, os.WriteFile(file, []byte(objects.String()), 0o600))
		lines := strings.Split(strings.TrimSpace(reader.must(t, crds, file)), "\n")
		for i, line := range lines {
			if i >= len(want) || !strings.Contains(line, " "+want[i]) || strings.Count(line, "ConfigMap/of-") != 1 {
				t.Errorf("%d of %d: %s", i, len(want), line)
			}
		}
		if len(lines) != len(want) {
			t.Errorf("%d providers, not %d: %q", len(lines), len(want), lines)
		}
	}
}

// TestOperator mirrors real providers and has the operator read what is made for it:
// from ConfigMaps, and from a registry.
func TestOperator(t *testing.T) {
	root := share.Corpus(t, "releases")
	all := releases(t, root)
	tool, reader, crds := find(t, path(t, tool), "it was built"), operator(t, "."), operatorCRDs(t)
	args := append([]string{crds}, variables(t, all)...)
	dir := t.TempDir()
	for name, to := range map[string][]string{
		"ConfigMaps": {"--to", filepath.Join(dir, "ConfigMaps"), "--config-maps"},
		"registry":   {"--to", "oci://" + startRegistry(t) + "/{provider}", "--out", filepath.Join(dir, "registry")},
	} {
		tool.must(t, append([]string{"mirror", root}, to...)...)
		files, err := filepath.Glob(filepath.Join(dir, name, layouts.ConfigMapFolder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", name, files, err)
		}
		installed := strings.Count(reader.must(t, slices.Concat(args, files)...), "\n")
		labels := map[string]bool{}
		for _, r := range all {
			labels[r.Label()] = true
		}
		if installed != len(labels) {
			t.Errorf("%s: the operator installs %d of %d providers", name, installed, len(labels))
		}
	}
}
