package clusterclass

import (
	"slices"
	"strings"
	"sync"
)

// builtins are the variables that patches may read without a definition, apart
// from those of a topology of workers, which exist twice (core/webhooks/admission,
// builtinVariables).
var builtins = [...]string{
	"builtin",
	"builtin.cluster",
	"builtin.cluster.name",
	"builtin.cluster.namespace",
	"builtin.cluster.uid",
	"builtin.cluster.metadata.labels",
	"builtin.cluster.metadata.annotations",
	"builtin.cluster.topology",
	"builtin.cluster.topology.classRef.name",
	"builtin.cluster.topology.classRef.namespace",
	"builtin.cluster.topology.class",
	"builtin.cluster.topology.classNamespace",
	"builtin.cluster.topology.version",
	"builtin.cluster.network",
	"builtin.cluster.network.serviceDomain",
	"builtin.cluster.network.services",
	"builtin.cluster.network.pods",
	"builtin.controlPlane",
	"builtin.controlPlane.name",
	"builtin.controlPlane.replicas",
	"builtin.controlPlane.version",
	"builtin.controlPlane.metadata.labels",
	"builtin.controlPlane.metadata.annotations",
	"builtin.controlPlane.machineTemplate.infrastructureRef.name",
	"builtin.machineDeployment",
	"builtin.machinePool",
}

// workerBuiltins follow builtin.machineDeployment and builtin.machinePool.
var workerBuiltins = [...]string{
	"class", "name", "replicas", "topologyName", "version", "metadata.labels", "metadata.annotations",
	"bootstrap.configRef.name", "infrastructureRef.name",
}

// Builtin is the name of the variable that holds what Cluster API knows.
const Builtin = "builtin"

func IsBuiltin(name string) bool { return slices.Contains(Builtins(), name) }

// Builtins returns the names of the builtin variables, which must not be changed.
var Builtins = sync.OnceValue(func() []string {
	out := slices.Clone(builtins[:])
	for _, prefix := range [...]string{"builtin.machineDeployment.", "builtin.machinePool."} {
		for _, name := range workerBuiltins {
			out = append(out, prefix+name)
		}
	}
	return slices.Clip(out)
})

// VariableName returns the variable that an expression such as a.b[0].c begins
// with; "" if it begins with none.
func VariableName(expr string) string {
	for part := range strings.FieldsFuncSeq(expr, func(r rune) bool { return r == '[' || r == '.' }) {
		return part
	}
	return ""
}
