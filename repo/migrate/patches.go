package migrate

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// patches migrates the patches of a ClusterClass. They follow the kind that they
// select; its templates are migrated by then.
func (o *object) patches() {
	all := o.root.At("spec", "patches")
	if all == nil || !all.Value.IsList() {
		return
	}
	created, lists := map[string]bool{}, map[string]*argumentList{}
	for _, patch := range slices.Clone(all.Value.Entries) {
		definitions := patch.Value.Get("definitions")
		for _, d := range slices.Clone(entries(patch.Value, "definitions")) {
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
			p := operations{object: o, kind: k, list: list.Value, targets: o.selected(selector.Value, k), created: created, lists: lists}
			p.migrate()
			// v1beta2 refuses what patches nothing.
			if list.Value.Empty() && !edit.HasVariables(entryText(patch)) {
				o.clear(definitions, d)
				o.clear(all, patch)
			}
		}
	}
	if spec := o.root.Get("spec"); len(all.Value.Entries) == 0 {
		spec.Value.Remove(all)
	}
}

// clear removes an item of a list, or keeps it if it is a patch with definitions.
func (o *object) clear(list, item *edit.Entry) {
	if d := item.Value.Get("definitions"); d == nil || len(d.Value.Entries) == 0 {
		list.Value.Remove(item)
	}
}

// selected are the templates that a selector of this class selects, as far as the
// class names them; otherwise all of the kind.
func (o *object) selected(selector *edit.Node, k *table.Kind) []*edit.Node {
	var names []string
	ref := func(n *edit.Node, path ...string) {
		for _, field := range []string{"ref", "templateRef"} {
			if n.Text(append(path, field, "kind")...) == k.Kind {
				names = append(names, n.Text(append(path, field, "name")...))
			}
		}
	}
	if spec := o.root.Get("spec"); spec.Value.IsMap() {
		if selector.Text("matchResources", "infrastructureCluster") == "true" {
			ref(spec.Value, "infrastructure")
		}
		if selector.Text("matchResources", "controlPlane") == "true" {
			ref(spec.Value, "controlPlane")
			ref(spec.Value, "controlPlane", "machineInfrastructure")
		}
		for match, workers := range map[string]string{"machineDeploymentClass": "machineDeployments", "machinePoolClass": "machinePools"} {
			classes := entries(selector, "matchResources", match, "names")
			for _, worker := range nodes(o.root, "spec.workers."+workers+"[]") {
				class := worker.Text("class")
				if !slices.ContainsFunc(classes, func(e *edit.Entry) bool { return selects(edit.Unquote(e.Value.Raw), class) }) {
					continue
				}
				for _, part := range []string{"bootstrap", "infrastructure"} {
					ref(worker, part)
					ref(worker, "template", part)
				}
			}
		}
	}
	for _, all := range [][]*edit.Node{o.file.seen[k.Group+"/"+k.Kind], o.file.opts.Targets[k.Group+"/"+k.Kind]} {
		named := func(n *edit.Node) bool { return slices.Contains(names, n.Text("metadata", "name")) }
		if out := phrase.Only(all, named); out != nil {
			return out
		}
	}
	return o.file.targets(k.Group, k.Kind)
}

// selects reports whether the name of a class matches one in a selector, which may
// begin or end with a star.
func selects(name, class string) bool {
	if before, ok := strings.CutSuffix(name, "*"); ok && strings.HasPrefix(class, before) {
		return true
	}
	if after, ok := strings.CutPrefix(name, "*"); ok && strings.HasSuffix(class, after) {
		return true
	}
	return name == class
}

// targets are the objects of a kind in this file, and in others that belong to it.
func (f *file) targets(group, kind string) []*edit.Node {
	return append(f.seen[group+"/"+kind], f.opts.Targets[group+"/"+kind]...)
}

// classAdditions lists the fields that the patches of classes in a text add to, by
// kind, at their old and their new path.
func classAdditions(text string, c *table.Contract) map[string][]string {
	if !strings.Contains(text, "jsonPatches") {
		return nil
	}
	out := map[string][]string{}
	for _, chunk := range edit.Split(strings.ReplaceAll(text, "\r\n", "\n")) {
		if !strings.Contains(chunk, "jsonPatches") {
			continue
		}
		d, err := edit.Parse(chunk, 0)
		if err != nil || d.Root == nil {
			continue
		}
		for _, p := range nodes(d.Root, "spec.patches[].definitions[]") {
			kind := p.Text("selector", "kind")
			for _, op := range entries(p, "jsonPatches") {
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
