package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

func replayCommand(env *cli.Env) *cobra.Command {
	var j judging
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
  clusterctl-repo contract replay --bound delete=30m recording.jsonl.gz \
      -o text -o sarif=behaviour.sarif`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := j.parse(env); err != nil {
				return err
			}
			return j.replay(cmd.Context(), env, args)
		},
	}
	j.bind(cmd.Flags())
	return cmd
}

// replay judges recordings one by one.
func (j *judging) replay(ctx context.Context, env *cli.Env, names []string) error {
	all := &lint.Report{Command: "contract replay"}
	events := 0
	var subjects []string
	var lines []*behaviour.Timeline
	for _, name := range names {
		judge := behaviour.New(j.options)
		faults, err := readRecording(ctx, env, name, judge.Add)
		if err != nil {
			return err
		}
		if judge.Events == 0 && !slices.ContainsFunc(faults, func(f *record.Fault) bool { return errors.Is(f, record.ErrCut) }) {
			why := ""
			if len(faults) > 0 {
				why = fmt.Sprintf(" (line %d: %v)", faults[0].Line, faults[0].Err)
			}
			return cli.Usagef("%s holds no events; a recording is written by contract watch --record%s", filepath.ToSlash(name), why)
		}
		events += judge.Events
		r := judge.Report(all.Command, "")
		r.Failures = append(r.Failures, phrase.List(faults, func(f *record.Fault) error { return f })...)
		all.Join(r)
		subjects = append(subjects, filepath.ToSlash(name))
		more, err := j.explain(ctx, env, judge, name)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	all.Subject = fmt.Sprintf("%d events of %s", events, phrase.Few(subjects, 10))
	return j.out.Judge(env, all, report.Options{Timelines: lines})
}

// reorder is how many events are put into the order of their times.
const reorder = 8192

// readRecording hands over the events of a recording in the order of their times.
func readRecording(ctx context.Context, env *cli.Env, name string, add func(*record.Event)) ([]*record.Fault, error) {
	in := env.In
	if name != "-" {
		f, err := os.Open(env.Path(name))
		if err != nil {
			return nil, cli.Usagef("%s: %w", filepath.ToSlash(name), files.Cause(err))
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, cli.Usagef("%s is a folder; name the recordings in it", filepath.ToSlash(name))
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
