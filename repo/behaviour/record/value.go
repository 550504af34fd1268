package record

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the type of a JSON value.
type Kind uint8

// The kinds of values: none is that of a value that does not exist.
const (
	none Kind = iota
	null
	Bool
	number
	text
	List
	Map
)

// node is a value of a document, in the order of the text. Its children follow it.
type node struct {
	key, off, size uint32 // of the key and the scalar in the text
	next           uint32 // the node after this one and all below it
	keySize        uint16
	kind           Kind
}

// document is one JSON value, small enough to keep tens of thousands of them: what is
// between the scalars is dropped.
type document struct {
	text  string
	nodes []node
}

// Value is a place in a document. The zero Value does not exist.
type Value struct {
	doc *document
	at  uint32
}

// Kind returns the type of the value.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return none
	}
	return v.doc.nodes[v.at].kind
}

// Exists reports whether there is a value other than null.
func (v Value) Exists() bool { return v.Kind() > null }

// Get follows keys of objects. What does not exist gives the zero Value.
func (v Value) Get(keys ...string) Value {
	for _, key := range keys {
		if v.Kind() != Map {
			return Value{}
		}
		found := false
		for child := range v.children {
			if child.Key() == key {
				v, found = child, true
				break
			}
		}
		if !found {
			return Value{}
		}
	}
	return v
}

// children calls yield for the elements of a list or an object.
func (v Value) children(yield func(Value) bool) {
	k := v.Kind()
	if k != Map && k != List {
		return
	}
	end := v.doc.nodes[v.at].next
	for at := v.at + 1; at < end; at = v.doc.nodes[at].next {
		if !yield(Value{v.doc, at}) {
			return
		}
	}
}

// Items are the elements of a list, or the values of an object.
func (v Value) Items() func(yield func(Value) bool) { return v.children }

// Len is the number of elements.
func (v Value) Len() int {
	n := 0
	for range v.children {
		n++
	}
	return n
}

// Key is the key under which the value is in its object.
func (v Value) Key() string {
	if v.doc == nil {
		return ""
	}
	n := &v.doc.nodes[v.at]
	return v.doc.text[n.key : n.key+uint32(n.keySize)]
}

// Str is the text of a string, empty for anything else.
func (v Value) Str() string {
	if v.Kind() != text {
		return ""
	}
	return v.scalar()
}

func (v Value) scalar() string {
	n := &v.doc.nodes[v.at]
	return v.doc.text[n.off : n.off+n.size]
}

// True reports whether the value is true.
func (v Value) True() bool { return v.Kind() == Bool && v.scalar() == "true" }

// Int is the value of a whole number.
func (v Value) Int() (int64, bool) {
	if v.Kind() != number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.scalar(), 10, 64)
	return n, err == nil
}

// Text shows the value on one line, shortened.
func (v Value) Text() string {
	switch v.Kind() {
	case none:
		return "(absent)"
	case text:
		return strconv.Quote(clip(v.scalar()))
	case List:
		parts, more := v.first(Value.Text)
		if more {
			parts = append(parts, fmt.Sprintf("… (%d)", v.Len()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Map:
		parts, more := v.first(func(item Value) string {
			if k := item.Kind(); k == Map || k == List {
				return item.Key() + ": …"
			}
			return item.Key() + ": " + item.Text()
		})
		if more {
			parts = append(parts, "…")
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.scalar()
}

// first shows the first three elements, and tells whether there are more.
func (v Value) first(text func(Value) string) (parts []string, more bool) {
	for item := range v.children {
		if len(parts) == 3 {
			return parts, true
		}
		parts = append(parts, text(item))
	}
	return parts, false
}

const clipped = 80

func clip(s string) string {
	if len(s) <= clipped {
		return s
	}
	end := clipped
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// Equal reports whether two values are the same; the order of keys counts, because
// API servers sort them.
func (v Value) Equal(w Value) bool {
	k := v.Kind()
	if k != w.Kind() {
		return false
	}
	switch k {
	case none, null:
		return true
	case List, Map:
		end, wend := v.doc.nodes[v.at].next, w.doc.nodes[w.at].next
		a, b := v.at+1, w.at+1
		for a < end && b < wend {
			x, y := Value{v.doc, a}, Value{w.doc, b}
			if k == Map && x.Key() != y.Key() || !x.Equal(y) {
				return false
			}
			a, b = v.doc.nodes[a].next, w.doc.nodes[b].next
		}
		return a == end && b == wend
	}
	return v.scalar() == w.scalar()
}

// Change is a difference between two values.
type Change struct {
	// Path leads to it, "status.replicas".
	Path     string
	Old, New Value
}

// String shows the change on one line.
func (c Change) String() string {
	return c.Path + ": " + c.Old.Text() + " → " + c.New.Text()
}

// Diff returns what differs between two values: keys that are new, gone or have other
// values. Elements of lists of objects are matched by type or name, others by place.
func Diff(old, new Value) []Change { return diff(nil, "", old, new) }

func diff(out []Change, path string, old, new Value) []Change {
	if old.Equal(new) {
		return out
	}
	if old.Kind() != new.Kind() || old.Kind() != Map && old.Kind() != List {
		return append(out, Change{path, old, new})
	}
	name := func(i int, v Value) string {
		if old.Kind() == Map {
			return v.Key()
		}
		for _, key := range [...]string{"type", "name"} {
			if s := v.Get(key).Str(); s != "" {
				return "[" + s + "]"
			}
		}
		return "[" + strconv.Itoa(i) + "]"
	}
	before := map[string]Value{}
	i := 0
	for v := range old.children {
		before[name(i, v)] = v
		i++
	}
	join := func(key string) string {
		if path == "" || strings.HasPrefix(key, "[") {
			return path + key
		}
		return path + "." + key
	}
	i = 0
	for v := range new.children {
		key := name(i, v)
		i++
		out = diff(out, join(key), before[key], v)
		delete(before, key)
	}
	i = 0
	for v := range old.children {
		key := name(i, v)
		i++
		if gone, ok := before[key]; ok {
			out = append(out, Change{join(key), gone, Value{}})
			delete(before, key)
		}
	}
	return out
}
