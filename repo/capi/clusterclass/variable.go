package clusterclass

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Aspect says what part of the definition of a variable is wrong.
type Aspect int

// The aspects.
const (
	// OfType: a type that does not exist.
	OfType Aspect = iota
	// OfStructure: the schema is not structural, or cannot be read.
	OfStructure
	// OfFields: properties as well as additionalProperties.
	OfFields
	// OfDefault: the default does not fit the schema.
	OfDefault
	// OfSample: an example or an entry of an enumeration does not fit the schema.
	OfSample
	// OfRule: x-kubernetes-validations.
	OfRule
	// OfKeyword: a keyword that Cluster API drops.
	OfKeyword
	// OfPattern: no regular expression.
	OfPattern
)

// fault is something that is wrong at a value.
type fault struct {
	Aspect  Aspect
	Node    *yamldoc.Node
	Message string
}

// types are the types of values.
var types = [...]string{"object", "array", "string", "integer", "number", "boolean"}

// SchemaFaults returns why Cluster API refuses the schema of a variable
// (internal/topology/variables, validateClusterClassVariable; apiextensions-apiserver
// pkg/apiserver/schema, ValidateStructural).
func (c *Class) SchemaFaults(v Variable) []fault {
	k := schemaCheck{defaults: crd.Checker{Loose: true}}
	root, ok := Schema(c.Version)
	if !ok || !v.Node.Is(yamldoc.Map) {
		return nil
	}
	if parent := v.Node.Get("schema").Given(); parent == nil || parent.Is(yamldoc.Map) && v.Schema.Node == nil {
		k.add(OfStructure, cmp.Or(parent, v.Node), "%s has no schema", strings.TrimSpace("the variable "+v.Name))
		return k.found
	}
	if !v.Schema.Node.Is(yamldoc.Map) {
		return nil
	}
	root, _ = root.At("spec", "variables", crd.Items, "schema", "openAPIV3Schema")
	k.keywords = root
	name := cmp.Or(v.Name, "(unnamed)")
	rules := cel.Check(v.Schema.Node, name)
	k.evaluates = len(rules) == 0
	for _, f := range checker().Check(root, v.Schema.Node, true) {
		k.violation(f)
	}
	k.schema(v.Schema.Node, name, inside{structural: true, defaults: true})
	for _, f := range rules {
		k.add(OfRule, f.Node, "%s", f.Message)
	}
	return k.found
}

type schemaCheck struct {
	// keywords is what the API says about a schema.
	keywords crd.Schema
	// values compares with the schemas themselves, and defaults does so as it is
	// done for defaults.
	values, defaults crd.Checker
	// evaluates says that the rules of the schema are in order.
	evaluates bool
	found     []fault
}

func (k *schemaCheck) add(a Aspect, n *yamldoc.Node, format string, args ...any) {
	k.found = append(k.found, fault{a, n, fmt.Sprintf(format, args...)})
}

// violation files what the API says under the aspects.
func (k *schemaCheck) violation(v crd.Violation) {
	aspect := OfStructure
	switch {
	case v.Fault == crd.Unknown:
		k.add(OfKeyword, v.Node, "%s is not a supported keyword", v.Path)
		return
	case strings.HasPrefix(v.Path, "x-kubernetes-validations"):
		aspect = OfRule
	case v.Path == "type" && v.Fault == crd.Value:
		return // found again below
	}
	k.add(aspect, v.Node, "%s", strings.TrimSpace(v.Path+" "+v.Message))
}

// inside says where a schema is.
type inside struct {
	// structural: not below allOf, anyOf, oneOf and not.
	structural bool
	// defaults: where defaults are looked at.
	defaults bool
	// nested: not the schema of the variable itself, which the API server has
	// checked already.
	nested bool
	// intOrString: an alternative that may have a type. First: the first in an
	// allOf, in which there may be such alternatives.
	intOrString, first bool
}

// schema checks a schema and those in it. Name is the way to it.
func (k *schemaCheck) schema(s *yamldoc.Node, name string, in inside) {
	if !s.Is(yamldoc.Map) {
		if s.Kind != yamldoc.Null {
			k.add(OfStructure, s, "the schema of %s is %s", name, crd.Show(s))
		}
		return
	}
	if in.nested {
		k.decodes(s, name)
	}
	typ := s.Get("type")
	if typ.Is(yamldoc.String) && typ.Text() != "" && !slices.Contains(types[:], typ.Text()) {
		k.add(OfType, typ, "the type of %s is %q; it must be one of %s", name, typ.Text(), strings.Join(types[:], ", "))
	}
	if p := s.Get("pattern"); p.Is(yamldoc.String) {
		if _, err := regexp.Compile(p.Text()); err != nil {
			k.add(OfPattern, p, "the pattern of %s is not a valid Go regular expression: %v", name, err)
		}
	}
	if in.structural {
		k.structure(s, name, typ)
	} else {
		k.alternative(s, name, typ, in)
	}
	if extra := s.Get("additionalProperties"); extra.Is(yamldoc.Map) && len(s.Get("properties").Fields()) > 0 {
		k.add(OfFields, s.Field("additionalProperties").Key(), "%s has both properties and additionalProperties", name)
	}
	k.samples(s, name, in)
	k.below(s, name, in)
}

// nests are the keywords whose values are schemas, with what they hold.
var nests = map[string]yamldoc.Kind{
	"properties": yamldoc.Map, "additionalProperties": yamldoc.Map, "items": yamldoc.Map, "not": yamldoc.Map,
	"allOf": yamldoc.List, "anyOf": yamldoc.List, "oneOf": yamldoc.List,
}

// decodes checks what the API server does not look at, but Cluster API has to
// read: the types of keywords.
func (k *schemaCheck) decodes(s *yamldoc.Node, name string) {
	for i := range s.Fields() {
		f := &s.Fields()[i]
		of, presence := k.keywords.At(f.Name)
		if presence != crd.Present {
			k.add(OfKeyword, f.Key(), "Cluster API drops the unsupported keyword %s from %s", f.Name, name)
			continue
		}
		if nests[f.Name] != 0 || f.Value.Kind == yamldoc.Null {
			continue
		}
		for _, v := range checker().Check(of, f.Value, true) {
			switch {
			case v.Fault == crd.Unknown:
				k.add(OfKeyword, v.Node, "%s of %s has the unknown field %s, which Cluster API drops", f.Name, name, v.Path)
			case v.Fault == crd.Type && v.Node.Kind != yamldoc.Null:
				k.add(OfStructure, v.Node, "%s of %s %s", f.Name, name, v.Message)
			}
		}
	}
}

// structure checks what a schema must say about the form of values.
func (k *schemaCheck) structure(s *yamldoc.Node, name string, typ *yamldoc.Node) {
	intOrString, open := s.Get("x-kubernetes-int-or-string"), s.Get("x-kubernetes-preserve-unknown-fields")
	if typ.Str() == "" && (typ == nil || typ.Is(yamldoc.String) || typ.Kind == yamldoc.Null) &&
		!intOrString.Bool() && !open.Bool() {
		k.add(OfStructure, cmp.Or(typ, s), "%s has no type", name)
	}
	if typ.Str() == "array" && s.Get("items").Given() == nil {
		k.add(OfStructure, typ, "%s is an array but has no items", name)
	}
	if intOrString.Bool() && open.Bool() {
		k.add(OfStructure, open, "%s is an integer or a string and cannot preserve unknown fields", name)
	}
}

// reserved are the keywords that alternatives may not have.
var reserved = [...]string{"additionalProperties", "default", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "x-kubernetes-validations"}

// alternative checks a schema below allOf, anyOf, oneOf and not.
func (k *schemaCheck) alternative(s *yamldoc.Node, name string, typ *yamldoc.Node, in inside) {
	if typ.Str() != "" && !in.intOrString {
		k.add(OfStructure, typ, "%s has a type below allOf, anyOf, oneOf or not, where it is not allowed", name)
	}
	for _, word := range reserved {
		n := s.Get(word)
		if says(n) || n.Given() != nil && (word == "default" || word == "additionalProperties") {
			k.add(OfStructure, n, "%s has %s below allOf, anyOf, oneOf or not, where it is not allowed", name, word)
		}
	}
	if f := s.Get("properties").Field("metadata"); f != nil {
		k.add(OfStructure, f.Key(), "%s describes metadata below allOf, anyOf, oneOf or not", name)
	}
}

// samples checks defaults, examples and enumerations against the schema.
func (k *schemaCheck) samples(s *yamldoc.Node, name string, in inside) {
	of := crd.Schema{Node: s}
	report := func(a Aspect, c *crd.Checker, n *yamldoc.Node, what string) {
		add := func(n *yamldoc.Node, path, message string) {
			if path != "" {
				path = ", in " + path
			}
			k.add(a, n, "%s of %s%s %s", what, name, path, message)
		}
		list := c.Check(of, n, a == OfDefault)
		for _, v := range list {
			add(v.Node, v.Path, v.Message)
		}
		// Other values than defaults are tried only where rules stand.
		if len(list) == 0 && k.evaluates && (a == OfDefault || len(s.Get("x-kubernetes-validations").List()) > 0) {
			for _, v := range cel.Evaluate(s, n, cel.Values{Unchanged: a == OfDefault}) {
				add(v.Node, crd.Join(v.Path), v.Message)
			}
		}
	}
	if n := s.Get("default"); n.Given() != nil && in.defaults {
		report(OfDefault, &k.defaults, n, "the default")
	}
	if n := s.Get("example"); n.Given() != nil {
		report(OfSample, &k.values, n, "the example")
	}
	// Each entry is one of the enumeration.
	of.Node = yamldoc.NewMap(slices.DeleteFunc(slices.Clone(s.Fields()), func(f yamldoc.Field) bool { return f.Name == "enum" }))
	for _, n := range s.Get("enum").List() {
		if n.Given() != nil {
			report(OfSample, &k.values, n, "an entry of the enumeration")
		}
	}
}

// below checks the schemas in a schema.
func (k *schemaCheck) below(s *yamldoc.Node, name string, in inside) {
	in.nested = true
	inner := func(n *yamldoc.Node, name string, in inside) {
		if n != nil {
			k.schema(n, name, in)
		}
	}
	for f := range s.Entries() {
		kind, ok := nests[f.Name]
		if !ok || f.Value.Kind == yamldoc.Null {
			continue
		}
		if f.Value.Kind != kind {
			k.add(OfStructure, f.Value, "%s of %s is %s", f.Name, name, crd.Show(f.Value))
			continue
		}
		switch f.Name {
		case "properties":
			for p := range f.Value.Entries() {
				inner(p.Value, name+"."+p.Name, in)
			}
		case "items":
			inner(f.Value, name+"[]", in)
		case "additionalProperties":
			extra := in
			extra.defaults = false
			inner(f.Value, name+".*", extra)
		case "not":
			inner(f.Value, name, inside{nested: true})
		default:
			both := f.Name == "anyOf" && intOrString(f.Value)
			for j, n := range f.Value.List() {
				inner(n, name, inside{nested: true, intOrString: both && (in.structural || in.first), first: in.structural && f.Name == "allOf" && j == 0})
			}
		}
	}
}

// intOrString recognizes the alternatives that stand for an integer or a string.
func intOrString(list *yamldoc.Node) bool {
	return len(list.List()) == 2 && isOnlyType(list.List()[0], "integer") && isOnlyType(list.List()[1], "string")
}

// isOnlyType reports whether nothing but a type is left of a schema when Cluster
// API hands it on (internal/topology/variables, convertToAPIExtensionsJSONSchemaProps).
func isOnlyType(n *yamldoc.Node, typ string) bool {
	return n.Get("type").Str() == typ && !slices.ContainsFunc(n.Fields(), func(f yamldoc.Field) bool {
		switch f.Name {
		case "type", "description", "x-metadata":
			return false
		case "required", "items", "not", "x-kubernetes-validations":
			return f.Value.Kind != yamldoc.Null // even an empty one
		}
		return says(f.Value)
	})
}

// says reports whether a value is more than Go's zero value of its field.
func says(n *yamldoc.Node) bool {
	switch {
	case n == nil:
		return false
	case n.Kind == yamldoc.Bool:
		return n.Bool()
	case n.Kind == yamldoc.String:
		return n.Text() != ""
	case n.Kind == yamldoc.List:
		return len(n.List()) > 0
	case n.Kind == yamldoc.Map:
		return len(n.Fields()) > 0
	}
	return n.Kind != yamldoc.Null
}
