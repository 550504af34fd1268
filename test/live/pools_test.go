package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/live/rack"
	"github.com/clusterctl-repo/clusterctl-repo/test/live/rig"
)

// user acts like a person with kubectl in a namespace.
type user struct {
	*testing.T
	client    dynamic.Interface
	namespace string
}

var plurals = map[string]string{"IPAddressClaim": "ipaddressclaims"}

func (u *user) resource(apiVersion, kind string) dynamic.ResourceInterface {
	gv, err := schema.ParseGroupVersion(apiVersion)
	given.NoError(u, err)
	return u.client.Resource(gv.WithResource(cmp.Or(plurals[kind], strings.ToLower(kind)+"s"))).Namespace(u.namespace)
}

const manager = "kubectl-live"

func (u *user) create(o *unstructured.Unstructured) {
	u.Helper()
	o.SetNamespace(u.namespace)
	if _, err := u.resource(o.GetAPIVersion(), o.GetKind()).Create(u.Context(), o, metav1.CreateOptions{FieldManager: manager}); err != nil {
		u.Fatalf("create %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

const (
	coreAPI  = "cluster.x-k8s.io/v1beta2"
	infraAPI = "infrastructure.cluster.x-k8s.io/v1beta2"
)

func (u *user) patch(kind, name string, patch map[string]any) {
	u.Helper()
	body, err := json.Marshal(patch)
	given.NoError(u, err)
	if _, err := u.resource(coreAPI, kind).Patch(u.Context(), name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager}); err != nil {
		u.Fatalf("patch %s %s: %v", kind, name, err)
	}
}

func (u *user) spec(kind, name, field string, value any) {
	u.Helper()
	u.patch(kind, name, map[string]any{"spec": map[string]any{field: value}})
}

func (u *user) list(apiVersion, kind string) []unstructured.Unstructured {
	u.Helper()
	l, err := u.resource(apiVersion, kind).List(u.Context(), metav1.ListOptions{})
	given.NoError(u, err)
	return l.Items
}

// until waits for something that takes at most three minutes.
func (u *user) until(what string, done func() bool) {
	u.Helper()
	for end := time.Now().Add(3 * time.Minute); !done(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			u.Fatalf("%s: not after three minutes", what)
		}
	}
}

// nodes counts the Machines that have a Node.
func (u *user) nodes() (n int) {
	for _, m := range u.list(coreAPI, "Machine") {
		if _, ok, _ := unstructured.NestedMap(m.Object, "status", "nodeRef"); ok {
			n++
		}
	}
	return n
}

// watching starts contract watch in a namespace. Stop interrupts it and returns what it
// found.
func watching(t *testing.T, r *rig.Rig, ns string) (stop func() *course) {
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan *course, 1)
	go func() {
		defer close(out)
		out <- tool(ctx, t, r, slices.Concat([]string{"watch", "-n", ns}, bounds)...)
	}()
	return func() *course {
		cancel()
		c := <-out
		if c == nil {
			t.FailNow()
		}
		return c
	}
}

// controlPlane is the part of the template without workers.
var controlPlane = clusterTemplate[:strings.Index(clusterTemplate, "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment")]

// wrongPools are the wrong-doers, with the one rule that each breaks.
var wrongPools = map[rack.Fault]string{
	rack.Unreported: "BEH301", rack.Forgetful: "BEH302", rack.Twice: "BEH303", rack.Short: "BEH304", rack.Stuck: "BEH305",
	rack.Returning: "BEH306", rack.OtherKind: "BEH307", rack.Unseen: "BEH308", rack.Unlabelled: "BEH309", rack.Keeping: "BEH310",
	rack.Direct: "BEH311", rack.OtherInstances: "BEH312", rack.GoingFirst: "BEH313",
	rack.Unshown: "BEH005", rack.Deaf: "BEH003", rack.Busy: "BEH001", rack.OnlyInit: "BEH702",
}

// honestPool is the name of the pool that does nothing wrong.
const honestPool = "honest"

func (u *user) makePool(name string, f rack.Fault) {
	infra := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	infra.SetGroupVersionKind(rack.Pool)
	infra.SetName(name)
	if f != rack.Honest {
		infra.SetAnnotations(map[string]string{rack.FaultAnnotation: string(f)})
	}
	u.create(infra)
	u.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": coreAPI, "kind": "MachinePool", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"clusterName": "c", "replicas": int64(2), "template": map[string]any{"spec": map[string]any{
			"clusterName": "c", "version": "v1.34.0", "bootstrap": map[string]any{"dataSecretName": "rack"},
			"infrastructureRef": map[string]any{"apiGroup": rack.Pool.Group, "kind": rack.Pool.Kind, "name": name},
		}}},
	}})
}

// deleteMachine deletes a Machine of a pool that waits before it is drained.
func (u *user) deleteMachine(pool string) {
	for _, m := range u.list(coreAPI, "Machine") {
		if m.GetLabels()["cluster.x-k8s.io/pool-name"] == pool {
			const hook = "pre-drain.delete.hook.machine.cluster.x-k8s.io/user"
			u.patch("Machine", m.GetName(), map[string]any{"metadata": map[string]any{"annotations": map[string]any{hook: ""}}})
			if err := u.resource(coreAPI, "Machine").Delete(u.Context(), m.GetName(), metav1.DeleteOptions{}); err != nil {
				u.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if pool == honestPool {
				u.patch("Machine", m.GetName(), map[string]any{"metadata": map[string]any{"annotations": map[string]any{hook: nil}}})
			}
			return
		}
	}
	u.Errorf("pool %s has no Machines", pool)
}

// TestPools lets a provider of pools behave, and break each rule of their contract in a
// pool of its own: the rule must be found there, and nothing else anywhere.
func TestPools(t *testing.T) {
	long(t)
	r := shared(t)
	given.NoError(t, r.Define(t.Context(), rack.Definitions()...))
	u := &user{t, r.Client, namespace(t, r, "pools")}
	provider := given.Value(rack.New(r.Config, u.namespace))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { provider.Run(ctx); close(ended) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("errors of the provider: %v", provider.Errors)
		}
	})
	stop := watching(t, r, u.namespace)
	u.live()
	c := stop()
	got := map[string][]string{}
	for _, f := range c.findings {
		pool := poolOf(f.Object)
		if !slices.Contains(got[pool], f.Rule) {
			got[pool] = append(got[pool], f.Rule)
		}
		if wrongPools[rack.Fault(pool)] != f.Rule {
			t.Errorf("not expected of pool %q: %s\n\t%s", pool, f, strings.Join(f.Evidence, "\n\t"))
		}
	}
	for f, id := range wrongPools {
		if !slices.Contains(got[string(f)], id) {
			t.Errorf("pool %s: %s not found", f, id)
		}
	}
}

// live is what happens in the namespace of the pools.
func (u *user) live() {
	for _, o := range decode(u.T, controlPlane) {
		u.create(o)
	}
	u.until("control plane", func() bool { return u.nodes() == 1 })
	u.makePool(honestPool, rack.Honest)
	for _, f := range slices.Sorted(maps.Keys(wrongPools)) {
		u.makePool(string(f), f)
	}
	// All but those without the label and those that hide an instance get two.
	want := 1 + 2*(len(wrongPools)+1) - 2 - 1
	u.until("Machines of the pools", func() bool { return u.nodes() >= want })
	time.Sleep(40 * time.Second)
	u.spec("Cluster", "c", "paused", true)
	time.Sleep(14 * time.Second)
	u.spec("Cluster", "c", "paused", false)
	time.Sleep(20 * time.Second)
	scaled := []string{honestPool, string(rack.Stuck), string(rack.Direct)}
	for _, name := range scaled {
		u.spec("MachinePool", name, "replicas", 3)
	}
	time.Sleep(70 * time.Second) // longer than the bound
	for _, name := range scaled {
		u.spec("MachinePool", name, "replicas", 2)
	}
	u.deleteMachine(string(rack.Keeping))
	u.deleteMachine(honestPool)
	time.Sleep(40 * time.Second)
	for _, mp := range u.list(coreAPI, "MachinePool") {
		if err := u.resource(coreAPI, "MachinePool").Delete(u.Context(), mp.GetName(), metav1.DeleteOptions{}); err != nil {
			u.Fatal(err)
		}
	}
	u.until("deletion", func() bool {
		return len(u.list(coreAPI, "MachinePool")) == 0 && len(u.list(infraAPI, rack.Machine.Kind)) == 0
	})
	time.Sleep(20 * time.Second)
	if err := u.resource(coreAPI, "Cluster").Delete(u.Context(), "c", metav1.DeleteOptions{}); err != nil {
		u.Fatal(err)
	}
	u.until("deletion of the Cluster", func() bool { return len(u.list(coreAPI, "Cluster")) == 0 })
	time.Sleep(5 * time.Second)
}

// poolOf is the pool that an object belongs to by its name.
func poolOf(object string) string {
	_, name, _ := strings.Cut(object, "/")
	best := fmt.Sprintf("(%s)", object)
	for _, f := range append(slices.Collect(maps.Keys(wrongPools)), honestPool) {
		if name == string(f) || strings.HasPrefix(name, string(f)+"-") {
			best = string(f)
		}
	}
	return best
}
