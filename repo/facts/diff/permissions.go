package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
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
	verbs  []string
	object *manifest.Object
	node   *yamldoc.Node
}

// permissions compares what all roles of the components allow together,
// whatever the roles are called and however their rules are cut.
func (c *comparison) permissions() {
	pairs(rightsOf(c.old), rightsOf(c.new), func(g granted) right { return g.right }, func(r right, a, b *granted) {
		change := Change{Area: InPermissions, Subject: r.String()}
		if come := deref(b).without(deref(a)); come != "" {
			change.New = come
			c.at(b.object, b.node, change.is(Added, Attention, "", "may now %s %s", come, r))
		}
		if gone := deref(a).without(deref(b)); gone != "" {
			change.Old, change.New = gone, ""
			c.at(a.object, a.node, change.is(Removed, Neutral, "", "may no longer %s %s", gone, r))
		}
	})
}

// without names the verbs that another right does not have.
func (g granted) without(other granted) string {
	verbs := slices.Compact(slices.Sorted(slices.Values(g.verbs)))
	return strings.Join(slices.DeleteFunc(verbs, func(verb string) bool {
		return slices.Contains(other.verbs, verb) || slices.Contains(other.verbs, "*")
	}), ", ")
}

// rightsOf lists the rights in the order of the objects.
func rightsOf(s *side) []granted {
	var all []granted
	for _, o := range s.components() {
		if !o.Is(rbacGroup, "ClusterRole") && !o.Is(rbacGroup, "Role") {
			continue
		}
		for _, rule := range o.Get("rules").List() {
			add := func(what, name string) {
				all = append(all, granted{right{o.Namespace, what, name}, strs(rule.Get("verbs")), o, rule})
			}
			names := strs(rule.Get("resourceNames"))
			if len(names) == 0 {
				names = []string{""}
			}
			for _, url := range strs(rule.Get("nonResourceURLs")) {
				add(url, "")
			}
			for _, group := range strs(rule.Get("apiGroups")) {
				for _, resource := range strs(rule.Get("resources")) {
					what := resource
					if group != "" {
						what += "." + group
					}
					for _, name := range names {
						add(what, name)
					}
				}
			}
		}
	}
	return phrase.List(phrase.Groups(all, func(g granted) right { return g.right }), func(same []granted) granted {
		for _, g := range same[1:] {
			same[0].verbs = append(same[0].verbs, g.verbs...)
		}
		return same[0]
	})
}

func strs(n *yamldoc.Node) []string { return phrase.List(n.List(), (*yamldoc.Node).Str) }
