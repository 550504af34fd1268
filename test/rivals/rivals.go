// Package rivals is the model test of publishing: processes publish one version with
// equal or different contents at the same time, in random interleavings, and some of
// them die. It must not know any kind of place.
package rivals

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Place is where several publishers publish at the same time, with the
// environment that they share.
type Place struct {
	URL string
	Env map[string]string
}

// Compete makes runs at fresh places. In every run at most one content wins and is
// whole, publishers of it all succeed, the others are told why not, and a rerun
// finishes what is left.
func Compete(t *testing.T, runs int, start func(*testing.T) Place) {
	kills, wins := 0, 0
	for seed := range uint64(runs) {
		k, won := compete(t, start(t), seed)
		kills += k
		if won {
			wins++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d runs, %d publishers killed; %d had a winner at once, %d after a rerun", runs, kills, wins, runs-wins)
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
	// What a registry attaches to the manifest.
	files[layouts.ChecksumFile] = fmt.Sprintf("# content %d\n", n)
	files[layouts.SignatureFile] = fmt.Sprintf("c2lnbmVk%d\n", n)
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.2.3"}
	for name, text := range files {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(name, []byte(text)))
	}
	r.Sort()
	return r
}

// publishAs lets a publisher work until it ends or dies.
func (at Place) publishAs(ctx context.Context, p *publisher) error {
	ctx, p.death = context.WithCancelCause(ctx)
	defer p.death(nil)
	d, err := at.destination(p, transport.Policy{Attempts: 12, Sleep: func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(d, d/50+rand.N(5*time.Millisecond))):
			return nil
		}
	}})
	if err != nil {
		return err
	}
	_, err = publish.Parcel{To: d, Release: contentOf(p.content)}.Publish(ctx)
	return err
}

// published returns which content readers see, or -1 if they see none; anything
// else is an error.
func (at Place) published(ctx context.Context) (int, error) {
	d, err := at.destination(nil, transport.Policy{})
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

// compete is one run; it returns how many publishers died, and whether one has
// won before a rerun.
func compete(t *testing.T, at Place, seed uint64) (kills int, won bool) {
	r := rand.New(rand.NewPCG(seed, 7))
	mortal := r.IntN(2) == 0
	var all []*publisher
	for range 2 + r.IntN(4) {
		p := &publisher{content: r.IntN(1 + r.IntN(3)), life: 1 << 30, next: http.DefaultTransport}
		if mortal && r.IntN(2) == 0 {
			p.life = r.IntN(60)
		}
		own := rand.New(rand.NewPCG(r.Uint64(), 0))
		slow := r.IntN(4)
		p.nap = func() time.Duration { return time.Duration(own.IntN(1+slow*1000)) * time.Microsecond }
		all = append(all, p)
	}
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, p := range all {
		done.Go(func() { errs[i] = at.publishAs(t.Context(), p) })
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
		case errs[i] != nil && !told(errs[i]):
			t.Errorf("the loser %d was told: %v", p.content, errs[i])
		}
	}
	// Any run can be finished by a rerun of a content that was in it.
	finished := false
	for _, p := range all {
		if winner >= 0 && p.content != winner {
			continue
		}
		again := &publisher{content: p.content, life: 1 << 30, next: http.DefaultTransport, nap: func() time.Duration { return 0 }}
		err := at.publishAs(t.Context(), again)
		if finished = err == nil; finished {
			if now, err := at.published(t.Context()); now != p.content || err != nil {
				t.Errorf("after a rerun of %d readers see %d, %v", p.content, now, err)
			}
			if left, err := at.planned(t.Context(), p.content); err != nil || len(left) > 0 {
				t.Errorf("after a rerun of %d there is left: %v, %v", p.content, left, err)
			}
			break
		}
		if winner >= 0 {
			t.Errorf("a rerun of the winner: %v", err)
		}
	}
	if !finished {
		t.Errorf("nobody can finish the run: %v", errs)
	}
	return kills, winner >= 0
}

// told reports whether a publisher learned that another content has won.
func told(err error) bool {
	_, conflict := errors.AsType[*publish.ConflictError](err)
	_, lost := errors.AsType[*converge.LostError](err)
	return conflict || lost
}

// destination opens the place.
func (at Place) destination(base http.RoundTripper, policy transport.Policy) (publish.Destination, error) {
	places := &open.Places{Env: func(n string) (string, bool) { v, ok := at.Env[n]; return v, ok }, Base: base, Policy: policy}
	site, err := places.Site(at.URL, open.Options{})
	if err != nil {
		return nil, err
	}
	return site.Of(contentOf(0).Provider)
}

// planned returns what a publisher of a content would do.
func (at Place) planned(ctx context.Context, content int) ([]string, error) {
	d, err := at.destination(nil, transport.Policy{})
	if err != nil {
		return nil, err
	}
	result, err := d.Plan(ctx, contentOf(content))
	return result.Steps, err
}
