package yamldoc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v4"

	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Document is one YAML document of a file.
type Document struct {
	// File is the raw file that positions refer to.
	File *File
	// Index counts the documents that are not empty from 1, as clusterctl does
	// in its messages.
	Index int
	// Root is the value; a Map in every document that clusterctl accepts. It
	// is nil if Err is set.
	Root *Node
	// Err says why the document cannot be read.
	Err *Error

	text  *File         // the text that was parsed: the raw one, or with variables substituted
	raw   func(int) int // leads offsets in text to the raw file; nil if they are the same
	start int           // offset of the document in text
	line  int           // lines of text before the document
	len   int
	lines []int // where the parser's lines begin in the document, if they are not those of text

	aliases bool
	odd     bool // only clusterctl's parser reads it
}

// Aliases reports whether a value of the document may stand in several places,
// which then share its node.
func (d *Document) Aliases() bool { return d.aliases }

// Placed reports whether the values of the document have places of their own: not if only
// clusterctl's parser reads it.
func (d *Document) Placed() bool { return !d.odd }

// Stream is a file cut into parsed documents.
type Stream struct {
	File *File
	// Docs are the documents that hold something.
	Docs []*Document
	// Err is a separator line that clusterctl refuses; nothing after it is read.
	Err *Error
	// Lost are the places where text begins that clusterctl drops, see unread.
	Lost []Pos
}

// Problem is why a part of the stream cannot be read; nil if all of it can.
func (s *Stream) Problem() error {
	if s.Err != nil {
		return s.Err
	}
	for _, d := range s.Docs {
		if d.Err != nil {
			return d.Err
		}
	}
	return nil
}

// Parse reads all documents of a raw file. Problems are part of the result:
// one bad document does not hide the others.
func Parse(f *File) *Stream { return ParseText(f, f.Data, nil) }

// ParseText reads the documents of a text that was derived from f, for example
// by substituting variables. Raw leads an offset in text back to f.
func ParseText(f *File, text string, raw func(int) int) *Stream {
	return ParseEach(f, text, raw, func(*Document) {})
}

// ParseEach is ParseText that calls a function with each document as soon as it is
// parsed, concurrently with others. The function may replace Root, so that a large
// text need not be in memory as a whole; see Again.
func ParseEach(f *File, text string, raw func(int) int, each func(*Document)) *Stream {
	s := &Stream{File: f}
	tf := f
	if raw != nil {
		tf = NewFile(f.Name, text)
	}
	chunks, err := Split(text)
	var sep *SplitError
	if errors.As(err, &sep) {
		off := sep.Offset
		if raw != nil {
			off = raw(off)
		}
		s.Err = f.Errorf(off, "%w", sep)
	}
	docs := make([]*Document, len(chunks))
	for i, c := range chunks {
		docs[i] = &Document{File: f, text: tf, raw: raw, start: c.Start, len: len(c.Data), line: tf.Pos(c.Start).Line - 1}
	}
	parallel.Each(len(chunks), func(i int) {
		docs[i].parse(chunks[i].Data)
		each(docs[i])
	})
	lost := func(off int) {
		if raw != nil {
			off = raw(off)
		}
		s.Lost = append(s.Lost, f.Pos(off))
	}
	end := 0
	for i, d := range docs {
		if off := separated(text[end:d.start]); off >= 0 {
			lost(end + off)
		}
		if off := d.unread(chunks[i].Data); off >= 0 {
			lost(d.start + off)
		}
		end = d.start + d.len
		if d.Err == nil && d.Root.Is(Null) {
			continue // nothing but comments: clusterctl skips it
		}
		d.Index = len(s.Docs) + 1
		s.Docs = append(s.Docs, d)
	}
	if off := separated(text[end:]); off >= 0 && err == nil {
		lost(end + off)
	}
	return s
}

// Again returns the document parsed again, with all that it holds.
func (d *Document) Again() *Document {
	again := *d
	again.Root, again.Err = nil, nil
	again.parse(d.text.Data[d.start : d.start+d.len])
	return &again
}

// parse sets Root or Err. The parser that knows positions and clusterctl's own
// differ in corners: odd tags and anchors, empty values in flow maps, control
// characters. Where that can matter, clusterctl's has the last word.
func (d *Document) parse(data string) {
	d.lines = otherLines(data)
	data = normalize(data)
	if d.Root = scan(data); d.Root != nil {
		return
	}
	d.parseOther(data)
}

// parseOther is parse for documents that the scanner does not read.
func (d *Document) parseOther(data string) {
	n, sure, err := read(data)
	d.aliases = strings.IndexByte(data, '*') >= 0
	if err == nil && sure {
		d.Root = n
		return
	}
	v, kubeErr := toMap(data)
	switch {
	case kubeErr == nil && err == nil && equal(v, n):
		d.Root = n
	case kubeErr == nil:
		d.Root, d.odd = fromValue(v), true
	case err != nil:
		d.fail(err)
	case n.Kind != Map && n.Kind != Null:
		d.Root = n // not what clusterctl wants, but YAML
	default:
		if off := d.slashEscape(n); off >= 0 {
			d.Err = d.File.Errorf(d.RawOffset(off), "not YAML: %w", ErrEscape)
			return
		}
		d.fail(kubeErr)
	}
}

// slashEscape returns the offset in the text of the first \/ in double quotes below
// n, or -1: the parser with positions reads it, and clusterctl's refuses it.
func (d *Document) slashEscape(n *Node) int {
	found := -1
	scalar := func(n *Node) {
		if n.Style != Quoted || found >= 0 {
			return
		}
		start, end := d.Offsets(n)
		text := d.text.Data[start:end]
		if !strings.HasPrefix(text, `"`) {
			return
		}
		for i := 0; i+1 < len(text); i++ {
			if text[i] == '\\' {
				if i++; text[i] == '/' {
					found = start + i - 1
					return
				}
			}
		}
	}
	n.Walk(func(_ Path, n *Node) bool {
		scalar(n)
		for i := range n.Fields() {
			scalar(n.Fields()[i].Key())
		}
		return found < 0
	})
	return found
}

// RawOffset leads an offset in Text to the raw file.
func (d *Document) RawOffset(off int) int {
	if d.raw == nil {
		return off
	}
	return d.raw(off)
}

// read parses one document. Sure is false if clusterctl's parser may see it
// differently.
func read(data string) (n *Node, sure bool, err error) {
	if off := controlCharacter(data); off >= 0 {
		p := NewFile("", data).Pos(off)
		return nil, false, &valueError{int32(p.Line), int32(p.Column), ErrControl}
	}
	var root yaml.Node
	loader, err := yaml.NewLoader(strings.NewReader(data))
	if err == nil {
		err = loader.Load(&root)
	}
	if errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0 {
		return &Node{Kind: Null, line: 1, col: 1}, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if strings.IndexByte(data, '*') >= 0 {
		if err := checkAliases(&root); err != nil {
			return nil, false, err
		}
	}
	b := builder{anchors: map[*yaml.Node]*Node{}, long: longLines(data)}
	n, err = b.build(root.Content[0])
	return n, !b.second && !hasOtherBreak(data) && !tabIndent(data) && !endMark(data) && !strings.Contains(data, `\/`), err
}

// unread returns where the text begins that clusterctl drops from a chunk, or -1: its
// parser stops after one document. Split looks for separators at the lines of a File,
// and the parser also at ..., at the other line breaks of YAML 1.1, and where text
// cannot belong to the document, such as after a less indented line.
func (d *Document) unread(data string) int {
	if d.lines == nil && !d.odd && !endMark(data) || !d.Root.Is(Map) && !d.Root.Is(Null) {
		return -1
	}
	decoder := goyaml.NewDecoder(strings.NewReader(normalize(data)))
	var err error
	for first := true; ; first = false {
		var v any
		if err = decoder.Decode(&v); err != nil || v != nil && !first {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		return -1
	}
	bad := 0 // the line before the one at which the parser gives up, which has no mark
	if err != nil {
		_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &bad)
	}
	begun, ended, last := false, false, 0
	for off, next, n := 0, 0, 1; next >= 0; off, n = next, n+1 {
		line := data[off:]
		if next = nextLineOf(data, off); next >= 0 {
			line = data[off:next]
		}
		text := strings.Trim(line, " \t\r\n\u0085\u2028\u2029")
		mark := strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")
		if mark {
			ended = begun
			text = strings.TrimSpace(text[3:])
		}
		if something := text != "" && text[0] != '#'; something && ended {
			return off
		} else if begun = begun || mark || something; something && n <= bad+1 {
			last = off
		}
	}
	return last
}

// separated returns where text begins on a separator line that Split treats as a comment,
// because a parser would see the next line there, or -1.
func separated(line string) int {
	if !hasOtherBreak(line) {
		return -1
	}
	for off := nextLineOf(line, 0); off >= 0 && off < len(line); off = nextLineOf(line, off) {
		if text := strings.TrimLeft(line[off:], "- \t\r\n\u0085\u2028\u2029"); text != "" && text[0] != '#' {
			return off
		}
	}
	return -1
}

// nextLineOf returns where a YAML parser sees the next line begin after an offset, or -1
// if there is no further line break.
func nextLineOf(data string, off int) int {
	for i, r := range data[off:] {
		switch r {
		case '\r':
			if strings.HasPrefix(data[off+i:], "\r\n") {
				continue
			}
			fallthrough
		case '\n', nextLine, lineSeparator, paragraphSeparator:
			return off + i + utf8.RuneLen(r)
		}
	}
	return -1
}

// endMark reports whether a line may end the document before the text does.
func endMark(data string) bool {
	return strings.HasPrefix(data, "...") || strings.Contains(data, "\n...")
}

// tabIndent reports whether a tab may stand where only spaces indent, also behind
// the indicators that begin an entry: the parsers disagree about such lines.
func tabIndent(data string) bool {
	if strings.IndexByte(data, '\t') < 0 {
		return false
	}
	for line := range strings.Lines(data) {
		if rest := strings.TrimLeft(line, " -?:"); rest != "" && rest[0] == '\t' {
			return true
		}
	}
	return false
}

// Line breaks of YAML 1.1 that end no line of a File. Another one is a CR without
// LF.
const nextLine, lineSeparator, paragraphSeparator = '\u0085', '\u2028', '\u2029'

func hasOtherBreak(data string) bool {
	for rest := data; ; {
		i := strings.IndexByte(rest, '\r')
		if i < 0 {
			break
		}
		if rest = rest[i+1:]; len(rest) == 0 || rest[0] != '\n' {
			return true
		}
	}
	return strings.ContainsRune(data, nextLine) || strings.ContainsRune(data, lineSeparator) ||
		strings.ContainsRune(data, paragraphSeparator)
}

// otherLines returns where the lines of a text begin for a YAML parser, or nil if
// they are those of a File.
func otherLines(data string) []int {
	if !hasOtherBreak(data) {
		return nil
	}
	lines := []int{0}
	for off := nextLineOf(data, 0); off >= 0; off = nextLineOf(data, off) {
		lines = append(lines, off)
	}
	return lines
}

// controlCharacter returns the offset of the first character from DEL to the end
// of the C1 controls, or -1. The parser with positions lets them pass,
// clusterctl's does not.
func controlCharacter(data string) int {
	for i := range len(data) {
		if b := data[i]; b == 0x7F || b == 0xC2 && i+1 < len(data) && data[i+1] >= 0x80 && data[i+1] < 0xA0 && data[i+1] != 0x85 {
			return i
		}
	}
	return -1
}

func equal(v map[string]any, n *Node) bool {
	if v == nil {
		return n.Kind == Null
	}
	return reflect.DeepEqual(v, n.Value())
}

// fromValue builds nodes from a decoded value. They all stand at the start of
// the document.
func fromValue(v any) *Node {
	n := &Node{}
	switch v := v.(type) {
	case bool:
		n = NewScalar(Bool, Plain, strconv.FormatBool(v))
	case float64:
		if i := int64(v); float64(i) == v {
			n = NewScalar(Int, Plain, strconv.FormatInt(i, 10))
		} else {
			n = NewScalar(Float, Plain, strconv.FormatFloat(v, 'g', -1, 64))
		}
	case string:
		n = NewScalar(String, Quoted, v)
	case []any:
		n = NewList(phrase.List(v, fromValue))
	case map[string]any:
		if v == nil {
			break
		}
		fields := make([]Field, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, newField(name, fromValue(name), fromValue(v[name])))
		}
		n = NewMap(fields)
	}
	n.line, n.col = 1, 1
	return n
}

// fail sets Err from a parser's or builder's error.
func (d *Document) fail(err error) {
	line, col := 1, 1
	var load *yaml.LoadError
	var at *valueError
	switch {
	case errors.As(err, &load):
		if load.Mark.Line > 0 {
			line, col = load.Mark.Line, max(load.Mark.Column, 1)
		}
		msg := load.Message
		if load.ContextMsg != "" {
			msg = load.ContextMsg + ": " + msg
		}
		err = errors.New(msg)
		if strings.Contains(msg, ErrAnchor.Error()) { // the parser has one type for all
			err = &caused{err, ErrAnchor}
		}
	case errors.As(err, &at):
		line, col = int(at.line), int(at.col)
	}
	d.Err = &Error{File: d.File.Name, Pos: d.pos(line, col), Err: fmt.Errorf("not YAML: %w", err)}
}

// pos translates a place in the parsed document to the raw file.
func (d *Document) pos(line, col int) Pos {
	p := d.place(line, col)
	if d.raw == nil {
		if line > 1 && p.Line > len(d.text.lines()) {
			p = d.text.Pos(len(d.text.Data)) // a parser that missed something at the end
		}
		return p
	}
	return d.File.Pos(d.raw(d.text.Offset(p)))
}

// place translates a place in the parsed document to the text.
func (d *Document) place(line, col int) Pos {
	if d.lines == nil {
		return Pos{Line: d.line + line, Column: col}
	}
	data := d.text.Data[d.start : d.start+d.len]
	off := d.lines[min(line, len(d.lines))-1]
	for ; col > 1 && off < len(data); col-- {
		_, w := utf8.DecodeRuneInString(data[off:])
		off += w
	}
	return d.text.Pos(d.start + off)
}

// Pos returns where a value of this document begins in the raw file. The
// position of nil is that of the document.
func (d *Document) Pos(n *Node) Pos {
	if n == nil {
		if d.Root == nil {
			if d.Err != nil {
				return d.Err.Pos
			}
			return d.pos(1, 1)
		}
		n = d.Root
	}
	return d.pos(int(n.line), int(n.col))
}

// Offsets returns the byte range of a scalar in the parsed text, see Text. For
// maps and lists it is the first byte.
func (d *Document) Offsets(n *Node) (start, end int) {
	limit := d.start + d.len
	start = min(d.text.Offset(d.place(int(n.line), int(n.col))), limit)
	rest := d.text.Data[start:limit]
	if n.Kind == Map || n.Kind == List || len(rest) == 0 {
		return start, start
	}
	switch n.Style {
	case Quoted:
		q := rest[0]
		if q != '"' && q != '\'' {
			break // behind a tag or anchor
		}
		for i := 1; i < len(rest); i++ {
			switch {
			case rest[i] == '\\' && q == '"':
				i++
			case rest[i] == q && q == '\'' && i+1 < len(rest) && rest[i+1] == q:
				i++
			case rest[i] == q:
				return start, start + i + 1
			}
		}
	case Plain:
		if strings.HasPrefix(rest, n.Text()) {
			return start, start + len(n.Text())
		}
	case Block:
		return start, d.blockEnd(start, int(n.line))
	}
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		return start, start + i
	}
	return start, start + len(rest)
}

// blockEnd finds the end of a block scalar whose header is at offset start: the
// first line that is neither blank nor deeper than the line of the header.
func (d *Document) blockEnd(start, line int) int {
	data := d.text.Data[:d.start+d.len]
	indentOf := func(off int) (n int, blank bool) {
		for off < len(data) && data[off] == ' ' {
			off, n = off+1, n+1
		}
		return n, off >= len(data) || data[off] == '\n' || data[off] == '\r'
	}
	head, _ := indentOf(d.text.Offset(d.place(line, 1)))
	// A block scalar in a list item is indented past the dash.
	off := start
	for {
		i := strings.IndexByte(data[off:], '\n')
		if i < 0 {
			return len(data)
		}
		next := off + i + 1
		if n, blank := indentOf(next); !blank && n <= head {
			return off + i
		}
		off = next
	}
}

// Text returns the text that was parsed: the raw file or, with variables
// substituted, what clusterctl parses.
func (d *Document) Text() string { return d.text.Data }

// Derived reports whether the document was parsed from a different text than the raw
// file.
func (d *Document) Derived() bool { return d.raw != nil }

// Range returns the byte range of the document in Text.
func (d *Document) Range() (start, end int) { return d.start, d.start + d.len }

// End returns the position just behind a scalar that stands on one line, and
// otherwise the end of the line it begins on.
func (d *Document) End(n *Node) Pos {
	if n == nil {
		n = d.Root
	}
	if n == nil {
		return Pos{}
	}
	p := d.Pos(n)
	end := d.File.lineEnd(p.Line)
	if (n.Style == Plain || n.Style == Quoted) && n.Kind != Map && n.Kind != List {
		_, off := d.Offsets(n)
		if q := d.File.Pos(d.RawOffset(off)); q.Line == p.Line && q.Column > p.Column {
			return q
		}
	}
	return end
}

// valueError is a value that cannot be converted.
type valueError struct {
	line, col int32
	err       error
}

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

// builder converts the parser's nodes.
type builder struct {
	anchors map[*yaml.Node]*Node
	// second is set by anchors, aliases, tags, and odd entries of flow maps,
	// which the two parsers judge differently: a second opinion is needed.
	second bool
	// flow counts the flow lists and maps around a value.
	flow int
	// long are the numbers of lines on which a key can be too long.
	long []int
}

func (b *builder) node(y *yaml.Node) *Node { return &Node{line: int32(y.Line), col: int32(y.Column)} }

func (b *builder) build(y *yaml.Node) (*Node, error) {
	if y.Anchor != "" || y.Kind == yaml.AliasNode || y.Style&yaml.TaggedStyle != 0 || y.Tag == "!" {
		b.second = true
	}
	if y.Kind == yaml.AliasNode {
		if target := b.anchors[y.Alias]; target != nil {
			return target, nil
		}
		return b.build(y.Alias) // named in a place that was skipped, such as a key
	}
	n := b.node(y)
	if y.Style&yaml.FlowStyle != 0 {
		b.flow++
		defer func() { b.flow-- }()
	}
	var err error
	switch y.Kind {
	case yaml.ScalarNode:
		if b.flow > 0 && y.Style&quotedStyles == 0 && indicates(y.Value) {
			b.second = true
		}
		err = b.scalar(n, y)
	case yaml.SequenceNode:
		n.Kind = List
		items := make([]*Node, len(y.Content))
		for i, c := range y.Content {
			if items[i], err = b.build(c); err != nil {
				return nil, err
			}
		}
		n.setItems(items)
	case yaml.MappingNode:
		var fields []Field
		fields, err = b.mapping(y)
		n.Kind = Map
		n.setFields(fields)
	default:
		err = b.errorf(y, "unexpected content")
	}
	if err != nil {
		return nil, err
	}
	if y.Anchor != "" {
		b.anchors[y] = n
	}
	return n, nil
}

// indicates reports whether clusterctl's parser may take a part of a plain
// scalar in a flow collection for an indicator: there every ? begins a key, and
// a : at the beginning a value.
func indicates(plain string) bool {
	return strings.HasPrefix(plain, ":") || strings.Contains(plain, "?")
}

// isEmpty reports whether a scalar has no text.
func isEmpty(y *yaml.Node) bool { return y.Kind == yaml.ScalarNode && y.Value == "" }

func (b *builder) errorf(y *yaml.Node, format string, args ...any) error {
	return &valueError{int32(y.Line), int32(y.Column), fmt.Errorf(format, args...)}
}

const quotedStyles = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle
const blockStyles = yaml.LiteralStyle | yaml.FoldedStyle

func (b *builder) scalar(n *Node, y *yaml.Node) error {
	v, err := scalarValue(y)
	if err != nil {
		return b.errorf(y, "%w", err)
	}
	n.setText(y.Value)
	switch {
	case y.Style&quotedStyles != 0:
		n.Style = Quoted
	case y.Style&blockStyles != 0:
		n.Style = Block
	}
	switch x := v.(type) {
	case nil:
		n.Kind = Null
	case bool:
		n.Kind = Bool
	case int64, uint64:
		n.Kind = Int
	case float64:
		n.Kind = Float
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return b.errorf(y, "%s %w", y.Value, ErrNumber)
		}
	case string:
		n.Kind = String
		n.setText(x)
	}
	return nil
}

func scalarValue(y *yaml.Node) (any, error) {
	switch {
	case y.Style&yaml.TaggedStyle != 0:
		return tagged(y.ShortTag(), y.Value)
	case y.Style&(quotedStyles|blockStyles) != 0, y.Tag == "!":
		return y.Value, nil // "!" is the tag that says: no guessing
	}
	return resolve(y.Value), nil
}

// mapping returns the entries of a map.
func (b *builder) mapping(y *yaml.Node) ([]Field, error) {
	fields := make([]Field, 0, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if b.longKey(key, value) {
			b.second = true
		}
		if y.Style&yaml.FlowStyle != 0 && (isEmpty(key) || isEmpty(value) || key.Line != value.Line) {
			b.second = true
		}
		if key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Style&(quotedStyles|blockStyles) == 0 &&
			(key.Style&yaml.TaggedStyle == 0 || key.ShortTag() == "!!merge") {
			merged, err := b.merge(value)
			if err != nil {
				return nil, err
			}
			fields = append(fields, merged...)
			continue
		}
		k, err := b.build(key)
		if err != nil {
			// A key may be a number that no value may be, such as .inf.
			if key.Kind != yaml.ScalarNode {
				return nil, err
			}
			k = b.node(key)
			k.Kind = String
			k.setText(key.Value)
		}
		if k.Kind == Map || k.Kind == List {
			return nil, b.errorf(key, "a %s %w", k.Kind, ErrKey)
		}
		// An alias as key stands for the scalar it names.
		scalar := key
		if key.Kind == yaml.AliasNode {
			scalar = key.Alias
		}
		kv, err := scalarValue(scalar)
		if err != nil {
			return nil, b.errorf(key, "%w", err)
		}
		name, ok := keyName(kv)
		if !ok {
			return nil, b.errorf(key, "%q %w", key.Value, ErrKey)
		}
		v, err := b.build(value)
		if err != nil {
			return nil, err
		}
		fields = append(fields, newField(name, k, v))
	}
	return fields, nil
}

// keyLimit is the most characters from a key to its colon that clusterctl's parser
// reads.
const keyLimit = 1024

// longLines returns the numbers of the lines that have more bytes than keyLimit.
func longLines(data string) []int {
	var out []int
	for n := 1; len(data) > 0; n++ {
		end := cmp.Or(strings.IndexByte(data, '\n')+1, len(data))
		if end > keyLimit {
			out = append(out, n)
		}
		data = data[end:]
	}
	return out
}

// longKey reports whether there may be more than keyLimit characters from a key to
// its colon.
func (b *builder) longKey(key, value *yaml.Node) bool {
	if len(b.long) == 0 {
		return false
	}
	if key.Line == value.Line {
		return value.Column-key.Column > keyLimit
	}
	_, long := slices.BinarySearch(b.long, key.Line)
	return long
}

// merge returns the entries that a merge key brings in. As in sigs.k8s.io/yaml
// they override what stands before the merge key and not what follows; of a
// list of maps the first has precedence.
func (b *builder) merge(y *yaml.Node) ([]Field, error) {
	var fields []Field
	sources := []*yaml.Node{y}
	if y.Kind == yaml.SequenceNode {
		sources = slices.Clone(y.Content)
		slices.Reverse(sources)
	}
	for _, s := range sources {
		target := s
		if s.Kind == yaml.AliasNode {
			target = s.Alias
		}
		if target.Kind != yaml.MappingNode {
			return nil, b.errorf(s, "map merge requires map or sequence of maps as the value")
		}
		m, err := b.build(s)
		if err != nil {
			return nil, err
		}
		for _, f := range m.Fields() {
			f.Merged = true
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// checkAliases refuses documents whose aliases run in circles or blow them up,
// the latter at the same point as sigs.k8s.io/yaml does, so that nobody has to
// walk them.
func checkAliases(root *yaml.Node) error {
	var steps, inAlias, depth int
	open := map[*yaml.Node]bool{}
	var walk func(n *yaml.Node) error
	walk = func(n *yaml.Node) error {
		steps++
		if depth > 0 {
			inAlias++
		}
		if inAlias > 100 && steps > 1000 && float64(inAlias)/float64(steps) > aliasShare(steps) {
			return &valueError{int32(n.Line), int32(n.Column), errors.New("document contains excessive aliasing")}
		}
		if n.Kind == yaml.AliasNode {
			if open[n.Alias] {
				return &valueError{int32(n.Line), int32(n.Column), fmt.Errorf("anchor %q value contains itself", n.Value)}
			}
			depth++
			defer func() { depth-- }()
			return walk(n.Alias)
		}
		if n.Anchor != "" {
			open[n] = true
			defer delete(open, n)
		}
		for _, c := range n.Content {
			if err := walk(c); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(root)
}

// aliasShare is the allowed share of values that are reached through aliases:
// nearly all in a small document, a tenth in a very large one.
func aliasShare(steps int) float64 {
	const low, high = 400_000, 4_000_000
	switch {
	case steps <= low:
		return 0.99
	case steps >= high:
		return 0.10
	}
	return 0.99 - 0.89*(float64(steps-low)/float64(high-low))
}
