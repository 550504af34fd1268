package classes_test

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

// TestRulesInCEL evaluates the rules of schemas wherever a value meets one: defaults
// of variables, values and overrides in Clusters, objects and templates of classes.
func TestRulesInCEL(t *testing.T) {
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.infrastructure.cluster.x-k8s.io, labels: {cluster.x-k8s.io/v1beta2: v1}}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {kind: %[2]s, plural: %[1]ss, singular: %[1]s, listKind: %[2]sList}
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
            properties: {low: {type: integer, default: 1}, high: {type: integer}, name: {type: string}}
            x-kubernetes-validations: [{rule: "!has(self.high) || self.low < self.high", message: low must be below high}]
---
`
	const class = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: a}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: FooTemplate, name: a}}
  controlPlane: {templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: BarTemplate, name: a}}
  workers:
    machineDeployments:
    - class: w
      bootstrap: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: FooTemplate, name: a}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: FooTemplate, name: a}}
  variables:
  - name: even
    required: true
    schema: {openAPIV3Schema: {type: integer, default: %d, x-kubernetes-validations: [{rule: self %% 2 == 0, message: "odd, not even"}]}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: FooTemplate
metadata: {name: a}
spec: {high: %d}
`
	const cluster = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "${CLUSTER_NAME}"}
spec:
  topology:
    classRef: {name: a}
    version: ${KUBERNETES_VERSION}
    variables: [{name: even, value: %s}]
    workers: {machineDeployments: [{class: w, name: w, variables: {overrides: [{name: even, value: %s}]}}]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: Foo
metadata: {name: a}
spec: {high: %s, name: "${FOO_NAME}"}
`
	for _, c := range []struct {
		byDefault, ofTemplate     int
		ofCluster, override, high string
		want                      []string
	}{
		{2, 5, "4", "6", "7", nil},
		{3, 5, "4", "6", "7", []string{"CV005 error: odd, not even"}},
		{2, 1, "4", "6", "7", []string{"CC007 error: low must be below high"}},
		{2, 5, "5", "6", "7", []string{"TOP010 error: odd, not even"}},
		{2, 5, "4", "7", "7", []string{"TOP011 error: odd, not even"}},
		{2, 5, "4", "6", "1", []string{"TPL015 error: low must be below high"}},
		{2, 5, "${FOO_EVEN}", "6", "${FOO_HIGH}", nil},
		{2, 5, "${FOO_EVEN:=3}", "6", "${FOO_HIGH:=1}", []string{"TOP010 warning: odd, not even, unless the user sets FOO_EVEN", "TPL015 warning: low must be below high, unless the user sets FOO_HIGH"}},
	} {
		files := examples.Files{Text: map[string]string{
			"infrastructure-foo/v1.0.0/infrastructure-components.yaml": fmt.Sprintf(definition, "foo", "Foo") + fmt.Sprintf(definition, "footemplate", "FooTemplate"),
			"infrastructure-foo/v1.0.0/clusterclass-a.yaml":            fmt.Sprintf(class, c.byDefault, c.ofTemplate),
			"infrastructure-foo/v1.0.0/cluster-template.yaml":          fmt.Sprintf(cluster, c.ofCluster, c.override, c.high),
		}}
		findings := given.Value(examples.Findings(context.Background(), files))(t)
		var got []string
		for _, f := range findings {
			if _, text, ok := strings.Cut(f.Message, "breaks a validation rule: "); ok {
				got = append(got, fmt.Sprintf("%s %s: %s", f.Rule.ID, f.Severity, text))
			}
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%+v:\n%s", c, strings.Join(got, "\n"))
		}
	}
}

// TestRulesInPatchedTemplates: the API server drops fields that the definition does not
// have, such as the metadata that Cluster API writes, and then evaluates the rules.
func TestRulesInPatchedTemplates(t *testing.T) {
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
                    properties: {zone: {type: string}, high: {type: integer}}
                    x-kubernetes-validations: [{rule: "!has(self.high) || self.high > 3", message: too low}]
          status: {type: object, x-kubernetes-validations: [{rule: "false", message: too low}]}
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
	const others = "]}}\n  - name: a\n    schema: {openAPIV3Schema: {type: string}}\n  - name: b\n    schema: {openAPIV3Schema: {type: string, x-kubernetes-validations: ["
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
			if _, when, ok := strings.Cut(f.Message, " while variable"); ok || strings.Contains(f.Message, "breaks a validation rule: too low") {
				got += f.Rule.ID + when
			}
		}
		if got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	// The rules of a version that is not served are not asked.
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
