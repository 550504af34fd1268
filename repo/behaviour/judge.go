package behaviour

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	Old, New record.Proof
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
	opts  Options
	began time.Time // when the first event came
	world *world
	byTag map[string][]*check
	last  map[string]time.Time // by kind, when the last version came

	findings []*Finding
	found    map[[2]string]*Finding
	verdicts map[string]*verdict
	ids      map[string]*object // provider IDs
	ips      map[[4]string]*object
	pools    map[[2]string]map[string]bool // finalizers of claims by group and kind of the pool
	kinds    map[string]bool               // kinds of which a fault was reported
	added    map[string][]record.Writer    // who added a finalizer to objects of a kind
	skew     record.Skew
	Events   int
}

// New returns a Judge.
func New(opts Options) *Judge {
	j := &Judge{
		opts: opts, world: record.NewWorld[memory](lag), byTag: map[string][]*check{}, last: map[string]time.Time{},
		found: map[[2]string]*Finding{}, verdicts: map[string]*verdict{}, ids: map[string]*object{}, ips: map[[4]string]*object{},
		pools: map[[2]string]map[string]bool{}, kinds: map[string]bool{}, added: map[string][]record.Writer{},
	}
	for _, c := range All {
		j.verdicts[c.ID] = &verdict{}
		for _, tag := range c.on {
			j.byTag[tag] = append(j.byTag[tag], c)
		}
	}
	return j
}

// Advance tells the time: what did not happen until then is judged, as far as no event can
// still come that happened before.
func (j *Judge) Advance(now time.Time) { j.world.Advance(now, j.add) }

// Add takes the next event in the order in which they came.
func (j *Judge) Add(e *record.Event) {
	switch e.Type {
	case record.Added, record.Modified, record.Deleted:
		j.Events++
	}
	if j.began.IsZero() {
		j.began = e.At
	}
	j.world.Add(e, j.add)
}

// change is a new version of an object, as a check sees it.
type change struct {
	*Judge
	*world
	check *check
	o     *object
	// prev and cur are the two versions; prev does not exist for the first one.
	prev, cur record.Value
	old       record.Proof
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

// changeOf begins a change at the last version of an object.
func (j *Judge) changeOf(o *object) *change {
	return &change{Judge: j, world: j.world, o: o, cur: o.Cur, old: o.Proof}
}

// asOf makes a change report an earlier version of its object.
func (c *change) asOf(p record.Proof) {
	then := *c.o
	then.Proof, c.o = p, &then
}

// add judges the next event.
func (j *Judge) add(e *record.Event) {
	if j.world.Tag(e) == "Event" {
		j.warn(e)
	}
	o := j.world.Find(e)
	if o == nil {
		return
	}
	if !o.Cur.Exists() {
		created, _ := time.Parse(time.RFC3339, e.Object.Get("metadata", "creationTimestamp").Str())
		// Recordings of others do not tell what a list held, so the age does.
		o.Seen.watched = e.Type == record.Added && !e.Initial && e.At.Add(-j.skew.Best()).Sub(created).Abs() < lag+apart
		o.Seen.byUser = record.ByPeople(nil, e.Writers)
	}
	c := j.changeOf(o)
	c.prev, c.cur, c.gap, c.made = o.Cur, e.Object, e.Initial, e.At
	c.user = j.world.ByDriver(o, e.Proof().ResourceVersion) || record.ByPeople(o.Writers, e.Writers)
	if e.Type == record.Deleted {
		j.end(c, e)
	} else {
		j.update(c, e)
	}
}

func (j *Judge) update(c *change, e *record.Event) {
	o := c.o
	anonymous := len(record.Over(o.Writers, e.Writers)) == 0
	c.wrote = record.Wrote(o.Writers, e.Writers)
	before := o.Writers
	j.world.Update(o, e)
	j.late(c, e, before)
	c.wiped = c.prev.Get("status").Len() > 0 && c.cur.Get("status").Len() == 0 && (c.user || anonymous && !c.PausedSince(o).IsZero())
	c.user = c.user || anonymous && c.wiped
	if c.prev.Exists() && (c.prev.Generation() != c.cur.Generation() || c.user) {
		c.Wake(o.Cluster, e.At)
		if c.user && !c.prev.Get("spec").Equal(c.cur.Get("spec")) {
			o.Seen.patched = e.At
		}
	}
	if (c.prev.Exists() || o.Seen.watched) && !c.gap {
		for _, f := range record.LostFinalizers(c.cur, c.prev) { // from now to before: the new ones
			put(&o.Seen.late, f, c.prev.Exists())
			key := c.finalizerKey(f)
			for _, w := range c.wrote {
				if !slices.ContainsFunc(j.added[key], func(known record.Writer) bool { return known.Manager == w.Manager }) {
					j.added[key] = append(j.added[key], w)
				}
			}
		}
	}
	if !c.cur.Annotated(managedAnnotation) {
		c.LearnWriters(o)
	}
	c.tell(func(check *check) func(*change) { return check.version })
	if c.wiped {
		o.Seen.wiped = e.At
		o.Seen.before = c.prev.Identity(o.Tag)
		delete(o.Seen.kept, secretPath)
	}
	j.remember(o)
	begun, ended := c.Pauses(o, e.At, c.wiped)
	for _, m := range begun {
		j.begin(m, m == o && (c.gap || !c.prev.Exists()))
	}
	for _, m := range ended {
		j.resume(m, e.At)
	}
	if !c.prev.Exists() {
		c.Wake(o.Cluster, e.At)
	}
}

// late looks at whether the version, or one before it that is missing, was made long before
// it came: what was judged meanwhile was judged too early.
func (j *Judge) late(c *change, e *record.Event, before []record.Writer) {
	kind := c.o.Group + "/" + c.o.Kind
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
		near := f.cluster == o.Cluster || (o.Cluster == "" || f.cluster == "") && f.namespace == o.Namespace
		if !near && f.UID != o.UID || f.made.Before(from) {
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

// lastingPaths are those of values that must not change.
var lastingPaths = append(slices.Clone(record.Identities), poolKindPath, addressPath)

// remember keeps the last values that must not change.
func (j *Judge) remember(o *object) {
	s := &o.Seen
	for _, path := range lastingPaths {
		if v := o.Cur.Whole(path); v != "" {
			put(&s.kept, path, v)
		}
	}
	if s.finalized == 0 && o.Get("metadata", "finalizers").Len() > 0 {
		s.finalized = o.Version
	}
}

// runs reports whether the object is not paused, and has not been for some time.
func (c *change) runs(d time.Duration) bool {
	return c.PausedSince(c.o).IsZero() && c.Now.Sub(c.o.Seen.resumed) >= d
}

// begin and resume tell the checks of an object that it is paused, and that it no longer is.
func (j *Judge) begin(o *object, unknown bool) {
	o.Seen.stamp = o.Cur.Generation()
	o.Seen.lost = nil
	o.Seen.owners = map[string]string{}
	for _, r := range o.Owners {
		o.Seen.owners[r.UID] = r.APIVersion
	}
	if unknown {
		return
	}
	j.changeOf(o).tell(func(check *check) func(*change) { return check.paused })
}

func (j *Judge) resume(o *object, at time.Time) {
	o.Seen.resumed = at
	j.changeOf(o).tell(func(check *check) func(*change) { return check.resumed })
}

// end judges that an object is gone.
func (j *Judge) end(c *change, e *record.Event) {
	o := c.o
	c.Last(o, e)
	j.late(c, e, o.Writers)
	if e.Version() > 0 {
		c.user = c.ByDriver(o, strconv.FormatUint(e.Version(), 10))
	}
	if !e.Initial {
		c.tell(func(check *check) func(*change) { return check.gone })
	}
	c.End(o, e.At)
	if id := o.Seen.kept[providerIDPath]; id != "" && j.ids[id] == o {
		delete(j.ids, id)
	}
	if o.Tag == address && j.ips[ipKey(o)] == o {
		delete(j.ips, ipKey(o))
	}
}

// finish ends the stream: what would have to be seen later stays open. It returns the
// findings in the order of objects and checks.
func (j *Judge) finish() []*Finding {
	j.world.Finish(j.add)
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
			if j.world.Read[need] {
				continue
			}
			out[c.ID] = cmp.Or(j.world.Denied[need], need+" are not in the stream")
		}
		for _, resource := range slices.Sorted(maps.Keys(j.world.Denied)) {
			if tag := record.TagOfResource(resource); slices.Contains(c.on, tag) && (tag != secret || c.Needs != nil) { // of Secrets they see a part
				out[c.ID] = resource + ": " + j.world.Denied[resource]
			}
		}
	}
	return out
}

// tell calls what the checks of the object do about the change.
func (c *change) tell(of func(*check) func(*change)) {
	for _, check := range c.byTag[c.o.Tag] {
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
		if !saved.o.Gone {
			saved.cur = saved.o.Cur
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
	c.After(d, func() { do(&saved) })
}

// driven reports whether the driver acted on the object just before.
func (c *change) driven() bool {
	return c.Now.Sub(c.Acted(c.o)) < apart+lag
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
	key := [2]string{c.check.ID, o.UID}
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
	f := &Finding{Check: c.check, Severity: severity, Object: o.String(), UID: o.UID, Message: fmt.Sprintf(format, args...), New: o.Proof, namespace: o.Namespace, cluster: o.Cluster, made: c.Now}
	if o == c.o {
		f.Old = c.old
		if f.Old.Line == f.New.Line && f.Old.File == f.New.File && f.Old.ResourceVersion == f.New.ResourceVersion {
			f.Old = record.Proof{}
		}
		f.Diff = record.Shown(c.prev, c.cur, paths)
	} else {
		f.Diff = record.Shown(record.Value{}, o.Cur, paths)
	}
	c.found[key] = f
	c.findings = append(c.findings, f)
}

// put sets a key of a map that may not have been made.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

func clock(t time.Time) string { return t.Format("15:04:05.0") }
