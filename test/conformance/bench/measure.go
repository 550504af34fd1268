package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// bench is what the experiments share.
type bench struct {
	dir         string // for files of its own
	tool, timed string // programs; timed is that of test/oracle/bench
	corpus      string
	runs        int
	report      report
}

// cost is what processes took, as timed says it.
type cost struct {
	Wall, CPU time.Duration
	RSS       int64
	Exit      int
	// Upload is how long uploads took for the server.
	Upload time.Duration
}

func (c cost) add(d cost) cost {
	return cost{Wall: c.Wall + d.Wall, CPU: c.CPU + d.CPU, RSS: max(c.RSS, d.RSS)}
}

// command is one process.
type command struct {
	env, args []string
}

// run runs processes one after the other.
func (b *bench) run(ctx context.Context, commands ...command) (sum cost, err error) {
	for _, p := range commands {
		file := filepath.Join(b.dir, "cost.json")
		cmd := exec.CommandContext(ctx, b.timed, append([]string{file}, p.args...)...)
		cmd.Env, cmd.Dir = p.env, b.dir
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			return sum, fmt.Errorf("%.300q: %w\n%s", p.args, err, said.Bytes())
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return sum, err
		}
		var c cost
		if err := json.Unmarshal(data, &c); err != nil {
			return sum, err
		}
		if c.Exit != 0 {
			return sum, fmt.Errorf("%.300q: exit code %d\n%.2000s", p.args, c.Exit, said.Bytes())
		}
		sum = sum.add(c)
	}
	return sum, nil
}

// side is one way to do some work.
type side struct {
	name string
	do   func(ctx context.Context) (cost, error)
}

// compare runs the sides in turns, so that whatever else the machine does meets
// all of them, and puts their costs into the report.
func (b *bench) compare(ctx context.Context, work string, sides ...side) ([]costs, error) {
	out := make([]costs, len(sides))
	for range b.runs {
		for i, s := range sides {
			c, err := s.do(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			out[i] = append(out[i], c)
		}
	}
	for i, s := range sides {
		b.report.figures = append(b.report.figures, figure{work, s.name, out[i]})
	}
	return out, nil
}

// costs are those of the runs of one side.
type costs []cost

func (c costs) median(of func(cost) time.Duration) time.Duration {
	var all []time.Duration
	for _, x := range c {
		all = append(all, of(x))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func (c costs) rss() (most int64) {
	for _, x := range c {
		most = max(most, x.RSS)
	}
	return most
}

func wall(c cost) time.Duration   { return c.Wall }
func cpu(c cost) time.Duration    { return c.CPU }
func upload(c cost) time.Duration { return c.Upload }
