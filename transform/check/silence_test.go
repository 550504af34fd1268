package check_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// judged are the rules that the comments are about.
var judged = []*lint.Rule{rules.ByID("VAR017"), rules.ByID("YAML009")}

// released are files in which comments silence an error and a warning.
var released = map[string]string{
	"infrastructure-acme/v0.1.0/metadata.yaml":                  provider["metadata.yaml"],
	"infrastructure-acme/v0.1.0/infrastructure-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n  labels:\n    team: 5 # clusterctl-repo:ignore YAML009 we like numbers\n",
	"infrastructure-acme/v0.1.0/cluster-template.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${CLUSTER_NAME}\ndata:\n  a: ${ ACME_A } # clusterctl-repo:ignore VAR017 so do blanks\n",
}

// TestForeign: the comments of others silence no errors, and count as needed.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, released)
	r, err := folder.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	silenced := func(foreign bool) (found, silent []string) {
		t.Helper()
		result, err := check.Repository(t.Context(), r, true, check.Options{Foreign: foreign, Rules: judged})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range result.Report.Suppressed {
			silent = append(silent, f.Rule.ID)
		}
		slices.Sort(silent)
		return ids(result), silent
	}
	if found, silent := silenced(false); len(found) != 0 || !slices.Equal(silent, []string{"VAR017", "YAML009"}) {
		t.Errorf("our own: %v, silent %v", found, silent)
	}
	if found, silent := silenced(true); !slices.Equal(found, []string{"YAML009"}) || !slices.Equal(silent, []string{"VAR017"}) {
		t.Errorf("of others: %v, silent %v", found, silent)
	}
}

// TestAbove: the source tree that releases lie in silences them by its comments; one
// with a wrong configuration is reported, and one that makes other providers is not
// asked.
func TestAbove(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "tree")
	write(t, dir, provider)
	write(t, filepath.Join(dir, "out"), map[string]string{
		"infrastructure-acme/v0.1.0/metadata.yaml":                  provider["metadata.yaml"],
		"infrastructure-acme/v0.1.0/infrastructure-components.yaml": provider["config/default/manager.yaml"],
	})
	judge := func(below string) []string {
		t.Helper()
		r, err := check.Folder(t.Context(), filepath.Join(dir, below), check.Options{Rules: judged})
		if err != nil {
			t.Fatal(err)
		}
		return ids(r)
	}
	if got := judge("out"); !slices.Equal(got, []string{"YAML009"}) {
		t.Errorf("without a comment: %v", got)
	}
	write(t, dir, map[string]string{"config/default/manager.yaml": provider["config/default/manager.yaml"] + "# clusterctl-repo:ignore YAML009 about nothing\n"})
	if got := judge("out"); !slices.Equal(got, []string{"YAML009"}) {
		t.Errorf("with a comment elsewhere: %v", got)
	}
	write(t, dir, map[string]string{"config/default/manager.yaml": "# clusterctl-repo:ignore YAML009 we like numbers\n" + provider["config/default/manager.yaml"]})
	for _, below := range []string{"out", "out/infrastructure-acme", "out/infrastructure-acme/v0.1.0"} {
		if got := judge(below); len(got) != 0 {
			t.Errorf("%s: %v", below, got)
		}
	}
	write(t, outer, map[string]string{"clusterctl-repo.yaml": "a: [\n"})
	if got := judge("out"); len(got) != 0 {
		t.Errorf("below the configuration of another tree: %v", got)
	}
	write(t, dir, map[string]string{"clusterctl-repo.yaml": "rules: 5\n"})
	if _, err := check.Folder(t.Context(), filepath.Join(dir, "out"), check.Options{}); err == nil {
		t.Error("a wrong configuration is taken")
	}
	other := "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\nproviders:\n- type: infrastructure\n  name: other\n  components:\n    path: config/default\n"
	write(t, dir, map[string]string{"clusterctl-repo.yaml": other})
	if got := judge("out"); !slices.Equal(got, []string{"YAML009"}) {
		t.Errorf("in the tree of another provider: %v", got)
	}
}
