package rules_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestManyTemplates demands the same findings in a release with a few templates and in
// one with many, of which most are forgotten before the last rule has asked.
func TestManyTemplates(t *testing.T) {
	const few, many = 40, 70
	elsewhere := map[string]string{
		"infrastructure-foo/v1.0.0/cluster-template.yaml":   "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a, namespace: b}\nspec: {topology: {classRef: {name: one}, version: v1.34.0}}\n",
		"infrastructure-foo/v1.0.0/cluster-template-b.yaml": class("one") + "---\n" + class("two"),
	}
	found := amongTemplates(t, examples.Files{Text: elsewhere}, 3*many)
	for _, want := range []string{"it is in cluster-template-b.yaml", "also belongs to ClusterClass one in cluster-template-b.yaml"} {
		if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("nothing about %q among\n%s", want, strings.Join(found, "\n"))
		}
	}
	if share.Race {
		return // the examples take minutes
	}
	for i, id := range examples.IDs() {
		if i%share.Of(8, 1) != 0 {
			continue
		}
		e := given.Value(examples.Load(id))(t)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(e.Bad.Text)), func(name string) bool {
			return strings.HasPrefix(path.Base(name), "cluster-template") || strings.HasPrefix(path.Base(name), "clusterclass")
		}) {
			continue
		}
		if one, other := amongTemplates(t, e.Bad, few), amongTemplates(t, e.Bad, many); !slices.Equal(one, other) {
			t.Errorf("%s: among few templates\n%s\namong many\n%s", id, strings.Join(one, "\n"), strings.Join(other, "\n"))
		}
	}
}

// class is a ClusterClass whose template of the infrastructure is that of all others.
func class(name string) string {
	return "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: " + name + "}\nspec: {infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooClusterTemplate, name: foo}}}\n"
}

// amongTemplates returns what is found in files that have n more templates beside
// them.
func amongTemplates(t *testing.T, files examples.Files, n int) []string {
	t.Helper()
	const name = "cluster-template-beside-"
	text := maps.Clone(files.Text)
	for file := range files.Text {
		for i := range n {
			text[path.Dir(file)+fmt.Sprintf("/%s%d.yaml", name, i)] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${CLUSTER_NAME}\n"
		}
	}
	files.Text = text
	var out []string
	for _, f := range lintFiles(t, files) {
		if !strings.Contains(f.File, name) {
			out = append(out, fmt.Sprintf("%s:%d:%d %s %s %s %s", f.File, f.Pos.Line, f.Pos.Column, f.Rule.ID, f.Object, f.Message, f.Fingerprint))
		}
	}
	return out
}
