package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// githubLevels are the workflow commands by severity.
var githubLevels = map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Info: "notice"}

// findingsGitHub writes workflow commands, which GitHub shows as annotations of
// the changed lines, and the counts for the log.
func findingsGitHub(w io.Writer, r *lint.Report, below string) error {
	var b strings.Builder
	for _, err := range r.Failures {
		githubCommand(&b, "error", nil, err.Error())
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		properties := []string{"file=" + githubProperty(fromRoot(below, f.File))}
		if !f.Pos.IsZero() {
			properties = append(properties, fmt.Sprintf("line=%d", f.Pos.Line))
			switch {
			case f.End.Line > f.Pos.Line: // columns are for one line only
				properties = append(properties, fmt.Sprintf("endLine=%d", f.End.Line))
			case f.End.Line == f.Pos.Line && f.End.Column > f.Pos.Column:
				properties = append(properties, fmt.Sprintf("endLine=%d,col=%d,endColumn=%d",
					f.End.Line, f.Pos.Column, f.End.Column))
			default:
				properties = append(properties, fmt.Sprintf("col=%d", f.Pos.Column))
			}
		}
		properties = append(properties, "title="+githubProperty(f.Rule.ID+" "+f.Rule.Title))
		message := statement(f)
		if f.Way != "" {
			message += "\nAt " + built(f)
		}
		for _, line := range elsewhere(f) {
			message += "\nAlso " + line
		}
		if help := f.Help(); help != "" {
			message += "\n" + help
		}
		githubCommand(&b, githubLevels[f.Severity], properties, message)
	}
	if c := r.Count(); max(c.Errors+len(r.Failures), c.Warnings, c.Infos) > annotations {
		fmt.Fprintf(&b, "GitHub annotates the first %d errors, warnings and notices of a step; this log has all.\n", annotations)
	}
	fmt.Fprintf(&b, "%s in %s%s\n", verdict(r), strings.ReplaceAll(scope(r)+suppressedBy(r), "##", "#\\x23"), incomplete(r))
	_, err := io.WriteString(w, b.String())
	return err
}

func githubCommand(b *strings.Builder, level string, properties []string, message string) {
	b.WriteString("::" + level)
	if len(properties) > 0 {
		b.WriteString(" " + strings.Join(properties, ","))
	}
	b.WriteString("::" + strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", "##", "#\\x23").Replace(Lines(message)) + "\n")
}

// githubProperty escapes the value of a property, in which colon and comma have
// a meaning.
func githubProperty(s string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C", "##", "#\\x23").Replace(phrase.Visible(s))
}

// annotations is how many of each level GitHub shows of a step; it drops others
// (GitHub: usage limits of workflow commands).
const annotations = 10

// The sizes that GitHub takes, in bytes: a comment has 65,536 characters at
// most, and the summary of a step 1 MiB.
const (
	commentSize  = 60_000
	summarySize  = 1_000_000
	summaryLimit = 1 << 20
)

// WriteGitHubSummary writes the summary of a job, to be appended to the file
// that GITHUB_STEP_SUMMARY names, of which others have used some bytes.
func WriteGitHubSummary(w io.Writer, r *lint.Report, o Options, used int) error {
	if used+commentSize/10 > summarySize {
		// GitHub shows nothing of a step whose summary is too long.
		note := fmt.Sprintf("\n%s: %s. The summary of this step is full, so the findings are only in the log.\n",
			job(r), verdict(r))
		if used+len(note) > summaryLimit {
			return nil
		}
		_, err := io.WriteString(w, note)
		return err
	}
	return findingsMarkdown(w, r, summarySize-used)
}
