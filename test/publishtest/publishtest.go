// Package publishtest is the suite that every kind of destination has to pass: each fault at
// each step of a run, several of them, kills, and a second publisher. Whatever happens,
// readers see a release whole or not at all, a second run finishes what the first one
// began, nothing that is published is overwritten, and no secret is shown.
//
// It must not know any kind of place.
package publishtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
)

// Place is a kind of place to publish to, as seen by one user of it.
type Place struct {
	// Start makes a fresh spot.
	Start func(testing.TB) *Spot
	// Release is what is published. Other is the same version with other content.
	Release, Other *repo.Release

	// Faults are what may happen to a step. Lasts reports whether a run may end with an
	// error when a fault strikes once; it gets over all others.
	Faults []fault.Fault
	Lasts  func(fault.Fault) bool
	// Vital are the steps that a run cannot do without.
	Vital []string
	// Rare are steps that only trouble brings, for sequences of faults.
	Rare []string
	// Brittle are steps of readers that are not repeated if the answer breaks off.
	Brittle []string
	// Late are the steps after which a run that is stopped may have succeeded.
	Late []string

	// Every is the share of cases that are tried, one in that many; Sequences is how many
	// sequences of several faults are.
	Every, Sequences int
}

// Spot is a fresh place for one version.
type Spot struct {
	Faults Injector
	// Open returns the destination as one run sees it. It calls after, if that is not nil,
	// after each step, and gives up waiting after patience, if that is not zero.
	Open func(after func(), patience time.Duration) publish.Destination
	// Seen says whether readers see a release whole. What they see in part, or with other
	// content, is an error.
	Seen func(*repo.Release) (bool, error)
	// Tidy fails unless the release is there and nothing else is.
	Tidy func(*repo.Release)
	// Secrets must not appear in any output.
	Secrets []string

	// The others may be nil. Settle waits until the place has ended what it does for a run
	// that is over, and Renew gives a token back that expired.
	Settle, Renew func()
	// Leaks are the requests that showed a secret to another host.
	Leaks func() []fault.Entry
	// First judges how a run under faults ended, beyond what holds for all places.
	First func(visible bool, failure error)

	// Exposed places show readers what they damage until the next run mends it.
	Exposed bool
	// Keeps is a user who may not delete, so that damage and copies stay.
	Keeps bool
	// Unclaimed is a user who cannot agree with others on one content: two of them may both fail.
	Unclaimed bool
}

// Injector lets steps suffer and remembers them, as *fault.Injector does for requests.
type Injector interface {
	Add(...fault.Rule)
	Reset()
	Log() []fault.Entry
	ClearLog()
}

// Run puts a kind of place through the suite. Each part has a place of its own.
func Run(t *testing.T, start func(testing.TB) Place) {
	for name, part := range map[string]func(Place, *testing.T){
		"fault at every step": Place.once, "lasting fault": Place.lasting, "random faults": Place.random,
		"killed at every step": Place.killed, "second publisher": Place.second, "fault while reading": Place.reading,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(start(t), t)
		})
	}
}

// Faults is the part of Run in which each fault strikes once at each step.
func Faults(t *testing.T, start func(testing.TB) Place) {
	t.Parallel()
	start(t).once(t)
}

// Reading is the part of Run in which faults strike while a release is listed and read.
func Reading(t *testing.T, start func(testing.TB) Place) {
	t.Parallel()
	start(t).reading(t)
}

// point is the nth step of its kind in a run.
type point struct {
	step string
	nth  int
}

func (p point) rule(times int, f fault.Fault) fault.Rule {
	return fault.Rule{Step: p.step, Nth: p.nth, Times: times, Fault: f}
}

// sequence returns the steps of a run in which nothing fails, in which each step of Vital
// occurs.
func (p Place) sequence(t testing.TB) (points []point) {
	t.Helper()
	s := p.Start(t)
	s.Faults.ClearLog()
	plan, err := s.Open(nil, 0).Plan(t.Context(), p.Release)
	if err != nil || plan.Unchanged || len(plan.Steps) == 0 {
		t.Errorf("plan %+v, %v", plan, err)
	}
	for _, e := range s.Faults.Log() {
		if e.Method != "GET" && e.Method != "HEAD" {
			t.Errorf("the plan sends %v", e)
		}
	}
	s.Faults.ClearLog()
	if result, err := s.Open(nil, 0).Put(t.Context(), p.Release); err != nil || result.Unchanged {
		t.Fatalf("without faults: %+v, %v", result, err)
	}
	s.Tidy(p.Release)
	seen := map[string]int{}
	for _, e := range s.Faults.Log() {
		seen[e.Step]++
		points = append(points, point{e.Step, seen[e.Step]})
	}
	for _, step := range p.Vital {
		if seen[step] == 0 {
			t.Fatalf("no %s in %v", step, points)
		}
	}
	return points
}

// survive publishes under faults, and then without, and checks what has to hold in between
// and at the end.
func (p Place) survive(t testing.TB, rules ...fault.Rule) (failure error) {
	t.Helper()
	s, r := p.Start(t), p.Release
	any := func(is func(fault.Fault) bool) bool {
		return slices.ContainsFunc(rules, func(r fault.Rule) bool { return is(r.Fault) })
	}
	damaged := any(func(f fault.Fault) bool { return f.Effect == fault.WrongDigest })
	copied := damaged || any(func(f fault.Fault) bool { return f.Twice })
	patience := patienceFor(rules...)
	var mu sync.Mutex
	var part error
	seen := false
	look := func() {
		whole, err := s.Seen(r)
		mu.Lock()
		defer mu.Unlock()
		seen = seen || whole
		if part == nil && !(s.Exposed && damaged) {
			part = err
		}
	}
	s.Faults.Add(rules...)
	result, failure := s.Open(look, patience).Put(t.Context(), r)
	whole, bad := s.Seen(r)
	if failure == nil && !whole {
		t.Errorf("success, and readers do not see it: %v", bad)
	}
	Unshown(t, s.Secrets, s.Faults.Log(), failure, result)
	_, conflict := errors.AsType[*publish.ConflictError](failure)
	if failure != nil && !conflict && !strings.Contains(failure.Error(), publish.Name(r)+" ") {
		t.Errorf("the error does not name the release: %v", failure)
	}
	if s.First != nil {
		s.First(whole, failure)
	}
	if s.Settle != nil {
		s.Settle()
	}
	whole, _ = s.Seen(r) // a late request may have arrived
	s.Faults.Reset()
	if s.Renew != nil {
		s.Renew()
	}
	d := s.Open(look, 0)
	again, err := d.Put(t.Context(), r)
	if err != nil && damaged && failure != nil && s.Keeps {
		return failure // this user may not delete it
	}
	if err != nil || again.Unchanged && !whole || !again.Unchanged && failure == nil {
		t.Errorf("the second run: %+v, %v, after %v; visible before: %t", again, err, failure, whole)
	}
	Unshown(t, s.Secrets, again)
	if whole, bad := s.Seen(r); !whole {
		t.Errorf("at the end: %v", bad)
	}
	if !(s.Keeps && copied) {
		s.Tidy(r)
	}
	if part != nil || !seen {
		t.Errorf("readers saw a part: %v; or never the whole: %t", part, !seen)
	}
	if err := d.Verify(t.Context(), r); err != nil {
		t.Error(err)
	}
	s.tight(t)
	return failure
}

// patienceFor is short where a step stalls. Elsewhere it is that of the place, so that a
// busy machine is not taken for one that stalls.
func patienceFor(rules ...fault.Rule) time.Duration {
	if slices.ContainsFunc(rules, func(r fault.Rule) bool { return r.Fault.Stall }) {
		return 100 * time.Millisecond
	}
	return 0
}

func (s *Spot) tight(t testing.TB) {
	t.Helper()
	if s.Leaks == nil {
		return
	}
	if leaks := s.Leaks(); len(leaks) > 0 {
		t.Errorf("credentials went to %v", leaks)
	}
}

// once lets each fault strike at each step.
func (p Place) once(t *testing.T) {
	points, cases, failed := p.sequence(t), 0, 0
	for i, f := range p.Faults {
		t.Run(f.Name, func(t *testing.T) {
			for j, at := range points {
				if (i+j)%p.Every != 0 {
					continue
				}
				cases++
				err := p.survive(t, at.rule(1, f))
				if err != nil {
					failed++
				}
				if err != nil && !p.Lasts(f) || t.Failed() {
					t.Fatalf("at %v: %v", at, err)
				}
			}
		})
	}
	t.Logf("%d faults, %d cases; %d ended with an error and were completed by the next run", len(p.Faults), cases, failed)
}

// lasting lets faults go on: at one kind of step, or at all steps from there on. A refusal of
// what cannot be done without ends the run with an error.
func (p Place) lasting(t *testing.T) {
	points := p.sequence(t)
	for i, f := range p.Faults {
		if f.Skew != 0 || f.Chunk > 0 || f.Stall {
			continue // these are no refusals, or slow
		}
		for j, at := range points {
			if (i+j)%p.Every != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s at %v", f.Name, at), func(t *testing.T) {
				if at.nth == 1 {
					err := p.survive(t, at.rule(fault.Always, f))
					if err == nil && f.Status >= 400 && !f.Handled && slices.Contains(p.Vital, at.step) {
						t.Error("it succeeded")
					}
				} else if j%3 == 0 {
					_ = p.survive(t, fault.Rule{Nth: j + 1, Times: fault.Always, Fault: f})
				}
			})
		}
	}
}

// random publishes under sequences of several faults.
func (p Place) random(t *testing.T) {
	var steps []string
	for _, at := range p.sequence(t) {
		if at.nth == 1 {
			steps = append(steps, at.step)
		}
	}
	failed := 0
	for seed := range uint64(p.Sequences) {
		source := rand.New(rand.NewPCG(seed, 4))
		rules := fault.Random(source, 1+source.IntN(5), append(steps, p.Rare...), p.Faults)
		if p.survive(t, rules...) != nil {
			failed++
		}
		if t.Failed() {
			t.Fatalf("seed %d, rules %+v", seed, rules)
		}
	}
	t.Logf("%d sequences; %d ended with an error and were completed by the next run", p.Sequences, failed)
}

// reading lists and reads a release while each fault strikes once at each step.
func (p Place) reading(t *testing.T) {
	ctx, s := t.Context(), p.Start(t)
	if _, err := s.Open(nil, 0).Put(ctx, p.Release); err != nil {
		t.Fatal(err)
	}
	_, blind := s.Open(nil, 0).Versions(ctx) // not all users may list
	read := func(patience time.Duration) error {
		d := s.Open(nil, patience)
		versions, err := d.Versions(ctx)
		if blind == nil && (err != nil || !slices.Equal(versions, []string{p.Release.Version})) {
			return fmt.Errorf("versions %v, %w", versions, err)
		}
		got, err := d.Fetch(ctx, p.Release.Version)
		if err != nil {
			return err
		}
		return publish.VerifyFiles(ctx, got, p.Release)
	}
	s.Faults.ClearLog()
	if err := read(0); err != nil {
		t.Fatal(err)
	}
	steps := s.Faults.Log()
	for i, f := range p.Faults {
		for j, e := range steps {
			if (i+j)%p.Every != 0 {
				continue
			}
			rule := fault.Rule{Nth: j + 1, Fault: f}
			s.Faults.Add(rule)
			err := read(patienceFor(rule))
			// What is read may be damaged without a sign on the way; it is noticed at the end.
			excused := f.Shorten > 0 || f.Corrupt || f.Status == 200 ||
				f.Handled && f.Bytes > 0 && slices.Contains(p.Brittle, e.Step)
			if err != nil && !excused && !p.Lasts(f) {
				t.Errorf("%s at %v: %v", f.Name, e, err)
			}
			Unshown(t, s.Secrets, err)
			if s.Faults.Reset(); s.Renew != nil {
				s.Renew()
			}
		}
	}
	s.tight(t)
}

// fewer is Every where there are not as many cases.
func (p Place) fewer() int { return max(1, min(p.Every/3, 6)) }

// killed ends the run at each step, before and after the place has done its part.
func (p Place) killed(t *testing.T) {
	stop, every, missed := errors.New("stop"), p.fewer(), 0
	for i, at := range p.sequence(t) {
		if missed > 3 {
			t.Fatalf("%d steps do not occur again", missed)
		}
		for j, handled := range []bool{false, true} {
			if (i+j)%every != 0 {
				continue
			}
			s, r := p.Start(t), p.Release
			ctx, cancel := context.WithCancelCause(t.Context())
			kill := fault.Fault{Name: "kill", Reset: true, Handled: handled, Call: func() { cancel(stop) }}
			s.Faults.Add(at.rule(1, kill))
			_, err := s.Open(nil, 0).Put(ctx, r)
			if err == nil && ctx.Err() == nil {
				missed++ // requests side by side are not always as many
				continue
			}
			if !errors.Is(err, stop) && !(err == nil && slices.Contains(p.Late, at.step)) {
				t.Errorf("killed at %v: %v", at, err)
			}
			if s.Settle != nil {
				s.Settle()
			}
			if _, bad := s.Seen(r); bad != nil {
				t.Errorf("killed at %v: readers see %v", at, bad)
			}
			s.Faults.Reset()
			if _, err := s.Open(nil, 0).Put(t.Context(), r); err != nil {
				t.Errorf("after a kill at %v: %v", at, err)
			}
			if s.Tidy(r); t.Failed() {
				t.Fatalf("at %v, handled: %t", at, handled)
			}
		}
	}
}

// second lets another publisher do all of its work at each step of a run, with the same
// content or with other.
func (p Place) second(t *testing.T) {
	every, missed := p.fewer(), 0
	for i, at := range p.sequence(t) {
		if missed > 3 {
			t.Fatalf("%d steps do not occur again", missed)
		}
		for j, theirs := range []*repo.Release{p.Release, p.Other} {
			if (i+j)%every != 0 {
				continue
			}
			s, ours, same := p.Start(t), p.Release, j == 0
			came := false
			var theirErr error
			s.Faults.Add(at.rule(1, fault.Fault{Name: "second publisher", Call: func() {
				came = true
				_, theirErr = s.Open(nil, 0).Put(t.Context(), theirs)
			}}))
			_, ourErr := s.Open(nil, 0).Put(t.Context(), ours)
			if s.Faults.Reset(); !came {
				missed++
				continue
			}
			weSee, mixed := s.Seen(ours)
			theySee, _ := s.Seen(theirs)
			switch {
			case same && (ourErr != nil || theirErr != nil || !weSee):
				t.Errorf("equal ones, at %v: %v, %v; visible: %t", at, ourErr, theirErr, weSee)
			case same && s.Keeps: // copies stay
			case same:
				s.Tidy(ours)
			case ourErr == nil && theirErr == nil:
				t.Errorf("at %v: both think that they have published", at)
			case s.Unclaimed && mixed != nil && ourErr != nil && strings.Contains(ourErr.Error(), "delete"):
			case ourErr == nil && !weSee, theirErr == nil && !theySee, mixed != nil && !theySee:
				t.Errorf("at %v: %v, and visible: %t; %v, and visible: %t", at, ourErr, weSee, theirErr, theySee)
			case s.Unclaimed:
			case ourErr != nil && theirErr != nil:
				t.Errorf("at %v, both fail: %v, %v", at, ourErr, theirErr)
			case ourErr != nil && !told(ourErr), theirErr != nil && !told(theirErr):
				t.Errorf("at %v, the loser is not told why: %v, %v", at, ourErr, theirErr)
			}
			Unshown(t, s.Secrets, ourErr, theirErr)
		}
	}
}

// told reports whether a publisher learned that another content has won.
func told(err error) bool {
	_, conflict := errors.AsType[*publish.ConflictError](err)
	_, lost := errors.AsType[*converge.LostError](err)
	return conflict || lost
}
