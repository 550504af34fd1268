package kustomize_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// TestDeprecatedFields: the table has the fields that kustomize itself warns of, and
// names what kustomize does.
func TestDeprecatedFields(t *testing.T) {
	n := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[types.Kustomization]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		var k types.Kustomization
		v := reflect.ValueOf(&k).Elem().FieldByIndex(f.Index)
		switch f.Type.Kind() {
		case reflect.Slice:
			v.Set(reflect.MakeSlice(f.Type, 0, 0))
		case reflect.Map:
			v.Set(reflect.MakeMap(f.Type))
		default:
			continue
		}
		warnings := strings.Join(*k.CheckDeprecatedFields(), " ")
		instead, known := layouts.DeprecatedKustomizeFields[name]
		if known != (warnings != "") {
			t.Errorf("%s: in the table: %t; kustomize says %q", name, known, warnings)
		}
		if word, _, _ := strings.Cut(instead, " "); known && !strings.Contains(warnings, "'"+word+"'") {
			t.Errorf("%s: use %s; kustomize says %q", name, instead, warnings)
		}
		if known {
			n++
		}
	}
	if n != len(layouts.DeprecatedKustomizeFields) {
		t.Errorf("kustomize knows %d fields of %d", n, len(layouts.DeprecatedKustomizeFields))
	}
}

// TestKustomizations follows folders of the tree, each once.
func TestKustomizations(t *testing.T) {
	base := "resources: [a.yaml, '']\n"
	tree := write(t, map[string]string{
		"k/kustomization.yaml": "resources: [a.yaml, /r, ../b, https://example.com/b, ../none]\ncomponents: [../c, ../b]\n---\nbases: [d]\n", "k/a.yaml": object,
		"k/r/kustomization.yaml": base, "k/https:/example.com/b/kustomization.yaml": base, "b/kustomization.yaml": base, "c/kustomization.yml": "resources: [../b]\n", "k/d/Kustomization": base,
	})
	var got []string
	for _, s := range kustomize.Kustomizations(tree, "k/") {
		got = append(got, strings.TrimPrefix(s.File.Name, filepath.ToSlash(tree.Name)+"/"))
	}
	if want := "k/kustomization.yaml b/kustomization.yaml c/kustomization.yml k/d/Kustomization"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
