package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// junitSuite is a testsuite, or with XMLName testsuites all of them.
type junitSuite struct {
	XMLName  xml.Name
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Suites   []*junitSuite
	Cases    []junitCase `xml:"testcase"`
	names    map[string]int
}

type junitCase struct {
	Name   string `xml:"name,attr"`
	Class  string `xml:"classname,attr"`
	File   string `xml:"file,attr,omitempty"`
	Line   int    `xml:"line,attr,omitempty"`
	Result *junitResult
}

// junitResult is what came of a case, an element of any of the names that JUnit has.
type junitResult struct {
	XMLName xml.Name
	Type    string  `xml:"type,attr,omitempty"`
	Message *string `xml:"message,attr"`
	Text    string  `xml:",chardata"`
}

func newSuite(tag, name string) *junitSuite {
	return &junitSuite{XMLName: xml.Name{Local: tag}, Name: name, names: map[string]int{}}
}

// add adds a case with what came of it: an element, or nothing if its name is empty.
func (s *junitSuite) add(c junitCase, tag string, result junitResult) {
	// Test systems know a case by its name; two with the same one become one.
	s.names[c.Name]++
	if n := s.names[c.Name]; n > 1 {
		c.Name = fmt.Sprintf("%s (%d)", c.Name, n)
	}
	s.Tests++
	if tag != "" {
		result.XMLName.Local = tag
		c.Result = &result
	}
	c.Class = s.Name
	s.Cases = append(s.Cases, c)
}

// findingsJUnit writes a test suite for each file with findings. Those at or above
// a severity are failures; others are tests that passed, with the finding as
// their output. The first suite is the run itself, so that a clean report is not
// empty, which test systems take for a mistake; what could not be checked is an
// error there, and what comments suppress is skipped.
func findingsJUnit(w io.Writer, r *lint.Report, failOn lint.Severity) error {
	run := newSuite("testsuite", job(r))
	for _, err := range r.Failures {
		text := Lines(err.Error())
		first, _, _ := strings.Cut(text, "\n")
		run.Errors++
		run.add(junitCase{Name: cmp.Or(first, "failure")}, "error", junitResult{Type: "failure", Message: new(first), Text: text})
	}
	if len(r.Failures) == 0 {
		run.add(junitCase{Name: "everything in " + scope(r) + " was checked"}, "", junitResult{})
	}
	for i := range r.Suppressed {
		f := &r.Suppressed[i]
		run.Skipped++
		why := OneLine(f.Reason)
		if f.By == "" {
			why = "a comment suppresses it: " + why
		}
		run.add(junitCase{Name: f.Rule.ID + " " + place(f.File, f.Pos)}, "skipped", junitResult{Message: new(why), Text: junitText(&f.Finding)})
	}
	all := newSuite("testsuites", run.Name)
	all.Suites = []*junitSuite{run}
	s := run
	for i := range r.Findings {
		f := &r.Findings[i]
		file := phrase.Visible(f.File)
		if s == run || s.Name != file {
			s = newSuite("testsuite", file)
			all.Suites = append(all.Suites, s)
		}
		tag, result := "system-out", junitResult{Text: junitText(f)}
		if f.Severity >= failOn {
			s.Failures++
			tag, result.Type, result.Message = "failure", f.Severity.String(), new(statement(f))
		}
		s.add(junitCase{Name: f.Rule.ID + " " + place(f.File, f.Pos), File: file, Line: f.Pos.Line}, tag, result)
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
	}
	out, err := xml.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	// Of the indentation only the line breaks stay, and so do those of texts: the encoder
	// makes references of tabs and line breaks in these, and attributes have one line.
	_, err = strings.NewReplacer("\t", "", "&#xA;", "\n").WriteString(w, xml.Header+"\n"+string(out)+"\n")
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
	for _, line := range elsewhere(f) {
		fmt.Fprintf(&b, "  = also: %s\n", line)
	}
	if f.Way != "" {
		fmt.Fprintf(&b, "at: %s\n", built(f))
	}
	if help := f.Help(); help != "" {
		fmt.Fprintf(&b, "help: %s\n", Lines(help))
	}
	return b.String()
}
