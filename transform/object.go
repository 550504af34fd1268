package transform

import (
	"fmt"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// object is a decoded Kubernetes object.
type object map[string]any

func objectsOf(built []map[string]any) []object {
	out := make([]object, len(built))
	for i, m := range built {
		out[i] = m
	}
	return out
}

func (o object) text(path ...string) string {
	s, _ := lookup(map[string]any(o), path...).(string)
	return s
}

func (o object) kind() string      { return o.text("kind") }
func (o object) name() string      { return o.text("metadata", "name") }
func (o object) namespace() string { return o.text("metadata", "namespace") }

// group returns the API group, "" for the core group.
func (o object) group() string {
	group, _ := o.apiVersion()
	return group
}

func (o object) apiVersion() (group, version string) {
	group, version, ok := strings.Cut(o.text("apiVersion"), "/")
	if !ok {
		return "", group
	}
	return group, version
}

// String names the object in messages.
func (o object) String() string {
	if ns := o.namespace(); ns != "" {
		return fmt.Sprintf("%s %s/%s", o.kind(), ns, o.name())
	}
	return fmt.Sprintf("%s %s", o.kind(), o.name())
}

// lookup follows keys through maps.
func lookup(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// list returns the maps in a list.
func list(v any) []map[string]any {
	items, _ := v.([]any)
	out := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// containers returns the containers and init containers of a workload.
func (o object) containers() []map[string]any {
	path, ok := manifest.PodTemplates[o.kind()]
	if !ok {
		return nil
	}
	spec := lookup(lookup(map[string]any(o), path...), "spec")
	return append(list(lookup(spec, "containers")), list(lookup(spec, "initContainers"))...)
}
