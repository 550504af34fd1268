package migrate

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/tree"
)

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

// classAdditions lists the fields that the patches of classes in a text add to, by
// kind, at their old and their new path.
func classAdditions(text string, c *table.Contract) map[string][]string {
	if !strings.Contains(text, "jsonPatches") {
		return nil
	}
	out := map[string][]string{}
	for _, chunk := range tree.Split(strings.ReplaceAll(text, "\r\n", "\n")) {
		if !strings.Contains(chunk, "jsonPatches") {
			continue
		}
		d, err := tree.Parse(chunk, 0)
		if err != nil || d.Root == nil {
			continue
		}
		for _, p := range nodes(d.Root, "spec.patches[].definitions[]") {
			kind, list := p.Text("selector", "kind"), p.Get("jsonPatches")
			if list == nil || !list.Value.IsList() {
				continue
			}
			for _, op := range list.Value.Entries {
				field := dotted(pointer(op.Value.Text("path")))
				out[kind] = append(out[kind], field)
				for i := range c.Kinds {
					if to, ok := movedPath(&c.Kinds[i], field); ok && c.Kinds[i].Kind == kind {
						out[kind] = append(out[kind], to)
					}
				}
			}
		}
	}
	return out
}

// patched reports whether a JSON patch adds to a field of a kind.
func (f *file) patched(kind, field string) bool {
	return within(f.added[kind], field) || f.opts.patched != nil && f.opts.patched(kind, field)
}

// within reports whether one of the paths leads into a field.
func within(paths []string, field string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return strings.HasPrefix(p, field) && len(p) > len(field) && (p[len(field)] == '.' || p[len(field)] == '[')
	})
}
