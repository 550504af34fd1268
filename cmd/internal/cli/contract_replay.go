package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

// bounds are the flags for the times that checks wait.
type bounds struct {
	options behaviour.Options
	config  string
}

func (b *bounds) flag(cmd *cobra.Command) {
	b.options = behaviour.DefaultOptions()
	flags := cmd.Flags()
	flags.DurationVar(&b.options.Pause, "pause-bound", b.options.Pause, "how soon a pause must show")
	flags.DurationVar(&b.options.Settle, "settle-bound", b.options.Settle, "how soon other effects must follow their cause")
	flags.DurationVar(&b.options.Delete, "delete-bound", b.options.Delete, "how long a deletion may take")
	flags.StringVar(&b.config, "config", "", "take the severities of checks from the configuration in this `FILE`")
}

// parse checks the flags.
func (b *bounds) parse(a *app) (behaviour.Options, error) {
	o := b.options
	for name, d := range map[string]time.Duration{"--pause-bound": o.Pause, "--settle-bound": o.Settle, "--delete-bound": o.Delete} {
		if d < time.Second || d > 24*time.Hour {
			return o, usagef("%s is %s; it must be between 1s and 24h", name, d)
		}
	}
	if b.config != "" {
		c, _, err := sourcetree.LoadConfig(a.Dir, b.config)
		if err != nil {
			return o, err
		}
		if o.Severity, err = check.Severities(c); err != nil {
			return o, err
		}
	}
	return o, nil
}

// replayMemory is where replay begins to collect garbage more often, in bytes.
const replayMemory = 320 << 20

func (a *app) replayCommand() *cobra.Command {
	var b bounds
	var fail failOn
	out := outputs{formats: report.FindingsFormats}
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Judge recordings of how controllers behaved",
		Long: `Judges recordings of a management cluster, as "contract watch" and "contract
drive" write them: one JSON object a line with "at", "type" (ADDED, MODIFIED,
DELETED) and "obj", gzipped or not, "-" for standard input. Each recording is
judged by itself.

Each finding names a statement of the provider contract and shows the versions
of the object that prove it. What the recording cannot decide is counted, and
listed with --verbose. The exit code is 1 if there are findings at or above
--fail-on, and 3 if a recording is cut off, out of order or cannot be read; what
was read is judged all the same.`,
		Example: `  clusterctl-repo contract replay recording.jsonl.gz

  # A slow cloud, and a report for code scanning
  clusterctl-repo contract replay --delete-bound 30m recording.jsonl.gz -o text -o sarif=behaviour.sarif`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			level, err := fail.level()
			if err != nil {
				return err
			}
			outs, err := out.parse()
			if err != nil {
				return err
			}
			o, err := b.parse(a)
			if err != nil {
				return err
			}
			r, timelines, err := a.replay(cmd.Context(), args, o, wantsPage(outs))
			if err != nil {
				return err
			}
			return a.judge(r, outs, level, report.Options{Timelines: timelines})
		},
	}
	b.flag(cmd)
	fail.flag(cmd)
	out.flag(cmd)
	return cmd
}

// replay judges recordings one by one. Timelines are made if they are wanted.
func (a *app) replay(ctx context.Context, names []string, o behaviour.Options, wanted bool) (*lint.Report, []report.Timeline, error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(replayMemory))
	all := &lint.Report{Command: "contract replay"}
	events := 0
	var subjects []string
	var timelines []report.Timeline
	for _, name := range names {
		j := behaviour.New(o)
		faults, err := a.readRecording(ctx, name, j.Add)
		if err != nil {
			return nil, nil, err
		}
		if j.Events == 0 && len(faults) == 0 {
			return nil, nil, usagef("%s holds no events; a recording is written by contract watch --record", filepath.ToSlash(name))
		}
		events += j.Events
		r := j.Report(all.Command, "")
		for _, f := range faults {
			r.Failures = append(r.Failures, f)
		}
		all.Join(r)
		subjects = append(subjects, filepath.ToSlash(name))
		a.undecided(j)
		if wanted {
			more, err := a.timelines(ctx, j, name)
			if err != nil {
				return nil, nil, err
			}
			timelines = append(timelines, more...)
		}
	}
	all.Subject = fmt.Sprintf("%d events of %s", events, fewNames(subjects))
	return all, timelines, nil
}

// wantsPage reports whether one of the outputs shows timelines.
func wantsPage(outs []output) bool {
	return slices.ContainsFunc(outs, func(o output) bool { return o.format == "html" })
}

// timelines reads a recording once more for what happened to the objects with findings.
// Standard input cannot be read again, so it has none.
func (a *app) timelines(ctx context.Context, j *behaviour.Judge, name string) ([]report.Timeline, error) {
	t := j.Timelines()
	if t.Empty() {
		return nil, nil
	}
	if name == "-" || name == "" {
		a.say("the page has no timelines: they take a recording in a file")
		return nil, nil
	}
	if _, err := a.readRecording(ctx, name, t.Add); err != nil {
		return nil, err
	}
	var out []report.Timeline
	for _, line := range t.All() {
		l := report.Timeline{Object: line.Object, Omitted: line.Omitted}
		for _, m := range line.Moments {
			l.Moments = append(l.Moments, report.Moment{At: m.At, Version: m.ResourceVersion, What: m.What, Changes: m.Changes})
		}
		for _, p := range line.Pauses {
			l.Pauses = append(l.Pauses, report.Span(p))
		}
		for _, f := range line.Findings {
			l.Faults = append(l.Faults, report.Fault{At: f.New.At, Version: f.New.ResourceVersion, Rule: f.Check.ID, Message: f.Message, Severity: f.Severity})
		}
		out = append(out, l)
	}
	return out, nil
}

// reorder is how many events are put into the order of their times.
const reorder = 8192

// readRecording hands over the events of a recording in the order of their times.
func (a *app) readRecording(ctx context.Context, name string, add func(*record.Event)) ([]*record.Fault, error) {
	in := a.In
	if name != "-" {
		f, err := os.Open(a.path(name))
		if err != nil {
			return nil, usagef("%s: %w", filepath.ToSlash(name), cause(err))
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, usagef("%s is a folder; name the recordings in it", filepath.ToSlash(name))
		}
		in = f
	}
	order := record.Order{Most: reorder}
	faults, err := record.Read(ctx, filepath.ToSlash(name), in, func(e *record.Event) { order.Add(e, add) })
	order.Flush(add)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, io.ErrUnexpectedEOF):
		faults = append(faults, &record.Fault{File: filepath.ToSlash(name), Line: 1, Err: record.ErrCut})
	case err != nil:
		return nil, err
	}
	return faults, nil
}

// undecided says what a recording could not show.
func (a *app) undecided(j *behaviour.Judge) {
	held, violated, open := j.Tally()
	a.say("checks that held: %d, violated: %d, not decided: %d", held, violated, open)
	missing := j.Undecided()
	for _, c := range behaviour.All {
		if v := j.Verdict(c.ID); v.Held+v.Violated > 0 {
			a.detail("%s held %d times, violated %d times: %s", c.ID, v.Held, v.Violated, c.Title)
			continue
		}
		why := "nothing in the stream exercised it"
		switch {
		case missing[c.ID] != "":
			why = missing[c.ID]
		case c.Action != "":
			why = "it takes: " + c.Action
		}
		a.detail("%s not decided, %s: %s", c.ID, strings.TrimSuffix(why, "."), c.Title)
	}
}
