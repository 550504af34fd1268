package diff

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var update = flag.Bool("update", false, "write docs/diff.md")

// TestPage keeps docs/diff.md equal to the tables.
func TestPage(t *testing.T) {
	page := filepath.Join("..", "..", "..", "docs", "diff.md")
	var b strings.Builder
	b.WriteString(`# What a change means for users

` + "`clusterctl-repo diff OLD NEW`" + ` gives every change an impact; ` + "`--fail-on breaking`" + ` or ` + "`--fail-on attention`" + ` turns it into an exit code.

- **breaking**: something that works stops working, unless users change it.
- **attention**: something that works may need a decision or a value.
- **neutral**: users need to do nothing.

A CustomResourceDefinition is compared field by field in every version that both releases have. Fields that ` + "`kubectl apply`" + ` or the
API server would refuse or drop are never neutral: random changes of schemas are compared with crdify, and with the API server's own
validation and pruning of random objects (` + "`make oracle`" + `). A provider that is missing in the new release is breaking.

<!-- generated from the tables of repo/facts/diff: do not edit -->
| part | what | added | removed | changed |
|---|---|---|---|---|
`)
	for _, r := range allMeanings() {
		what := r.What
		if !strings.Contains(what, " ") {
			what = "`" + what + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Area, what, r.Added, r.Removed, r.Changed)
	}
	if *update {
		given.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	have := given.Read(t, page)
	if d := cmp.Diff(b.String(), string(have)); d != "" {
		t.Errorf("docs/diff.md is out of date; run make generate (-tables +file):\n%s", d)
	}
}

// TestTable checks the rows that are not made from other tables with releases.
func TestTable(t *testing.T) {
	schema := func(s string) map[string]string { return components(schemaIn(s)) }
	role := func(verbs string) map[string]string {
		return components("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [" + verbs + "]}\n")
	}
	class := func(spec string) map[string]string {
		return map[string]string{"clusterclass-a.yaml": "kind: ClusterClass\napiVersion: cluster.x-k8s.io/v1beta2\nmetadata: {name: a}\nspec: {" + spec + "}\n"}
	}
	const patches = "patches: [{name: p, definitions: [{selector: {apiVersion: x.io/v1, kind: FooMachineTemplate, matchResources: {controlPlane: true}}, jsonPatches: [{op: add, path: /spec/a, value: 1}]}]}]"
	const workers = "workers: {machineDeployments: [{class: w, infrastructure: {templateRef: {apiVersion: x.io/v1, kind: FooMachineTemplate, name: t}}}]}"
	for _, tt := range []struct {
		what     string
		old, now map[string]string
		want     string // the first word of a column
		column   string
	}{
		{"a CRD", components("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), schema("type: object"), "neutral", "added"},
		{"a CRD", schema("type: object"), components("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"), "breaking", "removed"},
		{"type", schema("type: string"), schema("type: integer"), "breaking", "changed"},
		{"a value of enum", schema("{type: string, enum: [a]}"), schema("{type: string, enum: [a, b]}"), "neutral", "added"},
		{"a value of enum", schema("{type: string, enum: [a, b]}"), schema("{type: string, enum: [a]}"), "breaking", "removed"},
		{"a field", schema("{type: object, properties: {a: {type: string}}}"), schema("{type: object, properties: {a: {type: string}, b: {type: string}}}"), "neutral", "added"},
		{"a field", schema("{type: object, properties: {a: {type: string}, b: {type: string}}}"), schema("{type: object, properties: {a: {type: string}}}"), "breaking", "removed"},
		{"required", schema("{type: object, properties: {a: {type: string}}}"), schema("{type: object, required: [a], properties: {a: {type: string}}}"), "breaking", "added"},
		{"required", schema("{type: object, required: [a], properties: {a: {type: string}}}"), schema("{type: object, properties: {a: {type: string}}}"), "neutral", "removed"},
		{"a verb on a resource", role("get"), role("get, list"), "attention", "added"},
		{"a verb on a resource", role("get, list"), role("get"), "neutral", "removed"},
		{"the Namespace", components("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), components("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), "attention", "removed"},
		{"a variable of a ClusterClass", class(""), class("variables: [{name: v, schema: {openAPIV3Schema: {type: string}}}]"), "neutral", "added"},
		{"a variable of a ClusterClass", class("variables: [{name: v, schema: {openAPIV3Schema: {type: string}}}]"), class(""), "breaking", "removed"},
		{"a patch of a ClusterClass", class(""), class(patches), "attention", "added"},
		{"a patch of a ClusterClass", class(patches), class(""), "attention", "removed"},
		{"a patch of a ClusterClass", class(patches), class(strings.Replace(patches, "value: 1", "value: 2", 1)), "attention", "changed"},
		{"workers of a ClusterClass", class(""), class(workers), "neutral", "added"},
		{"workers of a ClusterClass", class(workers), class(""), "breaking", "removed"},
		{"workers of a ClusterClass", class(workers), class(strings.Replace(workers, "name: t", "name: u", 1)), "attention", "changed"},
		{"another field of a ClusterClass", class(""), class("kubernetesVersions: [v1.34.0]"), "attention", "added"},
		{"another field of a ClusterClass", class("kubernetesVersions: [v1.34.0]"), class(""), "attention", "removed"},
		{"another field of a ClusterClass", class("kubernetesVersions: [v1.34.0]"), class("kubernetesVersions: [v1.35.0]"), "attention", "changed"},
	} {
		changes := compare(t, tt.old, tt.now)
		worst := Neutral
		for _, c := range changes {
			worst = max(worst, c.Impact)
		}
		r := fixed[slices.IndexFunc(fixed, func(r row) bool { return r.What == tt.what })]
		column := map[string]string{"added": r.Added, "removed": r.Removed, "changed": r.Changed}[tt.column]
		if worst.String() != tt.want || !strings.HasPrefix(column, tt.want) || len(changes) == 0 {
			t.Errorf("%s %s: %v, the table says %q: %v", tt.what, tt.column, worst, column, lines(changes))
		}
	}
}
