package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// discovery is the request for it.
func (p *probe) discovery() call {
	return call{path: p.discoveryHook.Path(""), body: extension.RequestJSON(p.maker.Make(p.discoveryHook)), timeout: extension.DefaultTimeout * time.Second}
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
	p.in, p.took = in, r.took
	p.measure(w, r)
	decoded, err := p.discoveryHook.Decode(r.body)
	if err != nil {
		p.add("LIV008", w, "the answer%s cannot be read: %s", excerpt(r.body), extension.Explain(err))
		return nil
	}
	found := decoded.(*extension.DiscoveryResponse)
	if found.Status != extension.Success {
		if found.Status == "" {
			p.add("LIV008", w, "the answer has no status; want %s", extension.Success)
		} else {
			p.add("LIV008", w, "the status is %q, want %s; the message is %q", found.Status, extension.Success, found.Message)
		}
		return nil
	}
	if len(found.Handlers) > extension.MaxHandlers {
		p.add("LIV008", w, "there are %d handlers, but the status of an ExtensionConfig can only hold %d",
			len(found.Handlers), extension.MaxHandlers)
		return nil
	}
	p.strict(w, p.discoveryHook, found, r.body)
	if waits(r.body) {
		p.add("LIV025", w, "retryAfterSeconds is %s", extension.RetryAfter(r.body))
	}
	p.judge(found)
	p.references(found)
	p.steady(ctx, found)
	return found
}

// steady repeats discovery, which must not depend on chance.
func (p *probe) steady(ctx context.Context, found *extension.DiscoveryResponse) {
	w := place{hook: p.discoveryHook.Name}
	p.repeat(ctx, w, p.in, func(r reply) bool { return !p.sameHandlers(w, r, found, "a repeated discovery") })
}

// sameHandlers compares an answer to discovery with the first one, and reports
// whether they agree.
func (p *probe) sameHandlers(w place, r reply, found *extension.DiscoveryResponse, what string) bool {
	if p.reported("LIV018", w) {
		return false
	}
	id, why := "LIV018", ""
	switch decoded, err := p.discoveryHook.Decode(r.body); {
	case r.tooLarge:
		id, why = "LIV061", ": "+r.String()
	case !r.ok():
		why = " fails: " + r.String()
	case err != nil:
		why = " cannot be decoded: " + extension.Explain(err)
	default:
		again := decoded.(*extension.DiscoveryResponse)
		if first, other := set(found), set(again); again.Status != found.Status {
			why = fmt.Sprintf(" has the status %q", again.Status)
		} else if !slices.Equal(first, other) {
			why = " has other handlers: " + difference(first, other)
		}
	}
	if why != "" {
		p.add(id, w, "%s%s", what, why)
	}
	return why == ""
}

// reached handles answers that are none of a handler: it tries again with what
// other clients send, and reports with the given check if nothing helps, and with
// what comes of it. It returns the answer to continue with, and the call that gave it.
func (p *probe) reached(ctx context.Context, w place, in call, r reply, id, consequence string) (reply, call, bool) {
	switch {
	case r.ok():
		return r, in, true
	case r.tooLarge:
		p.as(lint.Error, "LIV061", w, "%s", r.String())
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
		p.add(faults[problem.Fault], place{w.hook, ""},
			"handler %q: %s", found.Handlers[problem.Handler].Name, problem.Message)
	}
	if len(found.Handlers) == 0 {
		p.add("LIV009", w, "the list of handlers is empty")
	}
	count := map[string][]string{}
	for i := range found.Handlers {
		h := &found.Handlers[i]
		if h.TimeoutSeconds != nil && *h.TimeoutSeconds == 0 {
			p.note("LIV014", w, "handler %q: timeoutSeconds is 0, which means %d", h.Name, extension.DefaultTimeout)
		}
		if hook := extension.Find(h.RequestHook.Hook); hook != nil &&
			hook.Needed && h.FailurePolicy != nil && *h.FailurePolicy == "Ignore" {
			p.add("LIV080", w, "handler %q: failurePolicy is Ignore, but Cluster API needs the answer of %s", h.Name, hook.Name)
		}
		count[h.RequestHook.Hook] = append(count[h.RequestHook.Hook], h.Name)
	}
	switch asked, updates := slices.Concat(count["CanUpdateMachine"], count["CanUpdateMachineSet"]), count["UpdateMachine"]; {
	case len(updates) == 0 && len(asked) > 0:
		p.add("LIV079", w, "the handler %s says what can be updated in place, but no handler serves UpdateMachine", asked[0])
	case len(updates) > 0 && len(asked) == 0:
		p.add("LIV079", w, "the handler %s serves UpdateMachine, but none says what can be updated in place", updates[0])
	}
	for _, h := range extension.Hooks(p.o.Core) {
		if names := count[h.Name]; h.Single && !h.IsDiscovery() && len(names) > 1 {
			p.add("LIV016", w, "%s has the handlers %s", h.Name, strings.Join(names, ", "))
		}
	}
	if len(count["DiscoverVariables"]) == 0 && len(count["GeneratePatches"])+len(count["ValidateTopology"]) > 0 {
		if names := p.o.Topology.Undefined(); len(names) > 0 {
			p.add("LIV017", w, "the Cluster sets %s, which the class does not define, and no handler serves DiscoverVariables", strings.Join(names, ", "))
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
			return x + " is missing"
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			return x + " is new"
		}
	}
	return "their number changes"
}

// references reports handlers that classes name and the server does not have.
func (p *probe) references(found *extension.DiscoveryResponse) {
	hooks := [...]string{"GeneratePatches", "ValidateTopology", "DiscoverVariables"}
	for _, c := range p.o.Classes {
		check := func(n *yamldoc.Node, hook string) {
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
			for i, n := range []*yamldoc.Node{generate, validate, discover} {
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
		report("the Service and its pods have the port %s, but the server was checked at port %s",
			strings.Join(r.Ports, " and "), port)
	}
}
