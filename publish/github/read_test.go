package github

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestFaultWhileReading lists and reads a release, with each fault at each
// request.
func TestFaultWhileReading(t *testing.T) {
	t.Parallel()
	for _, private := range []bool{false, true} {
		h := start(t, fake.Options{})
		at, r := h.fresh(func(r *fake.Repository) { r.Private = private }), sample("v1.0.0")
		put(t, h.open(t, at), r)
		read := func() error {
			d := h.open(t, at)
			versions, err := d.Versions(t.Context())
			if err != nil {
				return err
			}
			if !slices.Equal(versions, []string{"v1.0.0"}) {
				return fmt.Errorf("versions %v", versions)
			}
			got, err := d.Fetch(t.Context(), "v1.0.0")
			if err != nil {
				return err
			}
			return publish.VerifyFiles(t.Context(), got, r)
		}
		h.Faults.ClearLog()
		given.NoError(t, read())
		requests := h.Faults.Log()
		for i, f := range append(fault.Common(), fake.SecondaryLimit(http.StatusForbidden, "0")) {
			for j, e := range requests {
				if (i+j)%share.Of(2, 1) != 0 {
					continue
				}
				h.Faults.Reset()
				h.Faults.Add(fault.Rule{Nth: j + 1, Fault: f})
				if err := read(); err != nil {
					t.Errorf("private %v: %s at %v: %v", private, f.Name, e, err)
				}
			}
		}
		// What cannot be noticed on the way shows at the end.
		for name, f := range map[string]fault.Fault{"shortened": {Shorten: 1}, "corrupt": {Corrupt: true}} {
			h.Faults.Reset()
			h.Faults.Add(rule("storage", 1, fault.Always, f))
			err := read()
			if err == nil {
				t.Errorf("private %v: %s content passed", private, name)
			}
			clean(t, secret, err)
		}
		if leaks := h.Leaks(); len(leaks) > 0 {
			t.Errorf("credentials went to %v", leaks)
		}
	}
}

// TestNoneOfGitHub: something else answers. Nothing may be taken for an empty
// list.
func TestNoneOfGitHub(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "<html>Log in</html>", "null ", "[", `{"message":"hi"}`} {
		d, err := New(Options{Owner: "acme", Name: "provider", Token: secret, Base: tripper(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
		}), Policy: (&hub{}).policy()})
		given.NoError(t, err)
		if versions, err := d.Versions(context.Background()); err == nil {
			t.Errorf("%q: versions %v", body, versions)
		}
		if _, err := d.Fetch(context.Background(), "v1.0.0"); err == nil {
			t.Errorf("%q: fetched", body)
		}
		if _, err := d.Put(context.Background(), sample("v1.0.0")); err == nil {
			t.Errorf("%q: published", body)
		} else {
			clean(t, secret, err)
		}
	}
}

// TestRenamedBySomething: the server gives an asset another name.
func TestRenamedBySomething(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	at := h.fresh()
	d := h.open(t, at, func(o *Options) { o.Base = replacing{h.base, `"name":"metadata.yaml"`, `"name":"metadata.yml"`} })
	_, err := d.Put(t.Context(), sample("v1.0.0"))
	if err == nil || !strings.Contains(err.Error(), "the name metadata.yml") {
		t.Errorf("got %v", err)
	}
	if _, ok := h.Published("acme/"+at, "v1.0.0"); ok {
		t.Error("it is published")
	}
}
