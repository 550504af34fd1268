package record

import (
	"cmp"
	"container/heap"
)

// Order gives events back in the order of their times. It holds at most Most events.
type Order struct {
	Most int

	waiting Heap[waiting]
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

// Heap implements heap.Interface: its first element is the smallest.
type Heap[T interface{ Compare(T) int }] []T

func (h Heap[T]) Len() int           { return len(h) }
func (h Heap[T]) Less(i, j int) bool { return h[i].Compare(h[j]) < 0 }
func (h Heap[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *Heap[T]) Push(x any) { *h = append(*h, x.(T)) }

// Pop implements heap.Interface.
func (h *Heap[T]) Pop() any {
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
