package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// source is the line of a finding, split at the ends of its place.
type source struct{ Before, Marked, After string }

// sourceOf returns the line of a finding; false if there is nothing to show.
func sourceOf(f *lint.Finding) (source, bool) {
	if f.Pos.IsZero() || strings.TrimSpace(f.Source) == "" {
		return source{}, false
	}
	line := []rune(f.Source)
	start := max(0, min(f.Pos.Column-max(f.SourceColumn, 1), len(line)))
	width := 1
	switch {
	case f.End.Line == f.Pos.Line && f.End.Column > f.Pos.Column:
		width = f.End.Column - f.Pos.Column
	case f.End.Line > f.Pos.Line: // it goes on below
		width = len(line)
	}
	end := start + max(min(width, len(line)-start), 0)
	return source{string(line[:start]), string(line[start:end]), string(line[end:])}, true
}

// monospaced returns the line, with a blank for what has no width of its own,
// and a line that marks the place below it.
func (s source) monospaced() (line, mark string) {
	runes := []rune(s.Before + s.Marked + s.After)
	for i, r := range runes {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Cf, r) ||
			unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			runes[i] = ' '
		}
	}
	width := max(1, utf8.RuneCountInString(s.Marked))
	return string(runes), strings.Repeat(" ", utf8.RuneCountInString(s.Before)) + "^" + strings.Repeat("~", width-1)
}
