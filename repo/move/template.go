package move

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// clusterNameLabel ties an object to a Cluster.
const clusterNameLabel = "cluster.x-k8s.io/cluster-name"

// resourceSetSecret is the only type of Secrets that a ClusterResourceSet takes.
const resourceSetSecret = "addons.cluster.x-k8s.io/resource-set"

// owned is a row about objects that belong to the Cluster in spec.clusterName.
type owned struct {
	groupKind
	why string
}

// byClusterName are the kinds whose own controllers make the Cluster their owner
// (core/reconcilers: the function of each that ensures ownership).
var byClusterName = []owned{
	{groupKind{coreGroup, "Machine"}, "the Machine controller makes the Cluster the owner of Machines without a controlling owner"},
	{groupKind{coreGroup, "MachineSet"}, "the MachineSet controller makes the Cluster the owner of MachineSets without a MachineDeployment"},
	{groupKind{coreGroup, "MachineDeployment"}, "the MachineDeployment controller makes the Cluster its owner"},
	{groupKind{coreGroup, "MachinePool"}, "the MachinePool controller makes the Cluster its owner"},
	{groupKind{coreGroup, "MachineHealthCheck"}, "the MachineHealthCheck controller makes the Cluster its owner"},
}

// heir says who becomes the owner of what an object refers to.
type heir uint8

const (
	self    heir = iota // the object itself
	cluster             // the Cluster of that object, and only of templates
)

// heirs are the kinds whose controllers set an owner for what the objects refer to
// (contract.ReferencesOf; core/reconcilers: cluster, ensureOwnerRefAndLabel;
// machine, ensureExternalOwnershipAndWatch; machineset and machinedeployment,
// reconcileExternalTemplateReference; machinepool, reconcileExternal; clusterclass,
// reconcileExternalReferences; controlplane/kubeadm, reconcileExternalReference).
// Rows for self come first, because a Cluster is found through its owner.
var heirs = []struct {
	groupKind
	heir
}{
	{groupKind{coreGroup, "Cluster"}, self},
	{groupKind{coreGroup, "Machine"}, self},
	{groupKind{coreGroup, "MachinePool"}, self},
	{groupKind{coreGroup, "ClusterClass"}, self},
	{groupKind{coreGroup, "MachineSet"}, cluster},
	{groupKind{coreGroup, "MachineDeployment"}, cluster},
	{kubeadmControlPlane, cluster},
}

// Reasons for edges that are in no table.
const (
	whyWritten     = "its ownerReferences name that owner"
	whyResource    = "the ClusterResourceSet controller makes the ClusterResourceSet an owner of its resources"
	whyNoMatch     = "the ClusterResourceSet controller makes it the owner as soon as its selector matches a Cluster"
	whyNoSelector  = "an empty selector selects no Cluster, so the ClusterResourceSet controller does nothing"
	whySecretType  = "the ClusterResourceSet controller refuses Secrets that are not of type " + resourceSetSecret
	whyClass       = "clusterctl treats a ClusterClass as an owner of the Clusters that use it"
	whyBinding     = "clusterctl treats the Cluster in spec.clusterName as its owner"
	whyForeign     = "it is not known what the controllers of these kinds own"
	whyLabel       = "unknown controllers may select it by the label of the Cluster"
	whyTopology    = "patches and templates of the ClusterClass decide what happens to it"
	whyKubernetes  = "such a reference makes nothing an owner in Kubernetes"
	whyControllers = "the controllers of that kind only own other objects"
)

// builder derives the edges of a template.
type builder struct {
	*Graph
	byKind map[groupKind][]*Node
	byName map[string][]*Node
	// back are the edges to objects from what they name themselves. They count
	// for those whose owner is not certain.
	back []*Edge
}

// Template returns the resolved graph of the objects of a cluster template or of
// a ClusterClass or both, with the owners that the controllers of Cluster API will
// set, and may set for what they do not know themselves. Types may be nil.
//
// Namespaces do not count, because clusterctl puts all objects into one, which it
// also creates in the target of a move. Of
// objects with the same name the first counts, and those without one are left
// out. A Cluster that is only named is taken to be there.
func Template(objects []*manifest.Object, types Types) *Graph {
	b := &builder{Graph: New(), byKind: map[groupKind][]*Node{}, byName: map[string][]*Node{}}
	for _, o := range objects {
		if o.Kind == "" || o.Name == "" || o.Group == "" && o.Kind == "Namespace" {
			continue
		}
		n := NewNode(ID{Group: o.Group, Kind: o.Kind, Name: o.Name}, o, types)
		n.Object = o
		if _, added := b.Add(n); added {
			k := groupKind{n.Group, n.Kind}
			b.byKind[k] = append(b.byKind[k], n)
			b.byName[n.Name] = append(b.byName[n.Name], n)
		}
	}
	named := len(b.Nodes) // Clusters that are only named follow
	for _, row := range byClusterName {
		for _, n := range b.byKind[row.groupKind] {
			b.clusterName(n, Owner, row.why)
		}
	}
	for _, row := range heirs {
		for _, n := range b.byKind[row.groupKind] {
			for _, field := range contract.ReferencesOf(n.Group, n.Kind) {
				b.refer(n, row.heir, field)
			}
		}
	}
	for _, n := range b.byKind[groupKind{addonsGroup, "ClusterResourceSet"}] {
		b.resources(n)
	}
	for _, n := range b.Nodes[:named] {
		b.written(n)
	}
	b.softOwners()
	for _, n := range b.Nodes[:named] {
		b.references(n)
	}
	for _, e := range b.back {
		if e.To.first(func(e *Edge) bool { return e.Link.binds() }) == nil {
			b.Link(e)
		}
	}
	b.classDecides(named)
	b.Resolve()
	for _, n := range b.Nodes {
		n.Lost = n.Object != nil && n.Verdict == Left
	}
	return b.Graph
}

func (b *builder) cluster(name string) *Node {
	n, _ := b.Add(&Node{ID: ID{Group: coreGroup, Kind: "Cluster", Name: name}, Move: builtIn, Hierarchy: builtIn})
	return n
}

// clusterName links an object to the Cluster in its spec.clusterName.
func (b *builder) clusterName(n *Node, link link, why string) {
	if at := n.Object.Get("spec", "clusterName"); at.Str() != "" {
		b.Link(&Edge{From: b.cluster(at.Str()), To: n, Link: link, By: n, Field: "spec.clusterName", At: at, Why: why})
	}
}

// clusterOf returns the Cluster that owns an object, or nil.
func clusterOf(n *Node) *Node {
	e := n.first(func(e *Edge) bool {
		return e.Link == Owner && e.From.Group == coreGroup && e.From.Kind == "Cluster"
	})
	if e == nil {
		return nil
	}
	return e.From
}

// refer links what a field names to its owner.
func (b *builder) refer(n *Node, heir heir, field string) {
	owner := n
	if heir == cluster {
		if owner = clusterOf(n); owner == nil {
			return // then the controller does not get as far as this
		}
	}
	why := fmt.Sprintf("the %s controller makes the %s an owner of what it refers to", n.Kind, owner.Kind)
	each(n.Object.Doc.Root, field, "", func(at *yamldoc.Node, field string) {
		kind := at.Get("kind").Str()
		if heir == cluster && !strings.HasSuffix(kind, contract.Suffix) {
			return
		}
		if to := b.Find(ID{Group: manifest.GroupOf(at), Kind: kind, Name: at.Get("name").Str()}); to != nil {
			b.Link(&Edge{From: owner, To: to, By: n, Field: field, At: at, Why: why})
		}
	})
}

// each visits the values at a path; a star stands for the elements of a list.
func each(n *yamldoc.Node, path, field string, visit func(at *yamldoc.Node, field string)) {
	if n == nil {
		return
	}
	if path == "" {
		visit(n, field)
		return
	}
	key, rest, _ := strings.Cut(path, ".")
	if key != "*" {
		each(n.Get(key), rest, strings.TrimPrefix(field+"."+key, "."), visit)
		return
	}
	for i, item := range n.List() {
		each(item, rest, strings.TrimPrefix(field+"."+strconv.Itoa(i), "."), visit)
	}
}

// resources links a ClusterResourceSet to its resources (core/reconcilers,
// clusterresourceset, ApplyClusterResourceSet).
func (b *builder) resources(n *Node) {
	link, why := MayOwn, whyNoMatch
	selector := n.Object.Get("spec", "clusterSelector")
	switch {
	case empty(selector):
		link, why = reference, whyNoSelector
	default:
		for _, c := range b.byKind[groupKind{coreGroup, "Cluster"}] {
			if matches(selector, c.Object.Get("metadata", "labels")) {
				link, why = Owner, whyResource
				break
			}
		}
	}
	each(n.Object.Doc.Root, "spec.resources.*", "", func(at *yamldoc.Node, field string) {
		to := b.Find(ID{Kind: at.Get("kind").Str(), Name: at.Get("name").Str()})
		if to == nil || !to.data() {
			return
		}
		e := &Edge{From: n, To: to, Link: link, By: n, Field: field, At: at, Why: why}
		if to.Kind == "Secret" && to.Object.Get("type").Str() != resourceSetSecret {
			e.Link, e.Why = reference, whySecretType
		}
		b.Link(e)
	})
}

// matches reports whether a label selector selects an object with these labels.
func matches(selector, labels *yamldoc.Node) bool {
	if equal := selector.Get("matchLabels"); equal != nil {
		for _, want := range equal.Fields() {
			if got := labels.Get(want.Name); got == nil || got.Text() != want.Value.Text() {
				return false
			}
		}
	}
	for _, e := range selector.Get("matchExpressions").List() {
		got := labels.Get(e.Get("key").Str())
		in := false
		for _, v := range e.Get("values").List() {
			in = in || got != nil && v.Text() == got.Text()
		}
		ok := false
		switch e.Get("operator").Str() {
		case "In":
			ok = in
		case "NotIn":
			ok = !in
		case "Exists":
			ok = got != nil
		case "DoesNotExist":
			ok = got == nil
		}
		if !ok {
			return false
		}
	}
	return true
}

// written links an object to the owners that it names itself. Their UIDs cannot be
// right in a template and are not looked at.
func (b *builder) written(n *Node) {
	each(n.Object.Doc.Root, "metadata.ownerReferences.*", "", func(at *yamldoc.Node, field string) {
		id := ID{Group: manifest.GroupOf(at), Kind: at.Get("kind").Str(), Name: at.Get("name").Str()}
		if id.Kind == "" || id.Name == "" {
			return
		}
		owner := b.Find(id)
		if owner == nil && id.Group == coreGroup && id.Kind == "Cluster" {
			owner = b.cluster(id.Name)
		}
		if owner == nil {
			owner, _ = b.Add(&Node{ID: id, Absent: true})
		}
		b.Link(&Edge{From: owner, To: n, By: n, Field: field, At: at, Why: whyWritten, Written: true})
	})
}

// softOwners links what clusterctl links by names (clusterctl:
// client/cluster/objectgraph.go, setSoftOwnership).
func (b *builder) softOwners() {
	b.LinkSecrets(b.Find)
	for _, n := range b.byKind[groupKind{coreGroup, "Cluster"}] {
		for _, field := range []string{"spec.topology.classRef.name", "spec.topology.class"} {
			each(n.Object.Doc.Root, field, "", func(at *yamldoc.Node, field string) {
				if class := b.Find(ID{Group: coreGroup, Kind: "ClusterClass", Name: at.Str()}); class != nil {
					b.Link(&Edge{From: class, To: n, Link: SoftOwner, By: n, Field: field, At: at, Why: whyClass})
				}
			})
		}
	}
	for _, n := range b.byKind[groupKind{addonsGroup, "ClusterResourceSetBinding"}] {
		b.clusterName(n, SoftOwner, whyBinding)
	}
}

// classDecides gives objects that nothing names to the Clusters with a topology whose
// class may compute names.
func (b *builder) classDecides(named int) {
	for _, c := range b.byKind[groupKind{coreGroup, "Cluster"}] {
		topology := c.Object.Get("spec", "topology")
		if topology == nil {
			continue
		}
		all, values := b.computes(c)
		for _, n := range b.Nodes[:named] {
			if len(n.In) == 0 && (n.data() || n.foreign()) && (all || values[n.Name]) {
				b.Link(&Edge{From: c, To: n, Link: MayOwn, By: c, Field: "spec.topology", At: topology, Why: whyTopology})
			}
		}
	}
}

// computes reports whether the class of a Cluster may compute names, by a template, from the name
// of the Cluster, or in an extension; one that is not at hand may. Else it returns the values
// that its patches may take from variables.
func (b *builder) computes(n *Node) (all bool, values map[string]bool) {
	values = map[string]bool{}
	note := func(_ yamldoc.Path, n *yamldoc.Node) bool {
		values[n.Text()] = true
		return true
	}
	for _, name := range Classes([]*manifest.Object{n.Object}) {
		class := b.Find(ID{Group: coreGroup, Kind: "ClusterClass", Name: name})
		if class == nil {
			return true, nil
		}
		for _, p := range class.Object.Get("spec", "patches").List() {
			if p.Get("external") != nil {
				return true, nil
			}
			for _, from := range p.All("definitions", "*", "jsonPatches", "*", "valueFrom") {
				if from.Get("template") != nil || strings.HasPrefix(from.Get("variable").Str(), "builtin") {
					return true, nil
				}
				n.Object.Get("spec", "topology").Walk(note)
				class.Object.Get("spec", "variables").Walk(note)
			}
		}
	}
	return false, values
}

// empty reports whether a label selector has no requirement.
func empty(selector *yamldoc.Node) bool {
	return len(selector.Get("matchLabels").Fields()) == 0 && len(selector.Get("matchExpressions").List()) == 0
}
