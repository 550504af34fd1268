package record

import "container/heap"

// Order gives events back in the order of their times. It holds at most Most events.
type Order struct {
	Most int

	waiting queue
	seq     int
}

type waiting struct {
	*Event
	version uint64
	seq     int
}

type queue []waiting

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	if !a.At.Equal(b.At) {
		return a.At.Before(b.At)
	}
	if a.version != b.version && a.version != 0 && b.version != 0 {
		return a.version < b.version
	}
	return a.seq < b.seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(waiting)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = waiting{}
	*q = old[:len(old)-1]
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
