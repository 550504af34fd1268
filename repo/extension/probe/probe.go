// Package probe checks a running extension: it connects as Cluster API does, asks which
// handlers there are, calls each of them with requests of several shapes, and judges every answer.
// It is the only package below repo that knows the network.
//
// It must not know how findings are printed, nor where releases come from.
package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Options say what to check and how.
type Options struct {
	// URL is the address of the server, https, with the prefix of all paths.
	URL *url.URL
	// ServerName is the name that the certificate must be for; empty for the host
	// of the URL.
	ServerName string
	// Roots are the CAs that vouch for the server; nil for those of the system.
	Roots *x509.CertPool
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
	// Registration is where the released ExtensionConfig has the server; nil if
	// that is not known.
	Registration *Registration
	// Record, unless nil, is called with each complete request and its answer.
	Record func(hook, handler string, request, answer []byte)
}

// Registration is what an ExtensionConfig and its Service say of a server.
type Registration struct {
	// File is where the ExtensionConfig stands, and Object what it is called.
	File, Object string
	// Name is that of the server in the cluster.
	Name string
	// Ports are the one of the Service and those that it leads to.
	Ports []string
	Path  string
}

type probe struct {
	o      *Options
	maker  *extension.Maker
	client *client
	report lint.Report
	// above is how many handlers are not called, because the level is lower.
	above int
}

// place is a hook with its handler. Both are empty for the server as a whole.
type place struct{ hook, handler string }

var here = place{}

// Run checks the server. Findings name the address that was called in place of a
// file, and the handler as the object. When ctx ends before the check is complete,
// the report has what was found and its Failures say so.
func Run(ctx context.Context, o Options) *lint.Report {
	o.ServerName = cmp.Or(o.ServerName, o.URL.Hostname())
	p := &probe{o: &o, maker: &extension.Maker{Topology: o.Topology, Core: o.Core, Settings: o.Settings}}
	handlers := p.run(ctx)
	if err := context.Cause(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("the time limit is reached")
		}
		p.report.Failures = append(p.report.Failures, fmt.Errorf("check of %s: not everything was checked: %w", o.URL, err))
	}
	p.report.Subject = fmt.Sprintf("%s of %s", phrase.Count(handlers, "handler"), o.URL)
	if p.above > 0 {
		p.report.Subject += fmt.Sprintf("; %d not called at level %s", p.above, o.Level)
	}
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
	p.client = p.dial(config)
	found := p.discover(ctx)
	if found == nil {
		return 0
	}
	p.strangers(ctx)
	p.handlers(ctx, found)
	return len(found.Handlers)
}

// at is the address of a hook for findings.
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

// as reports a finding with another severity.
func (p *probe) as(s lint.Severity, id string, w place, format string, args ...any) {
	for n, a := range args { // what a server says may be long, and have several lines
		switch a := a.(type) {
		case string:
			args[n] = phrase.Cut(a, mostText)
		case error:
			args[n] = phrase.Cut(a.Error(), mostText)
		}
	}
	lines := strings.FieldsFunc(fmt.Sprintf(format, args...), func(r rune) bool { return r == '\n' || r == '\r' })
	check := checks.ByID(id)
	p.report.Findings = append(p.report.Findings, lint.Finding{
		Rule: &check.Rule, Severity: s, File: p.at(w), Object: strings.TrimSpace(w.hook + " " + w.handler),
		Message: strings.Join(lines, " "), Fix: check.Advice(),
	})
}

func (p *probe) record(w place, request []byte, r reply) {
	if p.o.Record != nil {
		p.o.Record(w.hook, w.handler, request, r.body)
	}
}

// mostText is how much of a text of the server a message has, in characters.
const mostText = 200

// short cuts a text that is only a part of a message.
func short(s string) string { return phrase.Cut(s, 80) }
