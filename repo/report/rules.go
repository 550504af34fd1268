package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

type jsonRule struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Severity string `json:"severity"`
	Proof    string `json:"proof"`
	Source   string `json:"source"`
	Why      string `json:"why"`
	Fix      string `json:"fix"`
	OptIn    string `json:"optIn,omitempty"`
	Flag     string `json:"flag,omitempty"`
}

type rulesBody struct {
	Rules []jsonRule `json:"rules"`
}

// WriteRules lists rules as text or json.
func WriteRules(w io.Writer, format string, rules []*lint.Rule) error {
	if format == "json" {
		out := rulesBody{[]jsonRule{}}
		for _, r := range rules {
			out.Rules = append(out.Rules, jsonRule{r.ID, r.Name, r.Title, r.Severity.String(), string(r.Proof), r.Source, r.Why, r.Fix, r.OptIn, r.Flag})
		}
		return documentOf("rules").Write(w, nil, out)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "RULE\tSEVERITY\tPROOF\tTITLE")
	for _, r := range rules {
		severity := r.Severity.String()
		if r.OptIn == lint.EveryFinding || r.Flag != "" {
			severity = "(" + severity + ")" // not applied unless asked for
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.ID, severity, r.Proof, r.Title)
	}
	return tw.Flush()
}

// Example is what WriteRule shows of a rule's example.
type Example struct {
	Prose     string
	Bad, Good []Fragment
}

// Fragment is a part of a file. Its text may be empty.
type Fragment struct{ Title, Text string }

// WriteRule explains one rule.
func WriteRule(w io.Writer, r *lint.Rule, e Example, paint Painter) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", paint.Bold(r.ID), paint.Bold(r.Title))
	fmt.Fprintf(&b, "\nSeverity:  %s\nProven by: %s\nSource:    %s\n", r.Severity, r.Proof, r.Source)
	if r.Flag != "" {
		fmt.Fprintf(&b, "Optional:  only \"lint %s\" applies the rule\n", r.Flag)
	}
	if r.OptIn != "" {
		fmt.Fprintf(&b, "Optional:  %s; to see them, give %s a severity under rules in clusterctl-repo.yaml\n", r.OptIn, r.ID)
	}
	fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n%s\n", paint.Bold("What happens"), r.Why, paint.Bold("What to do"), r.Fix)
	if e.Prose != "" {
		fmt.Fprintf(&b, "\n%s\n", e.Prose)
	}
	for _, side := range []struct {
		title     string
		fragments []Fragment
	}{{"Bad", e.Bad}, {"Good", e.Good}} {
		for _, f := range side.fragments {
			fmt.Fprintf(&b, "\n%s %s\n", paint.Bold(side.title+":"), f.Title)
			for line := range strings.Lines(f.Text) {
				fmt.Fprintf(&b, "    %s\n", strings.TrimRight(line, "\r\n"))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
