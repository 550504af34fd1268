package extension

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
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

// Unmeant are changes of the Cluster that do not ask for other machines: their patches must
// stay the same, those of the infrastructure of the Cluster need not.
var Unmeant = [...]Variant{
	{What: "another uid of the Cluster, as after clusterctl move", change: func(t *Topology) {
		child(t.Cluster, "metadata")["uid"] = "0f4a7a52-0000-4000-8000-000000000003"
	}},
	{What: "more replicas of workers", change: func(t *Topology) {
		for _, w := range t.workers() {
			w.topology["replicas"] = int64(7)
		}
	}},
	{What: "other names of the generated templates, as after each rollout", change: func(t *Topology) { t.rotated = "-2" }},
	{What: "a new version of the topology that the machines do not have yet, as when an upgrade begins", change: func(t *Topology) {
		t.running = t.Version()
		t.topology()["version"] = later(t.running)
	}},
}

// Turns are changes of a request that depend on the hook. Steps says that the versions of a
// plan are used, if there is one.
var Turns = [...]struct {
	What  string
	Steps bool
	Take  func(r object, plan *PlanResponse)
}{
	{"no further steps of the upgrade", false, func(r object, _ *PlanResponse) {
		delete(r, "controlPlaneUpgrades")
		delete(r, "workersUpgrades")
	}},
	{"the first step of an upgrade of three minor versions", true, firstStep},
	{"a change of the infrastructure only", false, func(r object, _ *PlanResponse) {
		changeOnly(r, "infrastructureMachine", "infrastructureMachineTemplate")
	}},
	{"a change of the bootstrap configuration only", false, func(r object, _ *PlanResponse) {
		changeOnly(r, "bootstrapConfig", "bootstrapConfigTemplate")
	}},
}

// firstStep makes a request about an upgrade one for its first step, of the control plane or
// of the workers.
func firstStep(r object, plan *PlanResponse) {
	to := text(r, "cluster", "spec", "topology", "version")
	steps := []string{earlier(to, 2), earlier(to, 1), to}
	workers := steps
	if plan != nil {
		steps, workers = completed(plan.ControlPlaneUpgrades), completed(plan.WorkersUpgrades)
		if len(workers) == 0 {
			workers = []string{to} // see defaulted: more are needed for more than three minor versions
		}
	}
	step, rest, after := steps[0], steps, workers
	switch text(r, "kind") {
	case "AfterControlPlaneUpgradeRequest":
		rest = steps[1:]
	case "BeforeWorkersUpgradeRequest":
		step = workers[0]
		rest = steps[slices.Index(steps, step)+1:] // the control plane has this version
	case "AfterWorkersUpgradeRequest":
		step, after = workers[0], workers[1:]
		rest = steps[slices.Index(steps, step)+1:]
	}
	switch {
	case r["controlPlaneUpgrades"] == nil:
		return
	case r["kubernetesVersion"] != nil:
		r["kubernetesVersion"] = step
	case r["kind"] != "BeforeClusterUpgradeRequest":
		r["toKubernetesVersion"] = step
	}
	if r["fromKubernetesVersion"] != nil {
		r["fromKubernetesVersion"] = earlier(to, 3)
	}
	for key, versions := range map[string][]string{"controlPlaneUpgrades": rest, "workersUpgrades": after} {
		delete(r, key)
		if len(versions) > 0 {
			r[key] = phrase.List(versions, func(v string) any { return object{"version": v} })
		}
	}
}

// changeOnly makes a request to update something in place that asks for another value in
// one of the objects.
func changeOnly(r object, names ...string) {
	current, _ := r["current"].(object)
	desired, _ := copied(current).(object)
	for _, name := range names {
		if retouch(desired[name]) {
			r["desired"] = desired
		}
	}
}

// retouch changes the first string in the specification of an object.
func retouch(v any) bool {
	switch v := v.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if s, ok := v[key].(string); ok && key != "apiVersion" && key != "kind" {
				v[key] = s + "-2"
				return true
			}
			if key != "metadata" && retouch(v[key]) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, retouch)
	}
	return false
}

// Open are the parts of requests that get new fields with releases of Cluster API and of
// providers. An asterisk in a path stands for all entries, a word also for the entry of a list with this name.
var Open = [...]struct{ What, Paths string }{
	{"", ""},
	{" in the Cluster", "cluster.spec cluster.spec.topology"},
	{" in the templates", TemplateSpec},
	{" in a holderReference", "items.*.holderReference"},
	{" in builtin", "variables.builtin.value.cluster " +
		"items.*.variables.builtin.value.controlPlane items.*.variables.builtin.value.machineDeployment"},
	{" in the objects", "current.*.spec desired.*.spec"},
}

// TemplateSpec is where a request has what templates say of their objects.
const TemplateSpec = "items.*.object.spec.template.spec"

// Graft adds a field to objects at paths.
func Graft(v any, paths, key, value string) {
	for path := range strings.SplitSeq(paths, " ") {
		graft(v, path, key, value)
	}
}

func graft(v any, path, key, value string) {
	first, rest, _ := strings.Cut(path, ".")
	switch v := v.(type) {
	case object:
		if path == "" {
			v[key] = value
		}
		for name, e := range v {
			if name == first || first == "*" {
				graft(e, rest, key, value)
			}
		}
	case []any:
		for _, e := range v {
			if first == "*" || text(e, "name") == first {
				graft(e, rest, key, value)
			}
		}
	}
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
