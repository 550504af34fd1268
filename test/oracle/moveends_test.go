package oracle

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// moveSeed is that of MOVE_SEED, for other clusters than those of every run.
func moveSeed(fixed uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv("MOVE_SEED"), 10, 64); err == nil {
		return n
	}
	return fixed
}

// TestMoveEnds compares what plans announce with how moves by the library end, in
// management clusters with references that are not right, deletions, credentials
// and classes of other namespaces. The library lists kinds in another order each
// time, so every cluster is moved several times.
func TestMoveEnds(t *testing.T) {
	t.Parallel()
	worlds := share.Of(100, 2000)
	random := rand.New(rand.NewPCG(moveSeed(17), 23))
	seen := map[string]int{}
	for round := range worlds {
		m := &maker{world: newWorld(), random: random, wild: true}
		m.versions = true
		m.make(t)
		namespace := []string{"one", "one", "one", "two", ""}[random.IntN(5)]
		plan := owners.FromSnapshot(m.dump(t), owners.Options{Namespace: namespace, All: namespace == "", Complete: true})
		m.compareEnds(t, round, namespace, plan, seen)
		seen["outcome "+plan.Outcome().String()]++
		if t.Failed() {
			m.tell(t, plan)
			break
		}
	}
	t.Log(seen)
	for _, want := range []string{"ended in discovery", "ended in create", "ended in resume", "sometimes, seen", "moved", "hurts"} {
		if seen[want] == 0 && share.All() {
			t.Errorf("no world: %s", want)
		}
	}
	// Of what is announced as chance a little may not come in this many runs, and of
	// few worlds two.
	if never, all := seen["sometimes, never seen"], seen["sometimes, seen"]; never > 2 && never*20 > all {
		t.Errorf("%d of %d announced failures never came", never, never+all)
	}
}

// tell logs a world and its plan.
func (m *maker) tell(t *testing.T, plan *owners.Plan) {
	t.Helper()
	for _, o := range m.objects {
		t.Logf("%s %v %v deletion %v labels %v, annotations %v, owners %v, spec %v", o.GetAPIVersion(), keyOf(o), o.GetUID(), o.GetDeletionTimestamp(), o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences(), o.Object["spec"])
	}
	for _, c := range m.crds {
		t.Log(c.Name, c.Labels, c.Spec.Scope)
	}
	for _, r := range plan.Refusals {
		t.Log("refusal", r.Step, r.Node, r.Reason, r.Sometimes)
	}
	for _, f := range plan.Failures {
		t.Log("failure", f.Step, f.Node, f.Reason, f.Sometimes, f.Hurts())
	}
}

// ends are the steps in which a plan says that a move may end with an error, and
// whether it may end well.
func ends(p *owners.Plan) (may map[owners.Step]bool, well bool) {
	may, well = map[owners.Step]bool{}, true
	add := func(step owners.Step, sometimes bool) {
		if well {
			may[step] = true
		}
		well = well && sometimes
	}
	// The steps of what is certain hide later ones.
	type end struct {
		step      owners.Step
		sometimes bool
	}
	var all []end
	for _, r := range p.Refusals {
		all = append(all, end{r.Step, r.Sometimes})
	}
	for _, f := range p.Failures {
		if !f.Hurts() {
			all = append(all, end{f.Step, f.Sometimes})
		}
	}
	slices.SortStableFunc(all, func(a, b end) int {
		if a.step != b.step {
			return int(a.step) - int(b.step)
		}
		if a.sometimes == b.sometimes {
			return 0
		}
		if a.sometimes {
			return -1
		}
		return 1
	})
	for _, e := range all {
		add(e.step, e.sometimes)
	}
	return may, well
}

// compareEnds moves several times.
func (m *maker) compareEnds(t *testing.T, round int, namespace string, plan *owners.Plan, seen map[string]int) {
	t.Helper()
	may, well := ends(plan)
	runs, wanted := 3, len(may)
	if well {
		wanted++
	}
	if wanted > 1 {
		runs = 40 // at most, until all was seen
	}
	got := map[owners.Step]bool{}
	for range runs {
		from, to := &recorder{source: m.start(t)}, &recorder{source: (&world{crds: m.crds, versions: true}).start(t)}
		ctx, cancel := context.WithCancel(background)
		from.stop, to.stop = cancel, cancel
		err := clientOf(t, from).ObjectMover().Move(ctx, namespace, clientOf(t, to), false)
		cancel()
		if err == nil {
			seen["moved"]++
			if !well {
				t.Errorf("round %d, %q: the library moves, but the plan says that it fails", round, namespace)
				return
			}
			m.compareSets(t, round, plan, from, to)
			if got[owners.After] = true; runs > 3 && len(got) == wanted {
				break
			}
			continue
		}
		step := stepOf(err)
		got[step] = true
		seen["ended in "+step.String()]++
		if !may[step] {
			t.Errorf("round %d, %q: the library ends in %s, which the plan does not announce: %v", round, namespace, step, err)
			return
		}
		if runs > 3 && len(got) == wanted {
			break
		}
	}
	for step := range may {
		switch {
		case !got[step] && runs > 3:
			seen["sometimes, never seen"]++
			seen["never seen: "+step.String()]++
			if os.Getenv("MOVE_TELL") != "" {
				t.Logf("round %d, %q: never seen %s", round, namespace, step)
				m.tell(t, plan)
			}
		case runs > 3:
			seen["sometimes, seen"]++
		}
	}
	for _, f := range plan.Failures {
		if f.Hurts() {
			seen["hurts"]++
		}
	}
}

// compareSets compares what a move made and deleted with the plan.
func (m *maker) compareSets(t *testing.T, round int, plan *owners.Plan, from, to *recorder) {
	t.Helper()
	deleting := map[string]bool{}
	for _, o := range m.objects {
		deleting[keyOf(o)] = deleting[keyOf(o)] || o.GetDeletionTimestamp() != nil
	}
	if slices.ContainsFunc(plan.Failures, func(f owners.Fault) bool {
		return f.Hurts() && !deleting[fmt.Sprintf("%s %s/%s", f.Node.Kind, f.Node.Namespace, f.Node.Name)]
	}) {
		return // a wrong reference decides what arrives, which may be different in each run
	}
	var moves, deletes []string
	for _, step := range plan.Order() {
		for _, n := range step {
			key := n.Kind + " " + n.Namespace + "/" + n.Name
			moves = append(moves, key)
			if n.Verdict == owners.Moves {
				deletes = append(deletes, key)
			}
		}
	}
	made := slices.Clone(to.made)
	deleted := slices.Clone(from.deleted)
	for _, list := range [][]string{moves, deletes, made, deleted} {
		slices.Sort(list)
	}
	if !slices.Equal(moves, made) || !slices.Equal(deletes, deleted) {
		t.Errorf("round %d: planned %v, made %v; planned to delete %v, deleted %v", round, moves, made, deletes, deleted)
	}
	// What was being deleted arrives as if it were not.
	for _, o := range m.objects {
		hurts := slices.ContainsFunc(plan.Failures, func(f owners.Fault) bool {
			return f.Step == owners.After && keyOf(o) == fmt.Sprintf("%s %s/%s", f.Node.Kind, f.Node.Namespace, f.Node.Name)
		})
		if want := o.GetDeletionTimestamp() != nil && slices.Contains(made, keyOf(o)); want != hurts && !strings.HasPrefix(o.GetKind(), "FooA") { // there are two of that name
			t.Errorf("round %d: %s is being deleted and moved: %v; announced: %v", round, keyOf(o), want, hurts)
		}
	}
}

// fresh is a target that gives what is made there UIDs of its own, as an API server does.
type fresh struct {
	*recorder
	mu   sync.Mutex
	made []kube.Object
}

func (f *fresh) NewClient(context.Context) (kube.Client, error) { return f, nil }

func (f *fresh) Create(ctx context.Context, o kube.Object, opts ...kube.CreateOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := o.GetUID()
	o.SetUID(types.UID(fmt.Sprintf("made-%d", len(f.made))))
	if err := f.recorder.Create(ctx, o, opts...); err != nil {
		o.SetUID(old) // which nobody learns
		return err
	}
	f.made = append(f.made, o.DeepCopyObject().(kube.Object))
	return nil
}

// doomed are the objects that Kubernetes deletes in the target, because none of their
// owners is there.
func (f *fresh) doomed(there []*unstructured.Unstructured) []string {
	alive := map[types.UID]bool{}
	for _, o := range there {
		alive[o.GetUID()] = true
	}
	for _, o := range f.made {
		alive[o.GetUID()] = true
	}
	gone := map[string]bool{}
	for again := true; again; {
		again = false
		for _, o := range f.made {
			refs := o.GetOwnerReferences()
			if len(refs) > 0 && alive[o.GetUID()] && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return alive[r.UID] }) {
				alive[o.GetUID()], gone[keyOf(o)], again = false, true, true
			}
		}
	}
	return slices.Sorted(maps.Keys(gone))
}

// TestMoveKept compares plans with moves to management clusters that hold some of the
// global objects already, and what these own.
func TestMoveKept(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(moveSeed(29), 31))
	moved, hurt := 0, 0
	for round := range share.Of(200, 4000) {
		m := &maker{world: newWorld(), random: random}
		m.make(t)
		source := m.dump(t)
		plan := owners.FromSnapshot(source, owners.Options{Namespace: "one", Complete: true})
		there := &world{crds: m.crds}
		for _, o := range m.objects {
			gvk := o.GroupVersionKind()
			n := plan.Find(owners.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()})
			if n != nil && n.Verdict == owners.Copied && !n.Keep && m.one(2) {
				c := o.DeepCopy()
				c.SetUID("there-" + c.GetUID())
				c.SetOwnerReferences(nil)
				there.objects = append(there.objects, c)
			}
		}
		plan = owners.FromSnapshot(source, owners.Options{Namespace: "one", Complete: true, Target: there.dump(t), TargetComplete: true})
		if len(there.objects) == 0 || len(plan.Refusals) > 0 || slices.ContainsFunc(plan.Failures, func(f owners.Fault) bool { return !f.Hurts() }) {
			continue
		}
		from := m.start(t)
		to := &fresh{recorder: &recorder{source: there.start(t)}}
		if err := clientOf(t, from).ObjectMover().Move(background, "one", clientOf(t, to), false); err != nil {
			t.Fatalf("round %d: the library fails, but the plan says that it does not: %v", round, err)
		}
		var announced []string
		for _, f := range plan.Failures {
			if strings.Contains(f.Reason, "Kubernetes deletes it in the target") {
				announced = append(announced, f.Node.Kind+" "+f.Node.Namespace+"/"+f.Node.Name)
			}
		}
		slices.Sort(announced)
		if got := to.doomed(there.objects); !slices.Equal(got, announced) {
			m.tell(t, plan)
			t.Fatalf("round %d: Kubernetes deletes %v, but the plan says %v", round, got, announced)
		}
		moved++
		hurt += len(announced)
	}
	t.Logf("%d moves, %d objects deleted in the target", moved, hurt)
	if moved == 0 || hurt == 0 {
		t.Errorf("%d moves, %d objects deleted in the target: the test tries nothing", moved, hurt)
	}
}
