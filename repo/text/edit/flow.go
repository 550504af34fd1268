package edit

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// open turns the text of a flow collection into entries, if nothing of it would
// be lost when they are written again.
func (n *Node) open() {
	if n == nil || n.Kind != Leaf || !isFlow(n.masked) || n.closed {
		return
	}
	n.closed = true
	s := yamldoc.Parse(yamldoc.NewFile("", n.masked))
	if len(s.Docs) != 1 || s.Docs[0].Err != nil || flowEnd(n.masked) != len(n.masked) {
		return
	}
	line := 0
	if n.parent != nil {
		line = n.parent.Line
	}
	f := flow{s.Docs[0], n.Raw, n.masked, line, 0}
	if got, _ := f.value(s.Docs[0].Root, 0); got != nil {
		n.Kind, n.Flow, n.Entries = got.Kind, true, got.Entries
		for _, e := range n.Entries {
			e.owner = n
		}
	}
}

// Closed reports whether a flow collection in a value cannot be opened: one with
// comments, tags, anchors or texts on several lines.
func (n *Node) Closed() bool {
	n.open()
	if n == nil || n.Kind == Leaf {
		return n != nil && n.closed
	}
	return slices.ContainsFunc(n.Entries, func(e *Entry) bool { return e.Value.Closed() })
}

// flow is the text of a flow collection with its values.
type flow struct {
	doc         *yamldoc.Document
	raw, masked string
	line        int // of the file, at the offset counted
	counted     int
}

// node is the part of the text from start to end.
func (f *flow) node(y *yamldoc.Node, start, end int) *Node {
	return &Node{Raw: f.raw[start:end], masked: f.masked[start:end], y: y}
}

// value reads a value that begins at an offset, or behind blanks, and returns where
// it ends; nil if it is written in a form that cannot be kept.
func (f *flow) value(y *yamldoc.Node, at int) (*Node, int) {
	if y.Is(yamldoc.Null) && y.Text() == "" {
		return f.node(y, at, at), at
	}
	start, end := f.doc.Offsets(y)
	if start != f.blank(at, "") || leadingProps(f.masked[start:]) > 0 {
		return nil, 0 // an alias, or with an anchor, a tag or a comment
	}
	switch {
	case y.Is(yamldoc.Map) || y.Is(yamldoc.List):
		end = start + flowEnd(f.masked[start:])
	case y.Style == yamldoc.Plain && f.masked[start:end] != y.Text():
		return nil, 0 // on several lines
	default:
		return f.node(y, start, end), end
	}
	n := f.node(y, start, end)
	n.Kind, n.Flow = Map, true
	if y.Is(yamldoc.List) {
		n.Kind = List
	}
	at = start + 1
	entry := func(key *yamldoc.Field, y *yamldoc.Node) bool {
		at = f.blank(at, ",")
		f.line += strings.Count(f.masked[f.counted:at], "\n")
		f.counted = at
		e := &Entry{owner: n, gap: " ", Line: f.line}
		if key != nil {
			from, to := f.doc.Offsets(key.Key())
			if from != at || !strings.HasPrefix(f.masked[f.blank(to, ""):], ":") {
				return false
			}
			e.Key, e.Name = f.raw[from:to], Unquote(f.raw[from:to])
			if at = f.blank(to, "") + 1; e.Name != key.Name {
				return false
			}
		}
		value, to := f.value(y, at)
		if value == nil {
			return false
		}
		e.adopt(value)
		n.Entries, at = append(n.Entries, e), to
		return true
	}
	for i := range y.Fields() {
		if field := &y.Fields()[i]; !entry(field, field.Value) {
			return nil, 0
		}
	}
	for _, item := range y.List() {
		if !entry(nil, item) {
			return nil, 0
		}
	}
	if f.blank(at, ",") != end-1 {
		return nil, 0 // a comment
	}
	return n, end
}

// blank returns where blanks, line breaks and some other characters end.
func (f *flow) blank(at int, other string) int {
	return len(f.masked) - len(strings.TrimLeft(f.masked[at:], " \t\r\n"+other))
}

// flowEnd returns the offset after the flow collection that s begins with, 0 if it
// does not end.
func flowEnd(s string) int {
	depth, fresh := 0, true // a quoted text may begin here
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case fresh && (c == '"' || c == '\''):
			end := quotedEnd(s[i:])
			if end < 0 {
				return 0
			}
			i += end - 1
			fresh = false
		case c == '#' && i > 0 && strings.IndexByte(" \t\n", s[i-1]) >= 0:
			for i+1 < len(s) && s[i+1] != '\n' {
				i++
			}
		case c == '{' || c == '[':
			depth++
			fresh = true
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		default:
			fresh = strings.IndexByte(" \t\r\n,:", c) >= 0
		}
	}
	return 0
}

// flowText writes a flow collection on one line.
func (n *Node) flowText(out *strings.Builder) {
	if n.Kind == Leaf || n.Flow && !n.dirty {
		out.WriteString(n.Raw)
		return
	}
	open, end := "{", "}"
	if n.Kind == List {
		open, end = "[", "]"
	}
	out.WriteString(open)
	for i, e := range n.Entries {
		if i > 0 {
			out.WriteString(", ")
		}
		if n.Kind == Map {
			out.WriteString(e.Key + ": ")
		}
		e.Value.flowText(out)
	}
	out.WriteString(end)
}
