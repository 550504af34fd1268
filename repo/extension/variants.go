package extension

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Variant is a legal change of the Cluster that requests are made from.
type Variant struct {
	What string
	// Other says that it is another Cluster then.
	Other  bool
	change func(t *Topology)
}

// Variants are unusual Clusters.
var Variants = [...]Variant{
	{What: "a Cluster without labels, annotations, network and replicas", change: func(t *Topology) {
		delete(child(t.Cluster, "metadata"), "labels")
		delete(child(t.Cluster, "metadata"), "annotations")
		delete(child(t.Cluster, "spec"), "clusterNetwork")
		delete(t.topology(), "controlPlane")
		for _, w := range t.workers() {
			delete(w.topology, "replicas")
		}
	}},
	{What: "a pre-release version with build metadata", change: func(t *Topology) {
		version, _, _ := strings.Cut(t.Version(), "+")
		version, _, _ = strings.Cut(version, "-")
		t.topology()["version"] = version + "-rc.1+acme.1"
	}},
	{What: "a Cluster without workers", change: func(t *Topology) { delete(t.topology(), "workers") }},
	{What: "Unicode in annotations and variables", change: func(t *Topology) { t.fill("Zoë \"東京\" 🚀\n") }},
	{What: "a name of 63 characters", Other: true, change: func(t *Topology) { child(t.Cluster, "metadata")["name"] = strings.Repeat("a", 63) }},
	{What: "IPv6 networks", change: func(t *Topology) {
		child(t.Cluster, "spec")["clusterNetwork"] = object{
			"services": object{"cidrBlocks": []any{"fd00:10:96::/112"}}, "pods": object{"cidrBlocks": []any{"fd00:10:244::/56"}},
		}
	}},
}

// Unmeant are changes of the Cluster that do not ask for other machines: patches must
// stay the same.
var Unmeant = [...]Variant{
	{What: "another uid of the Cluster, as after clusterctl move", change: func(t *Topology) {
		child(t.Cluster, "metadata")["uid"] = "0f4a7a52-0000-4000-8000-000000000003"
	}},
	{What: "more replicas of workers", change: func(t *Topology) {
		for _, w := range t.workers() {
			w.topology["replicas"] = int64(7)
		}
	}},
}

// Crowded is a Cluster with many workers of each class.
var Crowded = Variant{What: "many workers", change: func(t *Topology) {
	lists, _ := t.topology()["workers"].(object)
	for key := range lists {
		entries, _ := lists[key].([]any)
		for n := range 10 {
			for _, e := range entries {
				more := copied(e).(object)
				more["name"] = fmt.Sprintf("%s-%d", text(e, "name"), n)
				lists[key] = append(lists[key].([]any), more)
			}
		}
	}
}}

// OtherName is the name of Another and of Namesake, and the texts are what they have as their
// namespace and as all other texts.
const (
	OtherName    = "clusterctl-repo-other"
	OtherText    = "clusterctl-repo-text"
	NamesakeText = "clusterctl-repo-namesake"
)

// Another is a second Cluster of the same class, and Namesake one with its name in another
// namespace.
var (
	Another  = other(OtherText, "0f4a7a52-0000-4000-8000-000000000001")
	Namesake = other(NamesakeText, "0f4a7a52-0000-4000-8000-000000000002")
)

func other(value, uid string) Variant {
	return Variant{What: "another Cluster", Other: true, change: func(t *Topology) {
		metadata := child(t.Cluster, "metadata")
		metadata["name"], metadata["namespace"], metadata["uid"] = OtherName, value, uid
		t.fill(value)
	}}
}

// For returns a maker of requests for a variant of the Cluster.
func (m *Maker) For(v Variant) *Maker {
	t := *m.Topology
	t.Cluster = copied(t.Cluster).(object)
	child(child(t.Cluster, "spec"), "topology") // so that change can write to it
	v.change(&t)
	return &Maker{Topology: &t, Core: m.Core, Settings: m.Settings, Discovered: m.Discovered}
}

// fill sets an annotation and each variable of the class that takes the text.
func (t *Topology) fill(value string) {
	child(child(t.Cluster, "metadata"), "annotations")["example.com/text"] = value
	topology := t.topology()
	values, _ := topology["variables"].([]any)
	for _, v := range t.Class.Variables() {
		n := v.Schema.Node
		if n.Get("type").Str() != "string" || n.Get("format") != nil || n.Get("x-kubernetes-validations") != nil ||
			len(new(crd.Checker).Check(v.Schema, yamldoc.NewScalar(yamldoc.String, yamldoc.Quoted, value), false)) > 0 {
			continue
		}
		values = append(slices.DeleteFunc(values, func(e any) bool { return text(e, "name") == v.Name }), object{"name": v.Name, "value": value})
	}
	if len(values) > 0 {
		topology["variables"] = values
	}
}

// Own are texts that only requests for this Cluster have: its uid, and its name if that
// is long enough not to be elsewhere by chance.
func (t *Topology) Own() []string {
	return slices.DeleteFunc([]string{t.name(), text(t.Cluster, "metadata", "uid")}, func(s string) bool { return len(s) < 8 || !strings.Contains(s, "-") })
}
