package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// junitSuite is a testsuite in the making.
type junitSuite struct {
	name                             string
	cases                            []markup.Element
	tests, failures, errors, skipped int
	names                            map[string]int
}

// add adds a case with what came of it: an element with a text, or nothing if its name is
// empty. The attributes are those besides its name.
func (s *junitSuite) add(name, attrs, result, text string) {
	// Test systems know a case by its name; two with the same one become one.
	s.names[name]++
	if n := s.names[name]; n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	s.tests++
	var came markup.Element
	if result != "" {
		came = "\n" + markup.Tag(result, markup.Element(markup.Text(text))) + "\n"
	}
	s.cases = append(s.cases, markup.Tag("testcase"+markup.Attrs("name", name, "classname", s.name)+attrs, came), "\n")
}

// element is the suite, or all of them.
func (s *junitSuite) element(name string) markup.Element {
	tag := fmt.Sprintf(`%s%s tests="%d" failures="%d" errors="%d" skipped="%d"`,
		name, markup.Attrs("name", s.name), s.tests, s.failures, s.errors, s.skipped)
	return markup.Tag(tag, markup.Element("\n"), s.cases) + "\n"
}

// findingsJUnit writes a test suite for each file with findings. Those at or above
// a severity are failures; others are tests that passed, with the finding as
// their output. The first suite is the run itself, so that a clean report is not
// empty, which test systems take for a mistake; what could not be checked is an
// error there, and what comments suppress is skipped.
func findingsJUnit(w io.Writer, r *lint.Report, failOn lint.Severity) error {
	run := &junitSuite{name: job(r), names: map[string]int{}}
	for _, err := range r.Failures {
		text := markup.Lines(err.Error())
		first, _, _ := strings.Cut(text, "\n")
		run.errors++
		run.add(cmp.Or(first, "failure"), "", "error"+markup.Attrs("type", "failure", "message", first), text)
	}
	if len(r.Failures) == 0 {
		run.add("everything in "+scope(r)+" was checked", "", "", "")
	}
	for i := range r.Suppressed {
		f := &r.Suppressed[i]
		run.skipped++
		why := markup.OneLine(f.Reason)
		if f.By == "" {
			why = "a comment suppresses it: " + why
		}
		run.add(f.Rule.ID+" "+place(f.File, f.Pos), "", "skipped"+markup.Attrs("message", why), junitText(&f.Finding))
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
			attrs += fmt.Sprintf(" line=\"%d\"", f.Pos.Line)
		}
		result := "system-out"
		if f.Severity >= failOn {
			s.failures++
			result = "failure" + markup.Attrs("type", f.Severity.String(), "message", statement(f))
		}
		s.add(f.Rule.ID+" "+place(f.File, f.Pos), attrs, result, junitText(f))
	}
	all := junitSuite{name: run.name}
	for _, s := range suites {
		all.tests, all.failures, all.errors, all.skipped = all.tests+s.tests, all.failures+s.failures, all.errors+s.errors, all.skipped+s.skipped
		all.cases = append(all.cases, s.element("testsuite"))
	}
	_, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n\n"+string(all.element("testsuites")))
	return err
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
		fmt.Fprintf(&b, "help: %s\n", markup.Lines(help))
	}
	return b.String()
}
