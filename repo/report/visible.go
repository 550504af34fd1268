package report

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// visibleLines does the same with each line of a text.
func visibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = phrase.Visible(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// oneLine joins the lines of a text for people.
func oneLine(s string) string {
	return phrase.Visible(strings.NewReplacer("\r\n", " ", "\n", " ").Replace(s))
}

// span is a part of a text of a rule.
type span struct {
	Text string
	Code bool
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
