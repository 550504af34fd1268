package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

//go:embed page.js
var pageScript string

// findingsHTML writes one page that needs nothing else. It is complete without the
// script, which filters and turns pages.
func findingsHTML(w io.Writer, r *lint.Report, o Options) error {
	version := ""
	if o.Version != "" {
		version = " " + phrase.Visible(o.Version)
	}
	return writeHTML(w, job(r)+": "+verdict(r), pageScript,
		markup.El("a", markup.Attrs("class", "skip", "href", "#findings"), markup.Text("Skip to the findings")),
		el("header", "",
			el("h1", "", markup.Text("Findings")),
			el("p", "by", markup.Text("clusterctl-repo"+version+" looked "+looked(r)+silenced(r))),
			pageCounts(r)),
		el("main", "", pageFailures(r), pageFilter(r), pageFindings(r), pageTimelines(o.Timelines), pagePictures(o.Pictures), pageLatencies(o.Latencies), pageRules(r)))
}

// severityNames are the severities as people call them, worst first.
var severityNames = []struct {
	severity lint.Severity
	name     string
}{{lint.Error, "error"}, {lint.Warning, "warning"}, {lint.Info, "note"}}

func severityName(s lint.Severity) string {
	for _, row := range severityNames {
		if row.severity == s {
			return row.name
		}
	}
	return s.String()
}

func pageCounts(r *lint.Report) markup.Node {
	c := r.Count()
	numbers := map[lint.Severity]int{lint.Error: c.Errors, lint.Warning: c.Warnings, lint.Info: c.Infos}
	var items []markup.Node
	for _, row := range severityNames {
		n := numbers[row.severity]
		class := row.name
		if n == 0 {
			class += " none"
		}
		noun := strings.TrimPrefix(phrase.Count(n, row.name), strconv.Itoa(n)+" ")
		items = append(items, el("li", class, el("b", "", markup.Text(strconv.Itoa(n))), markup.Text(" "+noun)))
	}
	return el("ul", "counts", items...)
}

func pageFailures(r *lint.Report) markup.Node {
	if len(r.Failures) == 0 {
		return markup.Node{}
	}
	var items []markup.Node
	for _, err := range r.Failures {
		items = append(items, el("li", "", markup.Text(visibleLines(err.Error()))))
	}
	return el("section", "failures", el("h2", "", markup.Text("Not everything could be checked")), el("ul", "", items...))
}

// pageFilter is hidden until the script that it needs runs.
func pageFilter(r *lint.Report) markup.Node {
	if len(r.Findings) == 0 {
		return markup.Node{}
	}
	var boxes []markup.Node
	for _, row := range severityNames {
		boxes = append(boxes, el("label", row.name,
			markup.El("input", markup.Attrs("type", "checkbox", "name", "severity", "value", row.name, "checked", "")), markup.Text(" "+row.name)))
	}
	options := []markup.Node{markup.El("option", markup.Attrs("value", ""), markup.Text("all rules"))}
	for _, rule := range rulesOf(r) {
		options = append(options, markup.El("option", markup.Attrs("value", rule.ID), markup.Text(rule.ID+" "+phrase.Visible(rule.Title))))
	}
	return markup.El("form", markup.Attrs("id", "filter", "class", "filter", "hidden", "", "role", "search", "aria-label", "Filter the findings"),
		markup.El("input", markup.Attrs("type", "search", "name", "text", "placeholder", "Filter by text", "aria-label", "Text", "autocomplete", "off")),
		markup.El("select", markup.Attrs("name", "rule", "aria-label", "Rule"), options...),
		el("fieldset", "", append([]markup.Node{el("legend", "", markup.Text("Severity"))}, boxes...)...),
		markup.El("output", markup.Attrs("name", "shown", "aria-live", "polite")),
		markup.El("nav", markup.Attrs("class", "pages", "hidden", "", "aria-label", "Pages"),
			markup.El("button", markup.Attrs("type", "button", "value", "back"), markup.Text("Previous")),
			el("span", ""),
			markup.El("button", markup.Attrs("type", "button", "value", "next"), markup.Text("Next"))),
		el("p", "hint", markup.Text("Arrow keys lead from one finding to the next.")))
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

// pageLength is how many findings a page shows at a time, if its script runs; the
// script has the same number.
const pageLength = 50

// pageFindings is one flat sequence of headings and findings. What does not fit
// on the first page stands in noscript elements: to a browser that runs the
// script these are plain text, which costs next to nothing until the script shows
// it, and any other browser shows all of it.
func pageFindings(r *lint.Report) markup.Node {
	if len(r.Findings) == 0 {
		return markup.El("div", markup.Attrs("id", "findings"), el("p", "clean", markup.Text("No findings.")))
	}
	homes := make([]home, len(r.Findings))
	tally := map[home]int{}
	for i := range r.Findings {
		homes[i] = homeOf(r.Findings[i].File)
		tally[homes[i].release()]++
	}
	var first, part, rest []markup.Node
	ids := map[string]int{} // releases share the fingerprints of faults that they share
	for i := range r.Findings {
		f, h := &r.Findings[i], homes[i]
		before, begin := home{}, i == 0
		if !begin {
			before = homes[i-1]
		}
		if begin || h.root != before.root || h.provider != before.provider {
			begin = true
			part = append(part, el("h2", "", h.title(r)...))
		}
		if h.version != "" && (begin || h.version != before.version) {
			begin = true
			part = append(part, el("h3", "", markup.Text(phrase.Visible(h.version)+" "), el("span", "tally", markup.Text(phrase.Count(tally[h.release()], "finding")))))
		}
		if begin || f.File != r.Findings[i-1].File {
			level := "h4"
			if h.version == "" {
				level = "h3" // no release stands above it
			}
			part = append(part, markup.El(level, markup.Attrs("class", "file"), markup.Text(cmp.Or(phrase.Visible(h.name), "the folder"))))
		}
		ids[f.Fingerprint]++
		part = append(part, pageFinding(f, ids[f.Fingerprint]))
		switch last := i+1 == len(r.Findings); {
		case (i+1)%pageLength != 0 && !last:
			continue
		case i < pageLength:
			first = part
		default:
			rest = append(rest, el("noscript", "more", part...))
		}
		part = nil
	}
	parts := []markup.Node{markup.El("div", markup.Attrs("id", "findings"), first...)}
	if len(rest) > 0 {
		parts = append(parts, markup.El("p", markup.Attrs("id", "rest"),
			markup.Text(fmt.Sprintf("These are %d of %s. If no others follow, the browser stopped the script of this page: allow it, or turn off scripts to see all.",
				pageLength, phrase.Count(len(r.Findings), "finding")))))
	}
	return markup.List(append(parts, rest...)...)
}

// release is the home without the file.
func (h home) release() home { return home{root: h.root, provider: h.provider, version: h.version} }

// title is the heading of a provider.
func (h home) title(r *lint.Report) []markup.Node {
	switch {
	case h.provider != "" && h.root != "":
		return []markup.Node{markup.Text(phrase.Visible(h.provider) + " "), el("small", "", markup.Text("in "+phrase.Visible(h.root)))}
	case h.provider != "":
		return []markup.Node{markup.Text(phrase.Visible(h.provider))}
	case r.Subject != "":
		return []markup.Node{markup.Text("The server")}
	}
	return []markup.Node{markup.Text("Source files")}
}

// pageFinding is one finding, the nth with its fingerprint.
func pageFinding(f *lint.Finding, nth int) markup.Node {
	name := severityName(f.Severity)
	attrs := markup.Attrs("class", "finding "+name, "data-severity", name, "data-rule", f.Rule.ID)
	where := "as a whole"
	if !f.Pos.IsZero() {
		where = fmt.Sprintf("%d:%d", f.Pos.Line, f.Pos.Column)
	}
	at := el("span", "place", markup.Text(where))
	if f.Fingerprint != "" {
		id := "finding-" + f.Fingerprint
		if nth > 1 {
			id += "-" + strconv.Itoa(nth)
		}
		attrs = append(attrs, markup.Attr{Name: "id", Value: id})
		at = markup.El("a", markup.Attrs("class", "place", "href", "#"+id), markup.Text(where))
	}
	line := []markup.Node{el("span", "badge", markup.Text(name)), markup.Text(" "), at, markup.Text(" "),
		markup.El("a", markup.Attrs("class", "rule", "href", "#rule-"+f.Rule.ID, "title", phrase.Visible(f.Rule.Title)), markup.Text(f.Rule.ID))}
	if f.Object != "" {
		line = append(line, markup.Text(" "), el("span", "object", markup.Text(phrase.Visible(f.Object))))
	}
	parts := []markup.Node{el("p", "head", line...), el("p", "message", markup.Text(visibleLines(f.Message)))}
	if s, ok := sourceOf(f); ok {
		marked := phrase.Visible(s.marked)
		if marked == "" {
			marked = " " // a place behind the end of the line
		}
		parts = append(parts, el("pre", "",
			markup.El("span", markup.Attrs("class", "number", "aria-hidden", "true"), markup.Text(strconv.Itoa(f.Pos.Line))),
			el("code", "", markup.Text(phrase.Visible(s.before)), el("mark", "", markup.Text(marked)), markup.Text(phrase.Visible(s.after)))))
	}
	if len(f.Evidence) > 0 {
		parts = append(parts, el("pre", "", el("code", "", markup.Text(visibleLines(strings.Join(f.Evidence, "\n"))))))
	}
	if f.Way != "" {
		parts = append(parts, el("p", "help", el("b", "", markup.Text("At: ")), markup.Text(built(f))))
	}
	if help := f.Help(); help != "" {
		parts = append(parts, el("p", "help", el("b", "", markup.Text("What to do: ")), withCode(help)))
	}
	return markup.El("article", attrs, parts...)
}

// withCode is a text of a rule.
func withCode(s string) markup.Node {
	var out []markup.Node
	for _, part := range codeSpans(s) {
		if n := markup.Text(visibleLines(part.text)); part.code {
			out = append(out, el("code", "", n))
		} else {
			out = append(out, n)
		}
	}
	return markup.List(out...)
}

func pagePictures(pictures []Picture) markup.Node {
	if len(pictures) == 0 {
		return markup.Node{}
	}
	parts := []markup.Node{el("h2", "", markup.Text("Who owns whom"))}
	for i, p := range pictures {
		parts = append(parts, p.node(i))
	}
	return el("section", "pictures", parts...)
}

// node is the ith picture of a page.
func (p Picture) node(i int) markup.Node {
	return markup.El("details", markup.Attrs("class", "picture", "open", ""),
		el("summary", "", el("h3", "", markup.Text(phrase.Visible(p.Title)))),
		markup.El("div", markup.Attrs("class", "canvas", "tabindex", "0"), p.Graph.SVG("picture-"+strconv.Itoa(i+1))))
}

func pageRules(r *lint.Report) markup.Node {
	if len(r.Findings) == 0 {
		return markup.Node{}
	}
	number := map[string]int{}
	for i := range r.Findings {
		number[r.Findings[i].Rule.ID]++
	}
	parts := []markup.Node{el("h2", "", markup.Text("The rules"))}
	for _, rule := range rulesOf(r) {
		fact := func(name, text string) markup.Node {
			return markup.List(el("dt", "", markup.Text(name)), el("dd", "", withCode(text)))
		}
		parts = append(parts, markup.El("details", markup.Attrs("class", "rule", "id", "rule-"+rule.ID),
			el("summary", "", el("b", "", markup.Text(rule.ID)), markup.Text(" "), withCode(rule.Title), markup.Text(" "), el("span", "tally", markup.Text(phrase.Count(number[rule.ID], "finding")))),
			el("dl", "",
				fact("What happens", rule.Why),
				fact("What to do", rule.Fix),
				fact("Severity", severityName(rule.Severity)),
				fact("Proven by", string(rule.Proof)+": "+rule.Source),
				fact("More", "clusterctl-repo explain "+rule.ID))))
	}
	return el("section", "rules", parts...)
}
