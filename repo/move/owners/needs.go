package owners

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/dump"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Need is something that the target must have.
type Need struct {
	// What and Why are parts of a sentence.
	What string `json:"what" doc:"what the target must have"`
	Why  string `json:"why" doc:"why"`
	// Status is empty unless a target was given.
	Status string `json:"status,omitempty" doc:"met, missing or not known; absent unless a dump of the target was given"`
	Found  string `json:"found,omitempty" doc:"what is there instead; absent if nothing is to be said"`

	check func(t *target) (status, found string)
}

// The statuses.
const (
	met      = "met"
	Missing  = "missing"
	NotKnown = "not known"
)

// served is a kind with the version in which objects are sent to the target.
type served struct{ group, version, kind string }

// arrivals is what the needs depend on.
type arrivals struct {
	kinds      map[served]bool
	providers  map[string]bool // labels of definitions of these kinds
	namespaces map[string]bool
	gates      map[string]string // why they are needed
	extensions map[string]string // which ClusterClass calls them
	classes    map[string]string // which Cluster uses them
	global     map[groupKind]bool
}

func newArrivals() *arrivals {
	return &arrivals{
		kinds: map[served]bool{}, providers: map[string]bool{}, namespaces: map[string]bool{}, gates: map[string]string{},
		extensions: map[string]string{}, classes: map[string]string{}, global: map[groupKind]bool{},
	}
}

// add notes an object that arrives.
func (a *arrivals) add(n *Node, version string) {
	if n.Namespace != "" && !n.Global {
		a.namespaces[n.Namespace] = true
	}
	if n.ofKubernetes() {
		return
	}
	a.kinds[served{n.Group, version, n.Kind}] = true
	a.global[groupKind{n.Group, n.Kind}] = n.Global
	for _, g := range gates {
		if g.needs == (groupKind{n.Group, n.Kind}) {
			a.gates[g.name] = cmp.Or(a.gates[g.name], fmt.Sprintf(whyGate, n))
		}
	}
}

const whyGate = "its webhook refuses %s otherwise, after clusterctl has paused the source"

// managed notes a Cluster with a topology.
func (a *arrivals) managed(n *Node) {
	a.gates["ClusterTopology"] = cmp.Or(a.gates["ClusterTopology"], fmt.Sprintf(whyGate, n))
}

// gate is a feature gate of the core controllers (feature/feature.go).
type gate struct {
	name string
	on   bool // by default
	// needs is the kind that a webhook refuses without it.
	needs groupKind
}

var gates = []gate{
	{"ClusterTopology", false, groupKind{coreGroup, "ClusterClass"}},
	{"MachinePool", true, groupKind{coreGroup, "MachinePool"}},
	{"RuntimeSDK", false, groupKind{runtimeGroup, "ExtensionConfig"}},
}

// list says what the target needs.
func (a *arrivals) list() (out []Need) {
	versions := map[[2]string][]string{}
	for k := range a.kinds {
		key := [2]string{k.group, k.version}
		versions[key] = append(versions[key], k.kind)
	}
	for _, key := range slices.SortedFunc(maps.Keys(versions), func(x, y [2]string) int {
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	}) {
		kinds := slices.Sorted(slices.Values(versions[key]))
		what, why := "the API "+key[0]+"/"+key[1], "clusterctl creates "+phrase.Few(kinds, 6)+" in it"
		if key[1] == "" {
			what, why = "the kinds of "+key[0], "clusterctl creates "+phrase.Few(kinds, 6)
		}
		out = append(out, Need{What: what, Why: why, check: func(t *target) (string, string) {
			for _, kind := range kinds {
				if status, found := t.serves(served{key[0], key[1], kind}, a.global[groupKind{key[0], kind}]); status != met {
					return status, found
				}
			}
			return met, ""
		}})
	}
	for _, g := range gates {
		if why := a.gates[g.name]; why != "" {
			out = append(out, Need{What: "the feature gate " + g.name + " of cluster-api", Why: why, check: func(t *target) (string, string) { return t.gate(g) }})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.classes)) {
		out = append(out, Need{What: name, Why: a.classes[name] + " uses it, and it is not among these objects"})
	}
	for _, name := range slices.Sorted(maps.Keys(a.extensions)) {
		out = append(out, Need{What: "ExtensionConfig " + name, Why: a.extensions[name] + " calls it", check: func(t *target) (string, string) {
			return t.has(ID{Group: runtimeGroup, Kind: "ExtensionConfig", Name: name}, Missing)
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(a.namespaces)) {
		out = append(out, Need{What: "namespace " + name, Why: "clusterctl creates it without labels and quotas if it is missing", check: func(t *target) (string, string) {
			return t.has(ID{Kind: "Namespace", Name: name}, met)
		}})
	}
	return out
}

// templateNeeds says what a target needs for the objects of a template.
func templateNeeds(r *repo.Release, g *Graph) []Need {
	a := newArrivals()
	classes := map[string]bool{}
	for _, n := range g.Nodes {
		if n.Object == nil || n.Verdict == Left {
			continue
		}
		o := n.Object
		_, version, _ := strings.Cut(o.Get("apiVersion").Str(), "/")
		a.add(n, version)
		if n.Group == coreGroup && n.Kind == "ClusterClass" {
			classes[n.Name] = true
		}
		if n.Group == coreGroup && n.Kind == "Cluster" && o.Get("spec", "topology") != nil {
			a.managed(n)
			for _, class := range Classes([]*manifest.Object{o}) {
				a.classes["ClusterClass "+class] = n.String()
			}
		}
	}
	for name := range classes {
		delete(a.classes, "ClusterClass "+name)
	}
	p := Need{What: r.Provider.Label() + " " + r.Version + " or newer", Why: "clusterctl compares the providers of both clusters", check: func(t *target) (string, string) {
		return t.provider(r.Provider.Label(), r.Version)
	}}
	return append([]Need{p}, a.list()...)
}

// needs says what the target needs for the objects of a dump.
func (b *planner) needs() []Need {
	a := newArrivals()
	contracts := map[string][]string{} // by the label of a provider
	for i, n := range b.nodes {
		if n == nil || !n.Verdict.moves() && n.Verdict != Unclear {
			continue
		}
		o := &b.d.Objects[i]
		a.add(n, o.Version)
		switch d := o.Detail.(type) {
		case *dump.Cluster:
			if d.Managed {
				a.managed(n)
			}
		case *dump.Class:
			for _, e := range d.Extensions {
				a.extensions[e] = n.String()
				a.gates["RuntimeSDK"] = cmp.Or(a.gates["RuntimeSDK"], fmt.Sprintf(whyGate, n))
			}
		}
		if c := b.definitions[groupKind{n.Group, n.Kind}]; c != nil {
			if label := c.Labels[providerLabel]; label != "" {
				a.providers[label] = true
			}
		}
	}
	for _, c := range b.definitions {
		label := c.Labels[providerLabel]
		for key := range c.Labels {
			if contract, ok := strings.CutPrefix(key, "cluster.x-k8s.io/v1"); ok && !slices.Contains(contracts[label], "v1"+contract) {
				contracts[label] = append(contracts[label], "v1"+contract)
			}
		}
	}
	var out []Need
	provider := func(label, version string) {
		delete(a.providers, label)
		n := Need{What: label, Why: "clusterctl compares the providers of both clusters"}
		if version != "" {
			n.What += " " + version + " or newer"
		} else {
			n.Why = "it defines kinds that are moved; its version is not known, because the dump holds no provider of clusterctl's inventory"
		}
		if list := contracts[label]; len(list) > 0 {
			slices.Sort(list)
			n.What += ", contract " + phrase.And(list)
		}
		n.check = func(t *target) (string, string) { return t.provider(label, version) }
		out = append(out, n)
	}
	for i := range b.d.Objects {
		if p, ok := b.d.Objects[i].Detail.(*dump.Provider); ok && !(p.Operator && b.inventory) {
			provider(labelOf(p), p.Version)
		}
	}
	for _, label := range slices.Sorted(maps.Keys(a.providers)) {
		provider(label, "")
	}
	out = append(out, a.list()...)
	return append(out, Need{
		What: "no object of the same kind and name as one that is moved", Why: "clusterctl overwrites it, unless it is cluster-wide",
		check: b.clashes,
	})
}

// providerLabel is on what a provider installs.
const providerLabel = "cluster.x-k8s.io/provider"

// labelOf returns the label of a provider, such as infrastructure-foo.
func labelOf(p *dump.Provider) string {
	for _, known := range []struct{ kind, prefix string }{
		{"CoreProvider", ""}, {"BootstrapProvider", "bootstrap-"}, {"ControlPlaneProvider", "control-plane-"},
		{"InfrastructureProvider", "infrastructure-"}, {"IPAMProvider", "ipam-"}, {"RuntimeExtensionProvider", "runtime-extension-"},
		{"AddonProvider", "addon-"},
	} {
		if p.Type == known.kind {
			return known.prefix + p.Name
		}
	}
	return p.Type + " " + p.Name
}

// clashes looks for objects that are in the target already.
func (b *planner) clashes(t *target) (string, string) {
	var there []string
	for i, n := range b.nodes {
		if n == nil || !n.Verdict.moves() || n.Global || n.Keep {
			continue
		}
		if o := &b.d.Objects[i]; t.objects[idOf(o)] != nil {
			there = append(there, n.String())
		}
	}
	if len(there) > 0 {
		return Missing, "the target has " + phrase.Few(there, 3)
	}
	return met, ""
}

// target is the management cluster to which objects are moved.
type target struct {
	definitions map[groupKind]*dump.Object
	objects     map[ID]*dump.Object
	kinds       map[groupKind]bool // of which there are objects
	providers   []*dump.Provider
	managers    []*dump.Object
}

// Check compares what the target must have with a dump of it.
func Check(plans []*Plan, d *dump.Dump) {
	t := &target{definitions: definitionsOf(d), objects: map[ID]*dump.Object{}, kinds: map[groupKind]bool{}}
	for i := range d.Objects {
		o := &d.Objects[i]
		t.objects[idOf(o)] = o
		t.kinds[groupKind{o.Group, o.Kind}] = true
		switch d := o.Detail.(type) {
		case *dump.Provider:
			t.providers = append(t.providers, d)
		case *dump.Manager:
			t.managers = append(t.managers, o)
		}
	}
	for _, p := range plans {
		for i := range p.Needs {
			if n := &p.Needs[i]; n.check != nil {
				n.Status, n.Found = n.check(t)
			} else {
				n.Status, n.Found = NotKnown, "the template does not tell its namespace"
			}
		}
	}
}

// serves reports whether a version of a kind is there.
func (t *target) serves(k served, global bool) (string, string) {
	o := t.definitions[groupKind{k.group, k.kind}]
	switch {
	case len(t.definitions) == 0:
		return NotKnown, "the dump of the target holds no definitions (CRDs)"
	case o == nil:
		return Missing, "it does not define " + k.kind
	}
	d := o.Detail.(*dump.Definition)
	switch {
	case k.version != "" && !slices.Contains(d.Served, k.version):
		return Missing, k.kind + " is only served in " + phrase.And(d.Served)
	case d.Global != global:
		return Missing, k.kind + " is cluster-wide in only one of the clusters"
	case k.group == coreGroup && k.kind == "Cluster" && d.Storage != contractVersion:
		return Missing, fmt.Sprintf("Clusters are stored in version %q, but clusterctl v1.14 only moves between clusters that store %s", d.Storage, contractVersion)
	}
	return met, ""
}

// provider reports whether a provider is there, in no older version than the one in
// the source (clusterctl: client/cluster/mover.go, checkTargetProviders).
func (t *target) provider(label, version string) (string, string) {
	found, operator := "", false
	for _, p := range t.providers {
		if labelOf(p) != label {
			continue
		}
		if p.Operator {
			operator = true
			continue
		}
		if found == "" || older(found, p.Version) {
			found = p.Version
		}
	}
	switch {
	case len(t.providers) == 0:
		return NotKnown, "the dump of the target holds no provider of clusterctl's inventory"
	case found == "" && operator:
		return Missing, "the Cluster API operator installed it; clusterctl, which does not know the operator's objects, refuses: it does not find the provider"
	case found == "":
		return Missing, ""
	case version == "":
		return NotKnown, found
	case older(found, version):
		return Missing, found + ", which is older"
	}
	return met, found
}

// older reports whether one version comes before another, or cannot be read.
func older(v, than string) bool {
	x, err := layouts.ParseVersion(v)
	y, errY := layouts.ParseVersion(than)
	return err != nil || errY != nil || x.Compare(y) < 0
}

// gate reports whether a feature gate is on.
func (t *target) gate(g gate) (string, string) {
	for _, o := range t.managers {
		if o.Labels[providerLabel] != "cluster-api" && o.Name != "capi-controller-manager" {
			continue
		}
		on, set := o.Detail.(*dump.Manager).Gates[g.name]
		switch {
		case set && on:
			return met, ""
		case set:
			return Missing, fmt.Sprintf("%s has --feature-gates=%s=false", idOf(o), g.name)
		case g.on:
			return met, "it is on by default"
		}
		return Missing, fmt.Sprintf("%s does not set it, and it is off by default", idOf(o))
	}
	return NotKnown, "the dump of the target does not hold the Deployment of cluster-api"
}

// has reports whether an object is there; absent is the answer if it is not.
func (t *target) has(id ID, absent string) (string, string) {
	o := t.objects[id]
	switch {
	case o != nil && o.Deleting:
		return Missing, "it is being deleted"
	case o != nil:
		return met, ""
	case absent != met && !t.kinds[groupKind{id.Group, id.Kind}]:
		return NotKnown, "the dump of the target holds no " + id.Kind
	}
	return absent, ""
}
