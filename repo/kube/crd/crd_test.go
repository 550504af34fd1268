package crd_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

const foos = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {kind: Foo, plural: foos, listKind: FooList}
  versions:
  - {name: v1, served: true, storage: false}
  - name: v2
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              list:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, properties: {name: {type: string}}}
              map: {type: object, additionalProperties: {type: integer}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              any: {type: object, additionalProperties: true}
              size: {x-kubernetes-int-or-string: true}
`

func objects(t *testing.T, text string) []*manifest.Object {
	t.Helper()
	return manifest.New(repo.BytesArtifact("components.yaml", nil), layouts.Components, []byte(text)).Objects()
}

func TestSchema(t *testing.T) {
	c := crd.Of(objects(t, foos)[0])
	if c.Group != "x.io" || c.Kind != "Foo" || c.Plural != "foos" || c.ListKind != "FooList" || c.Scope != "Namespaced" || c.Storage().Name != "v2" || c.Version("v3") != nil {
		t.Fatalf("%+v", c)
	}
	for path, want := range map[string]struct {
		presence crd.Presence
		kind     string
	}{
		"spec":               {crd.Present, "object"},
		"spec.list":          {crd.Present, "array"},
		"spec.list.[].name":  {crd.Present, "string"},
		"spec.list.[].other": {crd.Absent, "object"},
		"spec.list.name":     {crd.Absent, "array"},
		"spec.map.anything":  {crd.Present, "integer"},
		"spec.map.a.b":       {crd.Absent, "integer"},
		"spec.free.anything": {crd.Unknowable, "object"},
		"spec.any.x.y":       {crd.Unknowable, "object"},
		"spec.size":          {crd.Present, crd.IntOrString},
		"status":             {crd.Absent, "object"},
		"spec.free.[]":       {crd.Unknowable, "object"},
	} {
		s, presence := c.Version("v2").Schema.At(strings.Split(path, ".")...)
		if presence != want.presence || s.Type() != want.kind {
			t.Errorf("%s: %v %q, want %v %q", path, presence, s.Type(), want.presence, want.kind)
		}
	}
	if _, p := c.Version("v1").Schema.At("spec"); p != crd.Unknowable {
		t.Error("a version without a schema says nothing about its fields")
	}
	list, _ := c.Version("v2").Schema.At("spec", "list")
	if list.ListType() != "map" || strings.Join(list.ListMapKeys(), ",") != "name" || !c.Version("v2").Schema.Required("spec") {
		t.Error("list type, keys or required fields")
	}
}

func TestOldDefinitions(t *testing.T) {
	c := crd.Of(objects(t, "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nspec:\n  versions: [{name: v1}]\n  subresources: {status: {}}\n  validation: {openAPIV3Schema: {type: object}}\n")[0])
	if c.Versions[0].Schema.Type() != "object" || c.Versions[0].Subresources == nil {
		t.Errorf("%+v", c)
	}
}

func TestOthersAreNoDefinitions(t *testing.T) {
	for _, text := range []string{"kind: CustomResourceDefinition", "apiVersion: apiextensions.k8s.io/v1\nkind: Other", "a: b"} {
		if crd.Of(objects(t, text)[0]) != nil {
			t.Errorf("%q is a definition", text)
		}
	}
	if c := crd.Of(objects(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: [1]")[0]); c == nil || c.Storage() != nil {
		t.Error("a broken definition must not be taken for another object")
	}
}
