package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Lines makes each line of a text visible.
func Lines(s string) string {
	return strings.Join(phrase.List(strings.Split(s, "\n"), func(line string) string {
		return phrase.Visible(strings.TrimSuffix(line, "\r"))
	}), "\n")
}

// OneLine joins the lines of a text for people.
func OneLine(s string) string {
	return phrase.Visible(strings.NewReplacer("\r\n", " ", "\n", " ").Replace(s))
}

// Span is a part of a text.
type Span struct {
	Text string
	Code bool
}

// Spans splits a text at its backticks, between which rules write code.
func Spans(s string) (out []Span) {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 { // one is left over
		parts = []string{s}
	}
	for i, part := range parts {
		if part != "" {
			out = append(out, Span{part, i%2 == 1})
		}
	}
	return out
}

// Prose escapes a text so that Markdown shows it as it is, as one line of a
// table or list: no markup, no HTML, no formulas, and none of the references
// that the forges make of @name, #1, !1 and addresses.
func Prose(s string) string {
	s = OneLine(s)
	var b strings.Builder
	for i, r := range s {
		switch r {
		case '\\', '`', '*', '_', '[', ']', '<', '>', '&', '|', '~', '^':
			fmt.Fprintf(&b, "&#%d;", r)
		case '@', '#', '!':
			// Forges look for references in the text that is left when the
			// markup is gone; a space without width is still there then.
			fmt.Fprintf(&b, "%c&#8203;", r)
		case '$':
			b.WriteString("<span>$</span>")
		case ':':
			b.WriteRune(r)
			if rest := s[i+1:]; rest != "" && rest[0] != ' ' { // an address, or :100: for a picture
				b.WriteString("&#8203;")
			}
		case '.':
			b.WriteRune(r)
			if i >= 3 && strings.EqualFold(s[i-3:i], "www") { // an address too
				b.WriteString("&#8203;")
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// RuleProse is prose for the texts of rules, which have code in backticks.
func RuleProse(s string) string {
	var b strings.Builder
	for _, span := range Spans(s) {
		if span.Code {
			b.WriteString(CodeSpan(phrase.Visible(span.Text)))
		} else {
			b.WriteString(Prose(span.Text))
		}
	}
	return b.String()
}

// Printable quotes a text that would spoil a line or the terminal. Texts come
// from unchecked files.
func Printable(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(s)
	}
	return s
}

// CodeSpan makes a code span for a cell of a Markdown table. The fence is longer
// than any row of backticks in the text.
func CodeSpan(s string) string {
	s = Printable(s)
	if strings.Contains(s, `\|`) { // which would end the cell, however it is escaped
		return "<code>" + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", `\`, "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "~", "&#126;").Replace(s) + "</code>"
	}
	s = strings.ReplaceAll(s, "|", `\|`)
	longest, run := 0, 0
	for i := range len(s) {
		run++
		if s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	if longest == 0 {
		return "`" + s + "`"
	}
	fence := strings.Repeat("`", longest+1)
	return fence + " " + s + " " + fence
}
