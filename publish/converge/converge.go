// Package converge publishes in rounds: it looks at what is there, decides by a
// table, acts, and looks again, until the table says that nothing is left to do.
// So it does not matter how far an earlier run has come, what other publishers
// do meanwhile, and what became of a request that was never answered.
//
// Publishers of one version agree on one content with Win, at places whose only
// means are marks that are set and listed, such as the tags of a registry.
//
// It must not know any destination, nor how marks are kept.
package converge

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

// rowOf is a decision: in a situation, what is done and why. A row without Do and
// Refuse is the goal.
type rowOf[S any] struct {
	// When, Step and Why are for people: a situation, what is done in it, and
	// the reason.
	When, Step, Why string
	// Is reports whether a state is in the situation. It asks no server.
	Is func(S) bool
	// Do is the protocol step. After an error that is *publish.Temporary another
	// look decides.
	Do func(context.Context, S) error
	// Refuse says why nothing can be done.
	Refuse func(S) error
}

// Table holds the decisions about a destination. The first row that fits counts;
// the last one fits always.
type Table[S any] []rowOf[S]

// Decide returns the row that counts.
func (t Table[S]) Decide(s S) rowOf[S] {
	for _, row := range t[:len(t)-1] {
		if row.Is(s) {
			return row
		}
	}
	return t[len(t)-1]
}

// Machine converges one release at one destination.
type Machine[S any] struct {
	// Place is what people call the destination in messages.
	Place string
	Table Table[S]
	// Look finds out what is there. Reads are repeated below it, so its errors end
	// the run, except those that Overtaken made.
	Look func(ctx context.Context) (S, error)
	// Left counts what a state lacks. Rounds in which it gets no smaller than
	// ever before are limited.
	Left   func(S) int
	Policy transport.Policy
}

// overtaken says that a request was made for what is no longer so.
type overtaken struct{ *publish.Temporary }

func (e *overtaken) Unwrap() error { return e.Temporary }

// Overtaken makes the error of a request that another publisher was faster with,
// or that was based on an old list. Another look tells.
func Overtaken(err error) error { return &overtaken{&publish.Temporary{Err: err}} }

// Run makes rounds until the goal is reached, and returns the last state. The
// number of rounds without progress is that of the attempts of the policy.
//
// What is there decides, not what a server said about a request: before the error
// of a step ends the run, there is another look. If that finds the goal or a
// reason to refuse, it is the outcome.
func (m Machine[S]) Run(ctx context.Context) (s S, err error) {
	var (
		least  = math.MaxInt
		failed = 0     // rounds without progress
		acted  = false // the last round made its step
		step   string
		final  error
	)
	for {
		s, err = m.Look(ctx)
		if err != nil {
			if _, again := errors.AsType[*overtaken](err); !again && final == nil || ctx.Err() != nil {
				return s, err
			}
		}
		if err == nil {
			row := m.Table.Decide(s)
			switch left := m.Left(s); {
			case row.Refuse != nil:
				return s, row.Refuse(s)
			case row.Do == nil:
				return s, nil
			case left < least:
				least, failed = left, 0
			case acted:
				err = &publish.Temporary{Err: fmt.Errorf("%s accepted the last step (%s), but does not show it", m.Place, step)}
			}
			if err == nil && final == nil {
				step, err = row.Step, row.Do(ctx, s)
				acted = err == nil
			}
		}
		if final != nil {
			return s, final
		}
		if err == nil {
			continue
		}
		acted = false
		failed++
		if again := m.Policy.Retry(ctx, failed, err); again != nil {
			if ctx.Err() != nil {
				return s, again
			}
			final = again
		}
	}
}

// Plan looks and decides as the first round of Run does.
func (m Machine[S]) Plan(ctx context.Context) (s S, done bool, err error) {
	if s, err = m.Look(ctx); err != nil {
		return s, false, err
	}
	row := m.Table.Decide(s)
	if row.Refuse != nil {
		return s, false, row.Refuse(s)
	}
	return s, row.Do == nil, nil
}
