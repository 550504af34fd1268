package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// What a page is made of: it is complete without the script, which filters and turns
// pages.
var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// pageTemplate is parsed when the first page is written. The page has none of the line
// breaks and indentation of its source.
var pageTemplate = sync.OnceValue(func() *template.Template {
	var text strings.Builder
	for line := range strings.Lines(pageText) {
		text.WriteString(strings.TrimSpace(line))
	}
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"visible": phrase.Visible, "lines": Lines, "spans": Spans, "name": lint.Severity.String, "built": built, "elsewhere": elsewhere, "count": phrase.Count[int],
	}).Parse(text.String()))
})

// findingsHTML writes one page that needs nothing else: it loads nothing, and its policy
// lets the browser use only the style sheet and the script in it.
func findingsHTML(w io.Writer, r *lint.Report, o Options) error {
	type count struct {
		Findings   int
		Name, Noun string
	}
	var counts []count
	c := r.Count()
	for i, n := range []int{c.Errors, c.Warnings, c.Infos} { // worst first
		name := (lint.Error - lint.Severity(i)).String()
		_, noun, _ := strings.Cut(phrase.Count(n, name), " ")
		counts = append(counts, count{n, name, noun})
	}
	pages := slices.Collect(slices.Chunk(pageFindings(r), pageLength))
	by := strings.TrimSpace("clusterctl-repo "+phrase.Visible(o.Version)) + " looked at " + scope(r)
	if r.Subject == "" {
		by += " of " + phrase.Count(r.Providers, "provider")
	}
	if _, err := io.WriteString(w, "<!DOCTYPE html>\n\n"); err != nil {
		return err
	}
	return pageTemplate().Execute(w, map[string]any{
		"Title": job(r) + ": " + verdict(r), "By": by + suppressedBy(r), "Style": template.CSS(pageStyle), "Script": template.JS(pageScript),
		"Policy": fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'", hashOf(pageStyle), hashOf(pageScript)),
		"Counts": counts, "Failures": r.Failures, "Rules": byRule(r),
		"Findings": slices.Concat(pages[:min(len(pages), 1)]...), "More": pages[min(len(pages), 1):], "All": phrase.Count(len(r.Findings), "finding"),
	})
}

// hashOf is how a Content Security Policy names a script or style sheet.
func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
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

type pageFinding struct {
	*lint.Finding
	ID, Place string
	Line      *source // nil if there is nothing to show
	// The headings that begin with it: those of the provider, the release and the
	// file, each empty if the finding before has the same.
	Label, Root, Release, Tally, Name string
	Deep                              bool // the file is below a release
}

func pageFindings(r *lint.Report) []pageFinding {
	tally := map[home]int{}
	for i := range r.Findings {
		tally[homeOf(r.Findings[i].File).release()]++
	}
	out := make([]pageFinding, len(r.Findings))
	ids := map[string]int{} // releases share the fingerprints of faults that they share
	var before home
	for i := range r.Findings {
		f := &r.Findings[i]
		h, p := homeOf(f.File), &out[i]
		*p = pageFinding{Finding: f, Place: "as a whole", Deep: h.version != ""}
		begin := i == 0 || h.root != before.root || h.provider != before.provider
		if begin {
			p.Label = cmp.Or(h.provider, "Source files")
			if h.provider != "" {
				p.Root = h.root
			} else if r.Subject != "" {
				p.Label = "The server"
			}
		}
		if p.Deep && (begin || h.version != before.version) {
			begin = true
			p.Release, p.Tally = h.version, phrase.Count(tally[h.release()], "finding")
		}
		if begin || f.File != r.Findings[i-1].File {
			p.Name = cmp.Or(h.name, "the folder")
		}
		before = h
		if !f.Pos.IsZero() {
			p.Place = fmt.Sprintf("%d:%d", f.Pos.Line, f.Pos.Column)
		}
		if ids[f.Fingerprint]++; f.Fingerprint != "" {
			p.ID = "finding-" + f.Fingerprint
			if n := ids[f.Fingerprint]; n > 1 {
				p.ID += "-" + strconv.Itoa(n)
			}
		}
		if s, ok := sourceOf(f); ok {
			p.Line = &s
		}
	}
	return out
}
