package crd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// read parses one document.
func read(t testing.TB, text string) *yamldoc.Document {
	t.Helper()
	s := yamldoc.Parse(yamldoc.NewFile("x.yaml", []byte(text)))
	if len(s.Docs) != 1 || s.Docs[0].Err != nil {
		t.Fatalf("%q: %d documents, %v", text, len(s.Docs), s.Err)
	}
	return s.Docs[0]
}

// check compares the field v of a document with its field s.
func check(t *testing.T, c *crd.Checker, text string, strict bool) []string {
	t.Helper()
	d := read(t, text)
	var out []string
	for _, v := range c.Check(crd.Schema{Node: d.Root.Get("s")}, d.Root.Get("v"), strict) {
		pos := d.Pos(v.Node)
		out = append(out, fmt.Sprintf("%d:%d %s %s", pos.Line, pos.Column, v.Path, v.Message))
	}
	return out
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct{ s, v, want string }{
		{"{type: string}", "a", ""},
		{"{type: string}", "1", "2:4  is an integer, but must be a string"},
		{"{type: integer}", "1.0", ""},
		{"{type: integer}", "1.5", "2:4  is a number, but must be an integer"},
		{"{type: number}", "1", ""},
		{"{type: string}", "null", "2:4  is null, but must be a string"},
		{"{type: string, nullable: true}", "null", ""},
		{"{x-kubernetes-int-or-string: true}", "a", ""},
		{"{x-kubernetes-int-or-string: true}", "true", "2:4  is a boolean, but must be an integer or string"},
		{"{enum: [a, 1]}", "1", ""},
		{"{enum: [a, 1]}", "b", `2:4  is "b", but must be one of "a", 1`},
		{"{minLength: 2, maxLength: 3}", "é", "2:4  has 1 character, but must have at least 2"},
		{"{minLength: 2, maxLength: 3}", "abcd", "2:4  has 4 characters, but may have at most 3"},
		{"{pattern: ^a}", "b", `2:4  is "b", which does not match ^a`},
		{"{pattern: (}", "b", ""},
		{"{type: string, format: ipv4}", "10.0.0.256", `2:4  is "10.0.0.256", want ipv4`},
		{"{type: integer, format: int32}", "3000000000", "2:4  is 3000000000, which is too large for int32"},
		{"{minimum: 1, maximum: 5, exclusiveMaximum: true}", "5", "2:4  is 5, but must be less than 5"},
		{"{minimum: 1}", "0", "2:4  is 0, but must be at least 1"},
		{"{type: array, maxItems: 1, items: {type: string}}", "[a, 1]", "2:4  has 2 entries, but may have at most 1\n2:8 [1] is an integer, but must be a string"},
		{"{uniqueItems: true}", "[{a: 1, b: 2}, {b: 2, a: 1}]", "2:19  has the entry a mapping twice"},
		{"{x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]}", "[{k: a}, {k: b}, {k: a}]", `2:21 [2] repeats k "a"`},
		{"{type: object, required: [a, b], properties: {a: {type: string}}}", "{a: 1, c: 1}", "2:4  lacks b\n2:8 a is an integer, but must be a string\n2:11 c is not a known field"},
		{"{type: object, additionalProperties: {type: string}}", "{a: 1}", "2:8 a is an integer, but must be a string"},
		{"{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: object}}}", "{b: 1, a: {c: 1}}", "2:15 a.c is not a known field"},
		{"{anyOf: [{minimum: 5}, {enum: [1]}]}", "2", "2:4  is 2, which none of the alternatives in anyOf allows"},
		{"{oneOf: [{minimum: 5}, {minimum: 6}]}", "7", "2:4  is 7, which 2 of the alternatives in oneOf allow instead of one"},
		{"{not: {enum: [a]}}", "a", `2:4  is "a", which is not allowed`},
		{"{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}, allOf: [{minProperties: 1}, {properties: {a: {minProperties: 1}}}]}", "{a: {b: c}}", ""},
		{"{type: object, properties: {a: {type: string}}, allOf: [{properties: {a: {minLength: 2}}}]}", "{a: b, c: d}", "2:8 a has 1 character, but must have at least 2\n2:11 c is not a known field"},
		{"{allOf: [{minLength: 2}]}", "a", "2:4  has 1 character, but must have at least 2"},
	} {
		got := strings.Join(check(t, new(crd.Checker), "s: "+tc.s+"\nv: "+tc.v+"\n", true), "\n")
		// A check begins with the keywords, in their order.
		if got != tc.want {
			t.Errorf("%s against %s:\n got %s\nwant %s", tc.v, tc.s, got, tc.want)
		}
	}
}

// TestAlternatives says what the alternatives of a schema see: the object after
// the schema around them has dropped nulls and filled in defaults.
func TestAlternatives(t *testing.T) {
	const properties = "type: object, properties: {a: {type: string, default: x}, b: {type: string}, c: {type: string, nullable: true}}"
	for _, tc := range []struct{ s, v, want string }{
		{"oneOf: [{required: [a]}, {required: [b]}]", "{}", ""},
		{"oneOf: [{required: [a]}, {required: [b]}]", "{b: z}", "2:4  is a mapping, which 2 of the alternatives in oneOf allow instead of one"},
		{"not: {required: [b]}", "{b: null}", ""},
		{"not: {required: [c]}", "{c: null}", "2:4  is a mapping, which is not allowed"},
		{"allOf: [{minProperties: 2}]", "{b: null}", "2:4  has 1 field, but must have at least 2"},
		{"allOf: [{minProperties: 2}]", "{b: z}", ""},
		{"not: {properties: {a: {enum: [x]}}}", "{a: null}", "2:4  is a mapping, which is not allowed"},
		{"not: {properties: {a: {enum: [x]}}}", "{a: z}", ""},
		{"allOf: [{properties: {a: {enum: [y]}}}]", "{}", `2:4  gets "x" for a by default, which is not allowed`},
	} {
		got := strings.Join(check(t, &crd.Checker{Received: true}, "s: {"+properties+", "+tc.s+"}\nv: "+tc.v+"\n", true), "\n")
		if got != tc.want {
			t.Errorf("%s against %s:\n got %s\nwant %s", tc.v, tc.s, got, tc.want)
		}
	}
	open := "s: {type: object, maxProperties: 1, x-kubernetes-preserve-unknown-fields: true}\nv: {a: 1, b: null}\n"
	if got := check(t, &crd.Checker{Received: true}, open, true); len(got) != 1 {
		t.Errorf("nulls that no schema describes stay: %q", got)
	}
}

// TestObject says what every object may have, also one inside another.
func TestObject(t *testing.T) {
	d := read(t, `s:
  type: object
  properties:
    metadata: {type: object, properties: {name: {type: string, maxLength: 1}}}
    spec: {type: object, properties: {inner: {type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {type: object}}}, metadata: {type: object}}}
v:
  apiVersion: v1
  kind: A
  metadata: {name: ab, labels: {a: b}}
  spec: {inner: {kind: B, metadata: {labels: {a: b}}}, metadata: {name: a}}
  sepc: {}
`)
	var got []string
	for _, v := range new(crd.Checker).CheckObject(crd.Schema{Node: d.Root.Get("s")}, d.Root.Get("v")) {
		got = append(got, v.Path)
	}
	if want := []string{"metadata.name", "spec.metadata.name", "sepc"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzCheck looks for schemas and values that make a check fail.
func FuzzCheck(f *testing.F) {
	f.Add("s: {type: object, properties: {a: {pattern: ^a, default: b}}}\nv: {a: b}")
	f.Add("s: {anyOf: [{}, {not: {}}], items: {}, enum: [null]}\nv: [null, .nan]")
	f.Add("s: {required: a, items: [], properties: [], maxLength: x, x-kubernetes-list-map-keys: {}, x-kubernetes-list-type: map}\nv: [{}, {}]")
	f.Fuzz(func(t *testing.T, text string) {
		s := yamldoc.Parse(yamldoc.NewFile("x.yaml", []byte(text)))
		for _, d := range s.Docs {
			c := &crd.Checker{Received: len(text)%2 == 0}
			c.Check(crd.Schema{Node: d.Root.Get("s")}, d.Root.Get("v"), true)
		}
	})
}

// TestFormats judges values by a format beside a type, or in the place of one.
func TestFormats(t *testing.T) {
	for _, tc := range []struct{ s, v, want string }{
		{"{type: boolean, format: date}", "abc", "2:4  is a string, but must be a boolean"},
		{"{x-kubernetes-int-or-string: true, format: uuid}", "abc", `2:4  is "abc", want uuid`},
		{"{x-kubernetes-int-or-string: true, format: uuid}", "1", ""},
	} {
		got := strings.Join(check(t, new(crd.Checker), "s: "+tc.s+"\nv: "+tc.v+"\n", true), "\n")
		if got != tc.want {
			t.Errorf("%s against %s:\n got %s\nwant %s", tc.v, tc.s, got, tc.want)
		}
	}
}
