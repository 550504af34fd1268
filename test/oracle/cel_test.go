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

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// refusedRules are the errors of the API server about the rules in a schema. Other
// says that it refuses something else, and has not looked at the expressions.
func refusedRules(t *testing.T, schema []byte) (out []string, other bool) {
	t.Helper()
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(schema, &props); err != nil {
		return nil, true
	}
	v1 := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos", Singular: "foo", Kind: "Foo", ListKind: "FooList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &props}}},
	}}
	v1.Name = "foos.example.com"
	v1.Status.StoredVersions = []string{"v1"}
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, &internal, nil); err != nil {
		return nil, true
	}
	for _, err := range validation.ValidateCustomResourceDefinition(background, &internal) {
		if strings.Contains(err.Field, "x-kubernetes-validations") || strings.Contains(err.Error(), "estimated rule cost total") {
			out = append(out, err.Error())
		} else if !strings.HasPrefix(err.Field, "spec.conversion") {
			other = true
		}
	}
	return out, other
}

// compareRules compares what the tool and the API server say about the rules in a
// schema.
func compareRules(t *testing.T, what string, schema []byte) (refused bool) {
	t.Helper()
	want, other := refusedRules(t, schema)
	if other && len(want) == 0 {
		return false
	}
	got := cel.Check(yamldoc.Parse(yamldoc.NewFile("schema", schema)).Docs[0].Root, "")
	if (len(want) > 0) != (len(got) > 0) {
		t.Errorf("%s\nthe API server: %s\nthe tool: %v\n%.3000s", what, strings.Join(want, "\n"), got, schema)
	}
	return len(want) > 0
}

// celSchema has fields of all types, with and without limits.
const celSchema = `{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[%s],"required":["name"],"properties":{
"name":{"type":"string","maxLength":63},"free":{"type":"string"},"count":{"type":"integer","minimum":0},"ratio":{"type":"number"},"on":{"type":"boolean"},
"tags":{"type":"array","maxItems":10,"items":{"type":"string","maxLength":20}},"open":{"type":"array","items":{"type":"string"}},
"labels":{"type":"object","maxProperties":5,"additionalProperties":{"type":"string","maxLength":9}},"notes":{"type":"object","additionalProperties":{"type":"string"}},
"either":{"x-kubernetes-int-or-string":true},"raw":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"data":{"type":"string","format":"byte"},
"wait":{"type":"string","format":"duration"},"when":{"type":"string","format":"date-time"},"namespace":{"type":"string","maxLength":9},"a-b":{"type":"string","maxLength":9},
"numbers":{"type":"array","maxItems":8,"items":{"type":"integer"}},"kindOf":{"type":"string","enum":["a","bb"]},"big":{"type":"array","maxItems":1000,"items":{"type":"string","maxLength":1000}},
"parts":{"type":"array","maxItems":20,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["key"],"items":{"type":"object","required":["key"],"properties":{"key":{"type":"string","maxLength":9},"size":{"type":"integer"}}%s}},
"pods":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"}}%s}},
"embedded":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true%s}}}}}`

var (
	celStrings = []string{"self.name", "self.free", "'x'", "self.tags[0]", "self.labels['a']", "self.kindOf", "string(self.count)", "self.__namespace__", "self.namespace", "self.a__dash__b",
		"self.name.lowerAscii()", "self.free.replace('a', 'bb')", "self.tags.join(',')", "self.free.find('[a-z]+')", "self.name.substring(1)", "'%s'.format([self.name])", "url(self.free).getHost()", "self.nope", "self.count"}
	celBools = []string{"self.on", "has(self.free)", "%S == %S", "%S.startsWith(%S)", "%S.matches('^[a-z]+$')", "%S.matches('[')", "%S.matches(self.free)", "self.count > 1", "self.ratio < 1", "self.count == self.ratio",
		"self.tags.all(t, t != %S)", "self.open.all(t, t != %S)", "self.open.all(t, self.open.exists(u, u == t))", "self.big.all(t, self.big.exists(u, u == t))", "self.big.all(x, x.contains(%S))",
		"self.labels.all(k, k != %S)", "self.notes.exists(k, self.notes[k] == %S)", "size(self.tags) < 3", "self.parts.exists_one(p, p.key == %S)", "self.pods.all(p, p.key != %S)", "self.parts.all(p, p.nope == 1)",
		"isURL(%S)", "url(%S).getScheme() == 'https'", "isQuantity(%S)", "quantity(%S).isGreaterThan(quantity('1Gi'))", "quantity(%S).add(1).compareTo(quantity('1')) > 0", "isIP(%S)", "ip(%S).family() == 4", "ip.isCanonical(%S)",
		"cidr(%S).containsIP(%S)", "cidr(%S).containsCIDR(cidr(%S))", "cidr(%S).prefixLength() > 8", "isCIDR(%S)", "semver(%S).major() > 1", "isSemver(%S)", "isSemver(%S, true)", "semver(%S).isLessThan(semver('1.0.0'))",
		"!format.dns1123Label().validate(%S).hasValue()", "format.named(%S).hasValue()", "self.tags.isSorted()", "self.numbers.sum() > 3", "self.numbers.max() == self.numbers.min()", "self.tags.indexOf(%S) >= 0", "self.tags.sum() > 1",
		"sets.contains(self.tags, [%S])", "self.open.map(t, t.size()).sum() > 2", "self.tags.filter(t, t != %S).size() == 0", "self.either == 1", "type(self.either) == string ? self.either == %S : true", "self.raw.x == 1", "size(self.data) > 1",
		"self.wait > duration('1m')", "self.when > timestamp('2020-01-01T00:00:00Z')", "duration('x') > self.wait", "self == oldSelf", "oldSelf.name == self.name", "self.?free.orValue('') == %S", "optional.of(%S).hasValue()",
		"self.labels.transformMap(k, v, v).size() > 0", "self.tags.all(i, t, i < 3 || t == %S)", "self.metadata.name == 'x'", "self.embedded.kind == 'Pod'", "self.embedded.metadata.name == %S", "self.embedded.spec == 1", "self =", "true", "1", "'a'", "dyn(1) == 'a'",
		"[1, 'a'].size() == 2", "self.name in self.tags", "self.name in ['a']", "'a' in self.labels", "self.open.findAll('a')", "%S.findAll('[a-z]').size() > 1", "%S.split(',').size() > 1", "%S.split(',', 2).all(x, x != %S)", "self.tags.distinct().size() == 1", "self.tags.sort() == self.tags", "lists.range(3).size() == 3",
		"quantity(%S) == quantity(%S)", "ip(%S) == ip(%S)", "url(%S) == url(%S)", "semver(%S) == semver(%S)", "cidr(%S).ip() == ip(%S)", "string(ip(%S)) == %S", "cidr(%S).masked() == cidr(%S)", "authorizer.group('').resource('x').check('get').allowed()", "math.greatest(1, 2) > 1", "base64.encode(b'a') == 'x'", "noSuch(%S)"}
)

// celText makes a random expression.
func celText(r *rand.Rand, depth int) string {
	text := celBools[r.IntN(len(celBools))]
	for strings.Contains(text, "%S") {
		text = strings.Replace(text, "%S", celStrings[r.IntN(len(celStrings))], 1)
	}
	if depth > 0 && r.IntN(3) == 0 {
		text = fmt.Sprintf([]string{"(%s) && (%s)", "(%s) || (%s)", "!(%s) && %s"}[r.IntN(3)], text, celText(r, depth-1))
	}
	return text
}

// TestRules compares verdicts on rules in CEL with ValidateCustomResourceDefinition:
// those of the corpus as they are, and random ones.
func TestRules(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*seed, 15))
	refused, n := 0, 0
	quoted := func(text string) string { data, _ := json.Marshal(text); return string(data) }
	small := func(text string) string {
		return `,"x-kubernetes-validations":[{"rule":` + quoted(text) + `}]`
	}
	rule := func() string {
		extra := ""
		switch r.IntN(12) {
		case 0:
			extra = `,"messageExpression":` + quoted(celStrings[r.IntN(len(celStrings))])
		case 1:
			extra = `,"fieldPath":` + quoted([]string{".name", ".nope", ".labels.a", "['a-b']", ".parts[0]", " ", ".metadata", ".tags"}[r.IntN(8)])
		case 2:
			extra = `,"reason":` + quoted([]string{"FieldValueInvalid", "Invalid", "FieldValueRequired"}[r.IntN(3)])
		case 3:
			extra = `,"optionalOldSelf":true`
		case 4:
			extra = `,"message":` + quoted([]string{" ", "a\nb", "fine"}[r.IntN(3)])
		}
		return `{"rule":` + quoted(celText(r, 2)) + extra + `}`
	}
	for range mutations {
		list := rule()
		if r.IntN(4) == 0 {
			list += "," + rule()
		}
		var inner [3]string
		for i, texts := range [][]string{{"self.key == 'a'", "self == oldSelf", "self.size > 'a'", "self.key.matches('a')"}, {"self.key == 'a'", "self == oldSelf", "self.key.contains('a')", "true"}, {"self.kind == 'a'", "self.x == 1", "self.metadata.name.startsWith('a')", "self.metadata.labels == 1"}} {
			if r.IntN(5) == 0 {
				inner[i] = small(texts[r.IntN(len(texts))])
			}
		}
		n++
		if compareRules(t, list, fmt.Appendf(nil, celSchema, list, inner[0], inner[1], inner[2])) {
			refused++
		}
	}
	t.Logf("%d random schemas, %d refused", n, refused)
	if refused < n/10 || refused > n*9/10 {
		t.Error("the schemas are too much alike")
	}
	root := share.Corpus(t, "releases")
	files := given.Value(filepath.Glob(filepath.Join(root, "*", "*", "*-components.yaml")))(t)
	schemas := 0
	for _, name := range files {
		data := given.Read(t, name)
		for _, o := range manifest.New(repo.BytesArtifact(name, data), layouts.Components, data).Objects() {
			c := crd.Of(o)
			if c == nil || o.Version != "v1" {
				continue
			}
			for _, v := range c.Versions {
				rules := false
				v.Schema.Node.Walk(func(_ yamldoc.Path, n *yamldoc.Node) bool {
					rules = rules || n.Get(cel.Keyword) != nil
					return !rules
				})
				if !rules {
					continue
				}
				schemas++
				value := v.Schema.Node.Value()
				schema := given.Value(json.Marshal(value))(t)
				compareRules(t, c.Kind, schema)
				if mutated := mutateRules(r, value); mutated != nil {
					compareRules(t, c.Kind+" mutated", mutated)
				}
			}
		}
	}
	t.Logf("%d schemas with rules in the corpus", schemas)
	if schemas == 0 {
		t.Error("none is compared")
	}
}

// mutateRules changes one rule of a schema, or a limit.
func mutateRules(r *rand.Rand, schema any) []byte {
	var rules []map[string]any
	var limited []map[string]any
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if list, ok := v["x-kubernetes-validations"].([]any); ok {
				for _, e := range list {
					if m, ok := e.(map[string]any); ok {
						rules = append(rules, m)
					}
				}
			}
			if v["maxItems"] != nil || v["maxLength"] != nil || v["maxProperties"] != nil {
				limited = append(limited, v)
			}
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(schema)
	if len(limited) > 0 && r.IntN(3) == 0 {
		m := limited[r.IntN(len(limited))]
		for _, k := range []string{"maxItems", "maxLength", "maxProperties"} {
			delete(m, k)
		}
	} else if len(rules) > 0 {
		m := rules[r.IntN(len(rules))]
		text, _ := m["rule"].(string)
		words := strings.Fields(text)
		if len(words) < 2 {
			return nil
		}
		i := r.IntN(len(words))
		m["rule"] = strings.Join(append(append([]string{}, words[:i]...), words[i+1:]...), " ")
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	return data
}
