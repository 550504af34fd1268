package main

import (
	"fmt"
	"strings"
	"time"
)

// report is what the experiments found.
type report struct {
	rows    []row
	figures []figure
}

// row is a goal: ours against theirs, in what fits, such as bytes in a second.
type row struct {
	work, ours, against, ratio, goal string
	met                              bool
}

// figure is all that was measured of one side.
type figure struct {
	work, who string
	costs     costs
}

// faster is a row that wants ours to take no longer than theirs for the same bytes.
func (r *report) faster(work, against string, bytes int64, ours, theirs time.Duration) {
	ratio := theirs.Seconds() / ours.Seconds()
	r.rows = append(r.rows, row{work, rate(bytes, ours), against + ": " + rate(bytes, theirs), fmt.Sprintf("%.2f × the throughput", ratio), "≥ 1 ×", ratio >= 1})
}

// flat is a row that wants memory not to follow the size of the work.
func (r *report) flat(work, against string, small, large int64) {
	ratio := float64(large) / float64(small)
	r.rows = append(r.rows, row{work, megabytes(large), against + ": " + megabytes(small), fmt.Sprintf("%.2f × the memory", ratio), "flat: ≤ 1.2 ×", ratio <= 1.2})
}

func rate(bytes int64, d time.Duration) string {
	return fmt.Sprintf("%s, %.3g MB/s", duration(d), float64(bytes)/1e6/d.Seconds())
}

func duration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

// table writes Markdown. The columns from right on hold numbers.
func table(lines [][]string, right int) string {
	var b strings.Builder
	for i, line := range lines {
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
		if i > 0 {
			continue
		}
		for j := range line {
			b.WriteString(map[bool]string{true: "| --- ", false: "| ---: "}[j < right])
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// section writes the report.
func (r *report) section(date, against string) string {
	goals := [][]string{{"Work", "clusterctl-repo", "Against", "Ratio", "Goal", "Met"}}
	for _, x := range r.rows {
		goals = append(goals, []string{x.work, x.ours, x.against, x.ratio, x.goal, map[bool]string{true: "yes", false: "**no**"}[x.met]})
	}
	all := [][]string{{"Work", "By", "Runs", "Median", "Uploading", "CPU", "Peak memory"}}
	for _, f := range r.figures {
		up := "–"
		if d := f.costs.median(upload); d > 0 {
			up = duration(d)
		}
		all = append(all, []string{f.work, f.who, fmt.Sprint(len(f.costs)), duration(f.costs.median(wall)), up, duration(f.costs.median(cpu)), megabytes(f.costs.rss())})
	}
	return sectionBegin + fmt.Sprintf(`## Publishing and mirroring

The same files to and from the same servers on this machine, both sides in
turns; %s, against %s. GitHub and GitLab are the fakes of test/fakes, reached
with TLS through a proxy; the registry is Debian's docker-registry.
`+"`publish`"+` checks before and reads back after the upload what readers get; so the
others are measured with reading back as well, and the uploads alone by the
clock of the server, from the beginning of the first to the end of the last.

`, date, against) + table(goals, len(goals[0])) + "\n" + table(all, 2) + "\n" + sectionEnd
}
