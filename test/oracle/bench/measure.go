package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/bench/internal/cost"
)

// process is one program to run.
type process struct {
	args []string
	// env is its whole environment.
	env []string
	// stdout is the file for what it prints, which is dropped if empty.
	stdout string
	// mayFail is set if a failure of the program is a result like any other.
	mayFail bool
}

// side is one way to do some work: processes that run one after the other.
type side struct {
	name      string
	processes []process
	// runs says how often the work is done.
	runs int
	// before is called in front of each run, outside of the measurement.
	before func() error
}

// costs are those of the runs of one side.
type costs []cost.Cost

// median returns the middle one of what of selects.
func median[T cmp.Ordered](c costs, of func(cost.Cost) T) T {
	return sorted(c, of)[len(c)/2]
}

func sorted[T cmp.Ordered](c costs, of func(cost.Cost) T) []T {
	var out []T
	for _, c := range c {
		out = append(out, of(c))
	}
	slices.Sort(out)
	return out
}

func wall(c cost.Cost) time.Duration { return c.Wall }
func cpu(c cost.Cost) time.Duration  { return c.CPU }
func rss(c cost.Cost) int64          { return c.RSS }

// wall is the median of the time that one run takes.
func (c costs) wall() time.Duration { return median(c, wall) }

// fastest is the least time that a run took.
func (c costs) fastest() time.Duration { return sorted(c, wall)[0] }

// rss is the largest memory of any run.
func (c costs) rss() int64 { return slices.Max(sorted(c, rss)) }

// lab runs processes and measures them.
type lab struct {
	dir   string // for files of its own
	timed string // the program that measures
}

// run runs one process to its end.
func (l *lab) run(ctx context.Context, p process) (cost.Cost, error) {
	report := filepath.Join(l.dir, "cost.json")
	cmd := exec.CommandContext(ctx, l.timed, append([]string{report}, p.args...)...)
	cmd.Env = p.env
	if p.stdout != "" {
		f, err := os.Create(p.stdout)
		if err != nil {
			return cost.Cost{}, err
		}
		defer f.Close()
		cmd.Stdout = f
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return cost.Cost{}, fmt.Errorf("%q: %w\n%s", p.args, err, stderr.Bytes())
	}
	data, err := os.ReadFile(report)
	if err != nil {
		return cost.Cost{}, err
	}
	var c cost.Cost
	if err := json.Unmarshal(data, &c); err != nil {
		return cost.Cost{}, err
	}
	if c.Exit != 0 && !p.mayFail {
		return c, fmt.Errorf("%q: exit code %d\n%s", p.args, c.Exit, stderr.Bytes())
	}
	return c, nil
}

// once does the work of a side once.
func (l *lab) once(ctx context.Context, s side) (cost.Cost, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return cost.Cost{}, err
		}
	}
	var sum cost.Cost
	for _, p := range s.processes {
		c, err := l.run(ctx, p)
		if err != nil {
			return sum, err
		}
		sum = sum.Add(c)
	}
	return sum, nil
}

// compare runs the sides in turns, so that whatever else the machine does
// meets all of them. A side with fewer runs takes part in fewer rounds.
func (l *lab) compare(ctx context.Context, sides ...side) ([]costs, error) {
	rounds := 0
	for _, s := range sides {
		rounds = max(rounds, s.runs)
	}
	out := make([]costs, len(sides))
	for round := range rounds {
		for i, s := range sides {
			if round*s.runs%rounds >= s.runs {
				continue
			}
			c, err := l.once(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			out[i] = append(out[i], c)
		}
	}
	return out, nil
}
