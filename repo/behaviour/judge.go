package behaviour

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// Options are the bounds of time, and severities that differ from those of the checks.
type Options struct {
	// Pause is how soon a pause must show; Settle how soon other things must follow
	// their cause; Delete how long a deletion may take.
	Pause, Settle, Delete time.Duration
	Severity              map[string]lint.Severity
}

// DefaultOptions suit provider tests; slow clouds need a longer Delete.
func DefaultOptions() Options {
	return Options{Pause: 10 * time.Second, Settle: 30 * time.Second, Delete: 10 * time.Minute}
}

// Assumptions about how events arrive.
const (
	// lag is how much later than another one a watch may tell the same moment.
	lag = 6 * time.Second
	// apart is how long two things may take that belong together.
	apart = 2 * time.Second
	// unsure is how much later than it was made a version may arrive without being late.
	unsure = 3 * time.Second
	// longGap is how far back a list may look that does not tell when it was late.
	longGap = 2 * time.Minute
)

// Proof is a version of an object.
type Proof struct {
	ResourceVersion string
	At              time.Time
	File            string
	Line            int
}

// Finding is a statement that did not hold.
type Finding struct {
	Check    *check
	Severity lint.Severity
	// Object is "Kind namespace/name".
	Object string
	UID    string
	// Message says what happened.
	Message string
	// Old and New are the versions that prove it; Old may be empty.
	Old, New Proof
	// Diff is what is different between them, or the fields that matter.
	Diff []string
	// Repeated counts further violations by the same object.
	Repeated int

	namespace, cluster string
	made               time.Time
}

// verdict counts how often a check was decided.
type verdict struct{ Held, Violated int }

// Judge takes events in the order of their times. The zero Judge cannot be used.
type Judge struct {
	opts     Options
	now      time.Time
	waiting  record.Arrivals
	began    time.Time // when the first event came
	newest   time.Time // of all events that came
	seq      int
	byTag    map[string][]*check
	objects  map[string]*object // by UID
	named    map[name]*object
	newer    map[name]string // the last UID of a name
	older    map[string]bool // UIDs that another one followed without their end
	mixed    bool
	members  map[string]map[*object]bool // by Cluster
	children map[string]map[*object]bool // by UID of the owner
	clusters map[string]*clusterState
	tags     map[[2]string]string       // group and kind, learned
	journal  map[string]map[string]bool // UID, resourceVersions
	acted    map[string]time.Time       // last action on a UID
	restarts []time.Time
	timers   record.Heap[timer]
	last     map[string]time.Time // by kind, when the last version came

	findings []*Finding
	found    map[[2]string]*Finding
	verdicts map[string]*verdict
	ids      map[string]*object // provider IDs
	ips      map[[4]string]*object
	pools    map[[2]string]map[string]bool // finalizers of claims by group and kind of the pool
	kinds    map[string]bool               // what is known of kinds: faults reported once, writers
	added    map[string][]record.Writer    // who added a finalizer to objects of a kind
	read     map[string]bool               // resources in the stream
	denied   map[string]string
	server   string
	problems []error
	stale    int
	staleAt  string
	skew     record.Skew
	Events   int
}

type name struct{ group, kind, namespace, name string }

// clusterState is what is known of a Cluster, also before it is seen.
type clusterState struct {
	*object
	paused time.Time
	cause  time.Time // the last thing that may make controllers work
}

// New returns a Judge.
func New(opts Options) *Judge {
	j := &Judge{
		opts: opts, byTag: map[string][]*check{}, objects: map[string]*object{}, named: map[name]*object{}, newer: map[name]string{}, older: map[string]bool{},
		members: map[string]map[*object]bool{}, children: map[string]map[*object]bool{}, clusters: map[string]*clusterState{},
		tags: map[[2]string]string{}, journal: map[string]map[string]bool{}, acted: map[string]time.Time{}, last: map[string]time.Time{},
		found: map[[2]string]*Finding{}, verdicts: map[string]*verdict{}, ids: map[string]*object{}, ips: map[[4]string]*object{},
		pools: map[[2]string]map[string]bool{}, kinds: map[string]bool{}, added: map[string][]record.Writer{}, read: map[string]bool{}, denied: map[string]string{},
	}
	for _, c := range All {
		j.verdicts[c.ID] = &verdict{}
		for _, tag := range c.on {
			j.byTag[tag] = append(j.byTag[tag], c)
		}
	}
	return j
}

// timer is something to look at later.
type timer struct {
	at  time.Time
	seq int
	do  func()
}

func (t timer) Compare(u timer) int { return cmp.Or(t.at.Compare(u.at), cmp.Compare(t.seq, u.seq)) }

func (j *Judge) after(d time.Duration, do func()) {
	j.seq++
	heap.Push(&j.timers, timer{j.now.Add(d), j.seq, do})
}

// Advance tells the time: what did not happen until then is judged, as far as no event can
// still come that happened before.
func (j *Judge) Advance(now time.Time) {
	if now.After(j.newest) {
		j.newest = now
	}
	j.waiting.Until(j.newest.Add(-lag), j.add)
	j.advance(j.newest.Add(-lag))
}

func (j *Judge) advance(now time.Time) {
	for len(j.timers) > 0 && j.timers[0].at.Before(now) {
		t := heap.Pop(&j.timers).(timer)
		if t.at.After(j.now) {
			j.now = t.at
		}
		t.do()
	}
	if now.After(j.now) {
		j.now = now
	}
}

// Add takes the next event in the order in which they came.
func (j *Judge) Add(e *record.Event) {
	switch e.Type {
	case record.Header:
		j.header(e)
	case record.Resource:
		j.read[short(e.Note)] = true
	case record.Denied:
		j.denied[short(e.Note)] = e.Note.Get("reason").Str()
	case record.Added, record.Modified, record.Deleted:
		j.Events++
		j.turns(e)
	}
	if j.began.IsZero() {
		j.began = e.At
	}
	j.waiting.Add(e)
	j.Advance(e.At)
}

// change is a new version of an object, as a check sees it.
type change struct {
	*Judge
	check *check
	o     *object
	// prev and cur are the two versions; prev does not exist for the first one.
	prev, cur record.Value
	old       Proof
	// user says that a person or the driver wrote the version.
	user bool
	// wiped says that the status was emptied from outside.
	wiped bool
	// gap says that versions between may be missing.
	gap bool
	// wrote are the managers that wrote it.
	wrote []record.Writer
	// made is when the version was made, as far as its writers tell, else when it came.
	made time.Time
}

// add judges the next event.
func (j *Judge) add(e *record.Event) {
	j.advance(e.At)
	if e.Type == record.Action {
		j.act(e)
		return
	}
	if !e.Object.Exists() {
		return
	}
	group, kind := e.Group(), e.Kind()
	tag, ok := j.tags[[2]string{group, kind}]
	if !ok {
		tag = tagOf(group, kind)
		j.tags[[2]string{group, kind}] = tag
	}
	switch tag {
	case otherKind:
		return
	case eventKind:
		j.read["events"] = true
		j.warn(e)
		return
	case lease:
		j.read["leases"] = true
	case secret:
		j.read["secrets"] = true
	}
	o := j.find(e, group, kind)
	if o == nil {
		return
	}
	o.tag = tag
	c := &change{Judge: j, o: o, prev: o.cur, cur: e.Object, old: o.proof, gap: e.Initial, made: e.At}
	c.user = j.journal[o.uid][e.Object.Get("metadata", "resourceVersion").Str()] ||
		record.ByPeople(o.writers, e.Writers)
	if e.Type == record.Deleted {
		j.end(c, e)
	} else {
		j.update(c, e)
	}
}

// short names a resource as the checks do: without its group if it is not one of Cluster
// API.
func short(note record.Value) string {
	resource := note.Get("resource").Str()
	plural, group, _ := strings.Cut(resource, ".")
	if strings.HasSuffix(group, coreGroup) {
		return resource
	}
	return plural
}

// find returns the object of an event, made if need be; nil if the event is older than
// what is known.
func (j *Judge) find(e *record.Event, group, kind string) *object {
	uid, version := uidOf(e), e.Version()
	o := j.objects[uid]
	switch {
	case o == nil && e.Type == record.Deleted, o != nil && o.replaced:
		return nil
	case o == nil:
	case o.gone || version != 0 && version < o.version && e.Type != record.Deleted:
		j.stale++
		j.staleAt = cmp.Or(j.staleAt, fmt.Sprintf("%s:%d", e.File, e.Line))
		return nil
	case version != 0 && version == o.version && e.Type != record.Deleted:
		return nil
	default:
		return o
	}
	n := nameOf(e)
	o = &object{group: group, kind: kind, namespace: n.namespace, name: n.name, uid: uid, born: e.At}
	if before := j.named[n]; before != nil && !before.gone {
		// Its end was missed, or there are two servers.
		before.gone, before.replaced = true, true
		j.forget(before)
	}
	created, _ := time.Parse(time.RFC3339, e.Object.Get("metadata", "creationTimestamp").Str())
	// Recordings of others do not tell what a list held, so the age does.
	o.watched = e.Type == record.Added && !e.Initial && e.At.Add(-j.skew.Best()).Sub(created).Abs() < lag+apart
	o.byUser = record.ByPeople(nil, e.Writers)
	j.objects[uid], j.named[n] = o, o
	return o
}

func nameOf(e *record.Event) name {
	meta := e.Object.Get("metadata")
	return name{e.Group(), e.Kind(), meta.Get("namespace").Str(), meta.Get("name").Str()}
}

// uidOf is the UID of an object, or its full name if a recording leaves UIDs out.
func uidOf(e *record.Event) string {
	n := nameOf(e)
	return cmp.Or(e.Object.Get("metadata", "uid").Str(), strings.Join([]string{n.group, n.kind, n.namespace, n.name}, "/"))
}

// turns notes that objects of the same name take turns, which is so if two servers write
// into one recording.
func (j *Judge) turns(e *record.Event) {
	n, uid := nameOf(e), e.Object.Get("metadata", "uid").Str()
	before := j.newer[n]
	switch {
	case e.Type == record.Deleted && before == uid:
		delete(j.newer, n)
		return
	case before != "" && before != uid && j.older[uid] && !j.mixed:
		j.mixed = true
		j.problems = append(j.problems, fmt.Errorf("%s:%d: events of two servers are mixed: %s alternates between two UIDs; judge the recordings one by one",
			e.File, e.Line, &object{kind: n.kind, namespace: n.namespace, name: n.name}))
	case before != "" && before != uid:
		j.older[before] = true
	}
	j.newer[n] = uid
}

func (j *Judge) header(e *record.Event) {
	server := e.Note.Get("server").Str()
	if v, ok := e.Note.Get("schemaVersion").Int(); ok && v > 1 {
		j.problems = append(j.problems, fmt.Errorf("%s:%d: unsupported schemaVersion %d of the recording (supported: 1)", e.File, e.Line, v))
	}
	if j.server != "" && server != "" && server != j.server {
		j.problems = append(j.problems, fmt.Errorf("%s:%d: events of two servers are mixed; judge the recordings one by one", e.File, e.Line))
	}
	j.server = cmp.Or(j.server, server)
}

func (j *Judge) update(c *change, e *record.Event) {
	o := c.o
	anonymous := len(record.Over(o.writers, e.Writers)) == 0
	c.wrote = record.Wrote(o.writers, e.Writers)
	o.proof = Proof{c.cur.Get("metadata", "resourceVersion").Str(), e.At, e.File, e.Line}
	o.version = max(o.version, e.Version())
	before := o.writers
	o.cur, o.writers = c.cur, e.Writers
	o.owners = ownersOf(c.cur)
	j.index(c)
	j.late(c, e, before)
	if !o.isDeleting() && c.cur.Get("metadata", "deletionTimestamp").Exists() {
		o.deleting = e.At
	}
	c.wiped = c.prev.Get("status").Len() > 0 && c.cur.Get("status").Len() == 0 && (c.user || anonymous && !j.pausedSince(o).IsZero())
	c.user = c.user || anonymous && c.wiped
	j.track(c, e.At)
	if (c.prev.Exists() || o.watched) && !c.gap {
		for _, f := range record.LostFinalizers(c.cur, c.prev) { // from now to before: the new ones
			put(&o.seen.late, f, c.prev.Exists())
			key := c.finalizerKey(f)
			for _, w := range c.wrote {
				if !slices.ContainsFunc(j.added[key], func(known record.Writer) bool { return known.Manager == w.Manager }) {
					j.added[key] = append(j.added[key], w)
				}
			}
		}
	}
	if !c.cur.Annotated(managedAnnotation) {
		c.learnWriters()
	}
	c.tell(func(check *check) func(*change) { return check.version })
	if c.wiped {
		o.wiped = e.At
		o.seen.before = valuesOf(o.tag, c.prev)
		delete(o.seen.kept, secretPath)
	}
	j.remember(o)
	j.pauses(c, e.At)
	if !c.prev.Exists() {
		j.cause(o.cluster, e.At)
	}
}

// late looks at whether the version, or one before it that is missing, was made long before
// it came: what was judged meanwhile was judged too early.
func (j *Judge) late(c *change, e *record.Event, before []record.Writer) {
	kind := c.o.group + "/" + c.o.kind
	from := j.last[kind]
	if from.IsZero() || !e.Initial { // a list has many
		j.last[kind] = e.At
	}
	if !e.Initial && (!c.prev.Exists() || e.Type == record.Deleted) {
		return
	}
	if from.IsZero() {
		from = j.began
	}
	if limit := e.At.Add(-longGap); from.Before(limit) {
		from = limit
	}
	first, newest := j.skew.Learn(e.At, before, e.Writers)
	if !newest.IsZero() {
		first, newest = first.Add(j.skew.Best()), newest.Add(j.skew.Best()+time.Second)
		if newest.Before(c.made) {
			c.made = newest
		}
		if e.At.Sub(first) > unsure {
			c.gap = true
		}
		if !e.Initial || first.Before(from) { // removals and deletions name no writer
			from = first
		}
	}
	if c.gap {
		j.withdraw(c.o, from.Add(-lag))
	}
}

// withdraw takes back the findings in the Cluster of an object since a time.
func (j *Judge) withdraw(o *object, from time.Time) {
	j.findings = slices.DeleteFunc(j.findings, func(f *Finding) bool {
		near := f.cluster == o.cluster || (o.cluster == "" || f.cluster == "") && f.namespace == o.namespace
		if !near && f.UID != o.uid || f.made.Before(from) {
			return false
		}
		delete(j.found, [2]string{f.Check.ID, f.UID})
		j.verdicts[f.Check.ID].Violated -= 1 + f.Repeated
		return true
	})
}

// The paths of values that must not change.
const (
	providerIDPath = "spec.providerID"
	endpointPath   = "spec.controlPlaneEndpoint"
	secretPath     = "status.dataSecretName"
	poolKindPath   = "status.infrastructureMachineKind"
	addressPath    = "status.addressRef.name"
)

// identityPaths are those that must be the same when a status is rebuilt.
var (
	identityPaths = []string{providerIDPath, endpointPath, secretPath}
	lastingPaths  = append(slices.Clone(identityPaths), poolKindPath, addressPath)
)

// lasting reads one of them, an endpoint if it is whole.
func lasting(v record.Value, path string) string {
	if path == endpointPath {
		return v.Endpoint()
	}
	return v.At(path).Str()
}

// remember keeps the last values that must not change.
func (j *Judge) remember(o *object) {
	s := &o.seen
	for _, path := range lastingPaths {
		if v := lasting(o.cur, path); v != "" {
			put(&s.kept, path, v)
		}
	}
	if s.finalized == 0 && o.get("metadata", "finalizers").Len() > 0 {
		s.finalized = o.version
	}
}

// valuesOf are those that must be the same when a status is rebuilt.
func valuesOf(tag string, v record.Value) map[string]string {
	out := map[string]string{}
	if initialization(tag, v) {
		out["initialized"] = "true"
	}
	for _, path := range identityPaths {
		out[path] = lasting(v, path)
	}
	if a := v.Get("status", "addresses"); a.Len() > 0 {
		out["status.addresses"] = a.Text()
	}
	return out
}

// track notes what makes controllers work.
func (j *Judge) track(c *change, at time.Time) {
	o := c.o
	if c.prev.Exists() && (c.prev.Generation() != c.cur.Generation() || c.user) {
		j.cause(o.cluster, at)
		if c.user && !c.prev.Get("spec").Equal(c.cur.Get("spec")) {
			o.seen.patched = at
		}
	}
	if o.tag == lease && c.prev.Exists() {
		before, now := c.prev.Get("spec", "holderIdentity").Str(), c.cur.Get("spec", "holderIdentity").Str()
		if before != "" && now != "" && before != now {
			j.restarts = append(j.restarts, at)
		}
	}
	if o.tag == cluster {
		j.state(o.namespace + "/" + o.name).object = o
	}
}

func (j *Judge) state(key string) *clusterState {
	s := j.clusters[key]
	if s == nil {
		s = &clusterState{}
		j.clusters[key] = s
	}
	return s
}

func (j *Judge) cause(cluster string, at time.Time) {
	if cluster != "" {
		j.state(cluster).cause = at
	}
}

// index keeps who belongs to which Cluster and to which owner, and learns roles.
func (j *Judge) index(c *change) {
	o := c.o
	key := clusterOf(o)
	if key != o.cluster {
		delete(j.members[o.cluster], o)
		if key != "" {
			add(j.members, key, o)
		}
		o.cluster = key
	}
	for r := range c.prev.Get("metadata", "ownerReferences").Items() {
		delete(j.children[r.Get("uid").Str()], o)
	}
	for _, r := range o.owners {
		add(j.children, r.uid, o)
	}
	switch o.tag {
	case cluster:
		j.learn(c.cur.Get("spec", "infrastructureRef").Ref(), infraCluster)
		j.learn(c.cur.Get("spec", "controlPlaneRef").Ref(), controlPlane)
	case machine:
		j.learn(c.cur.Get("spec", "infrastructureRef").Ref(), infraMachine)
		j.learn(c.cur.Get("spec", "bootstrap", "configRef").Ref(), bootstrapRole)
	case machinePool:
		j.learn(c.cur.Get("spec", "template", "spec", "infrastructureRef").Ref(), infraPool)
		j.learn(c.cur.Get("spec", "template", "spec", "bootstrap", "configRef").Ref(), bootstrapRole)
	case infraPool:
		j.learn(record.Ref{Group: o.group, Kind: c.cur.At(poolKindPath).Str()}, infraMachine)
	}
}

func (j *Judge) learn(r record.Ref, tag string) {
	if r.Kind != "" && !strings.HasSuffix(r.Kind, templateSuffix) {
		if t, ok := j.tags[[2]string{r.Group, r.Kind}]; !ok || t == otherKind || t == providerKind {
			j.tags[[2]string{r.Group, r.Kind}] = tag
		}
	}
}

// clusterOf returns the Cluster that an object says it belongs to.
func clusterOf(o *object) string {
	if o.tag == cluster {
		return o.namespace + "/" + o.name
	}
	for _, r := range o.owners {
		if r.kind == cluster && record.GroupOf(r.apiVersion) == coreGroup {
			return o.namespace + "/" + r.name
		}
	}
	n := cmp.Or(o.label(clusterLabel), o.get("spec", "clusterName").Str())
	if o.tag == claim { // its label is what older versions of the contract read
		n = cmp.Or(o.get("spec", "clusterName").Str(), n)
	}
	if n == "" {
		return ""
	}
	return o.namespace + "/" + n
}

// pausedSince returns since when an object is paused, zero if it is not.
func (j *Judge) pausedSince(o *object) time.Time {
	since := o.annotated
	if s := j.clusters[o.cluster]; s != nil && !s.paused.IsZero() && (since.IsZero() || s.paused.Before(since)) {
		since = s.paused
	}
	return since
}

// runs reports whether the object is not paused, and has not been for some time.
func (c *change) runs(d time.Duration) bool {
	return c.pausedSince(c.o).IsZero() && c.now.Sub(c.o.resumed) >= d
}

// pauses follows spec.paused of Clusters, the annotation, and the condition.
func (j *Judge) pauses(c *change, at time.Time) {
	o := c.o
	switch shows := c.cur.Paused(); {
	case shows && o.acked.IsZero():
		o.acked = at
	case !shows && !c.wiped: // who wipes the status does not take back what was seen
		o.acked = time.Time{}
	}
	switch has := c.cur.Annotated(pausedAnnotation); {
	case has && o.annotated.IsZero():
		already := !j.pausedSince(o).IsZero()
		o.annotated = at
		if !already {
			j.begin(o, c.gap || !c.prev.Exists())
		}
	case !has && !o.annotated.IsZero():
		o.annotated = time.Time{}
		if j.pausedSince(o).IsZero() {
			j.resume(o, at)
		}
	}
	if o.tag != cluster {
		return
	}
	s, paused := j.state(o.cluster), c.cur.Get("spec", "paused").True()
	if paused == !s.paused.IsZero() {
		return
	}
	if s.paused = at; !paused {
		s.paused = time.Time{}
	}
	j.cause(o.cluster, at)
	for _, m := range sorted(j.members[o.cluster]) {
		switch {
		case !m.annotated.IsZero():
		case paused:
			j.begin(m, false)
		default:
			j.resume(m, at)
		}
	}
}

// begin and resume tell the checks of an object that it is paused, and that it no longer is.
func (j *Judge) begin(o *object, unknown bool) {
	o.stamp = o.cur.Generation()
	o.lost = nil
	o.seen.owners = map[string]string{}
	for _, r := range o.owners {
		o.seen.owners[r.uid] = r.apiVersion
	}
	if unknown {
		return
	}
	c := &change{Judge: j, o: o, cur: o.cur, old: o.proof}
	c.tell(func(check *check) func(*change) { return check.paused })
}

func (j *Judge) resume(o *object, at time.Time) {
	o.resumed = at
	c := &change{Judge: j, o: o, cur: o.cur, old: o.proof}
	c.tell(func(check *check) func(*change) { return check.resumed })
}

// end judges that an object is gone.
func (j *Judge) end(c *change, e *record.Event) {
	o := c.o
	o.proof = Proof{c.cur.Get("metadata", "resourceVersion").Str(), e.At, e.File, e.Line}
	o.cur = e.Object
	j.late(c, e, o.writers)
	if e.Version() > 0 {
		c.user = j.journal[o.uid][strconv.FormatUint(e.Version(), 10)]
	}
	if !e.Initial {
		c.tell(func(check *check) func(*change) { return check.gone })
	}
	o.gone = true
	j.cause(o.cluster, e.At)
	j.forget(o)
	// A late event of the object must not bring it back; its name may.
	j.after(time.Minute, func() { delete(j.objects, o.uid) })
}

// forget takes an object out of all indexes but that of UIDs.
func (j *Judge) forget(o *object) {
	if n := (name{o.group, o.kind, o.namespace, o.name}); j.named[n] == o {
		delete(j.named, n)
	}
	delete(j.members[o.cluster], o)
	if len(j.members[o.cluster]) == 0 {
		delete(j.members, o.cluster)
	}
	for _, r := range o.owners {
		delete(j.children[r.uid], o)
		if len(j.children[r.uid]) == 0 {
			delete(j.children, r.uid)
		}
	}
	if o.tag == cluster {
		delete(j.clusters, o.cluster)
	}
	if id := o.seen.kept[providerIDPath]; id != "" && j.ids[id] == o {
		delete(j.ids, id)
	}
	if o.tag == address && j.ips[ipKey(o)] == o {
		delete(j.ips, ipKey(o))
	}
	delete(j.journal, o.uid)
	delete(j.acted, o.uid)
}

// act notes what a driver did.
func (j *Judge) act(e *record.Event) {
	a := e.Note.Get("action")
	uid, version := a.Get("uid").Str(), a.Get("resourceVersion").Str()
	if a.Get("name").Str() == "restart" {
		j.restarts = append(j.restarts, e.At)
	}
	if uid == "" {
		return
	}
	j.acted[uid] = e.At
	if version != "" {
		add(j.journal, uid, version)
	}
	if o := j.objects[uid]; o != nil {
		j.cause(o.cluster, e.At)
	}
}

// finish ends the stream: what would have to be seen later stays open. It returns the
// findings in the order of objects and checks.
func (j *Judge) finish() []*Finding {
	j.waiting.Until(j.newest, j.add)
	j.advance(j.newest.Add(-lag))
	if j.stale > 0 {
		j.problems = append(j.problems, fmt.Errorf("%s: the recording is out of order; events that came after newer ones of the same object were left out: %d", j.staleAt, j.stale))
		j.stale = 0
	}
	out := slices.Clone(j.findings)
	slices.SortStableFunc(out, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.New.File, b.New.File), cmp.Compare(a.New.Line, b.New.Line), cmp.Compare(a.Check.ID, b.Check.ID), cmp.Compare(a.Object, b.Object))
	})
	return out
}

// Findings are those until now, in the order in which they were made.
func (j *Judge) Findings() []*Finding { return j.findings }

// Verdict says how often a check was decided.
func (j *Judge) Verdict(id string) verdict { return *j.verdicts[id] }

// Undecided says for checks why they cannot be decided in this stream: the resources
// that they need are missing.
func (j *Judge) Undecided() map[string]string {
	out := map[string]string{}
	for _, c := range All {
		for _, need := range c.Needs {
			if j.read[need] {
				continue
			}
			out[c.ID] = cmp.Or(j.denied[need], need+" are not in the stream")
		}
		for _, resource := range slices.Sorted(maps.Keys(j.denied)) {
			if tag := tagOfResource(resource); slices.Contains(c.on, tag) && (tag != secret || c.Needs != nil) { // of Secrets they see a part
				out[c.ID] = resource + ": " + j.denied[resource]
			}
		}
	}
	return out
}

// plurals are the ends of the names of resources, with what tagOf calls their kinds. The
// longer of two comes first.
var plurals = []struct{ end, kind string }{
	{"machinetemplates", "MachineTemplate"},
	{"machinedeployments", "MachineDeployment"}, {"machinepools", "MachinePool"}, {"machinesets", "MachineSet"}, {"machines", "Machine"},
	{"controlplanes", "ControlPlane"}, {"clusters", "Cluster"}, {"configs", "Config"}, {"pools", "Pool"},
	{"ipaddressclaims", "IPAddressClaim"}, {"ipaddresses", "IPAddress"}, {"secrets", "Secret"}, {"leases", "Lease"}, {"events", "Event"},
}

// tagOfResource is tagOf for the name of a resource with its group.
func tagOfResource(resource string) string {
	plural, group, _ := strings.Cut(resource, ".")
	for _, p := range plurals {
		if before, ok := strings.CutSuffix(plural, p.end); ok &&
			(before == "" || group != coreGroup && group != ipamGroup || p.kind == "Pool") {
			if p.kind == lease {
				group = "coordination.k8s.io"
			}
			return tagOf(group, p.kind)
		}
	}
	return otherKind
}

// tell calls what the checks of the object do about the change.
func (c *change) tell(of func(*check) func(*change)) {
	for _, check := range c.byTag[c.o.tag] {
		if do := of(check); do != nil {
			one := *c
			one.check = check
			do(&one)
		}
	}
}

// until looks again after some time, and then as long as there is a reason to wait.
func (c *change) until(first, again time.Duration, look func(*change) (wait bool)) {
	c.later(first, func(c *change) {
		if look(c) {
			c.until(again, again, look)
		}
	})
}

// later looks again after some time, at the version that is the last one then. Nothing
// happens if the object is gone.
func (c *change) later(d time.Duration, do func(*change)) {
	saved := *c
	c.even(d, func(*change) {
		if !saved.o.gone {
			saved.cur = saved.o.cur
			do(&saved)
		}
	})
}

// even looks again also if the object is gone. What takes longer than its bound may only
// have been told late.
func (c *change) even(d time.Duration, do func(*change)) {
	saved := *c
	if d > apart {
		d += lag
		saved.prev = record.Value{} // what was before does not tell why
	}
	c.after(d, func() { do(&saved) })
}

// driven reports whether the driver acted on the object just before.
func (c *change) driven() bool {
	at, ok := c.acted[c.o.uid]
	return ok && c.now.Sub(at) < apart+lag
}

func (c *change) held() { c.verdicts[c.check.ID].Held++ }

// demand notes that the check held, or makes a finding if it did not. What the arguments
// are is computed in both cases.
func (c *change) demand(held bool, paths []string, format string, args ...any) {
	c.demandOn(c.o, held, paths, format, args...)
}

func (c *change) demandOn(o *object, held bool, paths []string, format string, args ...any) {
	if held {
		c.held()
		return
	}
	c.reportOn(o, paths, format, args...)
}

// mostFindings bounds the memory; more are only counted.
const mostFindings = 5000

// report makes a finding about the object. The paths are shown with their values in both
// versions.
func (c *change) report(paths []string, format string, args ...any) {
	c.reportOn(c.o, paths, format, args...)
}

func (c *change) reportOn(o *object, paths []string, format string, args ...any) {
	c.verdicts[c.check.ID].Violated++
	key := [2]string{c.check.ID, o.uid}
	if f := c.found[key]; f != nil {
		f.Repeated++
		return
	}
	severity := c.check.Severity
	if s, ok := c.opts.Severity[c.check.ID]; ok {
		severity = s
	}
	if severity == lint.Off || len(c.findings) >= mostFindings {
		return
	}
	f := &Finding{Check: c.check, Severity: severity, Object: o.String(), UID: o.uid, Message: fmt.Sprintf(format, args...), New: o.proof, namespace: o.namespace, cluster: o.cluster, made: c.now}
	if o == c.o {
		f.Old = c.old
		if f.Old.Line == f.New.Line && f.Old.File == f.New.File && f.Old.ResourceVersion == f.New.ResourceVersion {
			f.Old = Proof{}
		}
		f.Diff = record.Shown(c.prev, c.cur, paths)
	} else {
		f.Diff = record.Shown(record.Value{}, o.cur, paths)
	}
	c.found[key] = f
	c.findings = append(c.findings, f)
}

func (j *Judge) clusterOf(o *object) *object {
	if s := j.clusters[o.cluster]; s != nil && s.object.alive() {
		return s.object
	}
	return nil
}

// owner finds the live object that an owner reference of the kind leads to.
func (j *Judge) owner(o *object, kind string) *object {
	for _, r := range o.owners {
		if r.kind == kind {
			if found := j.objects[r.uid]; found.alive() {
				return found
			}
		}
	}
	return nil
}

// ownerTagged finds the owner of a role or a core kind, also one that is gone.
func (j *Judge) ownerTagged(o *object, tag string) (owner, *object) {
	for _, r := range o.owners {
		if found := j.objects[r.uid]; found != nil && found.tag == tag {
			return r, found
		}
	}
	return owner{}, nil
}

// live finds an object that is not gone by its name.
func (j *Judge) live(n name) *object {
	if o := j.named[n]; o.alive() {
		return o
	}
	return nil
}

// referred finds the object that a reference of a core object leads to.
func (j *Judge) referred(from *object, v record.Value) *object {
	r := v.Ref()
	return j.live(name{r.Group, r.Kind, from.namespace, r.Name})
}

// membersTagged are the live members of a Cluster with a tag, in a stable order.
func (j *Judge) membersTagged(cluster, tag string) []*object { return tagged(j.members[cluster], tag) }

// childrenTagged are the live objects with a tag that an object owns.
func (j *Judge) childrenTagged(uid, tag string) []*object { return tagged(j.children[uid], tag) }

func tagged(set map[*object]bool, tag string) []*object {
	return slices.DeleteFunc(sorted(set), func(m *object) bool { return m.tag != tag || m.gone })
}

func sorted(set map[*object]bool) []*object {
	out := slices.Collect(maps.Keys(set))
	slices.SortFunc(out, func(a, b *object) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(a.uid, b.uid))
	})
	return out
}

// add puts an element into the set of a key.
func add[K, V comparable](sets map[K]map[V]bool, key K, element V) {
	set := sets[key]
	put(&set, element, true)
	sets[key] = set
}

// put sets a key of a map that may not have been made.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

func clock(t time.Time) string { return t.Format("15:04:05.0") }
