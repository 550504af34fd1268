package report

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// painter colours text for a terminal; see cmd/internal/term.
type painter interface {
	Red(string) string
	Yellow(string) string
	Blue(string) string
	Bold(string) string
	Dim(string) string
}

// FindingsFormats are the names of the formats that WriteFindings knows.
var FindingsFormats = []string{"text", "json", "sarif", "junit", "github", "markdown", "html"}

// Options are what some formats show besides the findings.
type Options struct {
	// Paint is only used for text, and needed there.
	Paint   painter
	Version string
	// Below is the path of the working directory in the repository, with slashes;
	// github and sarif name files from the root of that. It may be empty.
	Below string
	// FailOn is the severity from which findings are failed tests in junit;
	// lint.Off stands for warnings.
	FailOn lint.Severity
}

// WriteFindings prints a report in a format of FindingsFormats.
func WriteFindings(w io.Writer, format string, r *lint.Report, o Options) error {
	switch format {
	case "json":
		return findingsJSON(w, r)
	case "sarif":
		return findingsSARIF(w, r, o)
	case "junit":
		return findingsJUnit(w, r, cmp.Or(o.FailOn, lint.Warning))
	case "github":
		return findingsGitHub(w, r, o.Below)
	case "markdown":
		return findingsMarkdown(w, r, commentSize)
	case "html":
		return findingsHTML(w, r, o)
	}
	return findingsText(w, r, o)
}

func findingsText(w io.Writer, r *lint.Report, o Options) error {
	paint := o.Paint
	var b strings.Builder
	helped := map[string]bool{}
	type kind struct {
		rule     string
		severity lint.Severity
	}
	findings := worstFirst(r)
	slices.SortStableFunc(findings, func(a, b *lint.Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Rule.ID, b.Rule.ID))
	})
	left := slices.Clone(r.Rest) // of rules that have no finding of their own, too
	for _, same := range phrase.Groups(findings, func(f *lint.Finding) kind { return kind{f.Rule.ID, f.Severity} }) {
		n, first := len(same), same[0]
		alike := func(rest lint.Rest) bool { return rest.Rule == first.Rule && rest.Severity == first.Severity }
		rest := phrase.Only(left, alike)
		left = slices.DeleteFunc(left, alike)
		for _, more := range rest {
			n += more.Count
		}
		if n > 1 {
			title := phrase.Visible(first.Rule.Title)
			fmt.Fprintf(&b, "%s %s: %s\n", paint.Bold(first.Rule.ID), title, phrase.Count(n, first.Severity.String()))
		}
		excerpts := shownExcerpts
		for _, f := range same {
			severity := f.Severity.String() + ":"
			switch f.Severity {
			case lint.Error:
				severity = paint.Red(severity)
			case lint.Warning:
				severity = paint.Yellow(severity)
			default:
				severity = paint.Blue(severity)
			}
			fmt.Fprintf(&b, "%s %s %s [%s]\n", paint.Bold(place(f.File, f.Pos)+":"), severity, statement(f), f.Rule.ID)
			if s, ok := sourceOf(f); ok && excerpts > 0 {
				excerpts--
				line, mark := s.monospaced()
				fmt.Fprintf(&b, "  %s %s\n", paint.Dim("|"), line)
				at := strings.IndexByte(mark, '^')
				fmt.Fprintf(&b, "  %s %s%s\n", paint.Dim("|"), mark[:at], paint.Red(mark[at:]))
			}
			for _, line := range f.Evidence {
				fmt.Fprintf(&b, "  %s %s\n", paint.Dim("|"), OneLine(line))
			}
			if f.Way != "" {
				fmt.Fprintf(&b, "  %s %s\n", paint.Dim("= at:"), built(f))
			}
			for _, line := range elsewhere(f) {
				fmt.Fprintf(&b, "  %s %s\n", paint.Dim("= also:"), line)
			}
			// Advice that was given for the rule need not be repeated.
			if help := f.Help(); help != "" && !helped[f.Rule.ID+help] {
				helped[f.Rule.ID+help] = true
				fmt.Fprintf(&b, "  %s %s\n", paint.Dim("= help:"), OneLine(help))
				fmt.Fprintf(&b, "  %s clusterctl-repo explain %s\n", paint.Dim("= more:"), f.Rule.ID)
			}
		}
		for _, more := range rest {
			writeRest(&b, more, paint)
		}
	}
	for _, more := range left {
		writeRest(&b, more, paint)
	}
	b.WriteString(kindsText(r.Kinds))
	for _, open := range r.Open {
		fmt.Fprintf(&b, "%s %s\n", paint.Yellow("open:"), OneLine(open))
	}
	fmt.Fprintf(&b, "%s in %s%s%s\n", verdict(r), scope(r), suppressedBy(r), incomplete(r))
	_, err := io.WriteString(w, b.String())
	return err
}

func writeRest(b *strings.Builder, more lint.Rest, paint painter) {
	fmt.Fprintf(b, "%s: %d more [%s]\n", paint.Bold(phrase.Visible(more.File)), more.Count, more.Rule.ID)
}

// shownExcerpts is how many findings of a rule the text shows with their lines;
// of the others it has the places.
const shownExcerpts = 3

// incomplete says that a report is incomplete; empty if it is not.
func incomplete(r *lint.Report) string {
	if len(r.Failures) == 0 {
		return ""
	}
	return "; incomplete: " + phrase.Count(len(r.Failures), "failure") + ", so there may be more"
}

// fromRoot is the path of a file from the root of the repository, if it is one
// from the working directory.
func fromRoot(below, file string) string {
	if below == "" || filepath.IsAbs(file) || strings.Contains(file, "://") {
		return file
	}
	return path.Join(below, filepath.ToSlash(file))
}

// statement is what a finding says, on one line.
func statement(f *lint.Finding) string {
	if f.Object == "" {
		return OneLine(f.Message)
	}
	return phrase.Visible(f.Object) + ": " + OneLine(f.Message)
}

// elsewhere says where else the fault of a finding shows, in a few lines.
func elsewhere(f *lint.Finding) (out []string) {
	for _, p := range f.Also[:min(len(f.Also), shownElsewhere)] {
		line := place(p.File, p.Pos)
		if p.Rule != nil && p.Message != f.Message {
			line += ": " + OneLine(p.Message) + " [" + p.Rule.ID + "]"
		}
		out = append(out, line)
	}
	if more := len(f.Also) - len(out); more > 0 {
		out = append(out, phrase.Count(more, "more place"))
	}
	return out
}

// shownElsewhere is how many further places of a fault the text shows.
const shownElsewhere = 3

// built says where in the built object a finding is whose place is only the
// nearest one in the source tree.
func built(f *lint.Finding) string { return phrase.Visible(f.Way) + " in the built object" }

// verdict counts the findings.
func verdict(r *lint.Report) string {
	c := r.Count()
	return fmt.Sprintf("%s, %s, %s", phrase.Count(c.Errors, "error"), phrase.Count(c.Warnings, "warning"), phrase.Count(c.Infos, "info"))
}

// job is the command that made a report.
func job(r *lint.Report) string {
	switch {
	case r.Command != "":
		return "clusterctl-repo " + r.Command
	case r.Subject != "":
		return "clusterctl-repo extension check"
	}
	return "clusterctl-repo lint"
}

func scope(r *lint.Report) string {
	if r.Subject != "" {
		return phrase.Visible(r.Subject)
	}
	if r.Releases == 0 && r.Providers == 0 && r.Files > 0 {
		return phrase.Count(r.Files, "file")
	}
	return fmt.Sprintf("%s of %s", phrase.Count(r.Files, "file"), phrase.Count(r.Releases, "release"))
}

// suppressedBy counts what comments and files among the judged ones suppress; empty if
// that is nothing.
func suppressedBy(r *lint.Report) string {
	var parts []string
	n := len(r.Suppressed)
	for _, w := range r.Weighed {
		n -= w.Silenced
	}
	if n > 0 {
		parts = append(parts, "comments suppress "+phrase.Count(n, "finding"))
	}
	for _, w := range r.Weighed {
		var does []string
		if w.Silenced > 0 {
			does = append(does, "suppresses "+phrase.Count(w.Silenced, "finding"))
		}
		if w.Lowered > 0 {
			does = append(does, "lowers "+phrase.Count(w.Lowered, "finding"))
		}
		if w.Kept > 0 {
			does = append(does, "cannot lower "+phrase.Count(w.Kept, "error"))
		}
		parts = append(parts, phrase.Visible(w.File)+" "+strings.Join(does, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

func place(file string, p yamldoc.Pos) string {
	file = phrase.Visible(file)
	if p.IsZero() {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
}

type jsonReport struct {
	Summary  jsonSummary   `json:"summary" doc:"how much was looked at and found"`
	Findings []jsonFinding `json:"findings" doc:"what is wrong, sorted by file, line, column and rule"`
	Open     []string      `json:"open,omitempty" doc:"questions about templates of users that were not judged, because --with names no release that answers them; absent if there are none"`
	Rest     []jsonRest    `json:"rest,omitempty" doc:"findings that are only counted, because there are many of their rule in the file; absent if there are none"`
	Kinds    []jsonKind    `json:"kinds,omitempty" doc:"the kinds that contract check found, in each of their roles; absent in other reports"`
}

type jsonRest struct {
	Rule     string `json:"rule" doc:"the ID of the rule"`
	Severity string `json:"severity" enum:"error,warning,info" doc:"how bad they are"`
	File     string `json:"file" doc:"the file they are in"`
	Count    int    `json:"count" doc:"how many there are besides those in findings"`
}

type jsonKind struct {
	Group    string `json:"group" doc:"the API group"`
	Kind     string `json:"kind" doc:"the kind"`
	Role     string `json:"role" doc:"the role in the contracts; Aux if the kind has none"`
	Contract string `json:"contract,omitempty" doc:"the contract that it was judged by; absent if no contract describes the role"`
	Version  string `json:"version,omitempty" doc:"the version that was judged; absent if the kind was not judged by a contract"`
	Reason   string `json:"reason" doc:"why it has the role, or none"`
}

func judgedKind(k *contract.Kind) jsonKind {
	out := jsonKind{Group: k.Group, Kind: k.Kind, Role: k.RoleName(), Reason: k.Reason}
	if k.Described() {
		out.Contract = string(k.Contract)
		if k.Judged != nil {
			out.Version = k.Judged.Name
		}
	}
	return out
}

// kindsText says which kinds were judged in which role, and which were not.
func kindsText(kinds []*contract.Kind) string {
	var b strings.Builder
	for _, k := range kinds {
		name := phrase.Visible(k.Kind + "." + k.Group)
		j := judgedKind(k)
		switch {
		case j.Version != "":
			by := ""
			if j.Contract != "" {
				by = " by contract " + j.Contract
			}
			fmt.Fprintf(&b, "%s: judged as %s%s, version %s (%s)\n", name, j.Role, by, phrase.Visible(j.Version), phrase.Visible(k.Reason))
		case k.Described():
			fmt.Fprintf(&b, "%s: is %s (%s), not judged without a version\n", name, j.Role, phrase.Visible(k.Reason))
		default:
			fmt.Fprintf(&b, "%s: not judged by a contract: %s\n", name, phrase.Visible(k.Reason))
		}
	}
	return b.String()
}

type jsonSummary struct {
	Errors    int    `json:"errors" doc:"findings of severity error; by default, one of them makes the exit status 1"`
	Warnings  int    `json:"warnings" doc:"findings of severity warning"`
	Infos     int    `json:"infos" doc:"findings of severity info"`
	Files     int    `json:"files" doc:"files that were looked at"`
	Releases  int    `json:"releases" doc:"versions of providers that were looked at"`
	Providers int    `json:"providers" doc:"providers that were looked at"`
	Subject   string `json:"subject,omitempty" doc:"what was looked at instead of files; absent if it was files"`
}

type jsonFinding struct {
	Rule     string     `json:"rule" doc:"the ID of the rule; clusterctl-repo explain ID tells more"`
	Severity string     `json:"severity" doc:"how bad it is; clusterctl-repo.yaml can change it for a rule" enum:"info,warning,error"`
	Proof    lint.Proof `json:"proof" doc:"what shows that the rule is right: clusterctl itself, a Kubernetes API server, the text of the provider contract, or practice"`
	// Both are written even if they are empty, so that readers can group by them.
	Provider string `json:"provider" doc:"the provider label, such as infrastructure-aws; empty if the finding is about no single provider"`
	Version  string `json:"version" doc:"the version of the release; empty if the finding is about no single one"`
	jsonPosition
	EndLine     int         `json:"endLine" doc:"the line of the end; 0 if it is about the whole file"`
	EndColumn   int         `json:"endColumn" doc:"the column after the end; 0 if it is about the whole file"`
	Object      string      `json:"object" doc:"the Kubernetes object, as KIND NAMESPACE/NAME; empty if it is about none"`
	Message     string      `json:"message" doc:"what is wrong here"`
	Help        string      `json:"help" doc:"what to do"`
	Fingerprint string      `json:"fingerprint" doc:"identifies the fault; it stays the same when lines move, messages change or the next version has the same fault"`
	Also        []jsonPlace `json:"also,omitempty" doc:"where else the fault shows: in other templates of the release, and in what follows from it; absent if there are none"`
	Evidence    []string    `json:"evidence,omitempty" doc:"lines that prove the finding if no file does; absent if there are none"`
}

type jsonPlace struct {
	jsonPosition
	Rule        string `json:"rule,omitempty" doc:"the ID of the rule by which it follows from the fault; absent if it is the same finding in another file"`
	Message     string `json:"message,omitempty" doc:"what is wrong here; absent if it is the same finding in another file"`
	Fingerprint string `json:"fingerprint" doc:"the value that the finding would have if it were reported here"`
}

// jsonPosition is a place in a file.
type jsonPosition struct {
	File   string `json:"file" doc:"the file or folder, written as the argument of the command is: relative to the working directory, absolute, or a URL"`
	Line   int    `json:"line" doc:"the line, from 1; 0 if it is about the whole file"`
	Column int    `json:"column" doc:"the column in Unicode characters, from 1; 0 if it is about the whole file"`
}

func findingsJSON(w io.Writer, r *lint.Report) error {
	c := r.Count()
	out := jsonReport{
		Summary: jsonSummary{c.Errors, c.Warnings, c.Infos, r.Files, r.Releases, r.Providers, r.Subject}, Open: r.Open,
	}
	for i := range r.Findings {
		out.Findings = append(out.Findings, findingJSON(&r.Findings[i]))
	}
	out.Rest = phrase.List(r.Rest, func(rest lint.Rest) jsonRest {
		return jsonRest{rest.Rule.ID, rest.Severity.String(), rest.File, rest.Count}
	})
	out.Kinds = phrase.List(r.Kinds, judgedKind)
	return documentOf("lint").write(w, r.Failures, r.Suppressed, out)
}

func findingJSON(f *lint.Finding) jsonFinding {
	return jsonFinding{
		Rule: f.Rule.ID, Severity: f.Severity.String(), Proof: f.Rule.Proof, Provider: f.Provider, Version: f.Version,
		jsonPosition: jsonPosition{f.File, f.Pos.Line, f.Pos.Column}, EndLine: f.End.Line, EndColumn: f.End.Column,
		Object: f.Object, Message: f.Message, Help: f.Help(), Fingerprint: f.Fingerprint, Evidence: f.Evidence,
		Also: phrase.List(f.Also, func(p lint.Place) jsonPlace {
			out := jsonPlace{jsonPosition{p.File, p.Pos.Line, p.Pos.Column}, "", p.Message, p.Fingerprint}
			if p.Rule != nil {
				out.Rule = p.Rule.ID
			}
			return out
		}),
	}
}
