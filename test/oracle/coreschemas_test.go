package oracle

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// coreKinds are the definitions of Cluster API whose schemas the tool holds, by
// the folder of the module.
var coreKinds = map[string][]string{
	"core":                 {"cluster.x-k8s.io_clusters", "cluster.x-k8s.io_machinedeployments", "cluster.x-k8s.io_machinepools", "cluster.x-k8s.io_machinehealthchecks", "addons.cluster.x-k8s.io_clusterresourcesets", "runtime.cluster.x-k8s.io_extensionconfigs"},
	"bootstrap/kubeadm":    {"bootstrap.cluster.x-k8s.io_kubeadmconfigs", "bootstrap.cluster.x-k8s.io_kubeadmconfigtemplates"},
	"controlplane/kubeadm": {"controlplane.cluster.x-k8s.io_kubeadmcontrolplanes"},
}

// TestCoreSchemas keeps the schemas of repo/coreapi equal to those that Cluster
// API installs, without their prose and without rules in CEL.
func TestCoreSchemas(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "repo", "coreapi", "schemas")
	made := map[string]bool{}
	for folder, names := range coreKinds {
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(coreModule(t), filepath.FromSlash(folder), "config", "crd", "bases", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
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
			if err := yaml.Unmarshal(data, &crd); err != nil {
				t.Fatal(err)
			}
			for _, v := range crd.Spec.Versions {
				if !v.Served {
					continue
				}
				root := v.Schema.OpenAPIV3Schema
				delete(root["properties"].(map[string]any), "status")
				want, err := yaml.Marshal(withoutProse(root))
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(dir, strings.Join([]string{crd.Spec.Group, crd.Spec.Names.Kind, v.Name}, "_")+".yaml")
				made[file] = true
				if *updateSchemas {
					if err := os.WriteFile(file, want, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s is stale (%v): run go test -run TestCoreSchemas . -args -update-schemas", file, err)
				}
			}
		}
	}
	for _, name := range files(t, dir) {
		if !made[filepath.Join(dir, name)] {
			t.Errorf("%s belongs to no definition", name)
		}
	}
}

// withoutProse copies a schema without descriptions and rules in CEL.
func withoutProse(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			_, isText := value.(string)
			if key == "description" && isText || key == "x-kubernetes-validations" {
				continue
			}
			out[key] = withoutProse(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutProse(v[i])
		}
		return out
	}
	return v
}
