package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// patchText is a patch of a template, mostly right.
func patchText(r *rand.Rand) (patchType, text string) {
	value := func() string {
		return pick(r, `"text"`, `1`, `1.5`, `null`, `{}`, `[]`, `{"x":{"y":[1,2]}}`, `[{"name":"a"}]`, `true`, `12345678901234567890`)
	}
	path := func() string {
		list := []string{
			"/spec/template/spec/a", "/spec", "/spec/template", "/metadata/labels/x", "/metadata/labels", "/metadata/annotations", "/metadata/finalizers",
			"/kind", "/apiVersion", "/status", "", "/", "/spec/list/0", "/spec/list/-", "/spec/list/9", "/spec/none/deep", "spec", "/metadata", "/metadata/name", "/spec/template/spec/a~1b",
		}
		return list[r.IntN(len(list))]
	}
	if r.IntN(2) == 0 {
		var operations []string
		for range r.IntN(4) {
			op := pick(r, "add", "replace", "remove", "test", "move", "copy", "patch", "")
			fields := []string{fmt.Sprintf(`"op":%q`, op), fmt.Sprintf(`"path":%q`, path())}
			if r.IntN(10) > 0 {
				fields = append(fields, `"value":`+value())
			}
			if op == "move" || op == "copy" {
				fields = append(fields, fmt.Sprintf(`"from":%q`, path()))
			}
			operations = append(operations, pick(r, "{"+strings.Join(fields, ",")+"}", `null`, `1`, `{"op":null,"path":null}`))
		}
		list := "[" + strings.Join(operations, ",") + "]"
		return pick(r, extension.JSONPatch, extension.JSONMergePatch, "", "jsonpatch"), pick(r, list, " "+list+" ", "", "null", "{}", "[", `"x"`)
	}
	object := value()
	steps := strings.Split(strings.TrimPrefix(path(), "/"), "/")
	for i := len(steps) - 1; i >= 0; i-- {
		object = fmt.Sprintf("{%q:%s}", steps[i], object)
	}
	return pick(r, extension.JSONMergePatch, extension.JSONPatch, "Other"), pick(r, object, " "+object, "{}", "{ }", "", "null", "[]", "1", "{", `{"kind":null}`, `{"spec":null}`, `{"metadata":null}`)
}

// TestPatches applies patches as the tool and as Cluster API do: with the same
// verdict, and the same objects.
func TestPatches(t *testing.T) {
	const patches = 20000
	templates := []string{
		`{"apiVersion":"a/v1","kind":"FooTemplate","metadata":{"name":"x","labels":{"a":"b"}},"spec":{"template":{"spec":{"a":1}},"list":["x"]}}`,
		`{"apiVersion":"a/v1","kind":"FooTemplate","metadata":{"name":"x"},"spec":{"template":{"spec":{}}}}`,
		`{"apiVersion":"a/v1","kind":"FooTemplate","spec":{}}`,
	}
	r := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for range patches {
		template := []byte(templates[r.IntN(len(templates))])
		kind, text := patchText(r)
		want, wantErr := real.ApplyPatch(background, template, kind, []byte(text))
		after, err := extension.Patch{PatchType: kind, Patch: []byte(text)}.Apply(template)
		if err == nil {
			after, err = patch.Keep(template, after, contract.NewestCore)
		}
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s %s on %s\nCluster API: %v\nthe tool: %v", kind, text, template, wantErr, err)
			continue
		}
		if err != nil {
			continue
		}
		accepted++
		var a, b any
		if json.Unmarshal(after, &a) != nil || json.Unmarshal(want, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s %s on %s\nCluster API: %s\nthe tool: %s", kind, text, template, want, after)
		}
	}
	t.Logf("Cluster API accepts %d of %d patches", accepted, patches)
	if accepted < patches/5 || accepted > patches*4/5 {
		t.Errorf("%d of %d patches are accepted", accepted, patches)
	}
}
