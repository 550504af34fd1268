package record

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// World is what the events until now tell about the objects of a cluster: which exist, which
// role they have, what they belong to, and since when they are paused. M is what the reader
// remembers of each.
type World[M any] struct {
	// Now is the time up to which events have been handed over.
	Now time.Time
	// Read are the resources in the stream; Denied are those that must not be read, and why.
	Read   map[string]bool
	Denied map[string]string
	// Restarted is when a controller restarted for the last time, zero if none did.
	Restarted time.Time
	// Problems are those of the recording.
	Problems []error

	lag      time.Duration
	waiting  arrivals
	newest   time.Time // of all events that came
	timers   queue[timer]
	seq      int
	objects  map[string]*Object[M] // by UID
	named    map[FullName]*Object[M]
	newer    map[FullName]string // the last UID of a name
	older    map[string]bool     // UIDs that another one followed without their end
	mixed    bool
	members  map[string]map[*Object[M]]bool // by Cluster
	children map[string]map[*Object[M]]bool // by UID of the owner
	clusters map[string]*Object[M]
	woken    map[string]time.Time       // by Cluster, also before it is seen
	paused   map[string]time.Time       // by Cluster
	tags     map[[2]string]string       // group and kind, learned
	journal  map[string]map[string]bool // UID, resourceVersions
	acted    map[string]time.Time       // last action on a UID
	writers  map[[3]string]bool         // managers of the status, by group and kind
	server   string
	stale    int
	staleAt  string
}

// NewWorld returns a World without objects. An event may come up to lag later than one that
// happened after it.
func NewWorld[M any](lag time.Duration) *World[M] {
	return &World[M]{
		lag: lag, Read: map[string]bool{}, Denied: map[string]string{},
		objects: map[string]*Object[M]{}, named: map[FullName]*Object[M]{},
		newer: map[FullName]string{}, older: map[string]bool{},
		members: map[string]map[*Object[M]]bool{}, children: map[string]map[*Object[M]]bool{},
		clusters: map[string]*Object[M]{}, woken: map[string]time.Time{}, paused: map[string]time.Time{},
		tags: map[[2]string]string{}, journal: map[string]map[string]bool{}, acted: map[string]time.Time{}, writers: map[[3]string]bool{},
	}
}

// Add takes the next event in the order in which they came, and hands over versions of
// objects in the order in which they happened.
func (w *World[M]) Add(e *Event, next func(*Event)) {
	switch e.Type {
	case Header:
		w.header(e)
	case Resource:
		w.Read[short(e.Note)] = true
	case Denied:
		w.Denied[short(e.Note)] = e.Note.Get("reason").Str()
	case Added, Modified, Deleted:
		w.turns(e)
	}
	w.waiting.add(e)
	w.Advance(e.At, next)
}

// Advance tells the time: what happened until then is handed over, as far as no event can
// still come that happened before.
func (w *World[M]) Advance(now time.Time, next func(*Event)) {
	if now.After(w.newest) {
		w.newest = now
	}
	w.until(w.newest.Add(-w.lag), next)
}

// Finish hands over what is left.
func (w *World[M]) Finish(next func(*Event)) {
	w.until(w.newest, next)
	if w.stale > 0 {
		w.Problems = append(w.Problems, fmt.Errorf("%s: the recording is out of order; events that came after newer ones of the same object were left out: %d", w.staleAt, w.stale))
		w.stale = 0
	}
}

// until hands over the events until a time. Before each, the timers run that are due by
// then; after the last one, those due a lag before the newest event: what would have to be
// seen later stays open.
func (w *World[M]) until(t time.Time, next func(*Event)) {
	w.waiting.until(t, func(e *Event) {
		w.advance(e.At)
		if e.Type == Action {
			w.act(e)
		} else if e.Object.Exists() {
			next(e)
		}
	})
	w.advance(w.newest.Add(-w.lag))
}

// timer is something to look at later.
type timer struct {
	at  time.Time
	seq int
	do  func()
}

// Compare orders by time, then as the timers were set.
func (t timer) Compare(u timer) int { return cmp.Or(t.at.Compare(u.at), cmp.Compare(t.seq, u.seq)) }

// After does something when some time has passed.
func (w *World[M]) After(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.timers, timer{w.Now.Add(d), w.seq, do})
}

func (w *World[M]) advance(now time.Time) {
	for len(w.timers) > 0 && w.timers[0].at.Before(now) {
		t := heap.Pop(&w.timers).(timer)
		if t.at.After(w.Now) {
			w.Now = t.at
		}
		t.do()
	}
	if now.After(w.Now) {
		w.Now = now
	}
}

// short names a resource without its group if it is not one of Cluster API.
func short(note Value) string {
	resource := note.Get("resource").Str()
	plural, group, _ := strings.Cut(resource, ".")
	if strings.HasSuffix(group, coreGroup) {
		return resource
	}
	return plural
}

// Tag is the role of the object of an event, or its core kind; see learn and tagOf.
func (w *World[M]) Tag(e *Event) string {
	kind := [2]string{e.Group(), e.Kind()}
	tag, ok := w.tags[kind]
	if !ok {
		tag = tagOf(kind[0], kind[1])
		w.tags[kind] = tag
	}
	return tag
}

// Find returns the object of an event, made if need be; nil if the event is older than
// what is known, or if its kind does not matter. It notes in w.Read that Events, Leases and
// Secrets are in the stream.
func (w *World[M]) Find(e *Event) *Object[M] {
	tag := w.Tag(e)
	switch tag {
	case otherKind:
		return nil
	case "Event":
		w.Read["events"] = true
		return nil
	case "Lease":
		w.Read["leases"] = true
	case "Secret":
		w.Read["secrets"] = true
	}
	n, uid, version := nameOf(e), uidOf(e), e.Version()
	o := w.objects[uid]
	switch {
	case o == nil && e.Type == Deleted, o != nil && o.replaced:
		return nil
	case o == nil:
	case o.Gone || version != 0 && version < o.Version && e.Type != Deleted:
		w.stale++
		w.staleAt = cmp.Or(w.staleAt, fmt.Sprintf("%s:%d", e.File, e.Line))
		return nil
	case version != 0 && version == o.Version && e.Type != Deleted:
		return nil
	default:
		o.Tag = tag
		return o
	}
	o = &Object[M]{FullName: n, UID: uid, Tag: tag, Born: e.At}
	if before := w.named[n]; before != nil && !before.Gone {
		// Its end was missed, or there are two servers.
		before.Gone, before.replaced = true, true
		w.forget(before)
	}
	w.objects[uid], w.named[n] = o, o
	return o
}

// Update takes a new version of an object that Find returned.
func (w *World[M]) Update(o *Object[M], e *Event) {
	prev := o.Cur
	o.Proof = e.Proof()
	o.Version = max(o.Version, e.Version())
	o.Cur, o.Writers = e.Object, e.Writers
	o.Owners = OwnersOf(o.Cur)
	w.index(o, prev)
	if !o.IsDeleting() && o.Get("metadata", "deletionTimestamp").Exists() {
		o.Deleting = e.At
	}
	switch o.Tag {
	case "Lease":
		before, now := prev.Get("spec", "holderIdentity").Str(), o.Get("spec", "holderIdentity").Str()
		if before != "" && now != "" && before != now {
			w.Restarted = e.At
		}
	case "Cluster":
		w.clusters[o.Cluster] = o
	}
}

// Pauses follows spec.paused of Clusters, the annotation, and the condition. It returns the
// objects for which a pause begins, to be told first, and those for which one ends. A Cluster
// that replaces the annotation by spec.paused, and its claims, are among both.
func (w *World[M]) Pauses(o *Object[M], at time.Time, wiped bool) (begun, ended []*Object[M]) {
	switch shows := o.Cur.Paused(); {
	case shows && o.Acked.IsZero():
		o.Acked = at
	case !shows && !wiped: // who wipes the status does not take back what was seen
		o.Acked = time.Time{}
	}
	switch has := o.Cur.Annotated(pausedAnnotation); {
	case has && o.Annotated.IsZero():
		begun = w.running(o)
		o.Annotated = at
	case !has && !o.Annotated.IsZero():
		o.Annotated = time.Time{}
		ended = w.running(o)
	}
	if o.Tag != "Cluster" {
		return begun, ended
	}
	paused := o.Get("spec", "paused").True()
	if paused == !w.ClusterPaused(o).IsZero() {
		return begun, ended
	}
	if w.paused[o.Cluster] = at; !paused {
		delete(w.paused, o.Cluster)
	}
	w.Wake(o.Cluster, at)
	for _, m := range sorted(w.members[o.Cluster]) {
		switch {
		case !w.annotated(m).IsZero():
		case paused:
			begun = append(begun, m)
		default:
			ended = append(ended, m)
		}
	}
	return begun, ended
}

// running returns the objects that the annotation of o pauses (o itself, and the claims if
// it is a Cluster), without those that something else pauses as well.
func (w *World[M]) running(o *Object[M]) []*Object[M] {
	of := []*Object[M]{o}
	if o.Tag == "Cluster" {
		of = append(of, w.MembersTagged(o.Cluster, "IPAddressClaim")...)
	}
	return slices.DeleteFunc(of, func(m *Object[M]) bool { return !w.PausedSince(m).IsZero() })
}

// Last takes the last version of an object, which its deletion carries. End follows.
func (w *World[M]) Last(o *Object[M], e *Event) { o.Proof, o.Cur = e.Proof(), e.Object }

// End notes that an object is gone.
func (w *World[M]) End(o *Object[M], at time.Time) {
	o.Gone = true
	w.Wake(o.Cluster, at)
	w.forget(o)
	// A late event of the object must not bring it back; its name may.
	w.After(time.Minute, func() { delete(w.objects, o.UID) })
}

// turns notes that objects of the same name take turns, which is so if two servers write
// into one recording.
func (w *World[M]) turns(e *Event) {
	n, uid := nameOf(e), e.Object.Get("metadata", "uid").Str()
	before := w.newer[n]
	switch {
	case e.Type == Deleted && before == uid:
		delete(w.newer, n)
		return
	case before != "" && before != uid && w.older[uid] && !w.mixed:
		w.mixed = true
		w.Problems = append(w.Problems, fmt.Errorf("%s:%d: events of two servers are mixed: %s alternates between two UIDs; judge the recordings one by one",
			e.File, e.Line, n))
	case before != "" && before != uid:
		w.older[before] = true
	}
	w.newer[n] = uid
}

func (w *World[M]) header(e *Event) {
	server := e.Note.Get("server").Str()
	if v, ok := e.Note.Get("schemaVersion").Int(); ok && v > 1 {
		w.Problems = append(w.Problems, fmt.Errorf("%s:%d: unsupported schemaVersion %d of the recording (supported: 1)", e.File, e.Line, v))
	}
	if w.server != "" && server != "" && server != w.server {
		w.Problems = append(w.Problems, fmt.Errorf("%s:%d: events of two servers are mixed; judge the recordings one by one", e.File, e.Line))
	}
	w.server = cmp.Or(w.server, server)
}

// index keeps who belongs to which Cluster and to which owner, and learns roles.
func (w *World[M]) index(o *Object[M], prev Value) {
	now := o.belongs()
	if now != o.Cluster {
		delete(w.members[o.Cluster], o)
		if now != "" {
			add(w.members, now, o)
		}
		o.Cluster = now
	}
	for r := range prev.Get("metadata", "ownerReferences").Items() {
		delete(w.children[r.Get("uid").Str()], o)
	}
	for _, r := range o.Owners {
		add(w.children, r.UID, o)
	}
	switch o.Tag {
	case "Cluster":
		w.learn(o.Get("spec", "infrastructureRef").Ref(), contract.InfraCluster)
		w.learn(o.Get("spec", "controlPlaneRef").Ref(), contract.ControlPlane)
	case "Machine":
		w.learn(o.Get("spec", "infrastructureRef").Ref(), contract.InfraMachine)
		w.learn(o.Get("spec", "bootstrap", "configRef").Ref(), contract.BootstrapConfig)
	case "MachinePool":
		w.learn(o.Get("spec", "template", "spec", "infrastructureRef").Ref(), contract.InfraMachinePool)
		w.learn(o.Get("spec", "template", "spec", "bootstrap", "configRef").Ref(), contract.BootstrapConfig)
	case string(contract.InfraMachinePool):
		w.learn(Ref{Group: o.Group, Kind: o.Get("status", "infrastructureMachineKind").Str()}, contract.InfraMachine)
	}
}

func (w *World[M]) learn(r Ref, role contract.Role) {
	if r.Kind != "" && !strings.HasSuffix(r.Kind, contract.Suffix) {
		if t, ok := w.tags[[2]string{r.Group, r.Kind}]; !ok || t == otherKind || t == ProviderKind {
			w.tags[[2]string{r.Group, r.Kind}] = string(role)
		}
	}
}

// belongs returns the Cluster that an object says it belongs to.
func (o *Object[M]) belongs() string {
	if o.Tag == "Cluster" {
		return o.Namespace + "/" + o.Name
	}
	for _, r := range o.Owners {
		if r.Kind == "Cluster" && GroupOf(r.APIVersion) == coreGroup {
			return o.Namespace + "/" + r.Name
		}
	}
	n := cmp.Or(o.Label(ClusterLabel), o.Get("spec", "clusterName").Str())
	if o.Tag == "IPAddressClaim" { // its label is what older versions of the contract read
		n = cmp.Or(o.Get("spec", "clusterName").Str(), n)
	}
	if n == "" {
		return ""
	}
	return o.Namespace + "/" + n
}

// PausedSince returns since when an object is paused, zero if it is not.
func (w *World[M]) PausedSince(o *Object[M]) time.Time {
	return earlier(w.annotated(o), w.ClusterPaused(o))
}

// annotated returns since when an annotation pauses an object, zero if none does: its own, and for a
// claim also that of its Cluster, which only the contract of IPAM providers counts.
func (w *World[M]) annotated(o *Object[M]) time.Time {
	if cl := w.ClusterOf(o); cl != nil && o.Tag == "IPAddressClaim" {
		return earlier(o.Annotated, cl.Annotated)
	}
	return o.Annotated
}

// earlier returns the earlier of two times; a zero time does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Wake notes that something may make the controllers of a Cluster work.
func (w *World[M]) Wake(cluster string, at time.Time) {
	if cluster != "" {
		w.woken[cluster] = at
	}
}

// forget takes an object out of all indexes but that of UIDs.
func (w *World[M]) forget(o *Object[M]) {
	if w.named[o.FullName] == o {
		delete(w.named, o.FullName)
	}
	delete(w.members[o.Cluster], o)
	if len(w.members[o.Cluster]) == 0 {
		delete(w.members, o.Cluster)
	}
	for _, r := range o.Owners {
		delete(w.children[r.UID], o)
		if len(w.children[r.UID]) == 0 {
			delete(w.children, r.UID)
		}
	}
	if o.Tag == "Cluster" {
		delete(w.clusters, o.Cluster)
		delete(w.woken, o.Cluster)
		delete(w.paused, o.Cluster)
	}
	delete(w.journal, o.UID)
	delete(w.acted, o.UID)
}

// act notes what a driver did.
func (w *World[M]) act(e *Event) {
	a := e.Note.Get("action")
	uid, version := a.Get("uid").Str(), a.Get("resourceVersion").Str()
	if a.Get("name").Str() == "restart" {
		w.Restarted = e.At
	}
	if uid == "" {
		return
	}
	w.acted[uid] = e.At
	if version != "" {
		add(w.journal, uid, version)
	}
	if o := w.objects[uid]; o != nil {
		w.Wake(o.Cluster, e.At)
	}
}

// ClusterOf finds the Cluster of an object, if it is there.
func (w *World[M]) ClusterOf(o *Object[M]) *Object[M] {
	if found := w.clusters[o.Cluster]; found.Alive() {
		return found
	}
	return nil
}

// Owner finds the live object that an owner reference of the kind leads to.
func (w *World[M]) Owner(o *Object[M], kind string) *Object[M] {
	for _, r := range o.Owners {
		if r.Kind == kind {
			if found := w.objects[r.UID]; found.Alive() {
				return found
			}
		}
	}
	return nil
}

// OwnerTagged finds the owner of a role or a core kind, also one that is gone.
func (w *World[M]) OwnerTagged(o *Object[M], tag string) (Owner, *Object[M]) {
	for _, r := range o.Owners {
		if found := w.objects[r.UID]; found != nil && found.Tag == tag {
			return r, found
		}
	}
	return Owner{}, nil
}

// Live finds an object that is not gone by its name.
func (w *World[M]) Live(group, kind, namespace, name string) *Object[M] {
	if o := w.named[FullName{group, kind, namespace, name}]; o.Alive() {
		return o
	}
	return nil
}

// Referred finds the object that a reference of a core object leads to.
func (w *World[M]) Referred(from *Object[M], v Value) *Object[M] {
	r := v.Ref()
	return w.Live(r.Group, r.Kind, from.Namespace, r.Name)
}

func tagged[M any](set map[*Object[M]]bool, tag string) []*Object[M] {
	return slices.DeleteFunc(sorted(set), func(m *Object[M]) bool { return m.Tag != tag || m.Gone })
}

func sorted[M any](set map[*Object[M]]bool) []*Object[M] {
	out := slices.Collect(maps.Keys(set))
	slices.SortFunc(out, func(a, b *Object[M]) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return out
}

// add puts an element into the set of a key.
func add[K, V comparable](sets map[K]map[V]bool, key K, element V) {
	if sets[key] == nil {
		sets[key] = map[V]bool{}
	}
	sets[key][element] = true
}

// MembersTagged are the live members of a Cluster with a tag, in a stable order.
func (w *World[M]) MembersTagged(cluster, tag string) []*Object[M] {
	return tagged(w.members[cluster], tag)
}

// ChildrenTagged are the live objects with a tag that an object owns.
func (w *World[M]) ChildrenTagged(uid, tag string) []*Object[M] { return tagged(w.children[uid], tag) }

// Children are the live objects that an object owns.
func (w *World[M]) Children(uid string) []*Object[M] { return sorted(w.children[uid]) }

// Object finds an object by its UID, also one that is gone.
func (w *World[M]) Object(uid string) *Object[M] { return w.objects[uid] }

// Controller finds the object that controls another one, also if it is gone.
func (w *World[M]) Controller(o *Object[M]) *Object[M] { return w.objects[ControllerOf(o.Owners).UID] }

// Acted returns when the driver last did something to an object.
func (w *World[M]) Acted(o *Object[M]) time.Time { return w.acted[o.UID] }

// ByDriver reports whether the driver made a version of an object.
func (w *World[M]) ByDriver(o *Object[M], version string) bool { return w.journal[o.UID][version] }

// ClusterPaused returns since when the Cluster of an object is paused, zero if it is not.
func (w *World[M]) ClusterPaused(o *Object[M]) time.Time { return w.paused[o.Cluster] }

// WokenAt returns when something last made the controllers of the Cluster of an object work,
// zero if nothing is known of a Cluster.
func (w *World[M]) WokenAt(o *Object[M]) time.Time { return w.woken[o.Cluster] }

// LearnWriters notes who writes the status of objects of the kind.
func (w *World[M]) LearnWriters(o *Object[M]) {
	for _, by := range o.Writers {
		if by.Subresource == "status" && !ByPeople(nil, []Writer{by}) {
			w.writers[w.writer(o, by)] = true
		}
	}
}

// Ours reports whether a controller that writes the status of the kind is among the writers.
func (w *World[M]) Ours(o *Object[M], writers ...Writer) bool {
	return slices.ContainsFunc(writers, func(by Writer) bool { return w.writers[w.writer(o, by)] })
}

func (w *World[M]) writer(o *Object[M], by Writer) [3]string {
	return [3]string{by.Manager, o.Group, o.Kind}
}
