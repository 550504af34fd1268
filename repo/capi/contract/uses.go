package contract

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Uses says in which roles objects refer to kinds, by group and kind without the Suffix of
// templates. The zero value is ready to be read.
type Uses map[[2]string]map[Role]use

// use is the first reference in a role.
type use struct {
	why string
	// class says that only ClusterClasses refer to the kind in this role.
	class bool
}

// reference are fields that give the kind they name its role.
type reference struct {
	role   Role
	fields []string
}

// references are those of the objects of Cluster API, in the spellings of both versions.
// A star stands for the entries of a list.
var references = map[[2]string][]reference{
	{apiGroup, "Cluster"}: {
		{InfraCluster, []string{"spec.infrastructureRef"}},
		{ControlPlane, []string{"spec.controlPlaneRef"}},
	},
	{apiGroup, "Machine"}: {
		{InfraMachine, []string{"spec.infrastructureRef"}},
		{BootstrapConfig, []string{"spec.bootstrap.configRef"}},
	},
	{apiGroup, "MachinePool"}:       workers(InfraMachinePool),
	{apiGroup, "MachineDeployment"}: workers(InfraMachine),
	{apiGroup, "MachineSet"}:        workers(InfraMachine),
	{apiGroup, "MachineHealthCheck"}: {
		{Remediation, []string{"spec.remediationTemplate", "spec.remediation.templateRef"}},
	},
	{apiGroup, "ClusterClass"}: {
		{InfraCluster, either("spec.infrastructure")},
		{ControlPlane, either("spec.controlPlane")},
		{InfraMachine, append(either("spec.controlPlane.machineInfrastructure"), ofWorkers("machineDeployments", "infrastructure")...)},
		{InfraMachinePool, ofWorkers("machinePools", "infrastructure")},
		{BootstrapConfig, append(ofWorkers("machineDeployments", "bootstrap"), ofWorkers("machinePools", "bootstrap")...)},
	},
	{"ipam." + apiGroup, "IPAddressClaim"}: {{IPPool, []string{"spec.poolRef"}}},
	{"ipam." + apiGroup, "IPAddress"}:      {{IPPool, []string{"spec.poolRef"}}},
}

func workers(infrastructure Role) []reference {
	return []reference{
		{infrastructure, []string{"spec.template.spec.infrastructureRef"}},
		{BootstrapConfig, []string{"spec.template.spec.bootstrap.configRef"}},
	}
}

func either(path string) []string { return []string{path + ".ref", path + ".templateRef"} }

func ofWorkers(list, part string) []string {
	return []string{"spec.workers." + list + ".*.template." + part + ".ref", "spec.workers." + list + ".*." + part + ".templateRef"}
}

// ofControlPlanes are where control planes refer to the templates of their machines.
var ofControlPlanes = []string{oldRef, newRef}

// Add notes what the objects of a file refer to.
func (u Uses) Add(file string, objects []*manifest.Object) {
	for _, o := range objects {
		if !strings.HasSuffix(o.Group, apiGroup) {
			continue
		}
		note := func(role Role) func(*yamldoc.Node) {
			return func(ref *yamldoc.Node) {
				u.add(ref, role, use{"a " + o.Kind + " in " + file + " refers to it", o.Kind == "ClusterClass"})
			}
		}
		rows, ok := references[[2]string{o.Group, o.Kind}]
		for _, row := range rows {
			for _, path := range row.fields {
				each(o.Doc.Root, path, note(row.role))
			}
		}
		if !ok {
			for _, path := range ofControlPlanes {
				each(o.Doc.Root, path, note(InfraMachine))
			}
			addresses(o.Doc.Root.Get("spec"), note(IPPool))
		}
	}
}

// addresses visits what a provider's object says about pools of addresses. The field has
// another name with each provider, but ends in the same way.
func addresses(n *yamldoc.Node, visit func(*yamldoc.Node)) {
	for _, f := range n.Fields() {
		switch {
		case strings.HasSuffix(f.Name, "oolRef"):
			visit(f.Value)
		case f.Name == "addressesFromPools":
			each(f.Value, "*", visit)
		default:
			addresses(f.Value, visit)
		}
	}
	for _, item := range n.List() {
		addresses(item, visit)
	}
}

func (u Uses) add(ref *yamldoc.Node, role Role, by use) {
	group, kind := ref.Get("apiGroup").Str(), ref.Get("kind").Str()
	if group == "" {
		group, _ = manifest.SplitAPIVersion(ref.Get("apiVersion").Str())
	}
	if group == "" || kind == "" {
		return
	}
	key := [2]string{group, strings.TrimSuffix(kind, Suffix)}
	if u[key] == nil {
		u[key] = map[Role]use{}
	}
	if former, ok := u[key][role]; !ok || former.class && !by.class {
		u[key][role] = by
	}
}

// of returns the roles of a kind in their order.
func (u Uses) of(group, base string) []Role {
	return phrase.Only(roles[:], func(r Role) bool { return u[[2]string{group, base}][r].why != "" })
}

// each visits the values at a path.
func each(n *yamldoc.Node, path string, visit func(*yamldoc.Node)) {
	key, rest, more := strings.Cut(path, ".")
	next := []*yamldoc.Node{n.Get(key)}
	if key == "*" {
		next = n.List()
	}
	for _, n := range next {
		switch {
		case n == nil:
		case more:
			each(n, rest, visit)
		default:
			visit(n)
		}
	}
}
