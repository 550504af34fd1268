package publishtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
)

// Unshown fails if something that people or machines get to see holds a secret, or the
// query of a request.
func Unshown(t testing.TB, secrets []string, texts ...any) {
	t.Helper()
	for _, x := range texts {
		text := fmt.Sprintf("%v %+v %#v", x, x, x)
		if _, log := x.([]fault.Entry); !log {
			secrets = append(slices.Clone(secrets), "X-Amz", "select=")
		}
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in %.500s", secret, text)
			}
		}
	}
}

// Tripper is an http.RoundTripper.
type Tripper func(*http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (f Tripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// After calls a function after each request, if there is one.
func After(base http.RoundTripper, after func()) http.RoundTripper {
	return Tripper(func(req *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(req)
		if after != nil {
			after()
		}
		return resp, err
	})
}

// Settle waits until a server has ended what it was doing for a client that left. A late
// upload is one that the client could not have known of.
func Settle(t testing.TB, in *fault.Injector) {
	t.Helper()
	in.Close() // ends what stalls
	for range 1000 {
		if in.ClearLog(); in.Peak() == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the server does not come to rest")
}

// Files makes a release of a provider from names and contents.
func Files(version string, pairs ...string) *repo.Release {
	foo := layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}
	r := &repo.Release{Provider: foo, Version: version, Path: "built"}
	for i := 0; i < len(pairs); i += 2 {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(pairs[i], []byte(pairs[i+1])))
	}
	r.Sort()
	return r
}

// Summed is Files with a file of checksums.
func Summed(version string, pairs ...string) *repo.Release {
	r, err := publish.WithChecksums(context.Background(), Files(version, pairs...))
	if err != nil {
		panic(err) // the files are in memory, so reading them cannot fail
	}
	return r
}
