package rules_test

import (
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
)

// TestOneVersion: the version of a CRD that calls a webhook is reported once.
func TestOneVersion(t *testing.T) {
	const text = "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\nspec: {group: x.io, names: {kind: Foo, plural: foos}, conversion: {strategy: Webhook, webhookClientConfig: {service: {name: a, namespace: b}}}, versions: [{name: v1, served: true, storage: true}]}\n"
	list, err := examples.Findings(t.Context(), examples.Files{Text: map[string]string{"infrastructure-foo/v1.0.0/infrastructure-components.yaml": text}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range list {
		if f.Rule.ID == "COMP008" || f.Rule.ID == "CRD005" {
			got = append(got, f.Rule.ID)
		}
	}
	if !slices.Equal(got, []string{"CRD005"}) {
		t.Errorf("reported by %q", got)
	}
}
