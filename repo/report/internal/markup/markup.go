// Package markup has what formats are made of: it builds documents and prints them as
// text, Markdown or HTML, writes structs as JSON and describes them as JSON schemas,
// writes texts so that terminals and parsers show what they are, and draws graphs. It
// must not know what any of it means.
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
		fmt.Fprintf(&b, ` %s="%s"`, pairs[i], attribute.Replace(Text(pairs[i+1])))
	}
	return b.String()
}

// Text writes a text between tags.
func Text(s string) string { return special.Replace(clean(s)) }

var (
	special   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")
	attribute = strings.NewReplacer("\n", "&#10;", "\t", "&#9;") // parsers make blanks of them
)

// clean puts the replacement character where a text has what XML cannot hold, not even
// as a reference.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7F && r < 0xA0 || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, s)
}
