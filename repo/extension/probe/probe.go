// Package probe checks a running extension: it connects as Cluster API does, asks
// which handlers there are, calls them, and reports what Cluster API or its users
// would suffer from. It is the only package below repo that knows the network.
//
// It must not know how findings are printed, nor where releases come from.
package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/class"
	"github.com/clusterctl-repo/clusterctl-repo/repo/doc"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/request"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// Options say what to check and how.
type Options struct {
	// URL is the address of the server, https, with the prefix of all paths.
	URL *url.URL
	// ServerName is the name that the certificate must be for; empty for the host
	// of the URL.
	ServerName string
	// Roots are the CAs that vouch for the server; nil for those of the system.
	// OtherRoots are CAs that should not; nil for those of the system.
	Roots, OtherRoots *x509.CertPool
	// Certificate is the one of the client; nil for none.
	Certificate *tls.Certificate
	// Core is the minor version of Cluster API to judge for.
	Core  int
	Level extension.Level
	// Topology is what requests are made from.
	Topology *request.Topology
	// Settings are sent with each request.
	Settings map[string]string
	// Skip are the names of handlers that are not called.
	Skip []string
	// Classes are the ClusterClasses that may name handlers, of which the
	// extension has those behind the dot that are its Name. An empty name stands
	// for all.
	Classes []*class.Class
	Name    string
	// Schema returns the schema of a kind; nil if none is known.
	Schema schemas
	// Registration is where the released ExtensionConfig has the server; nil if
	// that is not known.
	Registration *Registration
	// Severity are the severities of checks that are not those of the catalogue.
	Severity map[string]lint.Severity
	// Ready is the address of a readiness endpoint; nil for none.
	Ready *url.URL
	// Restart starts the server anew; nil if it cannot be.
	Restart func(context.Context) error
	// Record is told each complete request with what came; nil for nobody. It may
	// be called from several goroutines.
	Record func(hook, handler string, request, answer []byte)
}

// Registration is what an ExtensionConfig and its Service say of a server.
type Registration struct {
	// File is where the ExtensionConfig stands, and Object what it is called.
	File, Object string
	// Ports are the one of the Service and those that it leads to.
	Ports []string
	Path  string
}

// parallelCalls is how many calls are under way at once.
const parallelCalls = 50

// probe is one run.
type probe struct {
	o             *Options
	maker         *request.Maker
	client        *client
	discoveryHook *extension.Hook
	// in is discovery in the form that the server takes.
	in call

	mu      sync.Mutex
	report  lint.Report
	times   map[place][]time.Duration
	limits  map[place]time.Duration
	patched []patchedItems
}

// place is a hook with its handler. Both are empty for the server as a whole.
type place struct{ hook, handler string }

var here = place{}

// Run checks the server. Findings name the address that was called in place of a
// file, and the handler as the object. When ctx ends before the check is complete,
// the report has what was found and its Failures say so.
func Run(ctx context.Context, o Options) *lint.Report {
	if o.ServerName == "" {
		o.ServerName = o.URL.Hostname()
	}
	p := &probe{
		o: &o, maker: &request.Maker{Topology: o.Topology, Core: o.Core, Settings: o.Settings}, discoveryHook: extension.Find("Discovery"),
		times: map[place][]time.Duration{}, limits: map[place]time.Duration{},
	}
	handlers := p.run(ctx)
	if err := context.Cause(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("the time is over")
		}
		p.report.Failures = append(p.report.Failures, fmt.Errorf("check of %s: not everything was checked: %w", o.URL, err))
	}
	p.report.Subject = fmt.Sprintf("%d handlers of %s", handlers, o.URL)
	if handlers == 1 {
		p.report.Subject = fmt.Sprintf("1 handler of %s", o.URL)
	}
	p.report.Measured = p.measured()
	p.report.Join(&lint.Report{}) // sorts
	return &p.report
}

// run returns how many handlers the server has.
func (p *probe) run(ctx context.Context) int {
	p.registered()
	config := p.connect(ctx)
	if config == nil {
		return 0
	}
	p.client = newClient(p.o.URL, config, true)
	defer p.client.close()
	found := p.discover(ctx)
	if found == nil {
		return 0
	}
	p.together(ctx,
		func(ctx context.Context) { p.handlers(ctx, found) },
		func(ctx context.Context) { p.strangers(ctx) },
		func(ctx context.Context) { p.protocols(ctx, config) },
	)
	p.crowd(ctx)
	p.ready(ctx)
	p.again(ctx, found)
	return len(found.Handlers)
}

// together runs work at once and waits for all of it. Work that breaks does not
// take the rest with it.
func (p *probe) together(ctx context.Context, work ...func(context.Context)) {
	var wg sync.WaitGroup
	for _, w := range work {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					p.mu.Lock()
					defer p.mu.Unlock()
					p.report.Failures = append(p.report.Failures, fmt.Errorf("a check of %s broke, which is a fault of this program: %v", p.o.URL, r))
				}
			}()
			w(ctx)
		})
	}
	wg.Wait()
}

// address of a hook for findings.
func (p *probe) at(w place) string {
	u := *p.o.URL
	if h := extension.Find(w.hook); h != nil {
		return strings.TrimSuffix(u.String(), "/") + h.Path(w.handler)
	}
	return u.String()
}

// add reports a finding with the severity of its check.
func (p *probe) add(id string, w place, format string, args ...any) {
	p.as(checks.ByID(id).Severity, id, w, format, args...)
}

// warn and note report with another severity.
func (p *probe) warn(id string, w place, format string, args ...any) {
	p.as(lint.Warning, id, w, format, args...)
}

func (p *probe) note(id string, w place, format string, args ...any) {
	p.as(lint.Info, id, w, format, args...)
}

func (p *probe) as(s lint.Severity, id string, w place, format string, args ...any) {
	object := w.hook
	if w.handler != "" {
		object += " " + w.handler
	}
	p.put(lint.Finding{Rule: &checks.ByID(id).Rule, Severity: s, File: p.at(w), Object: object, Message: fmt.Sprintf(format, args...)})
}

func (p *probe) put(f lint.Finding) {
	if s, ok := p.o.Severity[f.Rule.ID]; ok {
		if f.Severity = s; s == lint.Off {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Findings = append(p.report.Findings, f)
}

// measure keeps the time of a call.
func (p *probe) measure(w place, r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.times[w] = append(p.times[w], r.took)
}

// measured sums the times up.
func (p *probe) measured() []lint.Measured {
	var out []lint.Measured
	for w, times := range p.times {
		m := summary(times)
		m.Name, m.Limit = strings.TrimSpace(w.hook+" "+w.handler), p.limits[w]
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b lint.Measured) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func summary(times []time.Duration) lint.Measured {
	times = slices.Sorted(slices.Values(times))
	n := len(times)
	return lint.Measured{Calls: n, Median: times[n/2], P95: times[min(n-1, n*95/100)], Max: times[n-1]}
}

// discovery is the request for it.
func (p *probe) discovery() call {
	return call{path: p.discoveryHook.Path(""), body: request.JSON(p.maker.Make(p.discoveryHook)), timeout: extension.DefaultTimeout * time.Second}
}

// discover asks for the handlers. It returns nil if there is no answer that can be
// used.
func (p *probe) discover(ctx context.Context) *extension.DiscoveryResponse {
	w := place{hook: p.discoveryHook.Name}
	p.limits[w] = extension.DefaultTimeout * time.Second
	in := p.discovery()
	r := p.client.do(ctx, in)
	if r.err != nil && ctx.Err() != nil {
		return nil
	}
	p.record(w, in, r)
	r, in, ok := p.reached(ctx, w, in, r, "LIV007", "")
	if !ok {
		return nil
	}
	p.in = in
	p.measure(w, r)
	decoded, err := p.discoveryHook.Decode(r.body)
	if err != nil {
		p.add("LIV008", w, "the answer cannot be read: %s", extension.Explain(err)+excerpt(r.body))
		return nil
	}
	found := decoded.(*extension.DiscoveryResponse)
	if found.Status != extension.Success {
		p.add("LIV008", w, "the status is %q instead of %s, with the message %q", found.Status, extension.Success, found.Message)
		return nil
	}
	p.strict(w, p.discoveryHook, found, r.body)
	if waits(r.body) {
		p.add("LIV025", w, "retryAfterSeconds is %s", extension.RetryAfter(r.body))
	}
	p.judge(found)
	p.references(found)
	// It must not depend on chance.
	first := set(found)
	for range 2 {
		r := p.client.do(ctx, in)
		decoded, err := p.discoveryHook.Decode(r.body)
		if !r.ok() || err != nil {
			if ctx.Err() == nil {
				p.add("LIV018", w, "a second discovery fails: %s", r.String())
			}
			break
		}
		p.measure(w, r)
		if other := set(decoded.(*extension.DiscoveryResponse)); !slices.Equal(first, other) {
			p.add("LIV018", w, "a second discovery has other handlers: %s", difference(first, other))
			break
		}
	}
	return found
}

// reached handles answers that are none of a handler: it tries again with what
// other clients send, and reports with the given check if nothing helps, and with
// what comes of it. It returns the answer to go on with, and the call that gave it.
func (p *probe) reached(ctx context.Context, w place, in call, r reply, id, consequence string) (reply, call, bool) {
	switch {
	case r.ok():
		return r, in, true
	case r.tooLarge:
		severity := lint.Warning
		if w.hook == p.discoveryHook.Name { // then there are no handlers to go on with
			severity = lint.Error
		}
		p.as(severity, "LIV061", w, "%s", r.String())
		return r, in, false
	case r.redirected():
		severity := lint.Error
		if p.o.Core < 14 {
			severity = lint.Warning
		}
		p.as(severity, "LIV062", w, "%s", r.String())
		return r, in, false
	}
	if r.err == nil {
		for _, v := range []struct {
			id   string
			say  string
			call func(c call) call
		}{
			{"LIV053", "without a Content-Type", func(c call) call { c.contentType = "application/json"; return c }},
			{"LIV054", "with the parameter timeout", func(c call) call { c.noParameter = true; return c }},
		} {
			other := v.call(in)
			if again := p.client.do(ctx, other); again.ok() {
				p.add(v.id, w, "%s %s", r.String(), v.say)
				return again, other, true
			}
		}
	}
	p.add(id, w, "%s%s", r.String(), consequence)
	return r, in, false
}

// faults of handlers and the checks that report them.
var faults = map[extension.Fault]string{
	extension.DuplicateName: "LIV010", extension.BadName: "LIV011", extension.BadVersion: "LIV012",
	extension.UnknownHook: "LIV013", extension.BadTimeout: "LIV014", extension.BadPolicy: "LIV015",
}

// judge reports what is wrong with the handlers.
func (p *probe) judge(found *extension.DiscoveryResponse) {
	w := place{hook: p.discoveryHook.Name}
	for _, problem := range found.Problems(p.o.Core) {
		p.add(faults[problem.Fault], place{w.hook, ""}, "handler %q: %s", found.Handlers[problem.Handler].Name, problem.Message)
	}
	if len(found.Handlers) == 0 {
		p.add("LIV009", w, "there is no handler")
	}
	count := map[string][]string{}
	for i := range found.Handlers {
		h := &found.Handlers[i]
		if h.TimeoutSeconds != nil && *h.TimeoutSeconds == 0 {
			p.note("LIV014", w, "handler %q: timeoutSeconds is 0, which means %d", h.Name, extension.DefaultTimeout)
		}
		count[h.RequestHook.Hook] = append(count[h.RequestHook.Hook], h.Name)
	}
	for _, h := range extension.Hooks(p.o.Core) {
		if names := count[h.Name]; h.Single && !h.IsDiscovery() && len(names) > 1 {
			p.add("LIV016", w, "%s has the handlers %s", h.Name, strings.Join(names, ", "))
		}
	}
	if len(count["DiscoverVariables"]) == 0 && len(count["GeneratePatches"])+len(count["ValidateTopology"]) > 0 {
		if names := p.o.Topology.Undefined(); len(names) > 0 {
			p.add("LIV017", w, "the Cluster sets %s, which the class does not define, and there is no handler for DiscoverVariables", strings.Join(names, ", "))
		}
	}
}

// set is a discovery without its order.
func set(d *extension.DiscoveryResponse) []string {
	var out []string
	for i := range d.Handlers {
		out = append(out, d.Handlers[i].Key())
	}
	slices.Sort(out)
	return out
}

// difference names an entry that only one of two sorted sets has.
func difference(a, b []string) string {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return "no " + x
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			return x
		}
	}
	return "another number"
}

// references reports handlers that classes name and the server does not have.
func (p *probe) references(found *extension.DiscoveryResponse) {
	hooks := [...]string{"GeneratePatches", "ValidateTopology", "DiscoverVariables"}
	for _, c := range p.o.Classes {
		check := func(n *doc.Node, hook string) {
			if n == nil || n.Str() == "" {
				return
			}
			handler, config, dotted := strings.Cut(n.Str(), ".")
			if p.o.Name != "" && config != p.o.Name {
				return
			}
			message := ""
			i := slices.IndexFunc(found.Handlers, func(h extension.Handler) bool { return h.Name == handler && h.RequestHook.Hook == hook })
			switch {
			case !dotted:
				message = fmt.Sprintf("%q does not name an ExtensionConfig: it is written HANDLER.EXTENSIONCONFIG", n.Str())
			case i < 0:
				message = fmt.Sprintf("the server has no handler %q for %s", handler, hook)
			default:
				return
			}
			f := lint.At(c.Object.File, c.Object.Doc, n, "%s", message)
			f.Rule, f.Severity = &checks.ByID("LIV019").Rule, checks.ByID("LIV019").Severity
			p.put(f)
		}
		for _, patch := range c.Patches() {
			generate, validate, discover := c.Handlers(patch)
			for i, n := range []*doc.Node{generate, validate, discover} {
				check(n, hooks[i])
			}
		}
		check(c.Spec.Get("upgrade", "external", "generateUpgradePlanExtension"), "GenerateUpgradePlan")
	}
}

// registered compares the address with the ExtensionConfig.
func (p *probe) registered() {
	r := p.o.Registration
	if r == nil {
		return
	}
	report := func(format string, args ...any) {
		rule := &checks.ByID("LIV068").Rule
		p.put(lint.Finding{Rule: rule, Severity: rule.Severity, File: r.File, Object: r.Object, Message: fmt.Sprintf(format, args...)})
	}
	if have, want := strings.Trim(p.o.URL.Path, "/"), strings.Trim(r.Path, "/"); have != want {
		report("its path is %q, but the server was checked at %q", "/"+want, "/"+have)
	}
	if port := p.o.URL.Port(); port != "" && len(r.Ports) > 0 && !slices.Contains(r.Ports, port) {
		report("the Service and its pods have the port %s, but the server was checked at port %s", strings.Join(r.Ports, " and "), port)
	}
}

func (p *probe) record(w place, in call, r reply) {
	if p.o.Record != nil {
		p.o.Record(w.hook, w.handler, in.body, r.body)
	}
}
