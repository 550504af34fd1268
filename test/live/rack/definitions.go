package rack

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	group   = "infrastructure.cluster.x-k8s.io"
	version = "v1beta2"
)

// The kinds of the provider, and those of core that it reads.
var (
	Pool        = schema.GroupVersionKind{Group: group, Version: version, Kind: "RackMachinePool"}
	Machine     = schema.GroupVersionKind{Group: group, Version: version, Kind: "RackMachine"}
	coreMachine = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: "Machine"}
	corePool    = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: "MachinePool"}
	coreCluster = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: "Cluster"}
	secret      = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	node        = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
)

// Definitions are the CRDs of the provider.
func Definitions() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, kind := range []string{Pool.Kind, Machine.Kind} {
		plural := strings.ToLower(kind) + "s"
		open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		out = append(out, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": plural + "." + group, "labels": map[string]any{"cluster.x-k8s.io/v1beta2": version}},
			"spec": map[string]any{
				"group": group, "scope": "Namespaced",
				"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)},
				"versions": []any{map[string]any{
					"name": version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": open, "status": open}}},
				}},
			},
		}})
	}
	return out
}
