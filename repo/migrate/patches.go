package migrate

import "github.com/clusterctl-repo/clusterctl-repo/repo/migrate/tree"

// patches migrates the patches of a ClusterClass. They follow the kind that they
// select; its templates are migrated by then.
func (o *object) patches() {
	all := o.root.At("spec", "patches")
	if all == nil || !all.Value.IsList() {
		return
	}
	created := map[string]bool{}
	for _, patch := range all.Value.Entries {
		definitions := patch.Value.Get("definitions")
		if definitions == nil || !definitions.Value.IsList() {
			continue
		}
		for _, d := range definitions.Value.Entries {
			selector := d.Value.Get("selector")
			list := d.Value.Get("jsonPatches")
			if selector == nil || list == nil || !list.Value.IsList() {
				continue
			}
			kind := selector.Value.Text("kind")
			k := o.file.opts.Contract.Find(selector.Value.Text("apiVersion"), kind)
			if k == nil {
				continue
			}
			p := operations{object: o, kind: k, list: list.Value, targets: o.file.targets(k.Group, kind), created: created}
			p.migrate()
		}
	}
}

// targets are the objects of a kind in this file, and in others that belong to it.
func (f *file) targets(group, kind string) []*tree.Node {
	return append(f.seen[group+"/"+kind], f.opts.Targets[group+"/"+kind]...)
}
