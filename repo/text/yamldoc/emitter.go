package yamldoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v2"
)

// emitter writes values as yaml v2 does, which sigs.k8s.io/yaml uses: the same
// bytes, several times faster. It gives up at what is rare: keys that are long or
// have several lines, text whose trailing line breaks have to be kept, characters
// that have to be escaped by their number. Then sigs.k8s.io/yaml writes the document;
// the tests hold the two equal.
//
// Every method returns false to give up.
type emitter struct {
	out  []byte
	keys []string // of the maps that are open
}

// emit writes one document. It returns nil if the other writer has to do it.
func emit(v any) []byte {
	e := emitter{out: make([]byte, 0, 4096)}
	ok := false
	switch v := v.(type) {
	case map[string]any:
		ok = len(v) > 0 && e.mapping(v, 0, true)
	case []any:
		ok = len(v) > 0 && e.list(v, 0, true)
	}
	if !ok {
		return nil
	}
	e.endLine()
	return e.out
}

// indentStep is the indentation of each level.
const indentStep = 2

// endLine begins a new line, unless the text of the last one did.
func (e *emitter) endLine() {
	if n := len(e.out); n > 0 && e.out[n-1] != '\n' {
		e.out = append(e.out, '\n')
	}
}

func (e *emitter) indent(n int) {
	e.endLine()
	e.spaces(n)
}

func (e *emitter) spaces(n int) {
	for ; n > len(blanks); n -= len(blanks) {
		e.out = append(e.out, blanks...)
	}
	e.out = append(e.out, blanks[:n]...)
}

const blanks = "                                                                "

// mapping writes the entries of a map; here says that the first one continues the
// line.
func (e *emitter) mapping(m map[string]any, indent int, here bool) bool {
	mark := len(e.keys)
	for key := range m {
		e.keys = append(e.keys, key)
	}
	slices.SortFunc(e.keys[mark:], compareKeys)
	end := len(e.keys)
	for i := mark; i < end; i++ {
		if !here {
			e.indent(indent)
		}
		here = false
		key := e.keys[i]
		if len(key) > safeKey || !e.scalar(key, indent, true) {
			return false
		}
		e.out = append(e.out, ':')
		if !e.value(m[key], indent, false) {
			return false
		}
	}
	e.keys = e.keys[:mark]
	return true
}

// list writes the items of a list; here says that the first one continues the
// line.
func (e *emitter) list(items []any, indent int, here bool) bool {
	for _, item := range items {
		if !here {
			e.indent(indent)
		}
		here = false
		e.out = append(e.out, '-')
		if !e.value(item, indent, true) {
			return false
		}
	}
	return true
}

// value writes the value of a key, or an item, which begins on the line of its dash.
func (e *emitter) value(v any, indent int, item bool) bool {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			if item {
				e.out = append(e.out, ' ')
			}
			return e.mapping(v, indent+indentStep, item)
		}
		return e.empty(v == nil, "{}")
	case []any:
		if len(v) > 0 && item {
			e.out = append(e.out, ' ')
			return e.list(v, indent+indentStep, true)
		}
		if len(v) > 0 {
			return e.list(v, indent, false)
		}
		return e.empty(v == nil, "[]")
	}
	return e.plainValue(v, indent)
}

func (e *emitter) empty(null bool, text string) bool {
	if null {
		text = "null"
	}
	e.out = append(append(e.out, ' '), text...)
	return true
}

// plainValue writes a value that is neither map nor list.
func (e *emitter) plainValue(v any, indent int) bool {
	e.out = append(e.out, ' ')
	switch v := v.(type) {
	case nil:
		e.out = append(e.out, "null"...)
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case int:
		e.out = strconv.AppendInt(e.out, int64(v), 10)
	case int64:
		e.out = strconv.AppendInt(e.out, v, 10)
	case uint64:
		e.out = strconv.AppendUint(e.out, v, 10)
	case float64:
		return e.float(v)
	case string:
		return e.scalar(v, indent, false)
	default:
		return false
	}
	return true
}

// float writes what becomes of a number on the way through JSON.
func (e *emitter) float(v float64) bool {
	const exact = 1 << 53
	if v > -exact && v < exact && v == float64(int64(v)) {
		e.out = strconv.AppendInt(e.out, int64(v), 10)
		return true
	}
	text, err := json.Marshal(v)
	if err != nil {
		return false
	}
	switch x := resolve(string(text)).(type) {
	case int64:
		e.out = strconv.AppendInt(e.out, x, 10)
	case uint64:
		e.out = strconv.AppendUint(e.out, x, 10)
	case float64:
		e.out = strconv.AppendFloat(e.out, x, 'g', -1, 64)
	default:
		return false
	}
	return true
}

// forms are the ways in which a text can be written.
type forms struct{ plain, single, literal, lines bool }

// analyze decides how a text can be written, as yaml v2 does; ok is false if that
// is not known.
func analyze(s string) (f forms, ok bool) {
	f = forms{plain: true, single: true, literal: true}
	if s == "" {
		f.literal = false
		return f, true
	}
	if strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") || s[0] == ' ' || s[0] == '\n' {
		f.plain = false
	}
	if followed := len(s) == 1 || s[1] == ' ' || s[1] == '\t'; followed && strings.IndexByte("?:-", s[0]) >= 0 ||
		strings.IndexByte("#,[]{}&*!|>'\"%@`", s[0]) >= 0 {
		f.plain = false
	}
	if s[len(s)-1] == ' ' {
		f.plain, f.literal = false, false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if simple[c] {
			continue
		}
		switch {
		case c == '\n':
			f.plain, f.lines = false, true
			if i > 0 && s[i-1] == ' ' {
				f.single, f.literal = false, false
			}
			if i+1 < len(s) && s[i+1] == ' ' {
				f.single = false
			}
		case c == '\t':
			f.plain, f.single, f.literal = false, false, false
		case c == ':':
			if i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\t' {
				f.plain = false
			}
		case c == '#':
			if i > 0 && (s[i-1] == ' ' || s[i-1] == '\n' || s[i-1] == '\t') {
				f.plain = false
			}
		case c < 0xC2 || c >= 0xED:
			return f, false
		default:
			r, width := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError || r < 0xA0 || r == lineSeparator || r == paragraphSeparator {
				return f, false
			}
			i += width - 1
		}
	}
	return f, true
}

// simple are the characters that never change how a text is written, except at
// its beginning or end.
var simple = func() (t [256]bool) {
	for c := ' '; c < 0x7F; c++ {
		t[c] = c != ':' && c != '#'
	}
	return t
}()

// guessed reports whether a plain text would not be read as a string.
func guessed(s string) (bool, bool) {
	if s == "" {
		return true, true
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9', c == '+', c == '-':
		if isDate(s) || strings.IndexByte(s, ':') >= 0 {
			text, err := goyaml.Marshal(s) // a date, or a number of base 60
			return bytes.HasPrefix(text, []byte{'"'}), err == nil
		}
	case c == '.', strings.IndexByte("yYnNtTfFoO~", c) >= 0:
	default:
		return false, true
	}
	_, other := guess(s)
	return other, true
}

// scalar writes a text. The indentation is that of the map or list around it.
func (e *emitter) scalar(s string, indent int, key bool) bool {
	f, ok := analyze(s)
	if !ok || key && f.lines {
		return false
	}
	other, ok := guessed(s)
	switch {
	case !ok:
		return false
	case f.lines && f.literal:
		return e.literal(s, indent+indentStep)
	case f.lines, other, !f.single:
		e.double(s, indent+indentStep, key)
	case f.plain:
		e.fold(s, indent+indentStep, key, false)
	default:
		e.out = append(e.out, '\'')
		e.fold(s, indent+indentStep, key, true)
		e.out = append(e.out, '\'')
	}
	return true
}

// width is the column after which lines are folded.
const foldWidth = 80

// column counts the characters of the current line.
func (e *emitter) column() int {
	return utf8.RuneCount(e.out[bytes.LastIndexByte(e.out, '\n')+1:])
}

// fold writes a text of one line and folds it at single spaces.
func (e *emitter) fold(s string, indent int, key, quoted bool) {
	doubled := quoted && strings.IndexByte(s, '\'') >= 0
	column := 0
	if !key {
		column = e.column()
	}
	if !doubled && (key || column+len(s) <= foldWidth) {
		e.out = append(e.out, s...)
		return
	}
	spaces := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ':
			if !key && !spaces && column > foldWidth && (!quoted || i > 0 && i < len(s)-1) && i+1 < len(s) && s[i+1] != ' ' {
				e.out = append(e.out, '\n')
				e.spaces(indent)
				column = indent
			} else {
				e.out = append(e.out, ' ')
				column++
			}
			spaces = true
			continue
		case c == '\'' && quoted:
			e.out = append(e.out, '\'')
			column++
		}
		e.out = append(e.out, s[i])
		if startsRune(s[i]) {
			column++
		}
		spaces = false
	}
}

// double writes a text in double quotes and folds it at spaces.
func (e *emitter) double(s string, indent int, key bool) {
	e.out = append(e.out, '"')
	column := e.column()
	spaces := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\n', '\t', '"', '\\':
			e.out = append(e.out, '\\', cmp.Or(map[byte]byte{'\n': 'n', '\t': 't'}[c], c))
			column += 2
			spaces = false
		case ' ':
			if !key && !spaces && column > foldWidth && i > 0 && i < len(s)-1 {
				e.out = append(e.out, '\n')
				e.spaces(indent)
				column = indent
				if s[i+1] == ' ' {
					e.out = append(e.out, '\\')
					column++
				}
			} else {
				e.out = append(e.out, ' ')
				column++
			}
			spaces = true
		default:
			e.out = append(e.out, c)
			if startsRune(c) {
				column++
			}
			spaces = false
		}
	}
	e.out = append(e.out, '"')
}

// literal writes a text of several lines as it is.
func (e *emitter) literal(s string, indent int) bool {
	e.out = append(e.out, '|')
	if s[0] == ' ' || s[0] == '\n' {
		e.out = append(e.out, '0'+indentStep)
	}
	switch {
	case s[len(s)-1] != '\n':
		e.out = append(e.out, '-')
	case len(s) == 1, s[len(s)-2] == '\n':
		return false // its line breaks would have to be kept
	}
	e.out = append(e.out, '\n')
	for line := range strings.Lines(s) {
		if line != "\n" {
			e.spaces(indent)
		}
		e.out = append(e.out, line...)
	}
	return true
}

// compareKeys orders keys as yaml v2 does: letters after other characters, digits
// by the number they form.
func compareKeys(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i < len(a) && i < len(b) && isASCIILetter(a[i]) && isASCIILetter(b[i]) {
		return int(a[i]) - int(b[i])
	}
	if lessKey([]rune(a), []rune(b)) {
		return -1
	}
	if lessKey([]rune(b), []rune(a)) {
		return 1
	}
	return 0
}

func isASCIILetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func lessKey(a, b []rune) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) < len(b)
	}
	letterA, letterB := unicode.IsLetter(a[i]), unicode.IsLetter(b[i])
	if letterA && letterB {
		return a[i] < b[i]
	}
	if letterA || letterB {
		return letterB
	}
	// Zeros count inside a number, but not at its beginning.
	var numberA, numberB int64
	if a[i] == '0' || b[i] == '0' {
		for j := i - 1; j >= 0 && unicode.IsDigit(a[j]); j-- {
			if a[j] != '0' {
				numberA, numberB = 1, 1
				break
			}
		}
	}
	endA, endB := i, i
	for ; endA < len(a) && unicode.IsDigit(a[endA]); endA++ {
		numberA = numberA*10 + int64(a[endA]-'0')
	}
	for ; endB < len(b) && unicode.IsDigit(b[endB]); endB++ {
		numberB = numberB*10 + int64(b[endB]-'0')
	}
	if numberA != numberB {
		return numberA < numberB
	}
	if endA != endB {
		return endA < endB
	}
	return a[i] < b[i]
}
