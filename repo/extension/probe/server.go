package probe

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/request"
)

type schemas = func(group, kind, version string) (crd.Schema, bool)

// strangers calls what no server should answer, and discovery with what is no
// request. The requests are for a hook that does nothing.
func (p *probe) strangers(ctx context.Context) {
	hook := extension.Find("DiscoverVariables")
	body := request.JSON(p.maker.Make(hook))
	const nobody = "clusterctl-repo-probe"
	for _, s := range []struct{ id, path string }{
		{"LIV047", "/" + extension.Group + "/" + extension.Version + "/" + nobody + "/" + nobody},
		{"LIV048", hook.Path(nobody)},
		{"LIV049", strings.Replace(p.discoveryHook.Path(""), extension.Version, "v1alpha99", 1)},
	} {
		r := p.client.do(ctx, call{path: s.path, body: body, timeout: extension.DefaultTimeout * time.Second})
		if r.ok() {
			p.add(s.id, here, "%s is answered with 200%s", s.path, excerpt(r.body))
		}
	}
	p.breaks(ctx, place{hook: p.discoveryHook.Name}, p.discoveryHook, p.in)
}

// protocols asks for discovery in HTTP/1.1. The first calls were in HTTP/2, if the
// server offers it.
func (p *probe) protocols(ctx context.Context, config *tls.Config) {
	old := newClient(p.o.URL, config, false)
	defer old.close()
	if r := old.do(ctx, p.in); !r.ok() && ctx.Err() == nil {
		p.add("LIV055", place{hook: p.discoveryHook.Name}, "in HTTP/1.1: %s", r.String())
	}
}

// crowd calls discovery many times at once.
func (p *probe) crowd(ctx context.Context) {
	replies := make([]reply, parallelCalls)
	var wg sync.WaitGroup
	in := p.in
	in.discard = true
	for i := range replies {
		wg.Go(func() { replies[i] = p.client.do(ctx, in) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return
	}
	failed := 0
	why := ""
	for i := range replies {
		if r := &replies[i]; !r.ok() {
			failed++
			why = r.String()
		}
	}
	if failed > 0 {
		p.add("LIV059", place{hook: p.discoveryHook.Name}, "%d of %d calls at once fail: %s", failed, parallelCalls, why)
	}
}

// ready asks the readiness endpoint.
func (p *probe) ready(ctx context.Context) {
	u := p.o.Ready
	if u == nil {
		return
	}
	c := p.client
	if u.Scheme == "http" {
		c = newClient(u, nil, false)
		defer c.close()
	}
	at := *c
	at.base = u
	r := at.do(ctx, call{method: http.MethodGet, timeout: extension.DefaultTimeout * time.Second, noParameter: true})
	if !r.ok() && ctx.Err() == nil {
		p.add("LIV066", here, "%s: %s", u, r.String())
	}
}

// again compares discovery with the first one, after everything and after a
// restart.
func (p *probe) again(ctx context.Context, found *extension.DiscoveryResponse) {
	first := set(found)
	same := func() error {
		r := p.client.do(ctx, p.in)
		if !r.ok() {
			return fmt.Errorf("discovery fails: %s", r.String())
		}
		decoded, err := p.discoveryHook.Decode(r.body)
		if err != nil {
			return fmt.Errorf("discovery cannot be read: %s", extension.Explain(err))
		}
		if last := set(decoded.(*extension.DiscoveryResponse)); !slices.Equal(first, last) && !p.reported("LIV018", place{hook: p.discoveryHook.Name}) {
			return fmt.Errorf("discovery has other handlers: %s", difference(first, last))
		}
		return nil
	}
	if err := same(); err != nil {
		if ctx.Err() == nil {
			p.add("LIV065", here, "after all other checks %v", err)
		}
		return
	}
	if p.o.Restart == nil {
		return
	}
	if err := p.o.Restart(ctx); err != nil {
		if ctx.Err() == nil {
			p.report.Failures = append(p.report.Failures, fmt.Errorf("restart the server: %w", err))
		}
		return
	}
	p.client.close()
	err := same()
	// A server needs some time to start.
	for wait := 50 * time.Millisecond; err != nil && strings.Contains(err.Error(), "fails") && wait < extension.DefaultTimeout*time.Second && ctx.Err() == nil; wait *= 2 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		err = same()
	}
	if err != nil && ctx.Err() == nil {
		p.add("LIV067", here, "after a restart %v", err)
	}
}
