package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// findingsMarkdown writes a summary for comments of at most size bytes: a table
// with the worst findings first, and what their rules mean.
func findingsMarkdown(w io.Writer, r *lint.Report, size int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n", job(r), verdict(r))
	fmt.Fprintf(&b, "Looked at %s.\n", Prose(scope(r)+suppressedBy(r)))
	if len(r.Failures) > 0 {
		fmt.Fprintf(&b, "\n**Not everything could be checked:**\n\n")
		rows := phrase.List(r.Failures, func(err error) string { return "- " + Prose(err.Error()) + "\n" })
		fill(&b, rows, size/4, "- and %d more\n")
	}
	if len(r.Findings) > 0 {
		b.WriteString("\n| Severity | Place | Finding | Rule |\n|---|---|---|---|\n")
		var rows []string
		for _, f := range worstFirst(r) {
			object := ""
			if f.Object != "" {
				object = CodeSpan(phrase.Visible(f.Object)) + ": "
			}
			at := ""
			if f.Way != "" {
				at = " (at " + Prose(built(f)) + ")"
			}
			if also := elsewhere(f); len(also) > 0 {
				at += "; also " + Prose(strings.Join(also, "; "))
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s%s%s | %s |\n", f.Severity, CodeSpan(place(f.File, f.Pos)), object, Prose(f.Message), at, f.Rule.ID))
		}
		fill(&b, rows, size*3/4, "\nAnd %d more.\n")
		b.WriteString("\n<details><summary>What the rules mean, and what to do</summary>\n\n")
		rows = nil
		for _, same := range byRule(r) {
			rule := same[0].Rule
			row := fmt.Sprintf("- **%s** %s. %s", rule.ID, RuleProse(rule.Title), RuleProse(rule.Why))
			if rule.Fix != "" {
				row += " *What to do:* " + RuleProse(rule.Fix)
			}
			rows = append(rows, row+"\n")
		}
		const end = "\n</details>\n"
		fill(&b, rows, size-len(end), "- and %d more\n")
		b.WriteString(end)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fill adds rows as long as the text stays below a size, and says how many did
// not fit.
func fill(b *strings.Builder, rows []string, size int, more string) {
	for i, row := range rows {
		if b.Len()+len(row)+len(more)+10 > size {
			fmt.Fprintf(b, more, len(rows)-i)
			return
		}
		b.WriteString(row)
	}
}

// worstFirst returns the findings with errors before warnings before notes.
func worstFirst(r *lint.Report) []*lint.Finding {
	out := make([]*lint.Finding, len(r.Findings))
	for i := range r.Findings {
		out[i] = &r.Findings[i]
	}
	slices.SortStableFunc(out, func(a, b *lint.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return out
}

// byRule are the findings of each rule, by its ID.
func byRule(r *lint.Report) [][]*lint.Finding {
	out := phrase.Groups(worstFirst(r), func(f *lint.Finding) string { return f.Rule.ID })
	slices.SortFunc(out, func(a, b []*lint.Finding) int { return cmp.Compare(a[0].Rule.ID, b[0].Rule.ID) })
	return out
}
