package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Timeline is what happened to an object that findings are about.
type Timeline struct {
	Object string
	// Moments are in the order of their times; Omitted counts those after the last one.
	Moments []Moment
	Omitted int
	// Pauses are times in which the object was paused.
	Pauses []Span
	Faults []Fault
}

// Moment is a version of an object, or something that was done to it.
type Moment struct {
	At            time.Time
	Version, What string
	Changes       []string
}

// Span is a time; without End it lasts.
type Span struct{ Begin, End time.Time }

// Fault is a finding on a timeline.
type Fault struct {
	At            time.Time
	Version       string
	Rule, Message string
	Severity      lint.Severity
}

func pageTimelines(all []Timeline) markup.Node {
	if len(all) == 0 {
		return markup.Node{}
	}
	parts := []markup.Node{el("h2", "", markup.Text("What happened to the objects"))}
	for _, t := range all {
		if len(t.Moments) == 0 {
			continue
		}
		var rules []string
		for _, f := range t.Faults {
			rules = append(rules, f.Rule)
		}
		parts = append(parts, markup.El("details", markup.Attrs("class", "timeline"),
			el("summary", "", el("b", "", markup.Text(phrase.Visible(t.Object))), markup.Text(" "), el("span", "tally", markup.Text(strings.Join(rules, ", ")))),
			t.picture(), t.table()))
	}
	return el("section", "timelines", parts...)
}

// The size of the picture, in its own units.
const (
	timelineWidth  = 1000
	timelineHeight = 36
)

// picture shows versions as ticks, pauses as areas and findings as dots.
func (t *Timeline) picture() markup.Node {
	begin, end := t.Moments[0].At, t.Moments[len(t.Moments)-1].At
	for _, f := range t.Faults {
		if f.At.After(end) {
			end = f.At
		}
	}
	if !end.After(begin) {
		end = begin.Add(time.Second)
	}
	x := func(at time.Time) int {
		return min(max(int(timelineWidth*at.Sub(begin)/end.Sub(begin)), 0), timelineWidth)
	}
	var parts []markup.Node
	for _, p := range t.Pauses {
		if p.End.IsZero() {
			p.End = end
		}
		if p.End.Before(begin) || p.Begin.After(end) {
			continue
		}
		parts = append(parts, markup.El("rect", markup.Attrs("class", "pause", "x", strconv.Itoa(x(p.Begin)), "y", "4", "width", strconv.Itoa(max(x(p.End)-x(p.Begin), 1)), "height", "28"),
			markup.El("title", nil, markup.Text("paused from "+stamp(p.Begin)+" to "+stamp(p.End)))))
	}
	line := func(class string, x1, y1, x2, y2 int) markup.Node {
		return markup.El("line", markup.Attrs("class", class, "x1", strconv.Itoa(x1), "y1", strconv.Itoa(y1), "x2", strconv.Itoa(x2), "y2", strconv.Itoa(y2)))
	}
	parts = append(parts, line("axis", 0, 18, timelineWidth, 18))
	for _, m := range t.Moments {
		parts = append(parts, line("version", x(m.At), 10, x(m.At), 26))
	}
	for _, f := range t.Faults {
		parts = append(parts, markup.El("circle", markup.Attrs("class", severityName(f.Severity), "cx", strconv.Itoa(x(f.At)), "cy", "18", "r", "6"),
			markup.El("title", nil, markup.Text(f.Rule+" at "+stamp(f.At)))))
	}
	return markup.El("svg", markup.Attrs("viewBox", fmt.Sprintf("-8 0 %d %d", timelineWidth+16, timelineHeight), "role", "img",
		"aria-label", fmt.Sprintf("%s from %s to %s", phrase.Count(len(t.Moments), "version"), stamp(begin), stamp(end))), parts...)
}

// table lists the moments, and after each the findings that it proves.
func (t *Timeline) table() markup.Node {
	var rows []markup.Node
	row := func(class string, cells ...markup.Node) {
		rows = append(rows, el("tr", class, cells...))
	}
	cell := func(text string) markup.Node { return el("td", "", markup.Text(visibleLines(text))) }
	row("", el("th", "", markup.Text("Time (UTC)")), el("th", "", markup.Text("Version")), el("th", "", markup.Text("What")), el("th", "", markup.Text("Changes")))
	shown := make([]bool, len(t.Faults))
	for i, m := range t.Moments {
		row("", cell(stamp(m.At)), cell(m.Version), cell(m.What), cell(strings.Join(m.Changes, "\n")))
		for k, f := range t.Faults {
			if shown[k] || f.Version != m.Version && (i+1 < len(t.Moments) || t.Omitted > 0) {
				continue
			}
			shown[k] = true
			row(severityName(f.Severity), cell(stamp(f.At)), cell(f.Version),
				el("td", "", markup.El("a", markup.Attrs("href", "#rule-"+f.Rule), markup.Text(f.Rule))), cell(f.Message))
		}
	}
	if t.Omitted > 0 {
		row("", cell(""), cell(""), cell(""), cell(phrase.Count(t.Omitted, "more version")))
	}
	return el("table", "", rows...)
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }
