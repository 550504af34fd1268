package behaviour

import (
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// The names that Cluster API gives its labels and annotations.
const (
	clusterLabel      = "cluster.x-k8s.io/cluster-name"
	controlPlaneLabel = "cluster.x-k8s.io/control-plane"
	poolLabel         = "cluster.x-k8s.io/pool-name"
	pausedAnnotation  = "cluster.x-k8s.io/paused"
	managedAnnotation = "cluster.x-k8s.io/managed-by"
	replicasManaged   = "cluster.x-k8s.io/replicas-managed-by"
	blockMove         = "clusterctl.cluster.x-k8s.io/block-move"
	moveLabel         = "clusterctl.cluster.x-k8s.io/move"
	deleteForMove     = "clusterctl.cluster.x-k8s.io/delete-for-move"
	preTerminate      = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/"
	secretType        = "cluster.x-k8s.io/secret"
	coreGroup         = "cluster.x-k8s.io"
	ipamGroup         = "ipam.cluster.x-k8s.io"
)

// The core kinds that checks are about, next to the roles of the contract.
const (
	cluster        = "Cluster"
	machine        = "Machine"
	machineSet     = "MachineSet"
	deployment     = "MachineDeployment"
	machinePool    = "MachinePool"
	claim          = "IPAddressClaim"
	address        = "IPAddress"
	secret         = "Secret"
	eventKind      = "Event"
	lease          = "Lease"
	infraCluster   = string(contract.InfraCluster)
	infraMachine   = string(contract.InfraMachine)
	infraPool      = string(contract.InfraMachinePool)
	bootstrapRole  = string(contract.BootstrapConfig)
	controlPlane   = string(contract.ControlPlane)
	poolRole       = string(contract.IPPool)
	providerKind   = "provider" // without a role, as an identity
	otherKind      = "other"
	infraTemplate  = "template" // of InfraMachines
	templateSuffix = "Template"
)

var (
	providerRoles = []string{infraCluster, infraMachine, infraPool, bootstrapRole, controlPlane}
	// providerKinds are those that follow the conventions of Kubernetes.
	providerKinds = append([]string{poolRole, providerKind}, providerRoles...)
	// makers are the providers' objects, and what they make next to them.
	makers = append([]string{machine, claim, secret}, providerRoles...)
)

// object is one of the cluster, from its first version to its end.
type object struct {
	group, kind, namespace, name, uid string
	// tag is the role or the core kind.
	tag string

	cur     record.Value
	writers []record.Writer
	proof   Proof
	version uint64
	born    time.Time // of the first version
	// watched says that the first version was seen when it was made.
	watched  bool
	byUser   bool // made by a person or the driver
	deleting time.Time
	gone     bool
	replaced bool // by another one of the same name, without having been seen to go

	cluster   string // namespace/name
	owners    []owner
	annotated time.Time // paused by the annotation since
	acked     time.Time // shows Paused=True since
	resumed   time.Time
	wiped     time.Time
	lost      []string // finalizers that went while paused
	stamp     int64    // generation when it was paused

	// What checks remember.
	seen memory
}

// memory is what checks remember of earlier versions.
type memory struct {
	kept          map[string]string // the last values that must not change, by path
	before        map[string]string // a wipe
	writes, specs []time.Time
	slow          []time.Time // writes of an initialized object
	flips         map[string]*flip
	left          map[string]bool // IDs that left a pool
	finalized     uint64          // resourceVersion of the first version with a finalizer
	patched       time.Time       // a person changed the spec
	finalizers    []string
	edits         map[string]record.Change // by users, the last ones by path
	births        []time.Time              // of objects that it controls
	had           map[string]bool
	late          map[string]bool   // finalizers: whether they came after the first version
	owners        map[string]string // API versions of owners before a pause
}

type flip struct {
	last, before string
	first        time.Time
	count        int
}

type owner struct {
	apiVersion, kind, name, uid string
	controller, block           bool
}

func ownersOf(v record.Value) []owner {
	var out []owner
	for r := range v.Get("metadata", "ownerReferences").Items() {
		out = append(out, owner{r.Get("apiVersion").Str(), r.Get("kind").Str(), r.Get("name").Str(), r.Get("uid").Str(), r.Get("controller").True(), r.Get("blockOwnerDeletion").True()})
	}
	return out
}

func (o *object) String() string {
	if o.namespace == "" {
		return o.kind + " " + o.name
	}
	return o.kind + " " + o.namespace + "/" + o.name
}

func (o *object) get(keys ...string) record.Value { return o.cur.Get(keys...) }

func (o *object) label(key string) string { return o.cur.Label(key) }

func (o *object) alive() bool { return o != nil && !o.gone }

func (o *object) isDeleting() bool { return !o.deleting.IsZero() }

// initialization is what the role reports when its work is done for the first time.
func initialization(tag string, v record.Value) bool {
	switch tag {
	case bootstrapRole:
		return v.DataCreated()
	case controlPlane:
		return v.Initialized()
	}
	return v.Provisioned() || tag == infraPool && v.Get("status", "ready").True()
}

// tagOf recognizes kinds by their names, as the pages of the contract recommend. What
// core objects refer to is known better; see Judge.learn.
func tagOf(group, kind string) string {
	switch {
	case group == "" && kind == secret, group == "coordination.k8s.io" && kind == lease,
		(group == "" || group == "events.k8s.io") && kind == eventKind:
		return kind
	case group == coreGroup:
		switch kind {
		case cluster, machine, machineSet, deployment, machinePool:
			return kind
		}
		return otherKind
	case group == ipamGroup && (kind == claim || kind == address):
		return kind
	case strings.HasSuffix(kind, "Machine"+templateSuffix):
		return infraTemplate
	case strings.HasSuffix(kind, templateSuffix):
		return otherKind
	}
	for part := range strings.SplitSeq(group, ".") {
		switch {
		case strings.HasSuffix(kind, "ControlPlane") && (part == "controlplane" || part == "infrastructure"):
			return controlPlane
		case part == "bootstrap" && strings.HasSuffix(kind, "Config"):
			return bootstrapRole
		case part == "infrastructure" && strings.HasSuffix(kind, "MachinePool"):
			return infraPool
		case part == "infrastructure" && strings.HasSuffix(kind, "Machine"):
			return infraMachine
		case part == "infrastructure" && strings.HasSuffix(kind, "Cluster"):
			return infraCluster
		case part == "ipam" && strings.HasSuffix(kind, "Pool"):
			return poolRole
		}
	}
	if strings.HasSuffix(group, "."+coreGroup) {
		return providerKind
	}
	return otherKind
}
