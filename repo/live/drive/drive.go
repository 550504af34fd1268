package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
)

// Manager is the field manager of the driver.
const Manager = "clusterctl-repo-drive"

const (
	coreGroup = "cluster.x-k8s.io"
	mark      = "clusterctl-repo.x-k8s.io/poked"
)

// Options say what to do.
type Options struct {
	// Namespace must be empty of Clusters; everything happens in it.
	Namespace string
	// Objects of the template, one JSON object each.
	Objects []json.RawMessage
	// Hold is how long a pause lasts, Settle how long the driver waits for effects, and
	// Provision how long for machines.
	Hold, Settle, Provision time.Duration
	// Restart restarts the controller; nil if the driver was not told how.
	Restart func(context.Context) error
	// Skip names steps.
	Skip []string
	// Record takes the lines of the journal; Say takes what a person is told.
	Record func(line []byte)
	Say    func(format string, args ...any)
}

// Step is something that the driver does.
type Step struct{ Name, Does string }

// Steps are what a course consists of, in this order.
var Steps = []Step{
	{"create", "create the objects of the template"},
	{"pause-early", "pause the Cluster while a machine starts, and poke all objects of providers"},
	{"provision", "unpause and wait until all Machines have Nodes"},
	{"scale", "scale MachineDeployments and MachinePools up and down by one"},
	{"annotate", "pause one object of each kind by its annotation, poke it, and take it off"},
	{"strip", "pause, remove finalizers and owner references of all objects of providers, unpause"},
	{"wipe", "pause, empty the status of infrastructure, bootstrap and control plane objects, unpause"},
	{"managed", "create an externally managed Cluster"},
	{"orphan", "create an InfraMachine without an owner, and delete it"},
	{"claim", "create a claim of an address for the pool of another provider, pause, unpause, and delete it"},
	{"restart", "create another claim like that, restart the controller with --restart, and delete the claim"},
	{"delete-paused", "pause, delete a Machine, unpause"},
	{"delete", "delete everything and wait until it is gone"},
}

// Check returns an error if the driver must not act: the namespace has Clusters that it
// did not make, or the template leads out of the namespace.
func Check(ctx context.Context, client rest.Interface, o Options) error {
	d := &driver{client: client, Options: o}
	if err := d.discover(ctx); err != nil {
		return err
	}
	clusters, err := d.list(ctx, d.kinds[[2]string{coreGroup, "Cluster"}])
	if err != nil {
		return fmt.Errorf("the Clusters in namespace %s cannot be read: %w", o.Namespace, err)
	}
	if len(clusters) > 0 {
		return fmt.Errorf("namespace %s already has %d Clusters; use a namespace of its own", o.Namespace, len(clusters))
	}
	_, err = d.template()
	return err
}

// Run drives a course and returns what it could not remove. When ctx is done it stops
// and cleans up.
func Run(ctx context.Context, client rest.Interface, o Options) (left []string, err error) {
	d := &driver{client: client, Options: o}
	if err := Check(ctx, client, o); err != nil {
		return nil, err
	}
	if err := d.discover(ctx); err != nil {
		return nil, err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.Provision)
		defer cancel()
		left = d.clean(clean)
	}()
	steps := map[string]func(context.Context) error{
		"create": d.create, "pause-early": d.pauseEarly, "provision": d.provisioned, "scale": d.scale, "annotate": d.annotate,
		"strip": d.strip, "wipe": d.wipe, "managed": d.managed, "orphan": d.orphan, "claim": d.claim, "restart": d.restart,
		"delete-paused": d.deletePaused, "delete": d.deleteAll,
	}
	for _, s := range Steps {
		if slices.Contains(o.Skip, s.Name) || s.Name == "restart" && o.Restart == nil {
			continue
		}
		o.Say("%s: %s", s.Name, s.Does)
		if err := steps[s.Name](ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

type kind struct {
	group, version, plural, kind string
	status                       bool
}

type driver struct {
	Options
	client rest.Interface
	kinds  map[[2]string]kind
	made   []*unstructured.Unstructured
}

func (d *driver) discover(ctx context.Context) error {
	var groups metav1.APIGroupList
	if err := d.get(ctx, "/apis", &groups); err != nil {
		return err
	}
	d.kinds = map[[2]string]kind{}
	for _, g := range groups.Groups {
		if g.Name != coreGroup && !strings.HasSuffix(g.Name, "."+coreGroup) {
			continue
		}
		// Kinds of a group need not have its preferred version.
		versions := []string{g.PreferredVersion.Version}
		for _, v := range g.Versions {
			if !slices.Contains(versions, v.Version) {
				versions = append(versions, v.Version)
			}
		}
		for _, version := range versions {
			var list metav1.APIResourceList
			if err := d.get(ctx, "/apis/"+g.Name+"/"+version, &list); err != nil {
				return err
			}
			d.add(g.Name, version, list.APIResources)
		}
	}
	if d.kinds[[2]string{coreGroup, "Cluster"}].plural == "" {
		return errors.New("the server has no Clusters; Cluster API is not installed")
	}
	return nil
}

// add notes the kinds of a version that no better version has.
func (d *driver) add(group, version string, all []metav1.APIResource) {
	for _, r := range all {
		plural, sub, _ := strings.Cut(r.Name, "/")
		key := [2]string{group, r.Kind}
		k := d.kinds[key]
		switch {
		case k.version != "" && k.version != version:
			continue
		case sub == "" && r.Namespaced:
			k = kind{group, version, plural, r.Kind, k.status}
		case sub == "status":
			k.version, k.status = version, true
		default:
			continue
		}
		d.kinds[key] = k
	}
}

func (d *driver) get(ctx context.Context, path string, into any) error {
	body, err := send(ctx, d.client.Get().AbsPath(path))
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// send returns the answer; its error says why the server refused, which that of
// Request.DoRaw does not.
func send(ctx context.Context, r *rest.Request) ([]byte, error) {
	result := r.SetHeader("Accept", "application/json").Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// finish bounds how long a write may last that the user interrupts.
const finish = 10 * time.Second

// write is send for what changes the server. It is not interrupted, because the driver
// has to know what it did.
func write(ctx context.Context, r *rest.Request) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(finish, cancel) })
	defer stop()
	return send(whole, r)
}

func (d *driver) path(k kind, name string) string {
	p := "/apis/" + k.group + "/" + k.version + "/namespaces/" + d.Namespace + "/" + k.plural
	if name != "" {
		p += "/" + name
	}
	return p
}

func (d *driver) list(ctx context.Context, k kind) ([]unstructured.Unstructured, error) {
	if k.plural == "" {
		return nil, nil
	}
	var l unstructured.UnstructuredList
	body, err := send(ctx, d.client.Get().AbsPath(d.path(k, "")))
	if err != nil {
		return nil, err
	}
	if err := l.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	return l.Items, nil
}

// template prepares the objects: all are in the namespace, and of kinds with one.
func (d *driver) template() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for i, raw := range d.Objects {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("object %d of the template: %w", i+1, err)
		}
		if ns := o.GetNamespace(); ns != "" && ns != d.Namespace {
			return nil, fmt.Errorf("%s %s of the template is in namespace %s; leave the namespace out, or render it for %s", o.GetKind(), o.GetName(), ns, d.Namespace)
		}
		if d.of(o).plural == "" {
			return nil, fmt.Errorf("%s %s of the template is not of a kind of Cluster API that the server has with a namespace", o.GetKind(), o.GetName())
		}
		o.SetNamespace(d.Namespace)
		out = append(out, o)
	}
	if len(out) == 0 {
		return nil, errors.New("the template holds no objects")
	}
	return out, nil
}

func (d *driver) of(o *unstructured.Unstructured) kind {
	gvk := o.GroupVersionKind()
	return d.kinds[[2]string{gvk.Group, gvk.Kind}]
}

// journal writes down a write that began at a time.
func (d *driver) journal(at time.Time, action string, o *unstructured.Unstructured) {
	d.Record(record.ActionLine(at, record.Act{
		Name: action, APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Object: o.GetName(),
		UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(),
	}))
}

func (d *driver) post(ctx context.Context, action string, o *unstructured.Unstructured) error {
	k := d.of(o)
	o.SetAPIVersion(k.group + "/" + o.GroupVersionKind().Version)
	body, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	at := time.Now()
	k.version = o.GroupVersionKind().Version
	answer, err := write(ctx, d.client.Post().AbsPath(d.path(k, "")).Param("fieldManager", Manager).SetHeader("Content-Type", "application/json").Body(body))
	if err != nil {
		return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	made := &unstructured.Unstructured{}
	if err := made.UnmarshalJSON(answer); err != nil {
		return err
	}
	o.Object = made.Object // with the UID
	d.made = append(d.made, made)
	d.journal(at, action, made)
	return nil
}

// patch writes a merge patch. What is gone is not an error.
func (d *driver) patch(ctx context.Context, action string, o *unstructured.Unstructured, sub string, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	path := d.path(d.of(o), o.GetName())
	if sub != "" {
		path += "/" + sub
	}
	at := time.Now()
	answer, err := write(ctx, d.client.Patch(types.MergePatchType).AbsPath(path).Param("fieldManager", Manager).Body(body))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s %s %s: %w", action, o.GetKind(), o.GetName(), err)
	}
	after := &unstructured.Unstructured{}
	if err := after.UnmarshalJSON(answer); err != nil {
		return err
	}
	d.journal(at, action, after)
	return nil
}

func (d *driver) remove(ctx context.Context, o *unstructured.Unstructured) error {
	at := time.Now()
	d.journal(at, "delete", &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(),
		"metadata": map[string]any{"name": o.GetName(), "namespace": o.GetNamespace(), "uid": string(o.GetUID())},
	}})
	_, err := write(ctx, d.client.Delete().AbsPath(d.path(d.of(o), o.GetName())))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// wait looks every second until done, for at most the time; that it takes longer is not
// an error, because the judge finds that.
func (d *driver) wait(ctx context.Context, most time.Duration, done func() bool) {
	end := time.Now().Add(most)
	for time.Now().Before(end) && ctx.Err() == nil && !done() {
		sleep(ctx, time.Second)
	}
}

func sleep(ctx context.Context, t time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(t):
	}
}

func (d *driver) create(ctx context.Context) error {
	all, err := d.template()
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := d.post(ctx, "create", o); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) clusters(ctx context.Context) []unstructured.Unstructured {
	out, _ := d.list(ctx, d.kinds[[2]string{coreGroup, "Cluster"}])
	return out
}

func (d *driver) pause(ctx context.Context, on bool) error {
	for _, c := range d.clusters(ctx) {
		if hasManaged(&c) || strings.HasPrefix(c.GetName(), extra) {
			continue
		}
		if err := d.patch(ctx, map[bool]string{true: "pause", false: "unpause"}[on], &c, "", map[string]any{"spec": map[string]any{"paused": on}}); err != nil {
			return err
		}
	}
	return nil
}

// providers are the objects of providers in the namespace, without templates.
func (d *driver) providers(ctx context.Context) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, key := range d.sorted() {
		k := d.kinds[key]
		if !slices.ContainsFunc([]string{"infrastructure", "bootstrap", "controlplane"}, func(p string) bool { return strings.HasPrefix(k.group, p+".") }) || strings.HasSuffix(k.kind, "Template") {
			continue
		}
		items, _ := d.list(ctx, k)
		for i := range items {
			if !strings.HasPrefix(items[i].GetName(), extra) {
				out = append(out, &items[i])
			}
		}
	}
	return out
}

func (d *driver) sorted() [][2]string {
	var keys [][2]string
	for key, k := range d.kinds {
		if k.plural != "" {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return strings.Compare(a[0]+"/"+a[1], b[0]+"/"+b[1]) })
	return keys
}

func (d *driver) poke(ctx context.Context, list []*unstructured.Unstructured) error {
	for _, o := range list {
		if err := d.patch(ctx, "poke", o, "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{mark: time.Now().UTC().Format(time.RFC3339Nano)}}}); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) machines(ctx context.Context) []unstructured.Unstructured {
	out, _ := d.list(ctx, d.kinds[[2]string{coreGroup, "Machine"}])
	return slices.DeleteFunc(out, func(m unstructured.Unstructured) bool { return strings.HasPrefix(m.GetName(), extra) })
}

// pauseEarly waits until a Machine has its bootstrap data, so that something is under
// way: a controller without a pause check does nothing wrong at rest.
func (d *driver) pauseEarly(ctx context.Context) error {
	d.wait(ctx, d.Provision, func() bool {
		return slices.ContainsFunc(d.machines(ctx), func(m unstructured.Unstructured) bool {
			name, _, _ := unstructured.NestedString(m.Object, "spec", "bootstrap", "dataSecretName")
			return name != ""
		})
	})
	return d.paused(ctx, func() error {
		sleep(ctx, d.Hold/4)
		return d.poke(ctx, d.providers(ctx))
	})
}

// paused does something during a pause, which ends in any case.
func (d *driver) paused(ctx context.Context, do func() error) error {
	if err := d.pause(ctx, true); err != nil {
		return err
	}
	begin := time.Now()
	sleep(ctx, d.Hold/4)
	err := do()
	sleep(ctx, d.Hold-time.Since(begin))
	return errors.Join(err, d.pause(context.WithoutCancel(ctx), false))
}

func (d *driver) provisioned(ctx context.Context) error {
	d.wait(ctx, d.Provision, func() bool {
		all := d.machines(ctx)
		for _, m := range all {
			if _, ok, _ := unstructured.NestedMap(m.Object, "status", "nodeRef"); !ok {
				return false
			}
		}
		return len(all) > 0
	})
	sleep(ctx, d.Settle)
	return nil
}

func (d *driver) scale(ctx context.Context) error {
	for _, by := range []int64{1, -1} {
		for _, kindName := range []string{"MachineDeployment", "MachinePool"} {
			items, _ := d.list(ctx, d.kinds[[2]string{coreGroup, kindName}])
			for i := range items {
				n, _, _ := unstructured.NestedInt64(items[i].Object, "spec", "replicas")
				if err := d.patch(ctx, "scale", &items[i], "", map[string]any{"spec": map[string]any{"replicas": n + by}}); err != nil {
					return err
				}
			}
		}
		if err := d.provisioned(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) annotate(ctx context.Context) error {
	seen := map[string]bool{}
	var one []*unstructured.Unstructured
	for _, o := range d.providers(ctx) {
		if !seen[o.GetKind()] {
			seen[o.GetKind()] = true
			one = append(one, o)
		}
	}
	set := func(value any) error {
		for _, o := range one {
			if err := d.patch(context.WithoutCancel(ctx), "annotate", o, "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"cluster.x-k8s.io/paused": value}}}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := set(""); err != nil {
		return err
	}
	sleep(ctx, d.Hold/2)
	err := d.poke(ctx, one)
	sleep(ctx, d.Hold/2)
	err = errors.Join(err, set(nil))
	sleep(ctx, d.Settle)
	return err
}

func (d *driver) strip(ctx context.Context) error {
	err := d.paused(ctx, func() error {
		for _, o := range d.providers(ctx) {
			if err := d.patch(ctx, "strip", o, "", map[string]any{"metadata": map[string]any{"finalizers": nil, "ownerReferences": nil}}); err != nil {
				return err
			}
		}
		return nil
	})
	sleep(ctx, d.Settle)
	return err
}

func (d *driver) wipe(ctx context.Context) error {
	err := d.paused(ctx, func() error {
		for _, o := range d.providers(ctx) {
			status, _, _ := unstructured.NestedMap(o.Object, "status")
			if !d.of(o).status || len(status) == 0 {
				continue
			}
			if err := d.patch(ctx, "wipe", o, "status", map[string]any{"status": nil}); err != nil {
				return err
			}
		}
		return nil
	})
	sleep(ctx, d.Settle)
	return err
}

// extra begins the names of objects that the driver adds to those of the template.
const extra = "drive-"

func hasManaged(o *unstructured.Unstructured) bool {
	_, ok := o.GetAnnotations()["cluster.x-k8s.io/managed-by"]
	return ok
}

// managed makes a Cluster like that of the template whose infrastructure belongs to
// somebody else.
func (d *driver) managed(ctx context.Context) error {
	all, err := d.template()
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.GetKind() != "Cluster" || c.GroupVersionKind().Group != coreGroup {
			continue
		}
		ref, ok, _ := unstructured.NestedStringMap(c.Object, "spec", "infrastructureRef")
		if !ok {
			continue
		}
		for _, infra := range all {
			if infra.GetKind() != ref["kind"] || infra.GetName() != ref["name"] {
				continue
			}
			copied, owner := infra.DeepCopy(), c.DeepCopy()
			copied.SetName(extra + "managed")
			copied.SetAnnotations(map[string]string{"cluster.x-k8s.io/managed-by": Manager})
			owner.SetName(extra + "managed")
			ref["name"] = extra + "managed"
			unstructured.RemoveNestedField(owner.Object, "spec", "controlPlaneRef")
			unstructured.RemoveNestedField(owner.Object, "spec", "topology")
			if err := unstructured.SetNestedStringMap(owner.Object, ref, "spec", "infrastructureRef"); err != nil {
				return err
			}
			if err := errors.Join(d.post(ctx, "managed", copied), d.post(ctx, "managed", owner)); err != nil {
				return err
			}
			sleep(ctx, d.Settle)
			return nil
		}
	}
	return nil
}

func (d *driver) orphan(ctx context.Context) error {
	for _, o := range d.providers(ctx) {
		if !strings.HasPrefix(d.of(o).group, "infrastructure.") || !strings.HasSuffix(o.GetKind(), "Machine") {
			continue
		}
		copied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "spec": o.Object["spec"]}}
		copied.SetName(extra + "orphan")
		copied.SetNamespace(d.Namespace)
		unstructured.RemoveNestedField(copied.Object, "spec", "providerID")
		if err := d.post(ctx, "orphan", copied); err != nil {
			return err
		}
		sleep(ctx, d.Settle/2)
		return d.remove(ctx, copied)
	}
	return nil
}

// claim creates a claim for the pool of another provider, lets a pause begin and end, and
// deletes it: a claim that a wrong provider has taken hangs.
func (d *driver) claim(ctx context.Context) error {
	return d.foreign(ctx, "foreign", func() error {
		return d.paused(ctx, func() error { return nil })
	})
}

func (d *driver) foreign(ctx context.Context, name string, do func() error) error {
	k := d.kinds[[2]string{"ipam.cluster.x-k8s.io", "IPAddressClaim"}]
	clusters := d.clusters(ctx)
	if k.plural == "" || len(clusters) == 0 {
		return do()
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.group + "/" + k.version, "kind": k.kind, "spec": map[string]any{
		"clusterName": clusters[0].GetName(), "poolRef": map[string]any{"apiGroup": "ipam.drive.example", "kind": "OtherPool", "name": "pool"}}}}
	o.SetName(extra + name)
	o.SetNamespace(d.Namespace)
	if err := d.post(ctx, "claim", o); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	sleep(ctx, d.Settle/2)
	return d.remove(ctx, o)
}

func (d *driver) restart(ctx context.Context) error {
	return d.foreign(ctx, "restart", func() error {
		sleep(ctx, 2*d.Settle) // so that what follows has no other cause
		at := time.Now()
		if err := d.Restart(ctx); err != nil {
			return err
		}
		d.Record(record.ActionLine(at, record.Act{Name: "restart"}))
		sleep(ctx, d.Settle)
		return nil
	})
}

func (d *driver) deletePaused(ctx context.Context) error {
	all := d.machines(ctx)
	i := slices.IndexFunc(all, func(m unstructured.Unstructured) bool {
		_, plane := m.GetLabels()["cluster.x-k8s.io/control-plane"]
		return !plane
	})
	if i < 0 {
		return nil
	}
	err := d.paused(ctx, func() error { return d.remove(ctx, &all[i]) })
	sleep(ctx, d.Settle)
	return err
}

func (d *driver) deleteAll(ctx context.Context) error {
	for _, c := range d.clusters(ctx) {
		if err := d.remove(ctx, &c); err != nil {
			return err
		}
	}
	d.wait(ctx, d.Provision, func() bool { return len(d.clusters(ctx)) == 0 })
	return nil
}

// clean deletes what the driver made and names what is still there at the end, with the
// reason if the server refused to delete it. A webhook may refuse as long as something
// else is there (that of InClusterIPPool does while addresses are taken), so it asks
// again while it waits.
func (d *driver) clean(ctx context.Context) []string {
	// What stays is named below, whatever the reason is.
	_ = d.pause(ctx, false)
	_ = d.deleteAll(ctx)
	refused := map[*unstructured.Unstructured]string{}
	var left []string
	look := func(ask bool) bool {
		left = nil
		for _, o := range slices.Backward(d.made) {
			body, err := send(ctx, d.client.Get().AbsPath(d.path(d.of(o), o.GetName())))
			if apierrors.IsNotFound(err) {
				continue
			}
			now := &unstructured.Unstructured{}
			if ask && err == nil && now.UnmarshalJSON(body) == nil && now.GetDeletionTimestamp() == nil {
				refused[o] = ""
				if err := d.remove(ctx, o); err != nil {
					refused[o] = " (" + err.Error() + ")"
				}
			}
			left = append(left, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()+refused[o])
		}
		return len(left) == 0
	}
	look(true)
	d.wait(ctx, d.Settle, func() bool { return look(true) })
	look(false)
	slices.Reverse(left)
	return left
}
