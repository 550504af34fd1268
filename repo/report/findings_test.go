package report_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

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

// TestGolden shows each format in whole; the tests below say what matters, and TestFormats of
// cmd/clusterctl-repo that texts from outside change nothing in any of them.
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
	for _, format := range report.FindingsFormats {
		if got := render(t, format, &lint.Report{Files: 1, Releases: 1}); got == "" {
			t.Errorf("%s: nothing", format)
		}
		if err := report.WriteFindings(fullDisk{}, format, nasty(), options()); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

type sarif struct {
	Runs []struct {
		ColumnKind  string
		Invocations []struct {
			ExecutionSuccessful        bool
			ToolExecutionNotifications []struct{ Message struct{ Text string } }
		}
		Tool struct {
			Driver struct {
				SemanticVersion string
				Rules           []struct {
					ID                   string
					Help                 struct{ Text, Markdown string }
					DefaultConfiguration struct{ Level string }
				}
			}
		}
		Results []struct {
			RuleID    string
			RuleIndex int
			Level     string
			Message   struct{ Text string }
			Locations []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI, URIBaseID string }
					Region           *struct{ StartLine, StartColumn, EndLine, EndColumn int }
				}
			}
			RelatedLocations    []any
			PartialFingerprints map[string]string
			Suppressions        *[]struct{ Kind, Justification string }
		}
	}
}

func TestSARIF(t *testing.T) {
	r := nasty()
	var log sarif
	given.NoError(t, json.Unmarshal([]byte(render(t, "sarif", r)), &log))
	run := log.Runs[0]
	if run.ColumnKind != "unicodeCodePoints" || run.Tool.Driver.SemanticVersion != "1.2.3" {
		t.Errorf("run: %q, version %q", run.ColumnKind, run.Tool.Driver.SemanticVersion)
	}
	if in := run.Invocations[0]; in.ExecutionSuccessful || len(in.ToolExecutionNotifications) != len(r.Failures) {
		t.Errorf("invocation: %+v", in)
	}
	all := slices.Clone(r.Findings)
	for _, s := range r.Suppressed {
		all = append(all, s.Finding)
	}
	if len(run.Results) != len(all) {
		t.Fatalf("%d results for %d findings", len(run.Results), len(all))
	}
	uris := map[string]string{}
	for i, result := range run.Results {
		f := all[i]
		if s := result.Suppressions; s == nil || (len(*s) == 1) != (i >= len(r.Findings)) {
			t.Errorf("%s: suppressions %v", f.Message, s)
		}
		if rule := run.Tool.Driver.Rules[result.RuleIndex]; rule.ID != f.Rule.ID || result.RuleID != rule.ID || rule.Help.Text == "" || rule.Help.Markdown == "" {
			t.Errorf("%s: rule %+v", f.Message, rule)
		}
		at := result.Locations[0].PhysicalLocation
		if (at.Region == nil) != f.Pos.IsZero() {
			t.Errorf("%s: region %+v", f.Message, at.Region)
		}
		if s := at.Region; s != nil && (s.StartLine != f.Pos.Line || s.StartColumn != f.Pos.Column) {
			t.Errorf("%s: region %+v for %v", f.Message, s, f.Pos)
		}
		uris[f.File] = at.ArtifactLocation.URIBaseID + " " + at.ArtifactLocation.URI
		if len(result.PartialFingerprints) != 1 {
			t.Errorf("%s: fingerprints %v", f.Message, result.PartialFingerprints)
		}
	}
	for file, want := range map[string]string{
		"../outside/metadata.yaml":                " ../outside/metadata.yaml",
		"/srv/with space/metadata.yaml":           " file:///srv/with%20space/metadata.yaml",
		"config/a,b:c%d é.yaml":                   "%SRCROOT% config/a%2Cb%3Ac%25d%20%C3%A9.yaml",
		"https://example.org/a%20b/metadata.yaml": " https://example.org/a%20b/metadata.yaml",
	} {
		if uris[file] != want {
			t.Errorf("URI of %s is %q, want %q", file, uris[file], want)
		}
	}
	if !run.Invocations[0].ExecutionSuccessful == strings.Contains(render(t, "sarif", &lint.Report{}), `"executionSuccessful": false`) {
		t.Error("a run without failures is not successful")
	}
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

type junitSuites struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
	Suites   []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []struct {
			Name      string `xml:"name,attr"`
			ClassName string `xml:"classname,attr"`
			Failure   *struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Error *struct {
				Message string `xml:"message,attr"`
			} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
			Output  string    `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// checkJUnit checks what test systems rely on: the sums, and that every case
// has a name of its own.
func checkJUnit(t testing.TB, text string, r *lint.Report) junitSuites {
	t.Helper()
	var all junitSuites
	if err := xml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	var tests, failures, failed, skipped int
	names := map[string]bool{}
	for _, s := range all.Suites {
		var f, e, k int
		for _, c := range s.Cases {
			if key := s.Name + "\x00" + c.Name; names[key] {
				t.Errorf("two cases %q", c.Name)
			} else {
				names[key] = true
			}
			if c.Name == "" || c.ClassName == "" && s.Name != "" {
				t.Errorf("a case without name in %q", s.Name)
			}
			if c.Failure != nil {
				f++
			}
			if c.Error != nil {
				e++
			}
			if c.Skipped != nil {
				k++
			}
		}
		if s.Tests != len(s.Cases) || s.Failures != f || s.Errors != e || s.Skipped != k || s.Tests == 0 {
			t.Errorf("suite %q: attributes %d %d %d %d, cases %d %d %d %d", s.Name, s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases), f, e, k)
		}
		tests, failures, failed, skipped = tests+s.Tests, failures+f, failed+e, skipped+k
	}
	if all.Tests != tests || all.Failures != failures || all.Errors != failed || all.Skipped != skipped {
		t.Errorf("sums: %d %d %d %d, want %d %d %d %d", all.Tests, all.Failures, all.Errors, all.Skipped, tests, failures, failed, skipped)
	}
	c := r.Count()
	if failures != c.Errors+c.Warnings || failed != len(r.Failures) || skipped != len(r.Suppressed) || tests != len(r.Findings)+len(r.Suppressed)+max(1, len(r.Failures)) {
		t.Errorf("%d tests, %d failures, %d errors for %+v", tests, failures, failed, c)
	}
	return all
}

func TestJUnit(t *testing.T) {
	r := nasty()
	all := checkJUnit(t, render(t, "junit", r), r)
	if first := all.Suites[0]; first.Name != "clusterctl-repo lint" || first.Cases[0].Error == nil {
		t.Errorf("first suite: %+v", first)
	}
	var seen bool
	for _, s := range all.Suites {
		for _, c := range s.Cases {
			if c.Name == "COMP020 repository/infrastructure-acme/v1.2.3/infrastructure-components.yaml:41:16" {
				seen = true
				if c.Failure == nil || c.Failure.Type != "error" || !strings.Contains(c.Failure.Message, "has no tag") || !strings.Contains(c.Failure.Text, "^~~~") || !strings.Contains(c.Failure.Text, "help: Add a tag.") {
					t.Errorf("case: %+v", c)
				}
			}
			if strings.HasPrefix(c.Name, "VAR001") && (c.Failure != nil || !strings.Contains(c.Output, "info")) {
				t.Errorf("a note is %+v", c)
			}
		}
	}
	if !seen {
		t.Error("the finding in the components is missing")
	}
	clean := &lint.Report{Files: 3, Releases: 1}
	if all := checkJUnit(t, render(t, "junit", clean), clean); all.Tests != 1 || all.Failures != 0 {
		t.Errorf("clean: %+v", all)
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
	p := checkPage(t, text, r)
	first, _, _ := strings.Cut(text, "<noscript")
	if n := strings.Count(first, "<article "); n != 50 || p.elements["noscript"] != (len(r.Findings)-1)/50 {
		t.Errorf("%d findings on the first page, %d more pages", n, p.elements["noscript"])
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
	words := rand.New(rand.NewSource(1))
	for _, tt := range []struct {
		name                    string
		findings, message, also int
		note                    string
	}{
		{"few", 100, 10, 300, ""},
		{"more than are shown", 6000, 10, 0, "GitHub shows the 5000 most severe of these 6000 results"},
		{"more than are taken", 26000, 10, 0, "so the 1000 least severe of 26000 are left out"},
		{"larger than is taken", 2000, 7000, 0, "least severe of 2000 are left out"},
	} {
		if tt.findings*tt.message > 100_000 && !share.All() {
			continue // slow
		}
		r := &lint.Report{}
		for i := range tt.findings {
			message := make([]byte, tt.message)
			for k := range message { // does not compress well
				message[k] = byte('0' + words.Intn(64))
			}
			rule := rules[0]
			if i >= tt.findings-10 {
				rule = rules[1]
			}
			f := lint.Finding{Rule: rule, Severity: rule.Severity, File: "f.yaml", Message: string(message), Fingerprint: strconv.Itoa(i)}
			f.Also = make([]lint.Place, tt.also)
			r.Findings = append(r.Findings, f)
		}
		text := render(t, "sarif", r)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		given.Value(io.WriteString(z, text))(t)
		given.NoError(t, z.Close())
		var log sarif
		given.NoError(t, json.Unmarshal([]byte(text), &log))
		results, errs := log.Runs[0].Results, 0
		for _, one := range results {
			if one.Level == "error" {
				errs++
			}
			if len(one.RelatedLocations) > 100 || tt.also > 100 && !strings.Contains(one.Message.Text, "in 200 more places") {
				t.Fatalf("%s: %d related locations: %s", tt.name, len(one.RelatedLocations), one.Message.Text)
			}
		}
		if packed.Len() > 10_000_000 || len(results) > 25_000 || errs != 10 || tt.message > 1000 && len(results) < 1500 {
			t.Errorf("%s: %d bytes compressed, %d results, %d errors", tt.name, packed.Len(), len(results), errs)
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

// page is what a browser would find in a page.
type page struct {
	elements map[string]int
	findings int
	text     string
	urls     []string
	ids      map[string]int
	handlers []string
}

// parsePage reads a page strictly: every element that is opened is closed.
func parsePage(t testing.TB, text string) page {
	t.Helper()
	body, ok := strings.CutPrefix(text, "<!DOCTYPE html>\n")
	if !ok {
		t.Fatalf("no doctype: %.60q", text)
	}
	p := page{elements: map[string]int{}, ids: map[string]int{}}
	var b strings.Builder
	raw := false
	for d := xml.NewDecoder(strings.NewReader(body)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		switch x := token.(type) {
		case xml.StartElement:
			p.elements[x.Name.Local]++
			raw = x.Name.Local == "script" || x.Name.Local == "style"
			for _, a := range x.Attr {
				switch {
				case a.Name.Local == "id":
					p.ids[a.Value]++
				case a.Name.Local == "class" && x.Name.Local == "article" && strings.HasPrefix(a.Value, "finding "):
					p.findings++
				case slices.Contains([]string{"src", "href", "action", "data", "srcset", "poster", "formaction", "ping", "background"}, a.Name.Local):
					p.urls = append(p.urls, a.Value)
				case strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style":
					p.handlers = append(p.handlers, a.Name.Local)
				}
			}
		case xml.EndElement:
			raw = false
		case xml.CharData:
			if raw {
				if strings.ContainsAny(string(x), "<>&") {
					t.Errorf("markup in a script or style sheet")
				}
				continue
			}
			b.Write(x)
		}
	}
	p.text = b.String()
	return p
}

func checkPage(t testing.TB, text string, r *lint.Report) page {
	t.Helper()
	p := parsePage(t, text)
	if p.findings != len(r.Findings) || p.elements["article"] != len(r.Findings) {
		t.Errorf("%d findings on the page, %d in the report", p.findings, len(r.Findings))
	}
	if p.elements["script"] != 1 || p.elements["style"] != 1 || p.elements["iframe"]+p.elements["object"]+p.elements["link"]+p.elements["img"]+p.elements["base"] != 0 {
		t.Errorf("elements: %v", p.elements)
	}
	if len(p.handlers) > 0 {
		t.Errorf("attributes %v", p.handlers)
	}
	for _, u := range p.urls {
		if id, ok := strings.CutPrefix(u, "#"); !ok || p.ids[id] == 0 {
			t.Errorf("the page refers to %q", u)
		}
	}
	for id, n := range p.ids {
		if n > 1 {
			t.Errorf("%d elements with the id %q", n, id)
		}
	}
	return p
}

func TestHTML(t *testing.T) {
	r := nasty()
	text := render(t, "html", r)
	p := checkPage(t, text, r)
	for _, want := range []string{"clusterctl-repo v1.2.3 looked at", "comments suppress 1 finding", "spec.a|b[0] in the built object", "infrastructure-acme in repository", "permission denied", "clusterctl-repo explain META006"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if strings.Contains(text, "http://") || strings.Contains(text, "@import") || strings.Contains(text, "url(") {
		t.Error("the page loads something")
	}
	if strings.Contains(text, "unsafe-inline") {
		t.Error("the policy allows any script")
	}
	clean := &lint.Report{Files: 1, Releases: 1, Providers: 1}
	if p := checkPage(t, render(t, "html", clean), clean); !strings.Contains(p.text, "No findings.") {
		t.Errorf("clean: %s", p.text)
	}
}

// FuzzFormats: whatever is in a finding, each format stays what it is.
func FuzzFormats(f *testing.F) {
	f.Add("a.yaml", "Deployment x", "message", "a: b", "why", uint8(1), 1, 2, 1, 3)
	f.Add("/\xff:,%\n", "|`@x", hostile, "\x00\t<mark>", "]]>", uint8(3), 3, 900, 5, 1)
	f.Add("https://[::1", "", "", "", "", uint8(2), 0, 0, 0, 0)
	f.Add("infrastructure-a/v1.0.0", `a\|b`, "-->", "\u202e", "</script>", uint8(1), -1, -5, 1<<40, -3)
	f.Add("0://`|`", "`", "x`", "`", "```", uint8(5), 2, 2, 2, 2)
	f.Fuzz(func(t *testing.T, file, object, message, source, text string, severity uint8, line, column, endLine, endColumn int) {
		rule := &lint.Rule{ID: "TEST001", Name: "test", Title: text, Severity: lint.Severity(severity % 4), Proof: lint.Practice, Source: text, Why: text, Fix: text}
		finding := lint.Finding{
			Rule: rule, Severity: lint.Severity(1 + severity%3), File: file, Pos: pos(max(line, 0), max(column, 1)), End: pos(endLine, endColumn),
			Object: object, Message: message, Way: message, Source: source, SourceColumn: int(severity), Fingerprint: strconv.Itoa(line),
		}
		if finding.Pos.Line == 0 {
			finding.Pos = yamldoc.Pos{}
		}
		r := &lint.Report{Findings: []lint.Finding{finding, finding}, Failures: []error{errors.New(text)}, Suppressed: []lint.Suppressed{{Finding: finding, Reason: text}}}

		shown := render(t, "text", r)
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(c rune) bool { return c < ' ' && c != '\n' || c == '\u202e' }) {
			t.Errorf("text: %q", shown)
		}
		for _, format := range []string{"json", "sarif"} {
			if out := render(t, format, r); !json.Valid([]byte(out)) || !utf8.ValidString(out) {
				t.Errorf("%s: %q", format, out)
			}
		}
		checkJUnit(t, render(t, "junit", r), r)
		checkPage(t, render(t, "html", r), r)
	})
}
