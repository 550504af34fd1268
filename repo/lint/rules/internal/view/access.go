package view

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

const RbacGroup = "rbac.authorization.k8s.io"

// IsBinding reports whether an object grants a role to subjects.
func IsBinding(o *manifest.Object) bool {
	return o.Kind == "RoleBinding" || o.Kind == "ClusterRoleBinding"
}

// Holds reports whether a list of a rule names something, or everything.
func Holds(rule *yamldoc.Node, field, name string) bool {
	list := rule.Get(field).List()
	return yamldoc.Has(list, name) || yamldoc.Has(list, "*")
}

// About reports whether a rule is about all objects of a resource.
func About(rule *yamldoc.Node, group, resource string) bool {
	if !Holds(rule, "apiGroups", group) || len(rule.Get("resourceNames").List()) > 0 {
		return false
	}
	_, sub, ok := strings.Cut(resource, "/")
	return Holds(rule, "resources", resource) || ok && Holds(rule, "resources", "*/"+sub)
}

// Allowed returns the verbs that one of the objects allows for a resource, and
// the last rule that says so.
func Allowed(objects []*manifest.Object, group, resource string) (verbs map[string]bool, role *manifest.Object, rule *yamldoc.Node) {
	verbs = map[string]bool{}
	for _, o := range objects {
		for _, r := range o.Get("rules").List() {
			if About(r, group, resource) {
				role, rule = o, r
				for _, v := range r.Get("verbs").List() {
					verbs[v.Str()] = true
				}
			}
		}
	}
	return verbs, role, rule
}

// Roles returns the objects of the components that hold rules.
func Roles(r *lint.Release) []*manifest.Object {
	return slices.Concat(r.Installed().Kind(RbacGroup, "ClusterRole"), r.Installed().Kind(RbacGroup, "Role"))
}

const DefaultAccount = "default"
