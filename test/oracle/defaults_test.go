package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// definition is a CRD whose objects have this spec.
func definition(spec string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"foos","singular":"foo","kind":"Foo","listKind":"FooList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + spec + `}}}}]}}`
}

// compareDefinition compares what lint and the API server say about a CRD.
func compareDefinition(t *testing.T, what string, data []byte) (refused bool) {
	t.Helper()
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(data, &v1); err != nil {
		return false
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&v1)
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &internal, nil); err != nil {
		return false
	}
	want := validation.ValidateCustomResourceDefinition(background, &internal)
	own := phrase.List([]string{"CRD003", "CRD006", "CRD007", "CRD024", "CRD026", "CRD033", "CRD034", "CRD035"}, rules.ByID)
	report, err := lintRelease(foo, lint.Options{Rules: own}, repo.BytesArtifact("infrastructure-components.yaml", data))
	if err != nil || len(report.Failures) > 0 {
		t.Fatal(err, report.Failures)
	}
	var got []string
	for _, f := range report.Findings {
		if f.Severity == lint.Error {
			got = append(got, f.Rule.ID+" "+f.Message)
		}
	}
	if (len(want) > 0) != (len(got) > 0) {
		t.Errorf("%s\nthe API server: %.1000v\nlint: %s\n%.3000s", what, want.ToAggregate(), strings.Join(got, "\n"), data)
	}
	return len(want) > 0
}

// handMade are defaults that meet rules, limits and objects in every place.
var handMade = []string{
	// A rule at the default, above it and below it.
	`{type: integer, default: 1, x-kubernetes-validations: [{rule: self > 1}]}`,
	`{type: integer, default: 2, x-kubernetes-validations: [{rule: self > 1}]}`,
	`{type: object, properties: {a: {type: integer, default: 1}}, x-kubernetes-validations: [{rule: self.a > 1}]}`,
	`{type: object, default: {a: 1}, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: self.a > 1}]}`,
	`{type: object, default: {}, properties: {a: {type: integer, default: 1}}, x-kubernetes-validations: [{rule: self.a > 0}]}`,
	`{type: object, default: {}, properties: {a: {type: integer, default: 1}}, x-kubernetes-validations: [{rule: has(self.a)}]}`,
	`{type: object, default: {a: 1}, properties: {a: {type: integer, x-kubernetes-validations: [{rule: self > 1}]}}}`,
	// The old value.
	`{type: integer, default: 1, x-kubernetes-validations: [{rule: self > oldSelf}]}`,
	`{type: integer, default: 1, x-kubernetes-validations: [{rule: self == oldSelf}]}`,
	`{type: integer, default: 1, x-kubernetes-validations: [{rule: "oldSelf.hasValue()", optionalOldSelf: true}]}`,
	`{type: integer, default: 1, x-kubernetes-validations: [{rule: "!oldSelf.hasValue()", optionalOldSelf: true}]}`,
	`{type: integer, default: 1, x-kubernetes-validations: [{rule: "oldSelf.orValue(1) == self", optionalOldSelf: true}]}`,
	// Functions of Kubernetes.
	`{type: string, maxLength: 40, default: abc, x-kubernetes-validations: [{rule: isURL(self)}]}`,
	`{type: string, maxLength: 40, default: "https://a:1/b", x-kubernetes-validations: [{rule: url(self).getScheme() == 'https' && url(self).getPort() == '1'}]}`,
	`{type: string, maxLength: 40, default: 10.0.0.1, x-kubernetes-validations: [{rule: isIP(self) && ip(self).family() == 6}]}`,
	`{type: string, maxLength: 40, default: "::ffff:10.0.0.1", x-kubernetes-validations: [{rule: isIP(self)}]}`,
	`{type: string, maxLength: 40, default: 10.0.0.0/24, x-kubernetes-validations: [{rule: isCIDR(self)}]}`,
	`{type: string, maxLength: 40, default: 10.0.0.0, x-kubernetes-validations: [{rule: isCIDR(self)}]}`,
	`{type: string, maxLength: 40, default: 2Gi, x-kubernetes-validations: [{rule: quantity(self).isGreaterThan(quantity('3Gi'))}]}`,
	`{type: string, maxLength: 40, default: 2Gb, x-kubernetes-validations: [{rule: isQuantity(self)}]}`,
	`{type: string, maxLength: 40, default: ab1, x-kubernetes-validations: [{rule: "self.find('[0-9]') == '1'"}]}`,
	// Lists and maps.
	`{type: array, maxItems: 2, default: [1, 2], items: {type: integer}, x-kubernetes-validations: [{rule: "self.all(x, x > 1)"}]}`,
	`{type: array, maxItems: 2, default: [1], items: {type: integer, x-kubernetes-validations: [{rule: self > 1}]}}`,
	`{type: array, maxItems: 2, items: {type: integer, default: 1, x-kubernetes-validations: [{rule: self > 1}]}}`,
	`{type: array, maxItems: 2, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], default: [{k: a}, {k: a}], items: {type: object, required: [k], properties: {k: {type: string}}}}`,
	`{type: array, maxItems: 2, x-kubernetes-list-type: set, default: [a, a], items: {type: string}}`,
	`{type: object, maxProperties: 2, default: {a: 1}, additionalProperties: {type: integer, x-kubernetes-validations: [{rule: self > 1}]}}`,
	`{type: object, maxProperties: 2, additionalProperties: {type: integer, default: 1, x-kubernetes-validations: [{rule: self > 1}]}}`,
	`{type: object, maxProperties: 2, default: {a: 1}, additionalProperties: {type: integer}, x-kubernetes-validations: [{rule: "self.exists(k, k == 'b')"}]}`,
	// Limits.
	`{type: string, default: abc, maxLength: 2}`,
	`{type: string, default: abc, enum: [a, b]}`,
	`{type: string, default: abc, pattern: "^b"}`,
	`{type: string, default: abc, format: date}`,
	`{type: string, default: 1 day and a bit, format: duration}`,
	`{type: string, default: 1 dog, format: duration}`,
	`{type: string, default: 2024-01-01T00:00:00Z, format: date-time}`,
	`{type: string, default: 2024-01-01T24:00:00Z, format: date-time}`,
	`{type: string, default: abc, format: duration, x-kubernetes-validations: [{rule: "self > duration('1s')"}]}`,
	`{type: integer, default: 1.5}`,
	`{type: number, default: 1, minimum: 2}`,
	`{type: object, default: {}, required: [a], properties: {a: {type: string, default: x}}}`,
	`{type: object, default: {b: 1}, properties: {a: {type: string}}}`,
	`{type: object, default: {b: 1}, x-kubernetes-preserve-unknown-fields: true}`,
	`{type: string, nullable: true, default: null, enum: [a]}`,
	`{type: object, default: {a: null}, properties: {a: {type: string}}}`,
	`{type: object, default: {a: null}, properties: {a: {type: string, nullable: true}}}`,
	`{x-kubernetes-int-or-string: true, default: 1.5}`,
	`{x-kubernetes-int-or-string: true, default: a, x-kubernetes-validations: [{rule: self == 1}]}`,
	`{type: string, default: a, anyOf: [{minLength: 2}, {pattern: "^b"}]}`,
	// Objects in objects.
	`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {}}`,
	`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {apiVersion: v1, kind: A}}`,
	`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {apiVersion: v1, kind: A, metadata: {name: a, labels: {a: -}}}}`,
	`{type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}, default: {apiVersion: v1, kind: A, spec: {}, other: {}}}`,
	`{type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}, default: {apiVersion: v1, kind: A, metadata: {name: a}}, x-kubernetes-validations: [{rule: self.metadata.name == 'b'}]}`,
	`{type: object, x-kubernetes-embedded-resource: true, properties: {kind: {type: string, default: B_}, spec: {type: object}}}`,
	`{type: object, x-kubernetes-embedded-resource: true, properties: {apiVersion: {type: string, default: a/b/c}, spec: {type: object}}}`,
	`{type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {type: object, properties: {name: {type: string, default: a/b}}}, spec: {type: object}}}`,
	`{type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {type: object, default: {labels: {a: 1}}}, spec: {type: object}}}`,
	`{type: array, default: [{kind: A}], items: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}`,
}

// defaulted makes random schemas with defaults that nearly fit.
type defaulted struct{ *rand.Rand }

func (r defaulted) one(texts ...string) string { return texts[r.IntN(len(texts))] }

// schema returns a schema and a value that has its type.
func (r defaulted) schema(depth int) (s map[string]any, value any) {
	s = map[string]any{}
	var rules []string
	kinds := 6
	if depth <= 0 {
		kinds = 3
	}
	switch r.IntN(kinds) {
	case 0:
		s["type"], value = "integer", r.IntN(4)
		if r.IntN(2) == 0 {
			s[r.one("minimum", "maximum", "multipleOf")] = 1 + r.IntN(3)
		}
		rules = []string{"self > 1", "self < 3", "self in [1, 2]", "self >= oldSelf", "self > oldSelf", "self != 3 || self == oldSelf"}
	case 1:
		s["type"], value = "string", r.one("", "a", "ab", "2024-01-01", "10s")
		s["maxLength"] = 1 + r.IntN(12)
		switch r.IntN(4) {
		case 0:
			s["enum"] = []any{"a", "ab"}
		case 1:
			s["pattern"] = "^a"
		case 2:
			s["minLength"] = 2
		}
		rules = []string{"self.startsWith('a')", "size(self) > 1", "self == oldSelf", "self.matches('^[a-z]*$')", "self != 'a'"}
	case 2:
		s["type"], value = "boolean", r.IntN(2) == 0
		rules = []string{"self", "!self", "self == oldSelf"}
	case 3:
		inner, of := r.schema(depth - 1)
		delete(inner, "default") // a list of defaults would be random twice
		s["type"], s["maxItems"], s["items"] = "array", 1+r.IntN(3), inner
		list := []any{}
		for range r.IntN(3) {
			list = append(list, of)
		}
		value = list
		if r.IntN(3) == 0 && inner["type"] != "array" && inner["type"] != "object" {
			s["x-kubernetes-list-type"] = "set"
		}
		rules = []string{"size(self) > 0", "size(self) < 2", "self.all(x, x == self[0])"}
	case 4:
		inner, of := r.schema(depth - 1)
		delete(inner, "default")
		s["type"], s["maxProperties"], s["additionalProperties"] = "object", 1+r.IntN(3), inner
		m := map[string]any{}
		for range r.IntN(3) {
			m[r.one("a", "b")] = of
		}
		value = m
		rules = []string{"size(self) > 0", "'a' in self", "self.all(k, k != 'b')"}
	default:
		properties, m := map[string]any{}, map[string]any{}
		for _, name := range []string{"a", "b", "c"}[:1+r.IntN(3)] {
			inner, of := r.schema(depth - 1)
			properties[name] = inner
			if r.IntN(3) > 0 {
				m[name] = of
			}
			rules = append(rules, "has(self."+name+")", "!has(self."+name+")", "!has(self."+name+") || self."+name+" == oldSelf."+name)
		}
		if r.IntN(6) == 0 {
			m["other"] = 1
		}
		s["type"], s["properties"] = "object", properties
		if r.IntN(4) == 0 {
			s["required"] = []any{"a"}
		}
		switch r.IntN(8) {
		case 0:
			s["x-kubernetes-preserve-unknown-fields"] = true
		case 1:
			s["x-kubernetes-embedded-resource"] = true
			m["apiVersion"] = r.one("v1", "a/v1", "a/b/v1", "")
			m["kind"] = r.one("A", "A_", "")
			if r.IntN(2) == 0 {
				m["metadata"] = map[string]any{"name": r.one("a", "a/b", ""), "labels": map[string]any{"a": r.one("b", "-")}}
			}
			delete(m, r.one("x", "kind", "apiVersion", "metadata"))
			rules = append(rules, "self.kind == 'A'", "self.metadata.name == 'a'", "self.apiVersion.startsWith('a')")
		}
		value = m
	}
	if r.IntN(3) == 0 {
		rule := map[string]any{"rule": r.one(rules...)}
		if text := rule["rule"].(string); strings.Contains(text, "oldSelf") && r.IntN(2) == 0 {
			rule = map[string]any{"optionalOldSelf": true, "rule": r.one("oldSelf.hasValue()", "!oldSelf.hasValue()", "oldSelf.orValue(self) == self", "true || oldSelf.hasValue()")}
		}
		s["x-kubernetes-validations"] = []any{rule}
	}
	if r.IntN(3) == 0 {
		s["default"] = value
	}
	if r.IntN(12) == 0 {
		s["nullable"] = true
	}
	return s, value
}

// TestDefaults compares verdicts on the defaults in CRDs with
// ValidateCustomResourceDefinition: cases made by hand, random ones, and those of the
// corpus, as they are and with another value.
func TestDefaults(t *testing.T) {
	t.Parallel()
	refused := 0
	for _, spec := range handMade {
		data := given.Value(yaml.YAMLToJSON([]byte(spec)))(t)
		if compareDefinition(t, spec, []byte(definition(string(data)))) {
			refused++
		}
	}
	t.Logf("%d cases made by hand, %d refused", len(handMade), refused)
	if refused < len(handMade)/4 || refused > len(handMade)*3/4 {
		t.Error("the cases are too much alike")
	}
	r := defaulted{rand.New(rand.NewPCG(*seed, 17))}
	refused = 0
	for i := range mutations {
		s, _ := r.schema(3)
		data := given.Value(json.Marshal(s))(t)
		if compareDefinition(t, fmt.Sprint("random ", i), []byte(definition(string(data)))) {
			refused++
		}
	}
	t.Logf("-seed %d: %d random schemas, %d refused", *seed, mutations, refused)
	if refused < mutations/10 || refused > mutations*9/10 {
		t.Error("the schemas are too much alike")
	}
	root := share.Corpus(t, "releases")
	files := given.Value(filepath.Glob(filepath.Join(root, "*", "*", "*-components.yaml")))(t)
	n := 0
	refused = 0
	for _, name := range files {
		data := given.Read(t, name)
		for _, o := range manifest.New(repo.BytesArtifact(name, data), layouts.Components, data).Objects() {
			if o.Kind != "CustomResourceDefinition" || o.Version != "v1" {
				continue
			}
			value := o.Doc.Root.Value()
			if !otherDefault(r, value) {
				continue
			}
			changed := given.Value(json.Marshal(value))(t)
			n++
			if compareDefinition(t, filepath.Base(name)+" "+o.Name, changed) {
				refused++
			}
		}
	}
	t.Logf("%d definitions of the corpus with another default, %d refused", n, refused)
	if n == 0 {
		t.Error("none is compared")
	}
}

// otherDefault changes one default of a definition, if it has any.
func otherDefault(r defaulted, v any) bool {
	var with []map[string]any
	var walk func(v any, name string)
	walk = func(v any, name string) {
		switch v := v.(type) {
		case map[string]any:
			if _, ok := v["default"]; ok && name != "properties" {
				with = append(with, v)
			}
			for k, e := range v {
				walk(e, k)
			}
		case []any:
			for _, e := range v {
				walk(e, "")
			}
		}
	}
	walk(v, "")
	if len(with) == 0 {
		return false
	}
	with[r.IntN(len(with))]["default"] = []any{"a", "", 0, -1, 1.5, true, map[string]any{}, map[string]any{"a": 1}, []any{}, []any{"a"}}[r.IntN(10)]
	return true
}
