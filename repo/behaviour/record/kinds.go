package record

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// The tags of objects are the roles of the contract, the kinds of core objects, and these.
const (
	ProviderKind  = "provider" // without a role, as an identity
	InfraTemplate = "template" // of InfraMachines
	otherKind     = "other"
)

// tagOf recognizes kinds by their names, as the pages of the contract recommend. What
// core objects refer to is known better; see World.learn.
func tagOf(group, kind string) string {
	switch {
	case group == "" && kind == "Secret", group == "coordination.k8s.io" && kind == "Lease",
		(group == "" || group == "events.k8s.io") && kind == "Event":
		return kind
	case group == coreGroup:
		switch kind {
		case "Cluster", "Machine", "MachineSet", "MachineDeployment", "MachinePool":
			return kind
		}
		return otherKind
	case group == IPAMGroup && (kind == "IPAddressClaim" || kind == "IPAddress"):
		return kind
	case strings.HasSuffix(kind, "Machine"+contract.Suffix):
		return InfraTemplate
	case strings.HasSuffix(kind, contract.Suffix):
		return otherKind
	}
	for part := range strings.SplitSeq(group, ".") {
		switch {
		case strings.HasSuffix(kind, "ControlPlane") && (part == "controlplane" || part == "infrastructure"):
			return string(contract.ControlPlane)
		case part == "bootstrap" && strings.HasSuffix(kind, "Config"):
			return string(contract.BootstrapConfig)
		case part == "infrastructure" && strings.HasSuffix(kind, "MachinePool"):
			return string(contract.InfraMachinePool)
		case part == "infrastructure" && strings.HasSuffix(kind, "Machine"):
			return string(contract.InfraMachine)
		case part == "infrastructure" && strings.HasSuffix(kind, "Cluster"):
			return string(contract.InfraCluster)
		case part == "ipam" && strings.HasSuffix(kind, "Pool"):
			return string(contract.IPPool)
		}
	}
	if strings.HasSuffix(group, "."+coreGroup) {
		return ProviderKind
	}
	return otherKind
}

// plurals are the ends of the names of resources, with what tagOf calls their kinds. The
// longer of two comes first.
var plurals = []struct{ end, kind string }{
	{"machinetemplates", "MachineTemplate"},
	{"machinedeployments", "MachineDeployment"}, {"machinepools", "MachinePool"}, {"machinesets", "MachineSet"}, {"machines", "Machine"},
	{"controlplanes", "ControlPlane"}, {"clusters", "Cluster"}, {"configs", "Config"}, {"pools", "Pool"},
	{"ipaddressclaims", "IPAddressClaim"}, {"ipaddresses", "IPAddress"}, {"secrets", "Secret"}, {"leases", "Lease"}, {"events", "Event"},
}

// TagOfResource is tagOf for the name of a resource with its group.
func TagOfResource(resource string) string {
	plural, group, _ := strings.Cut(resource, ".")
	for _, p := range plurals {
		if before, ok := strings.CutSuffix(plural, p.end); ok &&
			(before == "" || group != coreGroup && group != IPAMGroup || p.kind == "Pool") {
			if p.kind == "Lease" {
				group = "coordination.k8s.io"
			}
			return tagOf(group, p.kind)
		}
	}
	return otherKind
}
