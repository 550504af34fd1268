package oracle

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/renamed"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestRenamed compares the table of renamed fields with the definitions of Cluster API:
// every field of an old version is in the new one or in the table, and the table names only
// fields that the versions have.
func TestRenamed(t *testing.T) {
	t.Parallel()
	served := map[string]map[string][]string{} // paths by group and kind, and version
	for _, folder := range []string{"core", "bootstrap/kubeadm", "controlplane/kubeadm"} {
		files := given.Value(filepath.Glob(filepath.Join(coreModule(t), filepath.FromSlash(folder), "config", "crd", "bases", "*.yaml")))(t)
		for _, file := range files {
			var crd struct {
				Spec struct {
					Group    string
					Names    struct{ Kind string }
					Versions []struct {
						Name   string
						Served bool
						Schema struct{ OpenAPIV3Schema map[string]any }
					}
				}
			}
			given.NoError(t, yaml.Unmarshal(given.Read(t, file), &crd))
			versions := map[string][]string{}
			for _, v := range crd.Spec.Versions {
				if v.Served {
					versions[v.Name] = fieldsOf(v.Schema.OpenAPIV3Schema, "", nil)
				}
			}
			served[crd.Spec.Group+" "+crd.Spec.Names.Kind] = versions
		}
	}
	for _, k := range renamed.Kinds {
		versions := served[k.Group+" "+k.Kind]
		delete(served, k.Group+" "+k.Kind)
		known := versions[k.To]
		if known == nil {
			t.Errorf("%s: Cluster API serves %v", k.Kind, slices.Sorted(maps.Keys(versions)))
		}
		for _, from := range k.From {
			old := versions[from]
			for _, path := range old {
				is := slices.IndexFunc(k.Fields, func(f renamed.Field) bool {
					return f.Path == path || strings.HasPrefix(path, f.Path+".") || strings.HasPrefix(path, f.Path+"[]") || strings.HasPrefix(f.Path, path+".")
				})
				if is < 0 && !slices.Contains(known, path) && !strings.HasPrefix(path, "status.") {
					t.Errorf("%s %s: %s is neither in %s nor in the table", k.Kind, from, path, k.To)
				}
			}
			for _, f := range k.Fields {
				if !slices.Contains(old, f.Path) {
					t.Errorf("%s %s has no field %s", k.Kind, from, f.Path)
				}
			}
		}
		for _, f := range k.Fields {
			if f.To != "" && !slices.Contains(known, f.To) {
				t.Errorf("%s %s has no field %s", k.Kind, k.To, f.To)
			}
			if f.To == "" && (slices.Contains(known, f.Path) || f.Note == "") {
				t.Errorf("%s: %s is in %s, or nothing says why it is gone", k.Kind, f.Path, k.To)
			}
			if f.To != "" && f.To != f.Path && slices.Contains(known, f.Path) && !strings.HasPrefix(f.To, f.Path) {
				t.Errorf("%s: %s is in %s, too", k.Kind, f.Path, k.To)
			}
		}
	}
	for kind, versions := range served {
		if len(versions) > 1 {
			t.Errorf("%s has versions %v and no row", kind, slices.Sorted(maps.Keys(versions)))
		}
	}
}

// fieldsOf appends the paths of the fields that a schema describes; [] stands for the items
// of a list.
func fieldsOf(schema map[string]any, path string, out []string) []string {
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		out = append(out, at)
		if of, ok := properties[name].(map[string]any); ok {
			out = fieldsOf(of, at, out)
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		out = fieldsOf(items, path+"[]", out)
	}
	return out
}
