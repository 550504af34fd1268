// Package clusterclass reads ClusterClasses, in both versions of their API, as one
// thing: references by role, classes of workers, variables with their schemas, patches,
// templates of names. It also holds what Cluster API knows about them as data: the
// schemas of the API, the builtin variables, the functions of templates.
//
// It must not know rules, and it judges only single strings and values.
package clusterclass

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Group and Kind of ClusterClasses.
const (
	Group = "cluster.x-k8s.io"
	Kind  = "ClusterClass"
)

const (
	V1Beta1 = string(contract.V1Beta1)
	V1Beta2 = string(contract.V1Beta2)
)

// Class is a ClusterClass. It looks into the document on demand; what is
// missing or of a wrong type comes out empty.
type Class struct {
	Object *manifest.Object
	// Version of the API it is written in.
	Version string
	// Spec may be nil.
	Spec *yamldoc.Node

	workers   func() workers
	variables func() variables
}

// workers and variables are those of a class, which can have thousands: in their
// order, and by their names.
type (
	workers struct {
		all    []Worker
		byName map[workerName]int
	}
	workerName struct {
		pool bool
		name string
	}
	variables struct {
		all    []Variable
		byName map[string]int
	}
)

// Of returns the ClusterClass in an object, or nil if it is none. One in a version
// of the API that is not known is read like the newest.
func Of(o *manifest.Object) *Class {
	if !o.Is(Group, Kind) {
		return nil
	}
	c := &Class{Object: o, Version: o.Version, Spec: o.Get("spec").Given()}
	c.workers, c.variables = sync.OnceValue(c.readWorkers), sync.OnceValue(c.readVariables)
	return c
}

func In(f *manifest.File) []*Class { return phrase.Some(f.Objects(), Of) }

func (c *Class) Name() string { return c.Object.Name }

func (c *Class) old() bool { return c.Version == V1Beta1 }

// Named returns the name of the class that a Cluster names, in either version of the API.
func Named(cluster *manifest.Object) string {
	topology := cluster.Get("spec", "topology")
	return cmp.Or(topology.Get("classRef", "name").Str(), topology.Get("class").Str())
}

// Reference is a place for a reference to a template.
type Reference struct {
	// Role is that of the templates that belong here.
	Role contract.Role
	// Path leads to it from the root of the object.
	Path []string
	// Node is the reference; nil if there is none.
	Node *yamldoc.Node
	// Parent is the nearest value that exists around it.
	Parent *yamldoc.Node
	// Misplaced says that it lies where the other version of the API has it.
	Misplaced bool
	// APIVersion, Kind and Name are what it refers to.
	APIVersion, Kind, Name string
}

func (r *Reference) Group() string {
	group, _ := manifest.SplitAPIVersion(r.APIVersion)
	return group
}

// String is the path in words: spec.infrastructure.templateRef.
func (r *Reference) String() string { return crd.Join(r.Path) }

// place is where the versions of the API have a reference.
type place struct{ v1beta1, v1beta2 []string }

// paths of references in the spec, and in a class of workers.
var (
	infrastructurePlace = place{[]string{"infrastructure", "ref"}, []string{"infrastructure", "templateRef"}}
	controlPlanePlace   = place{[]string{"controlPlane", "ref"}, []string{"controlPlane", "templateRef"}}
	machinesPlace       = place{[]string{"controlPlane", "machineInfrastructure", "ref"}, []string{"controlPlane", "machineInfrastructure", "templateRef"}}

	workerBootstrapPlace      = place{[]string{"template", "bootstrap", "ref"}, []string{"bootstrap", "templateRef"}}
	workerInfrastructurePlace = place{[]string{"template", "infrastructure", "ref"}, []string{"infrastructure", "templateRef"}}

	remediationPlace = place{[]string{"machineHealthCheck", "remediationTemplate"}, []string{"healthCheck", "remediation", "templateRef"}}
)

// reference looks a reference up below a node that is at a path.
func (c *Class) reference(role contract.Role, root *yamldoc.Node, at []string, in place) Reference {
	path, other := in.v1beta2, in.v1beta1
	if c.old() {
		path, other = other, path
	}
	r := Reference{Role: role, Parent: root, Path: append(slices.Clip(at), path...)}
	n := root
	for _, name := range path {
		if n = n.Get(name).Given(); n == nil {
			break
		}
		r.Parent = n
	}
	if n == nil {
		n = root.Get(other...).Given()
		r.Misplaced = n != nil
	}
	r.Node = n
	r.APIVersion, r.Kind, r.Name = n.Get("apiVersion").Str(), n.Get("kind").Str(), n.Get("name").Str()
	return r
}

// References returns the places for references to templates, required ones and
// those that are there. The first two are those of the cluster's infrastructure
// and of the control plane.
func (c *Class) References() []Reference {
	if !c.Spec.Is(yamldoc.Map) {
		return nil
	}
	at := []string{"spec"}
	out := []Reference{
		c.reference(contract.InfraCluster, c.Spec, at, infrastructurePlace),
		c.reference(contract.ControlPlane, c.Spec, at, controlPlanePlace),
	}
	if machines := c.MachineInfrastructure(); machines.Node != nil ||
		c.Spec.Get("controlPlane", "machineInfrastructure").Given() != nil {
		out = append(out, machines)
	}
	remediation := func(n *yamldoc.Node, at []string) {
		if r := c.reference(contract.Remediation, n, at, remediationPlace); r.Node != nil {
			out = append(out, r)
		}
	}
	remediation(c.Spec.Get("controlPlane"), []string{"spec", "controlPlane"})
	for _, w := range c.Workers() {
		out = append(out, w.Bootstrap, w.Infrastructure)
		remediation(w.Node, w.Path)
	}
	return out
}

// MachineInfrastructure is the reference to the template for the machines of the
// control plane; its Node is nil if there is none.
func (c *Class) MachineInfrastructure() Reference {
	return c.reference(contract.InfraMachine, c.Spec, []string{"spec"}, machinesPlace)
}

type Worker struct {
	// Pool says that they are MachinePools, otherwise MachineDeployments.
	Pool bool
	// Class is the name; empty if it is none.
	Class string
	// Node is the entry; Path leads to it.
	Node *yamldoc.Node
	Path []string
	// Bootstrap and Infrastructure are the templates of the workers.
	Bootstrap, Infrastructure Reference
	Naming                    Naming
	// Metadata has their labels and annotations; nil if it is missing.
	Metadata *yamldoc.Node
}

// Lists of worker classes.
const (
	Deployments = "machineDeployments"
	Pools       = "machinePools"
)

// Workers returns the classes of workers, MachineDeployments first.
func (c *Class) Workers() []Worker { return c.workers().all }

func (c *Class) readWorkers() workers {
	out := workers{byName: map[workerName]int{}}
	for _, list := range [...]string{Deployments, Pools} {
		for i, n := range c.Spec.Get("workers", list).List() {
			w := Worker{Pool: list == Pools, Class: n.Get("class").Str(), Node: n, Path: []string{"spec", "workers", list, index(i)}}
			role, of := contract.InfraMachine, ofDeployment
			if w.Pool {
				role, of = contract.InfraMachinePool, ofPool
			}
			w.Naming, w.Metadata = c.naming(n, of), n.Get("metadata")
			if c.old() {
				w.Metadata = n.Get("template", "metadata")
			}
			w.Bootstrap = c.reference(contract.BootstrapConfig, n, w.Path, workerBootstrapPlace)
			w.Infrastructure = c.reference(role, n, w.Path, workerInfrastructurePlace)
			key := workerName{w.Pool, w.Class}
			if _, ok := out.byName[key]; !ok {
				out.byName[key] = len(out.all)
			}
			out.all = append(out.all, w)
		}
	}
	return out
}

// Worker returns the first class of MachineDeployments, or of MachinePools, of
// that name, or nil.
func (c *Class) Worker(pool bool, name string) *Worker {
	list := c.workers()
	i, ok := list.byName[workerName{pool, name}]
	if !ok {
		return nil
	}
	w := list.all[i]
	return &w
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

type healthCheck struct {
	// Node is the definition. It is nil if nothing but MaxInFlight is there, which is
	// elsewhere in v1beta1.
	Node *yamldoc.Node
	// ControlPlane says that it is for the machines of the control plane.
	ControlPlane bool
	// NodeStartupTimeout, MaxUnhealthy, UnhealthyRange and MaxInFlight are its
	// values, under whatever name; nil if they are missing.
	NodeStartupTimeout, MaxUnhealthy, UnhealthyRange, MaxInFlight *yamldoc.Node
}

func (c *Class) HealthChecks() []healthCheck {
	var out []healthCheck
	if h, ok := c.healthCheck(c.Spec.Get("controlPlane")); ok {
		h.ControlPlane = true
		out = append(out, h)
	}
	for _, w := range c.Workers() {
		if h, ok := c.healthCheck(w.Node); ok {
			out = append(out, h)
		}
	}
	return out
}

// healthCheck reads the definition in the control plane or a class of workers.
func (c *Class) healthCheck(n *yamldoc.Node) (h healthCheck, ok bool) {
	if c.old() {
		h.Node = n.Get("machineHealthCheck").Given()
		h.NodeStartupTimeout = h.Node.Get("nodeStartupTimeout")
		h.MaxUnhealthy = h.Node.Get("maxUnhealthy")
		h.UnhealthyRange = h.Node.Get("unhealthyRange")
		h.MaxInFlight = n.Get("strategy", "remediation", "maxInFlight")
	} else {
		h.Node = n.Get("healthCheck").Given()
		h.NodeStartupTimeout = h.Node.Get("checks", "nodeStartupTimeoutSeconds")
		h.MaxUnhealthy = h.Node.Get("remediation", "triggerIf", "unhealthyLessThanOrEqualTo")
		h.UnhealthyRange = h.Node.Get("remediation", "triggerIf", "unhealthyInRange")
		h.MaxInFlight = h.Node.Get("remediation", "maxInFlight")
	}
	return h, h.Node.Is(yamldoc.Map) || h.MaxInFlight != nil
}

// KubernetesVersions are the versions that clusters of the class may have; none
// is any.
func (c *Class) KubernetesVersions() []*yamldoc.Node { return c.Spec.Get("kubernetesVersions").List() }

type Variable struct {
	// Node is the entry and Path leads to it.
	Node *yamldoc.Node
	Path []string
	// Name is empty if it is missing.
	Name     string
	Required bool
	// Schema is the one of its values; its Node may be nil.
	Schema crd.Schema
}

// Variables returns the definitions in their order.
func (c *Class) Variables() []Variable { return c.variables().all }

func (c *Class) readVariables() variables {
	out := variables{byName: map[string]int{}}
	for i, n := range c.Spec.Get("variables").List() {
		v := Variable{n, []string{"spec", "variables", index(i)}, n.Get("name").Str(), n.Get("required").Bool(), crd.Schema{Node: n.Get("schema", "openAPIV3Schema").Given()}}
		out.all, out.byName[v.Name] = append(out.all, v), i
	}
	return out
}

// Variable returns the definition of that name, or nil. Of several the last
// counts, as in Cluster API.
func (c *Class) Variable(name string) *Variable {
	list := c.variables()
	i, ok := list.byName[name]
	if !ok {
		return nil
	}
	v := list.all[i]
	return &v
}

// Default is the value that a variable has without being set, or nil.
func (v *Variable) Default() *yamldoc.Node { return v.Schema.Node.Get("default").Given() }

// Discovers reports whether an extension defines variables, so that those that
// are not in the class may exist.
func (c *Class) Discovers() bool {
	return slices.ContainsFunc(c.Patches(), func(p Patch) bool {
		_, _, discover := c.Handlers(p)
		return discover != nil
	})
}

type Patch struct {
	Node *yamldoc.Node
	// Name is empty if it is missing.
	Name string
	// EnabledIf is a template, or nil.
	EnabledIf *yamldoc.Node
	// Definitions and External are nil if they are missing or null.
	Definitions, External *yamldoc.Node
}

// Patches returns the patches in their order.
func (c *Class) Patches() []Patch {
	return phrase.List(c.Spec.Get("patches").List(), func(n *yamldoc.Node) Patch {
		return Patch{n, n.Get("name").Str(), n.Get("enabledIf"), n.Get("definitions").Given(), n.Get("external").Given()}
	})
}

// Handlers returns the names of handlers in an external patch for generating
// patches, validating the topology and discovering variables; nil where there is
// none.
func (c *Class) Handlers(p Patch) (generate, validate, discover *yamldoc.Node) {
	generates, validates := "generatePatchesExtension", "validateTopologyExtension"
	if c.old() {
		generates, validates = "generateExtension", "validateExtension"
	}
	return p.External.Get(generates).Given(), p.External.Get(validates).Given(), p.External.Get("discoverVariablesExtension").Given()
}

// Naming is a template for the names of objects.
type Naming struct {
	// Template is nil or empty if the class has none, so that the usual one counts.
	Template *yamldoc.Node
	// Of says what it names: "cluster", "machineDeployment" or "machinePool".
	Of string
}

// naming is that of the control plane or a class of workers.
func (c *Class) naming(n *yamldoc.Node, of string) Naming {
	if c.old() {
		return Naming{n.Get("namingStrategy", "template"), of}
	}
	return Naming{n.Get("naming", "template"), of}
}

// ClusterNamings are those of the cluster's infrastructure and of the control plane.
func (c *Class) ClusterNamings() (infrastructure, controlPlane Naming) {
	infrastructure = Naming{c.Spec.Get("infrastructure", "naming", "template"), ofCluster}
	if c.old() {
		infrastructure.Template = c.Spec.Get("infrastructureNamingStrategy", "template")
	}
	return infrastructure, c.naming(c.Spec.Get("controlPlane"), ofCluster)
}

// Namings returns the templates of names that are there.
func (c *Class) Namings() []Naming {
	infrastructure, controlPlane := c.ClusterNamings()
	workers := phrase.List(c.Workers(), func(w Worker) Naming { return w.Naming })
	all := append([]Naming{infrastructure, controlPlane}, workers...)
	return phrase.Only(all, func(n Naming) bool { return n.Template.Is(yamldoc.String) })
}

// Defined reports whether there is more than an empty definition.
func (h *healthCheck) Defined() bool { return len(h.Node.Fields()) > 0 }

// Rollout returns the limits of a rolling update of workers, or nil.
func (c *Class) Rollout(w Worker) (maxUnavailable, maxSurge *yamldoc.Node) {
	if w.Pool {
		return nil, nil
	}
	update := w.Node.Get("rollout", "strategy", "rollingUpdate")
	if c.old() {
		update = w.Node.Get("strategy", "rollingUpdate")
	}
	return update.Get("maxUnavailable"), update.Get("maxSurge")
}

// durations are the fields of v1beta1 that hold a duration as a text.
var durations = [...]string{"nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout"}

// Durations returns the values that Cluster API reads as durations.
func (c *Class) Durations() []*yamldoc.Node {
	if !c.old() {
		return nil
	}
	var out []*yamldoc.Node
	place := func(n *yamldoc.Node) {
		for _, name := range durations {
			out = append(out, n.All(name)...)
		}
		check := n.Get("machineHealthCheck")
		out = append(out, check.All("nodeStartupTimeout")...)
		for _, list := range [...]string{"unhealthyConditions", "unhealthyMachineConditions"} {
			out = append(out, check.All(list, "*", "timeout")...)
		}
	}
	place(c.Spec.Get("controlPlane"))
	for _, w := range c.Workers() {
		place(w.Node)
	}
	return out
}

// Metadata returns the mappings with labels and annotations for the objects of a
// cluster, and those of variables.
func (c *Class) Metadata() []*yamldoc.Node {
	out := []*yamldoc.Node{c.Spec.Get("controlPlane", "metadata")}
	for _, w := range c.Workers() {
		out = append(out, w.Metadata)
	}
	for _, v := range c.Variables() {
		out = append(out, v.Node.Get("metadata"), v.Node.Get("deprecatedV1Beta1Metadata"))
		out = appendMetadata(out, v.Schema.Node)
	}
	return out
}

// Taints returns the taints for the nodes of a cluster.
func (c *Class) Taints() []*yamldoc.Node {
	out := c.Spec.Get("controlPlane", "taints").List()
	for _, w := range c.Workers() {
		out = append(slices.Clip(out), w.Node.Get("taints").List()...)
	}
	return out
}
