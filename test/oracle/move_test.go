package oracle

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/cluster-api/util/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// source is a management cluster in memory.
type source struct {
	cluster.Proxy
	kube.WithWatch
	// global are the kinds without namespaces, which the client in memory does
	// not know.
	global map[schema.GroupKind]bool
	// awaited are the objects that a move looks at while it waits.
	awaited []string
	// stop is called, if set, when the library looks for what is not there or
	// waits: it would try again for minutes.
	stop func()
}

func (s *source) NewClient(context.Context) (kube.Client, error) { return s, nil }

func (s *source) List(ctx context.Context, list kube.ObjectList, opts ...kube.ListOption) error {
	if s.global[list.GetObjectKind().GroupVersionKind().GroupKind()] {
		opts = nil
	}
	return s.WithWatch.List(ctx, list, opts...)
}

func (s *source) Get(ctx context.Context, key kube.ObjectKey, o kube.Object, opts ...kube.GetOption) error {
	m, waits := o.(*metav1.PartialObjectMetadata)
	if waits {
		s.awaited = append(s.awaited, m.Kind+" "+key.Name)
	}
	err := s.WithWatch.Get(ctx, key, o, opts...)
	if _, ok := o.(*corev1.Namespace); ok || s.stop == nil {
		return err
	}
	if waits && err == nil {
		_, waits = m.Annotations[move.BlockMoveAnnotation]
	}
	if waits || apierrors.IsNotFound(err) {
		s.stop()
	}
	return err
}

// world are the objects of a management cluster.
type world struct {
	// bare is set if clusterctl did not install the providers.
	bare      bool
	inventory *v1alpha3.Provider // instead of fooProvider
	objects   []*unstructured.Unstructured
	crds      map[string]*apiextensionsv1.CustomResourceDefinition
}

// fooProvider is the inventory of a management cluster here.
var fooProvider = &v1alpha3.Provider{
	TypeMeta:     metav1.TypeMeta{APIVersion: v1alpha3.GroupVersion.String(), Kind: "Provider"},
	ObjectMeta:   metav1.ObjectMeta{Namespace: "foo-system", Name: "infrastructure-foo"},
	ProviderName: "foo", Type: string(v1alpha3.InfrastructureProviderType), Version: "v1.0.0",
}

func newWorld() *world {
	w := &world{crds: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	for _, kind := range []string{"Cluster", "ClusterClass"} {
		w.define(clusterv1.GroupVersion.Group, "v1beta2", kind)
	}
	w.define(addonsv1.GroupVersion.Group, "v1beta2", "ClusterResourceSet")
	return w
}

// define adds the definition of a kind as clusterctl would have installed it,
// unless there is one.
func (w *world) define(group, version, kind string) *apiextensionsv1.CustomResourceDefinition {
	key := kind + "." + group
	if w.crds[key] == nil {
		w.crds[key] = &apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: strings.ToLower(kind) + "s." + group, Labels: map[string]string{v1alpha3.ClusterctlLabel: ""}},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: group, Scope: apiextensionsv1.NamespaceScoped,
				Names:    apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: strings.ToLower(kind) + "s"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: version, Storage: true, Served: true}},
			},
		}
	}
	return w.crds[key]
}

// add adds an object with a new UID, and the definition of its kind.
func (w *world) add(t testing.TB, o *unstructured.Unstructured) {
	t.Helper()
	o = o.DeepCopy()
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", len(w.objects))))
	gvk := o.GroupVersionKind()
	switch {
	case gvk.Kind == crd.Kind:
		c := &apiextensionsv1.CustomResourceDefinition{}
		given.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, c))
		w.crds[c.Spec.Names.Kind+"."+c.Spec.Group] = c
		return
	case move.ScopeOf(gvk.Group, gvk.Kind, nil) == move.Ignored:
	case gvk.Group != "":
		w.define(gvk.Group, gvk.Version, gvk.Kind)
	}
	if gvk.Group == clusterv1.GroupVersion.Group && gvk.Kind == "Cluster" { // or else nothing is moved
		o.Object["status"] = map[string]any{
			"initialization": map[string]any{"infrastructureProvisioned": true, "controlPlaneInitialized": true},
			"conditions": []any{map[string]any{
				"type": "ControlPlaneInitialized", "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
			}},
		}
	}
	w.objects = append(w.objects, o)
}

// find returns the object of an identity, or nil. Namespaces do not count.
func (w *world) find(id move.ID) *unstructured.Unstructured {
	for _, o := range w.objects {
		if gvk := o.GroupVersionKind(); gvk.Group == id.Group && gvk.Kind == id.Kind && o.GetName() == id.Name {
			return o
		}
	}
	return nil
}

var sourceSchemes sync.Map

// sourceScheme are the types that the library knows, for each test its own: the client
// in memory adds those that it meets.
func sourceScheme(t testing.TB) (*runtime.Scheme, error) {
	make, _ := sourceSchemes.LoadOrStore(t.Name(), sync.OnceValues(newSourceScheme))
	return make.(func() (*runtime.Scheme, error))()
}

func newSourceScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, addonsv1.AddToScheme, v1alpha3.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	// The client in memory would take the kind of the first object that it sees
	// only the metadata of for one that has nothing else.
	for _, k := range moveKinds {
		kind := schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind}
		if !scheme.Recognizes(kind) {
			scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
			kind.Kind += "List"
			scheme.AddKnownTypeWithName(kind, &unstructured.UnstructuredList{})
		}
	}
	return scheme, nil
}

// start returns a client for a management cluster with these objects, and foo unless it is bare.
func (w *world) start(t testing.TB) *source {
	t.Helper()
	scheme := given.Value(sourceScheme(t))(t)
	s := &source{global: map[schema.GroupKind]bool{}}
	var objects []kube.Object
	if !w.bare {
		objects = append(objects, cmp.Or(w.inventory, fooProvider).DeepCopy())
	}
	for _, c := range w.crds {
		objects = append(objects, c)
		if c.Spec.Scope == apiextensionsv1.ClusterScoped {
			s.global[schema.GroupKind{Group: c.Spec.Group, Kind: c.Spec.Names.Kind}] = true
		}
	}
	for _, o := range w.objects {
		objects = append(objects, o)
	}
	s.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return s
}

// client returns the library's access to a management cluster.
func (s *source) client(t testing.TB) cluster.Client { return clientOf(t, s) }

func clientOf(t testing.TB, p cluster.Proxy) cluster.Client {
	t.Helper()
	cfg := given.Value(config.New(background, "", config.InjectReader(reader(values{}, nil))))(t)
	return cluster.New(cluster.Kubeconfig{}, cfg, cluster.InjectProxy(p))
}

// save is the library's `move --to-directory`: the names of the files that it
// writes.
func (w *world) save(t testing.TB) map[string]bool {
	t.Helper()
	dir := newFolder(t)
	given.NoError(t, w.start(t).client(t).ObjectMover().ToDirectory(background, "default", dir))
	saved := map[string]bool{}
	for _, f := range files(t, dir) {
		saved[f] = true
	}
	return saved
}

func savedAs(o *unstructured.Unstructured) string {
	return o.GetKind() + "_" + o.GetNamespace() + "_" + o.GetName() + ".yaml"
}

// moved installs the release of an example and what its template makes in a
// management cluster, and moves that.
func moved(t *testing.T, e *examples.Example, r real.Release, run func(cfg string, args ...string) (string, error)) (string, error) {
	t.Helper()
	w := newWorld()
	components, err := run(settings(t, r, ""), "generate", "provider", flagOf(t, r), r.Name+":"+r.Version)
	if err != nil {
		return "", err
	}
	for _, o := range given.Value(yaml.ToUnstructured([]byte(components)))(t) {
		w.add(t, &o)
	}
	for _, c := range w.crds { // something that is there in any namespace
		if c.Spec.Scope == apiextensionsv1.ClusterScoped {
			o := &unstructured.Unstructured{}
			o.SetAPIVersion(c.Spec.Group + "/" + c.Spec.Versions[0].Name)
			o.SetKind(c.Spec.Names.Kind)
			o.SetName("example")
			w.add(t, o)
		}
	}
	if _, err := os.Stat(filepath.Join(r.Root, r.Label(), r.Version, "cluster-template.yaml")); err == nil {
		text, err := run(settings(t, r, ""), "generate", "cluster", "my-cluster", flagOf(t, r), r.Name+":"+r.Version, "-n", "default")
		if err != nil {
			return "", err
		}
		for _, o := range given.Value(yaml.ToUnstructured([]byte(text)))(t) {
			w.add(t, &o)
		}
		w.own(t, text, typesOf(components))
	}
	if e.Oracle.Verdict == examples.MoveRefuses {
		from, to := w.start(t), newWorld().start(t)
		ctx, cancel := context.WithTimeout(background, 8*time.Second) // the library waits for two minutes
		defer cancel()
		if err := from.client(t).ObjectMover().Move(ctx, "default", to.client(t), false); err != nil {
			return "", fmt.Errorf("the move waits for %s: %w", strings.Join(from.awaited, ", "), err)
		}
		return "", nil
	}
	saved := w.save(t)
	var out []string
	for _, o := range w.objects {
		line := o.GetKind() + " " + o.GetName()
		if _, ok := o.GetLabels()[move.MoveLabel]; ok {
			line += ", which is labelled"
		}
		if saved[savedAs(o)] {
			out = append(out, "moves "+line)
		} else {
			out = append(out, "leaves "+line)
		}
	}
	return strings.Join(out, "\n"), nil
}

// typesOf are the definitions in components.
func typesOf(components string) move.Types {
	known := map[[2]string]move.Type{}
	for _, o := range manifest.New(repo.BytesArtifact("components.yaml", nil), layouts.Asset, []byte(components)).Objects() {
		if c := crd.Of(o); c != nil {
			known[[2]string{c.Group, c.Kind}] = move.TypeOf(c)
		}
	}
	return func(group, kind string) (move.Type, bool) {
		t, ok := known[[2]string{group, kind}]
		return t, ok
	}
}

// own sets the owners of the objects in a rendered template as controllers would.
func (w *world) own(t testing.TB, text string, types move.Types) {
	t.Helper()
	g := move.Template(manifest.New(repo.BytesArtifact("cluster.yaml", nil), layouts.Asset, []byte(text)).Objects(), types)
	for _, n := range g.Nodes {
		o := w.find(n.ID)
		if o == nil {
			continue
		}
		var refs []metav1.OwnerReference
		for _, edge := range n.In {
			if edge.Link != move.Owner {
				continue
			}
			ref := metav1.OwnerReference{APIVersion: "unknown/v1", Kind: edge.From.Kind, Name: edge.From.Name, UID: "stale"}
			if owner := w.find(edge.From.ID); owner != nil {
				ref.APIVersion, ref.UID = owner.GetAPIVersion(), owner.GetUID()
			}
			refs = append(refs, ref)
		}
		o.SetOwnerReferences(refs)
	}
}
