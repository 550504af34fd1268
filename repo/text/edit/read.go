package edit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Document is the text of one YAML document.
type Document struct {
	// Root is nil if the document holds nothing.
	Root *Node
	// Anchors reports whether the document has anchors, aliases or merge keys,
	// so that one line can be the value of several places.
	Anchors bool

	text string   // as it was read
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
	errForm    = errors.New("it is written in a form that cannot be edited")
	errComplex = errors.New("a key that begins with ? cannot be edited")
	errTab     = errors.New("a tab is used where spaces are required")
	errCount   = errors.New("it is not one document")
	errLossy   = errors.New("it would be written differently from how it was read")
)

// Parse reads the text of one document that begins after the given number of
// lines of its file. What its values are says yamldoc; which lines belong to them
// is read along those. An *Error says why the text cannot be edited.
func Parse(text string, before int) (*Document, error) {
	d := &Document{text: text, end: "\n"}
	if text == "" {
		return d, nil
	}
	if !strings.HasSuffix(text, "\n") {
		d.end = ""
		text += "\n"
	}
	r := &reader{text: text, masked: mask(text), before: before}
	s := yamldoc.Parse(yamldoc.NewFile("", r.masked))
	switch {
	case s.Err != nil:
		return nil, &Error{before + s.Err.Pos.Line, s.Err.Err}
	case len(s.Docs) > 1:
		return nil, r.fail(errCount)
	case len(s.Docs) == 1 && s.Docs[0].Err != nil:
		return nil, &Error{before + s.Docs[0].Err.Pos.Line, s.Docs[0].Err.Err}
	}
	for r.at < len(text) && (isTrivia(r.rest()) || isSeparator(r.rest()) && isTrivia(r.rest()[3:]) || text[r.at] == '%') {
		d.head = append(d.head, r.line())
	}
	if r.at == len(text) {
		return d, nil
	}
	if len(s.Docs) == 0 {
		return nil, r.fail(errCount)
	}
	r.doc = s.Docs[0]
	root, err := r.root()
	if err != nil {
		return nil, err
	}
	if root.Kind == List && len(root.Entries) > 0 {
		// Comments above a list are about its first item.
		cut := len(d.head)
		for cut > 0 && strings.HasPrefix(strings.TrimSpace(d.head[cut-1]), "#") {
			cut--
		}
		root.Entries[0].Lead = append(append([]string(nil), d.head[cut:]...), root.Entries[0].Lead...)
		d.head = d.head[:cut]
	}
	d.Root, d.tail, d.Anchors = root, r.pending, r.anchors
	if r.at < len(text) {
		if strings.TrimSpace(r.rest()) != "..." {
			return nil, r.fail(errForm)
		}
		for r.at < len(text) {
			d.tail = append(d.tail, r.line())
		}
	}
	if d.String() != d.text {
		return nil, &Error{before + 1, errLossy}
	}
	return d, nil
}

// reader reads the lines of one document along its values.
type reader struct {
	doc          *yamldoc.Document // of masked
	text, masked string
	before       int      // lines of the file before counted
	counted      int      // an offset up to at
	at           int      // where reading goes on
	pending      []string // lines without a value, not yet given to an entry
	last         *Entry   // the entry read last
	anchors      bool
}

// number is the line of the file in which reading continues.
func (r *reader) number() int {
	if r.at > r.counted {
		r.before += strings.Count(r.text[r.counted:r.at], "\n")
		r.counted = r.at
	}
	return r.before + 1
}

func (r *reader) fail(err error) error { return &Error{r.number(), err} }

// end is the end of the line, before its line break.
func (r *reader) end() int { return r.at + strings.IndexByte(r.masked[r.at:], '\n') }

// rest is what follows in the line, with expressions made harmless.
func (r *reader) rest() string { return r.masked[r.at:r.end()] }

// column is where in its line reading continues.
func (r *reader) column() int { return r.at - strings.LastIndexByte(r.text[:r.at], '\n') - 1 }

// line takes what follows in the line.
func (r *reader) line() string {
	start, end := r.at, r.end()
	r.at = end + 1
	return r.text[start:end]
}

// isTrivia reports whether a line holds no value.
func isTrivia(masked string) bool {
	t := strings.TrimLeft(masked, " \t\r")
	return t == "" || t[0] == '#'
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isDash(s string) bool {
	return s == "-" || strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "-\t") || s == "-\r"
}

// isFlow reports whether a collection is written as {…} or […].
func isFlow(s string) bool { return s != "" && (s[0] == '{' || s[0] == '[') }

// skip collects the lines without a value before the next one, and returns the
// indentation of that; -1 at the end.
func (r *reader) skip() int {
	for r.at < len(r.text) && isTrivia(r.rest()) {
		r.pending = append(r.pending, r.line())
	}
	if r.at == len(r.text) || strings.HasPrefix(r.rest(), "...") && strings.TrimSpace(r.rest()) == "..." {
		return -1
	}
	return indentOf(r.rest())
}

// lead takes the collected lines for an entry at an indentation. Comments that
// are indented deeper stay with the entry before.
func (r *reader) lead(indent int, first bool) []string {
	cut := 0
	for i, line := range r.pending {
		if strings.TrimSpace(line) != "" && indentOf(line) > indent {
			cut = i + 1
		} else if strings.TrimSpace(line) != "" {
			break
		}
	}
	if r.last == nil || first {
		cut = 0
	}
	if cut > 0 {
		r.last.Tail = append(r.last.Tail, r.pending[:cut]...)
	}
	out := append([]string(nil), r.pending[cut:]...)
	r.pending = nil
	return out
}

func (r *reader) root() (*Node, error) {
	indent := r.skip()
	if indent < 0 {
		return nil, r.fail(errCount)
	}
	r.at += indent
	if n, err := r.block(r.doc.Root); n != nil || err != nil {
		return n, err
	}
	n := &Node{}
	_, err := r.leaf(n, r.doc.Root, -1)
	return n, err
}

// block reads a collection in block style that begins here; nil if there is none.
func (r *reader) block(y *yamldoc.Node) (*Node, error) {
	switch {
	case y.Is(yamldoc.List) && isDash(r.rest()):
		return r.list(y)
	case y.Is(yamldoc.Map) && !isFlow(r.rest()) && leadingProps(r.rest()) == 0 && r.rest()[0] != '*':
		return r.mapping(y)
	}
	return nil, nil
}

// mapping reads entries whose keys are in one column. The first may begin in the
// middle of a line, after a dash.
func (r *reader) mapping(y *yamldoc.Node) (*Node, error) {
	n := &Node{Kind: Map, Indent: r.column()}
	seen := map[string]bool{}
	fields := y.Fields()
	for i := 0; ; {
		if len(n.Entries) > 0 {
			if r.skip() != n.Indent || isDash(r.rest()[n.Indent:]) {
				if i < len(fields) {
					return nil, r.fail(errForm)
				}
				return n, nil
			}
			r.at += n.Indent
		}
		e := &Entry{Line: r.number(), Lead: r.lead(n.Indent, len(n.Entries) == 0), owner: n}
		n.Entries = append(n.Entries, e)
		r.last = e
		var value *yamldoc.Node
		start, end := r.at, r.at+len("<<")
		if merge := strings.TrimLeft(r.rest(), "<"); len(r.rest())-len(merge) == 2 &&
			isColon(strings.TrimLeft(merge, " ")) {
			for r.anchors = true; i < len(fields) && fields[i].Merged; i++ {
				e.merged = append(e.merged, fields[i])
			}
		} else {
			if i == len(fields) || fields[i].Merged {
				return nil, r.fail(errForm)
			}
			if start, end = r.doc.Offsets(fields[i].Key()); start != r.at {
				if strings.HasPrefix(r.rest(), "? ") {
					return nil, r.fail(errComplex)
				}
				return nil, r.fail(errForm)
			}
			value = fields[i].Value
			i++
		}
		for r.masked[end] == ' ' {
			end++
		}
		if !isColon(r.masked[end:]) {
			return nil, r.fail(errForm)
		}
		e.Key = r.text[start:end]
		e.Name = Unquote(strings.TrimRight(e.Key, " "))
		if name := fields[max(i-1, 0)].Name; e.merged == nil && value != nil && name != e.Name {
			return nil, r.fail(fmt.Errorf("a key is %q or %q", e.Name, name))
		}
		if seen[e.Name] {
			return nil, r.fail(fmt.Errorf("the key %s occurs twice", e.Name))
		}
		seen[e.Name] = true
		r.at = end + 1
		if err := r.value(e, value, n.Indent, true); err != nil {
			return nil, err
		}
	}
}

func isColon(s string) bool {
	return s == ":" || s != "" && s[0] == ':' && strings.IndexByte(" \t\r\n", s[1]) >= 0
}

// list reads the items whose dashes are in one column.
func (r *reader) list(y *yamldoc.Node) (*Node, error) {
	n := &Node{Kind: List, Indent: r.column()}
	for _, item := range y.List() {
		if len(n.Entries) > 0 {
			if r.skip() != n.Indent || !isDash(r.rest()[n.Indent:]) {
				return nil, r.fail(errForm)
			}
			r.at += n.Indent
		}
		e := &Entry{Line: r.number(), Lead: r.lead(n.Indent, len(n.Entries) == 0), owner: n}
		n.Entries = append(n.Entries, e)
		r.last = e
		r.at++
		if err := r.value(e, item, n.Indent, false); err != nil {
			return nil, err
		}
	}
	r.skip()
	return n, nil
}

// value reads what follows a colon or a dash.
func (r *reader) value(e *Entry, y *yamldoc.Node, indent int, key bool) error {
	gap := indentOf(r.rest())
	content := r.rest()[gap:]
	if strings.HasPrefix(content, "\t") && !isTrivia(content) {
		return r.fail(errTab)
	}
	from := r.at
	r.at += gap
	// An anchor or a tag before what begins on the next line.
	if props := leadingProps(content); props > 0 {
		r.anchors = r.anchors || strings.Contains(content[:props], "&")
		if isTrivia(content[props:]) {
			r.at += props
			e.props, from, content = r.text[from:r.at], r.at, content[props:]
		}
	}
	e.gap = r.text[from:r.at]
	if isTrivia(content) {
		// The value is on the lines below, or there is none.
		r.at = from
		e.Comment, e.gap = r.line(), ""
		return r.below(e, y, from, indent, key)
	}
	if !key && e.props == "" {
		if n, err := r.block(y); n != nil || err != nil {
			e.adopt(n)
			return err
		}
	}
	n := &Node{}
	comment, err := r.leaf(n, y, indent)
	e.Comment = comment
	e.adopt(n)
	return err
}

func (e *Entry) adopt(n *Node) {
	if n != nil {
		e.Value, n.parent = n, e
	}
}

// below reads the value on the lines after a key or dash; from is where the rest of
// that line begins.
func (r *reader) below(e *Entry, y *yamldoc.Node, from, indent int, key bool) error {
	next := r.skip()
	if next < indent || next == indent && !(key && isDash(r.rest()[indent:])) {
		if y.Is(yamldoc.Map) || y.Is(yamldoc.List) {
			return r.fail(errForm)
		}
		e.adopt(&Node{y: y})
		return nil
	}
	r.at += next
	n, err := r.block(y)
	if n != nil || err != nil {
		e.below = true
		e.adopt(n)
		return err
	}
	// A scalar or flow collection on a line of its own: lines before it cannot be
	// kept elsewhere.
	n = &Node{}
	r.pending = nil
	start := r.at
	if e.Comment, err = r.leaf(n, y, indent); err != nil {
		return err
	}
	end := start + len(n.Raw)
	n.Raw, n.masked = r.text[from:end], r.masked[from:end]
	e.adopt(n)
	return nil
}

// leaf reads a scalar, an alias or a flow collection that begins here, with the
// lines that continue it, and returns the comment after it. Lines that continue it
// are indented deeper than parent.
func (r *reader) leaf(n *Node, y *yamldoc.Node, parent int) (comment string, err error) {
	start, rest := r.at, r.rest()
	body := strings.TrimLeft(rest[leadingProps(rest):], " ")
	end := r.end() - len(body)
	r.anchors = r.anchors || rest[0] == '*' || rest[0] == '&'
	isAlias := body != "" && body[0] == '*'
	if (y.Is(yamldoc.Map) || y.Is(yamldoc.List)) != isFlow(body) && !isAlias && y != nil {
		return "", r.fail(errForm)
	}
	switch {
	case body != "" && (body[0] == '|' || body[0] == '>'):
		keep := strings.Contains(strings.TrimSpace(stripComment(body)), "+")
		end = r.end()
		for r.at = end + 1; r.at < len(r.text); {
			blank := strings.TrimSpace(r.text[r.at:r.end()]) == ""
			if !blank && indentOf(r.text[r.at:r.end()]) <= parent {
				break
			}
			r.line()
			if !blank || keep {
				end = r.at - 1
			}
		}
		r.at = end + 1
		n.Raw, n.masked, n.y = r.text[start:end], r.text[start:end], y
		return "", nil
	case isFlow(body):
		end += flowEnd(r.masked[end:])
	case body != "" && (body[0] == '"' || body[0] == '\''):
		end += quotedEnd(r.masked[end:])
	default:
		kept := strings.TrimRight(stripComment(body), " \t\r")
		end += len(kept)
		for at := r.end() + 1; at < len(r.text) && len(kept) == len(strings.TrimRight(body, " \t\r")); at = r.end() + 1 {
			r.at = at
			body = r.rest()
			if strings.TrimSpace(body) == "" {
				kept = strings.TrimRight(body, " \t\r")
				continue
			}
			if isTrivia(body) || indentOf(body) <= parent || strings.HasPrefix(body, "...") || isSeparator(body) {
				break
			}
			kept = strings.TrimRight(stripComment(body), " \t\r")
			end = at + len(kept)
		}
	}
	r.at = end
	if end <= start || !isTrivia(r.rest()) {
		return "", r.fail(errForm)
	}
	n.Raw, n.masked, n.y = r.text[start:end], r.masked[start:end], y
	return r.line(), nil
}

func stripComment(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return s[:i]
		}
	}
	return s
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

// quotedEnd returns the offset after the quoted text that s begins with; -1 if
// it does not end.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0] && s[0] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return -1
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
