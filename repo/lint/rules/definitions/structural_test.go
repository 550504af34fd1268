package definitions

import (
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// TestStructuralSchema has a schema for every kind of violation, and what comes close to it.
func TestStructuralSchema(t *testing.T) {
	const object = "type: object\nproperties:\n"
	for name, c := range map[string]struct {
		schema string
		status bool
		want   []string
	}{
		"sound":                    {object + "  a: {type: string, pattern: '^a$', default: b}\n  b: {type: array, items: {type: string}}\n", true, nil},
		"no type":                  {object + "  a: {description: b}\n", false, []string{"a has no type"}},
		"unknown type":             {object + "  a: {type: text}\n", false, []string{"a has the unknown type \"text\""}},
		"root is no object":        {"type: array\nitems: {type: string}\n", false, []string{"has type array, but the root must be an object"}},
		"kind of another type":     {object + "  kind: {type: integer}\n", false, []string{"declares kind with type \"integer\"; it must be string"}},
		"unique items":             {object + "  a: {type: array, uniqueItems: true, items: {type: string}}\n", false, []string{"a has uniqueItems: true, which the API server refuses; use x-kubernetes-list-type: set"}},
		"definitions":              {object + "  a: {type: string, $ref: b}\n", false, []string{"a has $ref, which the API server does not support"}},
		"array without items":      {object + "  a: {type: array}\n", false, []string{"a is an array but has no items"}},
		"properties and more":      {object + "  a: {type: object, properties: {b: {type: string}}, additionalProperties: false}\n", false, []string{"a has both properties and additionalProperties"}},
		"nullable root":            {"type: object\nnullable: true\n", false, []string{"is nullable, which is not allowed at the root"}},
		"default beside status":    {"type: object\ndefault: {}\n", true, []string{"has default, which is not allowed at the root of a schema with a status subresource"}},
		"default without status":   {"type: object\ndefault: {}\n", false, nil},
		"labels":                   {object + "  metadata: {type: object, properties: {labels: {type: object}}}\n", false, []string{"metadata sets properties; a schema may only restrict name and generateName"}},
		"names":                    {object + "  metadata: {type: object, properties: {name: {type: string, maxLength: 5}, generateName: {type: string}}}\n", false, nil},
		"set of objects":           {object + "  a: {type: array, x-kubernetes-list-type: set, items: {type: object}}\n", false, []string{"a is a set, but its elements are not atomic"}},
		"set of atomic objects":    {object + "  a: {type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic}}\n", false, nil},
		"map with an optional key": {object + "  a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b], items: {type: object, properties: {b: {type: string}}}}\n", false, []string{"a lists the key b, which is neither required nor has a default"}},
		"map with a required key":  {object + "  a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b], items: {type: object, required: [b], properties: {b: {type: string}}}}\n", false, nil},
		"default of another type":  {object + "  a: {type: boolean, default: 'true'}\n", false, []string{"a has a default that is not of type boolean"}},
		"default below a map":      {object + "  a: {type: object, additionalProperties: {type: boolean, default: 'true'}}\n", false, nil},
		"pattern":                  {object + "  a: {type: object, properties: {b: {type: string, pattern: '(?=c)'}}}\n", false, []string{"a.b has a pattern that is not a valid regular expression"}},
		"type below anyOf":         {object + "  a: {type: string, anyOf: [{type: string}]}\n", false, []string{"a has type below allOf, anyOf, oneOf or not, where it is not allowed"}},
		"field only below not":     {object + "not: {properties: {b: {}}}\n", false, []string{"restricts b, which only allOf, anyOf, oneOf or not mention"}},
		"int or string":            {object + "  a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}\n", false, nil},
	} {
		f := yamldoc.Parse(yamldoc.NewFile("crd.yaml", []byte(c.schema)))
		if len(f.Docs) != 1 || f.Docs[0].Err != nil {
			t.Fatalf("%s: %v", name, f.Docs)
		}
		var checker schemaChecker
		var got []string
		for _, v := range checker.check(f.Docs[0].Root, c.status) {
			if v.node == nil {
				t.Errorf("%s: %+v has no node", name, v)
			}
			got = append(got, strings.TrimSpace(v.path+" "+v.message))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
