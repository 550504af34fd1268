package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apicel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// celFields are values of the fields in celSchema, as JSON.
var celFields = map[string][]string{
	"name": {`"a"`, `"x"`, `"a,b"`, `"10.0.0.1"`, `"1.2.3"`}, "free": {`""`, `"abc"`, `"x"`}, "count": {"0", "2", "3"}, "ratio": {"0", "0.5", "2"}, "on": {"true", "false"},
	"tags": {"[]", `["a","b"]`, `["x"]`}, "open": {"[]", `["x"]`, `["a","a"]`}, "labels": {"{}", `{"a":"x"}`, `{"b":"a"}`}, "notes": {`{"a":"x"}`}, "either": {"1", `"x"`, "2"},
	"raw": {`{"x":1}`}, "data": {`"YWI="`, `""`}, "wait": {`"1s"`, `"2h"`}, "when": {`"2019-01-01T00:00:00Z"`, `"2024-01-01T00:00:00.5+02:00"`}, "namespace": {`"x"`}, "a-b": {`"a"`},
	"numbers": {"[]", "[1,2,3]", "[2]"}, "kindOf": {`"a"`, `"bb"`}, "big": {`["x","y"]`}, "parts": {`[{"key":"a","size":1},{"key":"x"}]`, "[]"}, "pods": {`[{"key":"x"}]`, `[{}]`},
	"embedded": {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}`, `{"apiVersion":"v1","kind":"A","metadata":{}}`},
}

// celForeign are the functions of Kubernetes whose rules the tool does not evaluate.
var celForeign = regexp.MustCompile(`\.add\(|ip\.|cidr\(|string\(ip|emver|format\.|isSorted|sum\(|max\(|min\(|ndexOf|findAll`)

// TestRuleValues compares what rules make of values with the validator of the API
// server: random rules, and random values that fit the schema.
func TestRuleValues(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*seed, 16))
	quoted := func(text string) string { data, _ := json.Marshal(text); return string(data) }
	tried, broken := 0, 0
	for range mutations {
		rule := celText(r, 2)
		if celForeign.MatchString(rule) {
			continue
		}
		extra := []string{"", "", `,"optionalOldSelf":true`, `,"messageExpression":"'m ' + self.name"`}[r.IntN(4)]
		inner := ""
		if r.IntN(3) == 0 {
			inner = `,"x-kubernetes-validations":[{"rule":"self.key == 'x'"}]`
		}
		text := fmt.Appendf(nil, celSchema, `{"rule":`+quoted(rule)+extra+`}`, inner, inner, "")
		if refused, other := refusedRules(t, text); other || len(refused) > 0 {
			continue
		}
		var v1 apiextensionsv1.JSONSchemaProps
		var internal apiextensions.JSONSchemaProps
		given.NoError(t, json.Unmarshal(text, &v1))
		given.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil))
		s := given.Value(schema.NewStructural(&internal))(t)
		validator := apicel.NewValidator(s, true, celconfig.PerCallLimit)
		for range 8 {
			value := `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"x"},"spec":{"name":"x"`
			for name, list := range celFields {
				if name != "name" && r.IntN(3) > 0 {
					value += `,` + quoted(name) + `:` + list[r.IntN(len(list))]
				}
			}
			value += "}}"
			var object map[string]any
			given.NoError(t, utiljson.Unmarshal([]byte(value), &object))
			defaulting.Default(object, s)
			want, _ := validator.Validate(background, nil, s, object, nil, celconfig.RuntimeCELCostBudget)
			got := cel.Evaluate(yamldoc.Parse(yamldoc.NewFile("schema", text)).Docs[0].Root, yamldoc.Parse(yamldoc.NewFile("value", []byte(value))).Docs[0].Root, cel.Values{Received: true, Resource: true})
			tried++
			if len(want) > 0 {
				broken++
			}
			if len(want) != len(got) {
				t.Errorf("rule %s, value %s\nthe API server: %v\nthe tool: %v", rule, value, want, got)
			}
		}
	}
	t.Logf("-seed %d: %d values, %d refused", *seed, tried, broken)
	if broken < tried/10 || broken > tried*9/10 {
		t.Error("the values are too much alike")
	}
}
