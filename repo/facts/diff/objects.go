package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// objects compares the other objects that clusterctl installs. It deletes and
// recreates them at an upgrade, so hardly anything here breaks.
func (c *comparison) objects() {
	pairs(others(c.old), others(c.new), idOf, func(i id, a, b **manifest.Object) {
		change := Change{Area: InObjects, Subject: i.String()}
		switch {
		case a == nil && (i.kind == "ValidatingWebhookConfiguration" || i.kind == "MutatingWebhookConfiguration"):
			c.at(*b, nil, change.is(Added, Attention, "", "new %s", i))
		case a == nil && c.new.foreignRole(*b):
			c.at(*b, nil, change.is(Added, Attention, checkRole, "new %s, to a role that the release does not define", i))
		case a == nil:
			c.at(*b, nil, change.is(Added, Neutral, "", "new %s", i))
		case b == nil && i.kind == "Namespace":
			c.at(*a, nil, change.is(Removed, Attention, "clusterctl upgrade keeps the provider in its namespace; only new installations, and users who apply the file, get another one, and must not run both", "%s is gone", i))
		case b == nil:
			c.at(*a, nil, change.is(Removed, Neutral, "", "%s is gone", i))
		default:
			c.leaves(*a, *b, change)
		}
	})
}

const checkRole = "look up what the role allows: the release does not tell"

// foreignRole reports whether an object binds a role that the release does not define,
// so that nothing is known of its rights.
func (s *side) foreignRole(o *manifest.Object) bool {
	ref := o.Get("roleRef")
	if ref != nil && s.roles == nil {
		s.roles = map[[2]string]bool{}
		for _, role := range s.components() {
			if role.Group == rbacGroup {
				s.roles[[2]string{role.Kind, role.Name}] = true
			}
		}
	}
	return ref != nil && !s.roles[[2]string{ref.Get("kind").Str(), ref.Get("name").Str()}]
}

// others are the objects that no other area compares.
func others(s *side) []*manifest.Object {
	return slices.DeleteFunc(s.components(), func(o *manifest.Object) bool {
		return o.Group == crd.Group || o.Is(rbacGroup, "ClusterRole") || o.Is(rbacGroup, "Role")
	})
}

func (c *comparison) leaves(a, b *manifest.Object, change Change) {
	walk(a.Doc.Root, b.Doc.Root, "", byContent, func(path string, x, y *yamldoc.Node) {
		image := strings.HasSuffix(path, "].image") && strings.Contains(strings.ToLower(path), "containers[")
		row := change
		row.Path, row.Old, row.New = path, written(a, x), written(b, y)
		switch {
		case image, sameVariable(a, x, b, y): // areas of their own
		case x == nil:
			c.at(b, y, row.is(Added, Neutral, "", "%s: %s is now %s", row.Subject, path, row.New))
		case y == nil:
			c.at(a, x, row.is(Removed, Neutral, "", "%s: %s is gone, it was %s", row.Subject, path, row.Old))
		case strings.HasPrefix(path, "roleRef.") && c.new.foreignRole(b):
			c.at(b, y, row.is(Changed, Attention, checkRole,
				"%s: %s changes from %s to %s", row.Subject, path, row.Old, row.New))
		default:
			c.at(b, y, row.is(Changed, Neutral, "", "%s: %s changes from %s to %s", row.Subject, path, row.Old, row.New))
		}
	})
}

// sameVariable reports whether both values come from the same variable, so that
// at most its default changes.
func sameVariable(a *manifest.Object, x *yamldoc.Node, b *manifest.Object, y *yamldoc.Node) bool {
	v, ok := a.File.Variable(a.Doc, x)
	w, also := b.File.Variable(b.Doc, y)
	return ok && also && v.Name == w.Name
}

// written shows a value, or the expression that it comes from.
func written(o *manifest.Object, n *yamldoc.Node) string {
	if n != nil && n.Kind != yamldoc.Map && n.Kind != yamldoc.List {
		if ref, ok := o.File.Variable(o.Doc, n); ok {
			return string(o.File.Raw.Data[ref.Start:ref.End])
		}
	}
	return show(n)
}

// walk visits the values in which two trees differ. Elements of lists are matched
// by their keys.
func walk(a, b *yamldoc.Node, path string, elements func(*yamldoc.Node) []element, visit func(path string, a, b *yamldoc.Node)) {
	switch {
	case a == nil && b == nil:
	case a.Is(yamldoc.Map) && b.Is(yamldoc.Map):
		pairs(a.Fields(), b.Fields(), func(f yamldoc.Field) string { return f.Name }, func(name string, x, y *yamldoc.Field) {
			walk(deref(x).Value, deref(y).Value, join(path, name), elements, visit)
		})
	case a.Is(yamldoc.List) && b.Is(yamldoc.List):
		pairs(elements(a), elements(b), func(e element) string { return e.key }, func(_ string, x, y *element) {
			if x == nil || y == nil || x.compared {
				walk(deref(x).node, deref(y).node, path+"["+cmp.Or(x, y).shown+"]", elements, visit)
			}
		})
	case a == nil || b == nil || !crd.Equal(a, b):
		visit(path, a, b)
	}
}

type element struct {
	// key is what it is matched by, shown what stands in a path.
	key, shown string
	// compared is set if two elements with one key can differ.
	compared bool
	node     *yamldoc.Node
}

// inOrder are the elements of lists whose order matters, like those of patches.
func inOrder(n *yamldoc.Node) (out []element) {
	for i, item := range n.List() {
		at := strconv.Itoa(i)
		out = append(out, element{at, at, true, item})
	}
	return out
}

// byContent are the elements with their names if they have some, or else with their values.
func byContent(n *yamldoc.Node) []element {
	return phrase.List(n.List(), func(n *yamldoc.Node) element {
		if name := n.Get("name").Str(); name != "" {
			return element{name, name, true, n}
		}
		e := element{crd.Fingerprint(n), "", false, n}
		if n.Kind == yamldoc.String { // which may be an argument with a name
			if name, _, ok := strings.Cut(n.Text(), "="); ok && strings.HasPrefix(name, "-") {
				e.shown = name
			}
		}
		return e
	})
}

// templates compares the objects of templates and classes that both releases
// have.
func (c *comparison) templates() {
	for _, kind := range []layouts.FileKind{layouts.ClusterTemplate, layouts.ClusterClass} {
		for _, f := range c.old.of(kind) {
			g := c.new.files[f.Artifact.Name]
			if g == nil || g.Kind != kind {
				continue
			}
			c.template(f, g)
		}
	}
}

// template compares the objects of one file.
func (c *comparison) template(f, g *manifest.File) {
	file := f.Artifact.Name
	pairs(f.Objects(), g.Objects(), idOf, func(i id, a, b **manifest.Object) {
		change := Change{Area: InTemplates, Subject: file + ": " + i.String()}
		switch {
		case a == nil:
			c.at(*b, nil, change.is(Added, Neutral, "", "%s has a new %s", file, i))
			return
		case b == nil:
			c.at(*a, nil, change.is(Removed, Neutral, "", "%s no longer has %s", file, i))
			return
		}
		if x, y := clusterclass.Of(*a), clusterclass.Of(*b); x != nil && y != nil {
			c.class(x, y)
			if x.Version == y.Version {
				c.classContent(x, y)
				return
			}
			row := Change{
				Area: InClasses, Kind: Changed, Impact: Attention, Advice: rollsOut,
				Subject: "ClusterClass " + y.Name(), Path: "apiVersion", Old: x.Version, New: y.Version,
			}
			row.Message = fmt.Sprintf("%s is now of version %s instead of %s; its patches and references are not compared", row.Subject, y.Version, x.Version)
			c.at(*b, (*b).Get("apiVersion"), row)
			return
		}
		change.Kind = Changed
		if (*a).Version != (*b).Version {
			row := change
			row.Path, row.Old, row.New = "apiVersion", (*a).Version, (*b).Version
			row.Message = fmt.Sprintf("%s: %s is now of version %s instead of %s", file, i, (*b).Version, (*a).Version)
			renames := (*a).Group == clusterclass.Group // fields of Cluster API have other names in its next version
			if renames {
				row.Message += "; its fields are not compared"
			}
			c.at(*b, (*b).Get("apiVersion"), row)
			if renames {
				return
			}
		}
		changed := 0
		var first string
		var x, y *yamldoc.Node
		walk((*a).Doc.Root, (*b).Doc.Root, "", byContent, func(path string, m, n *yamldoc.Node) {
			if path == "apiVersion" || sameVariable(*a, m, *b, n) {
				return
			}
			if changed++; changed == 1 {
				first, x, y = path, m, n
			}
		})
		if changed == 0 {
			return
		}
		change.Path, change.Old, change.New = first, written(*a, x), written(*b, y)
		change.Message = fmt.Sprintf("%s: %s changes in %s", file, i, first)
		if changed > 1 {
			change.Message += fmt.Sprintf(" and %d other fields", changed-1)
		}
		if strings.HasSuffix(i.kind, "MachineTemplate") && f.Kind == layouts.ClusterClass {
			change.Impact = Attention
			change.Advice = "machine templates are immutable: users who apply the file over the old one are refused, so it needs a new name"
		}
		o, n := *b, y
		if y == nil {
			o, n = *a, x
		}
		c.at(o, n, change)
	})
}
