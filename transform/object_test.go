package transform

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// read decodes a list of objects.
func read(t *testing.T, text string) []object {
	t.Helper()
	var out []object
	given.NoError(t, yaml.Unmarshal([]byte(text), &out))
	return out
}

func TestSetLabel(t *testing.T) {
	for keep, want := range map[bool][]string{false: {"a", "a", "a"}, true: {"a", "b", "a"}} {
		objs := read(t, "[{kind: A, metadata: {}}, {kind: B, metadata: {labels: {"+layouts.ProviderLabel+": b}}}, {kind: C, metadata: {labels: {x: z}}}]")
		if problems := setLabel(objs, "a", keep); problems != nil {
			t.Error(problems)
		}
		for i, o := range objs {
			if got := o.text("metadata", "labels", layouts.ProviderLabel); got != want[i] {
				t.Errorf("keep %v, %s: %q", keep, o, got)
			}
		}
		if objs[2].text("metadata", "labels", "x") != "z" {
			t.Error("lost a label")
		}
	}
	problems := setLabel(read(t, "[{kind: A}, {kind: B, metadata: {labels: [x]}}, {kind: C, metadata: {labels: {b: 1, a: 'x y'}}}]"), "a", false)
	if len(problems) != 4 {
		t.Fatalf("%d problems: %v", len(problems), problems)
	}
	for i, want := range []string{"A : metadata is missing", "B : metadata.labels is not", `C : Kubernetes refuses the value "x y" of label a: `, "C : the value of label b is not"} {
		if got := fmt.Sprintf("%s: %s", problems[i].object, problems[i].why); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCheckNamespace(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}"
	const rest = ", {apiVersion: x.io/v1, kind: Namespace, metadata: {name: n, namespace: a}}" +
		", {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, namespace: b}}" +
		", {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: x.io, scope: Cluster, names: {kind: Wide}}}" +
		", {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: x.io, scope: Namespaced, names: {kind: ClusterRole}}}" +
		", {apiVersion: x.io/v1, kind: Wide, metadata: {name: w}}"
	for text, want := range map[string]string{
		namespace + rest: "",
		namespace + rest + ", {apiVersion: x.io/v1, kind: ClusterRole, metadata: {name: s}}, {apiVersion: v1, kind: Secret, metadata: {name: t, namespace: b}}, {metadata: {name: u}}": "" +
			"ClusterRole s: the object has no namespace and would not be installed into a; set `namespace: a` in the kustomization\n" +
			"Secret b/t: the object is in the namespace b; all namespaced objects of a provider must be in its namespace, a, and clusterctl would move it there\n" +
			" u: the object has no kind\n",
		namespace + ", {apiVersion: v1, kind: Namespace, metadata: {name: b}}, {apiVersion: v1, kind: Namespace, metadata: {name: c}}": "" +
			"Namespace b: found a second Namespace besides a, but clusterctl refuses files with two; keep the one the provider runs in\n" +
			"Namespace c: found a second Namespace besides a, but clusterctl refuses files with two; keep the one the provider runs in\n",
	} {
		got := ""
		for _, p := range checkNamespace(read(t, "["+text+"]")) {
			got += p.object.String() + ": " + p.why + "\n"
		}
		if got != want {
			t.Errorf("%s:\n%s", text, got)
		}
	}
}

func TestApplyImage(t *testing.T) {
	for _, c := range []struct {
		old  string
		set  config.Image
		want string
	}{
		{"a:v1@sha256:0", config.Image{NewName: "b"}, "b:v1@sha256:0"},
		{"a:v1@sha256:0", config.Image{NewTag: "v2"}, "a:v2"},
		{"a:v1@sha256:0", config.Image{Digest: "sha256:1"}, "a@sha256:1"},
		{"a:v1", config.Image{NewTag: "v2", Digest: "sha256:1"}, "a:v2@sha256:1"},
		{"a:v1", config.Image{Keep: true}, "a:v1"},
	} {
		if got := splitImage(c.old).apply(c.set).String(); got != c.want {
			t.Errorf("%s with %+v: %s, want %s", c.old, c.set, got, c.want)
		}
	}
}

func TestSetImages(t *testing.T) {
	objs := read(t, `
- {kind: Deployment, metadata: {name: d}, spec: {template: {spec: {
    containers: [{name: a, image: 'x:v1', env: [{name: E, valueFrom: {fieldRef: {}}}, {name: F, value: 'x:v1'}]}, {name: b, image: z}],
    initContainers: [{name: c, image: 'x:v2'}]}}}}
- {kind: Secret, metadata: {name: s}, data: {k: eA==}, stringData: {k: x}}
- {kind: ConfigMap, metadata: {name: m}, data: {k: x}}
- {kind: ConfigMap, metadata: {name: o}, data: {k: x}}`)
	meant := map[string]bool{}
	unused, found := setImages(objs, []config.Image{
		{Name: "x", NewTag: "v3", PullPolicy: "Always", Places: []config.Place{
			{Kind: "Deployment", Env: "E"}, {Kind: "Secret", Key: "k", Value: "{tag} of {image}"}, {Kind: "ConfigMap", Name: "m", Key: "k"}, {Kind: "ConfigMap", Key: "none"},
		}},
		{Name: "z", Keep: true}, {Name: "none", NewTag: "v1"}, {Name: "only", NewTag: "v1", Places: []config.Place{{Kind: "ConfigMap", Name: "o", Key: "k"}}},
	}, meant)
	if !slices.Equal(unused, []int{2}) || len(meant) != 2 || !meant["x:v3"] || !meant["z"] {
		t.Errorf("unused %v, meant %v", unused, meant)
	}
	if len(found) != 4 || !found[placed{0, 0}] || !found[placed{0, 1}] || !found[placed{0, 2}] || !found[placed{3, 0}] {
		t.Errorf("found %v", found)
	}
	secret := base64.StdEncoding.EncodeToString([]byte("v3 of x:v3"))
	want := read(t, `
- {kind: Deployment, metadata: {name: d}, spec: {template: {spec: {
    containers: [{name: a, image: 'x:v3', imagePullPolicy: Always, env: [{name: E, value: 'x:v3'}, {name: F, value: 'x:v3'}]}, {name: b, image: z}],
    initContainers: [{name: c, image: 'x:v3', imagePullPolicy: Always}]}}}}
- {kind: Secret, metadata: {name: s}, data: {k: `+secret+`}, stringData: {k: 'v3 of x:v3'}}
- {kind: ConfigMap, metadata: {name: m}, data: {k: 'x:v3'}}
- {kind: ConfigMap, metadata: {name: o}, data: {k: 'only:v1'}}`)
	for i := range want {
		if fmt.Sprint(objs[i]) != fmt.Sprint(want[i]) {
			t.Errorf("got  %v\nwant %v", objs[i], want[i])
		}
	}
}
