package definitions_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestCRD035 has the cases that the example does not show.
func TestCRD035(t *testing.T) {
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: foos, kind: Foo}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: %s}}}}
`
	for spec, want := range map[string]int{
		`{type: object, default: {a: x}, properties: {a: {type: string, maxLength: 1}}}`:                                                                                                             0,
		`{type: object, default: {b: x}, properties: {a: {type: string}}}`:                                                                                                                           1,
		`{type: object, default: {}, required: [a], properties: {a: {type: string, default: x}}}`:                                                                                                    1, // nothing fills a default in
		`{type: object, default: {a: xx}, properties: {a: {type: string, maxLength: 1}}}`:                                                                                                            1,
		`{type: object, properties: {a: {type: string, default: 1}}}`:                                                                                                                                0, // CRD007
		`{type: object, properties: {a: {type: integer, default: 1.5}}}`:                                                                                                                             1,
		`{type: object, properties: {a: {type: integer, default: 1, x-kubernetes-validations: [{rule: self > oldSelf}]}}}`:                                                                           1,
		`{type: object, properties: {a: {type: integer, default: 1}}, x-kubernetes-validations: [{rule: self.a > 1}]}`:                                                                               0, // of another value
		`{type: object, additionalProperties: {type: integer, default: 1, maximum: 0}}`:                                                                                                              0,
		`{type: object, properties: {a: {type: integer, default: ${A}, maximum: 0}}}`:                                                                                                                0,
		`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {kind: A, apiVersion: a/v1, metadata: {name: a, labels: {a: b}}}}`:                0,
		`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {kind: A, metadata: {labels: {a: -}}}}`:                                           2,
		`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {kind: 1A, apiVersion: a/b/v1, metadata: []}}`:                                    3,
		`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {kind: A, apiVersion: v1, metadata: {name: a/b, namespace: 1, annotations: []}}}`: 3,
		`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, properties: {kind: {type: string, default: A_}, apiVersion: {type: string, default: v1}}}`: 1,
		`{type: array, default: [{a: 1}], items: {type: object, properties: {a: {type: integer, maximum: 0, default: 2}}}}`:                                                                          2,
	} {
		got := 0
		findings, err := examples.Findings(context.Background(), examples.Files{Text: map[string]string{"infrastructure-foo/v1.0.0/infrastructure-components.yaml": fmt.Sprintf(definition, spec)}})
		given.NoError(t, err)
		var messages []string
		for _, f := range findings {
			if f.Rule.ID == "CRD035" {
				got++
				messages = append(messages, f.Message)
			}
		}
		if got != want {
			t.Errorf("%s: %d findings, want %d: %q", spec, got, want, messages)
		}
	}
}
