package clusterclass

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// CheckExpression returns why a text is no expression in CEL, as far as the
// grammar says so (Common Expression Language, Language Definition, Syntax).
// Names and types are not looked at.
func CheckExpression(text string) error {
	const deepest = 200 // more than anybody nests, less than the stack holds
	p := celParser{text: text, most: deepest}
	p.next()
	p.expression()
	if p.err == nil && p.token.kind != celEnd {
		p.fail("unexpected %s", p.token.text)
	}
	return p.err
}

type celKind int

const (
	celEnd celKind = iota
	celName
	celLiteral
	celSign
)

type celToken struct {
	kind celKind
	text string
}

type celParser struct {
	text  string
	at    int
	token celToken
	// before is the first byte of the field name before the token.
	before byte
	depth  int
	most   int
	err    error
}

func (p *celParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
	p.token = celToken{}
	p.at = len(p.text)
}

// is reports whether the current token is a sign or the word in.
func (p *celParser) is(texts ...string) bool {
	return p.token.kind != celLiteral && p.token.kind != celEnd && slices.Contains(texts, p.token.text)
}

func (p *celParser) accept(text string) bool {
	if !p.is(text) {
		return false
	}
	p.next()
	return true
}

func (p *celParser) expect(text string) {
	if p.accept(text) || p.err != nil {
		return
	}
	if p.token.kind == celEnd {
		p.fail("%s is missing at the end", text)
		return
	}
	p.fail("%s instead of %s", p.token.text, text)
}

// celLevels are the operators of two operands, the weakest first.
var celLevels = [...][]string{{"||"}, {"&&"}, {"<", "<=", ">", ">=", "==", "!=", "in"}, {"+", "-"}, {"*", "/", "%"}}

func (p *celParser) expression() {
	if p.depth++; p.depth > p.most {
		p.fail("the expression is nested more than %d times", p.most)
	}
	defer func() { p.depth-- }()
	p.binary(0)
	if p.accept("?") {
		p.binary(0)
		p.expect(":")
		p.expression()
	}
}

func (p *celParser) binary(level int) {
	if level == len(celLevels) {
		p.unary()
		return
	}
	p.binary(level + 1)
	for p.is(celLevels[level]...) {
		p.next()
		p.binary(level + 1)
	}
}

func (p *celParser) unary() {
	if sign := p.token.text; p.is("!", "-") {
		for p.accept(sign) {
		}
	}
	names := p.primary() // so far only names and dots
	for p.err == nil {
		switch {
		case p.accept("."):
			optional := p.accept("?")
			if !p.fieldName() {
				return
			}
			if escaped := p.before == '`'; !escaped && !optional && p.accept("(") {
				p.list(")", p.expression)
				names = false
			} else {
				names = names && !escaped && !optional
			}
		case p.accept("["):
			p.accept("?")
			p.expression()
			p.expect("]")
			names = false
		case names && p.accept("{"):
			p.list("}", p.member)
			names = false
		default:
			return
		}
	}
}

// fieldName reads a name that may be escaped, and may be reserved.
func (p *celParser) fieldName() bool {
	if p.token.kind != celName || p.is("in") {
		p.unexpected("the name of a field")
		return false
	}
	p.before = p.token.text[0]
	p.next()
	return true
}

func (p *celParser) unexpected(instead string) {
	if p.token.kind == celEnd {
		p.fail("%s is missing at the end", instead)
		return
	}
	p.fail("%s instead of %s", p.token.text, instead)
}

// celReserved are no names.
var celReserved = [...]string{"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}

// primary reads an operand; name reports whether it is nothing but a name.
func (p *celParser) primary() (name bool) {
	switch {
	case p.accept("("):
		p.expression()
		p.expect(")")
	case p.accept("["):
		p.list("]", func() { p.accept("?"); p.expression() })
	case p.accept("{"):
		p.list("}", p.entry)
	case p.token.kind == celLiteral:
		p.next()
	default:
		p.accept(".")
		if p.token.kind != celName || p.is("in") || slices.Contains(celReserved[:], p.token.text) || strings.HasPrefix(p.token.text, "`") {
			p.unexpected("a value")
			return false
		}
		p.next()
		if !p.accept("(") {
			return true
		}
		p.list(")", p.expression)
	}
	return false
}

// entry reads an entry of a map.
func (p *celParser) entry() {
	p.accept("?")
	p.expression()
	p.expect(":")
	p.expression()
}

// member reads a field of a message.
func (p *celParser) member() {
	p.accept("?")
	if p.fieldName() {
		p.expect(":")
		p.expression()
	}
}

// list reads elements up to its end. A comma may follow the last one, except for
// arguments.
func (p *celParser) list(end string, element func()) {
	if p.accept(end) {
		return
	}
	for p.err == nil {
		element()
		if p.accept(end) {
			return
		}
		p.expect(",")
		if end != ")" && p.accept(end) {
			return
		}
	}
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// next reads a token.
func (p *celParser) next() {
	for p.at < len(p.text) {
		if rest := p.text[p.at:]; strings.HasPrefix(rest, "//") {
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.at += end
		} else if strings.IndexByte(" \t\r\n\f", rest[0]) >= 0 {
			p.at++
		} else {
			break
		}
	}
	if p.at >= len(p.text) {
		p.token = celToken{}
		return
	}
	rest := p.text[p.at:]
	take := func(kind celKind, size int) {
		p.token = celToken{kind, rest[:size]}
		p.at += size
	}
	switch c := rest[0]; {
	case celQuote(rest) > 0:
		if size := celString(rest); size > 0 {
			take(celLiteral, size)
		} else {
			p.fail("a text has no end")
		}
	case digit(c), c == '.' && len(rest) > 1 && digit(rest[1]):
		take(celLiteral, celNumber(rest))
	case c == '`':
		size := 1
		for size < len(rest) && (letter(rest[size]) || digit(rest[size]) || strings.IndexByte(".-/ ", rest[size]) >= 0) {
			size++
		}
		if size == 1 || size == len(rest) || rest[size] != '`' {
			p.fail("an escaped name has no end")
			return
		}
		take(celName, size+1)
	case letter(c):
		size := 1
		for size < len(rest) && (letter(rest[size]) || digit(rest[size])) {
			size++
		}
		take(celName, size)
		if slices.Contains([]string{"true", "false", "null"}, p.token.text) {
			p.token.kind = celLiteral
		}
	default:
		for _, sign := range [...]string{"||", "&&", "<=", ">=", "==", "!="} {
			if strings.HasPrefix(rest, sign) {
				take(celSign, len(sign))
				return
			}
		}
		if strings.IndexByte("?:<>+-*/%!.,()[]{}", c) < 0 {
			_, size := utf8.DecodeRuneInString(rest)
			p.fail("%q has no meaning", rest[:size])
			return
		}
		take(celSign, 1)
	}
}

// celQuote returns where the quotes of a text begin, plus one; 0 if there is no
// text.
func celQuote(s string) int {
	i := 0
	for i < 2 && i < len(s) && strings.IndexByte("rRbB", s[i]) >= 0 {
		i++
	}
	if i == 2 && s[0]|0x20 == s[1]|0x20 || i >= len(s) || s[i] != '"' && s[i] != '\'' {
		return 0
	}
	if i == 2 && s[0]|0x20 != 'b' {
		return 0 // the r comes second
	}
	return i + 1
}

// celString returns the length of a text; 0 if it has no end or an unknown
// escape.
func celString(s string) int {
	i := celQuote(s) - 1
	raw := strings.ContainsAny(s[:i], "rR")
	quote := s[i : i+1]
	long := strings.HasPrefix(s[i:], strings.Repeat(quote, 3))
	if long {
		quote = strings.Repeat(quote, 3)
	}
	for i += len(quote); i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote)
		case (s[i] == '\n' || s[i] == '\r') && !long:
			return 0
		case s[i] == '\\' && !raw:
			size := celEscape(s[i+1:])
			if size == 0 {
				return 0
			}
			i += size
		}
	}
	return 0
}

// celEscape returns the length of what follows a backslash; 0 if it means
// nothing.
func celEscape(s string) int {
	if s == "" {
		return 0
	}
	size, digits := 0, "0123456789abcdefABCDEF"
	switch c := s[0]; {
	case strings.IndexByte("abfnrtv\"'\\?`", c) >= 0:
		return 1
	case c == 'x' || c == 'X':
		size = 3
	case c == 'u':
		size = 5
	case c == 'U':
		size = 9
	case c >= '0' && c <= '3':
		size, digits = 3, "01234567"
	}
	if size == 0 || len(s) < size {
		return 0
	}
	for _, c := range s[1:size] {
		if !strings.ContainsRune(digits, c) {
			return 0
		}
	}
	return size
}

// celNumber returns the length of a number.
func celNumber(s string) int {
	digits := func(i int) int {
		for i < len(s) && digit(s[i]) {
			i++
		}
		return i
	}
	unsigned := func(i int) int {
		if i < len(s) && (s[i] == 'u' || s[i] == 'U') {
			i++
		}
		return i
	}
	if strings.HasPrefix(s, "0x") && len(s) > 2 && strings.IndexByte("0123456789abcdefABCDEF", s[2]) >= 0 {
		i := 2
		for i < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i]) >= 0 {
			i++
		}
		return unsigned(i)
	}
	i := digits(0)
	float := false
	if i+1 < len(s) && s[i] == '.' && digit(s[i+1]) {
		i, float = digits(i+1), true
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && digit(s[j]) {
			return digits(j)
		}
	}
	if float {
		return i
	}
	return unsigned(i)
}
