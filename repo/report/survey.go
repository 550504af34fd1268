package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// SurveyFormats are the names of the formats that WriteSurvey knows.
var SurveyFormats = []string{"text", "json", "markdown", "html"}

// supportNote is why readers look at the columns of contracts.
const supportNote = "Cluster API's support of contract v1beta1 ends in 2027; providers need v1beta2 before that."

// WriteSurvey prints what a survey found, in a format of SurveyFormats. The same
// survey gives the same bytes.
func WriteSurvey(w io.Writer, format string, s *inventory.Survey) error {
	if format == "json" {
		return documentOf("survey").Write(w, s.Failures(), s)
	}
	p := &markup.Page{Format: format}
	if format == "markdown" {
		p.Heading(1, "Providers")
		p.Para(surveySummary(s) + ". " + supportNote)
	}
	addSurvey(p, s)
	for i := range s.Providers {
		provider := &s.Providers[i]
		if p.IsText() {
			for _, line := range surveyRemarks(provider) {
				p.At(2).Item(surveyName(provider), ": ", line)
			}
			continue
		}
		p.Section(anchor(i), "")
		addProvider(p, provider)
	}
	if format == "html" {
		return p.HTML(w, "Providers", "Providers", surveySummary(s)+". "+supportNote)
	}
	if p.IsText() {
		p.Para(surveySummary(s))
	}
	return p.Print(w)
}

// ReadSurvey reads what WriteSurvey wrote as JSON. Name is that of the file, for errors.
func ReadSurvey(name string, data []byte) (*inventory.Survey, error) {
	var file struct {
		Kind          string `json:"kind"`
		SchemaVersion int    `json:"schemaVersion"`
		inventory.Survey
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s is not a survey in JSON: %w; write one with: survey SOURCE -o json=FILE", name, err)
	}
	d, shard := documentOf("survey"), file.Shard
	switch {
	case file.Kind != d.Kind || file.Providers == nil || file.Source == "":
		return nil, fmt.Errorf("%s is not a survey; write one with: survey SOURCE -o json=FILE", name)
	case file.SchemaVersion != d.Version:
		return nil, fmt.Errorf("%s: unsupported schemaVersion %d of a survey (supported: %d)",
			name, file.SchemaVersion, d.Version)
	case shard != nil && (shard.Of < 1 || shard.Index < 1 || shard.Index > shard.Of):
		return nil, fmt.Errorf("%s: %s is not a valid shard", name, shard)
	}
	return &file.Survey, nil
}

func surveyName(p *inventory.Provider) string { return cmp.Or(p.Label, p.Subject) }

// surveySummary counts what the reader of a fleet looks for.
func surveySummary(s *inventory.Survey) string {
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
	text := fmt.Sprintf("%s: %d ready for v1beta2, %d with errors in the newest release",
		phrase.Count(len(s.Providers), "provider"), ready, errors)
	if n := s.Failed(); n > 0 {
		text += fmt.Sprintf(", %d could not be surveyed", n)
	}
	if s.Shard != nil {
		text += fmt.Sprintf(" (shard %s of %d providers)", s.Shard, s.Subjects)
	}
	return text
}

// addSurvey adds the table: a line for each provider, with its newest release.
func addSurvey(p *markup.Page, s *inventory.Survey) {
	var contracts []any
	if i := slices.IndexFunc(s.Providers, func(p inventory.Provider) bool { return len(p.Releases) > 0 }); i >= 0 {
		contracts = phrase.List(s.Providers[i].Releases[0].Contracts, func(c inventory.Contract) any { return c.Name })
	}
	p.Table("Providers", slices.Concat([]any{"PROVIDER", "NEWEST", "VERSIONS"}, contracts, []any{"ERRORS", "WARNINGS", "UPGRADE", "IMAGES", "NO RELEASE"})...)
	for i := range s.Providers {
		one := &s.Providers[i]
		row := []any{markup.Link{To: anchor(i), Label: surveyName(one)}, "–", strconv.Itoa(one.Versions)}
		if len(one.Releases) == 0 {
			row = append(row, slices.Repeat([]any{"–"}, len(contracts)+4)...)
		} else {
			r := &one.Releases[0]
			row[1] = r.Version
			for _, c := range r.Contracts {
				row = append(row, MatrixCell(c).text())
			}
			row = append(row, strconv.Itoa(r.Errors), strconv.Itoa(r.Warnings), upgradeText(one.Upgrade), strconv.Itoa(len(r.Images)))
		}
		p.Row(append(row, strconv.Itoa(len(one.WithoutRelease)))...)
	}
}

func upgradeText(u *inventory.Upgrade) string {
	switch {
	case u == nil:
		return "–"
	case u.Problem != "":
		return "fails from " + u.From
	case u.To == "":
		return "none from " + u.From
	}
	return u.From + " to " + u.To
}

// surveyRemarks are what the table has no room for.
func surveyRemarks(p *inventory.Provider) []string {
	var out []string
	if p.Failure != "" {
		out = append(out, "not surveyed: "+p.Failure)
	}
	if len(p.WithoutRelease) > 0 {
		out = append(out, "versions without a release: "+markup.Plain(few(p.WithoutRelease)...))
	}
	if p.Upgrade != nil && p.Upgrade.Problem != "" {
		out = append(out, "clusterctl upgrade plan fails: "+p.Upgrade.Problem)
	}
	for _, r := range p.Releases {
		if r.Unread != "" {
			out = append(out, r.Version+" was not fully checked: "+r.Unread)
		}
	}
	return out
}

// anchor is the identifier of the part of the page on the i-th provider.
func anchor(i int) string { return "provider-" + strconv.Itoa(i+1) }

func findingPlace(f inventory.Finding) string {
	if f.Line == 0 {
		return f.File
	}
	return f.File + ":" + strconv.Itoa(f.Line)
}

// addProvider adds what was found of a provider, in Markdown or HTML.
func addProvider(p *markup.Page, one *inventory.Provider) {
	p.Heading(2, surveyName(one))
	if one.Subject != one.Label {
		p.Note("From " + one.Subject)
	}
	remarks := surveyRemarks(one)
	for _, line := range remarks {
		p.Item(line)
	}
	if len(remarks) == 0 && p.Format == "markdown" {
		p.Item()
	}
	for i := range one.Releases {
		r := &one.Releases[i]
		if p.Format == "html" {
			p.Element(surveyHTML(r))
			continue
		}
		p.Heading(3, r.Version)
		p.Para(surveyFound(r), "; images: ", strings.Join(r.Images, ", "))
		if len(r.Findings) == 0 {
			p.Item()
		}
		for _, f := range r.Findings {
			p.Item(f.Severity, " ", f.Rule, ": ", findingPlace(f), ": ", f.Message)
		}
	}
}

// surveyFound counts the findings of a release.
func surveyFound(r *inventory.Release) string {
	return fmt.Sprintf("%s, %s, %d infos",
		phrase.Count(r.Errors, "error"), phrase.Count(r.Warnings, "warning"), r.Infos)
}

func surveyHTML(r *inventory.Release) markup.Element {
	body := []markup.Element{markup.Tag("summary", phrase.Visible(r.Version), ": ", surveyFound(r))}
	for _, f := range r.Findings {
		tag, place := "div"+markup.Attrs("class", "finding "+f.Severity), markup.Tag(`span class="place"`, phrase.Visible(findingPlace(f)))
		body = append(body, cardHTML(tag, f.Severity+" "+f.Rule, []markup.Element{place}, phrase.Visible(f.Message)))
	}
	for _, c := range r.Contracts {
		if c.Declared && len(c.Missing) > 0 {
			missing := phrase.List(c.Missing, func(one string) markup.Element { return markup.Tag("li", one) })
			body = append(body, markup.Tag("h4", "Missing for ", c.Name), markup.Tag("ul", missing))
		}
	}
	if len(r.Images) > 0 {
		body = append(body, markup.Tag("h4", "Images"), markup.Tag(`p class="place"`, phrase.Visible(strings.Join(r.Images, ", "))))
	}
	return markup.Tag("details", body)
}
