package conformance

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	ours "github.com/clusterctl-repo/clusterctl-repo/publish/github"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestTraffic publishes with every fault at every request, and compares all
// requests and answers with GitHub's description.
func TestTraffic(t *testing.T) {
	spec := description(t)
	hub := gitHub(t, spec, github.Options{TLS: true})
	at := given.Value(url.Parse(hub.APIURL()))(t)
	base := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, at.Host)
		},
		TLSClientConfig: &tls.Config{RootCAs: hub.CAPool()},
	}
	t.Cleanup(base.CloseIdleConnections)
	policy := transport.Policy{Timeout: 300 * time.Millisecond, Sleep: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }}
	release := releaseOf(layouts.Provider{Type: layouts.Infrastructure, Name: "acme"}, "infrastructure-components.yaml")
	release.Artifacts = append(release.Artifacts, repo.BytesArtifact("cluster-template.yaml", []byte("kind: Cluster\n")))
	release.Sort()
	runs := 0
	// publish does it in a new repository, and returns the errors.
	publish := func(rules ...fault.Rule) error {
		runs++
		name, token := fmt.Sprintf("provider-%d", runs), fmt.Sprintf("%s-%d", secret, runs)
		hub.AddToken(github.Token{Secret: token, Right: github.Write, Workflows: true})
		hub.AddRepository(github.Repository{Owner: "acme", Name: name, Commits: []github.Commit{{SHA: sha}}})
		hub.Faults.Reset()
		hub.Faults.ClearLog()
		hub.Faults.Add(rules...)
		d, err := ours.New(ours.Options{Owner: "acme", Name: name, Token: token, Tool: "tool/v1", Base: base, Policy: policy, Target: sha})
		given.NoError(t, err)
		if _, err := d.Plan(t.Context(), release); err == nil {
			if _, err = d.Put(t.Context(), release); err == nil {
				return d.Verify(t.Context(), release)
			}
		}
		return err
	}
	given.NoError(t, publish())
	var points []fault.Rule
	seen := map[string]int{}
	for _, e := range hub.Faults.Log() {
		seen[e.Step]++
		points = append(points, fault.Rule{Step: e.Step, Nth: seen[e.Step]})
	}
	failed := map[string]int{}
	for _, f := range github.Faults() {
		for _, p := range points {
			p.Fault = f
			if err := publish(p); err != nil {
				failed[f.Name]++
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s at %s: the error has the token", f.Name, p.Step)
				}
			}
		}
	}
	problems := spec.Problems()
	slices.Sort(problems)
	for _, p := range slices.Compact(problems) {
		t.Error(p)
	}
	strangers := map[string]bool{}
	for request := range spec.Unknown() {
		_, path, _ := strings.Cut(request, " ")
		parts := strings.SplitN(path, "/", 6) // of /repos/OWNER/NAME/WHAT/…
		if parts[1] == "repos" && !slices.Contains([]string{"commits", "immutable-releases"}, parts[4]) {
			strangers[parts[4]] = true
		}
	}
	if len(strangers) > 0 {
		t.Errorf("not in the description, nor known besides: %v", strangers)
	}
	t.Logf("%d runs with %d faults at %d requests; failed: %v; compared %v", runs, len(github.Faults()), len(points), failed, spec.Checked())
}
