// Package edit is the one editor of YAML, and changes no byte that it need not.
// A document is a tree whose entries can be set, renamed, moved and removed; comments,
// order, quotes, blank lines and variables stay. Scalars can also be replaced
// in the text itself, by position. Both are checked the same way: the text is read
// again, and every value must be the one that it was, or that it was set to.
//
// It must not know what the entries mean.
package edit

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// kind is the form of a value.
type kind uint8

// The kinds of nodes. A Leaf is everything that is not edited inside: a scalar of
// any style, an alias, an empty value, and flow collections until they are opened.
const (
	Leaf kind = iota
	Map
	List
)

// Node is a value.
type Node struct {
	Kind kind
	// Flow is set for {…} and […].
	Flow bool
	// Indent is the column of the keys or dashes of a block collection.
	Indent  int
	Entries []*Entry
	// Raw is the text of a Leaf as it is written, without the comment after it.
	Raw string

	masked string        // Raw with expressions made harmless
	y      *yamldoc.Node // what Raw reads as, if it was read with the text around it
	dirty  bool          // of a flow collection
	closed bool          // a flow collection that has no Entries although it holds some
	parent *Entry
}

// Entry is a key with its value, or an item of a list.
type Entry struct {
	// Key is the key as it is written, Name without quotes. Both are empty for items.
	Key, Name string
	Value     *Node
	// Lead are the lines before the entry that belong to it: comments, blank
	// lines, variables that stand for lines. Tail are such lines after it that
	// are indented deeper than what follows.
	Lead, Tail []string
	// Comment is the comment on the line of the key or of the value, with the
	// blanks before it.
	Comment string
	// Line is the line of the file in which the entry began; 0 for new ones.
	Line int

	props string // an anchor or a tag before a collection
	gap   string // blanks before a value on the same line
	below bool   // the value begins on the next line
	owner *Node
	// merged are the entries that the merge key << brings in.
	merged []yamldoc.Field
}

// NewLeaf returns a scalar with the given text.
func NewLeaf(raw string) *Node { return &Node{Raw: raw, masked: mask(raw)} }

// NewEntry returns an entry with a plain key.
func NewEntry(name string, value *Node) *Entry {
	e := &Entry{Key: name, Name: name, gap: " "}
	e.Set(value)
	return e
}

// NewItem returns an item of a list.
func NewItem(value *Node) *Entry {
	e := &Entry{gap: " "}
	e.Set(value)
	return e
}

// Add appends an entry with a plain key and a scalar.
func (n *Node) Add(name, raw string) *Entry {
	e := NewEntry(name, NewLeaf(raw))
	n.Insert(len(n.Entries), e)
	return e
}

// Set replaces the value.
func (e *Entry) Set(value *Node) {
	e.Value = value
	value.parent = e
	e.touch()
}

// Owner is the map or list that the entry is in.
func (e *Entry) Owner() *Node { return e.owner }

// Rename changes the key, keeping its quotes.
func (e *Entry) Rename(name string) {
	quote := ""
	if e.Key != "" && (e.Key[0] == '"' || e.Key[0] == '\'') {
		quote = e.Key[:1]
	}
	e.Key, e.Name = quote+name+quote, name
	e.touch()
}

// touch marks the flow collections around an entry as changed.
func (e *Entry) touch() {
	for n := e.owner; n != nil; {
		n.dirty = true
		if n.parent == nil {
			return
		}
		n = n.parent.owner
	}
}

// Parent is the entry whose value n is; nil for a root.
func (n *Node) Parent() *Entry {
	if n == nil {
		return nil
	}
	return n.parent
}

// Get returns the entry with a name, or nil. A flow mapping is opened.
func (n *Node) Get(name string) *Entry {
	if !n.IsMap() {
		return nil
	}
	for _, e := range slices.Backward(n.Entries) {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// At follows names down through maps, and returns the entry or nil.
func (n *Node) At(path ...string) *Entry {
	var e *Entry
	for _, name := range path {
		if e = n.Get(name); e == nil {
			return nil
		}
		n = e.Value
	}
	return e
}

// Text returns the text of the scalar at a path without its quotes; "" if it is
// not there.
func (n *Node) Text(path ...string) string {
	e := n.At(path...)
	if e == nil || e.Value.Kind != Leaf {
		return ""
	}
	return Unquote(e.Value.Raw)
}

// IsMap reports whether n is a mapping; a flow mapping is opened.
func (n *Node) IsMap() bool {
	n.open()
	return n != nil && n.Kind == Map
}

// IsList reports whether n is a list; a flow list is opened.
func (n *Node) IsList() bool {
	n.open()
	return n != nil && n.Kind == List
}

// Empty reports whether nothing is written for a value: null, {} or [].
func (n *Node) Empty() bool {
	n.open()
	if n.Kind != Leaf {
		return len(n.Entries) == 0
	}
	return slices.Contains([]string{"", "~", "null", "Null", "NULL"}, n.Raw)
}

// Index is the position of an entry in its map or list.
func (n *Node) Index(e *Entry) int { return slices.Index(n.Entries, e) }

// Detach removes an entry with its comments.
func (n *Node) Detach(e *Entry) int {
	i := n.Index(e)
	e.touch()
	n.dirty = true
	n.Entries = slices.Delete(slices.Clone(n.Entries), i, i+1)
	e.owner = nil
	return i
}

// Insert puts an entry that is in no map at a position, and indents it like the
// others.
func (n *Node) Insert(at int, e *Entry) {
	n.Entries = slices.Insert(slices.Clip(n.Entries), at, e)
	e.owner = n
	e.touch()
}

// Remove drops an entry. Its comments stay: before the next entry, or after the
// one before.
func (n *Node) Remove(e *Entry) {
	lines := e.comments()
	i := n.Detach(e)
	n.Leave(i, lines)
}

// Leave puts lines where an entry was detached.
func (n *Node) Leave(i int, lines []string) {
	switch {
	case len(lines) == 0:
	case i < len(n.Entries):
		n.Entries[i].Lead = append(lines, n.Entries[i].Lead...)
	case i > 0:
		n.Entries[i-1].Tail = append(n.Entries[i-1].Tail, lines...)
	case n.parent != nil:
		n.parent.Tail = append(lines, n.parent.Tail...)
	}
}

// comments are all lines of an entry that are comments, and its variables that
// stand for lines.
func (e *Entry) comments() []string {
	out := slices.Clone(e.Lead)
	c := strings.TrimSpace(e.Comment)
	if head, _, ok := strings.Cut(e.Value.Raw, "\n"); ok && strings.IndexByte("|>", (head + " ")[0]) >= 0 {
		c = strings.TrimSpace(head[len(stripComment(head)):])
	}
	if c != "" {
		indent := 0
		if e.owner != nil {
			indent = e.owner.Indent
		}
		out = append(out, strings.Repeat(" ", indent)+c)
	}
	if e.Value.Kind != Leaf {
		for _, child := range e.Value.Entries {
			for _, line := range child.comments() {
				if strings.TrimSpace(line) != "" {
					out = append(out, line)
				}
			}
		}
	}
	return append(out, e.Tail...)
}

// TakeLead returns the lines before an entry and leaves none.
func (e *Entry) TakeLead() []string {
	lead := e.Lead
	e.Lead = nil
	return lead
}

// Note puts a comment on a line of its own above an entry, or above the nearest
// one around it that is not inside a flow collection.
func (e *Entry) Note(text string) {
	for e.owner != nil && e.owner.Flow && e.owner.parent != nil {
		e = e.owner.parent
	}
	indent := 0
	if e.owner != nil {
		indent = e.owner.Indent
	}
	for _, line := range e.Lead {
		if strings.TrimSpace(line) == "# "+text {
			return
		}
	}
	e.Lead = append(e.Lead, strings.Repeat(" ", indent)+"# "+text)
}

// Walk calls visit for every entry below n, and does not go below those for
// which it returns false.
func (n *Node) Walk(visit func(e *Entry) bool) {
	if n == nil {
		return
	}
	for _, e := range n.Entries {
		if visit(e) {
			e.Value.Walk(visit)
		}
	}
}

// Unquote returns the text of a scalar on one line without its quotes.
func Unquote(raw string) string {
	if len(raw) < 2 {
		return raw
	}
	switch {
	case raw[0] == '\'' && raw[len(raw)-1] == '\'':
		return strings.ReplaceAll(raw[1:len(raw)-1], "''", "'")
	case raw[0] == '"' && raw[len(raw)-1] == '"':
		return unescape.Replace(raw[1 : len(raw)-1])
	}
	return raw
}

// unescape resolves the escapes that occur in names and values of manifests.
var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t", `\/`, "/")

// NewMap returns a mapping below an owner: in flow style if that is, otherwise
// indented deeper.
func NewMap(owner *Node) *Node {
	return &Node{Kind: Map, Flow: owner.Flow, Indent: owner.Indent + 2, dirty: true}
}

// NewList returns a list below an owner, its dashes indented by step.
func NewList(owner *Node, step int) *Node {
	return &Node{Kind: List, Flow: owner.Flow, Indent: owner.Indent + step, dirty: true}
}

// Unflow writes a flow mapping and those around it as block mappings.
func (n *Node) Unflow() {
	if n == nil || !n.Flow {
		return
	}
	indent := 0
	if n.parent != nil {
		n.parent.owner.Unflow()
		indent = n.parent.owner.Indent + 2
		n.parent.below = n.parent.owner.Kind == Map
	}
	n.Flow, n.Indent = false, indent
}

// HasVariables reports whether a text holds an expression that is replaced before
// it becomes YAML.
func HasVariables(text string) bool {
	return strings.Contains(text, "${") || strings.Contains(text, "{{")
}

// BlockVariables reports whether lines of the value are made by expressions, so
// that its entries are not all known.
func (n *Node) BlockVariables() bool {
	found := false
	check := func(lines []string) {
		for _, line := range lines {
			t := strings.TrimSpace(line)
			found = found || t != "" && t[0] != '#'
		}
	}
	if p := n.Parent(); p != nil {
		check(p.Tail)
	}
	n.Walk(func(e *Entry) bool {
		check(e.Lead)
		check(e.Tail)
		return true
	})
	return found
}

// SetRaw replaces the text of a scalar.
func (n *Node) SetRaw(raw string) {
	n.Kind, n.Flow, n.Entries = Leaf, false, nil
	n.Raw, n.masked, n.y, n.closed = raw, mask(raw), nil, false
	if n.parent != nil {
		n.parent.touch()
	}
}

// Masked is Raw with its expressions replaced by letters.
func (n *Node) Masked() string { return n.masked }

// Clone copies a value.
func (n *Node) Clone() *Node {
	c := *n
	c.parent = nil
	c.Entries = nil
	for _, e := range n.Entries {
		d := *e
		d.Lead, d.Tail = slices.Clone(e.Lead), slices.Clone(e.Tail)
		d.owner = &c
		d.Value = e.Value.Clone()
		d.Value.parent = &d
		c.Entries = append(c.Entries, &d)
	}
	return &c
}

// Adopt makes n the owner of entries that were set directly.
func (n *Node) Adopt() {
	for _, e := range n.Entries {
		e.owner = n
	}
}
