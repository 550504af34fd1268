package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

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
	for _, f := range contract.Fields {
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
	for _, f := range contract.Fields {
		if f.Role == role && f.Template == template && (f.Contract == "" || f.Contract == p.Contract) &&
			(f.Since == 0 || p.Core >= f.Since) && (f.Until == 0 || p.Core <= f.Until) && f.Type != "" {
			out = append(out, [2]string{f.Path, f.Type})
		}
	}
	return out
}

func with(fields [][2]string, path, kind string) [][2]string {
	return append(without(fields, path), [2]string{path, kind})
}

func without(fields [][2]string, path string) [][2]string {
	return slices.DeleteFunc(slices.Clone(fields), func(f [2]string) bool { return under(f[0], path) })
}

func mentions(findings []lint.Finding, path string) bool {
	return strings.Contains(said(findings), path)
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
	tree := schema{"type": "object"}
	for _, field := range fields {
		tree.at(field[0])["type"] = field[1]
	}
	text := ""
	for _, k := range [][2]string{{kind, tree.String()}, {other, "{}"}} {
		text += fmt.Sprintf(`---
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "%s", "labels": {"cluster.x-k8s.io/%s": "v1"}},
"spec": {"group": "%s.cluster.x-k8s.io", "names": {"kind": "%s"}, "versions": [{"name": "v1", "served": true, "storage": true,
"schema": {"openAPIV3Schema": %s}}]}}
`, strings.ToLower(k[0]), p.Contract, kindOf[f.Role][0], k[0], k[1])
	}
	var list []*lint.Rule
	for _, rule := range rules.All {
		switch family := rules.FamilyOf(rule.ID); {
		case rule.ID == "CRD029", slices.Contains([]string{"IC", "IM", "IMP", "BC", "CP"}, family):
			list = append(list, rule)
		}
	}
	found := lintRelease(t, lint.Options{Rules: list, Profile: p}, map[string]string{"infrastructure-components.yaml": text})
	return slices.DeleteFunc(spread(found), func(f lint.Finding) bool {
		return !strings.Contains(f.Message, kind+" v1") || strings.Contains(f.Message, "subresource") ||
			!strings.Contains(f.Message, " has no ") && !strings.Contains(f.Message, ", but contract ") && !strings.Contains(f.Message, "; it must be ")
	})
}

// schema is a schema of OpenAPI.
type schema map[string]any

// at returns the schema at a path, and makes it if it is not there.
func (s schema) at(path string) schema {
	for name := range strings.SplitSeq(path, ".") {
		switch name {
		case "[]":
			s = s.child("items")
		case "*":
			s = s.child("additionalProperties")
		default:
			if s["properties"] == nil {
				s["properties"] = schema{}
			}
			s = s["properties"].(schema).child(name)
		}
	}
	return s
}

func (s schema) child(name string) schema {
	if s[name] == nil {
		s[name] = schema{"type": "object"}
	}
	return s[name].(schema)
}

func (s schema) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
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
		tree := schema{"type": "object"}
		tree.at("spec.template.spec.region")["type"] = "string"
		tree.at("spec.template.spec.list.[]")["type"] = "string"
		tree.at("status")
		where := tree
		if tc.at != "" {
			where = tree.at(tc.at)
		}
		where["x-kubernetes-validations"] = []map[string]string{{"rule": tc.rule}}
		doc := fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x", "labels": {"cluster.x-k8s.io/v1beta2": "v1"}},
"spec": {"group": "infrastructure.cluster.x-k8s.io", "names": {"kind": "FooMachinePoolTemplate"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": %s}}]}}`, tree)
		got, want := said(lintRelease(t, lint.Options{Rules: []*lint.Rule{rules.ByID("IM010")}}, map[string]string{"infrastructure-components.yaml": doc})), ""
		if tc.want != "" {
			want = "the schema forbids changes of " + tc.want + " in FooMachinePoolTemplate v1, even in a dry run"
		}
		if got != want {
			t.Errorf("%s at %q: %q, want %q", tc.rule, tc.at, got, want)
		}
	}
}
