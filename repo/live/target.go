package live

import (
	"context"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
)

var (
	namespaces = resource{version: "v1", plural: "namespaces", kind: "Namespace", global: true}
	extensions = resource{group: "runtime.cluster.x-k8s.io", kind: "ExtensionConfig"}
)

// ReadTarget returns what a move to this management cluster depends on: its
// definitions, providers, namespaces and ExtensionConfigs, and the objects of the
// kinds and in the namespaces of those that are wanted. Of Secrets only the metadata
// is read. What must not be read becomes a problem of the snapshot.
//
// The error is set if the server cannot be reached, or ctx is done.
func (c *Cluster) ReadTarget(ctx context.Context, wanted []snapshot.Object) (*snapshot.Snapshot, error) {
	r := &reader{Cluster: c, s: &snapshot.Snapshot{}, lean: true}
	if err := r.list(ctx, definitions, ""); err != nil {
		return nil, err
	}
	if err := r.list(ctx, namespaces, ""); err != nil {
		return nil, err
	}
	if r.definition(providers.group, providers.kind) != nil {
		if err := r.list(ctx, providers, ""); err != nil {
			return nil, err
		}
	}
	if kind, ok := r.stored(extensions.group, extensions.kind); ok {
		if err := r.list(ctx, kind, ""); err != nil {
			return nil, err
		}
	}
	type place struct{ group, kind, namespace string }
	seen := map[place]bool{}
	var places []place
	for i := range wanted {
		o := &wanted[i]
		p := place{o.Group, o.Kind, o.Namespace}
		switch {
		case seen[p], o.Group == definitions.group, o.Group == clusterctlGroup, o.Group == extensions.group && o.Kind == extensions.kind, o.Group == "" && o.Kind == "Namespace":
		case o.Group == coreGroup && o.Kind == "Cluster":
			p.namespace = "" // those of other namespaces may use a class that is overwritten
			if !seen[p] {
				places = append(places, p)
			}
		default:
			places = append(places, p)
		}
		seen[p] = true
	}
	for _, p := range places {
		kind, ok := r.stored(p.group, p.kind)
		if !ok {
			continue
		}
		if err := r.list(ctx, kind, p.namespace); err != nil {
			return nil, err
		}
	}
	return r.s, nil
}

// stored is a kind in the version in which the server keeps it.
func (r *reader) stored(group, kind string) (resource, bool) {
	switch {
	case group == "" && kind == "Secret":
		return secrets, true
	case group == "" && kind == "ConfigMap":
		return configMaps, true
	}
	d := r.definition(group, kind)
	if d == nil {
		return resource{}, false
	}
	version := d.Storage
	if d.Unserved && len(d.Served) > 0 {
		version = d.Served[0]
	}
	return resourceOf(d, version), version != ""
}
