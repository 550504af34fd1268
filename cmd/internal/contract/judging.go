package contract

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// judging is what replay, watch and drive share: how long checks wait, and how findings
// are reported.
type judging struct {
	out     cli.Findings
	options behaviour.Options
	bounds  bounds
	config  string
}

// bounds are the limits of time that --bound changes: how soon a pause must show, how soon
// other effects must follow their cause, how long a deletion may take.
type bounds map[string]*time.Duration

// String implements pflag.Value.
func (b bounds) String() string { return "" }

// Type implements pflag.Value.
func (b bounds) Type() string { return "bounds" }

// Set implements pflag.Value.
func (b bounds) Set(value string) error {
	name, text, _ := strings.Cut(value, "=")
	to := b[name]
	if to == nil {
		return fmt.Errorf("unknown limit %q; it can be %s", name, b.names())
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > 24*time.Hour {
		return fmt.Errorf("it must be between 1s and 24h, such as %s=30s", name)
	}
	*to = d
	return nil
}

// names lists the limits with their values.
func (b bounds) names() string {
	names := slices.Sorted(maps.Keys(b))
	return strings.Join(phrase.List(names, func(name string) string { return fmt.Sprintf("%s (%s)", name, *b[name]) }), ", ")
}

// bind adds the flags.
func (j *judging) bind(f *pflag.FlagSet) {
	j.options = behaviour.DefaultOptions()
	j.bounds = bounds{"pause": &j.options.Pause, "settle": &j.options.Settle, "delete": &j.options.Delete}
	f.Var(j.bounds, "bound", j.bounds.names())
	f.StringVar(&j.config, "config", "", "")
	j.out.Bind(f)
}

// parse checks the flags.
func (j *judging) parse(env *cli.Env) error {
	var err error
	j.options.Severity, err = targets.Severities(env, j.config)
	return err
}

// explain says what the stream of a recording could not show, and returns what happened
// to the objects with findings if an output shows it.
func (j *judging) explain(ctx context.Context, env *cli.Env, judge *behaviour.Judge, name string) ([]*behaviour.Timeline, error) {
	undecided(env, judge)
	t := judge.Timelines()
	switch {
	case !j.out.Has("html") || t.Empty():
		return nil, nil
	case name == "-" || name == "": // standard input cannot be read again
		env.Say("the page has no timelines: they need a recording in a file")
		return nil, nil
	}
	if _, err := readRecording(ctx, env, name, t.Add); err != nil {
		return nil, err
	}
	return t.All(), nil
}

// undecided says what a recording could not show.
func undecided(env *cli.Env, j *behaviour.Judge) {
	held, violated, open := j.Tally()
	env.Say("checks that held: %d, violated: %d, not decided: %d", held, violated, open)
	missing := j.Undecided()
	for _, c := range behaviour.All {
		if v := j.Verdict(c.ID); v.Held+v.Violated > 0 {
			env.Detail("%s held %d times, violated %d times: %s", c.ID, v.Held, v.Violated, c.Title)
			continue
		}
		why := "nothing in the stream exercised it"
		switch {
		case missing[c.ID] != "":
			why = missing[c.ID]
		case c.Action != "":
			why = "needed: " + c.Action
		}
		env.Detail("%s not decided, %s: %s", c.ID, strings.TrimSuffix(why, "."), c.Title)
	}
}
