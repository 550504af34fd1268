package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// definitionMutants is how many changed CRDs are compared with the validation of the
// API server.
var definitionMutants = share.Of(600, 6000)

// TestDefinitions compares the rules that speak for the API server with its own
// validation of CRDs: those of the examples and the corpus as they are, and
// changed in one place.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	crds := definitions(t)
	for _, c := range crds {
		compareDefinition(t, "as it is", c)
	}
	random := rand.New(rand.NewPCG(5, 6))
	refused := map[string]int{}
	for n := range definitionMutants {
		c := clone(crds[random.IntN(len(crds))])
		fault := definitionFaults[n%len(definitionFaults)]
		if !fault.make(random, c) {
			continue
		}
		if compareDefinition(t, fault.name, c) {
			refused[fault.name]++
		}
	}
	for _, f := range definitionFaults {
		if refused[f.name] == 0 {
			t.Errorf("%s: the API server refused none of these", f.name)
		}
	}
	t.Log(refused)
}

type object = map[string]any

// definitions returns the CRDs of all good examples and the smaller ones of the
// corpus. Expressions are left out: they take long to compile.
func definitions(t *testing.T) []object {
	t.Helper()
	var out []object
	add := func(name, text string) {
		file := manifest.New(repo.BytesArtifact(name, nil), layouts.Components, []byte(text))
		for _, o := range file.Objects() {
			if c := crd.Of(o); c != nil && o.Version == "v1" {
				m := o.Doc.Root.Value().(object)
				if data, _ := json.Marshal(m); len(data) < 60<<10 {
					walkSchemas(m, func(s object) { delete(s, "x-kubernetes-validations") })
					out = append(out, m)
				}
			}
		}
	}
	for _, rule := range rules.All {
		e, err := examples.Load(rule.ID)
		if err != nil {
			continue // a test of the rules themselves complains
		}
		for name, text := range e.Good.Text {
			if layouts.KindOfFile(filepath.Base(name)) == layouts.Components {
				add(name, text)
			}
		}
	}
	var files []string
	if root, missing := share.FindCorpus("releases"); missing == "" {
		files, _ = filepath.Glob(filepath.Join(root, "*", "*", "*components*.yaml"))
	} else {
		t.Log(missing)
	}
	for _, file := range files {
		data := given.Read(t, file)
		add(file, string(data))
	}
	t.Logf("%d definitions", len(out))
	return out
}

func clone(m object) object {
	data, _ := json.Marshal(m)
	var out object
	_ = json.Unmarshal(data, &out)
	return out
}

// serverRules speak for the validation of CRDs.
var serverRules = []string{"CRD003", "CRD006", "CRD007", "CRD024", "CRD026", "CRD033", "CRD035"}

// compareDefinition requires that lint and the API server agree, and reports
// whether they refuse.
func compareDefinition(t *testing.T, what string, m object) bool {
	t.Helper()
	data := given.Value(json.Marshal(m))(t)
	var typed apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(data, &typed); err != nil {
		return false // no question for these rules
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&typed)
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&typed, &internal, nil); err != nil {
		return false
	}
	server := validation.ValidateCustomResourceDefinition(context.Background(), &internal)

	a := repo.BytesArtifact("infrastructure-components.yaml", data)
	release := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Artifacts: []*repo.Artifact{a}}
	var own []*lint.Rule
	for _, id := range serverRules {
		own = append(own, rules.ByID(id))
	}
	r := &repo.Repository{Providers: []*repo.Provider{{Provider: release.Provider, Releases: []*repo.Release{release}}}}
	report, err := lint.Run(context.Background(), r, lint.Options{Rules: own})
	if err != nil || len(report.Failures) > 0 {
		t.Fatal(err, report.Failures)
	}
	var errs []string
	for _, f := range report.Findings {
		if f.Severity == lint.Error {
			errs = append(errs, f.Rule.ID+" "+f.Message)
		}
	}
	if (len(server) > 0) != (len(errs) > 0) {
		text := server.ToAggregate()
		t.Errorf("%s of %s:\nAPI server: %.600v\nlint: %s", what, typed.Name, text, strings.Join(errs, "\n      "))
	}
	return len(server) > 0 && len(errs) > 0
}

// schemas lists all schemas of a definition that describe values.
func schemas(m object) []object {
	var out []object
	walkSchemas(m, func(s object) { out = append(out, s) })
	return out
}

func walkSchemas(m object, visit func(object)) {
	var walk func(v any)
	walk = func(v any) {
		s, ok := v.(object)
		if !ok {
			return
		}
		visit(s)
		walk(s["items"])
		walk(s["additionalProperties"])
		properties, _ := s["properties"].(object)
		for _, name := range keys(properties) {
			walk(properties[name])
		}
	}
	for _, v := range versions(m) {
		schema, _ := v["schema"].(object)
		walk(schema["openAPIV3Schema"])
	}
}

func keys(m object) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func versions(m object) []object {
	var out []object
	list, _ := m["spec"].(object)["versions"].([]any)
	for _, v := range list {
		out = append(out, v.(object))
	}
	return out
}

// definitionFaults change a definition in one place; false if there is none.
var definitionFaults = []struct {
	name string
	make func(r *rand.Rand, m object) bool
}{
	{"no type", inSchema("", func(s object) { delete(s, "type") })},
	{"unknown type", inSchema("", func(s object) { s["type"] = "text" })},
	{"type at root", func(r *rand.Rand, m object) bool { return atRoot(r, m, func(s object) { s["type"] = "string" }) }},
	{"no items", inSchema("array", func(s object) { delete(s, "items") })},
	{"list of items", inSchema("array", func(s object) { s["items"] = []any{s["items"]} })},
	{"properties and additionalProperties", inSchema("object", func(s object) {
		s["properties"] = object{"a": object{"type": "string"}}
		s["additionalProperties"] = object{"type": "string"}
	})},
	{"additionalProperties at root", func(r *rand.Rand, m object) bool {
		return atRoot(r, m, func(s object) { delete(s, "properties"); s["additionalProperties"] = true })
	}},
	{"nullable root", func(r *rand.Rand, m object) bool { return atRoot(r, m, func(s object) { s["nullable"] = true }) }},
	{"allOf at root", func(r *rand.Rand, m object) bool {
		return atRoot(r, m, func(s object) { s["allOf"] = []any{object{"required": []any{"spec"}}} })
	}},
	{"description of metadata", func(r *rand.Rand, m object) bool {
		return atRoot(r, m, func(s object) {
			s["properties"] = object{"metadata": object{"type": "object", "description": "What it is."}}
		})
	}},
	{"restricted metadata", func(r *rand.Rand, m object) bool {
		return atRoot(r, m, func(s object) {
			p := []string{"name", "labels"}[r.IntN(2)]
			s["properties"] = object{"metadata": object{"type": "object", "properties": object{p: object{"type": "string"}}}}
		})
	}},
	{"type of kind", func(r *rand.Rand, m object) bool {
		return atRoot(r, m, func(s object) { s["properties"] = object{"kind": object{"type": "integer"}} })
	}},
	{"default of kind", func(r *rand.Rand, m object) bool {
		return atRoot(r, m, func(s object) { s["properties"] = object{"kind": object{"type": "string", "default": "Foo"}} })
	}},
	{"uniqueItems", inSchema("array", func(s object) { s["uniqueItems"] = true })},
	{"pattern", inSchema("string", func(s object) { s["pattern"] = "a(?!b)" })},
	{"default of another type", inSchema("boolean", func(s object) { s["default"] = "yes" })},
	{"default of a list", inSchema("array", func(s object) { s["default"] = object{} })},
	{"default that is too long", inSchema("string", func(s object) { s["default"], s["maxLength"] = "yes", 2 })},
	{"default with an unknown field", inSchema("object", func(s object) { s["default"] = object{"unknown": "a"} })},
	{"default without a required field", inSchema("object", func(s object) {
		s["default"], s["required"] = object{}, []any{"zzz"}
	})},
	{"list type of a string", inSchema("string", func(s object) { s["x-kubernetes-list-type"] = "atomic" })},
	{"unknown list type", inSchema("array", func(s object) { s["x-kubernetes-list-type"] = "bag" })},
	{"list map without keys", inSchema("array", func(s object) {
		s["x-kubernetes-list-type"] = "map"
		delete(s, "x-kubernetes-list-map-keys")
	})},
	{"list map of scalars", inSchema("array", func(s object) {
		s["x-kubernetes-list-type"] = "map"
		s["x-kubernetes-list-map-keys"] = []any{"name"}
		s["items"] = object{"type": "string"}
	})},
	{"list map with a key that may be missing", inSchema("array", func(s object) {
		s["x-kubernetes-list-type"] = "map"
		s["x-kubernetes-list-map-keys"] = []any{"name"}
		s["items"] = object{"type": "object", "properties": object{"name": object{"type": "string"}}}
	})},
	{"list map with an unknown key", inSchema("array", func(s object) {
		s["x-kubernetes-list-type"] = "map"
		s["x-kubernetes-list-map-keys"] = []any{"name"}
		s["items"] = object{"type": "object", "properties": object{"other": object{"type": "string"}}}
	})},
	{"nullable elements of a set", inSchema("array", func(s object) {
		s["x-kubernetes-list-type"] = "set"
		s["items"] = object{"type": "string", "nullable": true}
	})},
	{"set of objects", inSchema("array", func(s object) {
		delete(s, "x-kubernetes-list-map-keys")
		s["x-kubernetes-list-type"] = "set"
		s["items"] = object{"type": "object"}
	})},
	{"keys without list map", inSchema("array", func(s object) {
		delete(s, "x-kubernetes-list-type")
		s["x-kubernetes-list-map-keys"] = []any{"name"}
	})},
	{"map type of a list", inSchema("array", func(s object) { s["x-kubernetes-map-type"] = "atomic" })},
	{"unknown map type", inSchema("object", func(s object) { s["x-kubernetes-map-type"] = "loose" })},
	{"preserves nothing", inSchema("", func(s object) { s["x-kubernetes-preserve-unknown-fields"] = false })},
	{"int-or-string that preserves", inSchema("", func(s object) {
		s["x-kubernetes-int-or-string"] = true
		s["x-kubernetes-preserve-unknown-fields"] = true
	})},
	{"embedded string", inSchema("string", func(s object) { s["x-kubernetes-embedded-resource"] = true })},
	{"embedded without properties", inSchema("object", func(s object) {
		delete(s, "properties")
		delete(s, "additionalProperties")
		delete(s, "x-kubernetes-preserve-unknown-fields")
		s["x-kubernetes-embedded-resource"] = true
	})},
	{"reference", inSchema("object", func(s object) { s["$ref"] = "#/definitions/x" })},
	{"definitions", inSchema("object", func(s object) { s["definitions"] = object{"x": object{"type": "string"}} })},
	{"patternProperties", inSchema("object", func(s object) { s["patternProperties"] = object{"x": object{"type": "string"}} })},
	{"type in anyOf", inSchema("string", func(s object) { s["anyOf"] = []any{object{"type": "string"}} })},
	{"unknown property in oneOf", func(r *rand.Rand, m object) bool {
		return atRoot(r, m, func(s object) { s["oneOf"] = []any{object{"properties": object{"zzz": object{"minLength": 1}}}} })
	}},
	{"unknown items in allOf of not", func(r *rand.Rand, m object) bool {
		return atRoot(r, m, func(s object) {
			s["not"] = object{"allOf": []any{object{"properties": object{"spec": object{"items": object{"maxLength": 3}}}}}}
		})
	}},
	{"metadata in anyOf", inSchema("object", func(s object) {
		s["anyOf"] = []any{object{"properties": object{"metadata": object{"maxProperties": 1}}}}
	})},
	{"description in allOf", inSchema("string", func(s object) { s["allOf"] = []any{object{"description": "short"}} })},
	{"default in not", inSchema("string", func(s object) { s["not"] = object{"allOf": []any{object{"default": "x"}}} })},
	{"additionalProperties in anyOf", inSchema("object", func(s object) {
		s["anyOf"] = []any{object{"additionalProperties": object{"minLength": 1}}}
	})},
	// The API server does not mind these below the root.
	{"unknown property deeper or a type in not", inSchema("object", func(s object) {
		s["not"] = object{"properties": object{"zzz": object{"items": object{"maxLength": 3}}}}
		s["oneOf"] = []any{object{"type": "object"}}
	})},
	{"no schema", func(r *rand.Rand, m object) bool { delete(pick(r, versions(m)), "schema"); return true }},

	{"name", inSpec(func(r *rand.Rand, m, spec object) { m["metadata"].(object)["name"] = "other.example.com" })},
	{"group", inSpec(func(r *rand.Rand, m, spec object) {
		group := []string{"nodot", "Upper.example.com", "a..b", "-a.b"}[r.IntN(4)]
		spec["group"] = group
		m["metadata"].(object)["name"] = fmt.Sprint(spec["names"].(object)["plural"], ".", group)
	})},
	{"scope", inSpec(func(r *rand.Rand, m, spec object) { spec["scope"] = []any{"Global", ""}[r.IntN(2)] })},
	{"kind", inSpec(func(r *rand.Rand, m, spec object) {
		spec["names"].(object)["kind"] = []any{"Foo_Bar", "", "9Foo"}[r.IntN(3)]
	})},
	{"singular", inSpec(func(r *rand.Rand, m, spec object) { spec["names"].(object)["singular"] = "Foo" })},
	{"list of the same name", inSpec(func(r *rand.Rand, m, spec object) {
		spec["names"].(object)["listKind"] = spec["names"].(object)["kind"]
	})},
	{"short name", inSpec(func(r *rand.Rand, m, spec object) { spec["names"].(object)["shortNames"] = []any{"fo o"} })},
	{"category", inSpec(func(r *rand.Rand, m, spec object) { spec["names"].(object)["categories"] = []any{"All"} })},
	{"storage", inSpec(func(r *rand.Rand, m, spec object) {
		v := pick(r, versions(m))
		v["storage"] = !v["storage"].(bool)
	})},
	{"same version twice", inSpec(func(r *rand.Rand, m, spec object) {
		v := clone(versions(m)[0])
		v["storage"] = false
		spec["versions"] = append(spec["versions"].([]any), v)
	})},
	{"version name", inSpec(func(r *rand.Rand, m, spec object) { pick(r, versions(m))["name"] = "v1.0" })},
	{"warning", inSpec(func(r *rand.Rand, m, spec object) {
		v := pick(r, versions(m))
		v["deprecated"] = false
		v["deprecationWarning"] = "soon gone"
	})},
	{"column", inSpec(func(r *rand.Rand, m, spec object) {
		column := []object{
			{"name": "A", "type": "text", "jsonPath": ".a"}, {"name": "A", "type": "string", "jsonPath": "a"},
			{"name": "", "type": "string", "jsonPath": ".a"}, {"name": "A", "type": "string"},
		}[r.IntN(4)]
		pick(r, versions(m))["additionalPrinterColumns"] = []any{column}
	})},
	{"scale", inSpec(func(r *rand.Rand, m, spec object) {
		scale := []object{
			{"specReplicasPath": ".replicas", "statusReplicasPath": ".status.replicas"}, {"specReplicasPath": ".spec.replicas"},
			{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": "selector"},
		}[r.IntN(3)]
		pick(r, versions(m))["subresources"] = object{"scale": scale}
	})},
	{"conversion", inSpec(func(r *rand.Rand, m, spec object) {
		service := object{"service": object{"name": "x", "namespace": "y"}}
		spec["conversion"] = []object{
			{"strategy": "Webhook"}, {"strategy": "Other"}, {}, {"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{"v1"}}},
			{"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{"v1"}, "clientConfig": object{}}},
			{"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{"v2"}, "clientConfig": service}},
			{"strategy": "Webhook", "webhook": object{"clientConfig": service}},
			{"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{"v1"}, "clientConfig": object{"url": "http://x.io"}}},
			{"strategy": "None", "webhook": object{"conversionReviewVersions": []any{"v1"}, "clientConfig": service}},
			{"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{"v1"}, "clientConfig": object{"service": object{"name": "x"}}}},
		}[r.IntN(10)]
	})},
}

func pick(r *rand.Rand, list []object) object { return list[r.IntN(len(list))] }

func inSpec(change func(r *rand.Rand, m, spec object)) func(*rand.Rand, object) bool {
	return func(r *rand.Rand, m object) bool {
		change(r, m, m["spec"].(object))
		return true
	}
}

// inSchema changes a schema of a type, below the root.
func inSchema(kind string, change func(object)) func(*rand.Rand, object) bool {
	return func(r *rand.Rand, m object) bool {
		fits := slices.DeleteFunc(schemas(m), func(s object) bool { return kind != "" && s["type"] != kind })
		if len(fits) == 0 {
			return false
		}
		change(pick(r, fits))
		return true
	}
}

func atRoot(r *rand.Rand, m object, change func(object)) bool {
	schema, _ := pick(r, versions(m))["schema"].(object)["openAPIV3Schema"].(object)
	if schema == nil {
		return false
	}
	change(schema)
	return true
}
