package gotypes

//lint:file-ignore SA1019 v1beta1 is still served, and the tables must fit it

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
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

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// goTypes are the types of the kinds in types.txt. A new kind begins with a line there,
// whose last word -update writes.
func goTypes() map[name]reflect.Type {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, rbacv1.AddToScheme,
		admissionv1.AddToScheme, admissionv1beta1.AddToScheme, apiextensionsv1.AddToScheme,
		apiextensionsv1beta1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme,
		coordinationv1.AddToScheme, flowcontrolv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme,
		policyv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme, clusterv1.AddToScheme,
		clusterv1beta1.AddToScheme, addonsv1.AddToScheme, addonsv1beta1.AddToScheme, ipamv1.AddToScheme,
		ipamv1beta1.AddToScheme, ipamv1alpha1.AddToScheme, runtimev1.AddToScheme, runtimev1alpha1.AddToScheme,
		bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme, controlplanev1.AddToScheme,
		controlplanev1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	out := map[name]reflect.Type{}
	for n := range catalogue().kinds {
		o, err := scheme.New(schema.FromAPIVersionAndKind(n.apiVersion, n.kind))
		if err != nil {
			panic(err)
		}
		out[n] = reflect.TypeOf(o).Elem()
	}
	return out
}

// words are the types that decode JSON themselves, with their words in types.txt.
var words = map[reflect.Type]string{
	reflect.TypeFor[runtime.RawExtension]():      "any",
	reflect.TypeFor[metav1.FieldsV1]():           "any",
	reflect.TypeFor[apiextensionsv1.JSON]():      "any",
	reflect.TypeFor[apiextensionsv1beta1.JSON](): "any",
	reflect.TypeFor[intstr.IntOrString]():        "int-or-string",
	reflect.TypeFor[resource.Quantity]():         "quantity",
	reflect.TypeFor[metav1.Duration]():           "duration",
	reflect.TypeFor[metav1.Time]():               "time",
	reflect.TypeFor[metav1.MicroTime]():          "microtime",

	reflect.TypeFor[bootstrapv1.BootstrapTokenString]():      "token",
	reflect.TypeFor[bootstrapv1beta1.BootstrapTokenString](): "token",

	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():             "apiextensions/v1.JSONSchemaProps|bool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():            "apiextensions/v1.JSONSchemaProps|list",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():      "apiextensions/v1.JSONSchemaProps|texts",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrBool]():        "apiextensions/v1beta1.JSONSchemaProps|bool",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrArray]():       "apiextensions/v1beta1.JSONSchemaProps|list",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrStringArray](): "apiextensions/v1beta1.JSONSchemaProps|texts",
}

// describer writes the lines of types.txt.
type describer struct{ lines map[string]string }

// describe returns the description of types, and of all that they consist of.
func describe(kinds map[name]reflect.Type) string {
	d := describer{map[string]string{}}
	var out []string
	for n, t := range kinds {
		out = append(out, fmt.Sprintf("kind %s %s %s", n.apiVersion, n.kind, d.word(t)))
	}
	slices.Sort(out)
	for _, object := range slices.Sorted(maps.Keys(d.lines)) {
		out = append(out, object+d.lines[object])
	}
	return strings.Join(out, "\n") + "\n"
}

func (d describer) word(t reflect.Type) string {
	// A pointer holds what its type holds: null is fine for every type.
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if word := words[t]; word != "" {
		return word
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		panic(fmt.Sprintf("%v decodes JSON itself in a way that nobody has described", t))
	}
	switch t.Kind() {
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "text"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("int%d", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("uint%d", t.Bits())
	case reflect.Float32, reflect.Float64:
		return "float"
	case reflect.Interface:
		return "any"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "octets"
		}
		return "[]" + d.word(t.Elem())
	case reflect.Map:
		return "{}" + d.word(t.Elem())
	case reflect.Struct:
		return d.object(t)
	}
	panic(fmt.Sprintf("nothing can be decoded into %v", t))
}

// object adds the line of a struct. The fields of structs inlined in it count as
// its own (apimachinery: pkg/runtime/converter.go, fieldInfoFromField).
func (d describer) object(t reflect.Type) string {
	path := t.PkgPath()
	for _, prefix := range []string{"sigs.k8s.io/cluster-api/api/", "k8s.io/api/", "k8s.io/apimachinery/pkg/apis/", "k8s.io/apiextensions-apiserver/pkg/apis/"} {
		path = strings.TrimPrefix(path, prefix)
	}
	out := path + "." + t.Name()
	if _, known := d.lines[out]; known {
		return out
	}
	d.lines[out] = "" // types contain themselves
	seen := map[string]bool{}
	var line strings.Builder
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag == "" && f.Anonymous {
				of := f.Type
				if of.Kind() == reflect.Pointer {
					of = of.Elem()
				}
				if of.Kind() != reflect.Struct || words[of] != "" {
					panic(fmt.Sprintf("%v is inlined in %v and no plain struct", of, t))
				}
				add(of)
				continue
			}
			if tag == "" {
				tag = f.Name
			}
			if seen[tag] {
				panic(fmt.Sprintf("%v has two fields %s", t, tag))
			}
			seen[tag] = true
			line.WriteString(" " + tag + "=" + d.word(f.Type))
		}
	}
	add(t)
	d.lines[out] = line.String()
	return out
}

var update = flag.Bool("update", false, "write types.txt")

// TestTypes compares types.txt with the Go types.
func TestTypes(t *testing.T) {
	text := describe(goTypes())
	if *update {
		given.NoError(t, os.WriteFile("types.txt", []byte(text), 0o644))
		return
	}
	if text != described {
		t.Error("types.txt is stale: run go test ./repo/kube/gotypes -run TestTypes -update")
	}
}

// TestConverted finds a type for everything that clusterctl converts.
func TestConverted(t *testing.T) {
	for _, c := range conversions {
		for _, version := range c.apiVersions {
			for _, file := range c.files {
				if of, known := Converted(file, version, c.kind); of == nil || !slices.Equal(known, c.apiVersions) {
					t.Errorf("%s %s in a %v: %v, %v", version, c.kind, file, of, known)
				}
			}
		}
	}
	for _, row := range []struct {
		file             layouts.FileKind
		apiVersion, kind string
		known            bool
	}{
		{layouts.Components, "apps/v1beta1", "Deployment", true},
		{layouts.Components, "example.com/v1", "DaemonSet", true},
		{layouts.Components, "", "Deployment", true},
		{layouts.ClusterTemplate, "apps/v1", "Deployment", false},
		{layouts.ClusterClass, "rbac.authorization.k8s.io/v1beta1", "RoleBinding", true},
		{layouts.Components, "rbac.authorization.k8s.io/v1", "Role", false},
		{layouts.Components, "admissionregistration.k8s.io/v2", "MutatingWebhookConfiguration", true},
		{layouts.ClusterTemplate, "cluster.x-k8s.io/v1alpha4", "Cluster", false},
		{layouts.ClusterTemplate, "example.com/v1beta1", "Cluster", false},
		{layouts.ClusterClass, "cluster.x-k8s.io/v1beta1", "Cluster", false},
		{layouts.Metadata, "apps/v1", "Deployment", false},
	} {
		if of, known := Converted(row.file, row.apiVersion, row.kind); of != nil || (known != nil) != row.known {
			t.Errorf("%+v: %v, %v", row, of, known)
		}
	}
}
