package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// dump writes a management cluster as a List of YAML or JSON.
func (w *world) dump(t testing.TB) *snapshot.Snapshot {
	t.Helper()
	var items []any
	for _, c := range w.crds {
		items = append(items, c)
	}
	items = append(items, fooProvider)
	for _, o := range w.objects {
		items = append(items, o.Object)
	}
	data := given.Value(json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}))(t)
	s := &snapshot.Snapshot{}
	given.NoError(t, s.Read(background, "dump", bytes.NewReader(data)))
	if len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	return s
}

// recorder writes down what a move makes and deletes, in this order.
type recorder struct {
	*source
	mu            sync.Mutex
	made, deleted []string
}

func (r *recorder) NewClient(context.Context) (kube.Client, error) { return r, nil }

func keyOf(o kube.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetNamespace() + "/" + o.GetName()
}

func (r *recorder) Create(ctx context.Context, o kube.Object, opts ...kube.CreateOption) error {
	if o.GetObjectKind().GroupVersionKind().Kind != "Namespace" {
		r.mu.Lock()
		r.made = append(r.made, keyOf(o))
		r.mu.Unlock()
	}
	return r.source.Create(ctx, o, opts...)
}

func (r *recorder) Delete(ctx context.Context, o kube.Object, opts ...kube.DeleteOption) error {
	r.mu.Lock()
	r.deleted = append(r.deleted, keyOf(o))
	r.mu.Unlock()
	return r.source.Delete(ctx, o, opts...)
}

// Patch leaves out the managed fields, which the client in memory does not let
// anybody set.
func (r *recorder) Patch(ctx context.Context, o kube.Object, p kube.Patch, opts ...kube.PatchOption) error {
	if data, err := p.Data(o); err == nil && bytes.Contains(data, []byte("managedFields")) {
		return nil
	}
	return r.source.Patch(ctx, o, p, opts...)
}

// stepOf is the step of a move in which the library ended.
func stepOf(err error) owners.Step {
	has := func(part string) bool { return strings.Contains(err.Error(), part) }
	switch {
	case has("failed to discover the object graph"):
		return owners.Discovery
	case has("failed to check for provisioned infrastructure"):
		return owners.Provisioning
	case has("ready to move"):
		return owners.Ready
	case has("error resuming ClusterClasses"):
		return owners.ResumeClasses
	case has("Paused=false"):
		return owners.Resume
	case has("following Clusters"), has("error reading Cluster "):
		return owners.Pause
	case has("following ClusterClasses"), has("error reading ClusterClass "):
		return owners.PauseClasses
	}
	return owners.Create
}

// TestMovePlanRandom compares plans with what the library does with made-up
// management clusters: it saves the same objects, in an order that fits, deletes
// the same ones, and refuses for the same reasons.
func TestMovePlanRandom(t *testing.T) {
	t.Parallel()
	rounds := share.Of(300, 4000)
	random := rand.New(rand.NewPCG(moveSeed(3), 5))
	seen := map[string]int{}
	for round := range rounds {
		m := &maker{world: newWorld(), random: random}
		m.make(t)
		namespace := []string{"one", "one", "one", "two", ""}[random.IntN(5)]
		plan := owners.FromSnapshot(m.dump(t), owners.Options{Namespace: namespace, All: namespace == "", Complete: true})
		m.compareSaved(t, round, namespace, plan, seen)
		if !refusesBefore(plan, owners.Ready) && random.IntN(4) == 0 {
			m.compareMoved(t, round, namespace, plan, seen)
		}
		for _, n := range plan.Nodes {
			seen["verdict "+n.Verdict.String()]++
			seen[fmt.Sprintf("cause %d", n.Cause)]++
		}
		if t.Failed() {
			for _, o := range m.objects {
				t.Logf("%s %v labels %v, annotations %v, owners %v, spec %v", keyOf(o), o.GetUID(), o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences(), o.Object["spec"])
			}
			for _, c := range m.crds {
				t.Log(c.Name, c.Labels, c.Spec.Scope)
			}
			for _, r := range plan.Refusals {
				t.Log("refusal", r.Step, r.Node, r.Reason)
			}
			break
		}
	}
	t.Log(seen)
	for _, want := range []string{"verdict left", "verdict moves", "verdict copied", "verdict deleted", "refused in step discovery", "refused in step provisioning", "refused in step pause", "refused in step pause-classes", "failed in step ready", "failed in step resume", "moved", "kept"} {
		if seen[want] == 0 && share.All() {
			t.Errorf("no world with: %s", want)
		}
	}
}

func refusesBefore(p *owners.Plan, step owners.Step) bool {
	return slices.ContainsFunc(p.Refusals, func(r owners.Fault) bool { return r.Step < step })
}

// compareSaved compares with move --to-directory.
func (m *maker) compareSaved(t *testing.T, round int, namespace string, plan *owners.Plan, seen map[string]int) {
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	from := m.start(t)
	from.stop = cancel
	dir := newFolder(t)
	err := from.client(t).ObjectMover().ToDirectory(ctx, namespace, dir)
	if err != nil {
		m.compareRefusal(t, round, plan, err, seen)
		return
	}
	if refusesBefore(plan, owners.Ready) {
		t.Errorf("round %d: the library moves, but the plan says that it refuses", round)
		return
	}
	saved := map[string]bool{}
	for _, f := range files(t, dir) {
		saved[f] = true
	}
	for _, o := range m.objects {
		gvk := o.GroupVersionKind()
		n := plan.Find(owners.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()})
		moves := n != nil && (n.Verdict == owners.Moves || n.Verdict == owners.Copied)
		if moves != saved[savedAs(o)] {
			t.Errorf("round %d, namespace %q: %s: saved %v, but %v", round, namespace, keyOf(o), saved[savedAs(o)], n)
			if n != nil {
				t.Error(n.Verdict, n.Reason())
			}
		}
	}
}

// compareRefusal compares an error of the library with what the plan says.
func (m *maker) compareRefusal(t *testing.T, round int, plan *owners.Plan, err error, seen map[string]int) {
	t.Helper()
	if len(plan.Refusals) == 0 {
		t.Errorf("round %d: the plan does not say that the library refuses: %v", round, err)
		return
	}
	first := plan.Refusals[0]
	seen["refused in step "+first.Step.String()]++
	if stepOf(err) != first.Step {
		t.Errorf("round %d: %s in step %d: %s; but the library: %v", round, first.Node, first.Step, first.Reason, err)
	}
	if errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "not found") {
		return // of what it cannot read it names the first
	}
	for _, r := range plan.Refusals {
		if r.Step == first.Step && !strings.Contains(err.Error(), r.Node.Namespace+"/"+r.Node.Name) && !strings.Contains(r.Reason, "reads that") && !strings.Contains(r.Reason, "read that") {
			t.Errorf("round %d: the library does not name %s: %v", round, r.Node, err)
		}
	}
}

// compareMoved compares with a move to another cluster.
func (m *maker) compareMoved(t *testing.T, round int, namespace string, plan *owners.Plan, seen map[string]int) {
	from, to := &recorder{source: m.start(t)}, &recorder{source: newWorld().start(t)}
	to.global = from.global
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	from.stop, to.stop = cancel, cancel
	err := clientOf(t, from).ObjectMover().Move(ctx, namespace, clientOf(t, to), false)
	first := slices.IndexFunc(plan.Failures, func(f owners.Fault) bool { return !f.Hurts() && !f.Sometimes })
	switch {
	case first < 0 && err != nil:
		t.Errorf("round %d: the library fails, but the plan says that it does not: %v", round, err)
		return
	case first >= 0 && err == nil:
		t.Errorf("round %d: the library moves, but the plan says: %+v", round, plan.Failures[first])
		return
	case first >= 0 && stepOf(err) != plan.Failures[first].Step:
		t.Errorf("round %d: the library fails in step %s, but the plan says: %+v: %v", round, stepOf(err), plan.Failures[first], err)
		return
	case first >= 0:
		seen["failed in step "+stepOf(err).String()]++
		if stepOf(err) < owners.Resume {
			return
		}
	}
	seen["moved"]++
	layer := map[string]int{}
	var moves, deletes []string
	for i, step := range plan.Order() {
		for _, n := range step {
			key := n.Kind + " " + n.Namespace + "/" + n.Name
			layer[key] = i
			moves = append(moves, key)
			if n.Verdict == owners.Moves {
				deletes = append(deletes, key)
			} else {
				seen["kept"]++
			}
		}
	}
	if !slices.IsSortedFunc(to.made, func(a, b string) int { return layer[a] - layer[b] }) {
		t.Errorf("round %d: made in another order: %v", round, to.made)
	}
	if !slices.IsSortedFunc(from.deleted, func(a, b string) int { return layer[b] - layer[a] }) {
		t.Errorf("round %d: deleted in another order: %v", round, from.deleted)
	}
	for _, list := range [][]string{moves, deletes, to.made, from.deleted} {
		slices.Sort(list)
	}
	if !slices.Equal(moves, to.made) {
		t.Errorf("round %d: planned %v, but made %v", round, moves, to.made)
	}
	if !slices.Equal(deletes, from.deleted) {
		t.Errorf("round %d: planned to delete %v, but deleted %v", round, deletes, from.deleted)
	}
}

// maker makes up management clusters.
type maker struct {
	*world
	random *rand.Rand
	// wild adds what makes moves fail midway or do harm: references in other
	// versions, groups, kinds and names, deletions and credentials.
	wild bool
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
			c.Labels[owners.MoveLabel] = ""
		}
		if m.one(5) {
			c.Labels[owners.HierarchyLabel] = "false"
		}
		if m.one(4) {
			c.Spec.Scope = apiextensionsv1.ClusterScoped
		}
		if m.one(8) {
			delete(c.Labels, v1alpha3.ClusterctlLabel)
		}
	}
	if m.wild {
		for _, c := range m.crds {
			c.Spec.Versions = append(c.Spec.Versions,
				apiextensionsv1.CustomResourceDefinitionVersion{Name: "v0", Served: false},
				apiextensionsv1.CustomResourceDefinitionVersion{Name: "v9", Served: true})
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
		m.decorate(o, bad)
		m.addAs(o)
	}
	for _, o := range m.objects {
		m.own(o, bad)
		m.refer(o, bad)
		if m.wild {
			m.spoil(o, bad)
		}
	}
}

// spoil adds to an object what makes a move fail midway or do harm.
func (m *maker) spoil(o *unstructured.Unstructured, bad func(int) bool) {
	refs := o.GetOwnerReferences()
	for i := range refs {
		if !bad(5) {
			continue
		}
		group, _, _ := strings.Cut(refs[i].APIVersion, "/")
		if !strings.Contains(refs[i].APIVersion, "/") {
			group = ""
		}
		switch m.random.IntN(7) {
		case 0, 1, 2:
			refs[i].APIVersion = strings.TrimPrefix(group+"/v0", "/")
		case 3:
			if group != "" && group != "apps" {
				refs[i].APIVersion = group + "/v9"
			}
		case 4:
			refs[i].APIVersion = draw(m, []string{fooGroup + "/v1", "cluster.x-k8s.io/v1beta2", "example.com/v1"})
		case 5:
			refs[i].Kind = draw(m, []string{"FooA", "FooB", "Cluster", "Machine", "ClusterClass"})
		default:
			refs[i].Name = "other"
		}
	}
	o.SetOwnerReferences(refs)
	if bad(12) {
		now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers([]string{"example.com/wait"})
	}
	if strings.HasPrefix(o.GetKind(), "Foo") && m.one(3) {
		name := fmt.Sprintf("n%d", m.random.IntN(8))
		ref := draw(m, []map[string]any{
			{"identityRef": map[string]any{"kind": "Secret", "name": name}},
			{"credentials": map[string]any{"name": name}},
			{"auth": map[string]any{"secretName": name}},
			{"cloud": map[string]any{"configMapRef": map[string]any{"name": name, "namespace": draw(m, []string{"one", "two"})}}},
			{"zone": name},
		})
		o.Object["spec"] = ref
	}
	if class, ok, _ := unstructured.NestedMap(o.Object, "spec", "infrastructure", "templateRef"); ok && bad(6) {
		group, _, _ := strings.Cut(class["apiVersion"].(string), "/")
		class["apiVersion"] = group + draw(m, []string{"/v0", "/v9"})
		_ = unstructured.SetNestedMap(o.Object, class, "spec", "infrastructure", "templateRef")
	}
}

// addAs adds an object with a UID.
func (m *maker) addAs(o *unstructured.Unstructured) {
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", len(m.objects))))
	m.objects = append(m.objects, o)
}

// decorate gives an object labels, annotations and a status.
func (m *maker) decorate(o *unstructured.Unstructured, bad func(int) bool) {
	labels, annotations := map[string]string{}, map[string]string{}
	if m.one(8) {
		labels[owners.MoveLabel] = "x"
	}
	if m.one(10) {
		labels[owners.HierarchyLabel] = ""
	}
	if bad(25) {
		annotations[owners.BlockMoveAnnotation] = ""
	}
	switch o.GetKind() {
	case "Cluster":
		status := map[string]any{
			"initialization": map[string]any{"infrastructureProvisioned": !bad(20), "controlPlaneInitialized": !bad(20)},
		}
		spec := map[string]any{}
		if m.one(2) {
			spec["controlPlaneRef"] = map[string]any{"apiGroup": fooGroup, "kind": "FooControlPlane", "name": "c"}
		}
		if !bad(20) {
			status["conditions"] = []any{map[string]any{
				"type": "ControlPlaneInitialized", "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
			}}
		}
		switch {
		case bad(20):
			spec["paused"] = true
		case bad(20):
			annotations[clusterv1.PausedAnnotation] = ""
		}
		o.Object["spec"], o.Object["status"] = spec, status
	case "ClusterClass":
		if bad(20) {
			annotations[clusterv1.PausedAnnotation] = "false"
		}
	case "Machine":
		o.Object["spec"] = map[string]any{"clusterName": "n1"}
		if !bad(10) {
			o.Object["status"] = map[string]any{"nodeRef": map[string]any{"name": "node"}}
		}
	case "ClusterResourceSetBinding":
		o.Object["spec"] = map[string]any{"clusterName": fmt.Sprintf("n%d", m.random.IntN(6))}
	}
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
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
