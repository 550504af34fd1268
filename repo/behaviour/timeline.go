package behaviour

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
)

// Bounds of what timelines show.
const (
	mostTimelines = 200
	mostMoments   = 300
)

// Timeline is what happened to an object with findings.
type Timeline struct {
	// Object is "Kind namespace/name".
	Object   string
	Moments  []Moment
	Omitted  int // moments after mostMoments
	Pauses   []Span
	Findings []*Finding

	cluster string
	prev    record.Value
	version uint64
}

// Moment is a version of an object, or something that the driver did to it.
type Moment struct {
	At              time.Time
	ResourceVersion string
	// What is ADDED, MODIFIED or DELETED, or what the driver did.
	What    string
	Changes []string
}

// Span is a time; End is zero if its end was not seen.
type Span struct{ Begin, End time.Time }

// timelines collects what happened to the objects with findings from the same events
// once more: keeping all versions of all objects would need too much memory.
type timelines struct {
	byUID  map[string]*Timeline
	all    []*Timeline
	pauses map[string][]Span // by namespace/name of the Cluster
}

// Timelines begins to collect; the events must be those that were judged.
func (j *Judge) Timelines() *timelines {
	t := &timelines{byUID: map[string]*Timeline{}, pauses: map[string][]Span{}}
	for _, f := range j.finish() {
		line := t.byUID[f.UID]
		if line == nil {
			if len(t.all) == mostTimelines {
				continue
			}
			line = &Timeline{Object: f.Object}
			t.byUID[f.UID] = line
			t.all = append(t.all, line)
		}
		line.Findings = append(line.Findings, f)
	}
	return t
}

// Empty reports that no object has findings, so that no event is needed.
func (t *timelines) Empty() bool { return len(t.all) == 0 }

// Add takes the next event.
func (t *timelines) Add(e *record.Event) {
	switch e.Type {
	case record.Action:
		a := e.Note.Get("action")
		if line := t.byUID[a.Get("uid").Str()]; line != nil {
			line.add(Moment{At: e.At, ResourceVersion: a.Get("resourceVersion").Str(), What: a.Get("name").Str() + " by the driver"})
		}
		return
	case record.Added, record.Modified, record.Deleted:
	default:
		return
	}
	n := nameOf(e)
	if n.group == coreGroup && n.kind == cluster {
		t.pause(n.namespace+"/"+n.name, e)
	}
	line := t.byUID[uidOf(e)]
	if line == nil || e.Version() != 0 && e.Version() <= line.version && e.Type != record.Deleted {
		return
	}
	line.version = e.Version()
	m := Moment{At: e.At, ResourceVersion: e.Object.Get("metadata", "resourceVersion").Str(), What: e.Type}
	if e.Type == record.Modified {
		m.Changes = record.Shown(line.prev, e.Object, nil)
	}
	line.prev = e.Object
	if name := cmp.Or(e.Object.Label(clusterLabel), e.Object.Get("spec", "clusterName").Str()); name != "" {
		line.cluster = n.namespace + "/" + name
	}
	line.add(m)
}

func (l *Timeline) add(m Moment) {
	if len(l.Moments) == mostMoments {
		l.Omitted++
		return
	}
	l.Moments = append(l.Moments, m)
}

func (t *timelines) pause(name string, e *record.Event) {
	spans := t.pauses[name]
	open := len(spans) > 0 && spans[len(spans)-1].End.IsZero()
	switch paused := e.Type != record.Deleted && e.Object.Get("spec", "paused").True(); {
	case paused && !open:
		t.pauses[name] = append(spans, Span{Begin: e.At})
	case !paused && open:
		spans[len(spans)-1].End = e.At
	}
}

// All returns the timelines in the order of the findings.
func (t *timelines) All() []*Timeline {
	for _, line := range t.all {
		name := line.cluster
		if kind, own, _ := strings.Cut(line.Object, " "); kind == cluster {
			name = own
		}
		line.Pauses, line.prev = t.pauses[name], record.Value{}
		slices.SortStableFunc(line.Moments, func(a, b Moment) int { return a.At.Compare(b.At) })
	}
	return t.all
}
