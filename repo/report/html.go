package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// pageScript filters the findings of a page.
//
//go:embed page.js
var pageScript string

// findingsHTML writes one page that needs nothing else. It is complete without the
// script, which filters and turns pages.
func findingsHTML(w io.Writer, r *lint.Report, o Options) error {
	var counts, severities, options, rules, rest, measured []markup.Element
	c := r.Count()
	for i, n := range []int{c.Errors, c.Warnings, c.Infos} { // worst first
		name := severityName(lint.Error - lint.Severity(i))
		severities = append(severities, markup.Tag(`label class="`+name+`"`,
			markup.Element(`<input type="checkbox" name="severity" value="`+name+`" checked=""/> `), name))
		noun := strings.TrimPrefix(phrase.Count(n, name), strconv.Itoa(n))
		if n == 0 {
			name += " none"
		}
		counts = append(counts, markup.Tag(`li class="`+name+`"`, markup.Tag("b", n), noun))
	}
	for _, same := range byRule(r) {
		rule := same[0].Rule
		option := "option" + markup.Attrs("value", rule.ID)
		options = append(options, markup.Tag(option, rule.ID, " ", phrase.Visible(rule.Title)))
		rules = append(rules, markup.Tag(`details class="rule"`+markup.Attrs("id", "rule-"+rule.ID),
			markup.Tag("summary", markup.Tag("b", rule.ID), " ", markup.RuleHTML(rule.Title), " ", tallyHTML(phrase.Count(len(same), "finding"))),
			factsHTML("What happens", markup.RuleHTML(rule.Why), "What to do", markup.RuleHTML(rule.Fix),
				"Severity", severityName(rule.Severity),
				"Proven by", markup.RuleHTML(string(rule.Proof)+": "+rule.Source),
				"More", "clusterctl-repo explain "+rule.ID)))
	}
	// What does not fit on the first page stands in noscript elements: to a browser that
	// runs the script these are plain text, which costs next to nothing until the script
	// shows it, and any other browser shows all of it.
	form, first := pageFilter(options, severities), findingElements(r)
	if len(first) == 0 {
		form, first = "", []markup.Element{`<p class="clean">No findings.</p>`}
	}
	if len(first) > pageLength {
		rest = append(rest, markup.Tag(`p id="rest"`, fmt.Sprintf("These are %d of %s. If no others follow, the browser stopped the script of this page: allow it, or turn off scripts to see all.",
			pageLength, phrase.Count(len(r.Findings), "finding"))))
		for more := range slices.Chunk(first[pageLength:], pageLength) {
			rest = append(rest, markup.Tag(`noscript class="more"`, more))
		}
		first = first[:pageLength]
	}
	if len(o.Latencies) > 0 {
		rows := latencyRows(o.Latencies)
		body := phrase.List(rows[1:], func(row []string) markup.Element { return rowHTML("tr", "td", row...) })
		measured = append(measured, markup.Tag("table", rowHTML("tr", "th", rows[0]...), body))
	}
	by := producer(o.Version) + " looked at " + scope(r)
	if r.Subject == "" {
		by += " of " + phrase.Count(r.Providers, "provider")
	}
	return markup.WriteHTML(w, job(r)+": "+verdict(r), pageScript, markup.Inside(
		markup.Element(`<a class="skip" href="#findings">Skip to the findings</a>`),
		markup.Tag("header", markup.Tag("h1", "Findings"), markup.Tag(`p class="by"`, by+suppressedBy(r)), markup.Tag(`ul class="counts"`, counts)),
		markup.Tag("main", gapsHTML("Not everything could be checked", phrase.List(r.Failures, error.Error)),
			form, markup.Tag(`div id="findings"`, first), rest,
			sectionHTML("measured", "How long calls took", measured...),
			sectionHTML("rules", "The rules", rules...))))
}

// pageFilter is hidden until the script that it needs runs.
func pageFilter(options, severities []markup.Element) markup.Element {
	return markup.Tag(`form id="filter" class="filter" hidden="" role="search" aria-label="Filter the findings"`,
		markup.Element(`<input type="search" name="text" placeholder="Filter by text" aria-label="Text" autocomplete="off"/>`),
		markup.Tag(`select name="rule" aria-label="Rule"`, markup.Tag(`option value=""`, "all rules"), options),
		markup.Tag("fieldset", markup.Tag("legend", "Severity"), severities),
		markup.Tag(`output name="shown" aria-live="polite"`),
		markup.Tag(`nav class="pages" hidden="" aria-label="Pages"`, markup.Tag(`button type="button" value="back"`, "Previous"),
			markup.Tag("span"), markup.Tag(`button type="button" value="next"`, "Next")),
		markup.Tag(`p class="hint"`, "Arrow keys lead from one finding to the next."))
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

// findingElements are the findings, each after the headings that begin with it: those of
// the provider, the release and the file, unless the finding before has the same.
func findingElements(r *lint.Report) []markup.Element {
	tally := map[home]int{}
	for i := range r.Findings {
		tally[homeOf(r.Findings[i].File).release()]++
	}
	out := make([]markup.Element, len(r.Findings))
	ids := map[string]int{} // releases share the fingerprints of faults that they share
	var before home
	for i := range r.Findings {
		f := &r.Findings[i]
		h := homeOf(f.File)
		begin := i == 0 || h.root != before.root || h.provider != before.provider
		if begin {
			title, root := cmp.Or(h.provider, "Source files"), markup.Element("")
			switch {
			case h.provider != "" && h.root != "":
				root = " " + markup.Tag("small", "in ", phrase.Visible(h.root))
			case h.provider == "" && r.Subject != "":
				title = "The server"
			}
			out[i] += markup.Tag("h2", title, root)
		}
		file := `h3 class="file"`
		if h.version != "" {
			file = `h4 class="file"`
			if begin || h.version != before.version {
				begin = true
				out[i] += markup.Tag("h3", phrase.Visible(h.version), " ", tallyHTML(phrase.Count(tally[h.release()], "finding")))
			}
		}
		if begin || f.File != r.Findings[i-1].File {
			out[i] += markup.Tag(file, phrase.Visible(cmp.Or(h.name, "the folder")))
		}
		before = h
		ids[f.Fingerprint]++
		out[i] += findingElement(f, ids[f.Fingerprint])
	}
	return out
}

// findingElement is the nth finding with its fingerprint.
func findingElement(f *lint.Finding, n int) markup.Element {
	name, where := severityName(f.Severity), "as a whole"
	if !f.Pos.IsZero() {
		where = fmt.Sprintf("%d:%d", f.Pos.Line, f.Pos.Column)
	}
	tag := "article" + markup.Attrs("class", "finding "+name, "data-severity", name, "data-rule", f.Rule.ID)
	at := `span class="place"`
	if f.Fingerprint != "" {
		id := "finding-" + f.Fingerprint
		if n > 1 {
			id += "-" + strconv.Itoa(n)
		}
		tag += markup.Attrs("id", id)
		at = `a class="place"` + markup.Attrs("href", "#"+id)
	}
	link := `a class="rule"` + markup.Attrs("href", "#rule-"+f.Rule.ID, "title", phrase.Visible(f.Rule.Title))
	head := []markup.Element{" ", markup.Tag(at, where), " ", markup.Tag(link, f.Rule.ID)}
	if f.Object != "" {
		head = append(head, " ", markup.Tag(`span class="object"`, phrase.Visible(f.Object)))
	}
	var body []markup.Element
	if s, ok := sourceOf(f); ok {
		body = append(body, markup.Tag("pre", markup.Tag(`span class="number" aria-hidden="true"`, f.Pos.Line),
			markup.Tag("code", s.Before, markup.Tag("mark", cmp.Or(s.Marked, " ")), s.After)))
	}
	if len(f.Evidence) > 0 {
		body = append(body, markup.Tag("pre", markup.Tag("code", markup.TextLines(strings.Join(f.Evidence, "\n")))))
	}
	if f.Way != "" {
		body = append(body, helpHTML("At", markup.Inside(built(f))))
	}
	body = append(body, helpHTML("What to do", markup.RuleHTML(f.Help())))
	return cardHTML(tag, name, head, markup.TextLines(f.Message), body...)
}

// cardHTML is a finding or something like it: a badge with what is next to it, and a
// message with what is below.
func cardHTML(tag, badge string, head []markup.Element, message any, body ...markup.Element) markup.Element {
	return markup.Tag(tag, markup.Tag(`p class="head"`, markup.Tag(`span class="badge"`, badge), head),
		markup.Tag(`p class="message"`, message), body)
}

// helpHTML is a line with a title; empty without a text.
func helpHTML(title string, text markup.Element) markup.Element {
	if text == "" {
		return ""
	}
	return markup.Tag(`p class="help"`, markup.Tag("b", title+": "), text)
}

// sectionHTML is a section; empty without content.
func sectionHTML(class, title string, content ...markup.Element) markup.Element {
	if len(content) == 0 {
		return ""
	}
	return markup.Tag(`section class="`+class+`"`, markup.Tag("h2", title), content)
}

// gapsHTML is a section that says what is missing; empty if nothing is.
func gapsHTML(title string, gaps []string) markup.Element {
	if len(gaps) == 0 {
		return ""
	}
	items := phrase.List(gaps, func(gap string) markup.Element { return markup.Tag("li", markup.TextLines(gap)) })
	return sectionHTML("failures", title, markup.Tag("ul", items))
}

func rowHTML[T any](row, cell string, cells ...T) markup.Element {
	return markup.Tag(row, phrase.List(cells, func(one T) markup.Element { return markup.Tag(cell, one) }))
}

func tallyHTML(text string) markup.Element { return markup.Tag(`span class="tally"`, text) }

// factsHTML is a list of pairs of a name and a text.
func factsHTML(pairs ...any) markup.Element {
	var list []markup.Element
	for i, one := range pairs {
		list = append(list, markup.Tag([]string{"dt", "dd"}[i%2], one))
	}
	return markup.Tag("dl", list)
}
