package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

type entry = fault.Entry

func rule(step string, nth, times int, f fault.Fault) fault.Rule {
	return fault.Rule{Step: step, Nth: nth, Times: times, Fault: f}
}

func faultStatus(code int) fault.Fault {
	return fault.Fault{Name: http.StatusText(code), Status: code}
}

// point is a request of the sequence that publishes without faults.
type point struct {
	step string
	nth  int
}

// sequence returns the requests of Put and Verify in which nothing fails.
func sequence(t testing.TB, h *hub) []point {
	t.Helper()
	h.Faults.Reset()
	h.Faults.ClearLog()
	at, r := h.fresh(), sample("v1.0.0")
	put(t, h.open(t, at, func(o *Options) {
		o.Policy.Sleep = func(context.Context, time.Duration) error {
			t.Error("it waits although nothing fails")
			return nil
		}
	}), r)
	points := pointsOf(h.Faults.Log())
	if !slices.Contains(points, point{"upload-asset", len(r.Artifacts)}) || slices.Contains(points, point{"edit-release", 2}) ||
		slices.Contains(points, point{"list-releases", 3}) || slices.Contains(points, point{"create-release", 2}) {
		t.Fatalf("the sequence is %v", points)
	}
	return points
}

func pointsOf(log []entry) (out []point) {
	seen := map[string]int{}
	for _, e := range log {
		seen[e.Step]++
		out = append(out, point{e.Step, seen[e.Step]})
	}
	return out
}

// steps returns the kinds of requests in a sequence.
func steps(points []point) (out []string) {
	for _, p := range points {
		if p.nth == 1 {
			out = append(out, p.step)
		}
	}
	return out
}

// survive publishes under faults and checks what has to hold after it.
func survive(t testing.TB, h *hub, token string, rules ...fault.Rule) (failure error) {
	t.Helper()
	at, r := h.fresh(), sample("v1.0.0")
	h.Faults.Reset()
	h.Faults.ClearLog()
	h.Faults.Add(rules...)
	w := &reader{RoundTripper: h.base, hub: h, name: at, r: r}
	d := h.open(t, at, func(o *Options) { o.Base, o.Token = w, token })
	result, failure := d.Put(t.Context(), r)
	log := h.Faults.Log()
	clean(t, token, failure, result, log)
	if _, visible := h.Published("acme/"+at, "v1.0.0"); failure == nil {
		h.holds(t, at, r)
	} else if !visible && len(h.Tags("acme/"+at)) > 0 {
		t.Error("there is a tag without a release")
	}
	h.Faults.Reset()
	h.AddToken(fake.Token{Secret: token, Right: fake.Admin, Workflows: true}) // again, if it expired
	second := put(t, d, r)
	if failure == nil && !second.Unchanged {
		t.Error("the second run changed something")
	}
	clean(t, token, second)
	h.holds(t, at, r)
	if n := len(h.Releases("acme/" + at)); n != 1 {
		t.Errorf("there are %d releases", n)
	}
	if w.seen != nil {
		t.Errorf("readers saw a part: %v", w.seen)
	}
	if w.saw == 0 {
		t.Error("nobody saw the release")
	}
	if err := d.Verify(t.Context(), r); err != nil {
		t.Error(err)
	}
	if leaks := h.Leaks(); len(leaks) > 0 {
		t.Errorf("credentials went to %v", leaks)
	}
	return failure
}

// elsewhere sends the client to another host.
var elsewhere = fault.Fault{Name: "redirect to another host", Redirect: "https://objects.githubusercontent.com"}

// mayFail reports whether a run may give up after a fault: one that ends the
// token, or that leads away from GitHub.
func mayFail(f fault.Fault) bool {
	return slices.Contains([]string{"token expires", elsewhere.Name}, f.Name)
}

// TestFaultAtEveryStep injects each fault at each request: once, and for ever.
func TestFaultAtEveryStep(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	points := sequence(t, h)
	cases := 0
	for j, f := range append(fake.Faults(), elsewhere) {
		t.Run(f.Name, func(t *testing.T) {
			for i, p := range points {
				if (i+j)%share.Of(4, 1) != 0 {
					continue
				}
				token := fmt.Sprintf("ghp_%s_%d_%d", "3yJhbGciOiJIUzI1NiIs", cases, i)
				h.AddToken(fake.Token{Secret: token, Right: fake.Admin, Workflows: true})
				cases++
				if err := survive(t, h, token, rule(p.step, p.nth, 1, f)); err != nil && !mayFail(f) {
					t.Errorf("at %s %d: %v", p.step, p.nth, err)
				}
				if t.Failed() {
					t.Fatalf("at %s %d; log: %v", p.step, p.nth, h.Faults.Log())
				}
			}
		})
	}
	t.Logf("%d faults, %d requests, %d cases", len(fake.Faults())+1, len(points), cases)
}

// TestLastingFault: it does not pass. A refusal of what cannot be done without
// ends the run with an error.
func TestLastingFault(t *testing.T) {
	share.SkipInRace(t)
	t.Parallel()
	h := start(t, fake.Options{})
	vital := []string{"get-repository", "list-releases", "get-ref", "get-commit", "create-release", "list-assets", "upload-asset", "edit-release"}
	steps := steps(sequence(t, h))
	for j, f := range fake.Faults() {
		if f.Skew != 0 || f.Chunk > 0 {
			continue // those are no refusals
		}
		for i, step := range steps {
			if (i+j)%share.Of(3, 1) != 0 {
				continue
			}
			t.Run(f.Name+" at "+step, func(t *testing.T) {
				token := "ghp_" + strings.ReplaceAll(t.Name(), "/", "_")
				h.AddToken(fake.Token{Secret: token, Right: fake.Admin, Workflows: true})
				err := survive(t, h, token, rule(step, 1, fault.Always, f))
				if err == nil && f.Status != 0 && !f.Handled && slices.Contains(vital, step) {
					t.Error("it succeeded")
				}
			})
		}
	}
}

// TestGivesUp: after a refusal, only requests already in flight follow. A conflict
// may come from another publisher, so Put looks again and retries.
// A refused cleanup only adds a note, and deleting what is gone already does not fail.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	r := sample("v1.0.0")
	for i := range 20 {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(fmt.Sprintf("%d.txt", i), []byte("x")))
	}
	r.Sort()
	mine, other := marker{version: "v1.0.0", plan: planOf(t, r)}.String(), marker{version: "v1.0.0", plan: "x"}.String()
	wrong := []fake.Asset{{Name: "0.txt", Data: []byte("y")}, {Name: "1.txt", Data: []byte("y")}}
	gone := fault.Fault{Status: http.StatusNotFound, Handled: true}
	for name, tc := range map[string]struct {
		step     string
		draft    fake.Release
		fault    fault.Fault
		requests int    // of the step; for uploads, which run in parallel, at most these
		want     string // of the error
		note     string
	}{
		"adopt":         {"edit-release", fake.Release{Tag: "untagged-1", Body: mine}, faultStatus(403), 1, "PATCH ", ""},
		"look":          {"get-asset", fake.Release{Body: mine, Assets: []fake.Asset{{Name: "0.txt", State: fake.Starter}}}, faultStatus(403), 1, "GET ", ""},
		"remove":        {"delete-asset", fake.Release{Body: mine, Assets: wrong}, faultStatus(403), 1, "DELETE ", ""},
		"removed":       {"delete-asset", fake.Release{Body: mine, Assets: wrong}, gone, 2, "", ""},
		"create again":  {"create-release", fake.Release{Body: other}, faultStatus(409), 5, "POST ", ""},
		"adopt again":   {"edit-release", fake.Release{Tag: "untagged-1", Body: mine}, faultStatus(409), 5, "PATCH ", ""},
		"publish again": {"edit-release", fake.Release{Body: mine}, faultStatus(409), 5, "PATCH ", ""},
		"remove again":  {"delete-asset", fake.Release{Body: mine, Assets: wrong}, faultStatus(409), 5, "DELETE ", ""},
		"upload":        {"upload-asset", fake.Release{Body: mine}, faultStatus(403), wide, "POST ", ""},
		"discard":       {"delete-release", fake.Release{Body: other}, faultStatus(403), 1, "", "could not be deleted: DELETE "},
		"discard later": {"delete-release", fake.Release{Body: other}, faultStatus(502), 5, "", "could not be deleted: DELETE "},
		"discarded":     {"delete-release", fake.Release{Body: other}, gone, 1, "", ""},
	} {
		at := h.fresh()
		tc.draft.Draft, tc.draft.Tag = true, cmp.Or(tc.draft.Tag, "v1.0.0")
		given.Value(h.AddRelease("acme/"+at, tc.draft))(t)
		h.Faults.Reset()
		h.Faults.ClearLog()
		h.Faults.Add(rule(tc.step, 1, fault.Always, tc.fault))
		got, err := h.open(t, at).Put(t.Context(), r)
		n := len(slices.DeleteFunc(h.Faults.Log(), func(e entry) bool { return e.Step != tc.step }))
		notes := strings.Join(got.Notes, "\n")
		if n > tc.requests || n < tc.requests && tc.step != "upload-asset" {
			t.Errorf("%s: %d requests", name, n)
		}
		if (err == nil) != (tc.want == "") || !strings.Contains(fmt.Sprint(err), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if (notes == "") != (tc.note == "") || !strings.Contains(notes, tc.note) {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// TestSourceChanges: a file changes, or cannot be read any more, after its checksum
// was taken. That is not repeated.
func TestSourceChanges(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	for want, second := range map[string]io.Reader{
		"z.txt changed while it was published": strings.NewReader("y"),
		"the disk is gone":                     iotest.ErrReader(errors.New("the disk is gone")),
	} {
		reads := 0
		r := sample("v1.0.0")
		r.Artifacts = append(r.Artifacts, repo.NewArtifact("z.txt", "z.txt", 1, func() (io.ReadCloser, error) {
			if reads++; reads == 1 {
				return io.NopCloser(strings.NewReader("x")), nil
			}
			return io.NopCloser(second), nil
		}))
		if _, err := h.open(t, h.fresh()).Put(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) || reads > 3 {
			t.Errorf("%d reads: %v", reads, err)
		}
	}
}

// TestRandomFaults publishes under sequences of several faults.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	steps := append(steps(sequence(t, h)), "delete-asset", "delete-release", "get-asset")
	failed := 0
	sequences := share.Of(60, 250)
	for seed := range uint64(sequences) {
		source := rand.New(rand.NewPCG(seed, 4))
		rules := fault.Random(source, 2+source.IntN(5), steps, append(fake.Faults(), elsewhere))
		token := fmt.Sprintf("ghp_3yJhbGciOiJIUzI1NiIs_%d", seed)
		h.AddToken(fake.Token{Secret: token, Right: fake.Admin, Workflows: true})
		if err := survive(t, h, token, rules...); err != nil {
			failed++
		}
		if t.Failed() {
			t.Fatalf("seed %d, rules %+v", seed, rules)
		}
	}
	t.Logf("%d sequences, of which %d ended with an error and were completed by the next run", sequences, failed)
	if failed > sequences/2 {
		t.Errorf("%d of %d runs failed", failed, sequences)
	}
}

// TestStall: the server falls silent.
func TestStall(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	h.patience = 500 * time.Millisecond
	for _, f := range fault.Stalls() {
		for _, step := range []string{"get-repository", "create-release", "upload-asset", "edit-release"} {
			if err := survive(t, h, secret, rule(step, 1, 1, f)); err != nil {
				t.Errorf("%s at %s: %v", f.Name, step, err)
			}
		}
	}
}

// TestKillAtEveryStep ends the run at each request, before and after the server
// has done its part.
func TestKillAtEveryStep(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	stop := errors.New("stop")
	for _, handled := range []bool{false, true} {
		for _, p := range sequence(t, h) {
			at, r := h.fresh(), sample("v1.0.0")
			h.Faults.Reset()
			ctx, cancel := context.WithCancelCause(t.Context())
			h.Faults.Add(rule(p.step, p.nth, 1, fault.Fault{Name: "kill", Reset: true, Handled: handled, Call: func() { cancel(stop) }}))
			d := h.open(t, at)
			if _, err := d.Put(ctx, r); !errors.Is(err, stop) {
				t.Errorf("killed at %v: %v", p, err)
			}
			if got, ok := h.Published("acme/"+at, "v1.0.0"); ok {
				if err := h.equal(got, r); err != nil {
					t.Errorf("killed at %v: %v", p, err)
				}
			}
			h.Faults.Reset()
			put(t, d, r)
			h.holds(t, at, r)
			if t.Failed() {
				t.Fatalf("at %v", p)
			}
		}
	}
}

// TestSecondPublisher lets somebody else act at each request of a run.
func TestSecondPublisher(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	points := sequence(t, h)
	for name, tc := range map[string]struct {
		r        *repo.Release
		edit     func(*Options)
		conflict bool
	}{
		"same content":  {sample("v1.0.0"), func(*Options) {}, false},
		"other content": {files("v1.0.0", "metadata.yaml", "other", "infrastructure-components.yaml", "kind: List\n"), func(*Options) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range points {
				at, r := h.fresh(), sample("v1.0.0")
				h.Faults.Reset()
				second := h.open(t, at, tc.edit)
				var once sync.Once
				var others error
				h.Faults.Add(rule(p.step, p.nth, 1, fault.Fault{Name: "second publisher", Call: func() {
					once.Do(func() { _, others = second.Put(t.Context(), tc.r) })
				}}))
				_, err := h.open(t, at).Put(t.Context(), r)
				first, ok := h.Published("acme/"+at, "v1.0.0")
				if !ok {
					t.Fatalf("at %v: nothing is published: %v, %v", p, err, others)
				}
				winner := r
				if h.equal(first, r) != nil {
					winner = tc.r
				}
				h.holds(t, at, winner)
				if n := len(h.Releases("acme/" + at)); n != 1 {
					t.Errorf("at %v: %d releases", p, n)
				}
				if !tc.conflict && (err != nil || others != nil) {
					t.Errorf("at %v: %v, %v", p, err, others)
				}
				if tc.conflict && (conflict(err) == conflict(others)) {
					t.Errorf("at %v: not one of them was told: %v, %v", p, err, others)
				}
			}
		})
	}
}

// TestRateLimit waits as long as the server says, by the server's clock, or
// says how long that would be.
func TestRateLimit(t *testing.T) {
	share.SkipInRace(t)
	t.Parallel()
	h := start(t, fake.Options{})
	for name, tc := range map[string]struct {
		fault fault.Fault
		want  time.Duration
		fails bool
	}{
		"primary":            {fake.PrimaryLimit(http.StatusForbidden, 30*time.Second), 31 * time.Second, false},
		"primary 429":        {fake.PrimaryLimit(http.StatusTooManyRequests, 30*time.Second), 31 * time.Second, false},
		"in the past":        {fake.PrimaryLimit(http.StatusForbidden, -time.Hour), time.Second, false},
		"secondary":          {fake.SecondaryLimit(http.StatusForbidden, "90"), 90 * time.Second, false},
		"secondary 429":      {fake.SecondaryLimit(http.StatusTooManyRequests, "90"), 90 * time.Second, false},
		"secondary, no time": {fake.SecondaryLimit(http.StatusForbidden, ""), time.Minute, false},
		"an hour":            {fake.PrimaryLimit(http.StatusForbidden, time.Hour), 0, true},
	} {
		for _, skew := range []time.Duration{0, time.Hour, -time.Hour} {
			for _, step := range []string{"get-repository", "create-release", "upload-asset", "edit-release"} {
				t.Run(fmt.Sprint(name, skew, step), func(t *testing.T) {
					h.Faults.Reset()
					f := tc.fault
					f.Skew = skew
					h.Faults.Add(rule(step, 1, 1, f))
					var mu sync.Mutex
					var longest time.Duration
					at, r := h.fresh(), sample("v1.0.0")
					d := h.open(t, at, func(o *Options) {
						o.Policy.Sleep = func(ctx context.Context, d time.Duration) error {
							mu.Lock()
							defer mu.Unlock()
							longest = max(longest, d)
							return ctx.Err()
						}
					})
					_, err := d.Put(t.Context(), r)
					if tc.fails {
						if err == nil || !strings.Contains(err.Error(), "rate limit") {
							t.Fatalf("got %v", err)
						}
						put(t, d, r)
					} else if err != nil || longest < tc.want-2*time.Second || longest > tc.want+2*time.Second {
						t.Errorf("waited for %s, want %s; %v", longest, tc.want, err)
					}
					h.holds(t, at, r)
				})
			}
		}
	}
}

// TestUsedUpLimit: the last request of the hour succeeds, and go-github must
// not refuse the next one by itself.
func TestUsedUpLimit(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	h.Faults.Reset()
	at, r := h.fresh(), sample("v1.0.0")
	base := headers{h.base, map[string]string{"X-Ratelimit-Limit": "5000", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": fmt.Sprint(time.Now().Add(time.Hour).Unix())}}
	put(t, h.open(t, at, func(o *Options) { o.Base = base }), r)
	h.holds(t, at, r)
}

type headers struct {
	http.RoundTripper
	add map[string]string
}

func (x headers) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := x.RoundTripper.RoundTrip(req)
	if err == nil {
		for name, value := range x.add {
			resp.Header.Set(name, value)
		}
	}
	return resp, err
}

// TestLastingLimit does not take a limit that outlasts all attempts for a lack of rights.
func TestLastingLimit(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	for _, wait := range []string{"0", ""} { // without a time, only the body tells
		h.Faults.Reset()
		h.Faults.Add(rule("create-release", 1, fault.Always, fake.SecondaryLimit(http.StatusForbidden, wait)))
		_, err := h.open(t, h.fresh()).Put(t.Context(), sample("v1.0.0"))
		if !transport.IsTemporary(err) || !strings.Contains(err.Error(), "rate limit") || strings.Contains(err.Error(), "needs the right") {
			t.Errorf("%q: %v", wait, err)
		}
	}
}
