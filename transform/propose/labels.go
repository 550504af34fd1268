package propose

import (
	"cmp"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
)

// generated is the annotation of definitions that controller-gen writes: what is
// edited there is lost when it runs again.
const generated = "controller-gen.kubebuilder.io/version"

// labelled adds the label of the new contract with a value next to that of the old
// one: in the labels of a kustomization, and in definitions and patches of them that
// are wanted with the value. Line is that of the first change; 0 without one.
func labelled(text string, o Migration, wanted map[string]string, value string) (out string, line int) {
	chunks := edit.Split(text)
	before := 0
	for i, chunk := range chunks {
		lines := strings.Count(chunk, "\n")
		d, err := edit.Parse(chunk, before)
		before += lines
		if err != nil || d.Root == nil || d.Anchors || strings.Contains(chunk, "\r") {
			continue
		}
		first := 0
		for _, labels := range labelMaps(d.Root, wanted, value) {
			e := labels.Get(o.From.Label())
			if e == nil || e.Value.Kind != edit.Leaf || labels.Get(o.To.Label()) != nil {
				continue
			}
			quote := ""
			if raw := e.Value.Raw; raw != "" && (raw[0] == '"' || raw[0] == '\'') {
				quote = raw[:1]
			}
			added := edit.NewEntry(o.To.Label(), edit.NewLeaf(quote+value+quote))
			if e.Key != e.Name {
				added.Key = strings.Replace(e.Key, e.Name, added.Name, 1)
			}
			labels.Insert(labels.Index(e)+1, added)
			first = cmp.Or(first, e.Line)
		}
		if now, err := d.Result(); err == nil {
			chunks[i], line = now, cmp.Or(line, first)
		}
	}
	return strings.Join(chunks, ""), line
}

// labelMaps are the labels in a document that definitions get with a value.
func labelMaps(root *edit.Node, wanted map[string]string, value string) []*edit.Node {
	var out []*edit.Node
	take := func(e *edit.Entry) {
		if e != nil && e.Value.IsMap() {
			out = append(out, e.Value)
		}
	}
	if root.Text("kind") == crd.Kind {
		if wanted[root.Text("metadata", "name")] == value && root.At("metadata", "annotations", generated) == nil {
			take(root.At("metadata", "labels"))
		}
		return out
	}
	take(root.At("commonLabels"))
	if list := root.Get("labels"); list != nil && list.Value.IsList() {
		for _, e := range list.Value.Entries {
			take(e.Value.Get("pairs"))
		}
	}
	return out
}
