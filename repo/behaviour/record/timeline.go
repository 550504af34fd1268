package record

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// claims prefixes the key of a Cluster: the pauses under it apply to its IPAddressClaims.
const claims = "claims of "

// Bounds of what timelines show.
const (
	mostTimelines = 200
	mostMoments   = 300
)

// Timeline is what happened to an object with findings, of the type F.
type Timeline[F any] struct {
	// Object is "Kind namespace/name".
	Object   string
	Moments  []Moment
	Omitted  int // moments after mostMoments
	Pauses   []Span
	Findings []F

	cluster string
	prev    Value
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

// Timelines collects what happened to the objects with findings from the same events
// once more: keeping all versions of all objects would need too much memory.
type Timelines[F any] struct {
	byUID    map[string]*Timeline[F]
	all      []*Timeline[F]
	versions map[string]uint64 // by UID, the last one of Clusters and of what is followed
	// The key is namespace/name of a Cluster, the same after the prefix claims, or the UID of
	// an object with the annotation.
	pauses map[string][]Span
}

// NewTimelines returns Timelines that collect nothing.
func NewTimelines[F any]() *Timelines[F] {
	return &Timelines[F]{byUID: map[string]*Timeline[F]{}, versions: map[string]uint64{}, pauses: map[string][]Span{}}
}

// Follow begins to collect what happens to the object of a finding.
func (t *Timelines[F]) Follow(uid, object string, finding F) {
	line := t.byUID[uid]
	if line == nil {
		if len(t.all) == mostTimelines {
			return
		}
		line = &Timeline[F]{Object: object}
		t.byUID[uid] = line
		t.all = append(t.all, line)
	}
	line.Findings = append(line.Findings, finding)
}

// Empty reports that no object has findings, so that no event is needed.
func (t *Timelines[F]) Empty() bool { return len(t.all) == 0 }

// Add takes the next event.
func (t *Timelines[F]) Add(e *Event) {
	switch e.Type {
	case Action:
		a := e.Note.Get("action")
		if line := t.byUID[a.Get("uid").Str()]; line != nil {
			line.add(Moment{At: e.At, ResourceVersion: a.Get("resourceVersion").Str(), What: a.Get("name").Str() + " by the driver"})
		}
		return
	case Added, Modified, Deleted:
	default:
		return
	}
	n, uid := nameOf(e), uidOf(e)
	line, isCluster := t.byUID[uid], n.Group == coreGroup && n.Kind == "Cluster"
	if line == nil && !isCluster || e.Version() != 0 && e.Version() <= t.versions[uid] && e.Type != Deleted {
		return
	}
	t.versions[uid] = max(t.versions[uid], e.Version())
	annotated := e.Object.Annotated(pausedAnnotation)
	if isCluster {
		name, paused := n.Namespace+"/"+n.Name, e.Object.Get("spec", "paused").True()
		t.pause(name, e, paused)
		t.pause(claims+name, e, paused || annotated)
	}
	if line == nil {
		return
	}
	t.pause(uid, e, annotated)
	m := Moment{At: e.At, ResourceVersion: e.Object.Get("metadata", "resourceVersion").Str(), What: e.Type}
	if e.Type == Modified {
		m.Changes = Shown(line.prev, e.Object, nil)
	}
	line.prev = e.Object
	if name := cmp.Or(e.Object.Label(ClusterLabel), e.Object.Get("spec", "clusterName").Str()); name != "" {
		line.cluster = n.Namespace + "/" + name
	}
	line.add(m)
}

func (l *Timeline[F]) add(m Moment) {
	if len(l.Moments) == mostMoments {
		l.Omitted++
		return
	}
	l.Moments = append(l.Moments, m)
}

func (t *Timelines[F]) pause(of string, e *Event, paused bool) {
	spans := t.pauses[of]
	open := len(spans) > 0 && spans[len(spans)-1].End.IsZero()
	switch paused = paused && e.Type != Deleted; {
	case paused && !open:
		t.pauses[of] = append(spans, Span{Begin: e.At})
	case !paused && open:
		spans[len(spans)-1].End = e.At
	}
}

// All returns the timelines in the order of the findings. An object is paused while its Cluster
// has spec.paused, or while it has the annotation itself (Cluster API: annotations.IsPaused), and a
// claim also while its Cluster has the annotation.
func (t *Timelines[F]) All() []*Timeline[F] {
	for uid, line := range t.byUID {
		name := line.cluster
		switch kind, own, _ := strings.Cut(line.Object, " "); {
		case kind == "Cluster":
			name = own
		case kind == "IPAddressClaim":
			name = claims + name
		}
		line.Pauses, line.prev = slices.Concat(t.pauses[name], t.pauses[uid]), Value{}
		slices.SortStableFunc(line.Moments, func(a, b Moment) int { return a.At.Compare(b.At) })
	}
	return t.all
}
