package rules_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
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

// TestPatchedTemplates: the API server drops fields that the definition does not have, such
// as the metadata that Cluster API writes, and then looks at the values.
func TestPatchedTemplates(t *testing.T) {
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: footemplates.infrastructure.cluster.x-k8s.io, labels: {cluster.x-k8s.io/v1beta2: v1}}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {kind: FooTemplate, plural: footemplates, singular: footemplate, listKind: FooTemplateList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              template:
                type: object
                properties:
                  spec:
                    type: object
                    properties: {zone: {type: string}, high: {type: integer, minimum: 4}}
          status: {type: object, properties: {odd: {type: integer, minimum: 4}}}
`
	const class = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: a}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: FooTemplate, name: a}}
  controlPlane: {templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: BarTemplate, name: a}}
  variables:
  - name: size
    required: false
    schema: {openAPIV3Schema: {type: integer, default: 5, enum: [5, 7%s]}}
  patches:
  - name: size
    definitions:
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: FooTemplate, matchResources: {infrastructureCluster: true}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/high, %s}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: FooTemplate
metadata: {name: a}
spec: {template: {spec: {zone: a%s}}}
`
	const others = "]}}\n  - name: a\n    schema: {openAPIV3Schema: {type: string}}\n  - name: b\n    schema: {openAPIV3Schema: {type: string, enum: [b"
	const second = "value: 4}\n  - name: b\n    enabledIf: '{{ if .b }}true{{ end }}'\n    definitions:\n    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: FooTemplate, matchResources: {infrastructureCluster: true}}\n      jsonPatches:\n      - {op: replace, path: /spec/template/spec/none, value: x"
	for _, c := range []struct{ other, write, more, want string }{
		{"", "valueFrom: {variable: size}", "", ""},
		{"", "value: 4", ", odd: b", ""},
		{"", "value: 2", "", "PA023"},
		{", 1", "valueFrom: {variable: size}", "", "PA023 size is 1"},
		{others, second, "", "PA020 b is set"},
		{"", "value: 4", ", high: 2, odd: b", "CC007"},
		{"", "value: 4", "}}}\nstatus: {odd: {odd: {odd: b", ""}, // the API server drops the status
	} {
		findings, err := examples.Findings(context.Background(), examples.Files{Text: map[string]string{
			"infrastructure-foo/v1.0.0/infrastructure-components.yaml": definition,
			"infrastructure-foo/v1.0.0/clusterclass-a.yaml":            fmt.Sprintf(class, c.other, c.write, c.more),
		}})
		given.NoError(t, err)
		got := ""
		for _, f := range findings {
			if _, when, ok := strings.Cut(f.Message, " while variable"); ok || strings.Contains(f.Message, "must be at least 4") {
				got += f.Rule.ID + when
			}
		}
		if got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	// The schema of a version that is not served is not asked.
	unserved := strings.Replace(definition, "served: true", "served: false", 1)
	findings, err := examples.Findings(context.Background(), examples.Files{Text: map[string]string{
		"infrastructure-foo/v1.0.0/infrastructure-components.yaml": unserved,
		"infrastructure-foo/v1.0.0/clusterclass-a.yaml":            fmt.Sprintf(class, "", "value: 2", ""),
	}})
	given.NoError(t, err)
	if slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Rule.ID == "PA023" }) {
		t.Errorf("PA023 for a version that is not served")
	}
}
