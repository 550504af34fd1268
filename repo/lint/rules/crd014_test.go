package rules_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestCRD014 accepts a version in the labels of two contracts if it has the fields of both.
func TestCRD014(t *testing.T) {
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: fooclusters.infrastructure.cluster.x-k8s.io
  labels: {cluster.x-k8s.io/v1beta1: v1, cluster.x-k8s.io/v1beta2: v1}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {plural: fooclusters, kind: FooCluster, categories: [cluster-api]}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {%s}}}}}}
`
	for fields, want := range map[string]bool{
		`ready: {type: boolean}, initialization: {type: object, properties: {provisioned: {type: boolean}}}`: false,
		`initialization: {type: object, properties: {provisioned: {type: boolean}}}`:                         true,
		`ready: {type: boolean}`: true,
	} {
		findings, err := examples.Findings(context.Background(), examples.Files{Text: map[string]string{"infrastructure-foo/v1.0.0/infrastructure-components.yaml": fmt.Sprintf(definition, fields)}})
		given.NoError(t, err)
		if got := slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Rule.ID == "CRD014" }); got != want {
			t.Errorf("%s: %v, want %v", fields, got, want)
		}
	}
}
