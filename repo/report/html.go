package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// What a page of findings has besides its blocks: the script that filters them, and
// templates, whose lines are joined without what they begin with.
var (
	//go:embed page.js
	pageScript string
	//go:embed page.html
	pageTemplates string
)

var templates = sync.OnceValues(func() (*template.Template, error) {
	var text strings.Builder
	for line := range strings.Lines(pageTemplates) {
		text.WriteString(strings.TrimSpace(line))
	}
	return template.New("").Funcs(template.FuncMap{
		"visible": phrase.Visible, "lines": markup.Lines, "line": markup.OneLine, "spans": markup.Spans, "count": phrase.Count[int],
		"severity": severityName, "built": built, "place": findingPlace, "found": surveyFound,
		"timeline": viewOfTimeline, "picture": Picture.view,
		"join": func(list []string) string { return strings.Join(list, ", ") },
	}).Parse(text.String())
})

// fillTemplate makes HTML of a template.
func fillTemplate(name string, data any) (string, error) {
	all, err := templates()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = all.ExecuteTemplate(&b, name, data)
	return strings.ReplaceAll(markup.Clean(b.String()), "&#43;", "+"), err // a plus sign is safe in a text
}

// findingsHTML writes one page that needs nothing else. It is complete without the
// script, which filters and turns pages.
func findingsHTML(w io.Writer, r *lint.Report, o Options) error {
	type count struct {
		Class, Noun string
		N           int
	}
	data := struct {
		By         string
		Counts     []count
		Failures   []error
		Severities []string
		Rules      []*lint.Rule
		OfRule     map[string]int
		First      []findingRow
		More       string
		Rest       [][]findingRow
		Timelines  []*behaviour.Timeline
		Pictures   []Picture
		Latencies  [][]string
	}{
		By: producer(o.Version) + " looked " + looked(r) + suppressedBy(r), Failures: r.Failures, Rules: rulesOf(r), OfRule: map[string]int{},
		Timelines: o.Timelines, Pictures: o.Pictures,
	}
	c := r.Count()
	for i, n := range []int{c.Errors, c.Warnings, c.Infos} { // worst first
		name := severityName(lint.Error - lint.Severity(i))
		data.Severities = append(data.Severities, name)
		one := count{name, strings.TrimPrefix(phrase.Count(n, name), strconv.Itoa(n)+" "), n}
		if n == 0 {
			one.Class += " none"
		}
		data.Counts = append(data.Counts, one)
	}
	for i := range r.Findings {
		data.OfRule[r.Findings[i].Rule.ID]++
	}
	// What does not fit on the first page stands in noscript elements: to a browser that
	// runs the script these are plain text, which costs next to nothing until the script
	// shows it, and any other browser shows all of it.
	rows := findingRows(r)
	data.First = rows[:min(len(rows), pageLength)]
	data.Rest = slices.Collect(slices.Chunk(rows[len(data.First):], pageLength))
	if len(data.Rest) > 0 {
		data.More = fmt.Sprintf("These are %d of %s. If no others follow, the browser stopped the script of this page: allow it, or turn off scripts to see all.",
			pageLength, phrase.Count(len(r.Findings), "finding"))
	}
	if len(o.Latencies) > 0 {
		data.Latencies = latencyRows(o.Latencies)
	}
	body, err := fillTemplate("findings", data)
	if err != nil {
		return err
	}
	return markup.WriteHTML(w, job(r)+": "+verdict(r), pageScript, body)
}

// producer names this program on a page; the version may be empty.
func producer(version string) string {
	return strings.TrimSpace("clusterctl-repo " + phrase.Visible(version))
}

// severityName is what people call a severity.
func severityName(s lint.Severity) string {
	if s == lint.Info {
		return "note"
	}
	return s.String()
}

// home is where a finding belongs.
type home struct {
	provider, version string
	// root is what comes before the provider.
	root string
	// name is the rest of the path; empty for a folder as a whole.
	name string
}

// homeOf reads the path of a file, ROOT/LABEL/VERSION/FILE in a repository. In
// a source tree there is only the name.
func homeOf(file string) home {
	parts := strings.Split(filepath.ToSlash(file), "/")
	isLabel := func(s string) bool {
		_, err := layouts.ParseLabel(s)
		return err == nil && layouts.IsDNSLabel(s)
	}
	for i := len(parts) - 2; i >= 0; i-- {
		if _, err := layouts.ParseVersion(parts[i+1]); err == nil && isLabel(parts[i]) {
			return home{root: strings.Join(parts[:i], "/"), provider: parts[i], version: parts[i+1], name: strings.Join(parts[i+2:], "/")}
		}
	}
	if last := len(parts) - 1; isLabel(parts[last]) {
		return home{root: strings.Join(parts[:last], "/"), provider: parts[last]}
	}
	return home{name: file}
}

// release is the home without the file.
func (h home) release() home { return home{root: h.root, provider: h.provider, version: h.version} }

// pageLength is how many findings a page shows at a time, if its script runs; the
// script has the same number.
const pageLength = 50

// findingRow is a finding on a page, and what begins with it.
type findingRow struct {
	*lint.Finding
	// Title and Root, Release and Heading are those of the provider, the version and
	// the file; empty if the finding before has the same.
	Title, Root, Release, Heading string
	Tally                         int // of the release
	InRelease                     bool
	ID, Where, Shown              string
	Excerpt                       *source
}

// findingRows are one flat sequence of headings and findings.
func findingRows(r *lint.Report) []findingRow {
	tally := map[home]int{}
	for i := range r.Findings {
		tally[homeOf(r.Findings[i].File).release()]++
	}
	rows := make([]findingRow, len(r.Findings))
	ids := map[string]int{} // releases share the fingerprints of faults that they share
	var before home
	for i := range r.Findings {
		f := &r.Findings[i]
		h, row := homeOf(f.File), findingRow{Finding: f, Where: "as a whole", Shown: strings.Join(f.Evidence, "\n")}
		begin := i == 0 || h.root != before.root || h.provider != before.provider
		if begin {
			row.Title = "Source files"
			if h.provider != "" {
				row.Title, row.Root = h.provider, h.root
			} else if r.Subject != "" {
				row.Title = "The server"
			}
		}
		if row.InRelease = h.version != ""; row.InRelease && (begin || h.version != before.version) {
			begin = true
			row.Release, row.Tally = h.version, tally[h.release()]
		}
		if begin || f.File != r.Findings[i-1].File {
			row.Heading = cmp.Or(h.name, "the folder")
		}
		before = h
		if !f.Pos.IsZero() {
			row.Where = fmt.Sprintf("%d:%d", f.Pos.Line, f.Pos.Column)
		}
		if ids[f.Fingerprint]++; f.Fingerprint != "" {
			row.ID = "finding-" + f.Fingerprint
			if n := ids[f.Fingerprint]; n > 1 {
				row.ID += "-" + strconv.Itoa(n)
			}
		}
		if s, ok := sourceOf(f); ok {
			row.Excerpt = &s
		}
		rows[i] = row
	}
	return rows
}

// picture is a picture on a page.
type picture struct {
	Title string
	SVG   template.HTML
}

// view is the ith picture of a page.
func (p Picture) view(i int) picture {
	return picture{p.Title, template.HTML(p.Graph.SVG("picture-" + strconv.Itoa(i+1)))}
}
