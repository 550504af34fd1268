package clusterctl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// randomSchema makes schemas of all fields, few of them with values that the
// conversion changes or refuses.
type randomSchema struct{ *rand.Rand }

func (r randomSchema) one(list ...any) any { return list[r.IntN(len(list))] }

func (r randomSchema) any(depth int) any {
	switch r.IntN(9) {
	case 0:
		return r.one(nil, "", []any{}, map[string]any{}, math.Copysign(0, -1), 1e20, 1e-7, 1<<53+0.0, -1.0)
	case 1:
		return r.one(true, false)
	case 2:
		return r.one(0.0, 1.0, 1.5, 65535.0)
	case 3, 4:
		return r.one("text", "<&\u2028>", "1")
	case 5:
		if depth > 0 {
			return []any{r.any(depth - 1), r.any(depth - 1)}
		}
	case 6:
		if depth > 0 {
			return map[string]any{"a": r.any(depth - 1), "b": r.any(depth - 1)}
		}
	}
	return "text"
}

func (r randomSchema) field(key string, depth int) any {
	if r.IntN(60) == 0 {
		return r.any(1)
	}
	switch key {
	case "nullable", "uniqueItems", "exclusiveMaximum", "exclusiveMinimum", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string":
		return true
	case "x-kubernetes-preserve-unknown-fields":
		return r.one(true, false)
	case "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties":
		return r.one(0.0, 7.0, -3.0)
	case "maximum", "minimum", "multipleOf":
		return r.one(0.0, 1.5, 100.0, -0.25)
	case "default", "example":
		return r.any(2)
	case "enum":
		return []any{r.any(1), "other"}
	case "required", "x-kubernetes-list-map-keys":
		return []any{"name", "other"}
	case "properties", "patternProperties", "definitions":
		return map[string]any{"one": r.schema(depth - 1), "": r.schema(depth - 1)}
	case "allOf", "oneOf", "anyOf":
		return []any{r.schema(depth - 1), r.schema(depth - 1)}
	case "not", "items", "additionalItems":
		return r.schema(depth - 1)
	case "additionalProperties":
		return r.one(true, false, r.schema(depth-1))
	case "x-kubernetes-validations":
		rule := map[string]any{"rule": r.one("self > 0", "self > 0", "")}
		for _, key := range []string{"message", "messageExpression", "fieldPath", "reason"} {
			if r.IntN(3) == 0 {
				rule[key] = "text"
			}
		}
		if r.IntN(3) == 0 {
			rule["optionalOldSelf"] = r.one(true, false)
		}
		if r.IntN(20) == 0 {
			rule[r.one("rule", "message", "other").(string)] = r.any(1)
		}
		return []any{rule}
	}
	return "text"
}

func (r randomSchema) schema(depth int) map[string]any {
	keys := []string{
		"id", "$ref", "description", "type", "format", "title", "default", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
		"maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "enum", "maxProperties", "minProperties",
		"required", "items", "allOf", "oneOf", "anyOf", "not", "properties", "additionalProperties", "patternProperties", "additionalItems",
		"definitions", "externalDocs", "example", "nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
		"x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
		"x-kubernetes-validations", "unknown",
	}
	out := map[string]any{}
	for range r.IntN(5) {
		key := keys[r.IntN(len(keys))]
		if rare := slices.Contains([]string{"id", "$ref", "definitions", "externalDocs", "unknown"}, key); rare && r.IntN(8) > 0 {
			continue
		}
		if schema := r.field(key, depth); depth > 0 || !nested(schema) {
			out[key] = schema
		}
	}
	return out
}

func nested(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return true
	case []any:
		return slices.ContainsFunc(v, nested)
	}
	return false
}

// What the conversion of a definition gives does not depend on whether its schemas
// take part in it, down to the types of numbers.
func TestSchemasAreWhatTheConversionMakes(t *testing.T) {
	r := randomSchema{rand.New(rand.NewPCG(1, 2))}
	kept, failed := 0, 0
	for range 10_000 {
		versions := []any{}
		for i := range 1 + r.IntN(2) {
			version := map[string]any{"name": fmt.Sprintf("v%d", i), "served": true, "storage": i == 0}
			switch r.IntN(20) {
			case 0:
			case 1:
				version["schema"] = r.any(1)
			case 2:
				version["schema"] = map[string]any{"other": "x"}
			default:
				version["schema"] = map[string]any{openAPI: r.schema(3)}
			}
			versions = append(versions, version)
		}
		whole := definitionObject(map[string]any{"group": "g", "versions": versions})
		plain := definitionObject(runtime.DeepCopyJSON(map[string]any{"group": "g", "versions": versions}))
		if r.IntN(50) == 0 { // clusterctl reads no definition with this
			for _, o := range []*object{whole, plain} {
				o.Object["metadata"].(map[string]any)["generation"] = "one"
			}
		}
		before := fmt.Sprint(whole.Object)
		if len(takeSchemas(definitionObject(runtime.DeepCopyJSON(whole.Object["spec"].(map[string]any))))) > 0 {
			kept++
		}
		_, gotErr := moveTo(whole, "target")
		typed, namespaces := webhookServices("CustomResourceDefinition", "v1")
		wantErr := edit(plain, typed, namespaces, "target")
		if (gotErr == nil) != (wantErr == nil) { // of two faults either is reported
			t.Fatalf("%s: got %v, want %v", before, gotErr, wantErr)
		}
		if wantErr != nil {
			failed++
			continue
		}
		if !reflect.DeepEqual(whole.Object, plain.Object) {
			a, _ := yamldoc.Marshal(whole.Object)
			b, _ := yamldoc.Marshal(plain.Object)
			t.Fatalf("%s: got\n%s\nwant\n%s", before, a, b)
		}
	}
	if kept < 500 || failed == 0 {
		t.Errorf("the schemas of %d definitions were kept, %d are refused", kept, failed)
	}
}

func definitionObject(spec map[string]any) *object {
	return &object{Unstructured: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "a"}, "spec": spec,
	}}}
}
