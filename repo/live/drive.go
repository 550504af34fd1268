package live

import (
	"context"
	"crypto/rand"
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
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// driverName is the field manager of the driver.
const driverName = "clusterctl-repo-drive"

// The annotations that the driver reads and writes.
const (
	pokedMark   = "clusterctl-repo.x-k8s.io/poked"
	runMark     = "clusterctl-repo.x-k8s.io/drive" // the run that made the object
	pausedMark  = "cluster.x-k8s.io/paused"
	managedMark = "cluster.x-k8s.io/managed-by"
)

// Course says what a driver does, and to what.
type Course struct {
	// Namespace holds nothing of Cluster API; everything happens in it.
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
	// Record takes the lines of the journal. Nothing is written to the server if it fails.
	Record func(line []byte) error
	// Say takes what a person is told.
	Say func(format string, args ...any)
}

// Step is something that the driver does.
type Step struct {
	Name, Does string
	do         func(*driver, context.Context) error
}

// Steps are what a course consists of, in this order.
var Steps = []Step{
	{"create", "create the objects of the template", (*driver).create},
	{"pause-early", "pause the Cluster while a machine starts, and poke all objects of providers", (*driver).pauseEarly},
	{"provision", "unpause and wait until all Machines have Nodes", (*driver).provisioned},
	{"scale", "scale MachineDeployments and MachinePools up and down by one", (*driver).scale},
	{"annotate", "pause one object of each kind by its annotation, poke it, and remove the annotation", (*driver).annotate},
	{"strip", "pause, remove finalizers and owner references of all objects of providers, unpause", (*driver).strip},
	{"wipe", "pause, empty the status of infrastructure, bootstrap and control plane objects, unpause", (*driver).wipe},
	{"managed", "create an externally managed Cluster", (*driver).managed},
	{"orphan", "create an InfraMachine without an owner, and delete it", (*driver).orphan},
	{"claim", "create a claim for an address from the pool of another provider, pause, unpause, and delete it", (*driver).claim},
	{"restart", "create another such claim, restart the controller with --restart, and delete the claim", (*driver).restart},
	{"delete-paused", "pause, delete a Machine, unpause", (*driver).deletePaused},
	{"delete", "delete everything and wait until it is gone", (*driver).deleteAll},
}

// Journal is what a run wrote down of itself, read from its recording.
type Journal struct {
	// Server and Namespace are those in which it acted.
	Server, Namespace string
	memory
}

// memory is what a driver knows of itself.
type memory struct {
	run   string
	ended bool
	known map[types.UID]bool
	meant map[objectKey]bool // to be made; the answer is not known
}

func newMemory(run string) memory {
	return memory{run: run, known: map[types.UID]bool{}, meant: map[objectKey]bool{}}
}

type object = unstructured.Unstructured

// objectKey names an object; its namespace is that of the run.
type objectKey struct{ group, kind, name string }

func keyOf(o *object) objectKey {
	gvk := o.GroupVersionKind()
	return objectKey{gvk.Group, gvk.Kind, o.GetName()}
}

// Add takes the next event of the recording.
func (j *Journal) Add(e *record.Event) {
	if e.Type != record.Action {
		return
	}
	a := e.Note.Get("action")
	key := objectKey{record.GroupOf(a.Get("apiVersion").Str()), a.Get("kind").Str(), a.Get("object").Str()}
	uid := types.UID(a.Get("uid").Str())
	switch name := a.Get("name").Str(); {
	case name == "begin":
		*j = Journal{a.Get("server").Str(), a.Get("namespace").Str(), newMemory(a.Get("run").Str())}
	case j.known == nil: // of an earlier version of the driver
	case name == "end":
		j.ended = true
	case uid != "":
		j.known[uid] = true
		delete(j.meant, key)
	case key.kind != "":
		j.meant[key] = true
	}
}

// Open reports whether the run did not end by itself, so that something of it may be left.
func (j *Journal) Open() bool { return j.run != "" && !j.ended }

// Undo takes back what a run left that was killed: it ends the pauses of its Clusters, and
// deletes what the run made, known by UID from its journal, and what controllers made of
// it. It returns what it could not remove. The error is set if the server cannot be asked.
func (c *Cluster) Undo(ctx context.Context, o Course, j *Journal) (left []string, err error) {
	d, err := c.driver(ctx, o)
	if err != nil {
		return nil, err
	}
	d.memory, d.changed = j.memory, true
	d.Record = func([]byte) error { return nil } // the journal has it already
	ctx, cancel := context.WithTimeout(ctx, d.Provision+3*d.Settle)
	defer cancel()
	return d.clean(ctx), nil
}

// CheckDrive returns an error if the driver must not act: the namespace holds something
// that it did not make and that controllers could act on, or the template leads out of the
// namespace. Secrets are read without their values.
func (c *Cluster) CheckDrive(ctx context.Context, o Course) error {
	d, err := c.driver(ctx, o)
	if err != nil {
		return err
	}
	return d.check(ctx)
}

// Drive drives a course and returns what it could not remove. It touches only what it made
// and what controllers made of that. When ctx is done it stops and cleans up.
func (c *Cluster) Drive(ctx context.Context, o Course) (left []string, err error) {
	d, err := c.driver(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := d.check(ctx); err != nil {
		return nil, err
	}
	server, err := c.Server(ctx)
	if err != nil {
		return nil, err
	}
	d.memory = newMemory(rand.Text())
	begin := record.Act{Name: "begin", Namespace: o.Namespace, Server: server, Run: d.run}
	if err := o.Record(record.ActionLine(time.Now(), begin)); err != nil {
		return nil, err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.Provision+3*d.Settle)
		defer cancel()
		if left = d.clean(clean); len(left) == 0 {
			err = errors.Join(err, o.Record(record.ActionLine(time.Now(), record.Act{Name: "end"})))
		}
	}()
	for _, s := range Steps {
		if slices.Contains(o.Skip, s.Name) || s.Name == "restart" && o.Restart == nil {
			continue
		}
		o.Say("%s: %s", s.Name, s.Does)
		if err := s.do(d, ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

type driver struct {
	Course
	memory
	client  rest.Interface
	all     []resource // the kinds of Cluster API in namespaces
	held    []*object  // Clusters that the driver paused
	changed bool       // controllers have something to restore before what they made is deleted
}

func (c *Cluster) driver(ctx context.Context, o Course) (*driver, error) {
	d := &driver{Course: o, client: c.client}
	kinds, err := c.kinds(ctx)
	if err != nil {
		return nil, err
	}
	d.all = slices.DeleteFunc(kinds, func(r resource) bool { return r.global })
	if d.kind(coreGroup, "Cluster").plural == "" {
		return nil, errors.New("the server has no Clusters; Cluster API is not installed")
	}
	return d, nil
}

func isCluster(o *object) bool { return keyOf(o).group == coreGroup && o.GetKind() == "Cluster" }

func (d *driver) kind(group, name string) resource {
	if i := slices.IndexFunc(d.all, func(r resource) bool { return r.group == group && r.kind == name }); i >= 0 {
		return d.all[i]
	}
	return resource{}
}

func (d *driver) of(o *object) resource {
	gvk := o.GroupVersionKind()
	return d.kind(gvk.Group, gvk.Kind)
}

// check is CheckDrive.
func (d *driver) check(ctx context.Context) error {
	template, err := d.template()
	if err != nil {
		return err
	}
	var found []string
	for _, k := range append(slices.Clone(d.all), secrets) {
		items, err := d.list(ctx, k)
		if err != nil {
			return fmt.Errorf("%s in namespace %s cannot be read: %w", k, d.Namespace, err)
		}
		for _, o := range items {
			_, labelled := o.GetLabels()[coreGroup+"/cluster-name"]
			ofCluster := func(c *object) bool {
				return c.GetKind() == "Cluster" && strings.HasPrefix(o.GetName(), c.GetName()+"-")
			}
			if k != secrets || labelled || slices.ContainsFunc(template, ofCluster) {
				found = append(found, k.kind+" "+o.GetName())
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	more := ""
	if n := len(found) - 3; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("namespace %s already has %s%s, which controllers could act on; use an empty namespace",
		d.Namespace, strings.Join(found[:min(3, len(found))], ", "), more)
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
	return send(whole, r, "application/json")
}

// tries is how often the driver asks a server that fails.
const tries = 5

// again asks several times if the server fails or does not answer, but not if it refuses.
func (d *driver) again(ctx context.Context, do func() error) (err error) {
	for range tries {
		var answer apierrors.APIStatus
		if err = do(); err == nil || ctx.Err() != nil ||
			errors.As(err, &answer) && answer.Status().Code < 500 && !apierrors.IsTooManyRequests(err) {
			break
		}
		sleep(ctx, min(d.Settle/tries, time.Second))
	}
	return err
}

func (d *driver) list(ctx context.Context, k resource) ([]object, error) {
	var l unstructured.UnstructuredList
	accept := "application/json"
	if k == secrets {
		accept = metadataOnly
	}
	err := d.again(ctx, func() error {
		body, err := send(ctx, d.client.Get().AbsPath(k.path(d.Namespace)), accept)
		if err != nil {
			return err
		}
		return l.UnmarshalJSON(body)
	})
	return l.Items, err
}

// ours are the objects in the namespace that the driver made, and those that controllers
// made of them: of the kinds in a list. What is ours stays so when it loses its owners.
func (d *driver) ours(ctx context.Context, kinds []resource) ([]*object, error) {
	var all []*object
	for _, k := range kinds {
		items, err := d.list(ctx, k)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", k, err)
		}
		for i := range items {
			all = append(all, &items[i])
		}
	}
	for more := true; more; {
		more = false
		for _, o := range all {
			if !d.known[o.GetUID()] && d.descends(o) {
				d.known[o.GetUID()], more = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(o *object) bool { return !d.known[o.GetUID()] }), nil
}

// descends reports whether a controller made the object of one that is ours: that controls
// it, or is the Cluster of its topology. Any Machine that names a Cluster gets an owner
// reference to it, whoever made it. The driver knows what it meant to make by its mark.
func (d *driver) descends(o *object) bool {
	if d.meant[keyOf(o)] && o.GetAnnotations()[runMark] == d.run {
		return true
	}
	_, owned := o.GetLabels()["topology."+coreGroup+"/owned"]
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return d.known[r.UID] && (owned || r.Controller != nil && *r.Controller)
	})
}

// active are ours of the kinds that controllers work on, without what the driver adds to
// the template.
func (d *driver) active(ctx context.Context) ([]*object, error) {
	all, err := d.ours(ctx, phrase.Only(d.all, func(r resource) bool {
		return !strings.HasSuffix(r.kind, "Template") && r.kind != "ClusterClass" && (r.group == coreGroup || ofProvider(r.group))
	}))
	return slices.DeleteFunc(all, func(o *object) bool { return strings.HasPrefix(o.GetName(), extra) }), err
}

func ofProvider(group string) bool {
	role, _, _ := strings.Cut(group, ".")
	return slices.Contains([]string{"infrastructure", "bootstrap", "controlplane"}, role)
}

func (d *driver) core(ctx context.Context, kinds ...string) ([]*object, error) {
	all, err := d.active(ctx)
	return slices.DeleteFunc(all, func(o *object) bool {
		return o.GroupVersionKind().Group != coreGroup || !slices.Contains(kinds, o.GetKind())
	}), err
}

// providers are the objects of providers that are ours, without templates.
func (d *driver) providers(ctx context.Context) ([]*object, error) {
	all, err := d.active(ctx)
	return slices.DeleteFunc(all, func(o *object) bool { return o.GroupVersionKind().Group == coreGroup }), err
}

// template prepares the objects: all are in the namespace, and of kinds with one.
func (d *driver) template() ([]*object, error) {
	var out []*object
	for i, raw := range d.Objects {
		o := &object{}
		if err := o.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("object %d of the template: %w", i+1, err)
		}
		if ns := o.GetNamespace(); ns != "" && ns != d.Namespace {
			return nil, fmt.Errorf("%s %s of the template is in namespace %s; leave the namespace out, or render it for %s",
				o.GetKind(), o.GetName(), ns, d.Namespace)
		}
		if d.of(o).plural == "" {
			return nil, fmt.Errorf("%s %s of the template is not of a namespaced kind of Cluster API that the server has",
				o.GetKind(), o.GetName())
		}
		if o.GetName() == "" {
			return nil, fmt.Errorf("object %d of the template, of the kind %s, has no name", i+1, o.GetKind())
		}
		o.SetNamespace(d.Namespace)
		out = append(out, o)
	}
	if len(out) == 0 {
		return nil, errors.New("the template holds no objects")
	}
	return out, nil
}

// journal writes down that something is about to be done to an object, or was done if the
// object has a resourceVersion. What is not in the journal is not done.
func (d *driver) journal(at time.Time, action string, o *object, version string) error {
	return d.Record(record.ActionLine(at, record.Act{
		Name: action, APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Object: o.GetName(),
		UID: string(o.GetUID()), ResourceVersion: version,
	}))
}

func (d *driver) post(ctx context.Context, action string, o *object) error {
	k := d.of(o)
	k.version = o.GroupVersionKind().Version
	o.SetAnnotations(with(o.GetAnnotations(), runMark, d.run))
	body, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	at := time.Now()
	if err := d.journal(at, action, o, ""); err != nil {
		return err
	}
	d.meant[keyOf(o)] = true
	to := d.client.Post().AbsPath(k.path(d.Namespace)).Param("fieldManager", driverName)
	answer, err := write(ctx, to.SetHeader("Content-Type", "application/json").Body(body))
	if err != nil {
		return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if err := o.UnmarshalJSON(answer); err != nil { // with the UID
		return err
	}
	d.known[o.GetUID()] = true
	delete(d.meant, keyOf(o))
	return d.journal(at, action, o, o.GetResourceVersion())
}

func with(all map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range all {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// replaced reports whether an object is gone, or another one has its name.
func replaced(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) ||
		apierrors.IsInvalid(err) && strings.Contains(err.Error(), "metadata.uid")
}

// patch writes a merge patch, which the server refuses if the name belongs to another
// object meanwhile. That, and that the object is gone, is not an error.
func (d *driver) patch(ctx context.Context, action string, o *object, sub string, patch map[string]any) error {
	meta, _ := patch["metadata"].(map[string]any)
	guarded := map[string]any{"uid": string(o.GetUID())}
	for k, v := range meta {
		guarded[k] = v
	}
	patch["metadata"] = guarded
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	path := d.of(o).path(d.Namespace) + "/" + o.GetName()
	if sub != "" {
		path += "/" + sub
	}
	at := time.Now()
	if err := d.journal(at, action, o, ""); err != nil {
		return err
	}
	var answer []byte
	err = d.again(ctx, func() (err error) {
		answer, err = write(ctx, d.client.Patch(types.MergePatchType).AbsPath(path).Param("fieldManager", driverName).Body(body))
		return err
	})
	if replaced(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s %s %s: %w", action, o.GetKind(), o.GetName(), err)
	}
	after := &object{}
	if err := after.UnmarshalJSON(answer); err != nil {
		return err
	}
	return d.journal(at, action, after, after.GetResourceVersion())
}

func spec(field string, value any) map[string]any {
	return map[string]any{"spec": map[string]any{field: value}}
}

func (d *driver) annotation(ctx context.Context, action string, o *object, key string, value any) error {
	return d.patch(ctx, action, o, "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

// remove deletes the object, but not another one that has taken its name.
func (d *driver) remove(ctx context.Context, o *object) error {
	if err := d.journal(time.Now(), "delete", o, ""); err != nil {
		return err
	}
	uid := o.GetUID()
	body, err := json.Marshal(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil {
		return err
	}
	err = d.again(ctx, func() error {
		at := d.client.Delete().AbsPath(d.of(o).path(d.Namespace) + "/" + o.GetName())
		_, err := write(ctx, at.SetHeader("Content-Type", "application/json").Body(body))
		return err
	})
	if replaced(err) {
		return nil
	}
	return err
}

// wait looks every second until done, for at most the time and at least a few times; that
// it takes longer is not an error, because the judge finds that.
func (d *driver) wait(ctx context.Context, most time.Duration, done func() bool) {
	end := time.Now().Add(most)
	for i := 0; (i < tries || time.Now().Before(end)) && ctx.Err() == nil && !done(); i++ {
		sleep(ctx, min(d.Settle, time.Second))
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

// pause begins a pause of our Clusters, and resume ends it. It does not have to ask which
// Clusters those are.
func (d *driver) pause(ctx context.Context) error {
	all, err := d.core(ctx, "Cluster")
	for _, c := range all {
		d.held = append(d.held, c)
		err = errors.Join(err, d.patch(ctx, "pause", c, "", spec("paused", true)))
	}
	return err
}

func (d *driver) resume(ctx context.Context) (err error) {
	for _, c := range d.held {
		err = errors.Join(err, d.patch(ctx, "unpause", c, "", spec("paused", false)))
	}
	if err == nil {
		d.held = nil
	}
	return err
}

func (d *driver) poke(ctx context.Context, list []*object) error {
	for _, o := range list {
		if err := d.annotation(ctx, "poke", o, pokedMark, time.Now().UTC().Format(time.RFC3339Nano)); err != nil {
			return err
		}
	}
	return nil
}

// pauseEarly waits until a Machine has its bootstrap data, so that something is under
// way: a controller without a pause check does nothing wrong at rest.
func (d *driver) pauseEarly(ctx context.Context) error {
	d.wait(ctx, d.Provision, func() bool {
		all, _ := d.core(ctx, "Machine")
		return slices.ContainsFunc(all, func(m *object) bool {
			name, _, _ := unstructured.NestedString(m.Object, "spec", "bootstrap", "dataSecretName")
			return name != ""
		})
	})
	return d.paused(ctx, func() error {
		sleep(ctx, d.Hold/4)
		all, err := d.providers(ctx)
		return errors.Join(err, d.poke(ctx, all))
	})
}

// paused does something during a pause, which ends in any case.
func (d *driver) paused(ctx context.Context, do func() error) error {
	err := d.pause(ctx)
	if err == nil {
		begin := time.Now()
		sleep(ctx, d.Hold/4)
		err = do()
		sleep(ctx, d.Hold-time.Since(begin))
	}
	return errors.Join(err, d.resume(context.WithoutCancel(ctx)))
}

func (d *driver) provisioned(ctx context.Context) error {
	d.wait(ctx, d.Provision, func() bool {
		all, err := d.core(ctx, "Machine")
		for _, m := range all {
			if _, ok, _ := unstructured.NestedMap(m.Object, "status", "nodeRef"); !ok {
				return false
			}
		}
		return err == nil && len(all) > 0
	})
	sleep(ctx, d.Settle)
	return nil
}

func (d *driver) scale(ctx context.Context) error {
	for _, by := range []int64{1, -1} {
		all, err := d.core(ctx, "MachineDeployment", "MachinePool")
		if err != nil {
			return err
		}
		for _, o := range all {
			n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
			if err := d.patch(ctx, "scale", o, "", spec("replicas", n+by)); err != nil {
				return err
			}
		}
		if err := d.provisioned(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) annotate(ctx context.Context) error {
	all, err := d.providers(ctx)
	if err != nil {
		return err
	}
	one := slices.CompactFunc(all, func(a, b *object) bool { return a.GetKind() == b.GetKind() })
	for _, o := range one {
		err = errors.Join(err, d.annotation(ctx, "annotate", o, pausedMark, ""))
	}
	if err == nil {
		sleep(ctx, d.Hold/2)
		err = d.poke(ctx, one)
		sleep(ctx, d.Hold/2)
	}
	for _, o := range one {
		err = errors.Join(err, d.annotation(context.WithoutCancel(ctx), "annotate", o, pausedMark, nil))
	}
	sleep(ctx, d.Settle)
	return err
}

// change does something to all objects of providers during a pause.
func (d *driver) change(ctx context.Context, do func(*object) error) error {
	d.changed = true
	err := d.paused(ctx, func() error {
		all, err := d.providers(ctx)
		for _, o := range all {
			if err := do(o); err != nil {
				return err
			}
		}
		return err
	})
	sleep(ctx, d.Settle)
	d.changed = err != nil || ctx.Err() != nil
	return err
}

func (d *driver) strip(ctx context.Context) error {
	return d.change(ctx, func(o *object) error {
		return d.patch(ctx, "strip", o, "", map[string]any{"metadata": map[string]any{"finalizers": nil, "ownerReferences": nil}})
	})
}

func (d *driver) wipe(ctx context.Context) error {
	return d.change(ctx, func(o *object) error {
		if status, _, _ := unstructured.NestedMap(o.Object, "status"); !d.of(o).status || len(status) == 0 {
			return nil
		}
		return d.patch(ctx, "wipe", o, "status", map[string]any{"status": nil})
	})
}

// extra begins the names of objects that the driver adds to those of the template.
const extra = "drive-"

func (d *driver) added(name, apiVersion, kind string, spec any) *object {
	o := &object{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	o.SetName(extra + name)
	o.SetNamespace(d.Namespace)
	return o
}

// managed makes a Cluster like that of the template whose infrastructure belongs to
// somebody else.
func (d *driver) managed(ctx context.Context) error {
	all, err := d.template()
	if err != nil {
		return err
	}
	for _, c := range all {
		ref, ok, _ := unstructured.NestedStringMap(c.Object, "spec", "infrastructureRef")
		if !isCluster(c) || !ok {
			continue
		}
		i := slices.IndexFunc(all, func(o *object) bool {
			return o.GetKind() == ref["kind"] && o.GetName() == ref["name"]
		})
		if i < 0 {
			continue
		}
		infra, owner := all[i].DeepCopy(), c.DeepCopy()
		infra.SetName(extra + "managed")
		infra.SetAnnotations(map[string]string{managedMark: driverName})
		owner.SetName(extra + "managed")
		ref["name"] = extra + "managed"
		unstructured.RemoveNestedField(owner.Object, "spec", "controlPlaneRef")
		unstructured.RemoveNestedField(owner.Object, "spec", "topology")
		if err := unstructured.SetNestedStringMap(owner.Object, ref, "spec", "infrastructureRef"); err != nil {
			return err
		}
		if err := errors.Join(d.post(ctx, "managed", infra), d.post(ctx, "managed", owner)); err != nil {
			return err
		}
		sleep(ctx, d.Settle)
		return nil
	}
	return nil
}

func (d *driver) orphan(ctx context.Context) error {
	all, err := d.providers(ctx)
	i := slices.IndexFunc(all, func(o *object) bool {
		return strings.HasPrefix(d.of(o).group, "infrastructure.") && strings.HasSuffix(o.GetKind(), "Machine")
	})
	if i < 0 {
		return err
	}
	o := d.added("orphan", all[i].GetAPIVersion(), all[i].GetKind(), all[i].Object["spec"])
	unstructured.RemoveNestedField(o.Object, "spec", "providerID")
	if err := d.post(ctx, "orphan", o); err != nil {
		return err
	}
	sleep(ctx, d.Settle/2)
	return d.remove(ctx, o)
}

// claim creates a claim for the pool of another provider, lets a pause begin and end, and
// deletes it: a claim that a wrong provider has taken hangs.
func (d *driver) claim(ctx context.Context) error {
	return d.foreign(ctx, "foreign", func() error {
		return d.paused(ctx, func() error { return nil })
	})
}

func (d *driver) foreign(ctx context.Context, name string, do func() error) error {
	k := d.kind("ipam."+coreGroup, "IPAddressClaim")
	clusters, err := d.core(ctx, "Cluster")
	if err != nil {
		return err
	}
	if k.plural == "" || len(clusters) == 0 {
		return do()
	}
	pool := map[string]any{"apiGroup": "ipam.drive.example", "kind": "OtherPool", "name": "pool"}
	o := d.added(name, k.apiVersion(), k.kind, map[string]any{"clusterName": clusters[0].GetName(), "poolRef": pool})
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
		err := d.Record(record.ActionLine(at, record.Act{Name: "restart"}))
		sleep(ctx, d.Settle)
		return err
	})
}

func (d *driver) deletePaused(ctx context.Context) error {
	all, err := d.core(ctx, "Machine")
	i := slices.IndexFunc(all, func(m *object) bool {
		_, plane := m.GetLabels()[coreGroup+"/control-plane"]
		return !plane
	})
	if i < 0 {
		return err
	}
	err = d.paused(ctx, func() error { return d.remove(ctx, all[i]) })
	sleep(ctx, d.Settle)
	return err
}

func (d *driver) deleteAll(ctx context.Context) error {
	var failed error
	d.wait(ctx, d.Provision, func() bool {
		all, err := d.ours(ctx, []resource{d.kind(coreGroup, "Cluster")})
		failed = err
		for _, c := range all {
			if c.GetDeletionTimestamp() == nil {
				failed = errors.Join(failed, d.remove(ctx, c))
			}
		}
		return err == nil && len(all) == 0
	})
	return failed
}

// clean ends pauses, deletes what is ours and names what is still there at the end, with
// the reason if the server refused to delete it. A webhook may refuse as long as something
// else is there (that of InClusterIPPool does while addresses are taken), so it asks
// again while it waits.
func (d *driver) clean(ctx context.Context) (left []string) {
	var all []*object
	var failed error
	look := func() bool { all, failed = d.ours(ctx, d.all); return failed == nil }
	d.wait(ctx, d.Provision, func() bool { return look() && d.unpaused(ctx, all) == nil })
	if d.changed && len(all) > 0 {
		sleep(ctx, d.Settle)
	}
	// What stays is named below, whatever the reason is.
	_ = d.deleteAll(ctx)
	refused := map[types.UID]string{}
	d.wait(ctx, 2*d.Settle, func() bool {
		look()
		for _, o := range slices.Backward(all) {
			if o.GetDeletionTimestamp() == nil {
				refused[o.GetUID()] = ""
				if err := d.remove(ctx, o); err != nil {
					refused[o.GetUID()] = " (" + err.Error() + ")"
				}
			}
		}
		return failed == nil && len(all) == 0
	})
	if !look() {
		left = append(left, fmt.Sprintf("what it made (%v)", failed))
	}
	for _, o := range all {
		left = append(left, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()+refused[o.GetUID()])
	}
	return left
}

// unpaused ends what pauses there are of our objects, so that controllers restore and
// remove what they have to.
func (d *driver) unpaused(ctx context.Context, all []*object) (err error) {
	for _, o := range all {
		if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); paused && isCluster(o) {
			d.changed = true
			err = errors.Join(err, d.patch(ctx, "unpause", o, "", spec("paused", false)))
		}
		if _, paused := o.GetAnnotations()[pausedMark]; paused {
			d.changed = true
			err = errors.Join(err, d.annotation(ctx, "annotate", o, pausedMark, nil))
		}
	}
	return err
}
