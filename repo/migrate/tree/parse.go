package tree

import (
	"errors"
	"fmt"
	"strings"
)

// Document is the text of one YAML document.
type Document struct {
	// Root is nil if the document holds nothing.
	Root *Node
	// Anchors reports whether the document has anchors, aliases or merge keys,
	// so that one line can be the value of several places.
	Anchors bool

	head []string // lines before the root: comments, the separator
	tail []string // lines after the last entry
	end  string   // "" if the text does not end with a line break
}

// Error is a place that cannot be edited safely. Line counts from 1 in the file.
type Error struct {
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error without the line.
func (e *Error) Unwrap() error { return e.Err }

var (
	errIndent  = errors.New("the indentation does not fit the lines around it")
	errComplex = errors.New("a key that begins with ? cannot be edited")
	errTab     = errors.New("a tab stands where blanks should")
	errDepth   = errors.New("the document is nested too deep")
)

// maxDepth is how deep collections may be nested.
const maxDepth = 200

// parser reads lines of one document.
type parser struct {
	raw, masked []string
	line        int // of the file, before the first of these lines
	at          int
	depth       int
	pending     []string // lines without a value, not yet given to an entry
	last        *Entry   // the entry read last
	anchors     bool
}

// Parse reads the text of one document that begins after the given number of
// lines of its file. The text must have no carriage returns. An *Error says why
// it cannot be edited.
func Parse(text string, before int) (*Document, error) {
	d := &Document{end: "\n"}
	if text == "" {
		return d, nil
	}
	if !strings.HasSuffix(text, "\n") {
		d.end = ""
		text += "\n"
	}
	p := &parser{raw: lines(text), masked: lines(Mask(text)), line: before}
	if len(p.raw) != len(p.masked) {
		return nil, p.fail(errIndent)
	}
	for p.at < len(p.masked) && (isTrivia(p.masked[p.at]) || strings.HasPrefix(p.masked[p.at], "---") && strings.TrimSpace(stripComment(p.masked[p.at][3:])) == "" || strings.HasPrefix(p.masked[p.at], "%")) {
		d.head = append(d.head, p.raw[p.at])
		p.at++
	}
	if p.at == len(p.masked) {
		return d, nil
	}
	root, err := p.node(-1, nil)
	if err != nil {
		return nil, err
	}
	if root.Kind == List && !root.Flow && len(root.Entries) > 0 {
		// Comments above a list are about its first item.
		cut := len(d.head)
		for cut > 0 && strings.HasPrefix(strings.TrimSpace(d.head[cut-1]), "#") {
			cut--
		}
		root.Entries[0].Lead = append(append([]string(nil), d.head[cut:]...), root.Entries[0].Lead...)
		d.head = d.head[:cut]
	}
	d.Root, d.tail, d.Anchors = root, p.pending, p.anchors
	p.pending = nil
	if p.at < len(p.raw) {
		if strings.TrimSpace(p.masked[p.at]) != "..." {
			return nil, p.fail(errIndent)
		}
		d.tail = append(d.tail, p.raw[p.at:]...)
	}
	return d, nil
}

func lines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func (p *parser) fail(err error) error { return &Error{p.line + p.at + 1, err} }

// isTrivia reports whether a line holds no value.
func isTrivia(masked string) bool {
	t := strings.TrimLeft(masked, " \t\r")
	return t == "" || t[0] == '#'
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func stripComment(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return s[:i]
		}
	}
	return s
}

// skip collects the lines without a value before the next one, and returns the
// indentation of that; -1 at the end.
func (p *parser) skip() int {
	for p.at < len(p.masked) && isTrivia(p.masked[p.at]) {
		p.pending = append(p.pending, p.raw[p.at])
		p.at++
	}
	if p.at == len(p.masked) || strings.TrimSpace(p.masked[p.at]) == "..." && indentOf(p.masked[p.at]) == 0 {
		return -1
	}
	return indentOf(p.masked[p.at])
}

// lead takes the collected lines for an entry at an indentation. Comments that
// are indented deeper stay with the entry before.
func (p *parser) lead(indent int, first bool) []string {
	cut := 0
	for i, line := range p.pending {
		if strings.TrimSpace(line) != "" && indentOf(line) > indent {
			cut = i + 1
		} else if strings.TrimSpace(line) != "" {
			break
		}
	}
	if p.last == nil || first {
		cut = 0
	}
	if cut > 0 {
		p.last.Tail = append(p.last.Tail, p.pending[:cut]...)
	}
	out := append([]string(nil), p.pending[cut:]...)
	p.pending = nil
	return out
}

// node reads the value whose lines are indented deeper than parent.
func (p *parser) node(parent int, first []string) (*Node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(errDepth)
	}
	defer func() { p.depth-- }()
	p.pending = append(p.pending, first...)
	indent := p.skip()
	if indent <= parent {
		return NewLeaf(""), nil
	}
	content := p.masked[p.at][indent:]
	switch {
	case isDash(content):
		return p.list(indent, indent)
	case keyEnd(content) > 0:
		return p.mapping(indent, indent)
	}
	n := &Node{}
	p.takeLeaf(n, parent, indent)
	return n, nil
}

func isDash(s string) bool {
	return s == "-" || strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "-\t")
}

// mapping reads entries at an indentation. The first may begin in the middle of
// a line, after a dash.
func (p *parser) mapping(indent, start int) (*Node, error) {
	n := &Node{Kind: Map, Indent: indent}
	for {
		if start == indent && (len(n.Entries) > 0 || p.at < len(p.masked) && isTrivia(p.masked[p.at])) {
			next := p.skip()
			if next < indent {
				return n, nil
			}
			if next > indent || isDash(p.masked[p.at][indent:]) {
				if next > indent {
					return nil, p.fail(errIndent)
				}
				return n, nil
			}
		}
		masked, raw := p.masked[p.at][indent:], p.raw[p.at][indent:]
		end := keyEnd(masked)
		if end <= 0 {
			if strings.HasPrefix(masked, "? ") {
				return nil, p.fail(errComplex)
			}
			return nil, p.fail(errIndent)
		}
		colon := end - 1
		e := &Entry{Key: raw[:colon], Line: p.line + p.at + 1, Lead: p.lead(indent, len(n.Entries) == 0), owner: n}
		e.Name = Unquote(strings.TrimRight(e.Key, " "))
		if e.Name == "<<" {
			p.anchors = true
		}
		n.Entries = append(n.Entries, e)
		p.last = e
		if err := p.value(e, indent, indent+end, true); err != nil {
			return nil, err
		}
		start = indent
	}
}

// list reads the items whose dashes are at an indentation.
func (p *parser) list(indent, start int) (*Node, error) {
	n := &Node{Kind: List, Indent: indent}
	for {
		if start == indent && len(n.Entries) > 0 {
			next := p.skip()
			if next < indent || next == indent && !isDash(p.masked[p.at][indent:]) {
				return n, nil
			}
			if next > indent {
				return nil, p.fail(errIndent)
			}
		}
		e := &Entry{Line: p.line + p.at + 1, Lead: p.lead(indent, len(n.Entries) == 0), owner: n}
		n.Entries = append(n.Entries, e)
		p.last = e
		if err := p.value(e, indent, indent+1, false); err != nil {
			return nil, err
		}
		start = indent
	}
}

// value reads what follows a colon or a dash at a column of the line.
func (p *parser) value(e *Entry, indent, column int, key bool) error {
	masked, raw := p.masked[p.at], p.raw[p.at]
	rest := masked[column:]
	gap := len(rest) - len(strings.TrimLeft(rest, " "))
	if strings.HasPrefix(rest[gap:], "\t") && strings.TrimSpace(stripComment(rest)) != "" {
		return p.fail(errTab)
	}
	e.gap = rest[:gap]
	from := column + gap
	content := masked[from:]
	// An anchor or a tag before what begins on the next line.
	if props := leadingProps(content); props > 0 {
		if strings.Contains(content[:props], "&") {
			p.anchors = true
		}
		if t := strings.TrimSpace(stripComment(content[props:])); t == "" {
			e.props = e.gap + raw[from:from+props]
			e.gap = ""
			from += props
			content = content[props:]
		}
	}
	if t := strings.TrimLeft(content, " \t"); t == "" || t[0] == '#' {
		// The value is on the lines below, or there is none.
		e.Comment = e.gap + raw[from:]
		e.gap = ""
		e.below = true
		p.at++
		return p.below(e, indent, key)
	}
	if !key && e.props == "" {
		switch {
		case isDash(content):
			n, err := p.list(from, -1)
			e.adopt(n)
			return err
		case keyEnd(content) > 0 && leadingProps(content) == 0:
			n, err := p.mapping(from, -1)
			e.adopt(n)
			return err
		}
	}
	n := &Node{}
	e.Comment = p.takeLeaf(n, indent, from)
	e.adopt(n)
	return nil
}

func (e *Entry) adopt(n *Node) {
	if n == nil {
		return
	}
	e.Value, n.parent = n, e
}

// below reads the value on the lines after a key or dash.
func (p *parser) below(e *Entry, indent int, key bool) error {
	held := p.pending
	p.pending = nil
	next := p.skip()
	floor := indent
	if key && next == indent && isDash(p.masked[p.at][indent:]) {
		floor = indent - 1 // a list may stand below its key without indentation
	}
	if next <= floor {
		e.adopt(NewLeaf(""))
		e.below = false
		p.pending = append(held, p.pending...)
		return nil
	}
	if len(held) > 0 {
		p.pending = append(held, p.pending...)
	}
	content := p.masked[p.at][next:]
	if !isDash(content) && keyEnd(content) <= 0 {
		// A scalar or flow collection on a line of its own: lines before it cannot
		// be kept elsewhere.
		n := &Node{}
		before := p.pending
		p.pending = nil
		comment := p.takeLeaf(n, indent, next)
		n.Raw = strings.Join(append(append([]string{""}, before...), strings.Repeat(" ", next)+n.Raw), "\n")
		n.masked = Mask(n.Raw)
		e.Comment, n.Raw = "", e.Comment+n.Raw
		n.masked = Mask(n.Raw)
		e.below = false
		e.adopt(n)
		if comment != "" {
			e.Comment = comment
		}
		return nil
	}
	n, err := p.node(floor, nil)
	e.adopt(n)
	return err
}

// takeLeaf reads a scalar, an alias or a flow collection that begins at a column
// of the current line, with the lines that continue it, and returns the comment
// after it.
func (p *parser) takeLeaf(n *Node, parent, column int) (comment string) {
	first, firstRaw := p.masked[p.at][column:], p.raw[p.at][column:]
	switch first[0] {
	case '*', '&':
		p.anchors = true
	}
	start := p.at
	p.at++
	if body := strings.TrimLeft(first[leadingProps(first):], " "); body != "" && (body[0] == '|' || body[0] == '>') {
		end := start
		for p.at < len(p.masked) {
			line := p.raw[p.at]
			if strings.TrimSpace(line) != "" {
				if indentOf(line) <= parent {
					break
				}
				end = p.at
			}
			p.at++
		}
		if !strings.Contains(strings.TrimSpace(stripComment(body)), "+") {
			p.at = end + 1
		}
		n.Raw = strings.Join(append([]string{firstRaw}, p.raw[start+1:p.at]...), "\n")
		n.masked = n.Raw
		return ""
	}
	scan := scanner{}
	cut := scan.line(first)
	for p.at < len(p.masked) {
		if !scan.open() {
			if cut < len(first) || scan.closed || p.at < len(p.masked) && (isTrivia(p.masked[p.at]) || indentOf(p.masked[p.at]) <= parent) {
				break
			}
		}
		if t := strings.TrimSpace(p.masked[p.at]); !scan.open() && (t == "..." || strings.HasPrefix(p.masked[p.at], "---")) {
			break
		}
		first, firstRaw = p.masked[p.at], p.raw[p.at]
		cut = scan.line(first)
		p.at++
	}
	kept := strings.TrimRight(first[:cut], " \t")
	comment = firstRaw[len(kept):]
	text := append([]string(nil), p.raw[start:p.at]...)
	masks := append([]string(nil), p.masked[start:p.at]...)
	last := len(text) - 1
	text[last] = text[last][:len(text[last])-len(comment)]
	masks[last] = masks[last][:len(masks[last])-len(comment)]
	text[0], masks[0] = text[0][column:], masks[0][column:]
	n.Raw, n.masked = strings.Join(text, "\n"), strings.Join(masks, "\n")
	return comment
}

// leadingProps is the length of the anchors and tags that a value begins with.
func leadingProps(s string) int {
	n := 0
	for n < len(s) && (s[n] == '&' || s[n] == '!') {
		i := strings.IndexByte(s[n:], ' ')
		if i < 0 {
			return len(s)
		}
		n += i
		for n < len(s) && s[n] == ' ' {
			n++
		}
	}
	return n
}

// Body returns the root with the comments above and below it as those of its first
// and last entry.
func (d *Document) Body() *Node {
	if d.Root == nil || d.Root.Kind == Leaf || d.Root.Flow || len(d.Root.Entries) == 0 {
		return d.Root
	}
	first, last := d.Root.Entries[0], d.Root.Entries[len(d.Root.Entries)-1]
	first.Lead = append(append([]string(nil), d.head...), first.Lead...)
	last.Tail = append(last.Tail, d.tail...)
	d.head, d.tail = nil, nil
	return d.Root
}
