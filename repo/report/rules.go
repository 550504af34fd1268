package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

type jsonRule struct {
	ID       string     `json:"id" doc:"the ID of the rule, such as TPL016"`
	Name     string     `json:"name" doc:"the name of the rule, in words with hyphens"`
	Title    string     `json:"title" doc:"what the rule demands"`
	Severity string     `json:"severity" doc:"the severity of its findings, unless clusterctl-repo.yaml changes it" enum:"info,warning,error"`
	Proof    lint.Proof `json:"proof" doc:"what shows that the rule is right: clusterctl itself, a Kubernetes API server, the text of the provider contract, or practice"`
	Source   string     `json:"source" doc:"the section of the contract or the function of clusterctl that demands it"`
	Why      string     `json:"why" doc:"what happens otherwise"`
	Fix      string     `json:"fix" doc:"what to do"`
	Flag     string     `json:"flag,omitempty" doc:"the flag of lint without which the rule is not applied; absent if none is needed"`
}

type rulesBody struct {
	Rules []jsonRule `json:"rules" doc:"all rules, by ID"`
}

// WriteRules lists rules as text or json.
func WriteRules(w io.Writer, format string, rules []*lint.Rule) error {
	if format == "json" {
		return documentOf("rules").Write(w, nil, rulesBody{phrase.List(rules, func(r *lint.Rule) jsonRule {
			return jsonRule{r.ID, r.Name, r.Title, r.Severity.String(), r.Proof, r.Source, r.Why, r.Fix, r.Flag}
		})})
	}
	rows := [][]string{{"RULE", "SEVERITY", "PROOF", "TITLE"}}
	for _, r := range rules {
		severity := r.Severity.String()
		if r.Flag != "" {
			severity = "(" + severity + ")" // not applied unless asked for
		}
		rows = append(rows, []string{r.ID, severity, string(r.Proof), r.Title})
	}
	return WriteTable(w, rows, Columns(w))
}

// Example is what WriteRule shows of a rule's example.
type Example struct {
	Prose     string
	Bad, Good []Fragment
}

// Fragment is a part of a file. Its text may be empty.
type Fragment struct{ Title, Text string }

func WriteRule(w io.Writer, r *lint.Rule, e Example, paint painter) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", paint.Bold(r.ID), paint.Bold(r.Title))
	fmt.Fprintf(&b, "\nSeverity:  %s\nProven by: %s\nSource:    %s\n", r.Severity, r.Proof, r.Source)
	if r.Flag != "" {
		fmt.Fprintf(&b, "Optional:  only \"lint %s\" applies the rule\n", r.Flag)
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
