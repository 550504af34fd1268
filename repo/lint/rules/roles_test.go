package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// kindOf is a kind of each role with its group.
var kindOf = map[contract.Role][2]string{
	contract.InfraCluster:       {"infrastructure", "FooCluster"},
	contract.InfraMachine:       {"infrastructure", "FooMachine"},
	contract.InfraMachinePool:   {"infrastructure", "FooMachinePool"},
	contract.MachinePoolMachine: {"infrastructure", "FooMachinePoolMachine"},
	contract.BootstrapConfig:    {"bootstrap", "FooConfig"},
	contract.ControlPlane:       {"controlplane", "FooControlPlane"},
}

// TestFields makes a kind that has everything the tables demand of its role, and
// takes away or retypes one field after the other: each row is reported, and the
// complete kind is not.
func TestFields(t *testing.T) {
	share.SkipInRace(t)
	for i := range contract.Fields {
		f := &contract.Fields[i]
		for _, c := range contract.Accepted {
			for core := contract.OldestCore; core <= contract.NewestCore; core++ {
				if f.Contract != "" && f.Contract != c || f.Since > core || f.Until != 0 && f.Until < core {
					continue
				}
				p := contract.Profile{Core: core, Contract: c}
				name := fmt.Sprintf("%s %v %s %s core %d", f.Role, f.Template, f.Path, c, core)
				complete := fieldsOf(f.Role, f.Template, p)
				if got := judge(t, f, p, complete); len(got) > 0 {
					t.Fatalf("%s: complete: %v", name, got)
				}
				if f.Type != "" {
					other := "integer"
					if f.Type == "integer" {
						other = "string"
					}
					if got := judge(t, f, p, with(complete, f.Path, other)); !mentions(got, f.Path) {
						t.Errorf("%s: type %s is not reported: %v", name, other, got)
					}
				}
				if f.Need == contract.Optional {
					continue
				}
				less := without(complete, f.Path)
				if f.Or != "" {
					less = without(less, f.Or)
				}
				if slices.ContainsFunc(strings.Fields(f.If), func(path string) bool {
					return !slices.ContainsFunc(less, func(field [2]string) bool { return under(field[0], path) })
				}) {
					continue // the field that makes this one needed is gone as well
				}
				got := judge(t, f, p, less)
				if !mentions(got, f.Path) {
					t.Errorf("%s: missing, and not reported: %v", name, got)
				}
				if f.Need == contract.Must && len(got) > 0 && got[0].Severity != lint.Error {
					t.Errorf("%s: %v", name, got)
				}
			}
		}
	}
}

func under(path, above string) bool { return path == above || strings.HasPrefix(path, above+".") }

// fieldsOf are the paths of all rows that apply, with their types.
func fieldsOf(role contract.Role, template bool, p contract.Profile) [][2]string {
	var out [][2]string
	for i := range contract.Fields {
		f := &contract.Fields[i]
		if f.Role == role && f.Template == template && (f.Contract == "" || f.Contract == p.Contract) &&
			(f.Since == 0 || p.Core >= f.Since) && (f.Until == 0 || p.Core <= f.Until) && f.Type != "" {
			out = append(out, [2]string{f.Path, f.Type})
		}
	}
	return out
}

func with(fields [][2]string, path, kind string) [][2]string {
	var out [][2]string
	for _, f := range fields {
		switch {
		case f[0] == path:
			out = append(out, [2]string{path, kind})
		case !under(f[0], path):
			out = append(out, f)
		}
	}
	return out
}

func without(fields [][2]string, path string) [][2]string {
	var out [][2]string
	for _, f := range fields {
		if !under(f[0], path) {
			out = append(out, f)
		}
	}
	return out
}

func mentions(findings []lint.Finding, path string) bool {
	for _, f := range findings {
		if strings.Contains(f.Message, path) {
			return true
		}
	}
	return false
}

// judge lints a definition of the role of a row and returns the findings about
// its fields.
func judge(t *testing.T, f *contract.Field, p contract.Profile, fields [][2]string) []lint.Finding {
	t.Helper()
	kind := kindOf[f.Role][1]
	other := kind + contract.Suffix
	if f.Template {
		kind, other = other, kind
	}
	schema := map[string]any{}
	for _, field := range fields {
		place(schema, strings.Split(field[0], "."), field[1])
	}
	text := ""
	for _, k := range [][2]string{{kind, emit(schema)}, {other, "{}"}} {
		text += fmt.Sprintf(`---
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "x", "labels": {"cluster.x-k8s.io/%s": "v1"}},
"spec": {"group": "%s.cluster.x-k8s.io", "names": {"kind": "%s"}, "versions": [{"name": "v1", "served": true, "storage": true,
"schema": {"openAPIV3Schema": %s}}]}}
`, p.Contract, kindOf[f.Role][0], k[0], k[1])
	}
	a := repo.BytesArtifact("infrastructure-components.yaml", []byte(text))
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Artifacts: []*repo.Artifact{a}}
	var list []*lint.Rule
	for _, rule := range rules.All {
		switch rules.FamilyOf(rule.ID) {
		case "IC", "IM", "IMP", "BC", "CP":
			list = append(list, rule)
		}
	}
	report := run(t, &repo.Repository{Providers: []*repo.Provider{{Provider: r.Provider, Releases: []*repo.Release{r}}}}, lint.Options{Rules: list, Profile: p})
	var out []lint.Finding
	for _, finding := range report {
		if text := finding.Message; strings.Contains(text, kind+" v1") && !strings.Contains(text, "subresource") &&
			(strings.Contains(text, " has no ") || strings.Contains(text, ", but contract ") || strings.Contains(text, "; it must be ")) {
			out = append(out, finding)
		}
	}
	return out
}

func run(t *testing.T, r *repo.Repository, o lint.Options) []lint.Finding {
	t.Helper()
	report, err := lint.Run(t.Context(), r, o)
	if err != nil || len(report.Failures) > 0 {
		t.Fatal(err, report.Failures)
	}
	return report.Findings
}

// place puts a type at a path of a tree of schemas.
func place(tree map[string]any, path []string, kind string) {
	for _, name := range path {
		next, ok := tree[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[name] = next
		}
		tree = next
	}
	tree["type"] = kind
}

// emit writes a tree as a schema in JSON.
func emit(tree map[string]any) string {
	kind, _ := tree["type"].(string)
	var properties []string
	items, values := "", ""
	for name, v := range tree {
		child, ok := v.(map[string]any)
		switch {
		case !ok:
		case name == "[]":
			items = emit(child)
		case name == "*":
			values = emit(child)
		default:
			properties = append(properties, fmt.Sprintf("%q: %s", name, emit(child)))
		}
	}
	if kind == "" {
		kind = "object"
	}
	out := fmt.Sprintf(`{"type": %q`, kind)
	if len(properties) > 0 {
		out += `, "properties": {` + strings.Join(properties, ", ") + "}"
	}
	if items != "" {
		out += `, "items": ` + items
	}
	if rule, ok := tree["rule"].(string); ok {
		out += fmt.Sprintf(`, "x-kubernetes-validations": [{"rule": %q}]`, rule)
	}
	if values != "" {
		out += `, "additionalProperties": ` + values
	}
	return out + "}"
}

// TestImmutableTemplates is about the ways to write that a field must not change.
func TestImmutableTemplates(t *testing.T) {
	for _, tc := range []struct{ at, rule, want string }{
		{"", "self.spec == oldSelf.spec", "spec"},
		{"", "self.spec.template.spec==oldSelf.spec.template.spec", "spec.template.spec"},
		{"", "self.metadata.name == oldSelf.metadata.name", ""},
		{"", "self.spec.other == oldSelf.spec.other", ""},
		{"spec", "self.template == oldSelf.template", "spec.template"},
		{"spec.template.spec", "(oldSelf == self)", "spec.template.spec"},
		{"spec.template.spec", "self.region == oldSelf.region", "spec.template.spec.region"},
		{"spec.template.spec", "!has(oldSelf.region) || self.region == oldSelf.region", "spec.template.spec.region"},
		{"spec.template.spec", "self.region == oldSelf.zone", ""},
		{"spec.template.spec", "self != oldSelf", ""},
		{"spec.template.spec", "self.size >= oldSelf.size", ""},
		{"spec.template.spec", "self.region != ''", ""},
		{"spec.template.spec.region", "self == oldSelf", "spec.template.spec.region"},
		{"spec.template.spec.region", "!oldSelf.hasValue() || self == oldSelf.value()", "spec.template.spec.region"},
		{"spec.template.spec.list.[]", "self == oldSelf", "spec.template.spec.list.[]"},
		{"status", "self == oldSelf", ""},
	} {
		schema := map[string]any{}
		place(schema, strings.Split("spec.template.spec.region", "."), "string")
		place(schema, strings.Split("spec.template.spec.list.[]", "."), "string")
		place(schema, []string{"status"}, "object")
		where := schema
		for name := range strings.SplitSeq(tc.at, ".") {
			if next, ok := where[name].(map[string]any); ok {
				where = next
			}
		}
		where["rule"] = tc.rule
		doc := fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x", "labels": {"cluster.x-k8s.io/v1beta2": "v1"}},
"spec": {"group": "infrastructure.cluster.x-k8s.io", "names": {"kind": "FooMachinePoolTemplate"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": %s}}]}}`, emit(schema))
		r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Artifacts: []*repo.Artifact{repo.BytesArtifact("infrastructure-components.yaml", []byte(doc))}}
		got := ""
		for _, f := range run(t, &repo.Repository{Providers: []*repo.Provider{{Provider: r.Provider, Releases: []*repo.Release{r}}}}, lint.Options{Rules: []*lint.Rule{rules.ByID("IM010")}}) {
			got = f.Message
		}
		want := ""
		if tc.want != "" {
			want = "the schema forbids changes of " + tc.want + " in FooMachinePoolTemplate v1, even in a dry run"
		}
		if got != want {
			t.Errorf("%s at %q: %q, want %q", tc.rule, tc.at, got, want)
		}
	}
}
