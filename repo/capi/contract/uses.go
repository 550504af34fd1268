package contract

import (
	"regexp"
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
	{"controlplane." + apiGroup, "KubeadmControlPlane"}: {{InfraMachine, ofControlPlanes}},

	{"ipam." + apiGroup, "IPAddressClaim"}: {{IPPool, []string{"spec.poolRef"}}},
	{"ipam." + apiGroup, "IPAddress"}:      {{IPPool, []string{"spec.poolRef"}}},
}

// ReferencesOf are the fields by which objects of a kind refer to others. There are none for
// kinds of providers.
func ReferencesOf(group, kind string) []string {
	return phrase.Flat(references[[2]string{group, kind}], func(row reference) []string { return row.fields })
}

// FromTemplates reports whether an object refers to templates, from which its controller makes
// objects, or to the objects themselves, and whether that is known.
func FromTemplates(group, kind string) (templates, known bool) {
	switch kind {
	case "Cluster", "Machine", "MachinePool":
		return false, group == apiGroup
	case "MachineDeployment", "MachineSet", "MachineHealthCheck", "ClusterClass":
		return true, group == apiGroup
	}
	return true, group == "controlplane."+apiGroup && strings.HasSuffix(kind, "ControlPlane")
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
var ofControlPlanes = []string{"spec.machineTemplate.infrastructureRef", "spec.machineTemplate.spec.infrastructureRef"}

// Add notes what the objects of a file refer to.
func (u Uses) Add(file string, objects []*manifest.Object) {
	for _, o := range objects {
		if !OfClusterAPI(o.Group) {
			continue
		}
		by := use{"a " + o.Kind + " in " + file + " refers to it", o.Kind == "ClusterClass"}
		templates, known := FromTemplates(o.Group, o.Kind)
		note := func(role Role, paths ...string) {
			for _, path := range paths {
				for _, ref := range o.Doc.Root.All(strings.Split(path, ".")...) {
					if !known || strings.HasSuffix(ref.Get("kind").Str(), Suffix) == templates { // or else a mistake
						u.add(ref, role, by)
					}
				}
			}
		}
		rows, ok := references[[2]string{o.Group, o.Kind}]
		for _, row := range rows {
			note(row.role, row.fields...)
		}
		if !ok {
			note(InfraMachine, ofControlPlanes...)
			addresses(o.Doc.Root.Get("spec"), poolOfAddresses, func(ref *yamldoc.Node) { u.add(ref, IPPool, by) })
		}
	}
}

// The fields that refer to pools: of addresses, by their own name, and any below a field
// for addresses. Other pools are of machines, resources or storage.
var (
	poolOfAddresses = regexp.MustCompile(`^(from)?[pP]oolRef$|(^ip|IP)(v[46])?PoolRef$|[aA]ddress(es)?PoolRef$`)
	anyPool         = regexp.MustCompile(`[pP]oolRef$`)
	forAddresses    = regexp.MustCompile(`^ip(am|v[46]|s$|[A-Z])|^address|IP(AM|v[46]|s?$|[A-Z])|Address`)
)

// addresses visits what a provider's object says about pools of addresses, in fields whose
// names differ between providers.
func addresses(n *yamldoc.Node, pool *regexp.Regexp, visit func(*yamldoc.Node)) {
	for _, f := range n.Fields() {
		switch {
		case strings.HasSuffix(f.Name, "oolRef") && pool.MatchString(f.Name): // most names are neither
			visit(f.Value)
		case f.Name == "addressesFromPools":
			for _, ref := range f.Value.List() {
				visit(ref)
			}
		case (strings.HasPrefix(f.Name, "ip") || strings.Contains(f.Name, "IP") || strings.Contains(f.Name, "ddress")) && forAddresses.MatchString(f.Name):
			addresses(f.Value, anyPool, visit)
		default:
			addresses(f.Value, pool, visit)
		}
	}
	for _, item := range n.List() {
		addresses(item, pool, visit)
	}
}

func (u Uses) add(ref *yamldoc.Node, role Role, by use) {
	group, kind := manifest.GroupOf(ref), ref.Get("kind").Str()
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
