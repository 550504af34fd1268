package move

import (
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// finder looks for fields of one object that name another. Nothing tells which
// fields of a provider's objects do, so that it goes by names: of objects, and of
// fields.
type finder struct {
	*builder
	node *Node
	path []string
}

// references links an object to those that it names.
func (b *builder) references(n *Node) {
	if n.foreign() {
		if at := n.Object.Get("metadata", "labels", clusterNameLabel); at.Str() != "" {
			b.Link(&Edge{From: b.cluster(at.Str()), To: n, Link: MayOwn, By: n, Field: "metadata.labels", At: at, Why: whyLabel})
		}
	}
	if n.data() {
		return // what is in there is for others
	}
	f := finder{builder: b, node: n}
	for _, field := range n.Object.Doc.Root.Fields() {
		switch field.Name {
		case "apiVersion", "kind", "metadata", "status":
		default:
			f.walk(field.Value, field.Name)
		}
	}
}

// crowd is how many objects may share a name for it to tell something.
const crowd = 50

func (b *builder) named(name string) []*Node {
	if nodes := b.byName[name]; len(nodes) <= crowd {
		return nodes
	}
	return nil
}

// walk looks at a value and what is below it. Key is the name of the field.
func (f *finder) walk(n *yamldoc.Node, key string) {
	f.path = append(f.path, key)
	f.below(n, key)
	f.path = f.path[:len(f.path)-1]
}

func (f *finder) below(n *yamldoc.Node, key string) {
	if n == nil {
		return
	}
	switch n.Kind {
	case yamldoc.String:
		if to := f.named(n.Text()); to != nil {
			least := 1
			if f.node.foreign() { // it may call a Secret anything
				least = 0
			}
			f.found(n, best(to, key, least))
		}
	case yamldoc.List:
		for i, item := range n.List() {
			f.path = append(f.path, strconv.Itoa(i))
			f.below(item, key)
			f.path = f.path[:len(f.path)-1]
		}
	case yamldoc.Map:
		if to := f.named(n.Get("name").Str()); to != nil {
			if kind := n.Get("kind").Str(); kind != "" {
				f.found(n, ofKind(to, manifest.GroupOf(n), kind))
			} else {
				f.found(n, best(to, key, 0))
			}
		}
		for _, field := range n.Fields() {
			switch field.Name {
			case "name", "kind", "apiVersion", "apiGroup", "namespace", "metadata":
			default:
				f.walk(field.Value, field.Name)
			}
		}
	}
}

// ofKind keeps the nodes of a kind; an empty group stands for any.
func ofKind(nodes []*Node, group, kind string) []*Node {
	return phrase.Only(nodes, func(n *Node) bool { return n.Kind == kind && (n.Group == group || group == "") })
}

// best keeps the nodes whose kind fits best to the name of a field, if it fits at
// least so well.
func best(nodes []*Node, key string, least int) []*Node {
	word := fieldWord(strings.ToLower(key))
	var out []*Node
	for _, n := range nodes {
		fits := fit(strings.ToLower(n.Kind), word)
		if fits > least {
			least, out = fits, nil
		}
		if fits == least {
			out = append(out, n)
		}
	}
	return out
}

// fieldWord is what the name of a field tells of a kind.
func fieldWord(key string) string {
	for _, suffix := range []string{"s", "name", "ref", "reference"} {
		key = strings.TrimSuffix(key, suffix)
	}
	return key
}

// fit says how well a kind fits to a word: 2 if one is part of the other, 1 if
// they end alike, which is how kinds are put together.
func fit(kind, word string) int {
	const alike = 4
	switch {
	case len(word) >= 2 && (strings.Contains(kind, word) || strings.Contains(word, kind)):
		return 2
	case len(word) >= alike && len(kind) >= alike && kind[len(kind)-alike:] == word[len(word)-alike:]:
		return 1
	}
	return 0
}

// found links the object to those that a value names.
func (f *finder) found(at *yamldoc.Node, nodes []*Node) {
	n := f.node
	for _, to := range nodes {
		if to == n {
			continue
		}
		field := strings.Join(f.path, ".")
		link, why := f.link(to)
		if back, ok := f.linked[[2]*Node{to, n}]; !ok || !back.binds() || link != reference {
			f.Link(&Edge{From: n, To: to, Link: link, By: n, Field: field, At: at, Why: why})
		}
		// A provider often makes an object the property of what it names.
		if n.foreign() && !to.ofKubernetes() {
			f.back = append(f.back, &Edge{From: to, To: n, Link: MayOwn, By: n, Field: field, At: at, Why: whyForeign})
		}
	}
}

// link says what becomes of an object because this one names it.
func (f *finder) link(to *Node) (link, string) {
	n := f.node
	switch {
	case n.ofKubernetes():
		return reference, whyKubernetes
	case to.ours():
		return reference, whyControllers
	case n.foreign():
		return MayOwn, whyForeign
	case n.Kind == "Cluster" && len(f.path) > 1 && f.path[1] == "topology",
		n.Kind == "ClusterClass" && len(f.path) > 1 && (f.path[1] == "patches" || f.path[1] == "variables"):
		return MayOwn, whyTopology
	case to.foreign():
		return MayOwn, whyForeign
	}
	return reference, whyControllers
}
