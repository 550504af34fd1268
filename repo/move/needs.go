package move

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
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

const (
	met      = "met"
	missing  = "missing"
	NotKnown = "not known"
)

// gate is a feature gate without which a webhook of a provider refuses objects: all
// of a kind, or those in which a field is set, or has a value.
type gate struct {
	webhooks     *webhooks
	name         string
	on           bool // by default, as all of stage Beta are here, and none of Alpha
	refuses      groupKind
	field, value string
}

// webhooks are those of a provider; manager is the name of their Deployment.
type webhooks struct{ provider, manager string }

// The gates of Cluster API (feature/feature.go, and webhooks in core,
// bootstrap/kubeadm and controlplane/kubeadm).
var (
	ofCore         = &webhooks{"cluster-api", "capi-controller-manager"}
	ofBootstrap    = &webhooks{"bootstrap-kubeadm", "capi-kubeadm-bootstrap-controller-manager"}
	ofControlPlane = &webhooks{"control-plane-kubeadm", "capi-kubeadm-control-plane-controller-manager"}

	gates = []*gate{
		{ofCore, "ClusterTopology", false, groupKind{coreGroup, "Cluster"}, "spec.topology", ""},
		{ofCore, "ClusterTopology", false, groupKind{coreGroup, "ClusterClass"}, "", ""},
		{ofCore, "MachinePool", true, groupKind{coreGroup, "MachinePool"}, "", ""},
		{ofCore, "RuntimeSDK", false, groupKind{coreGroup, "ClusterClass"}, "spec.patches.*.external", ""},
		{ofCore, "RuntimeSDK", false, groupKind{runtimeGroup, "ExtensionConfig"}, "", ""},
		{ofBootstrap, ignition, false, groupKind{bootstrapGroup, "KubeadmConfig"}, "spec.format", "ignition"},
		{
			ofBootstrap, ignition, false, groupKind{bootstrapGroup, "KubeadmConfigTemplate"},
			"spec.template.spec.format", "ignition",
		},
		{
			ofControlPlane, ignition, false, kubeadmControlPlane,
			"spec.kubeadmConfigSpec.format", "ignition",
		},
		{
			ofControlPlane, ignition, false, kubeadmControlPlaneTemplate,
			"spec.template.spec.kubeadmConfigSpec.format", "ignition",
		},
		{ofControlPlane, "ClusterTopology", false, kubeadmControlPlaneTemplate, "", ""},
		{ofCore, taints, false, groupKind{coreGroup, "Machine"}, "spec.taints.*", ""},
		{ofCore, taints, false, groupKind{coreGroup, "MachineSet"}, "spec.template.spec.taints.*", ""},
		{ofCore, taints, false, groupKind{coreGroup, "MachineDeployment"}, "spec.template.spec.taints.*", ""},
		{ofCore, taints, false, groupKind{coreGroup, "MachinePool"}, "spec.template.spec.taints.*", ""},
		{ofCore, taints, false, groupKind{coreGroup, "Cluster"}, "spec.topology.controlPlane.taints.*", ""},
		{ofCore, taints, false, groupKind{coreGroup, "Cluster"}, "spec.topology.workers.machineDeployments.*.taints.*", ""},
		{ofCore, taints, false, groupKind{coreGroup, "Cluster"}, "spec.topology.workers.machinePools.*.taints.*", ""},
		{ofCore, taints, false, groupKind{coreGroup, "ClusterClass"}, "spec.controlPlane.taints.*", ""},
		{ofCore, taints, false, groupKind{coreGroup, "ClusterClass"}, "spec.workers.machineDeployments.*.taints.*", ""},
		{ofCore, taints, false, groupKind{coreGroup, "ClusterClass"}, "spec.workers.machinePools.*.taints.*", ""},
		// In v1beta2, and in v1beta1.
		{ofControlPlane, taints, false, kubeadmControlPlane, "spec.machineTemplate.spec.taints.*", ""},
		{ofControlPlane, taints, false, kubeadmControlPlane, "spec.machineTemplate.taints.*", ""},
		{ofControlPlane, taints, false, kubeadmControlPlaneTemplate, "spec.template.spec.machineTemplate.spec.taints.*", ""},
		{ofControlPlane, taints, false, kubeadmControlPlaneTemplate, "spec.template.spec.machineTemplate.taints.*", ""},
	}

	kubeadmControlPlane         = groupKind{controlPlaneGroup, "KubeadmControlPlane"}
	kubeadmControlPlaneTemplate = groupKind{controlPlaneGroup, "KubeadmControlPlaneTemplate"}
)

const (
	ignition = "KubeadmBootstrapFormatIgnition"
	taints   = "MachineTaintPropagation"
)

// String is how the plan names it.
func (g *gate) String() string { return "the feature gate " + g.name + " of " + g.webhooks.provider }

// gatesOf returns those that an object needs, whose value is only asked for if it decides.
func gatesOf(kind groupKind, object func() any) []*gate {
	object = sync.OnceValue(object)
	return phrase.Only(gates, func(g *gate) bool {
		return g.refuses == kind && (g.field == "" || set(object(), strings.Split(g.field, "."), g.value))
	})
}

// set reports whether there is something at a path, or a value if one is given; a
// star stands for the items of a list.
func set(v any, path []string, value string) bool {
	switch {
	case len(path) == 0:
		return v != nil && (value == "" || v == value)
	case path[0] == "*":
		return slices.ContainsFunc(list(v), func(item any) bool { return set(item, path[1:], value) })
	}
	return set(at(v, path[0]), path[1:], value)
}

// arrivals are the objects that need something in the target.
type arrivals struct {
	kinds      map[[2]string]map[string]*Node // by group and version
	namespaces map[string]bool
	gates      map[string]*Node // by what the plan calls them
	classes    map[string]*Node // that Clusters use
}

func newArrivals() *arrivals {
	return &arrivals{map[[2]string]map[string]*Node{}, map[string]bool{}, map[string]*Node{}, map[string]*Node{}}
}

// add notes an object that arrives.
func (a *arrivals) add(n *Node, version string, gates []*gate) {
	if n.Namespace != "" && !n.Global {
		a.namespaces[n.Namespace] = true
	}
	for _, g := range gates {
		a.gates[g.String()] = n
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
		n := a.gates[g.String()]
		if n == nil {
			continue
		}
		delete(a.gates, g.String()) // there may be other rows
		out = append(out, Need{
			What: g.String(), Why: fmt.Sprintf("a webhook refuses %s without it, after clusterctl has paused the source", n),
			check: func(t *target) (string, string) { return t.gate(g) },
		})
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

// contracts are those that the labels of definitions name.
type contracts map[groupKind][]string

// add takes over a label that names a contract.
func (c contracts) add(kind groupKind, label string) {
	if v, ok := strings.CutPrefix(label, "cluster.x-k8s.io/"); ok && strings.HasPrefix(v, "v1") {
		c[kind] = append(c[kind], v)
	}
}

// provider is the need of a provider, whose definitions carry contracts.
func provider(label, version string, carried contracts) Need {
	n := Need{What: label, Why: "clusterctl compares the providers of both clusters"}
	if version != "" {
		n.What += " " + version + " or newer"
	} else {
		n.Why = "it defines kinds that are moved; the dump does not tell its version"
	}
	if all := slices.Concat(slices.Collect(maps.Values(carried))...); len(all) > 0 {
		slices.Sort(all)
		n.What += ", contract " + phrase.Or(slices.Compact(all))
	}
	n.check = func(t *target) (status, found string) {
		if status, found = t.provider(label, version); status != met {
			return status, found
		}
		if lack := t.contract(carried); lack != "" {
			return missing, lack
		}
		if len(carried) > 0 && len(t.definitions) == 0 {
			return NotKnown, noDefinitions
		}
		return status, found
	}
	return n
}

// templateNeeds says what a target needs for the objects of a template.
func templateNeeds(r *repo.Release, carried contracts, g *Graph) []Need {
	a := newArrivals()
	for _, n := range g.Nodes {
		if n.Object == nil || n.Verdict == Left {
			continue
		}
		_, version, _ := strings.Cut(n.Object.Get("apiVersion").Str(), "/")
		a.add(n, version, gatesOf(groupKind{n.Group, n.Kind}, n.Object.Doc.Root.Value))
		for _, class := range Classes([]*manifest.Object{n.Object}) {
			if g.Find(ID{Group: coreGroup, Kind: "ClusterClass", Name: class}) == nil {
				a.classes[class] = n
			}
		}
	}
	if r.Own {
		return a.list()
	}
	return append([]Need{provider(r.Provider.Label(), r.Version, carried)}, a.list()...)
}

// providerLabel is on what a provider installs.
const providerLabel = "cluster.x-k8s.io/provider"

// needs says what the target needs for the objects of a dump.
func (b *planner) needs() (out []Need) {
	a := newArrivals()
	versions := map[string]string{} // of providers, by label
	carried := map[string]contracts{}
	for kind, c := range b.definitions {
		label := c.Labels[providerLabel]
		if carried[label] == nil {
			carried[label] = contracts{}
		}
		for key := range c.Labels {
			carried[label].add(kind, key)
		}
	}
	for i, n := range b.nodes {
		if n == nil || !n.Verdict.moves() && n.Verdict != Unclear {
			continue
		}
		o := &b.d.Objects[i]
		version := o.Version
		if c := b.definitions[groupKind{n.Group, n.Kind}]; c != nil {
			// clusterctl reads and writes what is stored, whatever kubectl printed.
			version = cmp.Or(c.Detail.(*Definition).Storage, version)
			if label := c.Labels[providerLabel]; label != "" {
				versions[label] = ""
			}
		}
		a.add(n, version, o.gates)
	}
	for i := range b.d.Objects {
		p, ok := b.d.Objects[i].Detail.(*Provider)
		if ok && !(p.Operator && b.inventory) && (versions[p.Label] == "" || older(versions[p.Label], p.Version)) {
			versions[p.Label] = p.Version // of several installations the newest counts
		}
	}
	for _, label := range slices.Sorted(maps.Keys(versions)) {
		out = append(out, provider(label, versions[label], carried[label]))
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

const noDefinitions = "the dump of the target holds no definition (CRD)"

// serves reports whether the kind of an object is there in a version.
func (t *target) serves(n *Node, version string) (status, found string) {
	o := t.definitions[groupKind{n.Group, n.Kind}]
	if o == nil {
		if len(t.definitions) == 0 {
			return NotKnown, noDefinitions
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

// contract says which kind of a provider the controllers of the target would not find,
// because its definition there carries no contract, or an older one.
func (t *target) contract(carried contracts) string {
	there := contracts{}
	byName := func(x, y groupKind) int { return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.kind, y.kind)) }
	for _, kind := range slices.SortedFunc(maps.Keys(carried), byName) {
		o := t.definitions[kind]
		if o == nil {
			continue
		}
		for label := range o.Labels {
			there.add(kind, label)
		}
		if len(there[kind]) == 0 {
			return "the definition of " + kind.kind + " carries no contract"
		}
		if newest := slices.MaxFunc(there[kind], contract.CompareVersions); contract.CompareVersions(newest, slices.MinFunc(carried[kind], contract.CompareVersions)) < 0 {
			return "the definition of " + kind.kind + " only carries contract " + newest
		}
	}
	return ""
}

// gate reports whether a feature gate is on: in the Deployments of that name, or else in
// those of the provider, of which not all need have the webhooks.
func (t *target) gate(g *gate) (status, found string) {
	var named, labelled []*Object
	for i := range t.d.Objects {
		o := &t.d.Objects[i]
		switch _, ok := o.Detail.(*Manager); {
		case ok && o.Name == g.webhooks.manager:
			named = append(named, o)
		case ok && o.Labels[providerLabel] == g.webhooks.provider:
			labelled = append(labelled, o)
		}
	}
	if len(named) == 0 {
		named = labelled
	}
	for i, o := range named {
		s, f := g.in(o)
		if i > 0 && s != status {
			return NotKnown, fmt.Sprintf("%s and %s differ", idOf(named[0]), idOf(o))
		}
		status, found = s, f
	}
	if len(named) == 0 {
		return NotKnown, "the dump of the target does not hold the Deployment " + g.webhooks.manager
	}
	return status, found
}

// in reports whether a Deployment has the gate on.
func (g *gate) in(o *Object) (status, found string) {
	m, stage := o.Detail.(*Manager), "AllAlpha"
	if g.on {
		stage = "AllBeta"
	}
	on, set := m.Gates[g.name]
	if !set {
		on, set = m.Gates[stage]
	}
	switch {
	case m.Unread:
		return NotKnown, fmt.Sprintf("the arguments of %s do not tell all gates", idOf(o))
	case set && on, !set && g.on:
		return met, ""
	case set:
		return missing, fmt.Sprintf("%s has --feature-gates=%s=false", idOf(o), g.name)
	}
	return missing, fmt.Sprintf("%s does not set it, and it is off by default", idOf(o))
}
