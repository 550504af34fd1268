package behaviour

import (
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// The names that Cluster API gives its labels and annotations.
const (
	clusterLabel      = record.ClusterLabel
	controlPlaneLabel = "cluster.x-k8s.io/control-plane"
	poolLabel         = "cluster.x-k8s.io/pool-name"
	managedAnnotation = "cluster.x-k8s.io/managed-by"
	replicasManaged   = "cluster.x-k8s.io/replicas-managed-by"
	blockMove         = "clusterctl.cluster.x-k8s.io/block-move"
	moveLabel         = "clusterctl.cluster.x-k8s.io/move"
	deleteForMove     = "clusterctl.cluster.x-k8s.io/delete-for-move"
	preTerminate      = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/"
	secretType        = "cluster.x-k8s.io/secret"
)

// The tags of objects that checks are about (see record.World.Tag): core kinds, and roles of the contract.
const (
	cluster       = "Cluster"
	machine       = "Machine"
	machineSet    = "MachineSet"
	deployment    = "MachineDeployment"
	machinePool   = "MachinePool"
	claim         = "IPAddressClaim"
	address       = "IPAddress"
	secret        = "Secret"
	infraCluster  = string(contract.InfraCluster)
	infraMachine  = string(contract.InfraMachine)
	infraPool     = string(contract.InfraMachinePool)
	bootstrapRole = string(contract.BootstrapConfig)
	controlPlane  = string(contract.ControlPlane)
)

var (
	providerRoles = []string{infraCluster, infraMachine, infraPool, bootstrapRole, controlPlane}
	// providerKinds are those that follow the conventions of Kubernetes.
	providerKinds = append([]string{string(contract.IPPool), record.ProviderKind}, providerRoles...)
	// makers are the providers' objects, and what they make next to them.
	makers = append([]string{machine, claim, secret}, providerRoles...)
)

// object and world are those of recordings, with what checks remember.
type (
	object = record.Object[memory]
	world  = record.World[memory]
)

// memory is what checks remember of earlier versions.
type memory struct {
	watched       bool              // the first version was seen when it was made
	byUser        bool              // made by a person or the driver
	resumed       time.Time         // when its last pause ended
	wiped         time.Time         // when its status was last emptied from outside
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
	lost          []string          // finalizers that went while paused
	stamp         int64             // generation when it was paused
}

type flip struct {
	last, before string
	first        time.Time
	count        int
}
