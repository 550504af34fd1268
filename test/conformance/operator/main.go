// Operator reads provider objects and ConfigMaps as the Cluster API operator does:
// with its CRDs, and with its own phases from the download to the objects that it
// would apply, on a cluster that only exists in memory. It must not know who wrote
// them.
//
//	operator CRDS [NAME=VALUE...] FILE...
//
// CRDS is the folder with the operator's CRDs; the variables are in the secret that
// all providers get. Each provider in the files is printed as "TYPE NAME VERSION:
// KIND/NAME ...", the objects sorted. The exit code is 1 if one is refused.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	operatorv1 "sigs.k8s.io/cluster-api-operator/api/v1alpha2"
	"sigs.k8s.io/cluster-api-operator/controller"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/repository"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"
)

// namespace is where everything is applied.
const namespace = "capi-operator-system"

// provider is what the phases take.
type provider interface {
	client.Object
	operatorv1.GenericProvider
}

// list is the list of all providers of a type.
type list interface {
	client.ObjectList
	operatorv1.GenericProviderList
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: operator CRDS [NAME=VALUE...] FILE...")
		os.Exit(2)
	}
	log.SetLogger(logr.Discard())
	lines, err := read(context.Background(), os.Args[1], os.Args[2:])
	fmt.Print(strings.Join(lines, ""))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// read applies the objects of all files and installs the providers among them. It
// returns what became of those that are accepted; the error is about the others.
func read(ctx context.Context, crds string, names []string) (lines []string, err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), operatorv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	checks, err := schemas(crds)
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{Data: map[string][]byte{}}
	secret.Namespace, secret.Name = namespace, "variables"
	objects := []client.Object{secret}
	var failed []error
	for _, name := range names {
		if variable, value, ok := strings.Cut(name, "="); ok {
			secret.Data[variable] = []byte(value)
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			var object client.Object
			if err == nil && len(bytes.TrimSpace(doc)) > 0 {
				object, err = decode(scheme, checks, doc)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", name, err))
			} else if object != nil {
				object.SetNamespace(namespace)
				objects = append(objects, object)
			}
		}
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	for _, o := range objects {
		p, ok := o.(provider)
		if !ok {
			continue
		}
		spec := p.GetSpec()
		spec.ConfigSecret = &operatorv1.SecretReference{Name: secret.Name, Namespace: namespace}
		p.SetSpec(spec)
		line, err := install(ctx, cluster, p)
		if err != nil {
			err = fmt.Errorf("%s %s: %w", p.GetType(), p.GetName(), err)
		}
		lines, failed = append(lines, line), append(failed, err)
	}
	return lines, errors.Join(failed...)
}

// install runs the phases of the operator that read a release.
func install(ctx context.Context, cluster client.Client, p provider) (line string, err error) {
	// A phase of the operator may panic, which is a refusal too.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the operator panics: %v", r)
		}
	}()
	var found []string
	see := func(objects []unstructured.Unstructured) ([]unstructured.Unstructured, error) {
		for _, o := range objects {
			found = append(found, o.GetKind()+"/"+o.GetName())
		}
		return objects, nil
	}
	all, ok := listOf(p)
	if !ok {
		return "", errors.New("the operator has no list of its type")
	}
	phases := controller.NewPhaseReconciler(controller.GenericProviderReconciler{Client: cluster}, p, all,
		controller.WithCustomAlterComponentsFuncs([]repository.ComponentsAlterFn{see}))
	for _, phase := range []controller.PhaseFn{phases.InitializePhaseReconciler, phases.DownloadManifests, phases.Load, phases.Fetch} {
		if _, err := phase(ctx); err != nil {
			return "", err
		}
	}
	slices.Sort(found)
	return fmt.Sprintf("%s %s %s: %s\n", p.GetType(), p.ProviderName(), p.GetSpec().Version, strings.Join(found, " ")), nil
}

// listOf returns a list of providers of the same type.
func listOf(p provider) (list, bool) {
	for _, l := range operatorv1.ProviderLists {
		if l, ok := l.(list); ok && strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", l), "*v1alpha2."), "List") == strings.TrimPrefix(fmt.Sprintf("%T", p), "*v1alpha2.") {
			return l, true
		}
	}
	return nil, false
}

// check is what the API server does with objects of a kind.
type check struct {
	structural *schema.Structural
	validate   validation.SchemaValidator
}

// schemas reads the CRDs, and returns the checks by kind.
func schemas(dir string) (map[string]check, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s has no CRDs", dir)
	}
	if err != nil {
		return nil, err
	}
	out := map[string]check{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, v := range crd.Spec.Versions {
			if v.Name != operatorv1.GroupVersion.Version {
				continue
			}
			var props apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &props, nil); err != nil {
				return nil, err
			}
			c := check{}
			if c.structural, err = schema.NewStructural(&props); err != nil {
				return nil, err
			}
			if c.validate, _, err = validation.NewSchemaValidator(&props); err != nil {
				return nil, err
			}
			out[crd.Spec.Names.Kind] = c
		}
	}
	return out, nil
}

// decode reads an object; fields that the API server would drop, or refuse, are errors.
func decode(scheme *runtime.Scheme, checks map[string]check, doc []byte) (client.Object, error) {
	var u unstructured.Unstructured
	if err := yaml.UnmarshalStrict(doc, &u.Object); err != nil {
		return nil, err
	}
	typed, err := scheme.New(u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(doc, typed); err != nil {
		return nil, err
	}
	object, ok := typed.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an object", typed)
	}
	if _, ok := object.(*corev1.ConfigMap); ok {
		return object, nil
	}
	c, ok := checks[u.GetKind()]
	if !ok {
		return nil, fmt.Errorf("there is no CRD of %s", u.GetKind())
	}
	var problems []error
	for _, e := range validation.ValidateCustomResource(nil, u.Object, c.validate) {
		problems = append(problems, e)
	}
	for _, path := range pruning.PruneWithOptions(u.Object, c.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		problems = append(problems, fmt.Errorf("the CRD has no field %s", path))
	}
	return object, errors.Join(problems...)
}
