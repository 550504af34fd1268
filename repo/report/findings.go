package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo/doc"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// Painter colours text for a terminal; see cmd/internal/term.
type Painter interface {
	Red(string) string
	Yellow(string) string
	Blue(string) string
	Bold(string) string
	Dim(string) string
}

// FindingsFormats are the names of the formats that WriteFindings knows.
var FindingsFormats = []string{"text", "json"}

// WriteFindings prints a report in a format of FindingsFormats. Paint is only
// used for text.
func WriteFindings(w io.Writer, format string, r *lint.Report, paint Painter) error {
	if format == "json" {
		return findingsJSON(w, r)
	}
	return findingsText(w, r, paint)
}

func findingsText(w io.Writer, r *lint.Report, paint Painter) error {
	var b strings.Builder
	helped := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		severity := f.Severity.String() + ":"
		switch f.Severity {
		case lint.Error:
			severity = paint.Red(severity)
		case lint.Warning:
			severity = paint.Yellow(severity)
		default:
			severity = paint.Blue(severity)
		}
		object := ""
		if f.Object != "" {
			object = f.Object + ": "
		}
		fmt.Fprintf(&b, "%s %s %s%s [%s]\n", paint.Bold(place(f.File, f.Pos)+":"), severity, object, f.Message, f.Rule.ID)
		if !f.Pos.IsZero() && strings.TrimSpace(f.Source) != "" {
			excerpt(&b, f, paint)
		}
		// Advice that was given for the rule need not be repeated.
		if help := f.Help(); help != "" && !helped[f.Rule.ID+help] {
			helped[f.Rule.ID+help] = true
			fmt.Fprintf(&b, "  %s %s\n", paint.Dim("= help:"), help)
			fmt.Fprintf(&b, "  %s clusterctl-repo explain %s\n", paint.Dim("= more:"), f.Rule.ID)
		}
	}
	c := r.Count()
	fmt.Fprintf(&b, "%s, %s, %s in %s of %s\n", count(c.Errors, "error"), count(c.Warnings, "warning"), count(c.Infos, "note"), count(r.Files, "file"), count(r.Releases, "release"))
	_, err := io.WriteString(w, b.String())
	return err
}

func place(file string, p doc.Pos) string {
	if p.IsZero() {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// excerpt shows the line of a finding with a mark below.
func excerpt(b *strings.Builder, f *lint.Finding, paint Painter) {
	line := []rune(f.Source)
	for i, r := range line {
		if r < ' ' || r == 0x7F || r == utf8.RuneError || unicode.Is(unicode.Cf, r) {
			line[i] = ' '
		}
	}
	start := max(0, min(f.Pos.Column-max(f.SourceColumn, 1), len(line)))
	width := 1
	if f.End.Line == f.Pos.Line && f.End.Column > f.Pos.Column {
		width = f.End.Column - f.Pos.Column
	}
	width = max(1, min(width, len(line)-start))
	fmt.Fprintf(b, "  %s %s\n", paint.Dim("|"), string(line))
	fmt.Fprintf(b, "  %s %s%s\n", paint.Dim("|"), strings.Repeat(" ", start), paint.Red("^"+strings.Repeat("~", width-1)))
}

// schemaVersion of the JSON documents of this package.
const schemaVersion = 1

type jsonReport struct {
	SchemaVersion int           `json:"schemaVersion"`
	Summary       jsonSummary   `json:"summary"`
	Findings      []jsonFinding `json:"findings"`
}

type jsonSummary struct {
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
	Infos     int `json:"infos"`
	Files     int `json:"files"`
	Releases  int `json:"releases"`
	Providers int `json:"providers"`
}

type jsonFinding struct {
	Rule        string `json:"rule"`
	Severity    string `json:"severity"`
	Proof       string `json:"proof"`
	File        string `json:"file"`
	Line        int    `json:"line"`
	Column      int    `json:"column"`
	EndLine     int    `json:"endLine"`
	EndColumn   int    `json:"endColumn"`
	Object      string `json:"object"`
	Message     string `json:"message"`
	Help        string `json:"help"`
	Fingerprint string `json:"fingerprint"`
}

func findingsJSON(w io.Writer, r *lint.Report) error {
	c := r.Count()
	out := jsonReport{
		SchemaVersion: schemaVersion,
		Summary:       jsonSummary{c.Errors, c.Warnings, c.Infos, r.Files, r.Releases, r.Providers},
		Findings:      []jsonFinding{},
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		out.Findings = append(out.Findings, jsonFinding{
			Rule: f.Rule.ID, Severity: f.Severity.String(), Proof: string(f.Rule.Proof), File: f.File,
			Line: f.Pos.Line, Column: f.Pos.Column, EndLine: f.End.Line, EndColumn: f.End.Column,
			Object: f.Object, Message: f.Message, Help: f.Help(), Fingerprint: f.Fingerprint,
		})
	}
	return writeJSON(w, out)
}

// writeJSON prints a document with indentation and without escaping what HTML
// would mind.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
