package report_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

var update = flag.Bool("update", false, "write the golden files")

// plain does not paint.
type plain struct{}

func (plain) Red(s string) string    { return s }
func (plain) Yellow(s string) string { return s }
func (plain) Blue(s string) string   { return s }
func (plain) Bold(s string) string   { return s }
func (plain) Dim(s string) string    { return s }

const hostile = `<script>alert(1)</script> "'&]]> | @someone #12 ${A} $B$ ` + "`x`" + ` [a](https://example.org) ::error::no %0A` + "\x1b[31m\u202e\x00\r\n::warning::line two"

func pos(line, column int) yamldoc.Pos { return yamldoc.Pos{Line: line, Column: column} }

// nasty is a report with everything that formats have to get right.
func nasty() *lint.Report {
	series := &lint.Rule{
		ID: "META006", Name: "series-missing", Title: "metadata.yaml names the series of every version", Severity: lint.Error, Proof: lint.Clusterctl,
		Source: "clusterctl: repository/metadata_client.go, Get", Why: "clusterctl refuses the release.", Fix: "Add the series to releaseSeries.",
	}
	image := &lint.Rule{
		ID: "COMP020", Name: "image", Title: "Images have a tag | or digest", Severity: lint.Warning, Proof: lint.Practice,
		Source: "experience", Why: "Without `a tag` users get <latest>.\nThat changes.", Fix: "Add a tag.",
	}
	note := &lint.Rule{ID: "VAR001", Name: "default", Title: "A variable has one default", Severity: lint.Info, Proof: lint.Contract, Source: "contract", Why: "It is confusing.", Fix: ""}
	unused := &lint.Rule{ID: "ZZZ001", Name: "silent", Title: "Users do not see it", Severity: lint.Warning, Proof: lint.Practice, Source: "none", Why: "None.", Fix: "None."}
	const release = "repository/infrastructure-acme/v1.2.3"
	r := &lint.Report{
		Files: 7, Releases: 2, Providers: 1,
		Failures: []error{errors.New("rule COMP001 failed: " + hostile), errors.New("read x.yaml: permission denied")},
		Findings: []lint.Finding{
			{Rule: series, Severity: lint.Error, File: "../outside/metadata.yaml", Pos: pos(1, 1), Message: "outside", Fingerprint: "00"},
			{Rule: series, Severity: lint.Error, File: "/srv/with space/metadata.yaml", Pos: pos(1, 1), End: pos(1, 1), Message: "absolute", Fingerprint: "01"},
			{Rule: image, Severity: lint.Warning, File: "config/a,b:c%d é.yaml", Pos: pos(3, 8), End: pos(3, 12), Object: "Deployment <b>/x", Message: hostile, Fix: "Do\nthis.",
				Source: "\té: \u202e\"<img src=x onerror=alert(1)>\x1b\xff\"", Fingerprint: "02"},
			{Rule: image, Severity: lint.Warning, File: "config/a,b:c%d é.yaml", Pos: pos(3, 8), End: pos(3, 12), Message: "the same place", Fingerprint: "03"},
			{Rule: note, Severity: lint.Info, File: "config/long.json", Pos: pos(1, 5000), End: pos(1, 5003), Message: "far out", Source: `…"a": "${A:=1}"`, SourceColumn: 4990, Fingerprint: "04"},
			{Rule: note, Severity: lint.Info, File: "config/end.yaml", Pos: pos(2, 4), End: pos(5, 2), Message: "several lines", Source: "a: |", Fingerprint: "05"},
			{Rule: note, Severity: lint.Info, File: "config/end.yaml", Pos: pos(9, 99), Way: "spec.a|b[0]", Message: "behind the end", Source: "a: b", Fingerprint: "06"},
			{Rule: series, Severity: lint.Error, File: "https://example.org/a%20b/metadata.yaml", Message: "remote", Fingerprint: "07"},
			{Rule: series, Severity: lint.Error, File: release, Message: "metadata.yaml is missing", Fingerprint: "08"},
			{Rule: image, Severity: lint.Error, File: release + "/infrastructure-components.yaml", Pos: pos(41, 16), End: pos(41, 33), Object: "Deployment acme-system/manager",
				Message: "the image ghcr.io/acme/acme has no tag", Source: "        image: ghcr.io/acme/acme", Fingerprint: "09"},
			{Rule: note, Severity: lint.Info, File: release + "/infrastructure-components.yaml", Message: "about the file", Fingerprint: "0a"},
			{Rule: series, Severity: lint.Error, File: "repository/infrastructure-acme/v1.3.0/metadata.yaml", Pos: pos(4, 3), End: pos(4, 11), Message: "series 1.3 is missing", Source: "  - major: 1", Fingerprint: "0b"},
			{Rule: note, Severity: lint.Info, File: "repository/infrastructure-acme", Message: "about the provider", Fingerprint: "0c"},
		},
	}
	r.Suppressed = []lint.Suppressed{{Finding: lint.Finding{Rule: unused, Severity: lint.Warning, File: "config/ok.yaml", Pos: pos(1, 1), Message: "known", Fingerprint: "0d"}, Reason: hostile}}
	slices.SortStableFunc(r.Findings, func(a, b lint.Finding) int { return strings.Compare(a.File, b.File) })
	return r
}

func options() report.Options { return report.Options{Paint: plain{}, Version: "v1.2.3"} }

func render(t testing.TB, format string, r *lint.Report) string {
	t.Helper()
	var b strings.Builder
	given.NoError(t, report.WriteFindings(&b, format, r, options()))
	return b.String()
}

// TestGolden shows each format in whole; TestFormats of cmd/clusterctl-repo shows that texts
// from outside change nothing in any of them.
func TestGolden(t *testing.T) {
	endings := map[string]string{"text": "txt", "json": "json", "sarif": "sarif", "junit": "xml", "github": "github", "markdown": "md", "html": "html"}
	for _, format := range report.FindingsFormats {
		got := render(t, format, nasty())
		if format == "html" { // for people who read the difference
			got = strings.ReplaceAll(got, "><", ">\n<")
		}
		name := "testdata/findings." + endings[format]
		if *update {
			given.NoError(t, os.WriteFile(name, []byte(got), 0o644))
		}
		want := given.Read(t, name)
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got); run the test with -update if that is right:\n%s", format, diff)
		}
	}
	if names, err := filepath.Glob("testdata/findings.*"); err != nil || len(names) != len(report.FindingsFormats) {
		t.Errorf("%v, %v", names, err)
	}
}

// A clean report is complete in every format, and errors of the writer get
// through.
func TestEdges(t *testing.T) {
	clean := map[string]string{"junit": `tests="1"`, "html": "No findings.", "sarif": `"executionSuccessful": true`}
	for _, format := range report.FindingsFormats {
		if got := render(t, format, &lint.Report{Files: 1, Releases: 1}); got == "" || !strings.Contains(got, clean[format]) {
			t.Errorf("%s: got %s", format, got)
		}
		if err := report.WriteFindings(fullDisk{}, format, nasty(), options()); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

type sarif struct {
	Runs []struct {
		Invocations []struct {
			ToolExecutionNotifications []struct{ Message struct{ Text string } }
		}
		Tool struct {
			Driver struct{ SemanticVersion string }
		}
		Results []struct {
			Level            string
			Message          struct{ Text string }
			RelatedLocations []any
		}
	}
}

// TestVersions: GitHub takes a semantic version of the program only.
func TestVersions(t *testing.T) {
	for version, want := range map[string]string{"(devel)": "", "v1.0.0-rc.1+x": "1.0.0-rc.1+x", "": ""} {
		var b strings.Builder
		given.NoError(t, report.WriteFindings(&b, "sarif", &lint.Report{}, report.Options{Version: version}))
		var log sarif
		given.NoError(t, json.Unmarshal([]byte(b.String()), &log))
		if got := log.Runs[0].Tool.Driver.SemanticVersion; got != want {
			t.Errorf("version %q becomes %q, want %q", version, got, want)
		}
	}
}

// GitHub cuts summaries and comments that are too long; ours end in time and
// say what is missing.
func TestMarkdownSize(t *testing.T) {
	r := &lint.Report{}
	rule := &lint.Rule{ID: "META006", Title: "title", Why: "why"}
	for i := range 40000 {
		r.Findings = append(r.Findings, lint.Finding{Rule: rule, Severity: lint.Warning, File: fmt.Sprintf("f%d.yaml", i), Message: strings.Repeat("m", 40)})
	}
	r.Findings = append(r.Findings, lint.Finding{Rule: rule, Severity: lint.Error, File: "last.yaml", Message: "the worst"})
	comment := render(t, "markdown", r)
	var summary strings.Builder
	given.NoError(t, report.WriteGitHubSummary(&summary, r, report.Options{}, 0))
	for _, tt := range []struct {
		text string
		size int
	}{{comment, 65536}, {summary.String(), 1 << 20}} {
		if len(tt.text) > tt.size || len(tt.text) < tt.size/2 {
			t.Errorf("%d bytes of %d", len(tt.text), tt.size)
		}
		if !strings.Contains(tt.text, "the worst") || !regexp.MustCompile(`\nAnd \d+ more\.\n`).MatchString(tt.text) || !strings.HasSuffix(tt.text, "</details>\n") {
			t.Errorf("the text is not complete: %.300s … %s", tt.text, tt.text[len(tt.text)-200:])
		}
	}
}

// TestManyFindings demands that a page has all findings, whatever the browser makes of
// its script, and that headings never skip a level.
func TestManyFindings(t *testing.T) {
	r := nasty()
	for i := range 330 {
		file := fmt.Sprintf("repository/infrastructure-acme/v1.%d.0/f%d.yaml", i/100, i/7)
		r.Findings = append(r.Findings, lint.Finding{Rule: r.Findings[0].Rule, Severity: lint.Error, File: file, Pos: pos(i+1, 1), Message: "many " + hostile, Fingerprint: fmt.Sprintf("f%x", i%90)})
	}
	text := render(t, "html", r)
	for d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>\n"))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("an element is not closed: %v", err)
		}
	}
	first, _, _ := strings.Cut(text, "<noscript")
	n, all, pages := strings.Count(first, "<article "), strings.Count(text, `<article class="finding `), strings.Count(text, "<noscript")
	if n != 50 || all != len(r.Findings) || pages != (len(r.Findings)-1)/50 {
		t.Errorf("%d findings on the first page, %d on all, %d more pages", n, all, pages)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if ids[m[1]] {
			t.Errorf("two elements have the id %s", m[1])
		}
		ids[m[1]] = true
	}
	if !strings.Contains(first, "These are 50 of 343 findings.") {
		t.Error("readers whose browser stops the script are not told")
	}
	level := 0
	for _, m := range regexp.MustCompile(`<h([1-6])`).FindAllStringSubmatch(text, -1) {
		if next := int(m[1][0] - '0'); next > level+1 {
			t.Errorf("h%d follows h%d", next, level)
		} else {
			level = next
		}
	}
}

// TestGitHubLimits: what GitHub refuses as too large is not written, the worst
// findings are, and a note says what is left out.
func TestGitHubLimits(t *testing.T) {
	rules := []*lint.Rule{{ID: "TEST001", Severity: lint.Warning}, {ID: "TEST002", Severity: lint.Error}}
	for _, tt := range []struct {
		name           string
		findings, also int
		note           string
	}{
		{"few", 100, 300, ""},
		{"more than are shown", 6000, 0, "GitHub shows the 5000 most severe of these 6000 results"},
		{"more than are taken", 26000, 0, "so the 1000 least severe of 26000 are left out"},
	} {
		if tt.findings > 10_000 && !share.All() {
			continue // slow
		}
		r := &lint.Report{}
		for i := range tt.findings {
			rule := rules[0]
			if i >= tt.findings-10 {
				rule = rules[1]
			}
			f := lint.Finding{Rule: rule, Severity: rule.Severity, File: "f.yaml", Message: "it is wrong", Fingerprint: strconv.Itoa(i)}
			f.Also = make([]lint.Place, tt.also)
			r.Findings = append(r.Findings, f)
		}
		text := render(t, "sarif", r)
		var log sarif
		given.NoError(t, json.Unmarshal([]byte(text), &log))
		results, errs := log.Runs[0].Results, 0
		for _, one := range results {
			if one.Level == "error" {
				errs++
			}
			if len(one.RelatedLocations) > 20 || tt.also > 100 && !strings.Contains(one.Message.Text, "in 280 more places") {
				t.Fatalf("%s: %d related locations: %s", tt.name, len(one.RelatedLocations), one.Message.Text)
			}
		}
		if len(results) > 25_000 || errs != 10 {
			t.Errorf("%s: %d results, %d errors", tt.name, len(results), errs)
		}
		notes := fmt.Sprint(log.Runs[0].Invocations[0].ToolExecutionNotifications)
		if !strings.Contains(notes, tt.note) || tt.note == "" && notes != "[]" {
			t.Errorf("%s: notes %s, want %q", tt.name, notes, tt.note)
		}

		if tt.findings > 100 {
			continue
		}
		if note := "GitHub annotates the first 10 errors, warnings and notices"; !strings.Contains(render(t, "github", r), note) {
			t.Errorf("%s: annotations without the note", tt.name)
		}
		for _, used := range []int{0, 900_000, 999_000, 1_048_000, 1 << 20, 2 << 20} {
			var summary strings.Builder
			given.NoError(t, report.WriteGitHubSummary(&summary, r, report.Options{}, used))
			if used < 1<<20 && used+summary.Len() > 1<<20 || used <= 1_048_000 && !strings.Contains(summary.String(), "10 errors") {
				t.Errorf("%s: %d bytes after %d: %.80s", tt.name, summary.Len(), used, summary.String())
			}
		}
	}
}
