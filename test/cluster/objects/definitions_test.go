package objects

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// definitionMutants is how many CRDs that were changed at random are compared.
var definitionMutants = share.Of(1000, 20000)

// definitionRules speak for the validation of CRDs.
var definitionRules = []string{"CRD003", "CRD006", "CRD007", "CRD024", "CRD026", "CRD033", "CRD034", "CRD035", "YAML013", "YAML014"}

func created(m object, t *testing.T) (errs field.ErrorList, ok bool) {
	t.Helper()
	data := given.Value(json.Marshal(m))(t)
	var typed apiextensionsv1.CustomResourceDefinition
	if json.Unmarshal(data, &typed) != nil {
		return nil, false
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&typed)
	var internal apiextensions.CustomResourceDefinition
	if apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&typed, &internal, nil) != nil {
		return nil, false
	}
	return validation.ValidateCustomResourceDefinition(t.Context(), &internal), true
}

// TestDefinitionsAtRandom compares the rules about CRDs with the validation of the API
// server: those of the corpus, each with one place changed, and with fields added that
// real CRDs seldom have.
func TestDefinitionsAtRandom(t *testing.T) {
	t.Parallel()
	crds := definitions(t)
	random := rand.New(rand.NewPCG(9, 10))
	compared, differ, refused := 0, 0, 0
	for i := range definitionMutants {
		c := clone(crds[random.IntN(len(crds))])
		var what string
		if i%2 == 0 {
			what = disturb(random, c)
		} else {
			a := additions[random.IntN(len(additions))]
			what = a.name
			if !a.make(c, random) {
				continue
			}
		}
		server, ok := created(c, t)
		if !ok {
			continue
		}
		compared++
		errs := linted(t, c, definitionRules)
		if len(server) > 0 {
			refused++
		}
		if (len(server) > 0) != (len(errs) > 0) {
			differ++
			t.Logf("%s: CustomResourceDefinition {%v:\nAPI server: %.400v\nlint: %.400s", what, c["metadata"].(object)["name"], server.ToAggregate(), strings.Join(errs, "; "))
		}
	}
	t.Logf("%d random definitions, %d refused, %d with another verdict", compared, refused, differ)
	if float64(differ) > (1-sameVerdict)*float64(compared) || refused < compared/20 {
		t.Errorf("%d of %d random definitions get another verdict; %d are refused", differ, compared, refused)
	}
}

// additions set fields of a CRD to good and bad values.
var additions = []struct {
	name string
	make func(m object, r *rand.Rand) bool
}{
	{"preserveUnknownFields", inSpec("preserveUnknownFields", true, false, nil)},
	{"deprecationWarning", inVersion("deprecationWarning", nil, "", "old", strings.Repeat("a", 257), "a\tb")},
	{"deprecated with a warning", func(m object, r *rand.Rand) bool {
		inVersion("deprecated", true)(m, r)
		return inVersion("deprecationWarning", nil, "", "old", strings.Repeat("a", 257), "a\tb")(m, r)
	}},
	{"selectableFields", inVersion("selectableFields", nil, []any{}, []any{object{}}, []any{object{"jsonPath": ".spec"}},
		[]any{object{"jsonPath": ".kind"}}, []any{object{"jsonPath": ".kind"}, object{"jsonPath": ".kind"}}, []any{object{"jsonPath": ".metadata.name"}},
		[]any{object{"jsonPath": ".spec.nowhere"}}, []any{object{"jsonPath": "kind"}}, []any{object{"jsonPath": ".spec['a']"}}, []any{object{"jsonPath": "."}})},
	{"columns", inVersion("additionalPrinterColumns", nil, column("format", "int32"), column("format", "int"), column("format", ""), column("type", "text"), column("jsonPath", "."), column("jsonPath", ".a b"), column("jsonPath", "a"), column("name", ""), column("priority", -1))},
	{"conversion", inSpec("conversion", nil, object{"strategy": "None", "webhook": nil}, object{"strategy": "None"}, webhook(nil, "v1"), webhook(object{}, "v1"),
		webhook(object{"url": "https://x.io/a"}, "v1"), webhook(object{"url": "https://x.io/a?b"}, "v1"), webhook(object{"url": "https:///a"}, "v1"), webhook(object{"url": "https://u@x.io"}, "v1"), webhook(object{"url": "http://x.io#a"}, "v1"),
		webhook(service("path", "/a"), "v1"), webhook(service("path", "a"), "v1"), webhook(service("path", "/a//b"), "v1"), webhook(service("path", "/A"), "v1"), webhook(service("path", ""), "v1"), webhook(service("path", nil), "v1"), webhook(service("path", "/a/"), "v1"),
		webhook(service("port", 0), "v1"), webhook(service("port", 443), "v1"), webhook(service("port", 65536), "v1"), webhook(service("namespace", ""), "v1"), webhook(object{"service": nil, "url": "https://x.io"}, "v1"),
		webhook(service("path", "/a"), "v1", "v1"), webhook(service("path", "/a"), "v1", "V2"), webhook(service("path", "/a"), "v2", "v1beta1"), webhook(service("path", "/a"), "v1", ""))},
	{"embedded at the root", inRoot("x-kubernetes-embedded-resource", nil, true, false)},
	{"list type at the root", inRoot("x-kubernetes-list-type", nil, "", "atomic")},
	{"map type at the root", inRoot("x-kubernetes-map-type", nil, "atomic", "granular")},
	{"enum at the root", inRoot("enum", nil, []any{object{}})},
	{"not at the root", inRoot("not", nil, object{"required": []any{"spec"}})},
	{"nullable root", inRoot("nullable", nil, true, false)},
	{"no properties", inRoot("properties", nil, object{}, object{"a": nil}, object{"a": object{}})},
	{"required", inRoot("required", nil, []any{}, []any{"spec"})},
	{"subresources", inVersion("subresources", nil, object{}, object{"status": nil}, object{"scale": nil}, object{"scale": object{}},
		object{"scale": object{"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a", "labelSelectorPath": nil}},
		object{"scale": object{"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a", "labelSelectorPath": ".metadata.a"}})},
	{"schema", inVersion("schema", nil, object{}, object{"openAPIV3Schema": nil}, object{"openAPIV3Schema": object{}}, object{"openAPIV3Schema": object{"type": "object"}})},
	{"short names", inNames("shortNames", nil, []any{}, []any{""}, []any{"A"})},
	{"names", inNames("singular", nil, "", "A", "a")},
	{"list kind", inNames("listKind", nil, "", "a_b", "AList")},
	{"group", func(m object, r *rand.Rand) bool {
		group := []string{"k8s.io", "a.k8s.io", "kubernetes.io", "a.x-k8s.io"}[r.IntN(4)]
		spec := m["spec"].(object)
		spec["group"] = group
		m["metadata"] = object{"name": fmt.Sprint(spec["names"].(object)["plural"], ".", group)}
		if text := []string{"", "unapproved, an experiment", "https://x.io/1", "yes"}[r.IntN(4)]; text != "" {
			m["metadata"].(object)["annotations"] = object{"api-approved.kubernetes.io": text}
		}
		return true
	}},
}

func one(r *rand.Rand, values []any) any { return values[r.IntN(len(values))] }

func inSpec(field string, values ...any) func(object, *rand.Rand) bool {
	return func(m object, r *rand.Rand) bool { m["spec"].(object)[field] = one(r, values); return true }
}

func inNames(field string, values ...any) func(object, *rand.Rand) bool {
	return func(m object, r *rand.Rand) bool {
		m["spec"].(object)["names"].(object)[field] = one(r, values)
		return true
	}
}

func inVersion(field string, values ...any) func(object, *rand.Rand) bool {
	return func(m object, r *rand.Rand) bool {
		list := m["spec"].(object)["versions"].([]any)
		list[r.IntN(len(list))].(object)[field] = one(r, values)
		return true
	}
}

func inRoot(field string, values ...any) func(object, *rand.Rand) bool {
	return func(m object, r *rand.Rand) bool {
		list := m["spec"].(object)["versions"].([]any)
		list[r.IntN(len(list))].(object)["schema"].(object)["openAPIV3Schema"].(object)[field] = one(r, values)
		return true
	}
}

func column(field string, value any) []any {
	c := object{"name": "A", "type": "string", "jsonPath": ".spec"}
	c[field] = value
	return []any{c}
}

func service(field string, value any) object {
	s := object{"name": "a", "namespace": "b"}
	s[field] = value
	return object{"service": s}
}

func webhook(client any, versions ...any) object {
	return object{"strategy": "Webhook", "webhook": object{"clientConfig": client, "conversionReviewVersions": versions}}
}
