package oci

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/publishtest"
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

// place is a repository that wants a token, for each run in another registry.
func place(testing.TB) publishtest.Place {
	// These are no reason to give up, wherever they strike.
	passing := append(fault.Common(), fault.Stalls()...)
	return publishtest.Place{
		Release: small(), Other: acme(repo.BytesArtifact("theirs.txt", []byte("theirs\n"))), Start: spot, Faults: faults(),
		Lasts: func(f fault.Fault) bool {
			named := func(g fault.Fault) bool { return f.Name == g.Name }
			return !slices.ContainsFunc(passing, named) && !slices.Contains([]string{"rate limit", "rate limit after", "twice"}, f.Name)
		},
		Vital:   []string{"GET manifests", "POST uploads", "PUT uploads", "PUT manifests"},
		Brittle: []string{"GET tags"}, Every: share.Of(10, 1), Sequences: share.Of(20, 250),
	}
}

func spot(t testing.TB) *publishtest.Spot {
	s := serve(t)
	wantToken(s, 12)
	return &publishtest.Spot{
		Faults: s.faults, Secrets: secrets(), Settle: func() { publishtest.Settle(t, s.faults) },
		Open: func(after func(), patience time.Duration) publish.Destination {
			return s.open(robot, func(o *Options) {
				o.Base, o.Policy.Timeout = publishtest.After(o.Base, after), cmp.Or(patience, o.Policy.Timeout)
			})
		},
		Seen: func(r *repo.Release) (bool, error) { return s.seen(r) },
		Tidy: func(r *repo.Release) {
			if whole, err := s.seen(r); !whole {
				t.Errorf("the release is not there: %v", err)
			}
		},
		First: func(visible bool, failure error) {
			switch {
			case failure == nil:
			case visible && !conflict(failure) && !strings.Contains(failure.Error(), "publish again") && !strings.Contains(failure.Error(), "read oci://"):
				t.Errorf("the tag is there, and the error does not say so: %v", failure)
			case !visible && strings.Contains(failure.Error(), "is already"):
				t.Errorf("nothing is there: %v", failure)
			}
		},
	}
}

func TestFaults(t *testing.T) { publishtest.Run(t, place) }

// TestAlwaysBroken ends, and says what is the matter.
func TestAlwaysBroken(t *testing.T) {
	for step, want := range map[string]string{
		"GET manifests": "read oci://", "HEAD blobs": "look for ", "POST uploads": "upload ", "PUT uploads": "upload ", "HEAD manifests": "look for the manifest", "PUT manifests": "store the manifest",
	} {
		s := serve(t, fault.Rule{Step: step, Times: fault.Always, Fault: fault.Fault{Name: "down", Status: 503}})
		_, err := s.open().Put(t.Context(), small())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "nothing became visible") {
			t.Errorf("%s: %v", step, err)
		}
		if strings.ContainsAny(fmt.Sprint(err), "?") {
			t.Errorf("%s: a query is in %v", step, err)
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
