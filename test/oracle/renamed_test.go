package oracle

//lint:file-ignore SA1019 The deprecated versions are what is converted.

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrapconversion "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/conversion"
	controlplaneconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	coreconversion "sigs.k8s.io/cluster-api/core/webhooks/conversion"
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

// converting is Cluster API's own, of JSON.
type converting func(t *testing.T, data []byte) map[string]any

func by[Old, New any](convert func(context.Context, *Old, *New) error) converting {
	return func(t *testing.T, data []byte) (out map[string]any) {
		t.Helper()
		old, hub := new(Old), new(New)
		given.NoError(t, json.Unmarshal(data, old))
		given.NoError(t, convert(background, old, hub))
		given.NoError(t, json.Unmarshal(given.Value(json.Marshal(hub))(t), &out))
		return out
	}
}

// conversions are those of the kinds that have renamed fields.
var conversions = map[string]converting{
	"Cluster":                     by[clusterv1beta1.Cluster, clusterv1.Cluster](coreconversion.ConvertClusterV1Beta1ToHub),
	"ClusterClass":                by[clusterv1beta1.ClusterClass, clusterv1.ClusterClass](coreconversion.ConvertClusterClassV1Beta1ToHub),
	"Machine":                     by[clusterv1beta1.Machine, clusterv1.Machine](coreconversion.ConvertMachineV1Beta1ToHub),
	"MachineDeployment":           by[clusterv1beta1.MachineDeployment, clusterv1.MachineDeployment](coreconversion.ConvertMachineDeploymentV1Beta1ToHub),
	"MachineSet":                  by[clusterv1beta1.MachineSet, clusterv1.MachineSet](coreconversion.ConvertMachineSetV1Beta1ToHub),
	"MachinePool":                 by[clusterv1beta1.MachinePool, clusterv1.MachinePool](coreconversion.ConvertMachinePoolV1Beta1ToHub),
	"MachineHealthCheck":          by[clusterv1beta1.MachineHealthCheck, clusterv1.MachineHealthCheck](coreconversion.ConvertMachineHealthCheckV1Beta1ToHub),
	"KubeadmConfig":               by[bootstrapv1beta1.KubeadmConfig, bootstrapv1.KubeadmConfig](bootstrapconversion.ConvertKubeadmConfigV1Beta1ToHub),
	"KubeadmConfigTemplate":       by[bootstrapv1beta1.KubeadmConfigTemplate, bootstrapv1.KubeadmConfigTemplate](bootstrapconversion.ConvertKubeadmConfigTemplateV1Beta1ToHub),
	"KubeadmControlPlane":         by[controlplanev1beta1.KubeadmControlPlane, controlplanev1.KubeadmControlPlane](controlplaneconversion.ConvertKubeadmControlPlaneV1Beta1ToHub),
	"KubeadmControlPlaneTemplate": by[controlplanev1beta1.KubeadmControlPlaneTemplate, controlplanev1.KubeadmControlPlaneTemplate](controlplaneconversion.ConvertKubeadmControlPlaneTemplateV1Beta1ToHub),
}

// TestRenamedValues converts objects with one field each, and finds its value where the table
// says. Fields that hold others are left to these.
func TestRenamedValues(t *testing.T) {
	t.Parallel()
	found := 0
	for _, k := range renamed.Kinds {
		for _, f := range k.Fields {
			var was, is any = "10m", float64(600)
			switch {
			case f.To == "":
				continue
			case strings.Contains(f.Note, "in seconds"):
			case strings.Contains(f.Note, "a list of name and value"):
				was, is = map[string]any{"a": "b"}, []any{map[string]any{"name": "a", "value": "b"}}
			case strings.Contains(f.Note, "with apiGroup"):
				was, is = map[string]any{"apiVersion": "a.b/v1", "kind": "C", "name": "d"}, map[string]any{"apiGroup": "a.b", "kind": "C", "name": "d"}
			case strings.Contains(f.Note, "with apiVersion"):
				was = map[string]any{"apiVersion": "a.b/v1", "kind": "C", "name": "d"}
				is = was
			default:
				var ok bool
				if was, ok = samples[f.Path[strings.LastIndexByte(f.Path, '.')+1:]]; !ok {
					continue
				}
				is = was
			}
			object := map[string]any{}
			plant(object, strings.Split(f.Path, "."), was)
			got := take(conversions[k.Kind](t, given.Value(json.Marshal(object))(t)), strings.Split(f.To, "."))
			if a, b := given.Value(json.Marshal(got))(t), given.Value(json.Marshal(is))(t); string(a) != string(b) {
				t.Errorf("%s: %s becomes %s at %s, want %s", k.Kind, f.Path, a, f.To, b)
			}
			found++
		}
	}
	if found < 100 {
		t.Errorf("only %d values", found)
	}
}

// samples are values of fields that keep theirs.
var samples = map[string]any{
	"class": "a", "classNamespace": "a", "enable": true, "maxUnhealthy": "40%", "unhealthyRange": "[1-2]", "deletePolicy": "Oldest", "maxInFlight": float64(3),
	"rolloutAfter": "2030-01-01T00:00:00Z", "minReadySeconds": float64(7), "machineNamingStrategy": map[string]any{"template": "a"}, "namingStrategy": map[string]any{"template": "a"},
	"infrastructureNamingStrategy": map[string]any{"template": "a"}, "readinessGates": []any{map[string]any{"conditionType": "A"}}, "rolloutBefore": map[string]any{"certificatesExpiryDays": float64(8)},
	"generateExtension": "a.b", "validateExtension": "a.b", "taints": []any{map[string]any{"key": "a", "effect": "NoSchedule", "propagation": "Always"}},
}

// plant sets a value at a path, whose lists get one item.
func plant(m map[string]any, path []string, value any) {
	name, list := strings.CutSuffix(path[0], "[]")
	switch {
	case len(path) == 1:
		m[name] = value
	default:
		inner := map[string]any{}
		plant(inner, path[1:], value)
		if m[name] = any(inner); list {
			m[name] = []any{inner}
		}
	}
}

// take returns the value at a path, of the first item of lists; nil if there is none.
func take(v any, path []string) any {
	for _, step := range path {
		name, list := strings.CutSuffix(step, "[]")
		m, _ := v.(map[string]any)
		if v = m[name]; list {
			items, _ := v.([]any)
			if len(items) == 0 {
				return nil
			}
			v = items[0]
		}
	}
	return v
}
