package github

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/publishtest"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

type entry = fault.Entry

func rule(step string, nth, times int, f fault.Fault) fault.Rule {
	return fault.Rule{Step: step, Nth: nth, Times: times, Fault: f}
}

func faultStatus(code int) fault.Fault {
	return fault.Fault{Name: http.StatusText(code), Status: code}
}

// elsewhere sends the client to another host.
var elsewhere = fault.Fault{Name: "redirect to another host", Redirect: "https://objects.githubusercontent.com"}

// mayFail reports whether a run may give up after a fault: one that ends the
// token, or that leads away from GitHub.
func mayFail(f fault.Fault) bool {
	return slices.Contains([]string{"token expires", elsewhere.Name}, f.Name)
}

// place is a repository of a hub, for each run another one.
func (h *hub) place(every, sequences int) publishtest.Place {
	return publishtest.Place{
		Release: sample("v1.0.0"), Other: files("v1.0.0", "metadata.yaml", "other", "infrastructure-components.yaml", "kind: List\n"),
		Start: h.spot, Faults: slices.Concat(fake.Faults(), fault.Stalls(), []fault.Fault{elsewhere}), Lasts: mayFail, Every: every, Sequences: sequences,
		Vital: []string{"get-repository", "list-releases", "get-ref", "get-commit", "create-release", "list-assets", "upload-asset", "edit-release"},
		Rare:  []string{"delete-asset", "delete-release", "get-asset"},
	}
}

func (h *hub) spot(t testing.TB) *publishtest.Spot {
	at := h.fresh(func(r *fake.Repository) { r.Private = h.private })
	token := "ghp_3yJhbGciOiJIUzI1NiIs_" + at
	renew := func() { h.AddToken(fake.Token{Secret: token, Right: fake.Admin, Workflows: true}) }
	renew()
	h.Faults.Reset()
	h.Faults.ClearLog()
	return &publishtest.Spot{
		Faults: h.Faults, Secrets: []string{token}, Renew: renew, Leaks: h.Leaks,
		Open: func(after func(), patience time.Duration) publish.Destination {
			return h.open(t, at, func(o *Options) {
				o.Token, o.Base, o.Policy.Timeout = token, publishtest.After(h.base, after), patience
			})
		},
		Seen: func(r *repo.Release) (bool, error) {
			got, ok := h.Published("acme/"+at, r.Version)
			if !ok {
				return false, nil
			}
			err := h.equal(got, r)
			return err == nil, err
		},
		Tidy: func(r *repo.Release) {
			h.holds(t, at, r)
			if n := len(h.Releases("acme/" + at)); n != 1 {
				t.Errorf("there are %d releases", n)
			}
		},
		First: func(visible bool, _ error) {
			if !visible && len(h.Tags("acme/"+at)) > 0 {
				t.Error("there is a tag without a release")
			}
		},
	}
}

func TestFaults(t *testing.T) {
	publishtest.Run(t, func(t testing.TB) publishtest.Place {
		return start(t, fake.Options{}).place(share.Of(12, 1), share.Of(20, 250))
	})
}

func TestFaultsWhileReadingPrivately(t *testing.T) {
	publishtest.Reading(t, func(t testing.TB) publishtest.Place {
		h := start(t, fake.Options{})
		h.private = true
		return h.place(share.Of(6, 1), 0)
	})
}

// TestFaultsWithoutDigests: GitHub does not state what it stored, so files are read.
func TestFaultsWithoutDigests(t *testing.T) {
	share.SkipInRace(t)
	publishtest.Faults(t, func(t testing.TB) publishtest.Place {
		return start(t, fake.Options{NoDigests: true}).place(share.Of(60, 2), 0)
	})
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
		notes := strings.Join(noted(got), "\n")
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
		for i, skew := range []time.Duration{0, time.Hour, -time.Hour} {
			step := []string{"create-release", "upload-asset", "edit-release"}[i]
			t.Run(fmt.Sprint(name, skew, step), func(t *testing.T) {
				h.Faults.Reset()
				f := tc.fault
				f.Skew = skew
				h.Faults.Add(rule(step, 1, 1, f))
				var longest atomic.Int64
				at, r := h.fresh(), sample("v1.0.0")
				d := h.open(t, at, func(o *Options) {
					o.Policy.Sleep = func(ctx context.Context, d time.Duration) error {
						longest.Store(max(longest.Load(), int64(d)))
						return ctx.Err()
					}
				})
				_, err := d.Put(t.Context(), r)
				waited := time.Duration(longest.Load())
				if tc.fails {
					if err == nil || !strings.Contains(err.Error(), "rate limit") {
						t.Fatalf("got %v", err)
					}
					put(t, d, r)
				} else if err != nil || (waited-tc.want).Abs() > 2*time.Second {
					t.Errorf("waited for %s, want %s; %v", waited, tc.want, err)
				}
				h.holds(t, at, r)
			})
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
	base := publishtest.Tripper(func(req *http.Request) (*http.Response, error) {
		resp, err := h.base.RoundTrip(req)
		if err == nil {
			for name, value := range map[string]string{"Limit": "5000", "Remaining": "0", "Reset": fmt.Sprint(time.Now().Add(time.Hour).Unix())} {
				resp.Header.Set("X-Ratelimit-"+name, value)
			}
		}
		return resp, err
	})
	put(t, h.open(t, at, func(o *Options) { o.Base = base }), r)
	h.holds(t, at, r)
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

// TestRefusalIsQuoted: what GitHub says can be shown, and does not repeat the token.
func TestRefusalIsQuoted(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	body := fmt.Sprintf(`{"message": "\u001b[2J%s", "errors": [{"message": "\u202e%[1]s"}]}`, secret)
	h.Faults.Add(rule("create-release", 1, fault.Always, fault.Fault{Status: http.StatusUnprocessableEntity, Body: body}))
	_, err := h.open(t, h.fresh()).Put(t.Context(), sample("v1.0.0"))
	if err == nil || !strings.Contains(err.Error(), "[2J") || strings.Contains(err.Error(), secret) || transport.Printable(err.Error()) != err.Error() {
		t.Errorf("got %q", err)
	}
}
