package report

import (
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// timelineView is a timeline as a page shows it: versions as ticks, pauses as areas and
// findings as dots.
type timelineView struct {
	Object, Rules, Label string
	Pauses, Dots         []timelineMark
	Ticks                []int
	Rows                 []timelineRow
}

type timelineMark struct {
	X, Width     int
	Class, Title string
}

// timelineRow is a moment, or after it a finding that it proves.
type timelineRow struct{ Class, At, Version, What, Rule, Text string }

// timelineWidth is that of the picture, in its own units; the template has it too.
const timelineWidth = 1000

// viewOfTimeline lays out a timeline that has at least one moment.
func viewOfTimeline(t *behaviour.Timeline) timelineView {
	begin, end := t.Moments[0].At, t.Moments[len(t.Moments)-1].At
	var rules []string
	for _, f := range t.Findings {
		rules = append(rules, f.Check.ID)
		if f.New.At.After(end) {
			end = f.New.At
		}
	}
	if !end.After(begin) {
		end = begin.Add(time.Second)
	}
	x := func(at time.Time) int {
		return min(max(int(timelineWidth*at.Sub(begin)/end.Sub(begin)), 0), timelineWidth)
	}
	v := timelineView{
		Object: t.Object, Rules: strings.Join(rules, ", "), Label: phrase.Count(len(t.Moments), "version") + " from " + stamp(begin) + " to " + stamp(end),
	}
	for _, p := range t.Pauses {
		if p.End.IsZero() {
			p.End = end
		}
		if !p.End.Before(begin) && !p.Begin.After(end) {
			v.Pauses = append(v.Pauses, timelineMark{X: x(p.Begin), Width: max(x(p.End)-x(p.Begin), 1), Title: "paused from " + stamp(p.Begin) + " to " + stamp(p.End)})
		}
	}
	for _, f := range t.Findings {
		v.Dots = append(v.Dots, timelineMark{X: x(f.New.At), Class: severityName(f.Severity), Title: f.Check.ID + " at " + stamp(f.New.At)})
	}
	shown := make([]bool, len(t.Findings))
	for i, m := range t.Moments {
		v.Ticks = append(v.Ticks, x(m.At))
		v.Rows = append(v.Rows, timelineRow{At: stamp(m.At), Version: m.ResourceVersion, What: m.What, Text: strings.Join(m.Changes, "\n")})
		for k, f := range t.Findings {
			if shown[k] || f.New.ResourceVersion != m.ResourceVersion && (i+1 < len(t.Moments) || t.Omitted > 0) {
				continue
			}
			shown[k] = true
			v.Rows = append(v.Rows, timelineRow{severityName(f.Severity), stamp(f.New.At), f.New.ResourceVersion, "", f.Check.ID, f.Message})
		}
	}
	if t.Omitted > 0 {
		v.Rows = append(v.Rows, timelineRow{Text: phrase.Count(t.Omitted, "more version")})
	}
	return v
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }
