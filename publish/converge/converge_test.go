package converge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

// world is a place that lacks some things; each step supplies one, or fails.
type world struct {
	lacks    int
	conflict error
	// steps and looks are what happens, in order; nil is a step that works, and
	// after the end all do.
	steps, looks []error
	lazy         bool // steps do nothing
	rival        int  // the look at which another publisher is done
	looked       int
	slept        int
}

func take(list *[]error) (err error) {
	if len(*list) > 0 {
		err, *list = (*list)[0], (*list)[1:]
	}
	return err
}

func (w *world) machine() Machine[int] {
	return Machine[int]{
		Place: "the place",
		Left:  func(s int) int { return s },
		Look: func(context.Context) (int, error) {
			w.looked++
			if w.looked == w.rival {
				w.lacks = 0
			}
			return w.lacks, take(&w.looks)
		},
		Policy: transport.Policy{Attempts: 3, Sleep: func(ctx context.Context, _ time.Duration) error { w.slept++; return context.Cause(ctx) }},
		Table: Table[int]{
			{Is: func(int) bool { return w.conflict != nil }, Refuse: func(int) error { return w.conflict }},
			{Is: func(s int) bool { return s == 0 }},
			{Step: "add one", Do: func(context.Context, int) error {
				err := take(&w.steps)
				if err == nil && !w.lazy {
					w.lacks--
				}
				return err
			}},
		},
	}
}

func TestRun(t *testing.T) {
	final, passing := errors.New("no right"), &publish.Temporary{Err: errors.New("reset")}
	moved := Overtaken(errors.New("gone"))
	for name, tc := range map[string]struct {
		world
		want          string // the error
		looked, slept int
	}{
		"nothing to do":                       {world{}, "", 1, 0},
		"one after the other":                 {world{lacks: 3}, "", 4, 0},
		"a conflict":                          {world{lacks: 3, conflict: final}, "no right", 1, 0},
		"steps that pass":                     {world{lacks: 2, steps: []error{passing, moved, nil, passing, passing}}, "", 7, 4},
		"a step that never works":             {world{lacks: 2, steps: []error{passing, passing, passing, passing}}, "reset", 4, 2},
		"a lasting error is looked after":     {world{lacks: 2, steps: []error{final}}, "no right", 2, 0},
		"somebody else was done":              {world{lacks: 2, steps: []error{final}, rival: 2}, "", 2, 0},
		"somebody else, at the last attempt":  {world{lacks: 2, steps: []error{passing, passing, passing}, rival: 4}, "", 4, 2},
		"reads are repeated below":            {world{lacks: 2, looks: []error{passing}}, "reset", 1, 0},
		"an old list":                         {world{lacks: 2, looks: []error{moved, nil, moved}}, "", 5, 2},
		"lists that stay old":                 {world{lacks: 2, looks: []error{moved, moved, moved, moved}}, "gone", 4, 2},
		"the error of the step, not the look": {world{lacks: 2, steps: []error{final}, looks: []error{nil, passing}}, "no right", 2, 0},
		"steps that do not show":              {world{lacks: 2, lazy: true}, "the place accepted the last step (add one), but does not show it", 7, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := tc.world
			s, err := w.machine().Run(t.Context())
			switch {
			case tc.want == "" && (err != nil || s != 0), tc.want != "" && (err == nil || err.Error() != tc.want):
				t.Errorf("%d, %v", s, err)
			case w.looked != tc.looked || w.slept != tc.slept:
				t.Errorf("%d looks, %d pauses", w.looked, w.slept)
			}
		})
	}
}

// TestInterrupted ends with the cause, and without another look.
func TestInterrupted(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	w := world{lacks: 1, steps: []error{errors.New("cut")}}
	if _, err := w.machine().Run(ctx); !errors.Is(err, stop) || w.looked != 1 {
		t.Errorf("%v after %d looks", err, w.looked)
	}
}

func TestPlan(t *testing.T) {
	for _, w := range []world{{}, {lacks: 2}, {lacks: 2, conflict: errors.New("other content")}, {looks: []error{errors.New("silent")}}} {
		s, done, err := w.machine().Plan(t.Context())
		if refused := w.conflict != nil || w.looked == 1 && err != nil; s != w.lacks || done != (w.lacks == 0 && !refused) || (err != nil) != refused {
			t.Errorf("%+v: %d, %t, %v", w, s, done, err)
		}
		if err != nil && !strings.Contains("other content silent", err.Error()) {
			t.Error(err)
		}
	}
}
