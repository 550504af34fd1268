package vars

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/drone/envsubst/v2/parse"
)

// opLen is the Op of ${#A}, which has its operator in front of the name.
const opLen = "len"

var errTooDeep = fmt.Errorf("expressions are nested more than %d deep", maxDepth)

// piece is a part of the top level of a text: the span in Template.src that
// is copied to the result, or an expression if ref is not negative.
type piece struct{ start, end, ref int }

// arg is an argument of an expression: text, or an expression if ref is not
// negative.
type arg struct {
	text string
	ref  int
}

// operators lists the operators that follow a name, the longer of two with the
// same start first, with the rest of their grammar (envsubst: parse/parse.go).
var operators = sync.OnceValue(func() []operator {
	return []operator{
		{":-", (*parser).words}, {":=", (*parser).words}, {":+", (*parser).words}, {":?", (*parser).words}, {"=", (*parser).words},
		{":", (*parser).substring},
		{"##", (*parser).pattern}, {"#", (*parser).pattern}, {"%%", (*parser).pattern}, {"%", (*parser).pattern},
		{"//", (*parser).replacement}, {"/#", (*parser).replacement}, {"/%", (*parser).replacement}, {"/", (*parser).replacement},
		{"^^", (*parser).nothing}, {"^,", (*parser).nothing}, {"^", (*parser).nothing},
		{",,", (*parser).nothing}, {",^", (*parser).nothing}, {",", (*parser).nothing},
	}
})

type operator struct {
	text string
	rest func(p *parser, ref int) error
}

// parser is a recursive descent over src. Every method moves pos forward only.
type parser struct {
	*Template
	raw       string // the data
	full      string // src with what follows the NUL
	pos       int
	operators []operator
}

func (t *Template) parse(data string) error {
	p := parser{Template: t, raw: data, operators: operators()}
	var open int
	p.full, t.cuts, open = convertLegacy(p.raw)
	t.src, _, _ = strings.Cut(p.full, "\x00")
	t.data = data[:t.cuts.raw(len(t.src))]
	// Most files have few expressions, though scripts in them may have thousands of
	// escapes. Nothing has to grow for them.
	escapes := min(max(0, strings.Count(t.src, "$")-open)/2, 1<<13)
	open = min(open, 64)
	if open > 0 {
		t.refs, t.args = make([]Ref, 0, open), make([][]arg, 0, open)
	}
	if escapes > 0 {
		t.escapes = make([]escape, 0, escapes)
	}
	t.pieces = make([]piece, 0, 2*open+escapes+1)
	return p.top()
}

// top reads the top level of the text.
func (p *parser) top() error {
	literal := 0 // start of the text that is not yet in pieces
	flush := func(end int) {
		if literal < end {
			p.pieces = add(p.pieces, piece{literal, end, -1})
		}
	}
	for {
		i := strings.IndexByte(p.src[p.pos:], '$')
		if i < 0 {
			flush(len(p.src))
			return nil
		}
		p.pos += i
		switch {
		case p.has("${"):
			flush(p.pos)
			start := p.pos
			ref, err := p.expr(-1)
			if err != nil {
				return err
			}
			p.pieces = add(p.pieces, piece{start, p.pos, ref})
			literal = p.pos
		case p.has("$$"):
			flush(p.pos + 1)
			at := p.cuts.raw(p.pos)
			p.escapes = append(p.escapes, escape{at, at + 2})
			p.pos += 2
			literal = p.pos
		default:
			p.pos++
		}
	}
}

// add is append for lists that may become very long: it copies them half as often.
func add[T any](list []T, entry T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, len(list)+1)
	}
	return append(list, entry)
}

// expr reads an expression inside parent and returns its index.
func (p *parser) expr(parent int) (int, error) {
	start, ref := p.pos, len(p.refs)
	r := Ref{Parent: parent, Start: p.cuts.raw(start)}
	if parent >= 0 {
		r.Depth = p.refs[parent].Depth + 1
	}
	if r.Depth >= maxDepth {
		return 0, &Error{r.Start, errTooDeep}
	}
	p.refs, p.args = add(p.refs, r), add(p.args, nil)
	p.pos += len("${")
	if err := p.body(ref); err != nil {
		if _, nested := err.(*Error); nested {
			return 0, err
		}
		return 0, &Error{r.Start, err}
	}
	e := &p.refs[ref]
	e.End = p.cuts.raw(p.pos-1) + 1
	e.Legacy = e.Op == "" && e.End-e.Start != p.pos-start
	e.Default = p.shown(ref)
	return ref, nil
}

// body reads an expression from after its `${` to after its `}`.
func (p *parser) body(ref int) error {
	if p.skip("#") {
		p.refs[ref].Op = opLen
		if p.refs[ref].Name = p.name(); p.refs[ref].Name == "" {
			return parse.ErrBadSubstitution
		}
		return p.close(ref, p.pos)
	}
	if p.refs[ref].Name = p.name(); p.refs[ref].Name == "" {
		return parse.ErrParseVariableName
	}
	for _, op := range p.operators {
		if p.skip(op.text) {
			p.refs[ref].Op = op.text
			start := p.pos
			if err := op.rest(p, ref); err != nil {
				return err
			}
			return p.close(ref, start)
		}
	}
	if !p.has("}") {
		return parse.ErrMissingClosingBrace
	}
	return p.close(ref, p.pos)
}

// close reads the closing brace of an expression whose arguments began at start.
func (p *parser) close(ref, start int) error {
	if !p.has("}") {
		return parse.ErrBadSubstitution
	}
	p.refs[ref].ArgRaw = p.raw[p.cuts.raw(start):p.cuts.raw(p.pos)]
	p.pos++
	return nil
}

// nothing is the grammar of the operators without argument.
func (p *parser) nothing(int) error { return nil }

// words reads the arguments of a default: text and expressions in any number.
func (p *parser) words(ref int) error {
	for !p.has("}") {
		if err := p.word(ref, "}", false); err != nil {
			return err
		}
	}
	return nil
}

// pattern reads the one argument of a trim.
func (p *parser) pattern(ref int) error { return p.word(ref, "}", false) }

// substring reads offset and, after a colon or several, length.
func (p *parser) substring(ref int) error {
	// The library looks at the rune after the colon and steps back by the width
	// of that rune instead of the width of the colon.
	if _, width := utf8.DecodeRuneInString(p.full[p.pos:]); width != 1 {
		return parse.ErrBadSubstitution
	}
	if err := p.word(ref, ":}", false); err != nil {
		return err
	}
	if !p.skipAll(':') {
		return nil
	}
	return p.word(ref, "}", false)
}

// replacement reads a text, a slash or several, and a text that may be absent.
func (p *parser) replacement(ref int) error {
	if err := p.word(ref, "/", true); err != nil {
		return err
	}
	if !p.skipAll('/') {
		return parse.ErrBadSubstitution
	}
	if p.has("}") {
		return nil
	}
	return p.word(ref, "}", true)
}

// word reads one argument: an expression, or text up to an expression or one
// of the bytes in stop.
func (p *parser) word(ref int, stop string, escapes bool) error {
	if p.has("${") {
		nested, err := p.expr(ref)
		if err != nil {
			return err
		}
		p.args[ref] = append(p.args[ref], arg{ref: nested})
		return nil
	}
	var b strings.Builder
	start := p.pos // of the text that is not yet in b
	for p.pos < len(p.src) && strings.IndexByte(stop, p.src[p.pos]) < 0 && !p.has("${") {
		if escapes && (p.has("$$") || p.has(`\/`) || p.has(`\\`)) {
			b.WriteString(p.src[start:p.pos])
			start = p.pos + 1
			p.pos++
		}
		p.pos++
	}
	text := p.src[start:p.pos]
	if b.Len() > 0 {
		b.WriteString(text)
		text = b.String()
	}
	if text == "" {
		return parse.ErrParseFuncSubstitution
	}
	p.args[ref] = append(p.args[ref], arg{text: text, ref: -1})
	return nil
}

// name reads a name; it is empty if there is none.
func (p *parser) name() string {
	rest := p.src[p.pos:]
	if i := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }); i >= 0 {
		rest = rest[:i]
	}
	p.pos += len(rest)
	return rest
}

func (p *parser) has(s string) bool { return strings.HasPrefix(p.src[p.pos:], s) }

func (p *parser) skip(s string) bool {
	ok := p.has(s)
	if ok {
		p.pos += len(s)
	}
	return ok
}

// skipAll skips b as often as it comes and reports whether it came at all.
func (p *parser) skipAll(b byte) bool {
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos] == b {
		p.pos++
	}
	return p.pos > start
}

// shown returns the arguments as clusterctl shows them.
func (t *Template) shown(ref int) string {
	args := t.args[ref]
	if len(args) == 1 && args[0].ref < 0 {
		return args[0].text
	}
	var b strings.Builder
	for _, a := range args {
		if a.ref < 0 {
			b.WriteString(a.text)
		} else {
			b.WriteString("${" + t.refs[a.ref].Name + "}")
		}
	}
	return b.String()
}

// cuts tells where text was removed, in order.
type cuts []cut

// cut says that before the byte at offset at of the short text, removed bytes
// are missing in total.
type cut struct{ at, removed int }

// raw returns the offset in the long text of an offset in the short one.
func (c cuts) raw(off int) int {
	i := sort.Search(len(c), func(i int) bool { return c[i].at > off })
	if i == 0 {
		return off
	}
	return off + c[i-1].removed
}

// convertLegacy removes the white space around the name in ${ NAME }, also
// where it is not an expression (clusterctl: SimpleProcessor,
// convertLegacyVars). There a name may contain `$` and only ASCII. It also counts
// what may begin an expression.
func convertLegacy(s string) (converted string, c cuts, open int) {
	var b strings.Builder
	copied := 0 // how much of s is in b or was cut
	cutOut := func(start, end int) {
		if start < end {
			b.WriteString(s[copied:start])
			copied = end
			c = append(c, cut{b.Len(), copied - b.Len()})
		}
	}
	for pos := 0; ; {
		i := strings.Index(s[pos:], "${")
		if i < 0 {
			break
		}
		open++
		start := pos + i + len("${")
		name := spanEnd(s, start, legacySpace)
		nameEnd := spanEnd(s, name, legacyName)
		end := spanEnd(s, nameEnd, legacySpace)
		if name < nameEnd && end < len(s) && s[end] == '}' {
			cutOut(start, name)
			cutOut(nameEnd, end)
		}
		pos = start
	}
	if c == nil {
		return s, nil, open
	}
	b.WriteString(s[copied:])
	return b.String(), c, open
}

// spanEnd returns the end of the bytes from start on that satisfy in.
func spanEnd(s string, start int, in func(byte) bool) int {
	for start < len(s) && in(s[start]) {
		start++
	}
	return start
}

func legacySpace(c byte) bool { return strings.IndexByte(" \t\n\f\r", c) >= 0 }

func legacyName(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
