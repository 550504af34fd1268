package migrate

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// tidy removes maps, lists and texts that are empty where the new version demands
// that they hold something. For both versions, empty means "not set".
func (o *object) tidy() {
	if o.partial {
		return
	}
	spec := o.root.At("spec")
	s, ok := contract.CoreSchema(o.kind.Group, o.kind.Kind, o.kind.To)
	if !ok || spec == nil {
		return
	}
	o.empty(spec.Value, s.Node.Get("properties", "spec"), "spec")
}

// empty removes what is empty below a value, and reports what is but must be there.
func (o *object) empty(n *edit.Node, schema *yamldoc.Node, at string) {
	switch {
	case schema == nil:
	case n.IsList():
		items := schema.Get("items")
		for _, e := range n.Entries {
			o.optional(e, items)
			o.empty(e.Value, items, at+"[]")
		}
	case n.IsMap():
		for _, e := range slices.Clone(n.Entries) {
			field, here := schema.Get("properties", e.Name), at+"."+e.Name
			switch {
			case field == nil:
			case o.file.patched(o.kind.Kind, here) && vanishes(e.Value, field):
				o.row = table.Row{Path: here}
				o.manual(e, here+" is empty, which "+o.kind.To+" refuses, and was kept because a patch adds to it",
					"remove it where no patch adds to it, and let the patches create it")
			case !vanishes(e.Value, field):
				o.optional(e, field)
				o.empty(e.Value, field, here)
			case yamldoc.Has(schema.Get("required").List(), e.Name):
				o.row = table.Row{Path: e.Name}
				o.manual(e, o.kind.To+" demands that "+e.Name+" holds something",
					"set a field in it, even if only to its default")
			default:
				o.remove(e)
			}
		}
	}
}

// optional reports a variable whose default is refused because it is empty.
func (o *object) optional(e *edit.Entry, schema *yamldoc.Node) {
	if e.Value.Kind != edit.Leaf || schema == nil || !demands(schema, "minLength") {
		return
	}
	raw := edit.Unquote(e.Value.Raw)
	t, err := vars.Parse([]byte(raw))
	if err != nil || len(t.Refs()) != 1 {
		return
	}
	r := t.Refs()[0]
	if r.Op == "" || r.Start != 0 || r.End != len(raw) || r.Default != "" && r.Default != `""` && r.Default != "''" {
		return
	}
	o.row = table.Row{Path: e.Name}
	o.manual(e, "the default of "+r.Name+" is empty, which "+o.kind.To+" refuses", "give it another default, or make it required")
}

func demands(schema *yamldoc.Node, name string) bool {
	least, ok := schema.Get(name).Int()
	return ok && least > 0
}

// vanishes reports whether a value is empty, or holds nothing that is not, where
// the schema demands that it holds something.
func vanishes(v *edit.Node, schema *yamldoc.Node) bool {
	switch {
	case v.BlockVariables():
		return false
	case v.IsMap():
		if !demands(schema, "minProperties") {
			return false
		}
		for _, e := range v.Entries {
			field := schema.Get("properties", e.Name)
			null := e.Value.Kind == edit.Leaf && e.Value.Empty() && !e.Value.BlockVariables() // which the API server drops
			if field == nil || !null && !vanishes(e.Value, field) {
				return false
			}
		}
		return true
	case v.IsList():
		return len(v.Entries) == 0 && demands(schema, "minItems")
	}
	return (v.Raw == `""` || v.Raw == "''") && demands(schema, "minLength")
}
