package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/gendocs"
)

// TestOneVersion: the version of a CRD that calls a webhook is reported once.
func TestOneVersion(t *testing.T) {
	const text = "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\nspec: {group: x.io, names: {kind: Foo, plural: foos}, conversion: {strategy: Webhook, webhookClientConfig: {service: {name: a, namespace: b}}}, versions: [{name: v1, served: true, storage: true}]}\n"
	list, err := gendocs.Findings(t.Context(), examples.Files{Text: map[string]string{"infrastructure-foo/v1.0.0/infrastructure-components.yaml": text}})
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

// TestOneFault: a label of a Cluster that is not a string is reported once, by the
// rule that fits, and a field of a wrong type as before.
func TestOneFault(t *testing.T) {
	const cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: a\n  labels:\n"
	for text, want := range map[string]string{
		cluster + "    a: true\n":                                    "YAML009",
		cluster + "    a: 5\n  annotations: {b: 1.5}\n":              "YAML009 YAML009",
		cluster + "    a: \"true\"\n":                                "",
		cluster + "    a: {b: c}\n":                                  "YAML009",
		cluster + "    a: b\nspec:\n  paused: \"true\"\n":            "TPL012",
		cluster + "    a: true\nspec:\n  paused: \"true\"\n":         "TPL012 YAML009",
		strings.TrimSuffix(cluster, "  labels:\n") + "  labels: 5\n": "TPL012",
	} {
		list, err := gendocs.Findings(t.Context(), examples.Files{Text: map[string]string{"infrastructure-foo/v1.0.0/cluster-template.yaml": text}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list {
			if f.Rule.ID == "TPL012" || f.Rule.ID == "YAML009" {
				got = append(got, f.Rule.ID)
			}
		}
		slices.Sort(got)
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s\nis reported by %q, want %q", text, got, want)
		}
	}
}
