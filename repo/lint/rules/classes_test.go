package rules_test

import (
	"context"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestFieldOfOtherVersionFix demands advice that names the field in this version,
// and the advice of the rule where this version has no such field.
func TestFieldOfOtherVersionFix(t *testing.T) {
	for field, want := range map[string]string{
		"infrastructure: {ref: {}}":    "In version v1beta2 this is templateRef.",
		"controlPlane: {deletion: {}}": "",
	} {
		version := "v1beta2"
		if want == "" {
			version = "v1beta1"
		}
		files := examples.Files{Text: map[string]string{
			"infrastructure-foo/v1.0.0/clusterclass-a.yaml": "apiVersion: cluster.x-k8s.io/" + version + "\nkind: ClusterClass\nmetadata: {name: a}\nspec:\n  " + field + "\n",
		}}
		findings := given.Value(examples.Findings(context.Background(), files))(t)
		found := false
		for _, f := range findings {
			if f.Rule.ID == "CC021" {
				found = true
				if f.Fix != want {
					t.Errorf("%s: advice %q, want %q", field, f.Fix, want)
				}
				if f.Help() == "" {
					t.Errorf("%s: no advice at all", field)
				}
			}
		}
		if !found {
			t.Errorf("%s: no finding of CC021 in %v", field, findings)
		}
	}
}
