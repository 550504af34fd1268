package diff

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// schemaChange is one difference between two schemas.
type schemaChange struct {
	path, message, advice string
	kind                  Kind
	impact                Impact
	old, new              string
	node                  *yamldoc.Node
	// inOld says that the node is in the old schema.
	inOld bool
}

// keyword says what a change of one keyword means for objects that exist.
type keyword struct {
	name                    string
	added, removed, changed Impact
	// direction makes a change of a number breaking that is upwards (+1) or
	// downwards (-1), and neutral otherwise.
	direction int
}

// keywords are those that are compared as values. What only describes a value
// is not in the table (OpenAPI v3 as apiextensions.k8s.io/v1 has it,
// JSONSchemaProps).
var keywords = []keyword{
	{name: "pattern", added: Attention, changed: Attention},
	{name: "format", added: Attention, changed: Attention},
	{name: "minimum", added: Breaking, direction: +1},
	{name: "exclusiveMinimum", added: Breaking, changed: Breaking},
	{name: "minLength", added: Breaking, direction: +1},
	{name: "minItems", added: Breaking, direction: +1},
	{name: "minProperties", added: Breaking, direction: +1},
	{name: "maximum", added: Breaking, direction: -1},
	{name: "exclusiveMaximum", added: Breaking, changed: Breaking},
	{name: "maxLength", added: Breaking, direction: -1},
	{name: "maxItems", added: Breaking, direction: -1},
	{name: "maxProperties", added: Breaking, direction: -1},
	{name: "multipleOf", added: Breaking, changed: Breaking},
	{name: "uniqueItems", added: Breaking},
	{name: "nullable", removed: Breaking},
	{name: "default", added: Attention, removed: Attention, changed: Attention},
	{name: "allOf", added: Attention, changed: Attention},
	{name: "anyOf", added: Attention, changed: Attention},
	{name: "oneOf", added: Attention, changed: Attention},
	{name: "not", added: Attention, changed: Attention},
	{name: "x-kubernetes-validations", added: Attention, changed: Attention},
	{name: "x-kubernetes-list-type", added: Attention, removed: Attention, changed: Attention},
	{name: "x-kubernetes-list-map-keys", added: Attention, removed: Attention, changed: Attention},
	{name: "x-kubernetes-map-type", added: Attention, removed: Attention, changed: Attention},
	{name: "x-kubernetes-preserve-unknown-fields", removed: Breaking},
	{name: "x-kubernetes-embedded-resource", added: Attention, removed: Attention},
}

const refused = "from now on the API server refuses values that do not fit; first check the objects and templates that you have"

// compareSchemas lists what changes from one schema to another, in time that is
// linear in both.
func compareSchemas(a, b *yamldoc.Node, path string) []schemaChange {
	var out []schemaChange
	add := func(s schemaChange) {
		s.path = cmp.Or(s.path, path, ".")
		if s.impact == Breaking && s.advice == "" {
			s.advice = refused
		}
		out = append(out, s)
	}
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil:
		add(schemaChange{kind: Added, impact: Attention, node: b, message: "the values are now described", advice: refused})
		return out
	case b == nil:
		const message = "the new schema does not describe the values"
		add(schemaChange{kind: Removed, impact: Attention, node: a, inOld: true, message: message})
		return out
	}
	if x, y := (crd.Schema{Node: a}).Type(), (crd.Schema{Node: b}).Type(); x != y {
		s := schemaChange{kind: Changed, impact: Breaking, old: x, new: y, node: b.Get("type"), message: fmt.Sprintf("the type changes from %s to %s", cmp.Or(x, "any"), cmp.Or(y, "any"))}
		if y == "" || y == crd.IntOrString && (x == "integer" || x == "string") {
			s.impact, s.advice = Attention, "clients that decode the field into a fixed type may fail"
		}
		add(s)
		if s.impact == Breaking {
			return out // nothing below can be compared
		}
	}
	for _, k := range keywords {
		if s, ok := k.compare(value(a, k.name), value(b, k.name)); ok {
			add(s)
		}
	}
	for _, s := range enumChanges(a.Get("enum"), b.Get("enum")) {
		add(s)
	}
	out = append(out, fieldChanges(a, b, path)...)
	out = append(out, compareSchemas(a.Get("items"), b.Get("items"), path+"[]")...)
	if s, ok := keysChange(a, b); ok {
		add(s)
	}
	x, y := a.Get("additionalProperties"), b.Get("additionalProperties")
	if x.Is(yamldoc.Map) && y.Is(yamldoc.Map) {
		out = append(out, compareSchemas(x, y, path+"[*]")...)
	}
	return out
}

// keysChange compares whether an object may have keys of the user's choice.
func keysChange(a, b *yamldoc.Node) (s schemaChange, ok bool) {
	x, y := value(a, "additionalProperties"), value(b, "additionalProperties")
	switch {
	case x == nil && y == nil, x != nil && y != nil && x.Kind == y.Kind:
		return s, false
	case y == nil:
		s = schemaChange{kind: Removed, impact: Breaking, node: x, inOld: true, message: "keys of the user's choice are no longer allowed",
			advice: "the API server drops all keys that are not properties, or refuses them when fields are checked strictly"}
		if (crd.Schema{Node: b}).Open() {
			s.impact, s.message, s.advice = Attention, "the new schema does not describe the values of keys", ""
		}
	case x == nil:
		s = schemaChange{kind: Added, node: y, message: "keys of the user's choice are allowed"}
		if (crd.Schema{Node: a}).Open() || len(a.Get("properties").Fields()) > 0 {
			s.impact, s.advice = Attention, refused
		}
	default: // one is true, the other a schema
		s = schemaChange{kind: Changed, impact: Attention, node: y, message: "the values of keys are described differently", advice: refused}
	}
	return s, true
}

// value returns a keyword that says something; false and null say nothing.
func value(s *yamldoc.Node, name string) *yamldoc.Node {
	n := s.Get(name)
	if n == nil || n.Kind == yamldoc.Null || n.Kind == yamldoc.Bool && !n.Bool() {
		return nil
	}
	return n
}

func (k keyword) compare(a, b *yamldoc.Node) (s schemaChange, ok bool) {
	if a == nil && b == nil || a != nil && b != nil && crd.Equal(a, b) {
		return s, false
	}
	s.old, s.new, s.node = show(a), show(b), b
	switch {
	case a == nil:
		s.kind, s.impact, s.message = Added, k.added, fmt.Sprintf("%s is now %s", k.name, s.new)
	case b == nil:
		s.kind, s.impact, s.message, s.node, s.inOld = Removed, k.removed, fmt.Sprintf("%s is no longer %s", k.name, s.old), a, true
	default:
		s.kind, s.impact, s.message = Changed, k.changed, fmt.Sprintf("%s changes from %s to %s", k.name, s.old, s.new)
		if k.direction != 0 {
			s.impact = Breaking
			if (number(b)-number(a))*float64(k.direction) <= 0 {
				s.impact = Neutral
			}
		}
	}
	if s.impact == Attention && strings.HasPrefix(k.name, "x-kubernetes-list") || k.name == "x-kubernetes-map-type" {
		s.advice = "from now on server-side apply merges this field differently"
	}
	if k.name == "default" && s.impact == Attention {
		s.advice = "objects that omit the field get a different value"
	}
	if k.name == "x-kubernetes-preserve-unknown-fields" && s.impact == Breaking {
		s.advice = "from now on the API server drops fields that the schema does not declare"
	}
	return s, true
}

// number is NaN for what is none.
func number(n *yamldoc.Node) float64 {
	if f, ok := n.Value().(float64); ok {
		return f
	}
	return math.NaN()
}

// show writes a value: in full if it is short.
func show(n *yamldoc.Node) string {
	if n == nil {
		return ""
	}
	if n.Kind == yamldoc.List {
		parts := phrase.List(n.List(), show)
		if text := strings.Join(parts, ", "); len(text) <= 80 {
			return "[" + text + "]"
		}
		return fmt.Sprintf("a list of %d", len(n.List()))
	}
	if n.Kind == yamldoc.Map {
		if rule := n.Get("rule").Str(); rule != "" {
			return rule
		}
	}
	return crd.Show(n)
}

// enumChanges compares the allowed values.
func enumChanges(a, b *yamldoc.Node) []schemaChange {
	if a == nil && b == nil {
		return nil
	}
	if a == nil {
		return []schemaChange{{kind: Added, impact: Breaking, new: show(b), node: b, message: "only " + show(b) + " are now allowed"}}
	}
	if b == nil {
		return []schemaChange{{kind: Removed, old: show(a), node: a, inOld: true, message: "any value is allowed instead of " + show(a)}}
	}
	var out []schemaChange
	pairs(a.List(), b.List(), show, func(text string, x, y **yamldoc.Node) {
		switch {
		case x == nil:
			out = append(out, schemaChange{kind: Added, new: text, node: *y, message: "the value " + text + " is allowed"})
		case y == nil:
			out = append(out, schemaChange{kind: Removed, impact: Breaking, old: text, node: *x, inOld: true, message: "the value " + text + " is no longer allowed"})
		}
	})
	return out
}

// fieldChanges compares the properties of an object and which are required.
func fieldChanges(a, b *yamldoc.Node, path string) []schemaChange {
	var out []schemaChange
	x, y := a.Get("properties"), b.Get("properties")
	required := map[string]int{} // bit 1: in the old schema, bit 2: in the new one
	for i, s := range []*yamldoc.Node{a, b} {
		for _, n := range s.Get("required").List() {
			required[n.Str()] |= 1 << i
		}
	}
	for _, n := range b.Get("required").List() {
		if name := n.Str(); required[name] == 2 && y.Get(name) == nil {
			out = append(out, schemaChange{path: join(path, name), kind: Changed, impact: Breaking, node: n, message: "the field is now required, and the new schema does not describe it", advice: refused})
		}
	}
	pairs(x.Fields(), y.Fields(), func(f yamldoc.Field) string { return f.Name }, func(name string, old, new *yamldoc.Field) {
		at := join(path, name)
		switch {
		case old == nil:
			s := schemaChange{path: at, kind: Added, node: new.Key(), message: "new field"}
			if required[name]&2 != 0 && new.Value.Get("default") == nil {
				s.impact, s.message, s.advice = Breaking, "new field that is required", refused
			}
			out = append(out, s)
			return
		case new == nil:
			s := schemaChange{path: at, kind: Removed, impact: Breaking, node: old.Key(), inOld: true, message: "the field is gone",
				advice: "the API server drops the field from objects that have it, or refuses it when fields are checked strictly; remove it from manifests"}
			if (crd.Schema{Node: b}).Open() || value(b, "additionalProperties") != nil {
				s.impact, s.message, s.advice = Attention, "the new schema does not describe the field", ""
			}
			out = append(out, s)
			return
		}
		switch {
		case required[name] == 2 && new.Value.Get("default") == nil:
			out = append(out, schemaChange{path: at, kind: Changed, impact: Breaking, node: new.Key(), message: "the field is now required", advice: refused})
		case required[name] == 2:
			out = append(out, schemaChange{path: at, kind: Changed, impact: Attention, node: new.Key(), message: "the field is now required, with a default",
				advice: "clients that send the field empty are refused"})
		case required[name] == 1:
			out = append(out, schemaChange{path: at, kind: Changed, node: new.Key(), message: "the field is no longer required"})
		}
		out = append(out, compareSchemas(old.Value, new.Value, at)...)
	})
	return out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
