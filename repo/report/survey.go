package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/fleet"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
)

// SurveyFormats are the names of the formats that WriteSurvey knows.
var SurveyFormats = []string{"text", "json", "markdown", "html"}

// supportNote is why readers look at the columns of contracts.
const supportNote = "Cluster API's support of contract v1beta1 ends in 2027; providers need v1beta2 before that."

// WriteSurvey prints what a survey found, in a format of SurveyFormats. The same
// survey gives the same bytes.
func WriteSurvey(w io.Writer, format string, s *fleet.Survey) error {
	switch format {
	case "json":
		return documentOf("survey").Write(w, s.Failures(), s)
	case "markdown":
		return surveyMarkdown(w, s)
	case "html":
		return surveyHTML(w, s)
	}
	table(w, surveyCells(s))
	for _, p := range s.Providers {
		for _, line := range surveyRemarks(&p) {
			if _, err := fmt.Fprintf(w, "  %s: %s\n", visible(surveyName(&p)), visible(line)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(w, surveySummary(s))
	return err
}

// ReadSurvey reads what WriteSurvey wrote as JSON. Name is that of the file, for errors.
func ReadSurvey(name string, data []byte) (*fleet.Survey, error) {
	var file struct {
		Kind          string `json:"kind"`
		SchemaVersion int    `json:"schemaVersion"`
		fleet.Survey
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s is not a survey in JSON: %w; write one with: survey SOURCE -o json=FILE", name, err)
	}
	d, shard := documentOf("survey"), file.Shard
	switch {
	case file.Kind != d.Kind || file.Providers == nil || file.Source == "":
		return nil, fmt.Errorf("%s is not a survey; write one with: survey SOURCE -o json=FILE", name)
	case file.SchemaVersion != d.Version:
		return nil, fmt.Errorf("%s: unsupported schemaVersion %d of a survey (supported: %d)", name, file.SchemaVersion, d.Version)
	case shard != nil && (shard.Of < 1 || shard.Index < 1 || shard.Index > shard.Of):
		return nil, fmt.Errorf("%s: the shard %s is impossible", name, shard)
	}
	return &file.Survey, nil
}

func surveyName(p *fleet.Provider) string {
	if p.Label == "" {
		return p.Subject
	}
	return p.Label
}

// surveySummary counts what the reader of a fleet looks for.
func surveySummary(s *fleet.Survey) string {
	ready, errors := 0, 0
	for _, p := range s.Providers {
		if len(p.Releases) == 0 {
			continue
		}
		r := &p.Releases[0]
		for _, c := range r.Contracts {
			if c.Name == "v1beta2" && c.Declared && c.Ready {
				ready++
			}
		}
		if r.Errors > 0 {
			errors++
		}
	}
	text := fmt.Sprintf("%s: %d ready for v1beta2, %d with errors in the newest release", plural(len(s.Providers), "provider"), ready, errors)
	if n := s.Failed(); n > 0 {
		text += fmt.Sprintf(", %d could not be surveyed", n)
	}
	if s.Shard != nil {
		text += fmt.Sprintf(" (shard %s of %d providers)", s.Shard, s.Subjects)
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// surveyCells is the table: a line for each provider, with its newest release.
func surveyCells(s *fleet.Survey) [][]string {
	head := []string{"PROVIDER", "NEWEST", "VERSIONS"}
	var contracts []string
	for _, p := range s.Providers {
		if len(p.Releases) > 0 {
			for _, c := range p.Releases[0].Contracts {
				contracts = append(contracts, visible(c.Name))
			}
			break
		}
	}
	head = append(append(head, contracts...), "ERRORS", "WARNINGS", "UPGRADE", "IMAGES", "NO RELEASE")
	rows := [][]string{head}
	for _, p := range s.Providers {
		row := []string{visible(surveyName(&p)), "–", strconv.Itoa(p.Versions)}
		if len(p.Releases) == 0 {
			for range len(contracts) + 4 {
				row = append(row, "–")
			}
			rows = append(rows, append(row, strconv.Itoa(len(p.WithoutRelease))))
			continue
		}
		r := &p.Releases[0]
		row[1] = visible(r.Version)
		for _, c := range r.Contracts {
			row = append(row, MatrixCell(c).text())
		}
		rows = append(rows, append(row, strconv.Itoa(r.Errors), strconv.Itoa(r.Warnings), upgradeText(p.Upgrade), strconv.Itoa(len(r.Images)), strconv.Itoa(len(p.WithoutRelease))))
	}
	return rows
}

func upgradeText(u *fleet.Upgrade) string {
	switch {
	case u == nil:
		return "–"
	case u.Problem != "":
		return "fails from " + visible(u.From)
	case u.To == "":
		return "none from " + visible(u.From)
	}
	return visible(u.From) + " to " + visible(u.To)
}

// surveyRemarks are what the table has no room for.
func surveyRemarks(p *fleet.Provider) []string {
	var out []string
	if p.Failure != "" {
		out = append(out, "not surveyed: "+p.Failure)
	}
	if len(p.WithoutRelease) > 0 {
		out = append(out, "versions without a release: "+list(p.WithoutRelease, visible))
	}
	if p.Upgrade != nil && p.Upgrade.Problem != "" {
		out = append(out, "clusterctl upgrade plan fails: "+p.Upgrade.Problem)
	}
	for _, r := range p.Releases {
		if r.Unread != "" {
			out = append(out, r.Version+" was not checked whole: "+r.Unread)
		}
	}
	return out
}

// anchor is the identifier of the part of the page on the i-th provider.
func anchor(i int) string { return "provider-" + strconv.Itoa(i+1) }

func surveyMarkdown(w io.Writer, s *fleet.Survey) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Providers\n\n%s. %s\n\n", prose(surveySummary(s)), supportNote)
	for i, row := range surveyCells(s) {
		for j := range row {
			row[j] = prose(row[j])
		}
		if i > 0 {
			row[0] = fmt.Sprintf("[%s](#%s)", row[0], anchor(i-1))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	for i := range s.Providers {
		p := &s.Providers[i]
		fmt.Fprintf(&b, "\n<a id=\"%s\"></a>\n\n## %s\n\n", anchor(i), prose(surveyName(p)))
		if p.Subject != p.Label {
			fmt.Fprintf(&b, "From %s\n\n", prose(p.Subject))
		}
		for _, line := range surveyRemarks(p) {
			fmt.Fprintf(&b, "- %s\n", prose(line))
		}
		for _, r := range p.Releases {
			fmt.Fprintf(&b, "\n### %s\n\n", prose(r.Version))
			fmt.Fprintf(&b, "%s, %s, %d infos; images: %s\n\n", plural(r.Errors, "error"), plural(r.Warnings, "warning"), r.Infos, prose(strings.Join(r.Images, ", ")))
			for _, f := range r.Findings {
				fmt.Fprintf(&b, "- %s %s: %s: %s\n", prose(f.Severity), prose(f.Rule), prose(findingPlace(f)), prose(f.Message))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func findingPlace(f fleet.Finding) string {
	if f.Line == 0 {
		return f.File
	}
	return f.File + ":" + strconv.Itoa(f.Line)
}

func surveyHTML(w io.Writer, s *fleet.Survey) error {
	parts := []markup.Node{pageTable("Providers", surveyCells(s), func(i int) string { return "#" + anchor(i) })}
	for i := range s.Providers {
		parts = append(parts, surveySection(&s.Providers[i], i))
	}
	return writePage(w, "Providers",
		el("header", "", el("h1", "", markup.Text("Providers")), el("p", "by", markup.Text(surveySummary(s)+". "+supportNote))),
		el("main", "", parts...))
}

func surveySection(p *fleet.Provider, i int) markup.Node {
	parts := []markup.Node{el("h2", "", markup.Text(visible(surveyName(p))))}
	if p.Subject != p.Label {
		parts = append(parts, el("p", "by", markup.Text("From "+visible(p.Subject))))
	}
	var remarks []markup.Node
	for _, line := range surveyRemarks(p) {
		remarks = append(remarks, el("li", "", markup.Text(visible(line))))
	}
	if remarks != nil {
		parts = append(parts, el("ul", "", remarks...))
	}
	for _, r := range p.Releases {
		var inside []markup.Node
		inside = append(inside, el("summary", "", markup.Text(fmt.Sprintf("%s: %s, %s, %d infos", visible(r.Version), plural(r.Errors, "error"), plural(r.Warnings, "warning"), r.Infos))))
		for _, f := range r.Findings {
			inside = append(inside, el("div", "finding "+f.Severity,
				el("p", "head", el("span", "badge", markup.Text(f.Severity+" "+f.Rule)), el("span", "place", markup.Text(visible(findingPlace(f))))),
				el("p", "message", markup.Text(visible(f.Message)))))
		}
		for _, c := range r.Contracts {
			if c.Declared && len(c.Missing) > 0 {
				inside = append(inside, el("h4", "", markup.Text("Missing for "+visible(c.Name))))
				var items []markup.Node
				for _, m := range c.Missing {
					items = append(items, el("li", "", markup.Text(visible(m))))
				}
				inside = append(inside, el("ul", "", items...))
			}
		}
		if len(r.Images) > 0 {
			inside = append(inside, el("h4", "", markup.Text("Images")), el("p", "place", markup.Text(visible(strings.Join(r.Images, ", ")))))
		}
		parts = append(parts, el("details", "", inside...))
	}
	return markup.El("section", markup.Attrs("id", anchor(i)), parts...)
}
