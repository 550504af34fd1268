package structural_test

import (
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/structural"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// TestCheck has a schema for every kind of violation, and what comes close to it.
func TestCheck(t *testing.T) {
	type place struct {
		kind structural.Kind
		path string
	}
	const object = "type: object\nproperties:\n"
	for name, c := range map[string]struct {
		schema string
		status bool
		want   []place
	}{
		"sound":                    {object + "  a: {type: string, pattern: '^a$', default: b}\n  b: {type: array, items: {type: string}}\n", true, nil},
		"no type":                  {object + "  a: {description: b}\n", false, []place{{structural.Type, "a"}}},
		"unknown type":             {object + "  a: {type: text}\n", false, []place{{structural.Type, "a"}}},
		"root is no object":        {"type: array\nitems: {type: string}\n", false, []place{{structural.Type, ""}}},
		"kind of another type":     {object + "  kind: {type: integer}\n", false, []place{{structural.Type, ""}}},
		"unique items":             {object + "  a: {type: array, uniqueItems: true, items: {type: string}}\n", false, []place{{structural.Keyword, "a"}}},
		"definitions":              {object + "  a: {type: string, $ref: b}\n", false, []place{{structural.Keyword, "a"}}},
		"array without items":      {object + "  a: {type: array}\n", false, []place{{structural.Conflict, "a"}}},
		"properties and more":      {object + "  a: {type: object, properties: {b: {type: string}}, additionalProperties: false}\n", false, []place{{structural.Conflict, "a"}}},
		"nullable root":            {"type: object\nnullable: true\n", false, []place{{structural.Root, ""}}},
		"default beside status":    {"type: object\ndefault: {}\n", true, []place{{structural.Root, ""}}},
		"default without status":   {"type: object\ndefault: {}\n", false, nil},
		"labels":                   {object + "  metadata: {type: object, properties: {labels: {type: object}}}\n", false, []place{{structural.Root, "metadata"}}},
		"names":                    {object + "  metadata: {type: object, properties: {name: {type: string, maxLength: 5}}}\n", false, nil},
		"set of objects":           {object + "  a: {type: array, x-kubernetes-list-type: set, items: {type: object}}\n", false, []place{{structural.Merge, "a"}}},
		"set of atomic objects":    {object + "  a: {type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic}}\n", false, nil},
		"map with an optional key": {object + "  a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b], items: {type: object, properties: {b: {type: string}}}}\n", false, []place{{structural.Merge, "a"}}},
		"map with a required key":  {object + "  a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b], items: {type: object, required: [b], properties: {b: {type: string}}}}\n", false, nil},
		"default of another type":  {object + "  a: {type: boolean, default: 'true'}\n", false, []place{{structural.Default, "a"}}},
		"default below a map":      {object + "  a: {type: object, additionalProperties: {type: boolean, default: 'true'}}\n", false, nil},
		"pattern":                  {object + "  a: {type: object, properties: {b: {type: string, pattern: '(?=c)'}}}\n", false, []place{{structural.Pattern, "a.b"}}},
		"type below anyOf":         {object + "  a: {type: string, anyOf: [{type: string}]}\n", false, []place{{structural.Junctor, "a"}}},
		"field only below not":     {object + "not: {properties: {b: {}}}\n", false, []place{{structural.Junctor, ""}}},
		"int or string":            {object + "  a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}\n", false, nil},
	} {
		f := yamldoc.Parse(yamldoc.NewFile("crd.yaml", []byte(c.schema)))
		if len(f.Docs) != 1 || f.Docs[0].Err != nil {
			t.Fatalf("%s: %v", name, f.Docs)
		}
		var checker structural.Checker
		var got []place
		for _, v := range checker.Check(f.Docs[0].Root, c.status) {
			if v.Node == nil || v.Message == "" {
				t.Errorf("%s: %+v has no node or no message", name, v)
			}
			got = append(got, place{v.Kind, v.Path})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
