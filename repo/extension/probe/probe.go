// Package probe checks a running extension: it connects as Cluster API does, asks which
// handlers there are, calls them, and reports what would harm Cluster API or its users.
// It is the only package below repo that knows the network.
//
// It must not know how findings are printed, nor where releases come from.
package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
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
	Topology *extension.Topology
	// Settings are sent with each request.
	Settings map[string]string
	// Skip are the names of handlers that are not called.
	Skip []string
	// Classes are the ClusterClasses that may name handlers, of which the
	// extension has those behind the dot that are its Name. An empty name stands
	// for all.
	Classes []*clusterclass.Class
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
	// Rarity and Chance decide how often a request is repeated: so often that a
	// fault of one call in Rarity is seen with that Chance. 0 stands for the
	// constants of the same names.
	Rarity int
	Chance float64
	// RetryBudget is how long the retries of a handler are followed; 0 stands for
	// the constant, less for not at all.
	RetryBudget time.Duration
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
	maker         *extension.Maker
	client        *client
	older         *client // speaks HTTP/1.1 only; nil if the server does not
	discoveryHook *extension.Hook
	// in is discovery in the form that the server takes, and took how long it took.
	in   call
	took time.Duration

	mu      sync.Mutex
	report  lint.Report
	times   map[place][]time.Duration
	limits  map[place]time.Duration
	patched []patchedItems
	// retries are the answers of handlers that Cluster API calls together, by hook
	// and handler.
	retries map[string]map[string]*extension.RetryResponse
	// defined are the variables that handlers define.
	defined map[string][]*yamldoc.Node
	// fewer say which handlers were called less often than they should.
	fewer []string
	// unreached says that nobody listens.
	unreached bool
	// planned is the plan of a handler, if there is one.
	planned *extension.PlanResponse
	// pure are the handlers of pure hooks that gave an answer.
	pure []*handler
}

// place is a hook with its handler. Both are empty for the server as a whole.
type place struct{ hook, handler string }

var here = place{}

// result is what a check found, and how long the calls took.
type result struct {
	*lint.Report
	Latencies []extension.Latency
}

// Run checks the server. Findings name the address that was called in place of a
// file, and the handler as the object. When ctx ends before the check is complete,
// the report has what was found and its Failures say so.
func Run(ctx context.Context, o Options) *result {
	if o.ServerName == "" {
		o.ServerName = o.URL.Hostname()
	}
	if o.Rarity == 0 {
		o.Rarity = Rarity
	}
	if o.Chance == 0 {
		o.Chance = Chance
	}
	if o.RetryBudget == 0 {
		o.RetryBudget = RetryBudget
	}
	p := &probe{
		o: &o, maker: &extension.Maker{Topology: o.Topology, Core: o.Core, Settings: o.Settings}, discoveryHook: extension.Find("Discovery"),
		times: map[place][]time.Duration{}, limits: map[place]time.Duration{},
		retries: map[string]map[string]*extension.RetryResponse{}, defined: map[string][]*yamldoc.Node{},
	}
	handlers := p.run(ctx)
	if err := context.Cause(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("the time limit is reached")
		}
		p.report.Failures = append(p.report.Failures, fmt.Errorf("check of %s: not everything was checked: %w", o.URL, err))
	}
	if p.unreached {
		p.report.Failures = append(p.report.Failures, fmt.Errorf("check of %s: nothing was judged, because the connection failed", o.URL))
	}
	p.report.Subject = p.scope(handlers)
	p.report.Join(&lint.Report{}) // sorts
	return &result{Report: &p.report, Latencies: p.latencies()}
}

// run returns how many handlers the server has.
func (p *probe) run(ctx context.Context) int {
	p.registered()
	config := p.connect(ctx)
	if config == nil {
		return 0
	}
	p.client = p.dial(config, true)
	defer p.client.close()
	found := p.discover(ctx)
	if found == nil {
		return 0
	}
	p.protocols(ctx, config, found)
	p.together(ctx,
		func(ctx context.Context) { p.handlers(ctx, found) },
		func(ctx context.Context) { p.strangers(ctx) },
	)
	p.remains(ctx)
	p.sample(ctx)
	p.crowds(ctx, found)
	p.slow(ctx, config)
	p.ready(ctx)
	p.again(ctx, found)
	return len(found.Handlers)
}

// parallelWork is how much work is done at once, whatever a server has in handlers.
const parallelWork = 16

// together runs work at once and waits for all of it. Work that breaks does not
// take the rest with it.
func (p *probe) together(ctx context.Context, work ...func(context.Context)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelWork)
	for _, w := range work {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() {
				<-slots
				if r := recover(); r != nil {
					p.mu.Lock()
					defer p.mu.Unlock()
					p.report.Failures = append(p.report.Failures, fmt.Errorf("a check of %s failed because of a bug in this program: %v", p.o.URL, r))
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
	for n, a := range args { // what a server says may be long, and have several lines
		switch a := a.(type) {
		case string:
			args[n] = cut(a, mostText)
		case error:
			args[n] = cut(a.Error(), mostText)
		case json.RawMessage:
			args[n] = cut(string(a), mostText)
		}
	}
	check := checks.ByID(id)
	lines := strings.FieldsFunc(fmt.Sprintf(format, args...), func(r rune) bool { return r == '\n' || r == '\r' })
	p.put(lint.Finding{Rule: &check.Rule, Severity: s, File: p.at(w), Object: object, Message: strings.Join(lines, " "), Fix: check.Advice()})
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

// latencies sums up the times of all places.
func (p *probe) latencies() []extension.Latency {
	var out []extension.Latency
	for w := range p.times {
		m := p.summary(w)
		m.Name, m.Limit = strings.TrimSpace(w.hook+" "+w.handler), p.limits[w]
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b extension.Latency) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// summary returns the times of a place, which has some.
func (p *probe) summary(w place) extension.Latency {
	p.mu.Lock()
	times := slices.Sorted(slices.Values(p.times[w]))
	p.mu.Unlock()
	n := len(times)
	return extension.Latency{Calls: n, Median: times[n/2], P95: times[min(n-1, n*95/100)], Max: times[n-1]}
}

func (p *probe) record(w place, in call, r reply) {
	if p.o.Record != nil {
		p.o.Record(w.hook, w.handler, in.body, r.body)
	}
}
