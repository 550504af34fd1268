package move

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Need is something that the target must have.
type Need struct {
	What   string `json:"what" doc:"what the target must have"`
	Why    string `json:"why" doc:"why"`
	Status string `json:"status,omitempty" doc:"met, missing or not known; absent unless a dump of the target was given"`
	Found  string `json:"found,omitempty" doc:"what is there; absent if there is nothing more to say"`

	check func(t *target) (status, found string)
}

// The statuses.
const (
	met      = "met"
	missing  = "missing"
	NotKnown = "not known"
)

// gate is a feature gate of the core controllers (feature/feature.go) without which
// a webhook refuses a kind.
type gate struct {
	name    string
	on      bool // by default
	refuses groupKind
}

var gates = []gate{
	{"ClusterTopology", false, groupKind{coreGroup, "ClusterClass"}},
	{"MachinePool", true, groupKind{coreGroup, "MachinePool"}},
	{"RuntimeSDK", false, groupKind{runtimeGroup, "ExtensionConfig"}},
}

// arrivals are the objects that need something in the target.
type arrivals struct {
	kinds      map[[2]string]map[string]*Node // by group and version
	namespaces map[string]bool
	gates      map[string]*Node
	classes    map[string]*Node // that Clusters use
}

func newArrivals() *arrivals {
	return &arrivals{map[[2]string]map[string]*Node{}, map[string]bool{}, map[string]*Node{}, map[string]*Node{}}
}

// add notes an object that arrives.
func (a *arrivals) add(n *Node, version string) {
	if n.Namespace != "" && !n.Global {
		a.namespaces[n.Namespace] = true
	}
	for _, g := range gates {
		if g.refuses == (groupKind{n.Group, n.Kind}) {
			a.gates[g.name] = cmp.Or(a.gates[g.name], n)
		}
	}
	if n.ofKubernetes() {
		return
	}
	api := [2]string{n.Group, version}
	if a.kinds[api] == nil {
		a.kinds[api] = map[string]*Node{}
	}
	a.kinds[api][n.Kind] = n
}

// list says what the target needs.
func (a *arrivals) list() (out []Need) {
	byName := func(x, y [2]string) int { return slices.Compare(x[:], y[:]) }
	for _, api := range slices.SortedFunc(maps.Keys(a.kinds), byName) {
		kinds := slices.Sorted(maps.Keys(a.kinds[api]))
		out = append(out, Need{
			What: "the API " + api[0] + "/" + api[1], Why: "clusterctl creates " + phrase.Few(kinds, 6) + " in it",
			check: func(t *target) (status, found string) {
				for _, kind := range kinds {
					if status, found = t.serves(a.kinds[api][kind], api[1]); status != met {
						break
					}
				}
				return status, found
			},
		})
	}
	for _, g := range gates {
		if n := a.gates[g.name]; n != nil {
			why := fmt.Sprintf("a webhook refuses %s without it, after clusterctl has paused the source", n)
			check := func(t *target) (string, string) { return t.gate(g) }
			out = append(out, Need{What: "the feature gate " + g.name + " of cluster-api", Why: why, check: check})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.classes)) {
		out = append(out, Need{What: "ClusterClass " + name, Why: a.classes[name].String() + " uses it, and it is not among the objects"})
	}
	for _, name := range slices.Sorted(maps.Keys(a.namespaces)) {
		why := "clusterctl creates it, without labels and quotas, if it is missing"
		out = append(out, Need{What: "namespace " + name, Why: why, check: func(t *target) (string, string) {
			if t.objects[ID{Kind: "Namespace", Name: name}] == nil {
				return met, "it is not in the dump"
			}
			return met, ""
		}})
	}
	return out
}

// provider is the need of a provider. Contracts are those that its definitions carry.
func provider(label, version string, contracts []string) Need {
	n := Need{What: label, Why: "clusterctl compares the providers of both clusters"}
	if version != "" {
		n.What += " " + version + " or newer"
	} else {
		n.Why = "it defines kinds that are moved; the dump does not tell its version"
	}
	if len(contracts) > 0 {
		n.What += ", contract " + phrase.Or(contracts)
	}
	n.check = func(t *target) (string, string) { return t.provider(label, version) }
	return n
}

// contractsOf adds the contracts in the labels of a definition.
func contractsOf(all []string, keys ...string) []string {
	for _, key := range keys {
		if c, ok := strings.CutPrefix(key, "cluster.x-k8s.io/"); ok && strings.HasPrefix(c, "v1") && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	slices.Sort(all)
	return all
}

// templateNeeds says what a target needs for the objects of a template.
func templateNeeds(r *repo.Release, contracts []string, g *Graph) []Need {
	a := newArrivals()
	for _, n := range g.Nodes {
		if n.Object == nil || n.Verdict == Left {
			continue
		}
		_, version, _ := strings.Cut(n.Object.Get("apiVersion").Str(), "/")
		a.add(n, version)
		if n.Group == coreGroup && n.Kind == "Cluster" && n.Object.Get("spec", "topology") != nil {
			a.gates[gates[0].name] = n
			for _, class := range Classes([]*manifest.Object{n.Object}) {
				if g.Find(ID{Group: coreGroup, Kind: "ClusterClass", Name: class}) == nil {
					a.classes[class] = n
				}
			}
		}
	}
	return append([]Need{provider(r.Provider.Label(), r.Version, contracts)}, a.list()...)
}

// providerLabel is on what a provider installs.
const providerLabel = "cluster.x-k8s.io/provider"

// needs says what the target needs for the objects of a dump.
func (b *planner) needs() (out []Need) {
	a := newArrivals()
	versions := map[string]string{} // of providers, by label
	contracts := map[string][]string{}
	for i, n := range b.nodes {
		if n == nil || !n.Verdict.moves() && n.Verdict != Unclear {
			continue
		}
		o := &b.d.Objects[i]
		a.add(n, o.Version)
		switch d := o.Detail.(type) {
		case *Cluster:
			if d.Managed {
				a.gates[gates[0].name] = n
			}
		case *Class:
			if d.Calls {
				a.gates[gates[2].name] = n
			}
		}
		if c := b.definitions[groupKind{n.Group, n.Kind}]; c != nil && c.Labels[providerLabel] != "" {
			versions[c.Labels[providerLabel]] = ""
		}
	}
	for _, c := range b.definitions {
		label := c.Labels[providerLabel]
		contracts[label] = contractsOf(contracts[label], slices.Collect(maps.Keys(c.Labels))...)
	}
	for i := range b.d.Objects {
		if p, ok := b.d.Objects[i].Detail.(*Provider); ok && !(p.Operator && b.inventory) {
			versions[p.Label] = p.Version
		}
	}
	for _, label := range slices.Sorted(maps.Keys(versions)) {
		out = append(out, provider(label, versions[label], contracts[label]))
	}
	return append(out, a.list()...)
}

// target is the management cluster to which objects are moved.
type target struct {
	definitions map[groupKind]*Object
	objects     map[ID]*Object
	d           *Dump
}

// Check compares what the target must have with a dump of it.
func Check(plans []*Plan, d *Dump) {
	t := &target{definitionsOf(d), map[ID]*Object{}, d}
	for i := range d.Objects {
		t.objects[idOf(&d.Objects[i])] = &d.Objects[i]
	}
	for _, p := range plans {
		for i := range p.Needs {
			if n := &p.Needs[i]; n.check != nil {
				n.Status, n.Found = n.check(t)
			} else {
				n.Status, n.Found = NotKnown, "a template does not tell the namespace"
			}
		}
	}
}

// contractVersion is the only storage version of Clusters that clusterctl takes
// (client/cluster/inventory.go, CheckCAPIContract).
const contractVersion = "v1beta2"

// serves reports whether the kind of an object is there in a version.
func (t *target) serves(n *Node, version string) (status, found string) {
	o := t.definitions[groupKind{n.Group, n.Kind}]
	if o == nil {
		if len(t.definitions) == 0 {
			return NotKnown, "the dump of the target holds no definition (CRD)"
		}
		return missing, "the target does not define " + n.Kind
	}
	switch d := o.Detail.(*Definition); {
	case !slices.Contains(d.Served, version):
		return missing, "the target only serves " + n.Kind + " in " + phrase.And(d.Served)
	case d.Global != n.Global && n.Scope == discovered:
		return missing, n.Kind + " is cluster-wide in one of the clusters only"
	case n.Group == coreGroup && n.Kind == "Cluster" && d.Storage != contractVersion:
		return missing, fmt.Sprintf("the target stores Clusters in version %q, and clusterctl v1.14 wants %s", d.Storage, contractVersion)
	}
	return met, ""
}

// provider reports whether a provider is there, in no older version than the one in
// the source (clusterctl: client/cluster/mover.go, checkTargetProviders).
func (t *target) provider(label, version string) (status, found string) {
	newest, any, operator := "", false, false
	for i := range t.d.Objects {
		p, ok := t.d.Objects[i].Detail.(*Provider)
		any = any || ok
		if !ok || p.Label != label {
			continue
		}
		operator = operator || p.Operator
		if !p.Operator && (newest == "" || older(newest, p.Version)) {
			newest = p.Version
		}
	}
	switch {
	case !any:
		return NotKnown, "the dump of the target holds no provider of clusterctl's inventory"
	case newest == "" && operator:
		return missing, "the Cluster API operator installed it; clusterctl does not know the operator's objects, " +
			"and refuses to move because it does not find the provider"
	case newest == "":
		return missing, ""
	case version == "":
		return NotKnown, newest
	case older(newest, version):
		return missing, newest + ", which is older"
	}
	return met, newest
}

// older reports whether one version comes before another, or one cannot be read.
func older(v, than string) bool {
	x, err := layouts.ParseVersion(v)
	y, errY := layouts.ParseVersion(than)
	return err != nil || errY != nil || x.Compare(y) < 0
}

// gate reports whether a feature gate is on.
func (t *target) gate(g gate) (status, found string) {
	for i := range t.d.Objects {
		o := &t.d.Objects[i]
		m, ok := o.Detail.(*Manager)
		if !ok || o.Labels[providerLabel] != "cluster-api" && o.Name != "capi-controller-manager" {
			continue
		}
		on, set := m.Gates[g.name]
		switch {
		case set && on, !set && g.on:
			return met, ""
		case set:
			return missing, fmt.Sprintf("%s has --feature-gates=%s=false", idOf(o), g.name)
		}
		return missing, fmt.Sprintf("%s does not set it, and it is off by default", idOf(o))
	}
	return NotKnown, "the dump of the target does not hold the Deployment of cluster-api"
}
