package record

import (
	"cmp"
	"container/heap"
	"strconv"
	"time"
)

// Order gives events back in the order of their times. It holds at most Most events.
type Order struct {
	Most int

	waiting queue[waiting]
	seq     int
}

type waiting struct {
	*Event
	version uint64
	seq     int
}

// Compare orders by time, then by version if both have one, then as the events came.
func (a waiting) Compare(b waiting) int {
	switch {
	case !a.At.Equal(b.At):
		return a.At.Compare(b.At)
	case a.version != b.version && a.version != 0 && b.version != 0:
		return cmp.Compare(a.version, b.version)
	}
	return cmp.Compare(a.seq, b.seq)
}

// arrivals gives events back in the order in which they happened. The resourceVersions of
// one server come from one counter, so they order what happened across all kinds but Events,
// which may have a store of their own; times of arrival do not. At most mostWaiting events wait
// for those of slower watches.
type arrivals struct {
	waiting queue[arrived]
	counter uint64 // the largest resourceVersion that came
	seq     int
}

type arrived waiting

// Compare orders by version, then as the events came.
func (a arrived) Compare(b arrived) int {
	return cmp.Or(cmp.Compare(a.version, b.version), cmp.Compare(a.seq, b.seq))
}

// add takes an event. One that came later than what happened after it, by its
// resourceVersion, happened no later than that came, and its object was listed before.
func (a *arrivals) add(e *Event) {
	a.seq++
	version := uint64(0)
	switch {
	case e.Initial: // lists tell versions of any age
	case e.Type == Action:
		version, _ = strconv.ParseUint(e.Note.Get("action", "resourceVersion").Str(), 10, 64)
	case e.Object.Exists() && e.Kind() != "Event":
		version = e.Version()
	}
	if 0 < version && version < a.counter {
		early, uid, listed := *e, e.Object.Get("metadata", "uid").Str(), -1
		for i, later := range a.waiting {
			switch {
			case later.version <= version:
			case later.Initial && later.Object.Get("metadata", "uid").Str() == uid:
				listed = i
			case !later.Initial && later.At.Before(early.At):
				early.At = later.At
			}
		}
		if listed >= 0 { // by a watch that began after others
			list := *a.waiting[listed].Event
			list.At = early.At
			a.waiting[listed].Event, a.waiting[listed].version = &list, version
			heap.Fix(&a.waiting, listed)
		}
		e = &early
	}
	a.counter = max(a.counter, version)
	heap.Push(&a.waiting, arrived{e, cmp.Or(version, a.counter), a.seq})
}

// mostWaiting bounds the memory, and the search for what a late event came after.
const mostWaiting = 10_000

// until hands over the events until a time, and the oldest ones of too many.
func (a *arrivals) until(t time.Time, next func(*Event)) {
	for len(a.waiting) > mostWaiting || len(a.waiting) > 0 && !a.waiting[0].At.After(t) {
		next(heap.Pop(&a.waiting).(arrived).Event)
	}
}

// queue implements heap.Interface: its first element is the smallest.
type queue[T interface{ Compare(T) int }] []T

func (h queue[T]) Len() int           { return len(h) }
func (h queue[T]) Less(i, j int) bool { return h[i].Compare(h[j]) < 0 }
func (h queue[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *queue[T]) Push(x any) { *h = append(*h, x.(T)) }

// Pop implements heap.Interface.
func (h *queue[T]) Pop() any {
	var none T
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = none
	*h = (*h)[:len(*h)-1]
	return last
}

// Add takes an event and hands over those that are due.
func (o *Order) Add(e *Event, next func(*Event)) {
	o.seq++
	w := waiting{Event: e, seq: o.seq}
	if e.Object.Exists() {
		w.version = e.Version()
	}
	heap.Push(&o.waiting, w)
	for len(o.waiting) > o.Most {
		next(heap.Pop(&o.waiting).(waiting).Event)
	}
}

// Flush hands over all that is left.
func (o *Order) Flush(next func(*Event)) {
	for len(o.waiting) > 0 {
		next(heap.Pop(&o.waiting).(waiting).Event)
	}
}
