// Package markup writes texts so that XML, SVG and HTML parsers read the same from
// them, and draws graphs. It must not know what the texts mean.
package markup

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Attrs writes pairs of a name, which is a constant of the program, and a value as
// attributes, each with a blank before it.
func Attrs(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, ` %s="%s"`, pairs[i], escape(pairs[i+1], true))
	}
	return b.String()
}

// Text writes a text between tags.
func Text(s string) string { return escape(s, false) }

// escape writes a text for elements and attributes. What XML cannot hold, not
// even as a reference, becomes the replacement character.
func escape(s string, attr bool) string {
	plain := func(r rune) bool {
		return r >= ' ' && r < 0x7F && r != '&' && r != '<' && r != '>' && r != '"' && r != '\''
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case plain(r):
			b.WriteByte(byte(r))
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\'':
			b.WriteString("&#39;")
		case attr && r == '\n': // parsers make a blank of it
			b.WriteString("&#10;")
		case attr && r == '\t':
			b.WriteString("&#9;")
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0xA0 || r == 0xFFFE || r == 0xFFFF:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
