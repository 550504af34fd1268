package contract

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
)

// Need says whether a field has to be there.
type Need int

const (
	// Optional: the field may be missing. If it is there its type counts.
	Optional Need = iota
	// should: the page recommends the field.
	should
	// Must: without it Cluster API cannot use the kind.
	Must
)

// Section is what a row of the tables is about: the part of a heading on the
// page of the role that follows its name.
type Section string

// The sections that demand fields.
const (
	Initialization   Section = "initialization completed"
	Provisioned      Section = "initialization completed, v1beta2 field" // of pools, which are still read by another one
	Endpoint         Section = "control plane endpoint"
	FailureDomains   Section = "failure domains"
	FailureDomain    Section = "failure domain"
	ProviderID       Section = "provider ID"
	ProviderIDList   Section = "providerIDList"
	Addresses        Section = "addresses"
	Capacity         Section = "support cluster autoscaling from zero"
	Replicas         Section = "replicas"
	Scale            Section = "replicas, scale subresource"
	Counters         Section = "replicas, counters"
	Instances        Section = "instances"
	PoolMachines     Section = "MachinePoolMachines support"
	Interruptible    Section = "interruptible"
	DataSecret       Section = "data secret"
	Version          Section = "version"
	Machines         Section = "machines"
	MachineMetadata  Section = "machines, metadata"
	ExternalMachines Section = "machines, externalManagedControlPlane"
	Timeouts         Section = "machines, timeouts"
	MachineLists     Section = "machines, readiness gates and taints"
	RolloutAfter     Section = "rolloutAfter"
	TemplateSpec     Section = "template"
	TemplateMetadata Section = "template, metadata"
)

// Field is one demand of a contract on the schema of a role. Empty conditions
// mean always.
type Field struct {
	Role     Role
	Template bool
	Section  Section
	// Contract that demands it.
	Contract Contract
	// Since and Until are the first and the last minor version of Cluster API
	// for which the row holds.
	Since, Until int
	// If names fields, separated by blanks; without one of them this one is not
	// needed.
	If string
	// Path leads to the field; crd.Items stands for the elements of a list, and
	// crd.Values for the values of a map.
	Path string
	// Or is a field that serves as well.
	Or string
	// Was is where another contract has the field. A field that is only there is
	// overlooked.
	Was string
	// Type is what the schema has to say; empty for any.
	Type string
	Need Need
	// Read says that Cluster API reads or writes the field, and fails if it has
	// another type; with Lenient it treats a value of another type as missing.
	Read, Lenient bool
}

// Fields are the demands on all roles, in the order of the pages of the contract
// (docs/book/src/developer/providers/contracts; paths and types as in
// internal/contract). They must not be changed.
var Fields = slices.Concat(
	// infra-cluster.md
	[]Field{
		{Role: InfraCluster, Section: Initialization, Contract: V1Beta1, Path: "status.ready", Type: "boolean", Need: Must, Read: true},
		{Role: InfraCluster, Section: Initialization, Contract: V1Beta2, Path: "status.initialization.provisioned", Was: "status.ready", Type: "boolean", Need: Must, Read: true},
		{Role: InfraCluster, Section: Endpoint, Path: "spec.controlPlaneEndpoint", Type: "object", Need: should, Read: true},
		{Role: InfraCluster, Section: Endpoint, If: "spec.controlPlaneEndpoint", Path: "spec.controlPlaneEndpoint.host", Type: "string", Need: should, Read: true},
		{Role: InfraCluster, Section: Endpoint, If: "spec.controlPlaneEndpoint", Path: "spec.controlPlaneEndpoint.port", Type: "integer", Need: should, Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta1, Path: "status.failureDomains", Type: "object", Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta1, Path: "status.failureDomains.*", Type: "object", Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta1, Path: "status.failureDomains.*.controlPlane", Type: "boolean", Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta1, Path: "status.failureDomains.*.attributes", Type: "object", Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta1, Path: "status.failureDomains.*.attributes.*", Type: "string", Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta2, Path: "status.failureDomains", Type: "array", Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta2, Path: "status.failureDomains.[]", Type: "object", Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta2, If: "status.failureDomains.[]", Path: "status.failureDomains.[].name", Type: "string", Need: Must, Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta2, Path: "status.failureDomains.[].controlPlane", Type: "boolean", Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta2, Path: "status.failureDomains.[].attributes", Type: "object", Read: true},
		{Role: InfraCluster, Section: FailureDomains, Contract: V1Beta2, Path: "status.failureDomains.[].attributes.*", Type: "string", Read: true},
	},
	as(InfraCluster, template),
	// infra-machine.md
	as(InfraMachine, machine),
	as(InfraMachine, template),
	[]Field{
		{Role: InfraMachine, Template: true, Section: Capacity, Path: "status.capacity", Type: "object"},

		// infra-machinepool.md. The code still reads status.ready, whatever the contract.
		{Role: InfraMachinePool, Section: Instances, Path: "status.instances", Type: "array"},
		{Role: InfraMachinePool, Section: Instances, Path: "status.instances.[]", Type: "object"},
		{Role: InfraMachinePool, Section: PoolMachines, Path: "status.infrastructureMachineKind", Type: "string", Read: true},
		{Role: InfraMachinePool, Section: ProviderID, Path: "spec.providerID", Type: "string"},
		{Role: InfraMachinePool, Section: ProviderIDList, Path: "spec.providerIDList", Type: "array", Need: Must, Read: true},
		{Role: InfraMachinePool, Section: ProviderIDList, If: "spec.providerIDList", Path: "spec.providerIDList.[]", Type: "string", Need: Must, Read: true},
		{Role: InfraMachinePool, Section: Initialization, Path: "status.ready", Type: "boolean", Need: Must, Read: true},
		{Role: InfraMachinePool, Section: Provisioned, Contract: V1Beta2, Path: "status.initialization.provisioned", Type: "boolean", Need: should},
		{Role: InfraMachinePool, Section: Replicas, Path: "status.replicas", Type: "integer", Need: Must, Read: true},
	},
	as(InfraMachinePool, template),
	// Machines of pools are read like others; they have no template.
	as(MachinePoolMachine, machine),
	// bootstrap-config.md
	[]Field{
		{Role: BootstrapConfig, Section: DataSecret, Path: "status.dataSecretName", Type: "string", Need: Must, Read: true},
		{Role: BootstrapConfig, Section: Initialization, Contract: V1Beta1, Path: "status.ready", Type: "boolean", Need: Must, Read: true},
		{Role: BootstrapConfig, Section: Initialization, Contract: V1Beta2, Path: "status.initialization.dataSecretCreated", Was: "status.ready", Type: "boolean", Need: Must, Read: true},
	},
	as(BootstrapConfig, template),
	// control-plane.md. A machineTemplate without any reference is that of a control
	// plane without machines.
	[]Field{
		{Role: ControlPlane, Section: Endpoint, Path: "spec.controlPlaneEndpoint", Type: "object", Read: true},
		{Role: ControlPlane, Section: Endpoint, Path: "spec.controlPlaneEndpoint.host", Type: "string", Read: true},
		{Role: ControlPlane, Section: Endpoint, Path: "spec.controlPlaneEndpoint.port", Type: "integer", Read: true},
		{Role: ControlPlane, Section: Replicas, Path: "spec.replicas", Type: "integer", Read: true},
		{Role: ControlPlane, Section: Scale, If: "spec.replicas", Path: "status.selector", Type: "string", Need: should},
		{Role: ControlPlane, Section: Counters, If: "spec.replicas", Path: "status.replicas", Type: "integer", Need: should, Read: true, Lenient: true},
		{Role: ControlPlane, Section: Counters, If: "spec.replicas", Path: "status.readyReplicas", Type: "integer", Need: should, Read: true, Lenient: true},
		{Role: ControlPlane, Section: Counters, Contract: V1Beta1, If: "spec.replicas", Path: "status.updatedReplicas", Type: "integer", Need: should, Read: true, Lenient: true},
		{Role: ControlPlane, Section: Counters, Contract: V1Beta1, If: "spec.replicas", Path: "status.unavailableReplicas", Type: "integer", Need: should, Read: true, Lenient: true},
		{Role: ControlPlane, Section: Counters, Contract: V1Beta2, If: "spec.replicas", Path: "status.availableReplicas", Type: "integer", Need: should, Read: true, Lenient: true},
		{Role: ControlPlane, Section: Counters, Contract: V1Beta2, If: "spec.replicas", Path: "status.upToDateReplicas", Was: "status.updatedReplicas", Type: "integer", Need: should, Read: true, Lenient: true},
		{Role: ControlPlane, Section: Version, Path: "spec.version", Type: "string", Read: true},
		{Role: ControlPlane, Section: Version, Until: 13, If: "spec.version", Path: "status.version", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: Version, Since: 14, If: "spec.version", Path: "status.versions", Or: "status.version", Need: should},
		{Role: ControlPlane, Section: Version, Since: 14, Path: "status.version", Type: "string", Read: true},
		{Role: ControlPlane, Section: Version, Since: 14, Path: "status.versions", Type: "array", Read: true},
		{Role: ControlPlane, Section: Version, Since: 14, If: "status.versions.[]", Path: "status.versions.[].version", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: Version, Since: 14, If: "status.versions.[] spec.replicas", Path: "status.versions.[].replicas", Type: "integer", Need: should, Read: true},
		{Role: ControlPlane, Section: Machines, Path: "spec.machineTemplate", Type: "object", Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta2, Path: "spec.machineTemplate.spec", Type: "object", Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta1, If: "spec.machineTemplate.spec.infrastructureRef", Path: "spec.machineTemplate.infrastructureRef", Was: "spec.machineTemplate.spec.infrastructureRef", Type: "object", Need: Must, Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta2, If: "spec.machineTemplate.infrastructureRef", Path: "spec.machineTemplate.spec.infrastructureRef", Was: "spec.machineTemplate.infrastructureRef", Type: "object", Need: Must, Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta1, If: "spec.machineTemplate.infrastructureRef", Path: "spec.machineTemplate.infrastructureRef.apiVersion", Type: "string", Need: Must, Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta1, If: "spec.machineTemplate.infrastructureRef", Path: "spec.machineTemplate.infrastructureRef.kind", Type: "string", Need: Must, Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta1, If: "spec.machineTemplate.infrastructureRef", Path: "spec.machineTemplate.infrastructureRef.name", Type: "string", Need: Must, Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta1, If: "spec.machineTemplate.infrastructureRef", Path: "spec.machineTemplate.infrastructureRef.namespace", Type: "string", Need: Must, Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta2, If: "spec.machineTemplate.spec.infrastructureRef", Path: "spec.machineTemplate.spec.infrastructureRef.apiGroup", Was: "spec.machineTemplate.spec.infrastructureRef.apiVersion", Type: "string", Need: Must, Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta2, If: "spec.machineTemplate.spec.infrastructureRef", Path: "spec.machineTemplate.spec.infrastructureRef.kind", Type: "string", Need: Must, Read: true},
		{Role: ControlPlane, Section: Machines, Contract: V1Beta2, If: "spec.machineTemplate.spec.infrastructureRef", Path: "spec.machineTemplate.spec.infrastructureRef.name", Type: "string", Need: Must, Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta1, If: "spec.machineTemplate.infrastructureRef", Path: "spec.machineTemplate.metadata", Type: "object", Need: Must, Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta1, If: "spec.machineTemplate.infrastructureRef spec.machineTemplate.metadata", Path: "spec.machineTemplate.metadata.labels", Type: "object", Need: Must, Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta1, Path: "spec.machineTemplate.metadata.labels.*", Type: "string", Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta1, If: "spec.machineTemplate.infrastructureRef spec.machineTemplate.metadata", Path: "spec.machineTemplate.metadata.annotations", Type: "object", Need: Must, Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta1, Path: "spec.machineTemplate.metadata.annotations.*", Type: "string", Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta2, If: "spec.machineTemplate.spec.infrastructureRef", Path: "spec.machineTemplate.metadata", Type: "object", Need: Must, Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta2, If: "spec.machineTemplate.spec.infrastructureRef spec.machineTemplate.metadata", Path: "spec.machineTemplate.metadata.labels", Type: "object", Need: Must, Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta2, Path: "spec.machineTemplate.metadata.labels.*", Type: "string", Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta2, If: "spec.machineTemplate.spec.infrastructureRef spec.machineTemplate.metadata", Path: "spec.machineTemplate.metadata.annotations", Type: "object", Need: Must, Read: true},
		{Role: ControlPlane, Section: MachineMetadata, Contract: V1Beta2, Path: "spec.machineTemplate.metadata.annotations.*", Type: "string", Read: true},
		{Role: ControlPlane, Section: ExternalMachines, Path: "status.externalManagedControlPlane", Type: "boolean", Read: true, Lenient: true},
		{Role: ControlPlane, Section: Timeouts, Contract: V1Beta1, Path: "spec.machineTemplate.nodeDrainTimeout", Type: "string", Read: true},
		{Role: ControlPlane, Section: Timeouts, Contract: V1Beta1, Path: "spec.machineTemplate.nodeVolumeDetachTimeout", Type: "string", Read: true},
		{Role: ControlPlane, Section: Timeouts, Contract: V1Beta1, Path: "spec.machineTemplate.nodeDeletionTimeout", Type: "string", Read: true},
		{Role: ControlPlane, Section: Timeouts, Contract: V1Beta2, Path: "spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds", Was: "spec.machineTemplate.nodeDrainTimeout", Type: "integer", Read: true},
		{Role: ControlPlane, Section: Timeouts, Contract: V1Beta2, Path: "spec.machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds", Was: "spec.machineTemplate.nodeVolumeDetachTimeout", Type: "integer", Read: true},
		{Role: ControlPlane, Section: Timeouts, Contract: V1Beta2, Path: "spec.machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds", Was: "spec.machineTemplate.nodeDeletionTimeout", Type: "integer", Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta1, Path: "spec.machineTemplate.readinessGates", Type: "array", Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta2, Path: "spec.machineTemplate.spec.readinessGates", Was: "spec.machineTemplate.readinessGates", Type: "array", Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta1, Path: "spec.machineTemplate.taints", Type: "array", Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta2, Path: "spec.machineTemplate.spec.taints", Was: "spec.machineTemplate.taints", Type: "array", Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta1, If: "spec.machineTemplate.readinessGates.[]", Path: "spec.machineTemplate.readinessGates.[].conditionType", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta1, If: "spec.machineTemplate.readinessGates.[]", Path: "spec.machineTemplate.readinessGates.[].polarity", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta1, If: "spec.machineTemplate.taints.[]", Path: "spec.machineTemplate.taints.[].key", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta1, If: "spec.machineTemplate.taints.[]", Path: "spec.machineTemplate.taints.[].value", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta1, If: "spec.machineTemplate.taints.[]", Path: "spec.machineTemplate.taints.[].effect", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta1, If: "spec.machineTemplate.taints.[]", Path: "spec.machineTemplate.taints.[].propagation", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta2, If: "spec.machineTemplate.spec.readinessGates.[]", Path: "spec.machineTemplate.spec.readinessGates.[].conditionType", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta2, If: "spec.machineTemplate.spec.readinessGates.[]", Path: "spec.machineTemplate.spec.readinessGates.[].polarity", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta2, If: "spec.machineTemplate.spec.taints.[]", Path: "spec.machineTemplate.spec.taints.[].key", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta2, If: "spec.machineTemplate.spec.taints.[]", Path: "spec.machineTemplate.spec.taints.[].value", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta2, If: "spec.machineTemplate.spec.taints.[]", Path: "spec.machineTemplate.spec.taints.[].effect", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: MachineLists, Contract: V1Beta2, If: "spec.machineTemplate.spec.taints.[]", Path: "spec.machineTemplate.spec.taints.[].propagation", Type: "string", Need: should, Read: true},
		{Role: ControlPlane, Section: RolloutAfter, Contract: V1Beta2, Path: "spec.rollout.after", Was: "spec.rolloutAfter", Type: "string", Read: true},
		{Role: ControlPlane, Section: Initialization, Contract: V1Beta1, Path: "status.initialized", Type: "boolean", Need: Must, Read: true},
		{Role: ControlPlane, Section: Initialization, Contract: V1Beta2, Path: "status.initialization.controlPlaneInitialized", Was: "status.initialized", Type: "boolean", Need: Must, Read: true},
	},
	as(ControlPlane, template),
	[]Field{
		{Role: ControlPlane, Template: true, Section: MachineMetadata, Path: "spec.template.spec.machineTemplate.metadata", Type: "object", Read: true},
	},
)

// template are the rows of templates, and machine those of machines, of whichever role.
var (
	template = []Field{
		{Template: true, Section: TemplateSpec, Path: "spec.template.spec", Type: "object", Need: Must},
		{Template: true, Section: TemplateMetadata, Path: "spec.template.metadata", Type: "object", Need: should, Read: true},
		{Template: true, Section: TemplateMetadata, If: "spec.template.metadata", Path: "spec.template.metadata.labels", Type: "object", Need: should, Read: true},
		{Template: true, Section: TemplateMetadata, Path: "spec.template.metadata.labels.*", Type: "string", Read: true},
		{Template: true, Section: TemplateMetadata, If: "spec.template.metadata", Path: "spec.template.metadata.annotations", Type: "object", Need: should, Read: true},
		{Template: true, Section: TemplateMetadata, Path: "spec.template.metadata.annotations.*", Type: "string", Read: true},
	}
	machine = []Field{
		{Section: ProviderID, Path: "spec.providerID", Type: "string", Need: Must, Read: true},
		{Section: FailureDomain, Path: "spec.failureDomain", Type: "string", Read: true},
		{Section: FailureDomain, Contract: V1Beta1, Path: "status.failureDomain", Type: "string", Read: true},
		{Section: FailureDomain, Contract: V1Beta2, Path: "status.failureDomain", Was: "spec.failureDomain", Type: "string", Read: true},
		{Section: Interruptible, Path: "status.interruptible", Type: "boolean", Read: true},
		{Section: Addresses, Path: "status.addresses", Type: "array", Read: true},
		{Section: Addresses, If: "status.addresses", Path: "status.addresses.[]", Type: "object", Need: should, Read: true},
		{Section: Addresses, If: "status.addresses.[]", Path: "status.addresses.[].type", Type: "string", Need: should, Read: true},
		{Section: Addresses, If: "status.addresses.[]", Path: "status.addresses.[].address", Type: "string", Need: should, Read: true},
		{Section: Initialization, Contract: V1Beta1, Path: "status.ready", Type: "boolean", Need: Must, Read: true},
		{Section: Initialization, Contract: V1Beta2, Path: "status.initialization.provisioned", Was: "status.ready", Type: "boolean", Need: Must, Read: true},
	}
)

// as returns the rows for a role.
func as(role Role, rows []Field) []Field {
	out := slices.Clone(rows)
	for i := range out {
		out[i].Role = role
	}
	return out
}

// ConditionFields are the fields of conditions, with their types. Cluster API takes
// the types for granted: with another one its controllers panic
// (util/conditions/getter.go, convertFromUnstructuredConditions). Conditions
// without type or status are refused, the rest is optional.
var ConditionFields = [...]Field{
	{Path: "type", Type: "string", Need: Must, Read: true},
	{Path: "status", Type: "string", Need: Must, Read: true},
	{Path: "reason", Type: "string", Read: true},
	{Path: "message", Type: "string", Read: true},
	{Path: "lastTransitionTime", Type: "string", Read: true},
	{Path: "observedGeneration", Type: "integer", Read: true},
}

// Demands returns the rows of a section.
func Demands(s Section) []*Field {
	var out []*Field
	for i := range Fields {
		if Fields[i].Section == s {
			out = append(out, &Fields[i])
		}
	}
	return out
}

// Applies reports whether a row is about a kind, under its contract and the
// version of Cluster API in the profile.
func (f *Field) Applies(k *Kind, p Profile) bool {
	return f.Role == k.Role && f.Template == k.Template &&
		(f.Contract == "" || f.Contract == k.Contract) &&
		(f.Since == 0 || p.Core >= f.Since) && (f.Until == 0 || p.Core <= f.Until)
}

// Verdict is what a schema says about a Field.
type Verdict int

// The verdicts.
const (
	fulfilled Verdict = iota
	Missing
	// Moved: the field is only where another contract has it.
	Moved
	WrongType
	// Unknown: the schema keeps fields that it does not describe.
	Unknown
)

// Check compares a schema with the row. The second result is the schema of the
// field, or the last one on the way to it.
func (f *Field) Check(s crd.Schema) (Verdict, crd.Schema) {
	at, presence := follow(s, f.Path)
	switch {
	case presence == crd.Present:
		if got := at.Type(); f.Type != "" && got != f.Type && got != "" {
			return WrongType, at
		}
		return fulfilled, at
	case !f.needed(s) || f.Or != "" && present(s, f.Or):
		return fulfilled, at
	case presence == crd.Unknowable:
		if f.Need == Optional {
			return fulfilled, at
		}
		return Unknown, at
	case f.Was != "" && present(s, f.Was):
		old, _ := follow(s, f.Was)
		return Moved, old
	case f.Need == Optional:
		return fulfilled, at
	}
	return Missing, at
}

// Blocks reports whether a kind does not work with a verdict about the field: it must
// be there, or Cluster API fails to read it, or it is the version that workers of a
// ClusterClass wait for.
func (f *Field) Blocks(k *Kind, v Verdict) bool {
	return f.Need == Must || v == WrongType && f.Read && !f.Lenient ||
		f.Section == Version && f.Need == should && k.InClasses && !strings.Contains(f.Path, crd.Items)
}

// needed reports whether the schema has the fields of If.
func (f *Field) needed(s crd.Schema) bool {
	for path := range strings.FieldsSeq(f.If) {
		if !present(s, path) {
			return false
		}
	}
	return true
}

// follow goes down a path with dots, as crd.Schema.At does with names.
func follow(s crd.Schema, path string) (crd.Schema, crd.Presence) {
	for name := range strings.SplitSeq(path, ".") {
		next, presence := s.At(name)
		if presence != crd.Present {
			return next, presence
		}
		s = next
	}
	return s, crd.Present
}

func present(s crd.Schema, path string) bool {
	_, presence := follow(s, path)
	return presence == crd.Present
}
