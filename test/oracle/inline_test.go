package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// inlineCase is a random class with templates and values.
type inlineCase struct {
	r *rand.Rand
	b strings.Builder
}

func (c *inlineCase) pick(list ...string) string { return list[c.r.IntN(len(list))] }

// template is a template of text/template, mostly one that people would write.
func (c *inlineCase) template() string {
	name := c.pick("region", "mtu", "net", "net.mtu", "net.zones", "zones", "flag", "absent", "absent.deep", "builtin.cluster.name",
		"builtin.controlPlane.version", "builtin.machineDeployment.class", "builtin.cluster.topology.version", "big", "list")
	return c.pick(
		"{{ ."+name+" }}", "{{ .region }}", "name: {{ .region }}", "{{ .net | toJson }}", "- {{ .mtu }}", "{{ .big }}",
		"{{ if ."+name+" }}true{{ end }}",
		"{{ if ."+name+" }}true{{ else }}false{{ end }}",
		"{{ ."+name+" | quote }}",
		"{{ ."+name+" | toJson }}",
		"{{ ."+name+" | default \"x\" | upper }}",
		"name: {{ ."+name+" }}",
		"name: {{ ."+name+" }}\nzones:\n{{- range .zones }}\n- {{ . }}\n{{- end }}",
		"{{ range $i, $z := .zones }}{{ $i }}-{{ $z }},{{ end }}",
		"{{ with ."+name+" }}{{ . }}{{ end }}",
		"{{ index .zones 1 }}",
		"{{ index .zones 7 }}",
		"{{ add .mtu 1 }}",
		"{{ eq .region \"eu\" }}",
		"{{ printf \"%s-%v\" .builtin.cluster.name .mtu }}",
		"{{ semverCompare \">=1.30.0\" .builtin.cluster.topology.version }}",
		"{{ $d := dict \"a\" 1 }}{{ $_ := set $d \"b\" .mtu }}{{ $d | toJson }}",
		"{{ fail \"no\" }}",
		"{{ until 3 }}",
		"{{ repeat 3 .region }}",
		"{{ .region | replace \"e\" \"é\" | b64enc }}",
		"{{ define \"x\" }}{{ . }}{{ end }}{{ template \"x\" .region }}",
		"{{ dig \"zones\" \"none\" .net }}",
		"{{ range 3 }}x{{ end }}",
		"a: b: c", "[1, 2", "true", "yes", "\"true\"", "null", "", "~", "0x10", "1e3", "a: 1\na: 2", "- {a: &x 1, b: *x}", "!!binary aGk=", "1.0", "\t",
		"{{ .", "{{ nofunction }}",
	)
}

func (c *inlineCase) path() string {
	if c.r.IntN(2) == 0 {
		return c.pick("/spec/template/spec/a", "/spec/template/spec/new", "/spec/template/spec")
	}
	return c.pick(
		"/spec/template/spec/a", "/spec/template/spec/b", "/spec/template/spec/deep/er", "/spec/template/spec/none/deep", "/spec/template/spec/list/-",
		"/spec/template/spec/list/0", "/spec/template/spec/list/9", "/spec/template/spec/absent/-", "/spec/template/metadata/labels/x", "/spec/template/metadata",
		"/spec/template/spec/a~1b", "/spec", "/spec/", "/spec/template/spec", "/metadata/labels/x", "/kind", "", "spec",
	)
}

func (c *inlineCase) value() string {
	return c.pick("1", `"x"`, "{a: {b: [1, 2]}}", "[]", "[a, b]", "null", "true", "1.5", "12345678901", "{}", "1e3", "0x10")
}

func (c *inlineCase) line(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

func (c *inlineCase) spec() string {
	c.b.Reset()
	c.line("patches:")
	for i := range 1 + c.r.IntN(2) {
		c.line("- name: p%d", i)
		if c.r.IntN(3) == 0 {
			c.line("  enabledIf: %q", c.template())
		}
		c.line("  definitions:")
		for range 1 + c.r.IntN(2) {
			kind := c.pick("ATemplate", "ATemplate", "BTemplate", "CTemplate")
			c.line("  - selector:\n      apiVersion: %s\n      kind: %s\n      matchResources:", c.pick("a/v1", "a/v1", "a/v1", "a/v2"), kind)
			c.line("        infrastructureCluster: %v\n        controlPlane: %v", c.r.IntN(4) > 0, c.r.IntN(4) > 0)
			if c.r.IntN(2) == 0 {
				c.line("        machineDeploymentClass: {names: [%q]}", c.pick("*", "w", "w*", "*x", "x", "*", "**", ""))
			}
			if c.r.IntN(3) == 0 {
				c.line("        machinePoolClass: {names: [%q, \"p\"]}", c.pick("*", "w", "w*", "*x", "x"))
			}
			c.line("    jsonPatches:")
			for range 1 + c.r.IntN(2) {
				c.line("    - op: %s\n      path: %q", c.pick("add", "add", "add", "replace", "remove"), c.path())
				switch c.r.IntN(7) {
				case 0, 1:
					c.line("      value: %s", c.value())
				case 2, 3:
					c.line("      valueFrom: {variable: %q}", c.pick("region", "mtu", "net", "net.mtu", "net.mtuu", "zones[0]", "zones[9]", "net.zones[1].name", "zones.0",
						"absent", "builtin.cluster.name", "builtin.machineDeployment.class", "builtin.controlPlane.replicas", "builtin", "zones[x]", "zones[", "net.zones", "big", "list[0].a", "flag"))
				default:
					c.line("      valueFrom: {template: %q}", c.template())
				}
			}
		}
	}
	return c.b.String()
}

var inlineGlobal = map[string]json.RawMessage{
	"region": json.RawMessage(`"eu"`), "mtu": json.RawMessage(`1500`), "flag": json.RawMessage(`false`), "big": json.RawMessage(`12345678`),
	"net": json.RawMessage(`{"mtu":9000,"zones":["a",{"name":"b"}]}`), "zones": json.RawMessage(`["eu-1","eu-2"]`), "list": json.RawMessage(`[{"a":null}]`),
	"builtin": json.RawMessage(`{"cluster":{"name":"c","namespace":"n","topology":{"version":"v1.34.0","class":"k","classNamespace":"n","classRef":{"name":"k","namespace":"n"}},"metadata":{"labels":{"l":"1"}}}}`),
}

func (c *inlineCase) templates() []real.InlineTemplate {
	worker := func(kind, class string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"region": json.RawMessage(`"own"`), "builtin": fmt.Appendf(nil, `{%q:{"class":%q,"name":"n","topologyName":"t","replicas":2,"version":"v1.33.0"}}`, kind, class)}
	}
	control := map[string]json.RawMessage{"builtin": json.RawMessage(`{"controlPlane":{"version":"v1.34.0","name":"cp","replicas":3}}`)}
	object := func(kind string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"apiVersion":"a/v1","kind":%q,"metadata":{"name":"x","labels":{"k":"v"}},"spec":{"template":{%s"spec":%s}}}`, kind,
			c.pick("", `"metadata":{"labels":{"a":"b"}},`), c.pick(`{}`, `{"a":1,"deep":{"er":1},"list":[1,2]}`, `{"list":["x"],"b":{}}`)))
	}
	return []real.InlineTemplate{
		{HolderKind: "Cluster", FieldPath: "spec.infrastructureRef", Object: object("ATemplate")},
		{HolderKind: "Cluster", FieldPath: "spec.controlPlaneRef", Object: object("BTemplate"), Values: control},
		{HolderKind: "KCP", FieldPath: c.pick("spec.machineTemplate.infrastructureRef", "spec.machineTemplate.spec.infrastructureRef"), Object: object("ATemplate"), Values: control},
		{HolderKind: "MachineDeployment", FieldPath: "spec.template.spec.bootstrap.configRef", Object: object("BTemplate"), Values: worker("machineDeployment", "w")},
		{HolderKind: "MachineDeployment", FieldPath: "spec.template.spec.infrastructureRef", Object: object("ATemplate"), Values: worker("machineDeployment", "xx")},
		{HolderKind: "MachinePool", FieldPath: "spec.template.spec.infrastructureRef", Object: object("CTemplate"), Values: worker("machinePool", "w")},
	}
}

// TestInlinePatches computes what inline patches of random classes do as the tool
// and as Cluster API do: the same objects, or a refusal by both.
func TestInlinePatches(t *testing.T) {
	const classes = 5000
	c := &inlineCase{r: rand.New(rand.NewPCG(15, 1))}
	refused, changed := 0, 0
	for n := range classes {
		spec := c.spec()
		templates := c.templates()
		want, wantErr := real.ApplyInline(background, []byte(spec), inlineGlobal, templates)

		text := []byte("apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: k}\nspec:\n" + indented(spec))
		class := clusterclass.In(manifest.New(repo.BytesArtifact("clusterclass-k.yaml", text), layouts.ClusterClass, text))[0]
		var own []*patch.Template
		for _, item := range templates {
			var o struct{ APIVersion, Kind string }
			given.NoError(t, json.Unmarshal(item.Object, &o))
			own = append(own, &patch.Template{APIVersion: o.APIVersion, Kind: o.Kind, Holder: patch.Holder{Kind: item.HolderKind, FieldPath: item.FieldPath}, Object: item.Object, Values: item.Values})
		}
		failures := patch.Run(class, inlineGlobal, own, contract.NewestCore)
		if (wantErr == nil) != (len(failures) == 0) {
			t.Fatalf("class %d\n%s\nCluster API: %v\nthe tool: %+v", n, spec, wantErr, failures)
		}
		if wantErr != nil {
			refused++
			continue
		}
		for i := range own {
			var a, b, before any
			if json.Unmarshal(own[i].Object, &a) != nil || json.Unmarshal(want[i], &b) != nil || json.Unmarshal(templates[i].Object, &before) != nil {
				t.Fatal("not JSON")
			}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("class %d, template %d\n%s\nCluster API: %s\nthe tool: %s", n, i, spec, want[i], own[i].Object)
			}
			if !reflect.DeepEqual(before, b) {
				changed++
			}
		}
	}
	t.Logf("%d classes: %d refused, %d templates changed", classes, refused, changed)
	if refused < classes/10 || changed < classes/10 {
		t.Error("the classes are too much alike")
	}
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
