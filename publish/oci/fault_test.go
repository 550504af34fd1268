package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// faults are what a registry, a network and other users do.
func faults() []fault.Fault {
	out := fault.Common()
	out = append(out, fault.Stalls()...)
	return append(out, []fault.Fault{
		{Name: "rate limit", Status: 429, Header: map[string]string{"Retry-After": "7"}},
		{Name: "rate limit after", Status: 429, Handled: true},
		{Name: "long rate limit", Status: 429, Header: map[string]string{"Retry-After": "86400"}},
		{Name: "unauthorized", Status: 401},
		{Name: "forbidden", Status: 403, Body: `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`},
		{Name: "not found", Status: 404},
		{Name: "bad request", Status: 400},
		{Name: "method not allowed", Status: 405},
		{Name: "not implemented", Status: 501},
		{Name: "a page", Status: 200, Body: "<html>log in</html>"},
		{Name: "redirect", Redirect: "http://localhost:1"},
		{Name: "twice", Twice: true},
		{Name: "short answer", Shorten: 3},
		{Name: "wrong answer", Corrupt: true},
	}...)
}

// published is the release of these tests: two files with one content, one
// without any, and an alias.
func published() *repo.Release {
	return acme(repo.BytesArtifact("a.txt", []byte("same\n")), repo.BytesArtifact("b.txt", []byte("same\n")), repo.BytesArtifact("empty.txt", nil))
}

// small is a release that needs few requests, so that many runs are quick.
func small() *repo.Release { return acme(repo.BytesArtifact("empty.txt", nil)) }

// suffer publishes under faults, and then without. It returns the first error.
func suffer(t *testing.T, rules ...fault.Rule) error {
	t.Helper()
	s := serve(t, rules...)
	wantToken(s, 12)
	s.after = func() { s.whole("v1.2.3") }
	r := small()
	patience := func(o *Options) {
		if slices.ContainsFunc(rules, func(r fault.Rule) bool { return r.Fault.Stall }) {
			o.Policy.Timeout = 100 * time.Millisecond
		}
	}
	result, first := s.open(robot, patience).Put(t.Context(), r)
	_, _, there := s.manifest("v1.2.3")
	switch {
	case first == nil && (!there || result.Unchanged):
		t.Errorf("success, but the tag is there: %t; result %+v", there, result)
	case first != nil && there && !strings.Contains(first.Error(), "publish again") && !strings.Contains(first.Error(), "read oci://"):
		t.Errorf("the tag is there, and the error does not say so: %v", first)
	case first != nil && !there && strings.Contains(first.Error(), "is already"):
		t.Errorf("nothing is there: %v", first)
	}
	noSecret(t, first, result, s.slept)
	s.faults.Reset()
	again, err := s.open(robot).Put(t.Context(), r)
	if err != nil || again.Unchanged != there {
		t.Errorf("once more: %+v, %v, after %v", again, err, first)
	}
	if err := s.open(robot).Verify(t.Context(), r); err != nil {
		t.Errorf("verify: %v, after %v", err, first)
	}
	return first
}

// TestFaultAtEveryStep lets every fault strike at every request of a
// publication.
func TestFaultAtEveryStep(t *testing.T) {
	s := serve(t)
	wantToken(s, 12)
	given.Value(s.open(robot).Put(t.Context(), small()))(t)
	steps := len(s.faults.Log())
	if steps < 12 {
		t.Fatalf("only %d requests: %v", steps, s.faults.Log())
	}
	// These are no reason to give up, wherever they strike.
	survive := []string{"reset before", "reset after", "reset within request", "reset within answer", "slow", "stall before", "stall after", "stall within answer", "rate limit", "rate limit after", "twice",
		"clock an hour ahead", "clock an hour behind", "Internal Server Error before", "Bad Gateway before", "Service Unavailable before", "Internal Server Error after", "Bad Gateway after", "Service Unavailable after"}
	for i, f := range faults() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= steps; n++ {
				if (i+n)%share.Of(3, 1) != 0 {
					continue
				}
				err := suffer(t, fault.Rule{Nth: n, Fault: f})
				if err != nil && slices.Contains(survive, f.Name) {
					t.Errorf("step %d: %v", n, err)
				}
				if t.Failed() {
					t.Fatalf("at step %d", n)
				}
			}
		})
	}
}

// TestRandomFaults lets several faults strike in one publication.
func TestRandomFaults(t *testing.T) {
	steps := []string{"GET manifests", "HEAD manifests", "PUT manifests", "HEAD blobs", "POST uploads", "PUT uploads"}
	const workers = 8 // most of them wait for a stall
	runs := uint64(share.Of(60, 250))
	for w := range uint64(workers) {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			for seed := w; seed < runs; seed += workers {
				suffer(t, fault.Random(rand.New(rand.NewPCG(seed, 0)), 1+int(seed%5), steps, faults())...)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// TestAlwaysBroken ends, and says what is the matter.
func TestAlwaysBroken(t *testing.T) {
	for step, want := range map[string]string{
		"GET manifests": "read oci://", "HEAD blobs": "look for ", "POST uploads": "upload ", "PUT uploads": "upload ", "HEAD manifests": "look for the manifest", "PUT manifests": "store the manifest",
	} {
		err := suffer(t, fault.Rule{Step: step, Times: fault.Always, Fault: fault.Fault{Name: "down", Status: 503}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "nothing became visible") {
			t.Errorf("%s: %v", step, err)
		}
		if strings.ContainsAny(fmt.Sprint(err), "?") {
			t.Errorf("%s: a query is in %v", step, err)
		}
	}
}

// TestSecondPublisher lets somebody else publish at every step.
func TestSecondPublisher(t *testing.T) {
	plain := serve(t)
	given.Value(plain.open().Put(t.Context(), published()))(t)
	other := acme(repo.BytesArtifact("theirs.txt", []byte("theirs\n")))
	log := plain.faults.Log()
	// Whoever tags before the manifest is stored must not be overwritten.
	look := 1 + slices.IndexFunc(log, func(e fault.Entry) bool { return e.Step == "PUT manifests" })
	for n := 1; n <= len(log); n++ {
		for _, same := range []bool{true, false} {
			s := serve(t)
			theirs := other
			if same {
				theirs = published()
			}
			var theirErr error
			s.faults.Add(fault.Rule{Nth: n, Fault: fault.Fault{Name: "second publisher", Call: func() {
				shadow := serve(t)
				shadow.inner = s.inner
				_, theirErr = shadow.open().Put(context.Background(), theirs)
			}}})
			d := s.open()
			_, err := d.Put(t.Context(), published())
			if same && theirErr != nil || !same && (err == nil) == (theirErr == nil) {
				t.Errorf("step %d: two publishers, the same content: %v, errors: %v, %v", n, same, err, theirErr)
			}
			if _, lost := errors.AsType[*converge.LostError](theirErr); !same && theirErr != nil && !lost && !conflict(theirErr) {
				t.Errorf("step %d: %v", n, theirErr)
			}
			if err == nil {
				err = d.Verify(t.Context(), published())
			}
			got, fetchErr := d.Fetch(t.Context(), "v1.2.3")
			if fetchErr != nil {
				t.Fatal(fetchErr)
			}
			switch {
			case same && err != nil:
				t.Errorf("step %d: %v", n, err)
			case same:
			case n <= look && (!conflict(err) || publish.VerifyFiles(t.Context(), got, theirs) != nil):
				t.Errorf("step %d: theirs was there first: %v", n, err)
			case err == nil && publish.VerifyFiles(t.Context(), got, published()) != nil:
				t.Errorf("step %d: success, and theirs is there", n)
			case err != nil && !conflict(err):
				t.Errorf("step %d: %v", n, err)
			}
		}
	}
}

func conflict(err error) bool {
	_, ok := errors.AsType[*publish.ConflictError](err)
	return ok
}

// TestGivesUp: after a refusal that lasts, only requests of its kind that are already in
// flight follow.
func TestGivesUp(t *testing.T) {
	r := acme()
	for i := range 20 {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(fmt.Sprintf("%d.txt", i), []byte{byte(i)}))
	}
	r.Sort()
	for _, tc := range []struct {
		step      string
		nth, most int
	}{{"POST uploads", 1, maxUploads}, {"PUT manifests", 2, 2}, {"GET tags", 1, 1}} {
		s := serve(t, fault.Rule{Step: tc.step, Nth: tc.nth, Times: fault.Always, Fault: fault.Fault{Status: http.StatusForbidden}})
		_, err := s.open().Put(t.Context(), r)
		n := len(slices.DeleteFunc(s.faults.Log(), func(e fault.Entry) bool { return e.Step != tc.step }))
		if err == nil || transport.IsTemporary(err) || n > tc.most {
			t.Errorf("%s: %d requests, %v", tc.step, n, err)
		}
	}
}

// TestTagDecides believes what it sees under the tag, not what the registry says
// about setting it.
func TestTagDecides(t *testing.T) {
	const tag = 4 // the manifest that is put after that of the digest and two claims
	created := map[string]string{"Docker-Content-Digest": ""}
	for _, tc := range []struct {
		name string
		rule fault.Rule
		want string
	}{
		{"refused, but set", fault.Rule{Nth: tag, Fault: fault.Fault{Name: "refusal", Status: 403, Handled: true}}, ""},
		{"taken, but shown late", fault.Rule{Nth: tag, Fault: fault.Fault{Name: "nothing done", Status: 201, Header: created}}, ""},
		{"taken, but never shown", fault.Rule{Nth: tag, Times: fault.Always, Fault: fault.Fault{Name: "nothing done", Status: 201, Header: created}}, "accepted the last step (set the tag), but does not show it; publish again"},
		{"list of claims broken off", fault.Rule{Step: "GET tags", Fault: fault.Fault{Name: "short", Shorten: 3}}, ""},
		{"invalid at the moment", fault.Rule{Nth: tag, Fault: fault.Fault{Status: 400}}, ""},
		{"in conflict at the moment", fault.Rule{Nth: tag, Fault: fault.Fault{Status: 409}}, ""},
		{"out of order at the moment", fault.Rule{Step: "PUT uploads", Fault: fault.Fault{Status: 416}}, ""},
		{"refused", fault.Rule{Nth: tag, Fault: fault.Fault{Name: "refusal", Status: 403}}, "; nothing became visible"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.rule.Step = cmp.Or(tc.rule.Step, "PUT manifests")
			s := serve(t, tc.rule)
			_, err := s.open().Put(t.Context(), small())
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v", err)
			}
			if _, _, there := s.manifest("v1.2.3"); there != (err == nil) {
				t.Errorf("the tag is there: %t, %v", there, err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	stop := errors.New("interrupted by the user")
	plain := serve(t)
	given.Value(plain.open().Put(t.Context(), published()))(t)
	for n := 1; n <= len(plain.faults.Log()); n++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := serve(t, fault.Rule{Nth: n, Fault: fault.Fault{Name: "interrupt", Stall: true, Call: func() { cancel(stop) }}})
		d := s.open(func(o *Options) { o.Policy.Timeout = time.Minute })
		if _, err := d.Put(ctx, published()); !errors.Is(err, stop) {
			t.Errorf("step %d: %v", n, err)
		}
		s.faults.Reset()
		if _, err := d.Put(t.Context(), published()); err != nil {
			t.Errorf("step %d: once more: %v", n, err)
		}
	}
}

// TestWaitsAsAsked does not repeat an upload before the registry wants it.
func TestWaitsAsAsked(t *testing.T) {
	s := serve(t, fault.Rule{Step: "PUT uploads", Fault: fault.Fault{Name: "rate limit", Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "77"}}})
	given.Value(s.open().Put(t.Context(), published()))(t)
	if !slices.Contains(s.slept, 77*time.Second) {
		t.Errorf("slept %v", s.slept)
	}
	s = serve(t, fault.Rule{Step: "PUT uploads", Fault: fault.Fault{Name: "rate limit", Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "86400"}}})
	_, err := s.open().Put(t.Context(), published())
	if limit, ok := errors.AsType[*transport.RateLimitError](err); !ok || limit.Wait != 24*time.Hour {
		t.Errorf("%v", err)
	}
}

// TestSendsOnce uploads no blob that is there, and every content once.
func TestSendsOnce(t *testing.T) {
	s := serve(t)
	d := s.open()
	given.Value(d.Put(t.Context(), published()))(t)
	uploads := func() (n int) {
		for _, e := range s.faults.Log() {
			if e.Step == "PUT uploads" {
				n++
			}
		}
		return n
	}
	if n := uploads(); n != 5 { // components, metadata, the two equal ones, the empty one, the config
		t.Errorf("%d uploads", n)
	}
	next := published()
	next.Version = "v1.2.4"
	next.Artifacts[0] = repo.BytesArtifact("a.txt", []byte("new\n"))
	given.Value(d.Put(t.Context(), next))(t)
	if n := uploads(); n != 6 {
		t.Errorf("%d uploads after the next version", n)
	}
	s.faults.ClearLog()
	given.Value(d.Plan(t.Context(), published()))(t)
	for _, e := range s.faults.Log() {
		if e.Method != http.MethodGet && e.Method != http.MethodHead {
			t.Errorf("plan sent %v", e)
		}
	}
}
