package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// timelineWidth is that of the picture, in its own units.
const timelineWidth = 1000

// timelineHTML shows the versions of an object as ticks, pauses as areas and findings as
// dots, and all of it as a table. Without versions there is nothing to show.
func timelineHTML(t *behaviour.Timeline) markup.Element {
	if len(t.Moments) == 0 {
		return ""
	}
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
	var picture, rows []markup.Element
	for _, p := range t.Pauses {
		if p.End.IsZero() {
			p.End = end
		}
		if !p.End.Before(begin) && !p.Begin.After(end) {
			tag := fmt.Sprintf(`rect class="pause" x="%d" y="4" width="%d" height="28"`, x(p.Begin), max(x(p.End)-x(p.Begin), 1))
			picture = append(picture, markup.Tag(tag, markup.Tag("title", "paused from "+stamp(p.Begin)+" to "+stamp(p.End))))
		}
	}
	picture = append(picture, `<line class="axis" x1="0" y1="18" x2="1000" y2="18"></line>`)
	row := func(attrs, at, version string, what any, text string) {
		rows = append(rows, rowHTML[any]("tr"+attrs, "td", at, markup.TextLines(version), what, markup.TextLines(text)))
	}
	shown := make([]bool, len(t.Findings))
	for i, m := range t.Moments {
		picture = append(picture, markup.Tag(fmt.Sprintf(`line class="version" x1="%[1]d" y1="10" x2="%[1]d" y2="26"`, x(m.At))))
		row("", stamp(m.At), m.ResourceVersion, markup.TextLines(m.What), strings.Join(m.Changes, "\n"))
		for k, f := range t.Findings {
			if shown[k] || f.New.ResourceVersion != m.ResourceVersion && (i+1 < len(t.Moments) || t.Omitted > 0) {
				continue
			}
			shown[k] = true
			link := markup.Link{To: "rule-" + f.Check.ID, Label: f.Check.ID}
			row(markup.Attrs("class", severityName(f.Severity)), stamp(f.New.At), f.New.ResourceVersion, link, f.Message)
		}
	}
	if t.Omitted > 0 {
		row("", "", "", "", phrase.Count(t.Omitted, "more version"))
	}
	for _, f := range t.Findings {
		tag := fmt.Sprintf(`circle class="%s" cx="%d" cy="18" r="6"`, severityName(f.Severity), x(f.New.At))
		picture = append(picture, markup.Tag(tag, markup.Tag("title", f.Check.ID+" at "+stamp(f.New.At))))
	}
	label := phrase.Count(len(t.Moments), "version") + " from " + stamp(begin) + " to " + stamp(end)
	return markup.Tag(`details class="timeline"`,
		markup.Tag("summary", markup.Tag("b", phrase.Visible(t.Object)), " ", tallyHTML(strings.Join(rules, ", "))),
		markup.Tag(`svg viewBox="-8 0 1016 36" role="img"`+markup.Attrs("aria-label", label), picture),
		markup.Tag("table", rowHTML("tr", "th", "Time (UTC)", "Version", "What", "Changes"), rows))
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }
