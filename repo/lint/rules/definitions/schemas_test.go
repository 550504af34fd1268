package definitions_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestCRD035 and TestCRD036 have the cases that the examples do not show.
func TestCRD035(t *testing.T) {
	findings(t, "CRD035", map[string]int{
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
	})
}

func TestCRD036(t *testing.T) {
	findings(t, "CRD036", map[string]int{
		`{type: object, required: [a, b], properties: {b: {type: string}}}`:                                                                1,
		`{type: object, allOf: [{required: [a]}], properties: {b: {type: string}}}`:                                                        1,
		`{type: object, anyOf: [{required: [a]}, {required: [b]}], properties: {b: {type: string}}}`:                                       0,
		`{type: object, required: [kind], properties: {b: {type: string}}}`:                                                                1,
		`{type: object, required: [a], x-kubernetes-preserve-unknown-fields: true}`:                                                        0,
		`{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {b: {type: object, required: [a]}}}`:                       1,
		`{type: object, required: [a], additionalProperties: {type: string}}`:                                                              0,
		`{type: object, required: [a], additionalProperties: false}`:                                                                       1,
		`{type: object, required: [a, kind], x-kubernetes-embedded-resource: true, properties: {b: {type: string}}}`:                       1,
		`{type: object, required: [a], x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`:                  0,
		`{type: array, items: {type: object, additionalProperties: {type: object, required: [a]}}}`:                                        1,
		`{type: array, x-kubernetes-preserve-unknown-fields: true, items: {type: array, items: {type: object, required: [a]}}}`:            0,
		`{type: array, x-kubernetes-preserve-unknown-fields: true, items: {type: object, properties: {b: {type: object, required: [a]}}}}`: 1,
		`{x-kubernetes-preserve-unknown-fields: true, items: {type: object, required: [a]}}`:                                               0,
		`{type: object, required: ['']}`: 0,
		`{type: string, required: [a]}`:  0,
		`{type: object, properties: {b: {type: object, properties: {'': {type: object, required: [a]}}}}}`: 1,
	})
}

// findings wants a number of findings of a rule for each schema of a spec.
func findings(t *testing.T, rule string, rows map[string]int) {
	t.Helper()
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: foos, kind: Foo}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, required: [metadata], properties: {spec: %s}}}}
`
	for spec, want := range rows {
		got := 0
		list, err := examples.Findings(context.Background(), examples.Files{Text: map[string]string{"infrastructure-foo/v1.0.0/infrastructure-components.yaml": fmt.Sprintf(definition, spec)}})
		given.NoError(t, err)
		var messages []string
		for _, f := range list {
			if f.Rule.ID == rule {
				got++
				messages = append(messages, f.Message)
			}
		}
		if got != want {
			t.Errorf("%s: %d findings of %s, want %d: %q", spec, got, rule, want, messages)
		}
	}
}
