package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// junitSuite is a testsuite in the making.
type junitSuite struct {
	name                             string
	cases                            []markup.Node
	tests, failures, errors, skipped int
	names                            map[string]int
}

func (s *junitSuite) add(name string, attrs []markup.Attr, children ...markup.Node) {
	// Test systems know a case by its name; two with the same one become one.
	s.names[name]++
	if n := s.names[name]; n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	s.tests++
	attrs = append(markup.Attrs("name", name, "classname", s.name), attrs...)
	s.cases = append(s.cases, markup.El("testcase", attrs, lines(children...)))
}

func (s *junitSuite) node() markup.Node {
	return markup.El("testsuite", append(markup.Attrs("name", s.name), junitCounts(s)...), lines(s.cases...))
}

func junitCounts(s *junitSuite) []markup.Attr {
	return markup.Attrs("tests", strconv.Itoa(s.tests), "failures", strconv.Itoa(s.failures), "errors", strconv.Itoa(s.errors), "skipped", strconv.Itoa(s.skipped))
}

// findingsJUnit writes a test suite for each file with findings. Those at or above
// a severity are failures; others are tests that passed, with the finding as
// their output. The first suite is the run itself, so that a clean report is not
// empty, which test systems take for a mistake; what could not be checked is an
// error there, and what comments silence is skipped.
func findingsJUnit(w io.Writer, r *lint.Report, failOn lint.Severity) error {
	run := &junitSuite{name: job(r), names: map[string]int{}}
	for _, err := range r.Failures {
		text := visibleLines(err.Error())
		first, _, _ := strings.Cut(text, "\n")
		run.errors++
		run.add(cmp.Or(first, "failure"), nil, markup.El("error", markup.Attrs("type", "failure", "message", first), markup.Text(text)))
	}
	if len(r.Failures) == 0 {
		run.add("everything "+scope(r)+" was checked", nil)
	}
	for i := range r.Suppressed {
		f := &r.Suppressed[i]
		run.skipped++
		why := oneLine(f.Reason)
		if f.By == "" {
			why = "a comment suppresses it: " + why
		}
		run.add(f.Rule.ID+" "+place(f.File, f.Pos), nil, markup.El("skipped", markup.Attrs("message", why), markup.Text(junitText(&f.Finding))))
	}
	suites := []*junitSuite{run}
	for i := range r.Findings {
		f := &r.Findings[i]
		file := phrase.Visible(f.File)
		s := suites[len(suites)-1]
		if s == run || s.name != file {
			s = &junitSuite{name: file, names: map[string]int{}}
			suites = append(suites, s)
		}
		attrs := markup.Attrs("file", file)
		if !f.Pos.IsZero() {
			attrs = append(attrs, markup.Attr{Name: "line", Value: strconv.Itoa(f.Pos.Line)})
		}
		result := markup.El("system-out", nil, markup.Text(junitText(f)))
		if f.Severity >= failOn {
			s.failures++
			result = markup.El("failure", markup.Attrs("type", f.Severity.String(), "message", statement(f)), markup.Text(junitText(f)))
		}
		s.add(f.Rule.ID+" "+place(f.File, f.Pos), attrs, result)
	}
	var all junitSuite
	var nodes []markup.Node
	for _, s := range suites {
		all.tests, all.failures, all.errors, all.skipped = all.tests+s.tests, all.failures+s.failures, all.errors+s.errors, all.skipped+s.skipped
		nodes = append(nodes, s.node())
	}
	root := markup.El("testsuites", append(markup.Attrs("name", run.name), junitCounts(&all)...), lines(nodes...))
	if _, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"); err != nil {
		return err
	}
	return markup.Write(w, lines(root))
}

// junitText is a finding as it is shown on a terminal.
func junitText(f *lint.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s [%s]\n", place(f.File, f.Pos), f.Severity, statement(f), f.Rule.ID)
	if s, ok := sourceOf(f); ok {
		line, mark := s.monospaced()
		fmt.Fprintf(&b, "  | %s\n  | %s\n", line, mark)
	}
	if f.Way != "" {
		fmt.Fprintf(&b, "at: %s\n", built(f))
	}
	if help := f.Help(); help != "" {
		fmt.Fprintf(&b, "help: %s\n", visibleLines(help))
	}
	return b.String()
}
