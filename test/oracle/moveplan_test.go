package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// dump writes a management cluster as a List, without the definition of a kind.
func (w *world) dump(t testing.TB, hidden string) *move.Dump {
	t.Helper()
	var items []any
	for _, c := range w.crds {
		if c.Spec.Names.Kind != hidden {
			items = append(items, c)
		}
	}
	if w.bare {
		items = append(items, map[string]any{
			"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "InfrastructureProvider",
			"metadata": map[string]any{"name": "foo", "namespace": "foo-system"}, "spec": map[string]any{"version": "v1.0.0"},
		})
	} else {
		items = append(items, fooProvider)
	}
	for _, o := range w.objects {
		items = append(items, o.Object)
	}
	data := given.Value(json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}))(t)
	d := &move.Dump{}
	given.NoError(t, d.Read(background, "dump", bytes.NewReader(data)))
	if len(d.Problems) > 0 {
		t.Fatal(d.Problems)
	}
	return d
}

// TestMoveSets compares plans with what the library saves of made-up management clusters: nothing that
// it leaves is said to move, nothing that it saves to stay, and of few objects of a
// whole dump nothing is known. Among the worlds are definitions without the label,
// kinds without a definition, cluster-wide owners and what the operator installed.
func TestMoveSets(t *testing.T) {
	t.Parallel()
	rounds := share.Of(300, 3000)
	random := rand.New(rand.NewPCG(3, 5))
	seen := map[string]int{}
	for round := range rounds {
		m := &maker{world: newWorld(), random: random}
		m.bare = m.one(6)
		m.make(t)
		namespace := []string{"one", "one", "one", "two"}[random.IntN(4)]
		hidden := ""
		if m.one(4) {
			hidden = draw(m, []string{"FooA", "FooB", "Machine", "Cluster", "ClusterClass", "FooC"})
		}
		plan := move.FromDump(m.dump(t, hidden), move.Options{Namespace: namespace})
		saved, err := m.saved(t, namespace)
		if err != nil {
			seen["refused"]++
			continue
		}
		for _, o := range m.objects {
			gvk := o.GroupVersionKind()
			n := plan.Find(move.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()})
			answer := move.Answers()[1] // of what has nothing to do with the move
			if n != nil {
				answer = n.Answer()
			}
			seen[fmt.Sprintf("%s, whole dump %v", answer, hidden == "")]++
			if answer != move.NotKnown && (answer == move.Answers()[0]) != saved[savedAs(o)] {
				t.Errorf("round %d, namespace %q, without %q: %s: saved %v, but it %s: %s", round, namespace, hidden, keyOf(o), saved[savedAs(o)], answer, n.Reason())
			}
		}
		if answer, _ := move.Conclude([]*move.Plan{plan}, true); m.bare && answer == move.Answers()[0] {
			t.Errorf("round %d: a cluster without clusterctl's inventory is said to move", round)
		}
		if t.Failed() {
			for _, o := range m.objects {
				t.Logf("%s %v labels %v, owners %v, spec %v", keyOf(o), o.GetUID(), o.GetLabels(), o.GetOwnerReferences(), o.Object["spec"])
			}
			for _, c := range m.crds {
				t.Log(c.Name, c.Labels, c.Spec.Scope)
			}
			break
		}
	}
	t.Log(seen)
	unknown, all := seen["not known, whole dump true"], seen["moves, whole dump true"]+seen["stays, whole dump true"]
	if unknown*20 > all+unknown || seen["not known, whole dump false"] == 0 ||
		seen["moves, whole dump true"]*10 < all || seen["refused"]*2 > rounds {
		t.Error("too little is known, or the worlds are too much alike")
	}
}

func keyOf(o kube.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetNamespace() + "/" + o.GetName()
}

// saved are the files that move --to-directory writes. It fails if it refuses.
func (m *maker) saved(t *testing.T, namespace string) (map[string]bool, error) {
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	from := m.start(t)
	from.stop = cancel
	dir := newFolder(t)
	if err := from.client(t).ObjectMover().ToDirectory(ctx, namespace, dir); err != nil {
		return nil, err
	}
	saved := map[string]bool{}
	for _, f := range files(t, dir) {
		saved[f] = true
	}
	return saved, nil
}

// maker makes up management clusters.
type maker struct {
	*world
	random *rand.Rand
}

// one is true one time of n.
func (m *maker) one(n int) bool { return m.random.IntN(n) == 0 }

func draw[T any](m *maker, list []T) T { return list[m.random.IntN(len(list))] }

const fooGroup = "foo.cluster.x-k8s.io"

// kinds are those of a world, with how often they come.
var moveKinds = []struct {
	group, version, kind string
	share                int
}{
	{clusterv1.GroupVersion.Group, "v1beta2", "Cluster", 5},
	{clusterv1.GroupVersion.Group, "v1beta2", "ClusterClass", 3},
	{clusterv1.GroupVersion.Group, "v1beta2", "Machine", 3},
	{addonsv1.GroupVersion.Group, "v1beta2", "ClusterResourceSet", 1},
	{addonsv1.GroupVersion.Group, "v1beta2", "ClusterResourceSetBinding", 1},
	{"", "v1", "Secret", 5},
	{"", "v1", "ConfigMap", 2},
	{"apps", "v1", "Deployment", 2},
	{fooGroup, "v1", "FooA", 3},
	{fooGroup, "v1", "FooB", 3},
	{fooGroup, "v1", "FooC", 2},
	{"bar.example.com", "v1", "FooA", 1}, // a kind of the same name
}

func (m *maker) make(t *testing.T) {
	t.Helper()
	// Some worlds are mostly sound, others are not.
	sound := m.one(2)
	bad := func(n int) bool {
		if sound {
			n *= 12
		}
		return m.one(n)
	}
	for _, k := range moveKinds {
		if k.group == "" || k.group == "apps" {
			continue
		}
		c := m.define(k.group, k.version, k.kind)
		if k.group != fooGroup && k.group != "bar.example.com" {
			continue
		}
		if m.one(4) {
			c.Labels[move.MoveLabel] = ""
		}
		if m.one(5) {
			c.Labels[move.HierarchyLabel] = "false"
		}
		if m.one(4) {
			c.Spec.Scope = apiextensionsv1.ClusterScoped
		}
		if m.one(8) {
			delete(c.Labels, v1alpha3.ClusterctlLabel)
		}
	}
	var deck []int
	for i, k := range moveKinds {
		deck = append(deck, slices.Repeat([]int{i}, k.share)...)
	}
	taken := map[string]bool{}
	for i := range 2 + m.random.IntN(18) {
		k := moveKinds[draw(m, deck)]
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAPIVersion(strings.TrimPrefix(k.group+"/"+k.version, "/"))
		o.SetKind(k.kind)
		o.SetName(fmt.Sprintf("n%d", m.random.IntN(i+2)))
		if k.kind == "Secret" && m.one(2) {
			o.SetName(fmt.Sprintf("n%d%s", m.random.IntN(i+1), draw(m, []string{"-ca", "-kubeconfig", "-apiserver-etcd-client", "-client", "-etcd"})))
		}
		if c := m.crds[k.kind+"."+k.group]; c == nil || c.Spec.Scope != apiextensionsv1.ClusterScoped {
			o.SetNamespace(draw(m, []string{"one", "one", "one", "two", "foo-system"}))
		}
		if taken[savedAs(o)] {
			continue
		}
		taken[savedAs(o)] = true
		m.decorate(o)
		m.addAs(o)
	}
	for _, o := range m.objects {
		m.own(o, bad)
		m.refer(o, bad)
	}
}

// addAs adds an object with a UID.
func (m *maker) addAs(o *unstructured.Unstructured) {
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", len(m.objects))))
	m.objects = append(m.objects, o)
}

// decorate gives an object labels and a status.
func (m *maker) decorate(o *unstructured.Unstructured) {
	labels := map[string]string{}
	if m.one(8) {
		labels[move.MoveLabel] = "x"
	}
	if m.one(10) {
		labels[move.HierarchyLabel] = ""
	}
	switch o.GetKind() {
	case "Cluster": // or else nothing is moved
		o.Object["spec"] = map[string]any{}
		o.Object["status"] = map[string]any{
			"initialization": map[string]any{"infrastructureProvisioned": true, "controlPlaneInitialized": true},
			"conditions": []any{map[string]any{
				"type": "ControlPlaneInitialized", "status": "True", "reason": "Test", "message": "",
				"lastTransitionTime": "2026-01-01T00:00:00Z",
			}},
		}
	case "Machine":
		o.Object["spec"] = map[string]any{"clusterName": "n1"}
		o.Object["status"] = map[string]any{"nodeRef": map[string]any{"name": "node"}}
	case "ClusterResourceSetBinding":
		o.Object["spec"] = map[string]any{"clusterName": fmt.Sprintf("n%d", m.random.IntN(6))}
	}
	o.SetLabels(labels)
}

// own gives an object owners.
func (m *maker) own(o *unstructured.Unstructured, bad func(int) bool) {
	var refs []metav1.OwnerReference
	for range draw(m, []int{0, 0, 1, 1, 1, 2, 3}) {
		owner := draw(m, m.objects)
		if owner.GetNamespace() != o.GetNamespace() && owner.GetNamespace() != "" && !bad(8) {
			continue // which Kubernetes does not allow
		}
		ref := metav1.OwnerReference{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}
		if bad(12) { // of an object that is gone
			switch ref.Kind {
			case "Cluster", "ClusterClass", "Machine": // which the library cannot read, and tries for long
				if !m.one(10) {
					ref.APIVersion, ref.Kind = fooGroup+"/v1", "FooA"
				}
			}
			// One UID never belongs to two objects; what the library makes of
			// that depends on chance.
			ref.UID = types.UID(fmt.Sprintf("stale-%s-%s-%d", ref.Kind, ref.Name, m.random.IntN(2)))
		}
		refs = append(refs, ref)
	}
	o.SetOwnerReferences(refs)
}

// refer lets Clusters use classes, and classes templates.
func (m *maker) refer(o *unstructured.Unstructured, bad func(int) bool) {
	of := func(want func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
		var found []*unstructured.Unstructured
		for _, o := range m.objects {
			if want(o) {
				found = append(found, o)
			}
		}
		if len(found) == 0 {
			return nil
		}
		return draw(m, found)
	}
	switch o.GetKind() {
	case "Cluster":
		class := of(func(o *unstructured.Unstructured) bool { return o.GetKind() == "ClusterClass" })
		if class == nil || m.one(2) {
			return
		}
		ref := map[string]any{"name": class.GetName()}
		if class.GetNamespace() != o.GetNamespace() || m.one(3) {
			ref["namespace"] = class.GetNamespace()
		}
		if bad(40) {
			ref["name"] = "none"
		}
		o.Object["spec"].(map[string]any)["topology"] = map[string]any{"version": "v1.34.0", "classRef": ref}
	case "ClusterClass":
		template := func() map[string]any {
			x := of(func(x *unstructured.Unstructured) bool {
				return x.GetNamespace() == o.GetNamespace() && strings.HasPrefix(x.GetKind(), "Foo")
			})
			if x == nil || m.one(2) {
				return nil
			}
			ref := map[string]any{"apiVersion": x.GetAPIVersion(), "kind": x.GetKind(), "name": x.GetName()}
			if bad(40) {
				ref["name"] = "none"
			}
			return ref
		}
		spec := map[string]any{}
		if ref := template(); ref != nil {
			spec["infrastructure"] = map[string]any{"templateRef": ref}
		}
		if ref := template(); ref != nil {
			spec["workers"] = map[string]any{"machineDeployments": []any{map[string]any{"class": "md", "bootstrap": map[string]any{"templateRef": ref}}}}
		}
		o.Object["spec"] = spec
	}
}
