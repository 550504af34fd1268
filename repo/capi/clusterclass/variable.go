package clusterclass

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Aspect says what part of the definition of a variable is wrong.
type Aspect int

const (
	// OfType: a type that does not exist.
	OfType Aspect = iota
	// OfFields: properties as well as additionalProperties.
	OfFields
	// OfSample: an example or an entry of an enumeration does not fit the schema.
	OfSample
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

var types = [...]string{"object", "array", "string", "integer", "number", "boolean"}

// SchemaFaults returns why Cluster API refuses the schema of a variable, or drops a part
// of it (internal/topology/variables, validateClusterClassVariable). Whether the schema is
// structural, what its rules in CEL say and whether its defaults fit is left to Cluster API.
func (c *Class) SchemaFaults(v Variable) []fault {
	root, ok := Schema(c.Version)
	if !ok || !v.Schema.Node.Is(yamldoc.Map) {
		return nil
	}
	root, _ = root.At("spec", "variables", crd.Items, "schema", "openAPIV3Schema")
	k := schemaCheck{keywords: root}
	for _, f := range checker().Check(root, v.Schema.Node, true) {
		if f.Fault == crd.Unknown {
			k.add(OfKeyword, f.Node, "%s is not a supported keyword", f.Path)
		}
	}
	k.schema(v.Schema.Node, cmp.Or(v.Name, "(unnamed)"), false)
	return k.found
}

type schemaCheck struct {
	// keywords is what the API says about a schema.
	keywords crd.Schema
	// values compares with the schemas themselves.
	values crd.Checker
	found  []fault
}

func (k *schemaCheck) add(a Aspect, n *yamldoc.Node, format string, args ...any) {
	k.found = append(k.found, fault{a, n, fmt.Sprintf(format, args...)})
}

// schema checks a schema and those in it. Name is the way to it; nested means that it is
// not the schema of the variable itself, which the API server has checked already.
func (k *schemaCheck) schema(s *yamldoc.Node, name string, nested bool) {
	if !s.Is(yamldoc.Map) {
		return
	}
	if nested {
		k.decodes(s, name)
	}
	if typ := s.Get("type"); typ.Is(yamldoc.String) && typ.Text() != "" && !slices.Contains(types[:], typ.Text()) {
		k.add(OfType, typ, "the type of %s is %q; it must be one of %s", name, typ.Text(), strings.Join(types[:], ", "))
	}
	if p := s.Get("pattern"); p.Is(yamldoc.String) {
		if _, err := regexp.Compile(p.Text()); err != nil {
			k.add(OfPattern, p, "the pattern of %s is not a valid Go regular expression: %v", name, err)
		}
	}
	if extra := s.Get("additionalProperties"); extra.Is(yamldoc.Map) && len(s.Get("properties").Fields()) > 0 {
		k.add(OfFields, s.Field("additionalProperties").Key(), "%s has both properties and additionalProperties", name)
	}
	k.samples(s, name)
	k.below(s, name)
}

// nests are the keywords whose values are schemas, with what they hold.
var nests = map[string]yamldoc.Kind{
	"properties": yamldoc.Map, "additionalProperties": yamldoc.Map, "items": yamldoc.Map, "not": yamldoc.Map,
	"allOf": yamldoc.List, "anyOf": yamldoc.List, "oneOf": yamldoc.List,
}

// decodes checks the names of keywords, at which the API server does not look here.
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
			if v.Fault == crd.Unknown {
				k.add(OfKeyword, v.Node, "%s of %s has the unknown field %s, which Cluster API drops", f.Name, name, v.Path)
			}
		}
	}
}

// samples checks examples and enumerations against the schema.
func (k *schemaCheck) samples(s *yamldoc.Node, name string) {
	of := crd.Schema{Node: s}
	report := func(n *yamldoc.Node, what string) {
		for _, v := range k.values.Check(of, n, false) {
			path := v.Path
			if path != "" {
				path = ", in " + path
			}
			k.add(OfSample, v.Node, "%s of %s%s %s", what, name, path, v.Message)
		}
	}
	if n := s.Get("example"); n.Given() != nil {
		report(n, "the example")
	}
	// Each entry is one of the enumeration.
	of.Node = yamldoc.NewMap(slices.DeleteFunc(slices.Clone(s.Fields()), func(f yamldoc.Field) bool { return f.Name == "enum" }))
	for _, n := range s.Get("enum").List() {
		if n.Given() != nil {
			report(n, "an entry of the enumeration")
		}
	}
}

func (k *schemaCheck) below(s *yamldoc.Node, name string) {
	for f := range s.Entries() {
		if kind, ok := nests[f.Name]; !ok || f.Value.Kind != kind {
			continue
		}
		switch f.Name {
		case "properties":
			for p := range f.Value.Entries() {
				k.schema(p.Value, name+"."+p.Name, true)
			}
		case "items":
			k.schema(f.Value, name+"[]", true)
		case "additionalProperties":
			k.schema(f.Value, name+".*", true)
		case "not":
			k.schema(f.Value, name, true)
		default:
			for _, n := range f.Value.List() {
				k.schema(n, name, true)
			}
		}
	}
}
