package probe

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

type schemas = func(group, kind, version string) (crd.Schema, bool)

// strangers calls what no server should answer, and discovery with what is no
// request. The requests are for a hook that does nothing.
func (p *probe) strangers(ctx context.Context) {
	hook := extension.Find("DiscoverVariables")
	body := extension.RequestJSON(p.maker.Make(hook))
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

// protocols asks for discovery in HTTP/1.1, and keeps the client for calls of handlers if
// the server speaks it. The first calls were in HTTP/2, if the server offers it.
func (p *probe) protocols(ctx context.Context, config *tls.Config, found *extension.DiscoveryResponse) {
	old := p.dial(config, false)
	w := place{hook: p.discoveryHook.Name}
	switch r := old.do(ctx, p.in); {
	case ctx.Err() != nil:
	case !r.ok():
		p.add("LIV055", w, "in HTTP/1.1: %s", r.String())
	default:
		p.older = old
		p.sameHandlers(w, r, found, "discovery in HTTP/1.1")
	}
}

// member is one of many calls at once, of the server or of a handler.
type member struct {
	place
	call
	answered func(reply) // nil if the answer is not looked at
}

// crowds calls discovery many times at once, and then each pure hook, for two Clusters and
// with calls of the other hooks in between: it has to give the same answers.
func (p *probe) crowds(ctx context.Context, found *extension.DiscoveryResponse) {
	w := place{hook: p.discoveryHook.Name}
	p.crowd(ctx, parallelCalls, member{w, p.in, func(r reply) { p.sameHandlers(w, r, found, "one of many calls at once") }})
	steady := phrase.Only(p.pure, func(h *handler) bool { return !h.found("LIV078") && !h.found(unsteady...) })
	for _, h := range steady {
		var all []member
		for range max(1, min(parallelCalls, p.repetitions())/2) {
			all = append(all, member{h.place, h.in, func(r reply) { h.strays(r) }}, member{h.place, h.other, nil})
		}
		for _, o := range steady {
			if o != h {
				all = append(all, member{o.place, o.in, nil})
			}
		}
		p.crowd(ctx, len(all), all...)
	}
}

// crowd makes calls by turns, all at once, and hands out what answers them.
func (p *probe) crowd(ctx context.Context, calls int, members ...member) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	made, failed, why := map[place]int{}, map[place]int{}, map[place]string{}
	for i := range calls {
		m := members[i%len(members)]
		made[m.place]++
		wg.Go(func() {
			r := p.client.do(ctx, m.call)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case ctx.Err() != nil:
			case !r.ok():
				failed[m.place]++
				why[m.place] = r.String()
			case m.answered != nil:
				m.answered(r)
			}
		})
	}
	wg.Wait()
	for w, n := range failed {
		if ctx.Err() == nil && !p.reported("LIV059", w) {
			p.add("LIV059", w, "%d of %d calls at once fail: %s", n, made[w], why[w])
		}
	}
}

const (
	// slowCalls is how many clients send slowly at once. A server may limit the
	// number of its connections.
	slowCalls = 4
	// patience is how long a call that others hold up may take longer than before.
	patience = 2 * time.Second
)

// slow asks for discovery while others have sent a part of the same request, and
// then lets them send the rest.
func (p *probe) slow(ctx context.Context, config *tls.Config) {
	w := place{hook: p.discoveryHook.Name}
	if p.reported("LIV055", w) {
		return // there is no HTTP/1.1
	}
	clients := p.crawl(ctx, config)
	defer func() {
		for _, c := range clients {
			c.conn.Close()
		}
	}()
	fresh := p.dial(config, true)
	defer fresh.close()
	in := p.in
	in.timeout = (p.took + patience).Round(100 * time.Millisecond)
	if r := fresh.do(ctx, in); !r.ok() {
		for _, c := range clients {
			c.conn.Close()
		}
		// Without the others it works; it is not the machine that is slow.
		if again := fresh.do(ctx, in); again.ok() && ctx.Err() == nil {
			p.add("LIV069", w, "while others send their requests slowly: %s", r.String())
		}
		return
	}
	for _, c := range clients {
		// A server may have closed the connection already, which is no answer.
		if status := c.end(in.timeout); status != 0 && status != http.StatusOK &&
			status != http.StatusRequestTimeout && ctx.Err() == nil {
			p.add("LIV069", w, "for a request that comes in two parts it answers %d", status)
			return
		}
	}
}

// crawl begins requests. A server may not take all of them.
func (p *probe) crawl(ctx context.Context, config *tls.Config) []*slowClient {
	var clients [slowCalls]*slowClient
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { clients[i] = p.begin(ctx, config) })
	}
	wg.Wait()
	return slices.DeleteFunc(clients[:], func(c *slowClient) bool { return c == nil })
}

// slowClient has sent the first part of a request.
type slowClient struct {
	conn net.Conn
	rest []byte
}

// begin connects and sends half of a request in HTTP/1.1, in which it is easy to
// wait between two bytes. It returns nil if that is not possible.
func (p *probe) begin(ctx context.Context, config *tls.Config) *slowClient {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d := tls.Dialer{Config: config}
	conn, err := d.DialContext(ctx, "tcp", p.address())
	if err != nil {
		return nil
	}
	half := len(p.in.body) / 2
	u := p.client.address(p.in)
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nConnection: close\r\n",
		u.RequestURI(), cmp.Or(p.client.host, u.Host), len(p.in.body))
	if t := p.in.contentType; t != "" {
		head += "Content-Type: " + t + "\r\n"
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(conn, "%s\r\n%s", head, p.in.body[:half]); err != nil {
		conn.Close()
		return nil
	}
	return &slowClient{conn, p.in.body[half:]}
}

// end sends the rest and returns the status of the answer, or 0 if there is none.
func (c *slowClient) end(limit time.Duration) int {
	_ = c.conn.SetDeadline(time.Now().Add(limit))
	if _, err := c.conn.Write(c.rest); err != nil {
		return 0
	}
	for in := bufio.NewReader(c.conn); ; {
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			return 0
		}
		r.Body.Close()
		if r.StatusCode >= http.StatusOK { // what comes before is not the answer
			return r.StatusCode
		}
	}
}

// ready asks the readiness endpoint.
func (p *probe) ready(ctx context.Context) {
	u := p.o.Ready
	if u == nil {
		return
	}
	at := *p.client
	if u.Scheme == "http" {
		at = *newClient(u, nil, false)
	}
	at.base, at.host = u, ""
	r := at.do(ctx, call{method: http.MethodGet, timeout: extension.DefaultTimeout * time.Second, noParameter: true})
	if !r.ok() && ctx.Err() == nil {
		p.add("LIV066", here, "%s: %s", u, r.String())
	}
}

// errUnanswered is not an answer to discovery.
var errUnanswered = errors.New("discovery fails")

// again compares discovery with the first one, after everything and after a
// restart.
func (p *probe) again(ctx context.Context, found *extension.DiscoveryResponse) {
	first := set(found)
	same := func() error {
		r := p.client.do(ctx, p.in)
		if !r.ok() {
			return fmt.Errorf("%w: %s", errUnanswered, r.String())
		}
		decoded, err := p.discoveryHook.Decode(r.body)
		if err != nil {
			return fmt.Errorf("discovery cannot be read: %s", extension.Explain(err))
		}
		if last := set(decoded.(*extension.DiscoveryResponse)); !slices.Equal(first, last) &&
			!p.reported("LIV018", place{hook: p.discoveryHook.Name}) {
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
	for wait := 50 * time.Millisecond; err != nil && errors.Is(err, errUnanswered) && wait < extension.DefaultTimeout*time.Second && ctx.Err() == nil; wait *= 2 {
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
