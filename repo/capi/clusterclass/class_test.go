package clusterclass_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// read returns the ClusterClasses of a text.
func read(text string) []*clusterclass.Class {
	return clusterclass.In(manifest.New(repo.BytesArtifact("clusterclass-a.yaml", nil), layouts.ClusterClass, []byte(text)))
}

const v1beta1 = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {name: a}
spec:
  infrastructure: {ref: {apiVersion: i/v1, kind: AClusterTemplate, name: a}}
  controlPlane:
    ref: {apiVersion: c/v1, kind: AControlPlaneTemplate, name: b}
    machineInfrastructure: {ref: {apiVersion: i/v1, kind: AMachineTemplate, name: c}}
    machineHealthCheck: {maxUnhealthy: 40%, nodeStartupTimeout: 10m, unhealthyRange: "[1-2]"}
    namingStrategy: {template: x}
  workers:
    machineDeployments:
    - class: w
      template:
        bootstrap: {ref: {apiVersion: b/v1, kind: AConfigTemplate, name: d}}
        infrastructure: {ref: {apiVersion: i/v1, kind: AMachineTemplate, name: e}}
      strategy: {remediation: {maxInFlight: 1}, rollingUpdate: {maxSurge: 1}}
  patches: [{name: p, external: {generateExtension: g.x, discoverVariablesExtension: d.x}}]
`

const v1beta2 = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: a}
spec:
  infrastructure: {templateRef: {apiVersion: i/v1, kind: AClusterTemplate, name: a}}
  controlPlane:
    templateRef: {apiVersion: c/v1, kind: AControlPlaneTemplate, name: b}
    machineInfrastructure: {templateRef: {apiVersion: i/v1, kind: AMachineTemplate, name: c}}
    healthCheck: {checks: {nodeStartupTimeoutSeconds: 600}, remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 40%, unhealthyInRange: "[1-2]"}}}
    naming: {template: x}
  workers:
    machineDeployments:
    - class: w
      bootstrap: {templateRef: {apiVersion: b/v1, kind: AConfigTemplate, name: d}}
      infrastructure: {templateRef: {apiVersion: i/v1, kind: AMachineTemplate, name: e}}
      healthCheck: {remediation: {maxInFlight: 1}}
      rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}
  patches: [{name: p, external: {generatePatchesExtension: g.x, discoverVariablesExtension: d.x}}]
`

// TestVersions reads the same class in both versions of the API.
func TestVersions(t *testing.T) {
	for _, text := range []string{v1beta1, v1beta2} {
		c := read(text)[0]
		var out []string
		for _, r := range c.References() {
			out = append(out, fmt.Sprintf("%s %s %s", r.Role, r.Kind, r.Name))
		}
		for _, h := range c.HealthChecks() {
			out = append(out, fmt.Sprintf("check %v %s %s %v", h.ControlPlane, h.MaxUnhealthy.Str(), h.UnhealthyRange.Str(), h.MaxInFlight != nil))
		}
		for _, n := range c.Namings() {
			out = append(out, "name "+n.Template.Text())
		}
		for _, w := range c.Workers() {
			unavailable, surge := c.Rollout(w)
			out = append(out, fmt.Sprintf("worker %s %v %s", w.Class, unavailable != nil, surge.Text()))
		}
		for _, p := range c.Patches() {
			generate, validate, discover := c.Handlers(p)
			out = append(out, fmt.Sprintf("patch %s %v %s", generate.Str(), validate != nil, discover.Str()))
		}
		const want = `InfraCluster AClusterTemplate a
ControlPlane AControlPlaneTemplate b
InfraMachine AMachineTemplate c
BootstrapConfig AConfigTemplate d
InfraMachine AMachineTemplate e
check true 40% [1-2] false
check false   true
name x
worker w false 1
patch g.x false d.x`
		if got := strings.Join(out, "\n"); got != want {
			t.Errorf("%s:\n%s", c.Version, got)
		}
		if found := c.Check(); len(found) > 0 {
			t.Errorf("%s: %v", c.Version, found)
		}
		if !c.Discovers() || c.Worker(true, "w") != nil || c.Worker(false, "w") == nil {
			t.Errorf("%s: discovers %v", c.Version, c.Discovers())
		}
	}
}

// TestElsewhere takes the body of one version for the other.
func TestElsewhere(t *testing.T) {
	c := read(strings.Replace(v1beta1, "x-k8s.io/v1beta1", "x-k8s.io/v1beta2", 1))[0]
	var got []string
	for _, v := range c.Check() {
		if name, ok := c.Elsewhere(v.Path); ok && v.Fault == crd.Unknown {
			got = append(got, v.Path+" = "+name)
		}
	}
	want := []string{
		"spec.infrastructure.ref = templateRef", "spec.controlPlane.ref = templateRef", "spec.controlPlane.machineInfrastructure.ref = templateRef",
		"spec.controlPlane.machineHealthCheck = healthCheck", "spec.controlPlane.namingStrategy = naming",
		"spec.workers.machineDeployments[0].template = metadata, bootstrap and infrastructure, without template",
		"spec.workers.machineDeployments[0].strategy = rollout.strategy", "spec.patches[0].external.generateExtension = generatePatchesExtension",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if refs := c.References(); !refs[0].Misplaced || refs[0].Name != "a" || len(refs) != 5 {
		t.Errorf("%+v", refs)
	}
	if _, ok := c.Elsewhere("spec.nowhere"); ok {
		t.Error("a field that no version has is elsewhere")
	}
}

func TestTemplates(t *testing.T) {
	for _, tc := range []struct{ text, reads string }{
		{"a", ""},
		{"{{ .a.b }} {{ $.c }}", "a.b c"},
		{`{{ if and .a (eq .b "x") }}{{ .c | upper }}{{ else }}{{ .d }}{{ end }}`, "a b c d"},
		{"{{ range .a }}{{ .b }}{{ $.c }}{{ else }}{{ .d }}{{ end }}", "a b? c d"},
		{"{{ with $x := .a }}{{ $x.b }}{{ . }}{{ end }}", "a"},
		{`{{ index . "a" }} {{ get $ "b" }} {{ (.c).d }}`, "a? b? c"},
		{`{{ index $.a "b" }} {{ with $x := .c }}{{ get $x "d" }}{{ end }}`, "a c"},
		{"{{ toJson . }}", "*"},
		{`{{ define "x" }}{{ .a }}{{ end }}{{ template "x" .b }}`, "a? b"},
	} {
		tpl := given.Value(clusterclass.ParseTemplate(tc.text))(t)
		var reads []string
		if tpl.Variables(func(path []string, sure bool) {
			text := strings.Join(path, ".")
			if !sure {
				text += "?"
			}
			reads = append(reads, text)
		}) {
			reads = append(reads, "*")
		}
		slices.Sort(reads)
		if got := strings.Join(reads, " "); got != tc.reads {
			t.Errorf("%s reads %q, want %q", tc.text, got, tc.reads)
		}
	}
	for _, text := range []string{"{{ .a", "{{ nope . }}", "{{ if }}", "{{ end }}", "{{ break }}"} {
		if _, err := clusterclass.ParseTemplate(text); err == nil {
			t.Errorf("%s is a template", text)
		}
	}
}

// TestDefaulted gives values the defaults that an API server gives them: a null counts
// as a value where the schema allows it.
func TestDefaulted(t *testing.T) {
	schema := yamldoc.Parse(yamldoc.NewFile("a", []byte("default: {}\nproperties:\n"+
		"  a: {default: 1}\n  b: {default: 2, nullable: true}\n"))).Docs[0].Root
	for want, value := range map[string]any{
		"map[a:1 b:2]":     nil,
		"map[a:1 b:<nil>]": map[string]any{"a": nil, "b": nil},
		"map[a:3 b:2]":     map[string]any{"a": 3},
	} {
		if got, _ := clusterclass.Defaulted(schema, value, value != nil); fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

// FuzzClass looks for texts that make a look at a class fail.
func FuzzClass(f *testing.F) {
	f.Add(v1beta1)
	f.Add(v1beta2)
	f.Add("apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nspec: {variables: [{schema: {openAPIV3Schema: {allOf: [{anyOf: [{}, 1]}], properties: [], not: {}, x-kubernetes-validations: [{rule: '(', fieldPath: \"['\"}, 2]}}}, 1], patches: [{definitions: [1, {jsonPatches: [1]}]}, 2]}")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range read(text) {
			for _, v := range c.Check() {
				c.Elsewhere(v.Path)
			}
			for _, v := range c.Variables() {
				c.SchemaFaults(v)
			}
			for _, r := range c.References() {
				r.Problems()
			}
			for _, m := range c.Metadata() {
				crd.Problems(m)
			}
			c.HealthChecks()
			c.Durations()
			c.Taints()
		}
	})
}
