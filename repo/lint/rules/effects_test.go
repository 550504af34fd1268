package rules_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
)

// fires reports whether a rule finds something in files.
func fires(t *testing.T, rule string, text map[string]string) bool {
	t.Helper()
	for _, f := range lintFiles(t, examples.Files{Text: text}) {
		if f.Rule.ID == rule && f.Severity == lint.Error {
			return true
		}
	}
	return false
}

// TestVariablesInMetadata demands nothing of an entry that a later one replaces.
func TestVariablesInMetadata(t *testing.T) {
	const head = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n"
	for series, want := range map[string]bool{
		"- {major: \"${A}\", major: 1, minor: 0, contract: v1beta2}\n": false,
		"- {major: 1, major: \"${A}\", minor: 0, contract: v1beta2}\n": true,
		"- {major: 1, minor: 0, contract: \"${A}\"}\n":                 true,
	} {
		got := fires(t, "META015", map[string]string{"infrastructure-foo/v1.0.0/metadata.yaml": head + series})
		if got != want {
			t.Errorf("%s: %v", series, got)
		}
	}
}

// TestDroppedStorageVersions looks at all earlier releases, but trusts a controller
// that migrates.
func TestDroppedStorageVersions(t *testing.T) {
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Foo, plural: foos}
  versions: [VERSIONS]
`
	const migrator = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: foo-role}
rules:
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions/status], verbs: [patch]}
`
	version := func(name, storage string) string {
		return "{name: " + name + ", served: true, storage: " + storage + ", schema: {openAPIV3Schema: {type: object}}}"
	}
	for what, tt := range map[string]struct {
		last string
		want bool
	}{
		"kept":     {version("v1alpha1", "false") + ", " + version("v1alpha2", "true"), false},
		"dropped":  {version("v1alpha2", "true"), true},
		"migrated": {version("v1alpha2", "true"), false},
	} {
		text := map[string]string{}
		for name, versions := range map[string]string{
			"v1.0.0": version("v1alpha1", "true"),
			"v1.1.0": version("v1alpha1", "false") + ", " + version("v1alpha2", "true"),
			"v1.1.1": tt.last,
		} {
			components := strings.Replace(definition, "VERSIONS", versions, 1)
			if what == "migrated" {
				components += migrator
			}
			text["infrastructure-foo/"+name+"/infrastructure-components.yaml"] = components
		}
		if got := fires(t, "COMP026", text); got != tt.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
