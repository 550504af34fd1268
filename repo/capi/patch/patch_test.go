package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// class returns a class with one patch of FooTemplates of the cluster.
func class(t *testing.T, patches string) *clusterclass.Class {
	t.Helper()
	text := []byte("apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: k}\nspec:\n  patches:\n" + patches)
	list := clusterclass.In(manifest.New(repo.BytesArtifact("clusterclass-k.yaml", text), layouts.ClusterClass, text))
	if len(list) != 1 {
		t.Fatalf("%d classes in\n%s", len(list), text)
	}
	return list[0]
}

const selector = `
  - name: p
    definitions:
    - selector: {apiVersion: a/v1, kind: FooTemplate, matchResources: {infrastructureCluster: true}}
      jsonPatches:
`

func foo() *Template {
	return &Template{
		APIVersion: "a/v1", Kind: "FooTemplate", Holder: Holder{"Cluster", InfrastructureClusterPath},
		Object: json.RawMessage(`{"apiVersion":"a/v1","kind":"FooTemplate","metadata":{"name":"f"},"spec":{"template":{"spec":{"a":1}}}}`),
	}
}

// TestFailures finds the text that causes a failure.
func TestFailures(t *testing.T) {
	values := Values{"net": json.RawMessage(`{"mtu":9000}`), "zones": json.RawMessage(`["a"]`)}
	for name, c := range map[string]struct {
		patches, at, message string
		stage                stage
	}{
		"absent path":     {selector + "      - {op: replace, path: /spec/template/spec/b, value: 1}\n", "/spec/template/spec/b", "missing key", Apply},
		"absent parent":   {selector + "      - {op: add, path: /spec/template/spec/b/c, value: 1}\n", "/spec/template/spec/b/c", "missing path", Apply},
		"second of two":   {selector + "      - {op: add, path: /spec/template/spec/b, value: 1}\n      - {op: remove, path: /spec/template/spec/c}\n", "/spec/template/spec/c", "", Apply},
		"no kind":         {selector + "      - {op: remove, path: /kind}\n", "/kind", "not an object with a kind", Apply},
		"no such field":   {selector + "      - {op: add, path: /spec/template/spec/b, valueFrom: {variable: net.mtuu}}\n", "net.mtuu", `"net.mtuu" has no value`, value},
		"no such element": {selector + "      - {op: add, path: /spec/template/spec/b, valueFrom: {variable: 'zones[1]'}}\n", "zones[1]", "has only 1 elements", value},
		"not YAML":        {selector + "      - {op: add, path: /spec/template/spec/b, valueFrom: {template: 'a: b: c'}}\n", "a: b: c", "which is not YAML", value},
		"below nothing":   {selector + "      - {op: add, path: /spec/template/spec/b, valueFrom: {variable: zones.-1}}\n", "zones.-1", "has no value", value},
		"nil":             {selector + "      - {op: add, path: /spec/template/spec/b, valueFrom: {template: '{{ .zones.deep }}'}}\n", "{{ .zones.deep }}", "can't evaluate field deep", value},
		"condition":       {strings.Replace(selector, "name: p", "name: p\n    enabledIf: '{{ .zones.deep }}'", 1) + "      - {op: remove, path: /spec/template/spec/a}\n", "{{ .zones.deep }}", "can't evaluate field deep", EnabledIf},
	} {
		template := foo()
		failures := Run(class(t, c.patches), values, []*Template{template}, 14)
		if len(failures) != 1 || len(template.Object) == 0 || failures[0].Node.Str() != c.at || failures[0].Stage != c.stage || !strings.Contains(failures[0].Err.Error(), c.message) {
			t.Errorf("%s: %+v", name, failures)
		}
	}
}

// TestExternal is not sure of templates that an extension may have changed.
func TestExternal(t *testing.T) {
	template := foo()
	external := "  - {name: e, external: {generatePatchesExtension: g.x}}\n"
	failures := Run(class(t, external+selector+"      - {op: remove, path: /spec/template/spec/b}\n"), nil, []*Template{template}, 14)
	if len(failures) != 1 || !failures[0].Unsure || !template.Unsure {
		t.Errorf("%+v, unsure %v", failures, template.Unsure)
	}
}

// TestWrites records which text wrote a path.
func TestWrites(t *testing.T) {
	template := foo()
	Run(class(t, selector+"      - {op: add, path: /spec/template/spec/b, value: x}\n      - {op: add, path: /metadata/labels, value: {l: v}}\n"), nil, []*Template{template}, 13)
	if len(template.Writes) != 2 || template.Writes[0].Path != "/spec/template/spec/b" || template.Writes[0].Node.Str() != "x" {
		t.Errorf("%+v", template.Writes)
	}
	if s := string(template.Object); !strings.Contains(s, `"b":"x"`) || strings.Contains(s, "labels") {
		t.Errorf("v1.13 keeps %s", s)
	}
}

// hostile are templates that would run for ever, fill the memory or end the program.
var hostile = []string{
	`{{ range until 100000000 }}{{ end }}`,
	`{{ range 10000000000 }}{{ end }}`,
	`{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}{{ end }}`,
	`{{ repeat 1000000000 "x" }}`,
	`{{ $x := "aaaaaaaaaaaaaaaa" }}{{ range 64 }}{{ $x = print $x $x }}{{ end }}`,
	`{{ $x := repeat 100000 "a" }}{{ replace "a" $x $x }}`,
	`{{ $x := repeat 100000 "a" }}{{ regexReplaceAll "a" $x $x }}`,
	`{{ $x := repeat 100000 "\n" }}{{ indent 1000000 $x }}`,
	`{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ $d }}`,
	`{{ $d := dict }}{{ $_ := set $d "a" (list $d) }}{{ toJson $d }}`,
	`{{ $d := dict }}{{ $_ := merge $d (dict "a" $d) }}{{ printf "%v" $d }}`,
	`{{ $l := list 1 }}{{ range 64 }}{{ $l = list $l $l }}{{ end }}{{ $l }}`,
	`{{ define "x" }}{{ template "x" }}{{ template "x" }}{{ end }}{{ template "x" }}`,
	`{{ define "x" }}{{ block "y" . }}{{ template "x" . }}{{ end }}{{ end }}{{ template "x" . }}`,
	`{{ range until 100000 }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end }}`,
	`{{ $x := printf "%1000000d" 1 }}{{ $x = print $x $x }}{{ $x = print $x $x $x $x }}`,
	`{{ genPrivateKey "rsa" }}`, `{{ derivePassword 1 "long" "a" "b" "c" }}`,
	`{{ _step_ }}`,
	`{{ untilStep 0 1000000000 1 }}`, `{{ seq 1 1000000000 }}`, `{{ list 1 2 | chunk 0 }}`, `{{ substr 0 -5 "x" }}`, `{{ index "abc" 9 }}`,
}

// TestHostile ends for every template, soon and without a panic.
func TestHostile(t *testing.T) {
	for _, text := range hostile {
		start := time.Now()
		_, err := newRenderer().render(text, &seen{})
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s took %v", text, d)
		}
		if err == nil && strings.Contains(text, "000000") {
			t.Errorf("%s was rendered", text)
		}
		if err != nil && !errors.Is(err, errUnsure) {
			t.Logf("%s: %v", text, err)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, "a")
	}
	f.Add("{{ .v | default 1 | toJson }}", `{"a":[1,2]}`)
	f.Fuzz(func(_ *testing.T, text, value string) {
		data, _ := json.Marshal(value)
		_, _ = newRenderer().render(text, &seen{Values: Values{"v": data, "w": json.RawMessage(`{"a":[1,2]}`)}})
	})
}

func ExampleValues_Lookup() {
	v := Values{"network": json.RawMessage(`{"zones":[{"name":"a"}]}`)}
	value, err := v.Lookup("network.zones[0].name")
	fmt.Println(string(value), err)
	_, err = v.Lookup("network.mtu")
	fmt.Println(err)
	// Output:
	// "a" <nil>
	// "network.mtu" has no value
}

// TestTemplatesApart renders each text as if there were no others.
func TestTemplatesApart(t *testing.T) {
	r := newRenderer()
	see := &seen{Values: Values{"v": json.RawMessage(`{"a":1}`)}}
	for _, c := range [][2]string{
		{`{{ define "x" }}1{{ end }}{{ template "x" }}`, "1"}, {`{{ template "x" }}`, ""}, {`{{ template "tpl" }}`, ""}, {`{{ template "" }}`, ""}, {``, ""}, {`{{/* */}}`, ""},
		{`{{ define "tpl" }}2{{ end }}`, "2"}, {`{{ .v.a }}`, "1"}, {`{{ $_ := set .v "a" 3 }}{{ .v.a }}`, "3"}, {`{{ .v.a }}`, "1"},
		{`{{ $_ := unset .v "a" }}{{ .v.a | default 4 }}`, "4"}, {`{{ $_ := mustMergeOverwrite .v (dict "a" 5) }}{{ .v.a }}`, "5"}, {`{{ .v.a }}`, "1"},
	} {
		for _, r := range []*renderer{r, newRenderer()} {
			if out, err := r.render(c[0], see); string(out) != c[1] {
				t.Errorf("%s: %q, %v; want %q", c[0], out, err, c[1])
			}
		}
	}
}

// TestKeep tells from which version on changes outside of spec are kept.
func TestKeep(t *testing.T) {
	for _, c := range []struct {
		after string
		minor int
		want  string
	}{
		{`{"kind":"A","spec":{"a":1}}`, 0, `{"kind":"A","spec":{"a":1}}`},
		{`{"kind":"A","spec":{"a":2},"metadata":{"labels":{"a":"b"}}}`, 13, `{"kind":"A","spec":{"a":2}}`},
		{`{"kind":"A","metadata":{"labels":{"a":"b"},"finalizers":["a"]}}`, 14, `{"kind":"A","metadata":{"labels":{"a":"b"}},"spec":{"a":1}}`},
		{`{"kind":"B"}`, 14, `{"kind":"A","spec":{"a":1}}`},
	} {
		if got, err := Keep([]byte(`{"kind":"A","spec":{"a":1}}`), []byte(c.after), c.minor); err != nil || string(got) != c.want {
			t.Errorf("v1.%d keeps of %s: %s, %v", c.minor, c.after, got, err)
		}
	}
}
