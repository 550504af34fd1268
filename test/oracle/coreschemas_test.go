package oracle

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// coreKinds are the definitions of Cluster API whose schemas the tool holds, by
// the folder of the module.
var coreKinds = map[string][]string{
	"core":                 {"cluster.x-k8s.io_clusters", "cluster.x-k8s.io_clusterclasses", "cluster.x-k8s.io_machinedeployments", "cluster.x-k8s.io_machinepools", "cluster.x-k8s.io_machinehealthchecks", "addons.cluster.x-k8s.io_clusterresourcesets", "runtime.cluster.x-k8s.io_extensionconfigs"},
	"bootstrap/kubeadm":    {"bootstrap.cluster.x-k8s.io_kubeadmconfigs", "bootstrap.cluster.x-k8s.io_kubeadmconfigtemplates"},
	"controlplane/kubeadm": {"controlplane.cluster.x-k8s.io_kubeadmcontrolplanes", "controlplane.cluster.x-k8s.io_kubeadmcontrolplanetemplates"},
}

var updateSchemas = flag.Bool("update-schemas", false, "write the schemas of Cluster API's kinds anew")

// notIn is the only form of rule in CEL that a schema can say as well.
var notIn = regexp.MustCompile(`^!\(self in \[([^\]]*)\]\)$`)

// coreModule is the folder of Cluster API's source.
func coreModule(t testing.TB) string {
	t.Helper()
	out := given.Value(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output())(t)
	return strings.TrimSpace(string(out))
}

// served reads a definition of a part of Cluster API.
func served(t testing.TB, of, name string) []byte {
	t.Helper()
	path := filepath.Join(coreModule(t), filepath.FromSlash(of), "config", "crd", "bases", name+".yaml")
	return given.Read(t, path)
}

// TestCoreSchemas keeps the schemas of repo/capi/contract equal to those that Cluster
// API installs, without their prose and with few of the rules in CEL.
func TestCoreSchemas(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "repo", "capi", "contract", "schemas")
	made := map[string]bool{}
	for folder, names := range coreKinds {
		for _, name := range names {
			data := served(t, folder, name)
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
			given.NoError(t, yaml.Unmarshal(data, &crd))
			for _, v := range crd.Spec.Versions {
				if !v.Served {
					continue
				}
				root := v.Schema.OpenAPIV3Schema
				delete(root["properties"].(map[string]any), "status")
				want := given.Value(yaml.Marshal(withoutProse(root)))(t)
				file := filepath.Join(dir, strings.Join([]string{crd.Spec.Group, crd.Spec.Names.Kind, v.Name}, "_")+".yaml")
				made[file] = true
				if *updateSchemas {
					given.NoError(t, os.WriteFile(file, want, 0o644))
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

// withoutProse copies a schema without descriptions, and with rules in CEL only
// where a schema says the same.
func withoutProse(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			_, isText := value.(string)
			rules, isList := value.([]any)
			switch {
			case key == "description" && isText:
			case key == "x-kubernetes-validations" && isList:
				for _, rule := range rules {
					if m := notIn.FindStringSubmatch(rule.(map[string]any)["rule"].(string)); m != nil {
						var words []any
						for _, word := range strings.Split(m[1], ",") {
							words = append(words, strings.Trim(word, " '"))
						}
						out["not"] = map[string]any{"enum": words}
					}
				}
			default:
				out[key] = withoutProse(value)
			}
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
