package diff

import (
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// meaning is a label that changes what clusterctl or Cluster API does with an
// object.
type meaning struct {
	label string
	// removed and added are the impacts; a changed value has that of removed.
	removed, added Impact
	// lost is what happens without the label, gained what happens with it.
	lost, gained string
}

// meanings are the labels with meaning in components (Cluster API book: clusterctl
// provider contract, sections Move and RBAC; api/core labels).
var meanings = []meaning{
	{"clusterctl.cluster.x-k8s.io/move", Breaking, Attention, "clusterctl move leaves its objects behind", "clusterctl move also moves its objects"},
	{"clusterctl.cluster.x-k8s.io/move-hierarchy", Breaking, Attention, "clusterctl move leaves what its objects own behind", "clusterctl move also moves what its objects own"},
	{"cluster.x-k8s.io/aggregate-to-manager", Breaking, Attention, "the core provider loses these permissions", "the core provider gets these permissions"},
	{"cluster.x-k8s.io/watch-filter", Attention, Attention, "controllers with a watch filter ignore it", "only controllers with this watch filter reconcile it"},
	{"clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check", Attention, Neutral, "clusterctl checks the name of the CRD and may refuse it", "clusterctl skips the check of the name of the CRD"},
}

// labels compares the labels with meaning of all objects that both releases have.
func (c *comparison) labels() {
	pairs(c.old.components(), c.new.components(), idOf, func(i id, a, b **manifest.Object) {
		if a == nil || b == nil {
			return
		}
		area := InObjects
		switch {
		case (*b).Group == crd.Group:
			area = InAPI
		case (*b).Group == rbacGroup:
			area = InPermissions
		}
		for _, m := range meanings {
			old, had := (*a).Label(m.label)
			now, has := (*b).Label(m.label)
			row := Change{Area: area, Subject: i.String(), Path: "metadata.labels[" + m.label + "]", Old: old, New: now}
			x, y := (*a).Get("metadata", "labels", m.label), (*b).Get("metadata", "labels", m.label)
			switch {
			case had == has && old == now:
			case !has:
				c.at(*a, x, row.is(Removed, m.removed, "keep the label", "%s loses label %s: %s", i, m.label, m.lost))
			case !had:
				c.at(*b, y, row.is(Added, m.added, "", "%s gets label %s: %s", i, m.label, m.gained))
			default:
				c.at(*b, y, row.is(Changed, m.removed, "", "%s changes label %s from %q to %q", i, m.label, old, now))
			}
		}
	})
}

// part is a field of a version of a CRD, or of the whole CRD, whose change
// existing clients can feel.
type part struct {
	path                    []string
	removed, added, changed Impact
	// what it is, and why a removal or change matters.
	what, why string
}

// versionParts are those of a version (apiextensions.k8s.io/v1,
// CustomResourceDefinitionVersion).
var versionParts = []part{
	{[]string{"subresources", "status"}, Breaking, Attention, Neutral, "the status subresource", "controllers that update /status get 404, and users can write status"},
	{[]string{"subresources", "scale"}, Breaking, Neutral, Breaking, "the scale subresource", "kubectl scale and autoscalers stop working"},
	{[]string{"selectableFields"}, Breaking, Neutral, Breaking, "the selectable fields", "clients that select by these fields are refused"},
}

// definitionParts are those of the whole CRD.
var definitionParts = []part{
	{[]string{"spec", "conversion", "strategy"}, Breaking, Attention, Breaking, "the conversion strategy", "fields that differ between versions are lost when objects are converted"},
	{[]string{"spec", "conversion", "webhook", "conversionReviewVersions"}, Attention, Neutral, Attention, "the review versions of the conversion webhook", "an API server that knows none of them cannot convert objects"},
	{[]string{"spec", "preserveUnknownFields"}, Breaking, Neutral, Attention, "preserveUnknownFields", "the API server drops fields that the schema does not describe"},
	{[]string{"spec", "names", "singular"}, Attention, Neutral, Attention, "the singular name", "scripts that use the name stop working"},
	{[]string{"spec", "names", "shortNames"}, Attention, Neutral, Attention, "the short names", "scripts that use a short name stop working"},
	{[]string{"spec", "names", "categories"}, Attention, Neutral, Attention, "the categories", "kubectl get CATEGORY no longer lists the objects; clusterctl describe uses cluster-api"},
}

// parts compares fields of a definition or a version.
func (c *comparison) parts(a, b *manifest.Object, old, now *yamldoc.Node, list []part, change Change, where string) {
	for _, p := range list {
		x, y := meaningful(old.Get(p.path...)), meaningful(now.Get(p.path...))
		if x == nil && y == nil || x != nil && y != nil && crd.Equal(x, y) {
			continue
		}
		row := change
		row.Path, row.Old, row.New = where+crd.Join(p.path), show(x), show(y)
		switch {
		case y == nil:
			c.at(a, x, row.is(Removed, p.removed, p.why, "%s loses %s", row.Subject, p.what))
		case x == nil:
			c.at(b, y, row.is(Added, p.added, "", "%s gets %s", row.Subject, p.what))
		default:
			c.at(b, y, row.is(Changed, p.changed, p.why, "%s changes %s from %s to %s", row.Subject, p.what, row.Old, row.New))
		}
	}
}

// meaningful is nil for what says no more than a missing field.
func meaningful(n *yamldoc.Node) *yamldoc.Node {
	switch {
	case n == nil, n.Kind == yamldoc.Null, n.Kind == yamldoc.Bool && !n.Bool(), n.Is(yamldoc.List) && len(n.List()) == 0, n.Str() == "None":
		return nil
	}
	return n
}

// Gone returns the change that a release without its provider is: everything
// that users have of it stops working.
func Gone(provider string) Change {
	const advice = "users cannot upgrade to a release without it; keep the provider, or document how to migrate"
	return Change{Area: InAPI, Subject: provider}.is(Removed, Breaking, advice, "provider %s is gone", provider)
}

// New returns the change that a provider without an older release is.
func New(provider string) Change {
	return Change{Area: InAPI, Subject: provider}.is(Added, Neutral, "", "provider %s is new", provider)
}
