package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// schemaText is the schema of a variable whose keywords have the right types. It has
// nothing of what the tool leaves to Cluster API: defaults, and what is not structural,
// such as an empty type or an array without items.
func schemaText(r *rand.Rand, depth int) string {
	kinds := []string{"string", "integer", "boolean", "object", "number", "array"}
	if depth == 0 {
		kinds = kinds[:5]
	}
	kind := pick(r, kinds[r.IntN(len(kinds))], "text", "null")
	fields := []string{fmt.Sprintf(`"type":%q`, kind)}
	add := func(chance int, text string) {
		if r.IntN(chance) == 0 {
			fields = append(fields, text)
		}
	}
	value := func() string {
		return []string{`"a"`, `"abc"`, `""`, `1`, `-1`, `1.5`, `true`, `{}`, `{"x":"a"}`, `{"x":1}`, `[]`, `["a"]`, `[1]`}[r.IntN(13)]
	}
	add(8, `"enum":[`+value()+`,`+value()+`]`)
	add(8, `"example":`+value())
	add(8, `"minLength":2`)
	add(8, `"maxLength":1`)
	add(8, `"minimum":0`)
	add(8, `"maximum":1`)
	add(8, `"pattern":`+pick(r, `"^a"`, `"["`, `"(?=a)"`))
	add(6, `"format":`+pick(r, `"date"`, `"uuid"`, `"ipv4"`, `"whatever"`))
	add(10, `"description":"d"`)
	add(10, []string{`"x-kubernetes-preserve-unknown-fields":true`, `"x-kubernetes-int-or-string":true`}[r.IntN(2)])
	if depth > 0 {
		if kind == "object" && r.IntN(4) > 0 || r.IntN(15) == 0 {
			fields = append(fields, `"properties":{"x":`+schemaText(r, depth-1)+`}`)
			add(4, `"required":["x"]`)
			add(12, `"required":["y"]`)
		}
		if kind == "object" && r.IntN(6) == 0 || r.IntN(20) == 0 {
			fields = append(fields, `"additionalProperties":`+schemaText(r, depth-1))
		}
		if kind == "array" || r.IntN(20) == 0 {
			fields = append(fields, `"items":`+schemaText(r, depth-1))
			add(6, `"minItems":1`)
			add(6, `"maxItems":0`)
			add(6, `"uniqueItems":false`)
		}
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// TestDiscoveredVariables judges the definitions of variables as Cluster API does
// that an extension discovers for a ClusterClass.
func TestDiscoveredVariables(t *testing.T) {
	const answers = 20000
	r := rand.New(rand.NewPCG(7, 8))
	hook := extension.Find("DiscoverVariables")
	accepted := 0
	for range answers {
		var variables []string
		for n := range 1 + r.IntN(2) {
			name := pick(r, fmt.Sprintf("v%d", n), "builtin", "a.b", "", "v0")
			variables = append(variables, fmt.Sprintf(`{"name":%q,"required":%t,"schema":{"openAPIV3Schema":%s}}`, name, r.IntN(2) == 0, schemaText(r, 2)))
		}
		text := []byte(`{"status":"Success","variables":[` + strings.Join(variables, ",") + `]}`)
		want := real.CheckVariables(background, text)
		decoded := given.Value(hook.Decode(text))(t)
		_, problems := decoded.(*extension.VariablesResponse).Problems(contract.NewestCore)
		var got []string
		for _, p := range problems {
			if !p.Unknown {
				got = append(got, p.Message)
			}
		}
		if want == nil {
			accepted++
		}
		if (len(got) > 0) != (want != nil) {
			t.Errorf("%s\nCluster API: %v\nthe tool: %q", text, want, got)
			if t.Failed() && accepted > 100 {
				return
			}
		}
	}
	t.Logf("Cluster API accepts %d of %d answers", accepted, answers)
	if accepted < answers/20 || accepted > answers*19/20 {
		t.Errorf("%d of %d answers are accepted", accepted, answers)
	}
}
