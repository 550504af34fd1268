package clusterclass

import (
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Defaulted fills in the defaults of the schema of a variable in a value, on all
// levels, and returns the value. Set says whether the Cluster sets the variable;
// otherwise ok is false if the schema has no default (internal/topology/variables,
// defaultValue; apiextensions-apiserver pkg/apiserver/schema/defaulting, Default).
func Defaulted(schema *yamldoc.Node, value any, set bool) (out any, ok bool) {
	d := defaultOf(schema)
	if !set && d == nil {
		return nil, false
	}
	if d != nil && (!set || dropped(schema, value)) {
		value = d.Value()
	}
	return filled(schema, value), true
}

func defaultOf(schema *yamldoc.Node) *yamldoc.Node { return schema.Get("default").Given() }

// dropped reports whether a value is a null that the schema does not allow.
func dropped(schema *yamldoc.Node, value any) bool {
	return value == nil && !schema.Get("nullable").Bool()
}

// filled fills in the defaults below a value.
func filled(schema *yamldoc.Node, value any) any {
	switch v := value.(type) {
	case map[string]any:
		properties := schema.Get("properties")
		for _, f := range properties.Fields() {
			if d := defaultOf(f.Value); d != nil && properties.Get(f.Name) == f.Value {
				if item, ok := v[f.Name]; !ok || dropped(f.Value, item) {
					v[f.Name] = d.Value()
				}
			}
		}
		for name, item := range v {
			of := properties.Get(name)
			if of == nil {
				of = schema.Get("additionalProperties")
				item = entry(of, item)
			}
			v[name] = filled(of, item)
		}
	case []any:
		of := schema.Get("items")
		for i, item := range v {
			v[i] = filled(of, entry(of, item))
		}
	}
	return value
}

// entry is an element of a list or a map, the default if it is a null that is not
// allowed.
func entry(schema *yamldoc.Node, value any) any {
	if d := defaultOf(schema); d != nil && dropped(schema, value) {
		return d.Value()
	}
	return value
}
