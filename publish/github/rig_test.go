package github

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/publishtest"
)

const secret = "ghp_3yJhbGciOiJIUzI1NiIs"

var foo = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}

var files = publishtest.Files

// sample returns the release that belongs to a version.
func sample(version string) *repo.Release {
	return files(version, "infrastructure-components.yaml", "kind: List\n", "metadata.yaml", version,
		"cluster-template.yaml", strings.Repeat("a: b\n", 4000), "cluster-template-c++.yaml", "c\n")
}

// assets turns a release into what the fake holds of it.
func assets(t testing.TB, r *repo.Release) []fake.Asset {
	t.Helper()
	var out []fake.Asset
	for _, a := range r.Artifacts {
		data := given.Value(a.Bytes())(t)
		out = append(out, fake.Asset{Name: a.Name, Data: data})
	}
	return out
}

// hub is a fake github.com, reached under its real names.
type hub struct {
	*fake.Server
	base *http.Transport
	// private are the repositories in which faults strike.
	private bool

	mu sync.Mutex
	n  int
}

func start(t testing.TB, o fake.Options) *hub {
	t.Helper()
	o.TLS = true
	h := &hub{Server: fake.Start(t, o)}
	at := given.Value(url.Parse(h.APIURL()))(t)
	h.base = &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, at.Host)
		},
		TLSClientConfig: &tls.Config{RootCAs: h.CAPool(), ClientSessionCache: tls.NewLRUClientSessionCache(0)},
	}
	t.Cleanup(h.base.CloseIdleConnections)
	h.AddToken(fake.Token{Secret: secret, Right: fake.Admin, Workflows: true})
	return h
}

// fresh makes a repository and returns its name without the owner.
func (h *hub) fresh(edit ...func(*fake.Repository)) string {
	h.mu.Lock()
	h.n++
	r := fake.Repository{Owner: "acme", Name: fmt.Sprintf("provider-%d", h.n)}
	h.mu.Unlock()
	for _, e := range edit {
		e(&r)
	}
	h.AddRepository(r)
	return r.Name
}

// policy does not sleep.
func (h *hub) policy() transport.Policy {
	return transport.Policy{Sleep: func(ctx context.Context, _ time.Duration) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}}
}

// open returns the destination in one of the repositories of the hub.
func (h *hub) open(t testing.TB, name string, edit ...func(*Options)) *Repository {
	t.Helper()
	o := Options{Owner: "acme", Name: name, Token: secret, Tool: "tool/v1", Base: h.base, Policy: h.policy()}
	for _, e := range edit {
		e(&o)
	}
	return given.Value(New(o))(t)
}

// holds fails unless readers see r in the repository, and nothing is left of
// its making.
func (h *hub) holds(t testing.TB, name string, r *repo.Release) fake.Release {
	t.Helper()
	got, ok := h.Published("acme/"+name, r.Version)
	if !ok {
		t.Errorf("%s is not published", r.Version)
		return got
	}
	given.NoError(t, h.equal(got, r))
	for _, d := range h.Drafts("acme/" + name) {
		if strings.Contains(d.Body, markerStart) {
			t.Errorf("the draft %d of %s is left", d.ID, d.Tag)
		}
	}
	if n := len(h.Tags("acme/" + name)); n == 0 {
		t.Error("there is no tag")
	}
	return got
}

// equal says how the content of a release differs from r.
func (h *hub) equal(got fake.Release, r *repo.Release) error {
	var want []string
	for _, a := range r.Artifacts {
		want = append(want, a.Name)
		asset, _ := got.Asset(a.Name)
		data, err := h.Content(asset.ID)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		if b, err := a.Bytes(); err != nil || string(b) != string(data) || asset.State != fake.Uploaded {
			return fmt.Errorf("%s has other content (%v, state %s)", a.Name, err, asset.State)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got.Names(), want) {
		return fmt.Errorf("readers see %v, want %v", got.Names(), want)
	}
	return nil
}

// clean fails if something that people or machines get to see holds a token.
func clean(t testing.TB, secret string, texts ...any) {
	t.Helper()
	publishtest.Unshown(t, []string{secret}, texts...)
}
