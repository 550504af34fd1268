package oracle

import (
	"bytes"
	"cmp"
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

// seen is what a dump shows of a world.
type seen struct {
	definition string // of this kind is not there
	objects    string // of this kind are not there
	namespace  string // only this one and what is cluster-wide, if not empty
	nameless   bool   // without UIDs
}

// shows reports whether the dump holds an object.
func (s seen) shows(o *unstructured.Unstructured) bool {
	return o.GetKind() != s.objects && (s.namespace == "" || o.GetNamespace() == "" || o.GetNamespace() == s.namespace)
}

// dump writes a management cluster as a List.
func (w *world) dump(t testing.TB, s seen) *move.Dump {
	t.Helper()
	var items []any
	for _, c := range w.crds {
		if c.Spec.Names.Kind != s.definition {
			items = append(items, c)
		}
	}
	if w.bare {
		items = append(items, map[string]any{
			"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "InfrastructureProvider",
			"metadata": map[string]any{"name": "foo", "namespace": "foo-system"}, "spec": map[string]any{"version": "v1.0.0"},
		})
	} else {
		items = append(items, cmp.Or(w.inventory, fooProvider))
	}
	for _, o := range w.objects {
		if !s.shows(o) {
			continue
		}
		if s.nameless {
			o = o.DeepCopy()
			o.SetUID("")
		}
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

// TestMoveSets compares plans with what the library makes of made-up management clusters: nothing that
// it leaves is said to move, nothing that it creates to stay, nothing that it deletes to be kept, and of few
// objects of a whole dump nothing is known. Where all is said to move, nothing that belongs to a Cluster
// or a provider is left. Among the worlds are definitions without the label, kinds without a definition,
// cluster-wide owners and what the operator installed, and among the dumps such that lack a definition,
// a kind, a namespace or UIDs.
func TestMoveSets(t *testing.T) {
	t.Parallel()
	rounds := share.Of(300, 3000)
	random := rand.New(rand.NewPCG(3, 5))
	count := map[string]int{}
	for round := range rounds {
		m := &maker{world: newWorld(), random: random}
		m.bare = m.one(6)
		m.make(t)
		namespace := []string{"one", "one", "one", "two"}[random.IntN(4)]
		var part seen
		kinds := []string{"FooA", "FooB", "Machine", "Cluster", "ClusterClass", "FooC", "Secret", "ConfigMap"}
		switch random.IntN(12) {
		case 0, 1:
			part.definition = draw(m, kinds[:6])
		case 2:
			part.objects = draw(m, kinds)
		case 3:
			part.namespace = namespace
		case 4:
			part.nameless = true
		}
		plan := move.FromDump(m.dump(t, part), move.Options{Namespace: namespace})
		w := m.run(t, namespace)
		if w == nil {
			count["refused"]++
			continue
		}
		answer, sentence := move.Conclude([]*move.Plan{plan}, true)
		safe := answer == move.Answers()[0]
		count[fmt.Sprintf("safe %v, whole dump %v", safe, part == seen{})]++
		if safe && m.bare {
			t.Errorf("round %d: a cluster without clusterctl's inventory is said to move", round)
		}
		for _, o := range m.objects {
			if safe && w.loses(m.objects, o, namespace) && (part.shows(o) || !w.alone(m.objects, o)) {
				t.Errorf("round %d, namespace %q, %+v: %s is left, but %s", round, namespace, part, keyOf(o), sentence)
			}
			if !part.shows(o) {
				continue
			}
			gvk := o.GroupVersionKind()
			n := plan.Find(move.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()})
			if n == nil { // it has nothing to do with the move
				if strings.HasPrefix(part.objects, "Cluster") && o.GetNamespace() != namespace {
					continue // or with what the dump does not show
				}
				n = &move.Node{}
			}
			answer := n.Answer()
			count[fmt.Sprintf("%s, whole dump %v", answer, part == seen{})]++
			switch {
			case answer == move.NotKnown:
			case (answer == move.Answers()[0]) != w.created[o.GetUID()]:
				t.Errorf("round %d, namespace %q, %+v: %s: created %v, but it %s: %s", round, namespace, part, keyOf(o), w.created[o.GetUID()], answer, n.Reason())
			case part == seen{} && (n.Verdict == move.Moves) != w.deleted[o.GetUID()]:
				t.Errorf("round %d, namespace %q: %s: deleted %v, but %v: %s", round, namespace, keyOf(o), w.deleted[o.GetUID()], n.Verdict, n.Reason())
			}
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
	t.Log(count)
	unknown, all := count["not known, whole dump true"], count["moves, whole dump true"]+count["stays, whole dump true"]
	if unknown*20 > all+unknown || count["not known, whole dump false"] == 0 || count["safe true, whole dump true"]*20 < rounds ||
		count["moves, whole dump true"]*10 < all || count["refused"]*2 > rounds {
		t.Error("too little is known, or the worlds are too much alike")
	}
}

// outcome is what the library did.
type outcome struct{ created, deleted map[types.UID]bool }

// run moves a namespace to another cluster. It returns nil if the library refuses.
func (w *world) run(t *testing.T, namespace string) *outcome {
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	from, to := w.start(t), (&world{crds: w.crds, bare: w.bare}).start(t)
	from.stop, to.stop = cancel, cancel // at last, clusterctl resumes Clusters, and looks for those that it left
	err := from.client(t).ObjectMover().Move(ctx, namespace, to.client(t), false)
	if err != nil && !strings.Contains(err.Error(), "resuming") && !strings.Contains(err.Error(), "Paused=false") {
		return nil
	}
	out := &outcome{map[types.UID]bool{}, map[types.UID]bool{}}
	for _, o := range w.objects {
		out.created[o.GetUID()] = to.WithWatch.Get(background, kube.ObjectKeyFromObject(o), o.DeepCopy()) == nil
		out.deleted[o.GetUID()] = from.WithWatch.Get(background, kube.ObjectKeyFromObject(o), o.DeepCopy()) != nil
	}
	return out
}

// loses reports whether an object stays that a Cluster or a provider needs: it is of
// their kinds, carries a label that moves it, or something that was moved owns it or names it.
func (w *outcome) loses(all []*unstructured.Unstructured, o *unstructured.Unstructured, namespace string) bool {
	if w.created[o.GetUID()] || o.GetNamespace() != "" && o.GetNamespace() != namespace {
		return false
	}
	_, move1 := o.GetLabels()[move.MoveLabel]
	_, move2 := o.GetLabels()[move.HierarchyLabel]
	return move1 || move2 || strings.HasSuffix(o.GroupVersionKind().Group, "cluster.x-k8s.io") || !w.alone(all, o)
}

// alone reports whether nothing that was moved owns an object, or names it.
func (w *outcome) alone(all []*unstructured.Unstructured, o *unstructured.Unstructured) bool {
	for _, by := range all {
		if !w.created[by.GetUID()] {
			continue
		}
		ref, _, _ := unstructured.NestedMap(by.Object, "spec", "otherRef")
		if ref["kind"] == o.GetKind() && ref["apiVersion"] == o.GetAPIVersion() && ref["name"] == o.GetName() && by.GetNamespace() == o.GetNamespace() {
			return false
		}
		if slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == by.GetUID() }) {
			return false
		}
	}
	return true
}

func keyOf(o kube.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetNamespace() + "/" + o.GetName()
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
	// Some worlds are mostly sound, others are not; of tidy ones all should move.
	sound := m.one(2)
	tidy := sound && m.one(2)
	bad := func(n int) bool {
		if sound {
			n *= 12
		}
		return !tidy && m.one(n)
	}
	for _, k := range moveKinds {
		if k.group == "" || k.group == "apps" {
			continue
		}
		c := m.define(k.group, k.version, k.kind)
		if k.group != fooGroup && k.group != "bar.example.com" {
			if bad(30) { // installed by other means
				delete(c.Labels, v1alpha3.ClusterctlLabel)
			}
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
		if m.one(8) && !tidy {
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
		if tidy && i < 2 { // a Cluster with a Secret
			k = moveKinds[5*i]
		}
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAPIVersion(strings.TrimPrefix(k.group+"/"+k.version, "/"))
		o.SetKind(k.kind)
		o.SetName(fmt.Sprintf("n%d", m.random.IntN(i+2)))
		if k.kind == "Secret" && m.one(2) {
			o.SetName(fmt.Sprintf("n%d%s", m.random.IntN(i+1), draw(m, []string{"-ca", "-kubeconfig", "-apiserver-etcd-client", "-client", "-etcd"})))
		}
		if c := m.crds[k.kind+"."+k.group]; c == nil || c.Spec.Scope != apiextensionsv1.ClusterScoped {
			o.SetNamespace(draw(m, []string{"one", "one", "one", "two", "foo-system"}))
			if tidy {
				o.SetNamespace("one")
			}
		}
		if taken[savedAs(o)] {
			continue
		}
		taken[savedAs(o)] = true
		m.decorate(o)
		m.addAs(o)
	}
	for _, o := range m.objects {
		if tidy {
			m.tidy(o)
		} else {
			m.own(o, bad)
		}
		m.refer(o, bad)
	}
}

// tidy gives an object a Cluster as its owner, or else a label.
func (m *maker) tidy(o *unstructured.Unstructured) {
	switch o.GetKind() {
	case "Cluster", "ClusterClass", "ClusterResourceSet", "Deployment":
		return
	}
	for _, owner := range m.objects {
		if owner.GetKind() == "Cluster" && owner.GetNamespace() == o.GetNamespace() {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}})
			return
		}
	}
	o.SetLabels(map[string]string{move.MoveLabel: ""})
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
	case "FooA", "FooB":
		if x := draw(m, m.objects); m.one(4) && x.GetAPIVersion() != "apps/v1" && x.GetNamespace() == o.GetNamespace() {
			o.Object["spec"] = map[string]any{"otherRef": map[string]any{"apiVersion": x.GetAPIVersion(), "kind": x.GetKind(), "name": x.GetName()}}
		}
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

// TestMoveTargets lets the library compare the providers of two clusters: where it refuses, the
// plan says that the target lacks one or does not know, and nowhere else.
func TestMoveTargets(t *testing.T) {
	t.Parallel()
	versions := []string{"", "v1.0.0", "v1.0.1", "1.0.1", "v1.0.1-rc.0", "v1.0.1+d32", "v1.0", "main"}
	start := func(version string) (*source, *move.Dump) {
		w, p := newWorld(), fooProvider.DeepCopy()
		p.Version = version
		if w.bare = version == ""; !w.bare {
			w.inventory = p
		}
		return w.start(t), w.dump(t, seen{})
	}
	for _, from := range versions[1:] {
		for _, to := range versions {
			source, dump := start(from)
			target, other := start(to)
			plan := move.FromDump(dump, move.Options{Namespace: "one"})
			move.Check([]*move.Plan{plan}, other)
			i := slices.IndexFunc(plan.Needs, func(n move.Need) bool { return strings.HasPrefix(n.What, "infrastructure-foo ") })
			if i < 0 {
				t.Fatalf("%s is not among %v", from, plan.Needs)
			}
			met := plan.Needs[i].Status == "met"
			if err := source.client(t).ObjectMover().Move(background, "one", target.client(t), false); (err == nil) != met {
				t.Errorf("%s to %q: met %v, %s, but %v", from, to, met, plan.Needs[i].Found, err)
			}
		}
	}
}
