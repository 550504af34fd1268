package view

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

const (
	RuntimeGroup  = "runtime.cluster.x-k8s.io"
	ExtensionKind = "ExtensionConfig"
	// InjectCAFromSecret lets Cluster API copy a CA into an ExtensionConfig.
	InjectCAFromSecret = "runtime.cluster.x-k8s.io/inject-ca-from-secret"
)

// ServesHooks reports whether a release is one of a runtime extension. Controllers of other
// kinds are sometimes released as one, because clusterctl has no type for them.
func ServesHooks(r *lint.Release) bool {
	return r.Provider.Type == layouts.RuntimeExtension &&
		(len(r.CRDs()) == 0 || len(r.Installed().Kind(RuntimeGroup, ExtensionKind)) > 0)
}

// Wildcards names the fields in which a rule of a role allows everything, or "" if the rule
// is limited. One of a runtime extension is not limited as soon as there is one, other than
// all verbs in a namespace or for its own kinds.
func Wildcards(r *lint.Release, role *manifest.Object, rule *yamldoc.Node) string {
	fields := phrase.Only([]string{"apiGroups", "resources", "verbs", "nonResourceURLs"}, func(field string) bool {
		return yamldoc.Has(rule.Get(field).List(), "*")
	})
	own := slices.ContainsFunc(r.CRDs(), func(c *crd.CRD) bool { return Holds(rule, "apiGroups", c.Group) })
	if len(fields) == 1 && fields[0] == "verbs" && (role.Kind == "Role" || own) || !ServesHooks(r) && len(fields) < 3 {
		return ""
	}
	return phrase.And(fields)
}
