package yamldoc

import (
	"strings"
	"unicode/utf8"
)

// scanner reads the YAML that people, kustomize and controller-gen write: block
// lists and maps, scalars in every style, small flow collections on one line. It
// builds the nodes that read builds with yaml v4, many times faster. It gives up
// at whatever is rare (anchors, tags, tabs that indent, directives, complex keys,
// errors), and yaml v4 reads the document instead; the tests hold the two equal.
//
// Every method returns false, or nil, to give up.
type scanner struct {
	pos  int
	line int // counts from 1
	bol  int // where the line begins

	ascii   bool
	counted int // how far the characters of the line are counted, unless all are ASCII
	runes   int // how many those are
	depth   int

	buf        []byte  // a scalar of several lines
	openFields []Field // of the maps that are open
	openItems  []*Node // of the lists that are open

	*tree
	nodes []Node // made, and not used yet
	slab  int    // how many are made at once
}

// largeSlab is the most nodes that are made at once.
const largeSlab = 256

// deepest is the depth at which the scanner gives up.
const deepest = 200

// scan reads one document, whose text ends with a line break. It returns nil if
// another parser has to read it. The texts of the nodes are parts of data.
func scan(data string) *Node {
	ascii, ok := ordinary(data)
	if !ok || tabIndent(data) {
		return nil
	}
	// Each field has a colon, and each item a dash.
	fields := strings.Count(data, ": ") + strings.Count(data, ":\n")
	p := scanner{line: 1, ascii: ascii, slab: min(fields+strings.Count(data, "- ")+2, largeSlab)}
	p.openFields = make([]Field, 0, min(fields, 40))
	p.tree = &tree{text: data, fields: make([]Field, 0, fields)}
	if strings.HasPrefix(p.text, "---") {
		p.pos = 3
		if !p.endLine() {
			return nil
		}
	}
	if !p.next() {
		return nil
	}
	if p.pos == len(p.text) && p.text[0] != '-' {
		return &Node{Kind: Null, line: 1, col: 1}
	}
	if p.pos == len(p.text) || p.pos != p.bol {
		return nil
	}
	root := p.block(-1)
	if root == nil || root.Kind != Map && root.Kind != List || p.pos != len(p.text) {
		return nil
	}
	return root
}

// ordinary reports whether a text ends with a line break and has no characters
// that a YAML reader refuses, drops or treats as line breaks, and whether all of
// them are ASCII.
func ordinary(data string) (ascii, ok bool) {
	if !strings.HasSuffix(data, "\n") {
		return false, false
	}
	ascii = true
	for i := 0; i < len(data); i++ {
		c := data[i]
		if c >= ' ' && c < 0x7F || c == '\n' || c == '\t' {
			continue
		}
		if c < utf8.RuneSelf {
			return false, false
		}
		ascii = false
		r, width := utf8.DecodeRuneInString(data[i:])
		switch {
		case r == utf8.RuneError, r < 0xA0, r == lineSeparator, r == paragraphSeparator, r == '\ufeff', r == '\ufffe', r == '\uffff':
			return false, false
		}
		i += width - 1
	}
	return ascii, true
}

// node returns a new node that stands at an offset of the current line.
func (p *scanner) node(kind Kind, at int) *Node { return p.add(p.place(kind, at)) }

// place is a node at an offset of the current line, which is not one of the
// document yet.
func (p *scanner) place(kind Kind, at int) Node {
	col := at - p.bol
	if !p.ascii {
		from := max(p.bol, p.counted) // lines can be long
		if from == p.bol {
			p.runes = 0
		}
		p.runes += utf8.RuneCountInString(p.text[from:at])
		col, p.counted = p.runes, at
	}
	return Node{Kind: kind, line: int32(p.line), col: int32(col + 1), of: p.tree}
}

func (p *scanner) add(n Node) *Node {
	if len(p.nodes) == 0 {
		p.nodes = make([]Node, p.slab)
	}
	added := &p.nodes[0]
	p.nodes = p.nodes[1:]
	*added = n
	return added
}

// endLine leaves the current line if only blanks and a comment follow.
func (p *scanner) endLine() bool {
	i := p.pos
	for p.text[i] == ' ' {
		i++
	}
	if p.text[i] == '#' {
		if i == p.pos {
			return false
		}
		i += strings.IndexByte(p.text[i:], '\n')
	}
	if p.text[i] != '\n' {
		return false
	}
	p.newLine(i)
	return true
}

// newLine leaves the current line, whose line break is at an offset.
func (p *scanner) newLine(at int) {
	p.pos, p.bol = at+1, at+1
	p.line++
}

// next goes from the beginning of a line to the first character that is neither
// blank nor comment, or to the end of the text. It gives up at the end of a
// document.
func (p *scanner) next() bool {
	for p.pos < len(p.text) {
		i := p.pos
		for p.text[i] == ' ' {
			i++
		}
		switch p.text[i] {
		case '\n':
		case '#':
			i += strings.IndexByte(p.text[i:], '\n')
		case '\t':
			return false
		default:
			p.pos = i
			return i > p.bol || !strings.HasPrefix(p.text[i:], "---") && !strings.HasPrefix(p.text[i:], "...")
		}
		p.newLine(i)
	}
	return true
}

// finish ends a line and goes to the next content.
func (p *scanner) finish() bool { return p.endLine() && p.next() }

// column is the indentation of the content at pos, counted from 0; -1 at the end.
func (p *scanner) column() int {
	if p.pos == len(p.text) {
		return -1
	}
	return p.pos - p.bol
}

func (p *scanner) atDash() bool {
	return p.pos < len(p.text) && p.text[p.pos] == '-' && (p.text[p.pos+1] == ' ' || p.text[p.pos+1] == '\n')
}

// block reads the value that begins at pos, as the first on its line or after a
// dash, inside a collection with the given indentation. Like all methods that
// read values it continues to the next content.
func (p *scanner) block(indent int) *Node {
	if p.depth++; p.depth > deepest {
		return nil
	}
	defer func() { p.depth-- }()
	if p.atDash() {
		return p.list(p.column())
	}
	switch p.text[p.pos] {
	case '|', '>', '[', '{':
		return p.value(indent)
	case '"', '\'':
		if end := p.quoteEnd(); end > 0 && p.text[end] == ':' {
			return p.mapping(p.column())
		}
		return p.value(indent)
	}
	if _, colon := p.plainEnd(p.pos); colon {
		return p.mapping(p.column())
	}
	return p.value(indent)
}

// list reads a block list whose dashes stand in a column.
func (p *scanner) list(column int) *Node {
	n := p.node(List, p.pos)
	mark := len(p.openItems)
	for p.column() == column && p.atDash() {
		p.pos++
		item := p.entry(column, false)
		if item == nil {
			return nil
		}
		p.openItems = append(p.openItems, item)
	}
	if p.column() > column {
		return nil
	}
	p.closeList(n, mark)
	return n
}

// mapping reads a block map whose keys stand in a column.
func (p *scanner) mapping(column int) *Node {
	n := p.node(Map, p.pos)
	mark := len(p.openFields)
	for p.column() == column {
		f, ok := p.key()
		if !ok {
			return nil
		}
		if f.Value = p.entry(column, true); f.Value == nil {
			return nil
		}
		p.openFields = append(p.openFields, f)
	}
	if p.column() > column {
		return nil
	}
	p.closeMap(n, mark)
	return n
}

func (p *scanner) closeMap(n *Node, mark int) {
	n.at, n.size = uint32(len(p.tree.fields)), uint32(len(p.openFields)-mark)
	p.tree.fields = append(p.tree.fields, p.openFields[mark:]...)
	p.openFields = p.openFields[:mark]
}

func (p *scanner) closeList(n *Node, mark int) {
	n.at, n.size = uint32(len(p.tree.items)), uint32(len(p.openItems)-mark)
	p.tree.items = append(p.tree.items, p.openItems[mark:]...)
	p.openItems = p.openItems[:mark]
}

// copied gives a node a text that does not stand in the document as it is.
func (p *scanner) copied(n *Node, text string) {
	n.made, n.at = true, uint32(len(p.made))
	p.made = append(p.made, text)
}

// span gives a node the text between two offsets.
func span(n *Node, start, end int) { n.at, n.size = uint32(start), uint32(end-start) }

func (p *scanner) key() (f Field, ok bool) {
	start := p.pos
	f.line, f.col = int32(p.line), int32(start-p.bol+1) // only blanks and dashes stand before it
	switch p.text[start] {
	case '"', '\'':
		end := p.quoteEnd()
		if end < 0 || p.text[end] != ':' || p.text[end+1] != ' ' && p.text[end+1] != '\n' {
			return f, false
		}
		n := p.quoted(start)
		if n == nil {
			return f, false
		}
		f.Name, f.style = n.Text(), Quoted
	default:
		end, colon := p.plainEnd(start)
		text := strings.TrimRight(p.text[start:end], " ")
		if !colon || text == "" || text == "<<" {
			return f, false
		}
		f.Name = text
		if v, other := guess(text); other {
			n := p.node(String, start)
			name, valid := keyName(v)
			if n.Kind, ok = kindOf(text); !ok || !valid {
				return f, false
			}
			span(n, start, start+len(text))
			f.Name, f.key = name, n
		}
		p.pos = end
	}
	p.pos++ // the colon
	return f, p.pos-start < keyLimit-24
}

// entry reads what follows a dash or the colon of a key. The indentation is that
// of the dash or key.
func (p *scanner) entry(indent int, key bool) *Node {
	at := p.pos
	for p.text[p.pos] == ' ' {
		p.pos++
	}
	switch c := p.text[p.pos]; {
	case c == '\n', c == '#':
	case !key:
		return p.block(indent)
	default:
		return p.value(indent)
	}
	// The value is on the next lines, or null.
	p.pos = at
	null := p.place(Null, at)
	if !p.finish() {
		return nil
	}
	switch column := p.column(); {
	case column > indent:
		return p.block(indent)
	case key && column == indent && p.atDash():
		if p.depth++; p.depth > deepest {
			return nil
		}
		defer func() { p.depth-- }()
		return p.list(column)
	}
	return p.add(null)
}

// value reads a scalar or flow collection inside a collection with the given
// indentation.
func (p *scanner) value(indent int) *Node {
	switch p.text[p.pos] {
	case '|', '>':
		return p.blockScalar(indent)
	case '"', '\'':
		n := p.quoted(indent)
		if n == nil || !p.finish() {
			return nil
		}
		return n
	case '[', '{':
		n := p.flow()
		if n == nil || !p.finish() {
			return nil
		}
		return n
	}
	return p.plain(indent)
}

// plainEnd finds the end of a plain scalar on the current line, and whether a
// colon stands there. The end is the start if a plain scalar cannot begin or
// continue like this.
func (p *scanner) plainEnd(start int) (end int, colon bool) {
	if !p.beginsPlain(start) {
		return start, false
	}
	return p.plainRest(start)
}

// beginsPlain reports whether a plain scalar can begin with the character at an
// offset.
func (p *scanner) beginsPlain(at int) bool {
	switch p.text[at] {
	case ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '\t':
		return false
	case '-', '?', ':':
		return p.text[at+1] != ' ' && p.text[at+1] != '\n'
	}
	return true
}

// plainRest is plainEnd for text that continues a scalar, which may begin with an
// indicator.
func (p *scanner) plainRest(start int) (end int, colon bool) {
	text, i := p.text, start
scan:
	for {
		for !endsPlain[text[i]] {
			i++
		}
		switch text[i] {
		case '\n':
			break scan
		case ':':
			if text[i+1] == ' ' || text[i+1] == '\n' {
				return i, true
			}
			if text[i+1] == '\t' {
				return start, false
			}
		case '#':
			if text[i-1] == ' ' {
				break scan
			}
		case '\t':
			return start, false
		}
		i++
	}
	for text[i-1] == ' ' {
		i--
	}
	return i, false
}

var endsPlain = [256]bool{'\n': true, ':': true, '#': true, '\t': true}

// plain reads a plain scalar, which continues on deeper lines.
func (p *scanner) plain(indent int) *Node {
	start := p.pos
	end, colon := p.plainEnd(start)
	if colon || end == start {
		return nil
	}
	n := p.node(String, start)
	text := p.text[start:end]
	p.buf = p.buf[:0]
	for p.pos = end; ; p.pos = end {
		comment := p.text[end] != '\n' && strings.TrimLeft(p.text[end:end+strings.IndexByte(p.text[end:], '\n')], " ") != ""
		if !p.endLine() {
			return nil
		}
		if comment {
			if !p.next() {
				return nil
			}
			break
		}
		// Blank lines are line breaks if the scalar continues after them.
		breaks := 0
		i := p.pos
		for i < len(p.text) {
			for p.text[i] == ' ' {
				i++
			}
			if p.text[i] != '\n' {
				break
			}
			p.newLine(i)
			i = p.pos
			breaks++
		}
		if i == len(p.text) {
			break
		}
		if i-p.bol <= indent || p.text[i] == '#' {
			if !p.next() {
				return nil
			}
			break
		}
		// Any character but a comment's continues with the scalar.
		if end, colon = p.plainRest(i); colon || end == i {
			return nil
		}
		if len(p.buf) == 0 {
			p.buf = append(p.buf, text...)
		}
		if breaks == 0 {
			p.buf = append(p.buf, ' ')
		}
		for range breaks {
			p.buf = append(p.buf, '\n')
		}
		p.buf = append(p.buf, p.text[i:end]...)
	}
	span(n, start, start+len(text))
	if len(p.buf) > 0 {
		text = string(p.buf)
		p.copied(n, text)
	}
	var ok bool
	if n.Kind, ok = kindOf(text); !ok {
		return nil
	}
	return n
}

// quoteEnd returns the offset after a quoted scalar that ends on its line, or -1.
func (p *scanner) quoteEnd() int {
	quote := p.text[p.pos]
	for i := p.pos + 1; ; i++ {
		switch c := p.text[i]; {
		case c == '\n':
			return -1
		case c == '\\' && quote == '"':
			if i++; p.text[i] == '\n' {
				return -1
			}
		case c == quote:
			if quote == '\'' && p.text[i+1] == '\'' {
				i++
				continue
			}
			return i + 1
		}
	}
}

// quoted reads a quoted scalar; further lines are deeper than indent.
func (p *scanner) quoted(indent int) *Node {
	n := p.node(String, p.pos)
	n.Style = Quoted
	quote := p.text[p.pos]
	i := p.pos + 1
	for p.text[i] != quote && !special[p.text[i]] {
		i++
	}
	if p.text[i] == quote && (quote == '"' || p.text[i+1] != '\'') {
		span(n, p.pos+1, i)
		p.pos = i + 1
		return n
	}
	p.buf = append(p.buf[:0], p.text[p.pos+1:i]...)
	blanks := len(p.buf) - len(strings.TrimRight(p.text[p.pos+1:i], " "))
	for p.pos = i; ; {
		c := p.text[p.pos]
		switch {
		case c == quote && quote == '\'' && p.text[p.pos+1] == '\'':
			p.buf = append(p.buf, '\'')
			p.pos += 2
		case c == quote:
			p.pos++
			p.copied(n, string(p.buf))
			return n
		case c == '\t':
			return nil
		case c == '\n':
			p.buf = p.buf[:len(p.buf)-blanks]
			if !p.fold(indent, true) {
				return nil
			}
		case c == '\\' && quote == '"':
			if p.text[p.pos+1] == '\n' {
				p.pos++
				if !p.fold(indent, false) {
					return nil
				}
			} else if !p.escape() {
				return nil
			}
		default:
			p.buf = append(p.buf, c)
			p.pos++
			if c == ' ' {
				blanks++
				continue
			}
		}
		blanks = 0
	}
}

// special are the characters that end the simple part of a quoted scalar.
var special = [256]bool{'\n': true, '\t': true, '\\': true}

// fold goes from a line break in a quoted scalar to the next text. One line break
// counts as a space, unless it is escaped; further ones count as they are.
func (p *scanner) fold(indent int, space bool) bool {
	breaks := -1
	for p.text[p.pos] == '\n' {
		p.newLine(p.pos)
		if p.pos == len(p.text) {
			return false
		}
		for p.text[p.pos] == ' ' {
			p.pos++
		}
		breaks++
	}
	if p.pos-p.bol <= indent || p.text[p.pos] == '\t' {
		return false
	}
	if breaks == 0 && space {
		p.buf = append(p.buf, ' ')
	}
	for range breaks {
		p.buf = append(p.buf, '\n')
	}
	return true
}

// escapes are the escape sequences of one character that all parsers know.
var escapes = [256]byte{'"': '"', '\\': '\\', 'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'e': '\x1b', 'f': '\f', 'v': '\v', ' ': ' '}

// escape reads one escape sequence of a double-quoted scalar.
func (p *scanner) escape() bool {
	c := p.text[p.pos+1]
	if e := escapes[c]; e != 0 {
		p.buf = append(p.buf, e)
		p.pos += 2
		return true
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 {
		return false
	}
	var r rune
	for _, d := range []byte(p.text[p.pos+2 : min(p.pos+2+digits, len(p.text))]) {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return false
		}
		if r > utf8.MaxRune>>4 {
			return false
		}
		r = r<<4 | rune(d)
	}
	if !utf8.ValidRune(r) {
		return false
	}
	p.buf = utf8.AppendRune(p.buf, r)
	p.pos += 2 + digits
	return true
}

// blockScalar reads a literal or folded scalar inside a collection with the given
// indentation.
func (p *scanner) blockScalar(parent int) *Node {
	n := p.node(String, p.pos)
	n.Style = Block
	literal := p.text[p.pos] == '|'
	p.pos++
	var chomp byte
	indent := -1
	for ; ; p.pos++ {
		c := p.text[p.pos]
		if (c == '+' || c == '-') && chomp == 0 {
			chomp = c
		} else if c >= '1' && c <= '9' && indent < 0 && parent >= 0 {
			indent = parent + int(c-'0')
		} else {
			break
		}
	}
	if !p.endLine() {
		return nil
	}
	p.buf = p.buf[:0]
	breaks := 0      // line breaks that are not written yet
	folded := false  // whether the last line lets its break be folded
	widest := 0      // of the blank lines before the first text
	started := false // whether there was text
	for p.pos < len(p.text) {
		i := p.pos
		for p.text[i] == ' ' && (indent < 0 || i-p.bol < indent) {
			i++
		}
		if p.text[i] == '\n' {
			if !started {
				widest = max(widest, i-p.bol)
			}
			breaks++
			p.newLine(i)
			continue
		}
		if indent < 0 {
			indent = max(i-p.bol, parent+1)
			if widest > indent {
				return nil
			}
		}
		if i-p.bol < indent {
			break
		}
		end := i + strings.IndexByte(p.text[i:], '\n')
		blank := p.text[i] == ' ' || p.text[i] == '\t'
		if started && !literal && folded && !blank {
			if breaks--; breaks == 0 {
				p.buf = append(p.buf, ' ')
			}
		}
		for range breaks {
			p.buf = append(p.buf, '\n')
		}
		p.buf = append(p.buf, p.text[i:end]...)
		breaks, folded, started = 1, !blank, true
		p.newLine(end)
	}
	switch {
	case chomp == '-':
		breaks = 0
	case chomp == 0 && started:
		breaks = min(breaks, 1)
	case chomp == 0:
		breaks = 0
	}
	for range breaks {
		p.buf = append(p.buf, '\n')
	}
	p.copied(n, string(p.buf))
	if !p.next() {
		return nil
	}
	return n
}

// flow reads a flow collection on one line.
func (p *scanner) flow() *Node {
	if p.depth++; p.depth > deepest {
		return nil
	}
	defer func() { p.depth-- }()
	if p.text[p.pos] == '{' {
		return p.flowMap()
	}
	n := p.node(List, p.pos)
	mark := len(p.openItems)
	p.pos++
	for p.blanks(); p.text[p.pos] != ']'; {
		item := p.flowValue()
		if item == nil || !p.separator(']') {
			return nil
		}
		p.openItems = append(p.openItems, item)
	}
	p.pos++
	p.closeList(n, mark)
	return n
}

func (p *scanner) flowMap() *Node {
	n := p.node(Map, p.pos)
	mark := len(p.openFields)
	p.pos++
	for p.blanks(); p.text[p.pos] != '}'; {
		start := p.pos
		key := p.flowValue()
		if key == nil || key.Kind == Map || key.Kind == List || key.Kind == Null || key.Text() == "<<" ||
			p.text[p.pos] != ':' || p.text[p.pos+1] != ' ' && p.text[start] != '"' || p.pos-start > keyLimit-24 {
			return nil
		}
		name := key.Text()
		if key.Kind != String {
			var ok bool
			if name, ok = keyName(key.number()); !ok {
				return nil
			}
		}
		p.pos++
		p.blanks()
		v := p.flowValue()
		if v == nil || v.Kind != Map && v.Kind != List && v.Text() == "" || !p.separator('}') {
			return nil
		}
		p.openFields = append(p.openFields, newField(name, key, v))
	}
	p.pos++
	p.closeMap(n, mark)
	return n
}

func (p *scanner) blanks() {
	for p.text[p.pos] == ' ' {
		p.pos++
	}
}

// separator goes over a comma to the next entry, or to the end of the collection.
func (p *scanner) separator(end byte) bool {
	p.blanks()
	if p.text[p.pos] == end {
		return true
	}
	if p.text[p.pos] != ',' {
		return false
	}
	p.pos++
	p.blanks()
	return p.text[p.pos] != end
}

func (p *scanner) flowValue() *Node {
	switch p.text[p.pos] {
	case '[', '{':
		return p.flow()
	case '"', '\'':
		if p.quoteEnd() < 0 {
			return nil
		}
		return p.quoted(0)
	case '-', ':':
		return nil // rare
	}
	start, i := p.pos, p.pos
	for !endsFlow[p.text[i]] {
		i++
	}
	switch c := p.text[i]; {
	case c == ':' && p.text[i+1] == ' ', c == ',', c == ']', c == '}':
	default:
		return nil
	}
	end := i
	for end > start && p.text[end-1] == ' ' {
		end--
	}
	if !p.beginsPlain(start) || end == start || p.text[i] == ':' && end < i {
		return nil
	}
	kind, ok := kindOf(p.text[start:end])
	if !ok {
		return nil
	}
	n := p.node(kind, start)
	span(n, start, end)
	p.pos = i
	return n
}

var endsFlow = [256]bool{'\n': true, ':': true, '#': true, '\t': true, ',': true, '[': true, ']': true, '{': true, '}': true, '?': true, '"': true, '\'': true, '&': true, '*': true, '!': true}
