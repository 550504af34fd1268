//lint:file-ignore SA1019 The deprecated versions are what is migrated.

package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1"
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	bootstrapconversion "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/conversion"
	controlplaneconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	coreconversion "sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// generated is how many objects of each kind are migrated and compared with Cluster
// API's conversion.
var generated = share.Of(100, 5000)

// oldKind is a kind with Cluster API's conversion to the new version.
type oldKind struct {
	group, version, kind string
	convert              func(data []byte) (runtime.Object, error)
	empty                func() runtime.Object
	fresh                func() runtime.Object
}

// convertible makes an oldKind of two types and the conversion between them.
func convertible[O, N any, PO interface {
	*O
	runtime.Object
}, PN interface {
	*N
	runtime.Object
}](group, version string, convert func(context.Context, PO, PN) error) oldKind {
	return oldKind{
		group: group, version: version, kind: reflect.TypeFor[O]().Name(),
		convert: func(data []byte) (runtime.Object, error) {
			old, converted := PO(new(O)), PN(new(N))
			if err := yaml.Unmarshal(data, old); err != nil {
				return nil, err
			}
			if err := convert(context.Background(), old, converted); err != nil {
				return nil, err
			}
			// The API server refuses what is empty; the format is the default one of
			// ApplyPreviousKubeadmConfigDefaults.
			if c, ok := any(converted).(*bootstrapv1.KubeadmConfigTemplate); ok && reflect.DeepEqual(c.Spec.Template.Spec, bootstrapv1.KubeadmConfigSpec{}) {
				c.Spec.Template.Spec.Format = bootstrapv1.CloudConfig
			}
			return converted, nil
		},
		empty: func() runtime.Object { return PO(new(O)) },
		fresh: func() runtime.Object { return PN(new(N)) },
	}
}

var oldKinds = []oldKind{
	convertible[clusterv1beta1.Cluster, clusterv1.Cluster]("cluster.x-k8s.io", "v1beta1", coreconversion.ConvertClusterV1Beta1ToHub),
	convertible[clusterv1beta1.ClusterClass, clusterv1.ClusterClass]("cluster.x-k8s.io", "v1beta1", coreconversion.ConvertClusterClassV1Beta1ToHub),
	convertible[clusterv1beta1.Machine, clusterv1.Machine]("cluster.x-k8s.io", "v1beta1", coreconversion.ConvertMachineV1Beta1ToHub),
	convertible[clusterv1beta1.MachineDeployment, clusterv1.MachineDeployment]("cluster.x-k8s.io", "v1beta1", coreconversion.ConvertMachineDeploymentV1Beta1ToHub),
	convertible[clusterv1beta1.MachineSet, clusterv1.MachineSet]("cluster.x-k8s.io", "v1beta1", coreconversion.ConvertMachineSetV1Beta1ToHub),
	convertible[clusterv1beta1.MachinePool, clusterv1.MachinePool]("cluster.x-k8s.io", "v1beta1", coreconversion.ConvertMachinePoolV1Beta1ToHub),
	convertible[clusterv1beta1.MachineHealthCheck, clusterv1.MachineHealthCheck]("cluster.x-k8s.io", "v1beta1", coreconversion.ConvertMachineHealthCheckV1Beta1ToHub),
	convertible[clusterv1beta1.MachineDrainRule, clusterv1.MachineDrainRule]("cluster.x-k8s.io", "v1beta1", coreconversion.ConvertMachineDrainRuleV1Beta1ToHub),
	convertible[bootstrapv1beta1.KubeadmConfig, bootstrapv1.KubeadmConfig]("bootstrap.cluster.x-k8s.io", "v1beta1", bootstrapconversion.ConvertKubeadmConfigV1Beta1ToHub),
	convertible[bootstrapv1beta1.KubeadmConfigTemplate, bootstrapv1.KubeadmConfigTemplate]("bootstrap.cluster.x-k8s.io", "v1beta1", bootstrapconversion.ConvertKubeadmConfigTemplateV1Beta1ToHub),
	convertible[controlplanev1beta1.KubeadmControlPlane, controlplanev1.KubeadmControlPlane]("controlplane.cluster.x-k8s.io", "v1beta1", controlplaneconversion.ConvertKubeadmControlPlaneV1Beta1ToHub),
	convertible[controlplanev1beta1.KubeadmControlPlaneTemplate, controlplanev1.KubeadmControlPlaneTemplate]("controlplane.cluster.x-k8s.io", "v1beta1", controlplaneconversion.ConvertKubeadmControlPlaneTemplateV1Beta1ToHub),
	convertible[addonsv1beta1.ClusterResourceSet, addonsv1.ClusterResourceSet]("addons.cluster.x-k8s.io", "v1beta1", coreconversion.ConvertClusterResourceSetV1Beta1ToHub),
	convertible[addonsv1beta1.ClusterResourceSetBinding, addonsv1.ClusterResourceSetBinding]("addons.cluster.x-k8s.io", "v1beta1", coreconversion.ConvertClusterResourceSetBindingV1Beta1ToHub),
	convertible[ipamv1beta1.IPAddress, ipamv1.IPAddress]("ipam.cluster.x-k8s.io", "v1beta1", func(_ context.Context, in *ipamv1beta1.IPAddress, out *ipamv1.IPAddress) error {
		return ipamv1beta1.Convert_v1beta1_IPAddress_To_v1beta2_IPAddress(in, out, nil)
	}),
	convertible[ipamv1beta1.IPAddressClaim, ipamv1.IPAddressClaim]("ipam.cluster.x-k8s.io", "v1beta1", func(_ context.Context, in *ipamv1beta1.IPAddressClaim, out *ipamv1.IPAddressClaim) error {
		return ipamv1beta1.Convert_v1beta1_IPAddressClaim_To_v1beta2_IPAddressClaim(in, out, nil)
	}),
	convertible[ipamv1alpha1.IPAddress, ipamv1.IPAddress]("ipam.cluster.x-k8s.io", "v1alpha1", func(_ context.Context, in *ipamv1alpha1.IPAddress, out *ipamv1.IPAddress) error {
		return ipamv1alpha1.Convert_v1alpha1_IPAddress_To_v1beta2_IPAddress(in, out, nil)
	}),
	convertible[ipamv1alpha1.IPAddressClaim, ipamv1.IPAddressClaim]("ipam.cluster.x-k8s.io", "v1alpha1", func(_ context.Context, in *ipamv1alpha1.IPAddressClaim, out *ipamv1.IPAddressClaim) error {
		return ipamv1alpha1.Convert_v1alpha1_IPAddressClaim_To_v1beta2_IPAddressClaim(in, out, nil)
	}),
	convertible[runtimev1alpha1.ExtensionConfig, runtimev1.ExtensionConfig]("runtime.cluster.x-k8s.io", "v1alpha1", coreconversion.ConvertExtensionConfigV1Alpha1ToHub),
}

// words are texts that YAML must quote, and others.
var words = []string{"a", "web", "true", "null", "0x1", "3", "yes", "a: b", "# c", "- d", "é", "x'y", `q"r`, "{}", "*a", "a/b", "~", "1e3", "with space", ":", "2020-01-01"}

// filler fills objects with what their JSON can hold.
func filler(seed int64) *randfill.Filler {
	schemas := 0 // deep schemas would be large and show nothing new
	f := randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 3).MaxDepth(14)
	return f.Funcs(
		func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
		func(t *metav1.TypeMeta, _ randfill.Continue) {},
		func(d *metav1.Duration, c randfill.Continue) {
			d.Duration = []time.Duration{0, time.Second, 10 * time.Minute, 1500 * time.Millisecond, 36 * time.Hour, 100 * 365 * 24 * time.Hour}[c.Intn(6)]
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(1700000000+int64(c.Intn(1000)), 0) },
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(int32(c.Intn(9)))
			if c.Bool() {
				*v = intstr.FromString("40%")
			}
		},
		func(j *apiextensionsv1.JSON, c randfill.Continue) {
			j.Raw = []byte([]string{`false`, `"a"`, `{"uniqueItems":false}`, `[1]`, `3`}[c.Intn(5)])
		},
		func(r *corev1.ObjectReference, c randfill.Continue) {
			r.APIVersion = []string{"", "v1", "infrastructure.example.com/v1alpha2"}[c.Intn(3)]
			r.Kind, r.Name = "AcmeTemplate", words[c.Intn(len(words))]
			if c.Bool() {
				r.Namespace, r.FieldPath = "ns", "x"
			}
		},
		func(t *bootstrapv1beta1.BootstrapTokenString, _ randfill.Continue) {
			t.ID, t.Secret = "abcdef", "0123456789abcdef"
		},
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			m.Name = "x"
			if c.Bool() {
				m.Labels = map[string]string{"a": words[c.Intn(len(words))]}
			}
		},
		func(m *metav1.FieldsV1, _ randfill.Continue) {},
		func(s *clusterv1beta1.JSONSchemaProps, c randfill.Continue) {
			if schemas++; schemas < 3 || schemas < 30 && c.Intn(4) == 0 {
				c.FillNoCustom(s)
				return
			}
			s.Type, s.UniqueItems, s.XIntOrString = "array", c.Bool(), c.Bool()
		},
		func(s *ipamv1beta1.IPAddressSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			s.Prefix &= 127
		},
		func(s *ipamv1alpha1.IPAddressSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			s.Prefix &= 127
		},
	)
}

// withoutStatus is the JSON of an object as text that can be compared.
func withoutStatus(t *testing.T, o runtime.Object) string {
	t.Helper()
	data := given.Value(json.Marshal(o))(t)
	var m map[string]any
	given.NoError(t, json.Unmarshal(data, &m))
	delete(m, "status")
	delete(m, "apiVersion")
	delete(m, "kind")
	return string(given.Value(yaml.Marshal(m))(t))
}

// commented puts comments between lines and after them.
func commented(text string, r *rand.Rand) (out string, comments []string) {
	var b strings.Builder
	for i, line := range strings.SplitAfter(text, "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if line != "" && i > 0 && r.Intn(4) == 0 {
			c := fmt.Sprintf("# line %d", i)
			comments = append(comments, c)
			b.WriteString(indent + c + "\n")
		}
		if line != "" && r.Intn(4) == 0 {
			c := fmt.Sprintf("# end %d", i)
			comments = append(comments, c)
			line = strings.TrimSuffix(line, "\n") + " " + c + "\n"
		}
		b.WriteString(line)
	}
	return b.String(), comments
}

// Every field of every kind becomes what Cluster API's conversion makes of it.
func TestMigrateObjects(t *testing.T) {
	contract := table.To("v1beta2")
	versions := 0
	for _, k := range contract.Kinds {
		versions += len(k.From)
	}
	if len(oldKinds) != versions {
		t.Errorf("%d versions of kinds are compared, the tables have %d", len(oldKinds), versions)
	}
	for _, k := range oldKinds {
		t.Run(k.kind+" "+k.version, func(t *testing.T) {
			t.Parallel()
			failed := 0
			for i := range generated {
				r := rand.New(rand.NewSource(int64(i)))
				object := k.empty()
				fill := filler(int64(i))
				fill.Fill(object)
				v := reflect.ValueOf(object).Elem()
				if status := v.FieldByName("Status"); status.IsValid() {
					status.SetZero()
				}
				uniquePaths(object)
				object.GetObjectKind().SetGroupVersionKind(gvk(k))
				data := given.Value(yaml.Marshal(object))(t)
				if strings.Contains(string(data), "${") {
					continue // random text that begins a variable
				}
				want, err := k.convert(data)
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", i, err, data)
				}
				text, comments := commented(string(data), r)
				got := migrate.Text("x", []byte(text), migrate.Options{Contract: contract})
				if problem := compare(t, k, want, got, comments); problem != "" {
					if failed++; failed <= 2 {
						t.Errorf("seed %d: %s\nold:\n%s\nnew:\n%s\nfindings: %v", i, problem, text, got.New, got.Findings)
					}
				}
			}
			if failed > 0 {
				t.Errorf("%d of %d objects differ", failed, generated)
			}
		})
	}
}

func compare(t *testing.T, k oldKind, want runtime.Object, got *migrate.Result, comments []string) string {
	fresh := k.fresh()
	if err := yaml.UnmarshalStrict(got.New, fresh); err != nil {
		return err.Error()
	}
	if a, b := withoutStatus(t, want), withoutStatus(t, fresh); a != b {
		return "differs from the conversion:\n" + lineDiff(a, b)
	}
	for _, c := range comments {
		if !strings.Contains(string(got.New), c+"\n") {
			return "lost " + c
		}
	}
	again := migrate.Text("x", got.New, migrate.Options{Contract: table.To("v1beta2")})
	if again.Changed(got.New) {
		return "the second run changes something"
	}
	return ""
}

// lineDiff are the lines that only one of two texts has.
func lineDiff(want, got string) string {
	count := map[string]int{}
	for _, l := range strings.Split(want, "\n") {
		count[l]++
	}
	for _, l := range strings.Split(got, "\n") {
		count[l]--
	}
	var out []string
	for l, n := range count {
		if n > 0 {
			out = append(out, "want "+l)
		} else if n < 0 {
			out = append(out, "got  "+l)
		}
	}
	return strings.Join(out, "\n")
}

func gvk(k oldKind) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind}
}

// uniquePaths gives items that the conversion finds by a key keys of their own.
func uniquePaths(o runtime.Object) {
	switch o := o.(type) {
	case *bootstrapv1beta1.KubeadmConfig:
		uniqueKubeadm(&o.Spec)
	case *bootstrapv1beta1.KubeadmConfigTemplate:
		uniqueKubeadm(&o.Spec.Template.Spec)
	case *controlplanev1beta1.KubeadmControlPlane:
		uniqueKubeadm(&o.Spec.KubeadmConfigSpec)
	case *controlplanev1beta1.KubeadmControlPlaneTemplate:
		uniqueKubeadm(&o.Spec.Template.Spec.KubeadmConfigSpec)
	case *clusterv1beta1.ClusterClass:
		for i := range o.Spec.Variables {
			o.Spec.Variables[i].Name = fmt.Sprint("v", i)
		}
		for i := range o.Spec.Patches {
			o.Spec.Patches[i].Name = fmt.Sprint("p", i)
			for j := range o.Spec.Patches[i].Definitions {
				s := &o.Spec.Patches[i].Definitions[j].Selector
				s.APIVersion, s.Kind = "example.com/v1", "AcmeTemplate"
			}
		}
	}
}

func uniqueKubeadm(s *bootstrapv1beta1.KubeadmConfigSpec) {
	for i := range s.Files {
		s.Files[i].Path = fmt.Sprint("/", i)
	}
	if c := s.ClusterConfiguration; c != nil {
		for _, list := range [][]bootstrapv1beta1.HostPathMount{c.APIServer.ExtraVolumes, c.ControllerManager.ExtraVolumes, c.Scheduler.ExtraVolumes} {
			for i := range list {
				list[i].HostPath = fmt.Sprint("/", i)
			}
		}
	}
}
