package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

const rbacGroup = "rbac.authorization.k8s.io"

// right is what a rule of a role lets a subject do with a resource.
type right struct {
	// namespace is empty for the whole cluster.
	namespace, what, name string
}

// String says what and where.
func (r right) String() string {
	out := r.what
	if r.name != "" {
		out += fmt.Sprintf(" named %q", r.name)
	}
	if r.namespace != "" {
		return out + " in namespace " + r.namespace
	}
	return out
}

// granted are the verbs of a right, and the rule that was seen first.
type granted struct {
	right
	verbs  map[string]bool
	object *manifest.Object
	node   *yamldoc.Node
}

// permissions compares what all roles of the components allow together,
// whatever the roles are called and however their rules are cut.
func (c *comparison) permissions() {
	pairs(rightsOf(c.old), rightsOf(c.new), func(g *granted) right { return g.right }, func(r right, a, b **granted) {
		var gone, come []string
		if a != nil {
			gone = (*a).without(b)
		}
		if b != nil {
			come = (*b).without(a)
		}
		if len(come) > 0 {
			c.at((*b).object, (*b).node, Change{Area: InPermissions, Kind: Added, Impact: Attention, Subject: r.String(), New: strings.Join(come, ", "),
				Message: fmt.Sprintf("may now %s %s", strings.Join(come, ", "), r)})
		}
		if len(gone) > 0 {
			c.at((*a).object, (*a).node, Change{Area: InPermissions, Kind: Removed, Subject: r.String(), Old: strings.Join(gone, ", "),
				Message: fmt.Sprintf("may no longer %s %s", strings.Join(gone, ", "), r)})
		}
	})
}

// without lists the verbs that another right does not have, sorted.
func (g *granted) without(other **granted) []string {
	var out []string
	for verb := range g.verbs {
		if other == nil || !(*other).verbs[verb] && !(*other).verbs["*"] {
			out = append(out, verb)
		}
	}
	slices.Sort(out)
	return out
}

// rightsOf lists the rights in the order of the objects.
func rightsOf(s *side) []*granted {
	index := map[right]*granted{}
	var out []*granted
	add := func(r right, verbs []string, o *manifest.Object, n *yamldoc.Node) {
		g := index[r]
		if g == nil {
			g = &granted{right: r, verbs: map[string]bool{}, object: o, node: n}
			index[r] = g
			out = append(out, g)
		}
		for _, verb := range verbs {
			g.verbs[verb] = true
		}
	}
	for _, o := range s.components() {
		if !o.Is(rbacGroup, "ClusterRole") && !o.Is(rbacGroup, "Role") {
			continue
		}
		for _, rule := range o.Get("rules").List() {
			verbs := strs(rule.Get("verbs"))
			names := strs(rule.Get("resourceNames"))
			if len(names) == 0 {
				names = []string{""}
			}
			for _, url := range strs(rule.Get("nonResourceURLs")) {
				add(right{o.Namespace, url, ""}, verbs, o, rule)
			}
			for _, group := range strs(rule.Get("apiGroups")) {
				for _, resource := range strs(rule.Get("resources")) {
					what := resource
					if group != "" {
						what += "." + group
					}
					for _, name := range names {
						add(right{o.Namespace, what, name}, verbs, o, rule)
					}
				}
			}
		}
	}
	return out
}

func strs(n *yamldoc.Node) []string {
	var out []string
	for _, item := range n.List() {
		out = append(out, item.Str())
	}
	return out
}
