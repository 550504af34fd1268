package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
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
	Failures         Section = "terminal failures"
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
	// Values are some that the schema must accept, as YAML; of a boolean, both. Most is how
	// many entries a list may have, and Free says that nothing limits a string to a few values.
	Values string
	Most   int64
	Free   bool
	// Filled says that the controller knows the value, and not who creates the object.
	Filled bool
	// Read says that Cluster API reads or writes the field, and fails if it has
	// another type; with Lenient it treats a value of another type as missing.
	Read, Lenient bool
}

// Fields are the demands on all roles, in the order of the pages of the contract
// (docs/book/src/developer/providers/contracts; paths and types as in
// internal/contract). They must not be changed.
var Fields = slices.Concat(
	// infra-cluster.md
	as(Field{Role: InfraCluster}, []Field{
		{Section: Initialization, Contract: V1Beta1, Path: "status.ready", Type: "boolean", Need: Must, Read: true},
		{Section: Initialization, Contract: V1Beta2, Path: provisioned, Was: "status.ready", Type: "boolean", Need: Must, Read: true},
		{Section: Endpoint, Path: endpoint, Type: "object", Need: should, Read: true},
		{Section: Endpoint, If: endpoint, Path: endpoint + ".host", Type: "string", Need: should, Read: true},
		{Section: Endpoint, If: endpoint, Path: endpoint + ".port", Type: "integer", Need: should, Read: true},
		{Section: FailureDomains, Contract: V1Beta1, Path: domains, Type: "object", Read: true},
		{Section: FailureDomains, Contract: V1Beta1, Path: domains + ".*", Type: "object", Read: true},
		{Section: FailureDomains, Contract: V1Beta1, Path: domains + ".*.controlPlane", Type: "boolean", Read: true},
		{Section: FailureDomains, Contract: V1Beta1, Path: domains + ".*.attributes", Type: "object", Read: true},
		{Section: FailureDomains, Contract: V1Beta1, Path: domains + ".*.attributes.*", Type: "string", Read: true},
		{Section: FailureDomains, Contract: V1Beta2, Path: domains, Type: "array", Read: true},
		{Section: FailureDomains, Contract: V1Beta2, Path: domains + ".[]", Type: "object", Read: true},
		{Section: FailureDomains, Contract: V1Beta2, If: domains + ".[]", Path: domains + ".[].name", Type: "string", Need: Must, Read: true},
		{Section: FailureDomains, Contract: V1Beta2, Path: domains + ".[].controlPlane", Type: "boolean", Read: true},
		{Section: FailureDomains, Contract: V1Beta2, Path: domains + ".[].attributes", Type: "object", Read: true},
		{Section: FailureDomains, Contract: V1Beta2, Path: domains + ".[].attributes.*", Type: "string", Read: true},
	}, failures, template),
	// infra-machine.md
	as(Field{Role: InfraMachine}, machine, failures, template, []Field{
		{Template: true, Section: Capacity, Path: "status.capacity", Type: "object"},
	}),
	// infra-machinepool.md. The code still reads status.ready, whatever the contract.
	as(Field{Role: InfraMachinePool}, []Field{
		{Section: Instances, Path: "status.instances", Type: "array"},
		{Section: Instances, Path: "status.instances.[]", Type: "object"},
		{Section: Instances, Path: "status.instances.[].addresses", Type: "array"},
		{Section: Instances, Path: "status.instances.[].instanceName", Type: "string"},
		{Section: Instances, Path: "status.instances.[].providerID", Type: "string"},
		{Section: Instances, Path: "status.instances.[].version", Type: "string"},
		{Section: Instances, Path: "status.instances.[].ready", Type: "boolean"},
		{Section: PoolMachines, Path: "status.infrastructureMachineKind", Type: "string", Read: true},
		{Section: ProviderID, Path: "spec.providerID", Type: "string", Free: true, Filled: true},
		{Section: ProviderIDList, Path: "spec.providerIDList", Type: "array", Need: Must, Read: true, Values: "[[]]", Most: 10000, Filled: true},
		{Section: ProviderIDList, If: "spec.providerIDList", Path: "spec.providerIDList.[]", Type: "string", Need: Must, Read: true, Free: true},
		{Section: Initialization, Path: "status.ready", Type: "boolean", Need: Must, Read: true},
		{Section: Provisioned, Contract: V1Beta2, Path: provisioned, Type: "boolean", Need: should},
		{Section: Replicas, Path: "status.replicas", Type: "integer", Need: Must, Read: true, Values: "[0, 1, 10000]"},
	}, failures, template),
	// Machines of pools are read like others; they have no template.
	as(Field{Role: MachinePoolMachine}, machine, failures),
	// bootstrap-config.md
	as(Field{Role: BootstrapConfig}, as(Field{Need: Must, Read: true}, []Field{
		{Section: DataSecret, Path: "status.dataSecretName", Type: "string", Free: true},
		{Section: Initialization, Contract: V1Beta1, Path: "status.ready", Type: "boolean"},
		{Section: Initialization, Contract: V1Beta2, Path: "status.initialization.dataSecretCreated", Was: "status.ready", Type: "boolean"},
	}), failures, template),
	// control-plane.md. A machineTemplate without any reference is that of a control
	// plane without machines.
	as(Field{Role: ControlPlane}, []Field{
		{Section: Endpoint, Path: endpoint, Type: "object", Read: true},
		{Section: Endpoint, Path: endpoint + ".host", Type: "string", Read: true},
		{Section: Endpoint, Path: endpoint + ".port", Type: "integer", Read: true},
		{Section: Replicas, Path: "spec.replicas", Type: "integer", Read: true},
		{Section: Scale, If: "spec.replicas", Path: "status.selector", Type: "string", Need: should},
	}, as(Field{Section: Counters, If: "spec.replicas", Type: "integer", Need: should, Read: true, Lenient: true, Values: "[0, 1]"}, []Field{
		{Path: "status.replicas"},
		{Path: "status.readyReplicas"},
		{Path: "status.updatedReplicas", Contract: V1Beta1},
		{Path: "status.unavailableReplicas", Contract: V1Beta1},
		{Path: "status.availableReplicas", Contract: V1Beta2},
		{Path: "status.upToDateReplicas", Was: "status.updatedReplicas", Contract: V1Beta2},
	}), []Field{
		{Section: Version, Path: "spec.version", Type: "string", Read: true},
		{Section: Version, Until: 13, If: "spec.version", Path: "status.version", Type: "string", Need: should, Read: true},
		{Section: Version, Since: 14, If: "spec.version", Path: "status.versions", Or: "status.version", Need: should},
		{Section: Version, Since: 14, Path: "status.version", Type: "string", Read: true},
		{Section: Version, Since: 14, Path: "status.versions", Type: "array", Read: true},
		{Section: Version, Since: 14, If: listed, Path: listed + ".version", Type: "string", Need: should, Read: true},
		{Section: Version, Since: 14, If: listed + " spec.replicas", Path: listed + ".replicas", Type: "integer", Need: should, Read: true},
		{Section: Machines, Path: machines, Type: "object", Read: true},
		{Section: Machines, Contract: V1Beta2, Path: machines + ".spec", Type: "object", Read: true},
		{Section: Machines, Contract: V1Beta1, If: newRef, Path: oldRef, Was: newRef, Type: "object", Need: Must, Read: true},
		{Section: Machines, Contract: V1Beta2, If: oldRef, Path: newRef, Was: oldRef, Type: "object", Need: Must, Read: true},
	}, as(Field{Section: Machines, Type: "string", Need: Must, Read: true},
		below(Field{Contract: V1Beta1}, oldRef, "apiVersion", "kind", "name", "namespace"),
		below(Field{Contract: V1Beta2, Was: newRef + ".apiVersion"}, newRef, "apiGroup"),
		below(Field{Contract: V1Beta2}, newRef, "kind", "name"),
	),
		metadata(MachineMetadata, V1Beta1, oldRef, machines+".metadata", Must),
		metadata(MachineMetadata, V1Beta2, newRef, machines+".metadata", Must),
		[]Field{
			{Section: ExternalMachines, Path: "status.externalManagedControlPlane", Type: "boolean", Read: true, Lenient: true},
			{Section: Timeouts, Contract: V1Beta1, Path: machines + ".nodeDrainTimeout", Type: "string", Read: true},
			{Section: Timeouts, Contract: V1Beta1, Path: machines + ".nodeVolumeDetachTimeout", Type: "string", Read: true},
			{Section: Timeouts, Contract: V1Beta1, Path: machines + ".nodeDeletionTimeout", Type: "string", Read: true},
		}, as(Field{Section: Timeouts, Contract: V1Beta2, Type: "integer", Read: true}, []Field{
			{Path: machines + ".spec.deletion.nodeDrainTimeoutSeconds", Was: machines + ".nodeDrainTimeout"},
			{Path: machines + ".spec.deletion.nodeVolumeDetachTimeoutSeconds", Was: machines + ".nodeVolumeDetachTimeout"},
			{Path: machines + ".spec.deletion.nodeDeletionTimeoutSeconds", Was: machines + ".nodeDeletionTimeout"},
		}), as(Field{Section: MachineLists, Type: "array", Read: true}, []Field{
			{Contract: V1Beta1, Path: machines + ".readinessGates"},
			{Contract: V1Beta2, Path: machines + ".spec.readinessGates", Was: machines + ".readinessGates"},
			{Contract: V1Beta1, Path: machines + ".taints"},
			{Contract: V1Beta2, Path: machines + ".spec.taints", Was: machines + ".taints"},
		}), as(Field{Section: MachineLists, Type: "string", Need: should, Read: true},
			below(Field{Contract: V1Beta1}, machines+".readinessGates.[]", "conditionType", "polarity"),
			below(Field{Contract: V1Beta1}, machines+".taints.[]", "key", "value", "effect", "propagation"),
			below(Field{Contract: V1Beta2}, machines+".spec.readinessGates.[]", "conditionType", "polarity"),
			below(Field{Contract: V1Beta2}, machines+".spec.taints.[]", "key", "value", "effect", "propagation"),
		), []Field{
			{Section: RolloutAfter, Contract: V1Beta2, Path: "spec.rollout.after", Was: "spec.rolloutAfter", Type: "string", Read: true},
		}, as(Field{Section: Initialization, Type: "boolean", Need: Must, Read: true}, []Field{
			{Contract: V1Beta1, Path: "status.initialized"},
			{Contract: V1Beta2, Path: "status.initialization.controlPlaneInitialized", Was: "status.initialized"},
		}), failures, template, []Field{
			{Template: true, Section: MachineMetadata, Path: "spec.template." + machines + ".metadata", Type: "object", Read: true},
		}),
)

// Paths that stand in several rows; oldRef and newRef are those of v1beta1 and v1beta2.
const (
	endpoint    = "spec.controlPlaneEndpoint"
	provisioned = "status.initialization.provisioned"
	domains     = "status.failureDomains"
	listed      = "status.versions.[]"
	machines    = "spec.machineTemplate"
	oldRef      = machines + ".infrastructureRef"
	newRef      = machines + ".spec.infrastructureRef"
)

// template are the rows of templates, machine those of machines, and failures those of all
// kinds that Cluster API refers to (controllers/external, FailuresFrom).
var (
	failures = as(Field{Section: Failures, Type: "string", Read: true}, []Field{{Path: "status.failureReason"}, {Path: "status.failureMessage", Free: true}})
	template = as(Field{Template: true}, []Field{
		{Section: TemplateSpec, Path: "spec.template.spec", Type: "object", Need: Must},
	}, metadata(TemplateMetadata, "", "", "spec.template.metadata", should))
	machine = slices.Concat([]Field{
		{Section: ProviderID, Path: "spec.providerID", Type: "string", Need: Must, Read: true, Free: true, Filled: true},
		{Section: FailureDomain, Path: "spec.failureDomain", Type: "string", Read: true},
		{Section: FailureDomain, Contract: V1Beta1, Path: "status.failureDomain", Type: "string", Read: true},
		{Section: FailureDomain, Contract: V1Beta2, Path: "status.failureDomain", Was: "spec.failureDomain", Type: "string", Read: true},
		{Section: Interruptible, Path: "status.interruptible", Type: "boolean", Read: true},
		{Section: Addresses, Path: "status.addresses", Type: "array", Read: true},
		{Section: Addresses, If: "status.addresses", Path: "status.addresses.[]", Type: "object", Need: should, Read: true},
	}, below(Field{Section: Addresses, Type: "string", Need: should, Read: true}, "status.addresses.[]", "type", "address"), []Field{
		{Section: Initialization, Contract: V1Beta1, Path: "status.ready", Type: "boolean", Need: Must, Read: true},
		{Section: Initialization, Contract: V1Beta2, Path: provisioned, Was: "status.ready", Type: "boolean", Need: Must, Read: true},
	})
)

// as returns rows with what they have in common, as far as they do not say it.
func as(common Field, rows ...[]Field) []Field {
	out := slices.Concat(rows...)
	for i := range out {
		f := &out[i]
		f.Role, f.Section, f.Contract = cmp.Or(f.Role, common.Role), cmp.Or(f.Section, common.Section), cmp.Or(f.Contract, common.Contract)
		f.If, f.Type, f.Need = cmp.Or(f.If, common.If), cmp.Or(f.Type, common.Type), cmp.Or(f.Need, common.Need)
		f.Values = cmp.Or(f.Values, common.Values)
		f.Template, f.Read, f.Lenient = f.Template || common.Template, f.Read || common.Read, f.Lenient || common.Lenient
	}
	return out
}

// below returns a row for each of the names below a field that they need.
func below(row Field, field string, names ...string) (out []Field) {
	for _, name := range names {
		row.If, row.Path = field, field+"."+name
		out = append(out, row)
	}
	return out
}

// metadata returns the rows of the metadata at a path, which a reference makes needed.
func metadata(s Section, c Contract, ref, path string, need Need) []Field {
	needs := strings.TrimSpace(ref + " " + path)
	return as(Field{Section: s, Contract: c, Read: true}, []Field{
		{If: ref, Path: path, Type: "object", Need: need},
		{If: needs, Path: path + ".labels", Type: "object", Need: need},
		{Path: path + ".labels.*", Type: "string"},
		{If: needs, Path: path + ".annotations", Type: "object", Need: need},
		{Path: path + ".annotations.*", Type: "string"},
	})
}

// ConditionFields are the fields of conditions, with their types. Cluster API takes
// the types for granted: with another one its controllers panic
// (util/conditions/getter.go, convertFromUnstructuredConditions). Conditions
// without type or status are refused, the rest is optional.
var ConditionFields = [...]Field{
	{Path: "type", Type: "string", Need: Must, Read: true},
	{Path: "status", Type: "string", Need: Must, Read: true, Values: "['True', 'False', Unknown]"},
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

// Refusal is a value that a schema does not accept, and the keyword of it that says so.
type Refusal struct {
	Value   string
	Keyword *yamldoc.Field
}

// Refused returns values that the contract allows and the schema of the field does not.
func (f *Field) Refused(s crd.Schema) (out []Refusal) {
	values := f.Values
	if f.Type == "boolean" {
		values = "[true, false]"
	}
	var c crd.Checker
	if values != "" {
		for _, v := range yamldoc.Parse(yamldoc.NewFile("", values)).Docs[0].Root.List() {
			for _, violation := range c.Check(s, v, false) {
				if at := s.Node.Field(violation.Keyword); at != nil {
					text := crd.Show(v)
					if v.Is(yamldoc.List) {
						text = "an empty list"
					}
					out = append(out, Refusal{text, at})
					break
				}
			}
		}
	}
	if at := s.Node.Field("maxItems"); at != nil && f.Most > 0 {
		if n, ok := at.Value.Int(); ok && n < f.Most {
			out = append(out, Refusal{fmt.Sprintf("%d entries", f.Most), at})
		}
	}
	if at := s.Node.Field("enum"); at != nil && f.Free {
		out = append(out, Refusal{"every string", at})
	}
	return out
}

// Find returns the schema of the field, if it is there.
func (f *Field) Find(s crd.Schema) (crd.Schema, bool) {
	at, presence := follow(s, f.Path)
	return at, presence == crd.Present
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
