package definitions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var bootstrapConfigRules = &lint.Family{Prefix: "BC", Title: "CRDs of the role BootstrapConfig", Kinds: view.DefinitionFiles}
var controlPlaneRules = &lint.Family{Prefix: "CP", Title: "CRDs of the role ControlPlane", Kinds: view.DefinitionFiles}
var infraClusterRules = &lint.Family{Prefix: "IC", Title: "CRDs of the role InfraCluster", Kinds: view.DefinitionFiles}
var infraMachineRules = &lint.Family{Prefix: "IM", Title: "CRDs of the role InfraMachine", Kinds: view.DefinitionFiles}
var infraMachinePoolRules = &lint.Family{Prefix: "IMP", Title: "CRDs of the role InfraMachinePool", Kinds: view.DefinitionFiles}
var addressRules = &lint.Family{Prefix: "IPAM", Title: "CRDs of IPAM providers", Kinds: view.DefinitionFiles}

const (
	neverInitialized = "Cluster API waits forever: the API server drops the field from the controller's report, because the schema does not have it."
	generateAgain    = "Add the field to the Go type, or correct its type, and generate the CRD again. If several versions are served, change the one in the contract label."
	countersMissing  = `The status of the Cluster, and "clusterctl describe cluster", show no numbers for the control plane: Cluster API copies the counters, and leaves out those that are missing or not integers. Nothing waits for these counters.`
	noClusterClass   = "Users cannot use the kind in a ClusterClass."
	addTemplateKind  = "Add a kind named KINDTemplate with spec.template.metadata and spec.template.spec."
)

// both calls several checks.
func both(checks ...func(*lint.Pass)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, check := range checks {
			check(p)
		}
	}
}

// eachRole returns a check of the definitions with a role that have a version to judge,
// and eachTemplate one of the templates of some.
func eachRole(check func(*lint.Pass, *contract.Kind), role contract.Role) func(*lint.Pass) {
	return withRole(false, check, role)
}

func eachTemplate(check func(*lint.Pass, *contract.Kind), roles ...contract.Role) func(*lint.Pass) {
	return withRole(true, check, roles...)
}

func withRole(template bool, check func(*lint.Pass, *contract.Kind), roles ...contract.Role) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, k := range view.InRoles(p) {
			if k.Template == template && k.Judged != nil && slices.Contains(roles, k.Role) {
				check(p, k)
			}
		}
	}
}

var _ = bootstrapConfigRules.Add(lint.Rule{
	ID: "BC003", Name: "bootstrap-template", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A BootstrapConfig must have a template",
	Source: "contract page BootstrapConfig, BootstrapConfigTemplate resource definition",
	Why:    "MachineDeployments cannot use the kind, because they only create bootstrap configurations from templates.",
	Fix:    addTemplateKind,
	Check:  templateMissing(contract.BootstrapConfig, lint.Error),
})

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP003", Name: "scale-subresource", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A ControlPlane with replicas must have the scale subresource",
	Source: "contract page ControlPlane, replicas",
	Why:    `"kubectl scale" and autoscalers do not work.`,
	Fix:    "Add the marker +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector.",
	Check: both(
		demanded(contract.Replicas, contract.ControlPlane), demanded(contract.Scale, contract.ControlPlane),
		eachRole(scaleSubresource, contract.ControlPlane)),
})

func scaleSubresource(p *lint.Pass, k *contract.Kind) {
	if _, presence := k.Judged.Schema.At("spec", "replicas"); presence != crd.Present {
		return
	}
	scale := k.Judged.Subresources.Get("scale")
	if scale == nil {
		view.Accuse(p, k, view.NearestOf(k.Judged.Node, "subresources"), lint.Warning,
			"%s %s has spec.replicas but no scale subresource", k.Kind, k.Judged.Name)
		return
	}
	for _, row := range [...]struct{ name, path string }{
		{"specReplicasPath", ".spec.replicas"}, {"statusReplicasPath", ".status.replicas"}, {"labelSelectorPath", ".status.selector"},
	} {
		if got := scale.Get(row.name).Str(); got != row.path {
			view.Accuse(p, k, view.NearestOf(scale, row.name), lint.Warning, "%s of the scale subresource of %s %s is %q; it must be %s", row.name, k.Kind, k.Judged.Name, got, row.path)
		}
	}
}

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP004", Name: "replica-counters", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "A ControlPlane with replicas should have the counters of contract v1beta2",
	Source: "contract page ControlPlane, replicas; core/reconcilers/cluster/cluster_controller_status.go, setControlPlaneReplicas",
	Why:    countersMissing,
	Fix:    "Add status.replicas, readyReplicas, availableReplicas and upToDateReplicas.",
	Check:  counters(contract.V1Beta2),
})

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP005", Name: "replica-counters-old", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "A ControlPlane with replicas should have the counters of contract v1beta1",
	Source: "contract page ControlPlane, replicas, compatibility with v1beta1; core/reconcilers/cluster/cluster_controller_status.go, setControlPlaneReplicas",
	Why:    countersMissing,
	Fix:    "Add status.replicas, readyReplicas, updatedReplicas and unavailableReplicas.",
	Check:  counters(contract.V1Beta1),
})

// counters demands the counters of replicas of the kinds of one contract.
func counters(c contract.Contract) func(*lint.Pass) {
	return fieldCheck{section: contract.Counters, roles: []contract.Role{contract.ControlPlane}, contract: c}.check
}

// fieldCheck compares definitions with rows of contract.Fields.
type fieldCheck struct {
	section  contract.Section
	roles    []contract.Role
	contract contract.Contract
	// most is the highest severity; zero for that of the rule.
	most lint.Severity
}

func (c fieldCheck) check(p *lint.Pass) {
	var rows []*contract.Field
	for _, k := range view.InRoles(p) {
		if k.Judged == nil || !slices.Contains(c.roles, k.Role) || c.contract != "" && c.contract != k.Contract {
			continue
		}
		if rows == nil {
			rows = contract.Demands(c.section)
		}
		c.kind(p, k, rows)
	}
}

// named is a kind in a message, with the reason why it is judged in a role that its name
// does not tell.
func named(k *contract.Kind) string {
	name := k.Kind + " " + k.Judged.Name
	if k.Used {
		name += " (as " + k.RoleName() + ": " + k.Reason + ")"
	}
	return name
}

func (c fieldCheck) kind(p *lint.Pass, k *contract.Kind, rows []*contract.Field) {
	most := c.most
	if most == lint.Off {
		most = p.Rule.Severity
	}
	kind := named(k)
	var missing []string
	var at *yamldoc.Node
	var worst lint.Severity
	wrong := "-" // a field of the wrong type; what is below does not count
	for _, f := range rows {
		if !f.Applies(k, p.Profile) || strings.HasPrefix(f.Path, wrong+".") {
			continue
		}
		verdict, s := f.Check(k.Judged.Schema)
		severity := lint.Warning
		if f.Blocks(k, verdict) {
			severity = lint.Error
		}
		severity = min(severity, most)
		switch verdict {
		case contract.Missing:
			if len(missing) == 0 {
				at = s.Node
			}
			missing = append(missing, f.Path)
			worst = max(worst, severity)
		case contract.Moved:
			view.Accuse(p, k, s.Node, severity, "%s has %s, but contract %s defines it at %s", kind, f.Was, k.Contract, f.Path)
		case contract.WrongType:
			wrong = f.Path
			view.Accuse(p, k, s.Node, severity, "%s of %s has type %s; it must be %s", f.Path, kind, s.Type(), f.Type)
		}
	}
	if len(missing) > 0 {
		view.Lacks(p, k, cmp.Or(at, k.Judged.Node), worst, kind, missing)
	}
}

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP008", Name: "machine-lists", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Readiness gates and taints of machines must be maps with limits",
	Source: "contract page ControlPlane, machines: readinessGates, taints",
	Why:    "The topology controller fails to apply them, because it merges the lists by key.",
	Fix:    "Use a map by conditionType with at most 32 readiness gates, and a map by key and effect with at most 64 taints. Make these keys required.",
	Check:  both(demanded(contract.MachineLists, contract.ControlPlane), eachRole(machineLists, contract.ControlPlane)),
})

func machineLists(p *lint.Pass, k *contract.Kind) {
	path := []string{"spec", "machineTemplate", "spec"}
	if k.Contract == contract.V1Beta1 {
		path = path[:2]
	}
	template, presence := k.Judged.Schema.At(path...)
	if presence != crd.Present {
		return
	}
	for _, row := range [...]struct {
		name string
		keys []string
		most int64
	}{{"readinessGates", []string{"conditionType"}, 32}, {"taints", []string{"key", "effect"}, 64}} {
		s, presence := template.At(row.name)
		if presence != crd.Present || s.Type() != "array" {
			continue
		}
		keys := s.ListMapKeys()
		slices.Sort(keys)
		want := slices.Sorted(slices.Values(row.keys))
		most, limited := s.Node.Get("maxItems").Int()
		if s.ListType() != "map" || !slices.Equal(keys, want) || limited && most > row.most {
			view.Accuse(p, k, s.Node, lint.Info, "%s of %s %s are not a map by %s with at most %d entries",
				row.name, k.Kind, k.Judged.Name, strings.Join(row.keys, " and "), row.most)
		}
	}
}

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP013", Name: "status-versions", Severity: lint.Info, Proof: lint.Contract,
	Title:  "The versions of a ControlPlane are a map by version",
	Source: "contract page ControlPlane, version, since Cluster API v1.14",
	Why:    "Controllers that use server-side apply overwrite each other's versions. Cluster API reads them from oldest to newest.",
	Fix:    "Add the markers +listType=map, +listMapKey=version and MaxItems=100.",
	Check:  eachRole(statusVersions, contract.ControlPlane),
})

func statusVersions(p *lint.Pass, k *contract.Kind) {
	s, presence := k.Judged.Schema.At("status", "versions")
	if p.Profile.Core < 14 || presence != crd.Present || s.Type() != "array" {
		return
	}
	if s.ListType() != "map" || !slices.Equal(s.ListMapKeys(), []string{"version"}) {
		view.Accuse(p, k, s.Node, 0, "status.versions of %s %s is not a map by version", k.Kind, k.Judged.Name)
	}
}

var _ = infraClusterRules.AddAll(lint.Rule{
	ID: "IC001", Name: "infra-cluster-initialization", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraCluster must report completed initialization",
	Source: "contract page InfraCluster, initialization completed",
	Why:    neverInitialized, Fix: generateAgain,
	Check: demanded(contract.Initialization, contract.InfraCluster),
}, lint.Rule{
	ID: "IC002", Name: "infra-cluster-endpoint", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraCluster must have a control plane endpoint with host and port",
	Source: "contract page InfraCluster, control plane endpoint",
	Why:    "The cluster has no endpoint unless the control plane provides one, and Cluster API fails to read an endpoint of another type.",
	Fix:    "Add spec.controlPlaneEndpoint with host (string) and port (integer).",
	Check:  demanded(contract.Endpoint, contract.InfraCluster),
}, lint.Rule{
	ID: "IC004", Name: "failure-domains", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Failure domains must have the form that the contract defines",
	Source: "contract page InfraCluster, failure domains; internal/contract/infrastructure_cluster.go, FailureDomains",
	Why:    "Clusters fail to reconcile, because Cluster API cannot read the failure domains.",
	Fix:    "Use a list of objects with a required name and the markers +listType=map and +listMapKey=name for v1beta2, or a map of objects by name for v1beta1.",
	Check:  demanded(contract.FailureDomains, contract.InfraCluster),
}, lint.Rule{
	ID: "IC007", Name: "infra-cluster-template-spec", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraClusterTemplate must have spec.template.spec",
	Source: "contract page InfraCluster, InfraClusterTemplate resource definition",
	Why:    "Cluster API cannot create clusters from the template.",
	Fix:    generateAgain,
	Check:  demanded(contract.TemplateSpec, contract.InfraCluster),
}, lint.Rule{
	ID: "IC008", Name: "infra-cluster-template-metadata", Severity: lint.Info, Proof: lint.Contract,
	Title:  "An InfraClusterTemplate has spec.template.metadata",
	Source: "contract page InfraCluster, InfraClusterTemplate resource definition",
	Why:    "Cluster API silently drops labels and annotations that a ClusterClass sets in the template.",
	Fix:    generateAgain,
	Check:  demanded(contract.TemplateMetadata, contract.InfraCluster),
})

var _ = infraMachineRules.AddAll(lint.Rule{
	ID: "IM001", Name: "provider-id", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraMachine must have spec.providerID",
	Source: "contract page InfraMachine, provider ID",
	Why:    "Machines never get a node, because Cluster API finds the node by this field.",
	Fix:    "Add spec.providerID of type string and generate the CRD again.",
	Check:  demanded(contract.ProviderID, contract.InfraMachine, contract.MachinePoolMachine),
}, lint.Rule{
	ID: "IM003", Name: "infra-machine-initialization", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraMachine must report completed initialization",
	Source: "contract page InfraMachine, initialization completed",
	Why:    neverInitialized, Fix: generateAgain,
	Check: demanded(contract.Initialization, contract.InfraMachine, contract.MachinePoolMachine),
}, lint.Rule{
	ID: "IM004", Name: "addresses", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Addresses of an InfraMachine must be objects with type and address",
	Source: "contract page InfraMachine, addresses",
	Why:    "Cluster API cannot read addresses of another form, so Machines show none.",
	Fix:    "Use a list of clusterv1.MachineAddress.",
	Check:  demanded(contract.Addresses, contract.InfraMachine, contract.MachinePoolMachine),
}, lint.Rule{
	ID: "IM005", Name: "failure-domain", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The failure domain of a machine must be a string in the field of the contract",
	Source: "contract page InfraMachine, failure domain; core/reconcilers/machine/machine_controller_phases.go, reconcileInfrastructure",
	Why:    "Machines lose their failure domain once Cluster API drops contract v1beta1, because spec.failureDomain is only read until then. They fail to reconcile if either field is not a string.",
	Fix:    "Add status.failureDomain and report the failure domain there.",
	Check:  demanded(contract.FailureDomain, contract.InfraMachine, contract.MachinePoolMachine),
}, lint.Rule{
	ID: "IM011", Name: "interruptible", Severity: lint.Error, Proof: lint.Contract,
	Title:  "status.interruptible must be a boolean",
	Source: "core/reconcilers/machine/machine_controller_noderef.go, reconcileNode",
	Why:    "Machines fail to reconcile as soon as their node exists: Cluster API reads the field to label nodes that may be interrupted.",
	Fix:    "Make status.interruptible a boolean, or rename the field.",
	Check:  demanded(contract.Interruptible, contract.InfraMachine, contract.MachinePoolMachine),
})

var _ = infraMachinePoolRules.AddAll(lint.Rule{
	ID: "IMP001", Name: "provider-id-list", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraMachinePool must have spec.providerIDList, a list of strings",
	Source: "contract page InfraMachinePool, providerIDList",
	Why:    "Cluster API does not find the nodes of the pool.",
	Fix:    generateAgain,
	Check:  demanded(contract.ProviderIDList, contract.InfraMachinePool),
}, lint.Rule{
	ID: "IMP002", Name: "pool-replicas", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraMachinePool must have status.replicas, an integer",
	Source: "contract page InfraMachinePool, replicas",
	Why:    "The MachinePool never shows its number of machines and never becomes ready.",
	Fix:    generateAgain,
	Check:  demanded(contract.Replicas, contract.InfraMachinePool),
}, lint.Rule{
	ID: "IMP003", Name: "pool-ready", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraMachinePool must have status.ready, a boolean",
	Source: "contract page InfraMachinePool, initialization completed; the code of Cluster API up to v1.14 reads only this field, whatever the contract",
	Why:    neverInitialized, Fix: generateAgain,
	Check: demanded(contract.Initialization, contract.InfraMachinePool),
}, lint.Rule{
	ID: "IMP004", Name: "pool-provisioned", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "An InfraMachinePool of contract v1beta2 should have status.initialization.provisioned",
	Source: "contract page InfraMachinePool, initialization completed",
	Why:    "A later Cluster API reads this field instead of status.ready and waits for it forever.",
	Fix:    generateAgain,
	Check:  demanded(contract.Provisioned, contract.InfraMachinePool),
}, lint.Rule{
	ID: "IMP008", Name: "pool-instances", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The instances of a pool should be a list of objects, with the fields of the contract",
	Source: "contract page InfraMachinePool, instances",
	Why:    "Users and tools do not find the replicas of the pool, or misread what the status says about them.",
	Fix:    "Make status.instances a list of objects, and give addresses, instanceName, providerID, version and ready the types of the contract.",
	Check:  demanded(contract.Instances, contract.InfraMachinePool),
}, lint.Rule{
	ID: "IMP009", Name: "pool-provider-id", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The provider ID of a pool should be a string",
	Source: "contract page InfraMachinePool, providerID",
	Why:    "Users and tools do not find the identifier of the pool.",
	Fix:    "Make spec.providerID a string.",
	Check:  demanded(contract.ProviderID, contract.InfraMachinePool),
})

var _ = bootstrapConfigRules.Add(lint.Rule{
	ID: "BC001", Name: "data-secret", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A BootstrapConfig must have status.dataSecretName",
	Source: "contract page BootstrapConfig, data secret",
	Why:    "Machines never start, because Cluster API does not know which Secret holds the bootstrap data.",
	Fix:    generateAgain,
	Check:  demanded(contract.DataSecret, contract.BootstrapConfig),
})

var _ = bootstrapConfigRules.Add(lint.Rule{
	ID: "BC002", Name: "bootstrap-initialization", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A BootstrapConfig must report that its data secret is created",
	Source: "contract page BootstrapConfig, initialization completed",
	Why:    neverInitialized, Fix: generateAgain,
	Check: demanded(contract.Initialization, contract.BootstrapConfig),
})

var _ = controlPlaneRules.AddAll(lint.Rule{
	ID: "CP001", Name: "control-plane-initialization", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A ControlPlane must report that it is initialized",
	Source: "contract page ControlPlane, initialization completed",
	Why:    neverInitialized, Fix: generateAgain,
	Check: demanded(contract.Initialization, contract.ControlPlane),
}, lint.Rule{
	ID: "CP002", Name: "control-plane-version", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A ControlPlane with spec.version must report its running version",
	Source: "contract page ControlPlane, version",
	Why:    "Workers are never upgraded: the topology controller assumes that the control plane is still being created.",
	Fix:    "Add status.versions, a list of clusterv1.StatusVersion with +listType=map and +listMapKey=version. Cluster API before v1.14 reads status.version.",
	Check:  demanded(contract.Version, contract.ControlPlane),
}, lint.Rule{
	ID: "CP006", Name: "machine-template-reference", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The reference to the machine template must be in the field of the contract, with all its subfields",
	Source: "contract page ControlPlane, machines; internal/contract/controlplane.go, MachineTemplate",
	Why:    "Clusters with a ClusterClass fail: the topology controller writes the reference to a field that the schema lacks, and the API server drops it or refuses the object. When it reads the reference again, each subfield must be there.",
	Fix:    "Add spec.machineTemplate.spec.infrastructureRef with apiGroup, kind and name to the version for contract v1beta2. If everything in the version follows v1beta1, label it for v1beta1 only, and give the release series that contract in metadata.yaml.",
	Check:  demanded(contract.Machines, contract.ControlPlane),
}, lint.Rule{
	ID: "CP015", Name: "machine-template-metadata", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The machine template of a ControlPlane must have metadata with labels and annotations",
	Source: "contract page ControlPlane, machines; exp/topology/desiredstate/desired_state.go, computeControlPlane",
	Why:    "Clusters with a ClusterClass fail, or their control plane machines have no labels: the topology controller always writes labels there, and the API server refuses or drops fields that the schema lacks.",
	Fix:    "Use clusterv1.ObjectMeta for spec.machineTemplate.metadata, and generate the CRD with controller-gen crd:generateEmbeddedObjectMeta=true.",
	Check:  demanded(contract.MachineMetadata, contract.ControlPlane),
}, lint.Rule{
	ID: "CP016", Name: "external-machines", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "status.externalManagedControlPlane should be a boolean",
	Source: "contract page ControlPlane, machines; util/util.go, IsExternalManagedControlPlane",
	Why:    "Cluster API treats a value of another type as false, and waits for nodes of control plane machines that never appear.",
	Fix:    "Make the field a boolean.",
	Check:  demanded(contract.ExternalMachines, contract.ControlPlane),
})

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP017", Name: "status-version-deprecated", Severity: lint.Info, Proof: lint.Contract,
	Title:  "A ControlPlane reports its versions in status.versions",
	Source: "contract page ControlPlane, version, since Cluster API v1.14",
	Why:    "Workers are not upgraded with the next contract: Cluster API then stops reading status.version, which is deprecated since v1.14.",
	Fix:    "Add status.versions, a list of clusterv1.StatusVersion, alongside status.version.",
	Check:  eachRole(oldStatusVersion, contract.ControlPlane),
})

func oldStatusVersion(p *lint.Pass, k *contract.Kind) {
	s, presence := k.Judged.Schema.At("status", "version")
	if p.Profile.Core < 14 || k.Contract != contract.V1Beta2 || presence != crd.Present || view.MayHave(k, "status", "versions") {
		return
	}
	f := lint.On(k.Object, s.Node, "%s: status.version is deprecated, and status.versions is missing", k.Kind).Because(p.Rule.ID)
	view.Settle(p, k.Object, f, view.Within(s.Node)...)
}

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP007", Name: "machine-timeouts", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The timeouts of machines must be in the fields of the contract",
	Source: "contract page ControlPlane, machines",
	Why:    "Values from the topology of a Cluster do not reach the control plane machines.",
	Fix:    "For contract v1beta2, add integer fields ending in Seconds to spec.machineTemplate.spec.deletion.",
	Check:  demanded(contract.Timeouts, contract.ControlPlane),
})

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP009", Name: "control-plane-endpoint", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Host and port of a ControlPlane endpoint must have the right types",
	Source: "contract page ControlPlane, endpoint",
	Why:    "Clusters fail to reconcile, because Cluster API cannot read the endpoint.",
	Fix:    "Make host a string and port an integer.",
	Check:  demanded(contract.Endpoint, contract.ControlPlane),
})

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP014", Name: "rollout-after", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The rollout time should be in the field of the contract",
	Source: "contract page ControlPlane, rolloutAfter",
	Why:    `"clusterctl alpha rollout restart" has no effect, because it writes to a field that the schema lacks.`,
	Fix:    "Add spec.rollout.after, a date-time.",
	Check:  demanded(contract.RolloutAfter, contract.ControlPlane),
})

// demanded returns a check of what the contract says in a section about roles.
func demanded(section contract.Section, roles ...contract.Role) func(*lint.Pass) {
	return fieldCheck{section: section, roles: roles}.check
}

var _ = infraClusterRules.Add(lint.Rule{
	ID: "IC003", Name: "infra-cluster-endpoint-required", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The endpoint, with its host and port, should be optional",
	Source: "contract page InfraCluster, control plane endpoint",
	Why:    "Users, patches and control planes cannot set one of them and leave the other to the controller.",
	Fix:    "Add the marker +optional and omitempty to the fields.",
	Check:  eachRole(endpointRequired, contract.InfraCluster),
})

func endpointRequired(p *lint.Pass, k *contract.Kind) {
	if k.Contract == contract.V1Beta1 {
		return
	}
	if s, _ := k.Judged.Schema.At("spec"); requires(s, "controlPlaneEndpoint") != nil {
		view.Accuse(p, k, requires(s, "controlPlaneEndpoint"), 0, "%s requires spec.controlPlaneEndpoint", named(k))
	}
	s, presence := k.Judged.Schema.At("spec", "controlPlaneEndpoint")
	if presence == crd.Present && (s.Required("host") || s.Required("port")) {
		view.Accuse(p, k, s.Node.Get("required"), 0,
			"host or port of spec.controlPlaneEndpoint of %s %s are required", k.Kind, k.Judged.Name)
	}
}

var _ = infraClusterRules.Add(lint.Rule{
	ID: "IC005", Name: "failure-domains-map", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Failure domains under contract v1beta2 should be a map by name",
	Source: "contract page InfraCluster, failure domains",
	Why:    "Two controllers that use server-side apply overwrite each other's failure domains.",
	Fix:    "Add the markers +listType=map and +listMapKey=name, and the required string field name.",
	Check:  eachRole(failureDomainsMap, contract.InfraCluster),
})

func failureDomainsMap(p *lint.Pass, k *contract.Kind) {
	s, presence := k.Judged.Schema.At("status", "failureDomains")
	if k.Contract != contract.V1Beta2 || presence != crd.Present || s.Type() != "array" {
		return
	}
	if s.ListType() != "map" || !slices.Equal(s.ListMapKeys(), []string{"name"}) {
		view.Accuse(p, k, s.Node, 0, "status.failureDomains of %s %s is not a map by name", k.Kind, k.Judged.Name)
		return
	}
	if name, presence := s.At(crd.Items, "name"); presence == crd.Present && name.Type() != "string" {
		view.Accuse(p, k, name.Node, 0,
			"the name of failure domains of %s %s has type %s; it must be string", k.Kind, k.Judged.Name, name.Type())
	}
}

// hasTemplate reports whether the template of a kind is in the file.
func hasTemplate(p *lint.Pass, k *contract.Kind) bool {
	return p.Release.CRD(k.Group, k.Kind+contract.Suffix) != nil
}

var _ = infraClusterRules.Add(lint.Rule{
	ID: "IC006", Name: "infra-cluster-template", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "An InfraCluster should have a template",
	Source: "contract page InfraCluster, InfraClusterTemplate resource definition",
	Why:    noClusterClass, Fix: addTemplateKind,
	Check: templateMissing(contract.InfraCluster, lint.Warning),
})

var _ = infraMachineRules.Add(lint.Rule{
	ID: "IM006", Name: "infra-machine-template", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraMachine must have a template",
	Source: "contract page InfraMachine, InfraMachineTemplate resource definition",
	Why:    "MachineDeployments and control planes cannot use the kind, because they only create machines from templates.",
	Fix:    addTemplateKind,
	Check:  templateMissing(contract.InfraMachine, lint.Error),
})

// templateMissing returns a check that reports the kinds of a role that have no template. Control
// planes may have a bootstrap configuration of their own, so that one with a template is enough.
func templateMissing(role contract.Role, severity lint.Severity) func(*lint.Pass) {
	return func(p *lint.Pass) {
		severity := severity
		var missing []*contract.Kind
		for _, k := range view.Definitions(p) {
			switch {
			case k.Role != role:
			case k.Template && role == contract.BootstrapConfig:
				severity = lint.Warning
			case !k.Template && k.Judged != nil && !hasTemplate(p, k):
				missing = append(missing, k)
			}
		}
		for i, k := range missing {
			at := view.Nearest(k.Object, "spec", "names", "kind")
			if other := misnamed(p, role, k); i == 0 && other != nil {
				view.Accuse(p, other, view.Nearest(other.Object, "spec", "names", "kind"), lint.Error,
					"%s has spec.template.spec, but the template of %s must be named %s%s", other.Kind, k.Kind, k.Kind, contract.Suffix)
				continue
			}
			f := lint.On(k.Object, at, "the kind %s%s is missing in group %s", k.Kind, contract.Suffix, k.Group).As(severity).
				Because(p.Rule.ID).Lacks(contract.CRDName(k.Group, k.Kind+contract.Suffix)).Perhaps(orphaned(p, k)...)
			view.Settle(p, k.Object, f, view.Within(at)...)
		}
	}
}

// orphaned are the names of the CRDs that templates like that of a kind lack: one of them may be
// what the kind should be.
func orphaned(p *lint.Pass, k *contract.Kind) (out []string) {
	words := strings.FieldsFunc(k.Kind, func(r rune) bool { return r >= 'A' && r <= 'Z' })
	for _, c := range p.Release.CRDs() {
		base, template := strings.CutSuffix(c.Kind, contract.Suffix)
		if template && c.Group == k.Group && len(words) > 0 && (strings.HasSuffix(base, words[len(words)-1]) || contract.CRDName(c.Group, base) == k.Object.Name) && p.Release.CRD(c.Group, base) == nil {
			out = append(out, contract.CRDName(c.Group, base))
		}
	}
	return out
}

// misnamed returns what seems to be the template of a pool under another name: a template
// that begins with the name of the pool, or that makes no kind there is.
func misnamed(p *lint.Pass, role contract.Role, pool *contract.Kind) *contract.Kind {
	for _, k := range view.Definitions(p) {
		if role != contract.InfraMachinePool || k.Group != pool.Group || k.Role != contract.Aux && k.Role != role || k.Storage() == nil {
			continue
		}
		if _, presence := k.Storage().Schema.At("spec", "template", "spec"); presence != crd.Present {
			continue
		}
		kind := strings.ToLower(k.Kind)
		orphan := k.Template && strings.Contains(kind, "pool") && p.Release.CRD(k.Group, k.Base()) == nil &&
			!p.Release.MayHold(contract.CRDName(k.Group, k.Base()))
		if orphan || !k.Template && strings.HasPrefix(kind, strings.ToLower(pool.Kind)) && k != pool {
			return k
		}
	}
	return nil
}

var _ = infraClusterRules.Add(lint.Rule{
	ID: "IC009", Name: "infra-cluster-name", Severity: lint.Info, Proof: lint.Contract,
	Title:  "The name of an InfraCluster ends in Cluster",
	Source: "contract page InfraCluster, resource definition: a generally applied convention",
	Why:    "Users and tools do not recognize the role of the kind by its name.",
	Fix:    "Name the kind after the infrastructure, followed by Cluster, and its template after the kind, followed by Template.",
	Check:  eachRole(nameEnds("Cluster"), contract.InfraCluster),
})

var _ = infraMachinePoolRules.Add(lint.Rule{
	ID: "IMP010", Name: "pool-name", Severity: lint.Info, Proof: lint.Contract,
	Title:  "The name of an InfraMachinePool ends in MachinePool",
	Source: "contract page InfraMachinePool, resource definition: a generally applied convention",
	Why:    "Users and tools do not recognize the role of the kind by its name.",
	Fix:    "Name the kind after the infrastructure, followed by MachinePool, and its template after the kind, followed by Template.",
	Check:  eachRole(nameEnds("MachinePool"), contract.InfraMachinePool),
})

// nameEnds returns a check of the conventional names of kinds.
func nameEnds(ending string) func(*lint.Pass, *contract.Kind) {
	return func(p *lint.Pass, k *contract.Kind) {
		if !strings.HasSuffix(k.Kind, ending) {
			at := view.Nearest(k.Object, "spec", "names", "kind")
			f := lint.On(k.Object, at, "%s is used as an %s (%s), but its name does not end in %s", k.Kind, k.Role, k.Reason, ending)
			if strings.Contains(k.Object.Name, strings.ToLower(ending)) {
				f = f.Perhaps(k.Object.Name)
			}
			view.Settle(p, k.Object, f, view.Within(at)...)
		}
	}
}

var _ = infraMachineRules.Add(lint.Rule{
	ID: "IM007", Name: "infra-machine-template-schema", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraMachineTemplate must have spec.template with spec and metadata",
	Source: "contract page InfraMachine, InfraMachineTemplate resource definition",
	Why:    "Cluster API cannot create machines without spec.template.spec, and drops labels and annotations without spec.template.metadata.",
	Fix:    generateAgain,
	Check:  templateFields(contract.InfraMachine),
})

var _ = infraMachinePoolRules.Add(lint.Rule{
	ID: "IMP006", Name: "pool-template", Severity: lint.Error, Proof: lint.Contract,
	Title:  "An InfraMachinePool must have a template with spec.template.spec",
	Source: "contract page InfraMachinePool, InfraMachinePoolTemplate resource definition",
	Why:    noClusterClass, Fix: addTemplateKind,
	Check: both(templateMissing(contract.InfraMachinePool, lint.Warning), templateFields(contract.InfraMachinePool)),
})

var _ = bootstrapConfigRules.Add(lint.Rule{
	ID: "BC004", Name: "bootstrap-template-schema", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A BootstrapConfigTemplate must have spec.template with spec and metadata",
	Source: "contract page BootstrapConfig, BootstrapConfigTemplate resource definition",
	Why:    "Cluster API cannot create bootstrap configurations without spec.template.spec, and drops labels and annotations without spec.template.metadata.",
	Fix:    generateAgain,
	Check:  templateFields(contract.BootstrapConfig),
})

var _ = controlPlaneRules.Add(lint.Rule{
	ID: "CP010", Name: "control-plane-template", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A ControlPlane must have a template with spec.template.spec",
	Source: "contract page ControlPlane, ControlPlaneTemplate resource definition",
	Why:    noClusterClass, Fix: addTemplateKind,
	Check: both(templateMissing(contract.ControlPlane, lint.Warning), templateFields(contract.ControlPlane)),
})

// templateFields demands the spec of a template; missing metadata is only an info.
func templateFields(role contract.Role) func(*lint.Pass) {
	metadata := fieldCheck{section: contract.TemplateMetadata, roles: []contract.Role{role}, most: lint.Info}
	return both(demanded(contract.TemplateSpec, role), metadata.check)
}

var _ = infraMachineRules.Add(lint.Rule{
	ID: "IM008", Name: "capacity", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The capacity of a template should be a map of quantities",
	Source: "contract page InfraMachine, support cluster autoscaling from zero",
	Why:    "The autoscaler does not scale from zero, because it does not know the size of a new machine.",
	Fix:    "Use corev1.ResourceList for status.capacity.",
	Check:  both(demanded(contract.Capacity, contract.InfraMachine), eachTemplate(capacity, contract.InfraMachine)),
})

func capacity(p *lint.Pass, k *contract.Kind) {
	s, presence := k.Judged.Schema.At("status", "capacity")
	if presence != crd.Present || s.Type() != "object" {
		return
	}
	quantity, presence := s.At("cpu")
	switch {
	case presence == crd.Absent:
		view.Accuse(p, k, s.Node, 0, "status.capacity of %s %s is not a map", k.Kind, k.Judged.Name)
	case presence == crd.Present && quantity.Type() != crd.IntOrString && quantity.Type() != "string":
		view.Accuse(p, k, quantity.Node, 0, "status.capacity of %s %s is not a map of quantities", k.Kind, k.Judged.Name)
	}
}

// architectures are those that the autoscaler knows.
var architectures = [...]string{"amd64", "arm64", "s390x", "ppc64le"}

var _ = infraMachineRules.Add(lint.Rule{
	ID: "IM009", Name: "node-info", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "A template with capacity or node info should have the status subresource",
	Source: "contract page InfraMachine, support cluster autoscaling from zero",
	Why:    "The controller cannot report what the autoscaler needs.",
	Fix:    "Add the marker +kubebuilder:subresource:status to the template, and set the architecture in status.nodeInfo to amd64, arm64, s390x or ppc64le.",
	Check:  eachTemplate(nodeInfo, contract.InfraMachine),
})

func nodeInfo(p *lint.Pass, k *contract.Kind) {
	status, presence := k.Judged.Schema.At("status")
	if presence != crd.Present {
		return
	}
	_, capacity := status.At("capacity")
	info, present := status.At("nodeInfo")
	if (capacity == crd.Present || present == crd.Present) && k.Judged.Subresources.Get("status") == nil {
		view.Accuse(p, k, view.NearestOf(k.Judged.Node, "subresources"), 0,
			"%s %s has a status but no status subresource", k.Kind, k.Judged.Name)
	}
	if present != crd.Present {
		return
	}
	for _, name := range [...]string{"architecture", "operatingSystem"} {
		if s, presence := info.At(name); presence == crd.Present && s.Type() != "string" {
			view.Accuse(p, k, s.Node, 0,
				"status.nodeInfo.%s of %s %s has type %s; it must be string", name, k.Kind, k.Judged.Name, s.Type())
		}
	}
	s, _ := info.At("architecture")
	for _, n := range s.Node.Get("enum").List() {
		if !slices.Contains(architectures[:], n.Str()) {
			view.Accuse(p, k, n, 0,
				"the architecture is %s; it must be one of %s", n.Text(), strings.Join(architectures[:], ", "))
		}
	}
}

var _ = infraMachineRules.Add(lint.Rule{
	ID: "IM010", Name: "immutable-template", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The schema of a template must allow changes of its spec",
	Source: "contract pages InfraMachine, InfraMachinePool and BootstrapConfig, support for SSA dry run; core/reconcilers/topology/cluster/reconcile_state.go, reconcileReferencedTemplate",
	Why:    "Users cannot change a ClusterClass with such templates: the topology controller tests changes with a dry run, which an expression in the schema cannot accept.",
	Fix:    "Move the check to a webhook that skips dry runs of the topology controller.",
	Check:  eachTemplate(immutableTemplate, contract.InfraMachine, contract.InfraMachinePool, contract.BootstrapConfig),
})

// unchanged matches a part of an expression that holds only as long as a value
// equals its former self, whatever else the expression allows: the first value is
// not set yet when a rule with an alternative is written.
var unchanged = phrase.Pattern(`(?:^|[^\w.])self((?:\.\w+)*)==oldSelf((?:\.\w+)*)(?:\.value\(\))?(?:$|[^\w.=(])|(?:^|[^\w.])oldSelf((?:\.\w+)*)(?:\.value\(\))?==self((?:\.\w+)*)(?:$|[^\w.=(])`)

// fixedField returns the path below self that an expression keeps as it is.
func fixedField(rule string) (path string, ok bool) {
	for _, m := range unchanged().FindAllStringSubmatch(strings.Join(strings.Fields(rule), ""), -1) {
		if former := strings.TrimSuffix(m[2], ".value"); m[3] == "" && m[4] == "" && m[1] == former {
			return m[1], true
		}
		if m[3] == m[4] && m[1] == "" && m[2] == "" {
			return m[3], true
		}
	}
	return "", false
}

// immutableTemplate looks for expressions that compare a value with its former
// self, at the spec of a template and everywhere around and below it.
func immutableTemplate(p *lint.Pass, k *contract.Kind) {
	var visit func(s crd.Schema, path string)
	visit = func(s crd.Schema, path string) {
		for _, rule := range s.Node.Get("x-kubernetes-validations").List() {
			below, ok := fixedField(rule.Get("rule").Str())
			field := strings.TrimPrefix(path+below, ".")
			if !ok || field == "" && path != "" ||
				!strings.HasPrefix("spec.template.spec", field) && !strings.HasPrefix(field, "spec.template.spec") {
				continue
			}
			f := lint.On(k.Object, rule.Get("rule"), "the schema forbids changes of %s in %s %s, even in a dry run", field, k.Kind, k.Judged.Name)
			if !strings.HasPrefix("spec.template.spec", field) {
				f.Severity = lint.Warning // single fields may be fixed for a good reason
			}
			view.Settle(p, k.Object, f.Because(p.Rule.ID+k.Object.Name), view.Within(rule.Get("rule"))...)
		}
		for _, f := range s.Node.Get("properties").Fields() {
			if path != "" || f.Name == "spec" {
				visit(crd.Schema{Node: f.Value}, path+"."+f.Name)
			}
		}
		if items := s.Node.Get("items"); items != nil {
			visit(crd.Schema{Node: items}, path+"."+crd.Items)
		}
	}
	visit(k.Judged.Schema, "")
}

var _ = infraMachinePoolRules.Add(lint.Rule{
	ID: "IMP005", Name: "pool-machines", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A pool with Machines must name their kind, which must be in its group and version",
	Source: "contract page InfraMachinePool, MachinePoolMachines support; core machinepool controller, reconcileMachines",
	Why:    "Cluster API lists the kind in status.infrastructureMachineKind with the apiVersion of the pool. Without the field MachinePools have no Machines, and without the kind they fail to reconcile.",
	Fix:    "Serve the machine kind in the version of the pool and report it in status.infrastructureMachineKind, or remove both.",
	Check:  both(demanded(contract.PoolMachines, contract.InfraMachinePool), eachRole(poolMachines, contract.InfraMachinePool)),
})

func poolMachines(p *lint.Pass, k *contract.Kind) {
	s, presence := k.Judged.Schema.At("status", "infrastructureMachineKind")
	if own := k.Kind + "Machine"; presence == crd.Absent && p.Release.CRD(k.Group, own) != nil {
		view.Accuse(p, k, s.Node, 0, "%s has no status.infrastructureMachineKind, although there is a kind %s for its replicas", named(k), own)
	}
	if presence != crd.Present {
		return
	}
	machine := func(other *contract.Kind) bool {
		v := other.Version(k.Judged.Name)
		return other.Group == k.Group && strings.HasSuffix(other.Kind, "Machine") && v != nil && v.Served
	}
	if !slices.ContainsFunc(view.Definitions(p), machine) {
		view.Settle(p, k.Object, lint.On(k.Object, s.Node, "group %s serves no machine kind in version %s, which Cluster API takes from %s",
			k.Group, k.Judged.Name, k.Kind).Without(crd.Kind+" "), view.Within(s.Node)...)
	}
}

var _ = infraMachinePoolRules.Add(lint.Rule{
	ID: "IMP007", Name: "pool-limits", Severity: lint.Info, Proof: lint.Contract,
	Title:  "The fields of a pool have the limits that the contract shows",
	Source: "contract page InfraMachinePool, providerID, providerIDList and initialization completed",
	Why:    "Cluster API cannot store more than 10000 IDs, empty IDs, or IDs of more than 512 characters.",
	Fix:    "Add the markers +listType=atomic, MaxItems=10000, items:MinLength=1 and items:MaxLength=512 to the list, MinLength=1 and MaxLength=512 to the ID, and MinProperties=1 to the initialization.",
	Check:  eachRole(poolLimits, contract.InfraMachinePool),
})

func poolLimits(p *lint.Pass, k *contract.Kind) {
	if k.Contract != contract.V1Beta2 {
		return
	}
	var first *yamldoc.Node
	var missing []string
	for _, limit := range [...]struct {
		path []string
		name string
		want int64
	}{
		{[]string{"spec", "providerIDList"}, "maxItems", 10000},
		{[]string{"spec", "providerIDList", crd.Items}, "maxLength", 512},
		{[]string{"spec", "providerIDList", crd.Items}, "minLength", 1},
		{[]string{"spec", "providerID"}, "maxLength", 512},
		{[]string{"spec", "providerID"}, "minLength", 1},
		{[]string{"status", "initialization"}, "minProperties", 1},
	} {
		s, presence := k.Judged.Schema.At(limit.path...)
		if n, ok := s.Node.Get(limit.name).Int(); presence == crd.Present && (!ok || n != limit.want) {
			first = cmp.Or(first, s.Node)
			missing = append(missing, fmt.Sprintf("%s: %d of %s", limit.name, limit.want, crd.Join(limit.path)))
		}
	}
	if s, presence := k.Judged.Schema.At("spec", "providerIDList"); presence == crd.Present && s.ListType() != "atomic" {
		first = cmp.Or(first, s.Node)
		missing = append(missing, "x-kubernetes-list-type: atomic of spec.providerIDList")
	}
	if first != nil {
		view.Accuse(p, k, first, 0, "%s lacks %s", named(k), strings.Join(missing, ", "))
	}
}

var _ = addressRules.Add(lint.Rule{
	ID: "IPAM001", Name: "pool-conditions", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "IP pools should have conditions",
	Source: "contract page IPAM, Data Types",
	Why:    "Users cannot see whether a pool works.",
	Fix:    "Add status.conditions as a list of metav1.Condition.",
	Check: func(p *lint.Pass) {
		view.CheckConditions(p, phrase.Only(view.InRoles(p), func(k *contract.Kind) bool {
			return k.Role == contract.IPPool && !k.Template && k.Judged != nil
		}))
	},
})

// ipamNeeds are what the controller of an IPAM provider does. The verbs of a row
// that are joined with a bar serve each other's purpose.
var ipamNeeds = [...]struct {
	group, resource string
	verbs           []string
}{
	{"ipam.cluster.x-k8s.io", "ipaddressclaims", []string{"get", "list", "watch", "patch|update"}},
	{"ipam.cluster.x-k8s.io", "ipaddressclaims/status", []string{"patch|update"}},
	{"ipam.cluster.x-k8s.io", "ipaddresses", []string{"create", "delete", "get", "list", "patch|update", "watch"}},
	{"cluster.x-k8s.io", "clusters", []string{"get"}},
}

var _ = addressRules.Add(lint.Rule{
	ID: "IPAM003", Name: "claims-and-addresses", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "An IPAM provider should be able to read claims and write addresses",
	Source: "contract page IPAM, Behaviour",
	Why:    "Claims never get an address, because the API server refuses the requests of the controller.",
	Fix:    "Add the resources and verbs to the role of the controller.",
	Check:  claimsAndAddresses,
})

func claimsAndAddresses(p *lint.Pass) {
	if p.Release.Provider.Type != layouts.IPAM {
		return
	}
	roles := view.Roles(p.Release)
	if len(roles) == 0 || roles[0].File != p.File {
		return
	}
	for _, need := range ipamNeeds {
		granted, _, _ := view.Allowed(roles, need.group, need.resource)
		var missing []string
		for _, verbs := range need.verbs {
			if !granted["*"] && !slices.ContainsFunc(strings.Split(verbs, "|"), func(verb string) bool { return granted[verb] }) {
				missing = append(missing, strings.ReplaceAll(verbs, "|", " or "))
			}
		}
		if len(missing) > 0 {
			p.Report(lint.On(roles[0], roles[0].Get("rules"),
				"no role allows %s on %s in %s", strings.Join(missing, ", "), need.resource, need.group).Without(view.RbacGroup + " "))
		}
	}
}

var _ = addressRules.Add(lint.Rule{
	ID: "IPAM004", Name: "pool-cluster-name", Severity: lint.Info, Proof: lint.Contract,
	Title:  "IP pools in templates have the cluster label",
	Source: "contract page IPAM, Clusterctl Move",
	Why:    `"clusterctl move" leaves the pool behind.`,
	Fix:    "Add the label cluster.x-k8s.io/cluster-name: ${CLUSTER_NAME}.",
	Scope:  lint.ScopeRelease, Check: func(p *lint.Pass) {
		pools := phrase.Only(p.Release.Roles(), func(k *contract.Kind) bool { return k.Role == contract.IPPool && k.Scope != "Cluster" })
		if len(pools) == 0 {
			return
		}
		for _, f := range p.Release.OfKind(layouts.ClusterTemplate) {
			for _, o := range f.Objects() {
				for _, k := range pools {
					if o.Is(k.Group, k.Kind) {
						poolClusterName(p, o, k)
					}
				}
			}
		}
	},
})

func poolClusterName(p *lint.Pass, o *manifest.Object, k *contract.Kind) {
	moved := false
	for _, label := range [...]string{"cluster.x-k8s.io/cluster-name", "clusterctl.cluster.x-k8s.io/move", "clusterctl.cluster.x-k8s.io/move-hierarchy"} {
		_, ok := o.Label(label)
		_, defined := k.Object.Label(label)
		moved = moved || ok || defined
	}
	if !moved {
		p.On(o, view.Nearest(o, "metadata", "labels"),
			"%s %s lacks the label cluster.x-k8s.io/cluster-name", o.Kind, o.Name)
	}
}
