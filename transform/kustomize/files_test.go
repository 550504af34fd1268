package kustomize_test

import (
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
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
