package open

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
)

// rivalry is a place that several publishers open at the same time.
type rivalry struct {
	url string
	env map[string]string
}

func gitHubRivalry(t *testing.T) rivalry {
	s := github.Start(t, github.Options{})
	s.AddToken(github.Token{Secret: "ghp_rival", Right: github.Admin})
	s.AddRepository(github.Repository{Owner: "acme", Name: "provider"})
	return rivalry{"https://github.com/acme/provider", map[string]string{"GH_TOKEN": "ghp_rival", "GITHUB_API_URL": strings.TrimSuffix(s.APIURL(), "/")}}
}

func gitLabRivalry(t *testing.T) rivalry {
	s := gitlab.Start(t, gitlab.Options{})
	s.AddToken(gitlab.Token{Secret: "glpat-rival", User: "publisher"})
	if err := s.AddProject(gitlab.Project{Path: "acme/provider", Members: map[string]gitlab.Role{"publisher": gitlab.Maintainer}}); err != nil {
		t.Fatal(err)
	}
	return rivalry{"https://gitlab.example.com/acme/provider", map[string]string{"GITLAB_TOKEN": "glpat-rival", "CI_API_V4_URL": s.URL() + "/api/v4"}}
}

func ociRivalry(t *testing.T) rivalry {
	if host := os.Getenv("RIVALS_REGISTRY"); host != "" { // such as a docker-registry on this machine
		return rivalry{fmt.Sprintf("oci://%s/acme/r%d", host, rand.Uint64()), nil}
	}
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return rivalry{"oci://" + strings.TrimPrefix(s.URL, "http://") + "/acme/provider", nil}
}

// errDead ends a publisher in the middle of its work.
var errDead = errors.New("killed")

// publisher is one process of many.
type publisher struct {
	content int
	// life is how many requests it makes before it dies.
	life  int
	mu    sync.Mutex
	nap   func() time.Duration
	next  http.RoundTripper
	death context.CancelCauseFunc
}

func (p *publisher) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.life--
	dead, nap := p.life < 0, p.nap()
	p.mu.Unlock()
	if dead {
		p.death(errDead)
		return nil, errDead
	}
	time.Sleep(nap)
	return p.next.RoundTrip(req)
}

func contentOf(n int) *repo.Release {
	files := map[string]string{
		"metadata.yaml":                  "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n",
		"infrastructure-components.yaml": fmt.Sprintf("kind: Namespace # content %d\n", n),
		"cluster-template.yaml":          fmt.Sprintf("kind: Cluster # content %d\n", n),
	}
	if n%2 == 1 {
		files["only-odd.yaml"] = "odd\n"
	}
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.2.3"}
	for name, text := range files {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(name, []byte(text)))
	}
	r.Sort()
	return r
}

// publishAs lets a publisher work until it ends or dies.
func (at rivalry) publishAs(ctx context.Context, p *publisher, o Options) error {
	ctx, p.death = context.WithCancelCause(ctx)
	defer p.death(nil)
	places := &Places{Env: func(n string) (string, bool) { v, ok := at.env[n]; return v, ok }, Base: p}
	places.Policy = transport.Policy{Attempts: 12, Sleep: func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(d, d/50+rand.N(5*time.Millisecond))):
			return nil
		}
	}}
	site, err := places.Site(at.url, o)
	if err != nil {
		return err
	}
	r := contentOf(p.content)
	d, err := site.Of(r.Provider)
	if err != nil {
		return err
	}
	_, err = publish.Parcel{To: d, Release: r}.Publish(ctx)
	return err
}

// published returns which content readers see, or -1 if they see none; anything
// else is an error.
func (at rivalry) published(ctx context.Context) (int, error) {
	places := &Places{Env: func(n string) (string, bool) { v, ok := at.env[n]; return v, ok }}
	site, err := places.Site(at.url, Options{})
	if err != nil {
		return 0, err
	}
	d, err := site.Of(contentOf(0).Provider)
	if err != nil {
		return 0, err
	}
	got, err := d.Fetch(ctx, "v1.2.3")
	if err != nil {
		return -1, nil
	}
	components := got.Artifact("infrastructure-components.yaml")
	if components == nil {
		return -1, nil // clusterctl sees nothing
	}
	for n := range 4 {
		if publish.VerifyFiles(ctx, got, contentOf(n)) == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("readers see a mixture: %v", got.Artifacts)
}

// TestRivals lets two to five publishers of equal and different contents
// publish one version at the same time, some of which die. Set RIVALS to the
// number of runs for each kind of place.
func TestRivals(t *testing.T) {
	runs := 12
	if n, err := strconv.Atoi(os.Getenv("RIVALS")); err == nil {
		runs = n
	}
	for kind, start := range map[string]func(*testing.T) rivalry{"GitHub": gitHubRivalry, "GitLab": gitLabRivalry, "OCI": ociRivalry} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			kills, wins, nobody := 0, 0, 0
			for seed := range uint64(runs) {
				k, won := compete(t, start(t), seed)
				kills += k
				if won {
					wins++
				} else {
					nobody++
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			t.Logf("%d runs, %d publishers killed; %d had a winner at once, %d after a rerun", runs, kills, wins, nobody)
		})
	}
}

// compete is one run; it returns how many publishers died, and whether one has
// won before a rerun.
func compete(t *testing.T, at rivalry, seed uint64) (kills int, won bool) {
	r := rand.New(rand.NewPCG(seed, 7))
	mortal := r.IntN(2) == 0
	var all []*publisher
	for range 2 + r.IntN(4) {
		p := &publisher{content: r.IntN(1 + r.IntN(3)), life: 1 << 30, next: http.DefaultTransport}
		if mortal && r.IntN(2) == 0 {
			p.life = r.IntN(45)
		}
		own := rand.New(rand.NewPCG(r.Uint64(), 0))
		slow := r.IntN(4)
		p.nap = func() time.Duration { return time.Duration(own.IntN(1+slow*1000)) * time.Microsecond }
		all = append(all, p)
	}
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, p := range all {
		done.Go(func() { errs[i] = at.publishAs(t.Context(), p, Options{}) })
	}
	done.Wait()
	winner, err := at.published(t.Context())
	if err != nil {
		t.Errorf("%v; %v", err, errs)
	}
	equal := true // all publishers have the same content
	for _, p := range all {
		equal = equal && p.content == all[0].content
	}
	claimant := -1
	for i, p := range all {
		switch dead := errors.Is(errs[i], errDead); {
		case dead:
			kills++
		case errs[i] == nil && p.content != winner:
			t.Errorf("content %d was told that it is published, and readers see %d", p.content, winner)
		case errs[i] != nil && p.content == winner:
			t.Errorf("the winner's content %d was told: %v", p.content, errs[i])
		case errs[i] != nil && equal:
			t.Errorf("equal publishers: %v", errs[i])
		}
	}
	if winner >= 0 {
		claimant = winner
	}
	// Any run can be finished by a rerun of a content that was in it.
	finished := false
	for _, p := range all {
		if claimant >= 0 && p.content != claimant {
			continue
		}
		again := &publisher{content: p.content, life: 1 << 30, next: http.DefaultTransport, nap: func() time.Duration { return 0 }}
		err := at.publishAs(t.Context(), again, Options{})
		if finished = err == nil; finished {
			if now, err := at.published(t.Context()); now != p.content || err != nil {
				t.Errorf("after a rerun of %d readers see %d, %v", p.content, now, err)
			}
			break
		}
		if claimant >= 0 {
			t.Errorf("a rerun of the winner: %v", err)
		}
	}
	if !finished {
		t.Errorf("nobody can finish the run: %v", errs)
	}
	return kills, winner >= 0
}
