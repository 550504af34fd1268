package yamldoc

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind is the JSON type of a value, with integers kept apart from other
// numbers.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Map
	List
)

var kindNames = [...]string{"null", "boolean", "integer", "number", "string", "mapping", "list"}

func (k Kind) String() string { return kindNames[k] }

// Noun names the kind with its article, as after "is".
func (k Kind) Noun() string {
	switch k {
	case Null:
		return k.String()
	case Int:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// Style says how a scalar is written.
type Style uint8

// The styles of scalars. Plain scalars are the ones whose type YAML guesses.
const (
	Plain Style = iota
	Quoted
	Block
)

// Node is a value of a document. All methods work on a nil Node, which stands
// for "not there", so that lookups can be chained without checks.
//
// Large files have millions of nodes, so a node is small: what it holds is a span of
// what its tree holds.
type Node struct {
	Kind      Kind
	Style     Style
	made      bool  // the text is one of tree.made
	line, col int32 // in the text that was parsed
	at, size  uint32
	of        *tree
}

// tree holds the texts, fields and items of nodes that were made together.
type tree struct {
	text   string   // what was parsed
	made   []string // texts of scalars that do not stand in it as they are
	fields []Field
	items  []*Node
	// wide has where the names of wide maps stand in them: map[string]int, by Node.at.
	wide atomic.Pointer[sync.Map]
}

// NewScalar returns a node that holds a text and stands nowhere in a file.
func NewScalar(kind Kind, style Style, text string) *Node {
	n := &Node{Kind: kind, Style: style}
	n.setText(text)
	return n
}

// NewMap returns a Map that stands nowhere in a file.
func NewMap(fields []Field) *Node {
	n := &Node{Kind: Map}
	n.setFields(fields)
	return n
}

// NewList returns a List that stands nowhere in a file.
func NewList(items []*Node) *Node {
	n := &Node{Kind: List}
	n.setItems(items)
	return n
}

// setText, setFields and setItems give a node a tree of its own.
func (n *Node) setText(text string) { n.of, n.size = &tree{text: text}, uint32(len(text)) }

func (n *Node) setFields(fields []Field) { n.of, n.size = &tree{fields: fields}, uint32(len(fields)) }

func (n *Node) setItems(items []*Node) { n.of, n.size = &tree{items: items}, uint32(len(items)) }

// Text is the unquoted text of a scalar; "" for everything else.
func (n *Node) Text() string {
	switch {
	case n == nil || n.Kind >= Map || n.of == nil:
		return ""
	case n.made:
		return n.of.made[n.at]
	}
	return n.of.text[n.at : n.at+n.size]
}

// Fields are the entries of a Map in reading order; nil for everything else. If a
// key occurs more than once, all are listed and Get finds the last, as clusterctl
// does.
func (n *Node) Fields() []Field {
	if n == nil || n.Kind != Map || n.of == nil {
		return nil
	}
	return n.of.fields[n.at : n.at+n.size : n.at+n.size]
}

// Child is the mapping below a key, which it makes if it is not there.
func Child(m map[string]any, key string) map[string]any {
	next, ok := m[key].(map[string]any)
	if !ok {
		next = map[string]any{}
		m[key] = next
	}
	return next
}

// Copied is a value with copies of its maps and lists.
func Copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = Copied(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Copied(item)
		}
		return out
	}
	return v
}

// List returns the elements of a List; nil for everything else.
func (n *Node) List() []*Node {
	if n == nil || n.Kind != List || n.of == nil {
		return nil
	}
	return n.of.items[n.at : n.at+n.size : n.at+n.size]
}

// number is the value of a Bool, Int or Float: bool, int64, uint64 or float64.
func (n *Node) number() any {
	v, _ := guess(n.Text())
	return v
}

// Field is one entry of a Map.
type Field struct {
	// Name is the key as JSON has it: an unquoted yes is "true" here.
	Name  string
	Value *Node
	// Merged is set for entries that came in by a merge key (<<).
	Merged bool

	// Most keys are strings, which need no node of their own.
	style     Style
	line, col int32
	key       *Node
}

// newField returns an entry whose key is a node.
func newField(name string, key, value *Node) Field {
	f := Field{Name: name, Value: value, style: key.Style, line: key.line, col: key.col}
	if key.Kind != String || key.Text() != name {
		f.key = key
	}
	return f
}

// Key is the key as it is written; nil if f is.
func (f *Field) Key() *Node {
	switch {
	case f == nil:
		return nil
	case f.key != nil:
		return f.key
	}
	n := &Node{Kind: String, Style: f.style, line: f.line, col: f.col}
	n.setText(f.Name)
	return n
}

// Spot is where a value or a key begins in the text that was parsed. Two keys of a
// document never share one.
type Spot struct{ line, col int32 }

// Spot tells where n begins.
func (n *Node) Spot() Spot { return Spot{n.line, n.col} }

// Spot tells where the key begins.
func (f *Field) Spot() Spot { return Spot{f.line, f.col} }

func (f *Field) IsKey(n *Node) bool {
	return n != nil && n.line == f.line && n.col == f.col && n.Style == f.style &&
		(f.key == n || f.key == nil && n.Kind == String && n.Text() == f.Name)
}

// Get follows the keys down through maps and returns the value, or nil.
func (n *Node) Get(path ...string) *Node {
	for _, name := range path {
		f := n.Field(name)
		if f == nil {
			return nil
		}
		n = f.Value
	}
	return n
}

// All is Get for many values: a star in the path stands for all entries of a list. Missing
// values are left out.
func (n *Node) All(path ...string) (out []*Node) {
	star := slices.Index(path, "*")
	if star < 0 {
		if n = n.Get(path...); n != nil {
			out = append(out, n)
		}
		return out
	}
	for _, item := range n.Get(path[:star]...).List() {
		out = append(out, item.All(path[star+1:]...)...)
	}
	return out
}

// Has reports whether one of the values is that string.
func Has(list []*Node, text string) bool {
	return slices.ContainsFunc(list, func(n *Node) bool { return n.Str() == text })
}

// Field returns the entry that counts for a key, or nil.
func (n *Node) Field(name string) *Field {
	fields := n.Fields()
	if len(fields) > wide {
		if i, ok := n.names()[name]; ok {
			return &fields[i]
		}
		return nil
	}
	for i := len(fields) - 1; i >= 0; i-- {
		if f := &fields[i]; f.Name == name {
			return f
		}
	}
	return nil
}

// wide is the most fields that are compared one by one.
const wide = 100

// names are the places of the names in a wide map.
func (n *Node) names() map[string]int {
	if n.of.wide.Load() == nil {
		n.of.wide.CompareAndSwap(nil, &sync.Map{})
	}
	known, ok := n.of.wide.Load().Load(n.at)
	if !ok {
		names := make(map[string]int, n.size)
		for i, f := range n.Fields() {
			names[f.Name] = i
		}
		known, _ = n.of.wide.Load().LoadOrStore(n.at, names)
	}
	return known.(map[string]int)
}

// Entries are the fields that count: of those with one name the last.
func (n *Node) Entries() iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		fields := n.Fields()
		for i := range fields {
			if f := &fields[i]; n.Field(f.Name) == f && !yield(f) {
				return
			}
		}
	}
}

// Given is the value, nil for null.
func (n *Node) Given() *Node {
	if n.Is(Null) {
		return nil
	}
	return n
}

// Is reports whether n exists and is of kind k.
func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

// Str returns the text of a String, and "" for everything else.
func (n *Node) Str() string {
	if n.Is(String) {
		return n.Text()
	}
	return ""
}

// Int returns the value of an Int that fits.
func (n *Node) Int() (int64, bool) {
	if !n.Is(Int) {
		return 0, false
	}
	v, ok := n.number().(int64)
	return v, ok
}

// Bool returns the value of a Bool; false for everything else.
func (n *Node) Bool() bool { return n.Is(Bool) && n.number() == true }

// Value converts to what encoding/json would give for the same document: nil,
// bool, float64, string, []any or map[string]any. It equals ToMap on the same
// text.
func (n *Node) Value() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case Bool:
		return n.number()
	case Int, Float:
		switch v := n.number().(type) {
		case int64:
			return float64(v)
		case uint64:
			return float64(v)
		}
		return n.number()
	case String:
		return n.Text()
	case List:
		out := make([]any, len(n.List()))
		for i, item := range n.List() {
			out[i] = item.Value()
		}
		return out
	case Map:
		out := make(map[string]any, len(n.Fields()))
		for _, f := range n.Fields() {
			out[f.Name] = f.Value.Value()
		}
		return out
	}
	return nil
}

// Walk calls visit for n and everything below it in reading order, with the
// path from n. It stops descending where visit returns false.
func (n *Node) Walk(visit func(path Path, n *Node) bool) { n.walk(nil, visit) }

func (n *Node) walk(path Path, visit func(Path, *Node) bool) {
	if n == nil || !visit(path, n) {
		return
	}
	for _, f := range n.Fields() {
		f.Value.walk(append(path, f.Name), visit)
	}
	for i, item := range n.List() {
		item.walk(append(path, strconv.Itoa(i)), visit)
	}
}

// Path is the way from a document's root to a value: keys, and list indices as
// decimal numbers. It is only valid during the call that receives it.
type Path []string

// String joins the path for messages: spec.versions.0.name.
func (p Path) String() string { return strings.Join(p, ".") }

// Without returns a copy of the value in which the values that drop selects are
// empty, so that they need not stay in memory.
func (n *Node) Without(drop func(*Node) bool) *Node {
	t := &tree{}
	copies := map[*Node]*Node{} // aliases share nodes
	var of func(*Node) *Node
	of = func(n *Node) *Node {
		if n == nil {
			return nil
		}
		if c := copies[n]; c != nil {
			return c
		}
		c := *n
		copies[n] = &c
		c.of, c.at, c.size, c.made = t, 0, 0, false
		if drop(n) {
			return &c
		}
		switch n.Kind {
		case Map:
			fields := slices.Clone(n.Fields())
			for i := range fields {
				f := &fields[i]
				f.Value, f.key = of(f.Value), of(f.key)
			}
			c.at, c.size = uint32(len(t.fields)), n.size
			t.fields = append(t.fields, fields...)
		case List:
			items := slices.Clone(n.List())
			for i := range items {
				items[i] = of(items[i])
			}
			c.at, c.size = uint32(len(t.items)), n.size
			t.items = append(t.items, items...)
		default:
			c.at, c.made = uint32(len(t.made)), true
			t.made = append(t.made, n.Text())
		}
		return &c
	}
	return of(n)
}

// PointerPart reads a part of a JSON pointer.
func PointerPart(part string) string {
	return strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
}
