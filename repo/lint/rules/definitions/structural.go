package definitions

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// This file judges the schemas of CustomResourceDefinitions as the API server does when
// one is created: k8s.io/apiextensions-apiserver, pkg/apiserver/schema/validation.go,
// and ValidateCustomResourceDefinitionOpenAPISchema in
// pkg/apis/apiextensions/validation. Not judged are the expressions in
// x-kubernetes-validations, and whether a default fits more than the type of its schema.
//
// ValidateCustomResourceDefinition itself brings metrics and the machinery of servers
// along: linked, it made the program 5.1 MB larger and a start take 38 instead of 20 ms
// of CPU.

// violation is one demand that a schema does not meet.
type violation struct {
	// path leads to the schema: "spec.replicas"; it is empty for the root.
	path string
	// node is the keyword, or the schema that lacks one.
	node *yamldoc.Node
	// message says what is wrong, in words that follow the path.
	message string
}

// schemaChecker judges schemas. The zero value is ready to use; it keeps which patterns
// can be compiled and is safe for concurrent use.
type schemaChecker struct {
	patterns sync.Map // bool by the text of a pattern
}

// check returns what the API server refuses about the schema of one version. With
// status the version has the subresource of that name.
func (c *schemaChecker) check(schema *yamldoc.Node, status bool) []violation {
	w := walk{checker: c, status: status}
	w.schema(schema, root)
	return w.found
}

// walk goes through one schema.
type walk struct {
	checker *schemaChecker
	status  bool
	path    []string
	maps    int // how many additionalProperties are above
	found   []violation
}

func (w *walk) fail(n *yamldoc.Node, format string, args ...any) {
	w.found = append(w.found, violation{strings.Join(w.path, "."), n, fmt.Sprintf(format, args...)})
}

// place is where a schema stands; messages and some demands differ.
type place int

const (
	root place = iota
	item
	field
)

// below calls visit for a part of the schema.
func (w *walk) below(name string, visit func()) {
	w.path = append(w.path, name)
	visit()
	w.path = w.path[:len(w.path)-1]
}

// keywords are the keywords of a schema.
type keywords struct {
	kind                                               string
	items, properties, additional, listType, mapType   *yamldoc.Node
	listKeys, anyOf, allOf, oneOf, not, value, pattern *yamldoc.Node
	intOrString, preserve, embedded, nullable          bool
}

// forbiddenKeywords exist in JSON schema and are refused if they say anything.
var forbiddenKeywords = [...]string{"$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"}

// facts reads the keywords of a schema in one pass.
func (w *walk) facts(n *yamldoc.Node) (s keywords) {
	for i := range n.Fields() {
		f := &n.Fields()[i]
		v := f.Value
		if v.Kind == yamldoc.Null {
			continue // as if it were not there
		}
		switch f.Name {
		case "description":
		case "type":
			s.kind = v.Str()
			switch s.kind {
			case "object", "array", "string", "integer", "number", "boolean", "":
			default:
				w.fail(v, "has the unknown type %q", s.kind)
			}
		case "items":
			s.items = v
		case "properties":
			s.properties = v
		case "additionalProperties":
			s.additional = v
		case "default":
			s.value = v
		case "pattern":
			s.pattern = v
		case "anyOf":
			s.anyOf = v
		case "allOf":
			s.allOf = v
		case "oneOf":
			s.oneOf = v
		case "not":
			s.not = v
		case "nullable":
			s.nullable = v.Bool()
		case "uniqueItems":
			if v.Bool() {
				w.fail(v, "has uniqueItems: true, which the API server refuses; use x-kubernetes-list-type: set")
			}
		case "x-kubernetes-int-or-string":
			s.intOrString = v.Bool()
		case "x-kubernetes-preserve-unknown-fields":
			s.preserve = v.Bool()
			if v.Is(yamldoc.Bool) && !s.preserve {
				w.fail(v, "has x-kubernetes-preserve-unknown-fields: false; only true is allowed")
			}
		case "x-kubernetes-embedded-resource":
			s.embedded = v.Bool()
		case "x-kubernetes-list-type":
			s.listType = v
		case "x-kubernetes-list-map-keys":
			s.listKeys = v
		case "x-kubernetes-map-type":
			s.mapType = v
		default:
			if slices.Contains(forbiddenKeywords[:], f.Name) && (v.Str() != "" || len(v.Fields())+len(v.List()) > 0) {
				w.fail(v, "has %s, which the API server does not support", f.Name)
			}
		}
	}
	return s
}

// besideStatus are the keywords that the root may not have if the status is a
// subresource, because the API server checks the status by itself.
var besideStatus = [...]string{
	"additionalProperties", "allOf", "anyOf", "default", "enum", "maxProperties", "minProperties", "not", "oneOf",
	"x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
}

// schema checks a schema that describes values, and all such below.
func (w *walk) schema(n *yamldoc.Node, at place) {
	if !n.Is(yamldoc.Map) {
		return // the type of the keyword itself is wrong
	}
	if at == root && w.status {
		for _, f := range n.Fields() {
			zero := f.Value.Kind == yamldoc.Null ||
				f.Value.Is(yamldoc.Bool) && !f.Value.Bool() && f.Name != "additionalProperties"
			if slices.Contains(besideStatus[:], f.Name) && !zero {
				w.fail(f.Value, "has %s, which is not allowed at the root of a schema with a status subresource", f.Name)
			}
		}
	}
	s := w.facts(n)
	w.types(n, &s, at)
	w.lists(n, &s)
	if s.pattern.Is(yamldoc.String) && !w.checker.compiles(s.pattern.Text()) {
		w.fail(s.pattern, "has a pattern that is not a valid regular expression")
	}
	if s.value != nil {
		w.defaults(&s)
	}
	if s.properties != nil {
		for i := range s.properties.Fields() {
			f := &s.properties.Fields()[i]
			if at == root && f.Name == "metadata" {
				w.rootMetadata(f.Value)
			}
			w.below(f.Name, func() {
				if f.Value.Kind == yamldoc.Null {
					w.fail(f.Value, "has no type")
				}
				w.schema(f.Value, field)
			})
		}
	}
	if s.additional.Is(yamldoc.Map) {
		w.maps++
		w.below("*", func() { w.schema(s.additional, field) })
		w.maps--
	}
	if s.items != nil {
		if s.items.Is(yamldoc.List) {
			w.fail(s.items, "has a list of schemas in items; only one schema is allowed")
		}
		w.below(crd.Items, func() { w.schema(s.items, item) })
	}
	if s.anyOf != nil || s.allOf != nil || s.oneOf != nil || s.not != nil {
		complete := n
		if at != root {
			complete = nil // the API server looks no deeper
		}
		w.junctors(n, complete, isIntOrString(s.anyOf), isIntOrString(firstOf(s.allOf).Get("anyOf")))
	}
}

// types checks that a schema says what its values are.
func (w *walk) types(n *yamldoc.Node, s *keywords, at place) {
	switch {
	case s.embedded && s.kind != "object":
		w.fail(n, "has x-kubernetes-embedded-resource but is not of type object")
	case s.kind == "" && !s.intOrString && !s.preserve:
		w.fail(n, "has no type")
	case at == root && s.kind != "" && s.kind != "object":
		w.fail(n.Get("type"), "has type %s, but the root must be an object", s.kind)
	case s.kind == "array" && s.items == nil:
		w.fail(n, "is an array but has no items")
	}
	if s.intOrString && s.preserve {
		w.fail(n, "has both x-kubernetes-int-or-string and x-kubernetes-preserve-unknown-fields")
	}
	if s.intOrString && s.embedded {
		w.fail(n, "has both x-kubernetes-int-or-string and x-kubernetes-embedded-resource")
	}
	if s.embedded && !s.preserve && (s.properties == nil || len(s.properties.Fields()) == 0) {
		w.fail(n, "has x-kubernetes-embedded-resource but no properties")
	}
	if s.additional != nil {
		closed := !s.additional.Bool()
		switch {
		case at == root:
			w.fail(s.additional, "has additionalProperties, which is not allowed at the root")
		case s.embedded:
			w.fail(s.additional, "has both additionalProperties and x-kubernetes-embedded-resource")
		case closed && s.properties != nil && len(s.properties.Fields()) > 0:
			w.fail(s.additional, "has both properties and additionalProperties")
		}
	}
	if at == root || s.embedded {
		for _, name := range [...]string{"apiVersion", "kind"} {
			if t := s.properties.Get(name, "type"); t != nil && t.Str() != "string" {
				w.fail(t, "declares %s with type %q; it must be string", name, t.Text())
			}
		}
		if t := s.properties.Get("metadata", "type"); t != nil && t.Str() != "object" {
			w.fail(t, "declares metadata with type %q; it must be object", t.Text())
		}
	}
	if at == root && s.nullable {
		w.fail(n, "is nullable, which is not allowed at the root")
	}
}

// rootMetadata: the API server knows the metadata; a schema may restrict names.
func (w *walk) rootMetadata(n *yamldoc.Node) {
	for _, f := range n.Fields() {
		allowed := f.Name == "type" || f.Name == "default"
		if f.Name == "properties" {
			allowed = !slices.ContainsFunc(f.Value.Fields(), func(f yamldoc.Field) bool { return f.Name != "name" && f.Name != "generateName" })
		}
		if f.Name == "description" {
			allowed = f.Value.Str() == ""
		}
		if !allowed {
			w.below("metadata", func() { w.fail(f.Value, "sets %s; a schema may only restrict name and generateName", f.Name) })
		}
	}
}

// lists checks the extensions that say how lists and maps are merged.
func (w *walk) lists(n *yamldoc.Node, s *keywords) {
	if s.mapType != nil {
		switch t := s.mapType.Str(); {
		case s.kind != "object":
			w.fail(s.mapType, "has x-kubernetes-map-type but is not of type object")
		case t != "atomic" && t != "granular":
			w.fail(s.mapType, "has x-kubernetes-map-type %q; it must be atomic or granular", t)
		}
	}
	listType := s.listType.Str()
	switch {
	case s.listType == nil:
		if len(s.listKeys.List()) > 0 {
			w.fail(s.listKeys, "has x-kubernetes-list-map-keys without x-kubernetes-list-type: map")
		}
		return
	case s.kind != "array":
		w.fail(s.listType, "has x-kubernetes-list-type but is not of type array")
		return
	case listType != "atomic" && listType != "set" && listType != "map":
		w.fail(s.listType, "has x-kubernetes-list-type %q; it must be atomic, set or map", listType)
		return
	case listType != "map" && len(s.listKeys.List()) > 0:
		w.fail(s.listKeys, "has x-kubernetes-list-map-keys without x-kubernetes-list-type: map")
		return
	}
	if listType != "atomic" && s.items.Get("nullable").Bool() {
		w.fail(s.items, "has nullable elements, which x-kubernetes-list-type: %s does not allow", listType)
	}
	item := crd.Schema{Node: s.items}
	switch {
	case listType == "set" && (item.Type() == "object" && s.items.Get("x-kubernetes-map-type").Str() != "atomic" ||
		item.Type() == "array" && item.ListType() != "atomic"):
		w.fail(s.items, "is a set, but its elements are not atomic")
	case listType == "map":
		w.listMap(n, s, item)
	}
}

func (w *walk) listMap(n *yamldoc.Node, s *keywords, item crd.Schema) {
	keys := s.listKeys.List()
	if len(keys) == 0 {
		w.fail(n, "has x-kubernetes-list-type: map without x-kubernetes-list-map-keys")
	}
	if s.items != nil && item.Type() != "object" {
		w.fail(s.items, "has x-kubernetes-list-type: map, but its elements are not objects")
		return
	}
	seen := map[string]bool{}
	for _, key := range keys {
		name := key.Str()
		field := s.items.Get("properties", name)
		switch t := field.Get("type").Str(); {
		case seen[name]:
			w.fail(key, "lists the key %s twice", name)
		case field == nil:
			w.fail(key, "lists the key %s, which its elements do not have", name)
		case t == "array" || t == "object":
			w.fail(key, "lists the key %s, which is not a scalar", name)
		case field.Get("nullable").Bool():
			w.fail(key, "lists the key %s, which is nullable", name)
		case !item.Required(name) && field.Get("default") == nil:
			w.fail(key, "lists the key %s, which is neither required nor has a default", name)
		}
		seen[name] = true
	}
}

// defaults checks the types of default values. The API server does not look at
// those inside maps.
func (w *walk) defaults(s *keywords) {
	top := len(w.path) == 1 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, w.path[0])
	if top {
		w.fail(s.value, "has a default, but the API server sets this field itself")
		return
	}
	fits := true
	if w.maps > 0 {
		return
	}
	switch s.kind {
	case "object":
		fits = s.value.Is(yamldoc.Map)
	case "array":
		fits = s.value.Is(yamldoc.List)
	case "string":
		fits = s.value.Is(yamldoc.String)
	case "integer":
		fits = s.value.Is(yamldoc.Int) || s.value.Is(yamldoc.Float) // 1.0 is an integer
	case "number":
		fits = s.value.Is(yamldoc.Int) || s.value.Is(yamldoc.Float)
	case "boolean":
		fits = s.value.Is(yamldoc.Bool)
	}
	if !fits {
		w.fail(s.value, "has a default that is not of type %s", s.kind)
	}
}

// compiles reports whether Go can compile a regular expression.
func (c *schemaChecker) compiles(pattern string) bool {
	if ok, known := c.patterns.Load(pattern); known {
		return ok.(bool)
	}
	_, err := syntax.Parse(pattern, syntax.Perl)
	c.patterns.Store(pattern, err == nil)
	return err == nil
}

func firstOf(n *yamldoc.Node) *yamldoc.Node {
	if list := n.List(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// isIntOrString recognizes the only anyOf that may name types.
func isIntOrString(n *yamldoc.Node) bool {
	list := n.List()
	return len(list) == 2 && onlyType(list[0], "integer") && onlyType(list[1], "string")
}

func onlyType(n *yamldoc.Node, kind string) bool {
	return n.Is(yamldoc.Map) && len(n.Fields()) == 1 && n.Get("type").Str() == kind
}

// junctors checks what allOf, anyOf, oneOf and not say about a schema: they may
// restrict values and not describe them.
func (w *walk) junctors(n, structure *yamldoc.Node, skipAnyOf, skipFirst bool) {
	for _, f := range n.Fields() {
		switch f.Name {
		case "anyOf", "oneOf", "allOf":
			if f.Name == "anyOf" && skipAnyOf {
				continue
			}
			for i, one := range f.Value.List() {
				w.nested(one, structure, f.Name == "allOf" && skipFirst && i == 0)
			}
		case "not":
			w.nested(f.Value, structure, false)
		}
	}
}

// describing are the keywords that only the structural part may have.
var describing = [...]string{
	"type", "additionalProperties", "default", "title", "description", "nullable",
	"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
	"x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations",
}

// nested checks a schema below a junctor. The structure is the schema that has to
// describe the same value, or nil if none has to.
func (w *walk) nested(n, structure *yamldoc.Node, skipAnyOf bool) {
	if !n.Is(yamldoc.Map) {
		return
	}
	for _, f := range n.Fields() {
		empty := f.Value.Kind == yamldoc.Null || f.Value.Is(yamldoc.Bool) && !f.Value.Bool() ||
			f.Value.Is(yamldoc.String) && f.Value.Text() == ""
		if slices.Contains(describing[:], f.Name) && (!empty || f.Name == "additionalProperties" && f.Value.Is(yamldoc.Bool)) {
			w.fail(f.Value, "has %s below allOf, anyOf, oneOf or not, where it is not allowed", f.Name)
		}
		switch f.Name {
		case "items":
			at := structure.Get("items")
			if at == nil && structure != nil {
				w.fail(f.Value, "restricts items that only allOf, anyOf, oneOf or not mention")
				continue
			}
			w.below(crd.Items, func() { w.nested(f.Value, at, false) })
		case "properties":
			for _, prop := range f.Value.Fields() {
				if prop.Name == "metadata" {
					w.fail(prop.Value, "restricts metadata below allOf, anyOf, oneOf or not")
				}
				at := structure.Get("properties", prop.Name)
				if at == nil && structure != nil {
					w.fail(prop.Value, "restricts %s, which only allOf, anyOf, oneOf or not mention", prop.Name)
					continue
				}
				w.below(prop.Name, func() { w.nested(prop.Value, at, false) })
			}
		}
	}
	w.junctors(n, structure, skipAnyOf, false)
}
