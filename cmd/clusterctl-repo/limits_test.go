package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// Each command says that a file has too many documents, instead of reading them.
func TestTooManyDocuments(t *testing.T) {
	share.SkipInRace(t)
	dir := t.TempDir()
	t.Chdir(dir)
	release := filepath.Join(dir, "infrastructure-foo", "v1.0.0")
	given.NoError(t, os.MkdirAll(release, 0o755))
	many := []byte(strings.Repeat("a: b\n---\n", yamldoc.MaxDocuments) + "a: b\n")
	for name, data := range map[string][]byte{
		"infrastructure-components.yaml": many,
		"cluster-template.yaml":          many,
		"metadata.yaml":                  []byte("apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n"),
	} {
		given.NoError(t, os.WriteFile(filepath.Join(release, name), data, 0o644))
	}
	template := filepath.Join(release, "cluster-template.yaml")
	for _, args := range [][]string{
		{"lint", release}, {"vars", release}, {"images", release}, {"diff", release, release},
		{"render", "provider", release}, {"render", "cluster", release, "x", "--kubernetes-version", "v1.36.0"},
		{"contract", "check", template},
	} {
		code, _, errs := fed(t, dir, string(many), args...)
		if code != 3 || !strings.Contains(errs, "more than the 1,000,000 documents that are read") {
			t.Errorf("%v: exit code %d\n%s", args, code, errs)
		}
	}
}
