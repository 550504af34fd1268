package rack

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer    = "rack.example.com/finalizer"
	clusterLabel = "cluster.x-k8s.io/cluster-name"
	poolLabel    = "cluster.x-k8s.io/pool-name"
	pausedMark   = "cluster.x-k8s.io/paused"
	// every is how often the provider looks at all its objects. Watches would react
	// sooner, but nothing here depends on it.
	every = 500 * time.Millisecond
)

type object = unstructured.Unstructured

// Provider is the controller of one namespace.
type Provider struct {
	client    client.Client
	namespace string
	// Errors are the last ones by object, for tests that fail.
	Errors   map[string]error
	workload client.Client
	since    map[string]time.Time // see age
}

// New returns a provider that writes like other providers, with the field manager
// "manager".
func New(config *rest.Config, namespace string) (*Provider, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "manager"
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	return &Provider{client: client.WithFieldOwner(c, "manager"), namespace: namespace, Errors: map[string]error{}, since: map[string]time.Time{}}, nil
}

// Run works until ctx is done. Errors are tried again, as controllers do.
func (p *Provider) Run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, kind := range []schema.GroupVersionKind{Pool, Machine} {
			all, err := p.list(ctx, kind, nil)
			if err != nil {
				p.Errors[kind.Kind] = err
			}
			for i := range all {
				o := &all[i]
				reconcile := p.pool
				if kind == Machine {
					reconcile = p.machine
				}
				if err := reconcile(ctx, o); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
					p.Errors[kind.Kind+" "+o.GetName()] = err
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

func (p *Provider) list(ctx context.Context, kind schema.GroupVersionKind, labels map[string]string) ([]object, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := p.client.List(ctx, l, client.InNamespace(p.namespace), client.MatchingLabels(labels))
	return l.Items, err
}

// get returns nil if the object does not exist, or has no name.
func (p *Provider) get(ctx context.Context, kind schema.GroupVersionKind, name string) (*object, error) {
	if name == "" {
		return nil, nil
	}
	o := &object{}
	o.SetGroupVersionKind(kind)
	err := p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

func owner(o *object, kind string) string {
	for _, r := range o.GetOwnerReferences() {
		if r.Kind == kind {
			return r.Name
		}
	}
	return ""
}

// patch writes what a change does to the object, or to its status.
func (p *Provider) patch(ctx context.Context, o *object, status bool, change func()) error {
	before := o.DeepCopy()
	change()
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if data, err := client.MergeFrom(before).Data(o); err != nil || string(data) == "{}" {
		return err
	}
	if status {
		return p.client.Status().Patch(ctx, o, patch)
	}
	return p.client.Patch(ctx, o, patch)
}

// condition sets one with the time only if its status changes.
func condition(o *object, kind string, value bool) {
	status := map[bool]string{true: "True", false: "False"}[value]
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if c := c.(map[string]any); c["type"] == kind && c["status"] == status {
			return
		}
	}
	all = slices.DeleteFunc(all, func(c any) bool { return c.(map[string]any)["type"] == kind })
	all = append(all, map[string]any{"type": kind, "status": status, "reason": kind, "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": o.GetGeneration()})
	set(o, all, "status", "conditions")
}

func set(o *object, value any, path ...string) {
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		panic(err) // a map in the way: a mistake in this package
	}
}

func flag(o *object, path ...string) bool {
	value, _, _ := unstructured.NestedBool(o.Object, path...)
	return value
}

func fault(pool *object) Fault {
	if pool == nil {
		return Honest
	}
	return Fault(pool.GetAnnotations()[FaultAnnotation])
}

// paused shows the pause in the object, and reports whether to stop.
func (p *Provider) paused(ctx context.Context, o, cluster *object, f Fault) (bool, error) {
	_, marked := o.GetAnnotations()[pausedMark]
	is := marked || flag(cluster, "spec", "paused")
	if f == Unshown {
		return is, nil
	}
	err := p.patch(ctx, o, true, func() { condition(o, "Paused", is && f != Deaf) })
	return is && (f != Busy || o.GetKind() != Pool.Kind), err
}

// pool reconciles a RackMachinePool.
func (p *Provider) pool(ctx context.Context, o *object) error {
	mp, err := p.get(ctx, corePool, owner(o, corePool.Kind))
	if err != nil || mp == nil {
		return err
	}
	name, _, _ := unstructured.NestedString(mp.Object, "spec", "clusterName")
	cluster, err := p.get(ctx, coreCluster, name)
	if err != nil || cluster == nil {
		return err
	}
	f := fault(o)
	if stop, err := p.paused(ctx, o, cluster, f); err != nil || stop {
		return err
	}
	if o.GetDeletionTimestamp() != nil {
		return p.deletePool(ctx, o, name, f)
	}
	if err := p.patch(ctx, o, false, func() { controllerutil.AddFinalizer(o, finalizer) }); err != nil {
		return err
	}
	if !flag(cluster, "status", "initialization", "infrastructureProvisioned") {
		return nil
	}
	machines, err := p.machines(ctx, o)
	if err != nil {
		return err
	}
	want, _, _ := unstructured.NestedInt64(mp.Object, "spec", "replicas")
	if f == Stuck {
		want = 2
	}
	if err := p.scale(ctx, o, mp, machines, int(want), f); err != nil {
		return err
	}
	return p.report(ctx, o, cluster, f)
}

// machines are the RackMachines of a pool, the oldest first.
func (p *Provider) machines(ctx context.Context, pool *object) ([]object, error) {
	all, err := p.list(ctx, Machine, nil)
	all = slices.DeleteFunc(all, func(m object) bool { return owner(&m, Pool.Kind) != pool.GetName() })
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, err
}

// scale creates RackMachines, or deletes the Machines of those that are too many.
func (p *Provider) scale(ctx context.Context, pool, mp *object, machines []object, want int, f Fault) error {
	if f == Unseen {
		want--
	}
	live := slices.DeleteFunc(slices.Clone(machines), func(m object) bool { return m.GetDeletionTimestamp() != nil })
	used := map[string]bool{}
	for _, m := range machines {
		used[m.GetName()] = true
	}
	for i := 0; len(live) < want; i++ {
		m := &object{}
		m.SetGroupVersionKind(Machine)
		m.SetName(fmt.Sprintf("%s-%d-%d", pool.GetName(), pool.GetGeneration(), i))
		if used[m.GetName()] {
			continue
		}
		m.SetNamespace(p.namespace)
		labels := map[string]string{clusterLabel: pool.GetLabels()[clusterLabel], poolLabel: mp.GetName()}
		if f == Unlabelled {
			delete(labels, poolLabel)
		}
		m.SetLabels(labels)
		m.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: pool.GetAPIVersion(), Kind: Pool.Kind, Name: pool.GetName(), UID: pool.GetUID()}})
		if err := p.client.Create(ctx, m); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		live = append(live, *m)
	}
	for _, m := range live[want:] {
		if err := p.remove(ctx, &m, f); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the Machine of a RackMachine, or the latter if it has none.
func (p *Provider) remove(ctx context.Context, m *object, f Fault) error {
	if machine, err := p.get(ctx, coreMachine, owner(m, coreMachine.Kind)); err != nil || machine != nil && f != Direct {
		if machine == nil || machine.GetDeletionTimestamp() != nil {
			return err
		}
		return p.client.Delete(ctx, machine)
	}
	return p.client.Delete(ctx, m)
}

// report writes the status of a pool and the IDs of its instances.
func (p *Provider) report(ctx context.Context, o, cluster *object, f Fault) error {
	machines, err := p.machines(ctx, o)
	if err != nil {
		return err
	}
	var ids []any
	for _, m := range machines {
		id, _, _ := unstructured.NestedString(m.Object, "spec", "providerID")
		if id != "" && m.GetDeletionTimestamp() == nil {
			ids = append(ids, id)
		}
	}
	ids, instances := p.distort(o, cluster, f, ids)
	if err := p.patch(ctx, o, false, func() { set(o, ids, "spec", "providerIDList") }); err != nil {
		return err
	}
	return p.patch(ctx, o, true, func() {
		var list []any
		for _, id := range instances {
			list = append(list, map[string]any{"providerID": id})
		}
		replicas := len(ids)
		if f == Short && replicas > 0 {
			replicas++
		}
		set(o, list, "status", "instances")
		set(o, int64(replicas), "status", "replicas")
		set(o, o.GetGeneration(), "status", "observedGeneration")
		kind := Machine.Kind
		if f == OtherKind && p.age(o.GetName()) > 20*time.Second {
			kind = "DevMachine"
		}
		set(o, kind, "status", "infrastructureMachineKind")
		if len(ids) > 0 && f != Unreported {
			provisioned := f != Forgetful || p.age(o.GetName()) < 20*time.Second
			set(o, provisioned, "status", "initialization", "provisioned")
			if f != OnlyInit {
				set(o, provisioned, "status", "ready")
			}
		}
		condition(o, "Ready", len(ids) > 0)
	})
}

// age is how long ago it was asked for the first time; by the name of a pool it is how
// long the pool has had instances.
func (p *Provider) age(of string) time.Duration {
	since, ok := p.since[of]
	if !ok {
		since = time.Now()
		p.since[of] = since
	}
	return time.Since(since)
}

// distort changes the list of IDs, and that of instances, as the fault says.
func (p *Provider) distort(pool, cluster *object, f Fault, ids []any) (_, instances []any) {
	switch name := pool.GetName(); {
	case f == Unseen && len(ids) > 0:
		ids = append(ids, "rack:///"+name+"/unseen")
	case len(ids) < 2:
	case f == Twice:
		ids[1] = ids[0]
	case f == Short, f == Returning && p.age(name) > 20*time.Second && p.age(name+" left") < 3*time.Second:
		ids = ids[:len(ids)-1]
	}
	instances = slices.Clone(ids)
	switch {
	case len(ids) < 2:
	case f == OtherInstances:
		instances = instances[:1]
	case f == Busy && flag(cluster, "spec", "paused"):
		instances[0] = fmt.Sprintf("%s?%d", instances[0], time.Now().Unix()/4)
	}
	return ids, instances
}

// deletePool deletes the machines first.
func (p *Provider) deletePool(ctx context.Context, o *object, cluster string, f Fault) error {
	machines, err := p.machines(ctx, o)
	if err != nil {
		return err
	}
	if f != GoingFirst && len(machines) > 0 {
		for _, m := range machines {
			if m.GetDeletionTimestamp() == nil {
				if err := p.remove(ctx, &m, Honest); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return p.patch(ctx, o, false, func() { controllerutil.RemoveFinalizer(o, finalizer) })
}

// machine reconciles a RackMachine.
func (p *Provider) machine(ctx context.Context, o *object) error {
	pool, err := p.get(ctx, Pool, owner(o, Pool.Kind))
	if err != nil {
		return err
	}
	f := fault(pool)
	cluster, err := p.get(ctx, coreCluster, o.GetLabels()[clusterLabel])
	if err != nil {
		return err
	}
	if cluster != nil {
		if stop, err := p.paused(ctx, o, cluster, Honest); err != nil || stop {
			return err
		}
	}
	if f == Keeping {
		if err := p.letGo(ctx, o); err != nil {
			return err
		}
	}
	id := "rack:///" + o.GetName()
	if o.GetDeletionTimestamp() != nil {
		// Instances do not end at once.
		if time.Since(o.GetDeletionTimestamp().Time) < 8*time.Second {
			return nil
		}
		if p.workload != nil {
			n := &object{}
			n.SetGroupVersionKind(node)
			n.SetName(o.GetName())
			if err := p.workload.Delete(ctx, n); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		return p.patch(ctx, o, false, func() { controllerutil.RemoveFinalizer(o, finalizer) })
	}
	if err := p.patch(ctx, o, false, func() { controllerutil.AddFinalizer(o, finalizer) }); err != nil {
		return err
	}
	if cluster == nil {
		return nil
	}
	if err := p.join(ctx, cluster, o.GetName(), id); err != nil {
		return err
	}
	if err := p.patch(ctx, o, false, func() { set(o, id, "spec", "providerID") }); err != nil {
		return err
	}
	return p.patch(ctx, o, true, func() {
		set(o, true, "status", "initialization", "provisioned")
		condition(o, "Ready", true)
	})
}

// letGo takes the finalizers off the deleted Machine of a RackMachine.
func (p *Provider) letGo(ctx context.Context, o *object) error {
	m, err := p.get(ctx, coreMachine, owner(o, coreMachine.Kind))
	if err != nil || m == nil || m.GetDeletionTimestamp() == nil {
		return err
	}
	return p.patch(ctx, m, false, func() { m.SetFinalizers(nil) })
}

// join creates the Node of an instance in the workload cluster.
func (p *Provider) join(ctx context.Context, cluster *object, name, id string) error {
	if p.workload == nil {
		s, err := p.get(ctx, secret, cluster.GetName()+"-kubeconfig")
		if err != nil || s == nil {
			return err
		}
		text, _, _ := unstructured.NestedString(s.Object, "data", "value")
		kubeconfig, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return err
		}
		config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
		if err != nil {
			return err
		}
		if p.workload, err = client.New(config, client.Options{}); err != nil {
			return err
		}
	}
	n := &object{Object: map[string]any{
		"spec":   map[string]any{"providerID": id},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "KubeletReady"}}},
	}}
	n.SetGroupVersionKind(node)
	n.SetName(name)
	if err := p.workload.Create(ctx, n); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
