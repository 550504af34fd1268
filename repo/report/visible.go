package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible writes characters that cannot be seen, or that move others, as
// escapes. Texts come from files that nobody has checked, and go to terminals,
// logs and pages. The result is one line of valid UTF-8.
func visible(s string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		s = s[n:]
	}
	return b.String()
}

// visibleLines does the same with each line of a text.
func visibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = visible(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// oneLine joins the lines of a text for people.
func oneLine(s string) string {
	return visible(strings.NewReplacer("\r\n", " ", "\n", " ").Replace(s))
}

// span is a part of a text of a rule.
type span struct {
	text string
	code bool
}

// codeSpans splits a text at its backticks, between which rules write commands.
func codeSpans(s string) []span {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 { // one is left over
		return []span{{s, false}}
	}
	var out []span
	for i, part := range parts {
		if part != "" {
			out = append(out, span{part, i%2 == 1})
		}
	}
	return out
}
