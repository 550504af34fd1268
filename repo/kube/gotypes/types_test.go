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
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// goTypes are the types of the kinds that clusterctl converts.
func goTypes() map[name]reflect.Type {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, rbacv1.AddToScheme, admissionv1.AddToScheme, admissionv1beta1.AddToScheme,
		apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme, clusterv1.AddToScheme, clusterv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	out := map[name]reflect.Type{}
	for _, c := range conversions {
		for _, version := range c.apiVersions {
			o, err := scheme.New(schema.FromAPIVersionAndKind(version, c.kind))
			if err != nil {
				panic(err)
			}
			out[name{version, c.kind}] = reflect.TypeOf(o).Elem()
		}
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
