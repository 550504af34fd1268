package probe

import (
	"cmp"
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

// patience is how long Cluster API waits for discovery.
const patience = extension.DefaultTimeout * time.Second

// discover asks for the handlers. It returns nil if there is no answer that can be
// used.
func (p *probe) discover(ctx context.Context) *extension.DiscoveryResponse {
	hook := extension.Find("Discovery")
	w := place{hook: hook.Name}
	body := extension.RequestJSON(p.maker.Make(hook))
	r := p.client.do(ctx, hook.Path(""), body, patience)
	if ctx.Err() != nil {
		return nil
	}
	p.record(w, body, r)
	if !r.ok() {
		p.add("LIV007", w, "%s", r.String())
		return nil
	}
	p.late(w, r.took)
	decoded, err := hook.Decode(r.body)
	if err != nil {
		p.add("LIV008", w, "the answer%s cannot be read: %s", excerpt(r.body), extension.Explain(err))
		return nil
	}
	found := decoded.(*extension.DiscoveryResponse)
	switch n := len(found.Handlers); {
	case found.Status == "":
		p.add("LIV008", w, "the answer has no status; want %s", extension.Success)
		return nil
	case found.Status != extension.Success:
		p.add("LIV008", w, "the status is %q, want %s; the message is %q", found.Status, extension.Success, found.Message)
		return nil
	case n > extension.MaxHandlers:
		p.add("LIV008", w, "there are %d handlers, but the status of an ExtensionConfig can only hold %d",
			n, extension.MaxHandlers)
		return nil
	case n == 0:
		p.as(lint.Warning, "LIV008", w, "the list of handlers is empty")
	}
	p.strict(w, hook, r, found)
	p.judge(w, found)
	p.references(found)
	return found
}

// faults of handlers and the checks that report them.
var faults = map[extension.Fault]string{
	extension.DuplicateName: "LIV010", extension.BadName: "LIV011", extension.BadVersion: "LIV012",
	extension.UnknownHook: "LIV013", extension.BadTimeout: "LIV014", extension.BadPolicy: "LIV015",
}

// judge reports what is wrong with the handlers.
func (p *probe) judge(w place, found *extension.DiscoveryResponse) {
	for _, problem := range found.Problems(p.o.Core) {
		p.add(faults[problem.Fault], w, "handler %q: %s", found.Handlers[problem.Handler].Name, problem.Message)
	}
	names := map[string][]string{}
	for i := range found.Handlers {
		h := &found.Handlers[i]
		switch t := h.TimeoutSeconds; {
		case t != nil && *t == 0:
			p.as(lint.Info, "LIV014", w, "handler %q: timeoutSeconds is 0, which means %d", h.Name, extension.DefaultTimeout)
		case t != nil && *t > extension.DefaultTimeout && *t <= extension.MaxTimeout:
			p.as(lint.Warning, "LIV014", w, "handler %q: timeoutSeconds is %d; it should be at most %d", h.Name, *t, extension.DefaultTimeout)
		}
		hook := extension.Find(h.RequestHook.Hook)
		if hook != nil && hook.Needed && h.FailurePolicy != nil && *h.FailurePolicy == "Ignore" {
			p.add("LIV080", w, "handler %q: failurePolicy is Ignore, but Cluster API needs the answer of %s", h.Name, hook.Name)
		}
		names[h.RequestHook.Hook] = append(names[h.RequestHook.Hook], h.Name)
	}
	asked, updates := slices.Concat(names["CanUpdateMachine"], names["CanUpdateMachineSet"]), names["UpdateMachine"]
	switch {
	case len(updates) == 0 && len(asked) > 0:
		p.add("LIV079", w, "the handler %s says what can be updated in place, but no handler serves UpdateMachine", asked[0])
	case len(updates) > 0 && len(asked) == 0:
		p.add("LIV079", w, "the handler %s serves UpdateMachine, but none says what can be updated in place", updates[0])
	}
	for _, h := range extension.Hooks(p.o.Core) {
		if list := names[h.Name]; h.Single && !h.IsDiscovery() && len(list) > 1 {
			p.add("LIV016", w, "%s has the handlers %s", h.Name, strings.Join(list, ", "))
		}
	}
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
			is := func(h extension.Handler) bool { return h.Name == handler && h.RequestHook.Hook == hook }
			message := ""
			switch {
			case !dotted:
				message = fmt.Sprintf("%q does not name an ExtensionConfig: it is written HANDLER.EXTENSIONCONFIG", n.Str())
			case !slices.ContainsFunc(found.Handlers, is):
				message = fmt.Sprintf("the server has no handler %q for %s", handler, hook)
			default:
				return
			}
			f := lint.At(c.Object.File, c.Object.Doc, n, "%s", message)
			f.Rule, f.Severity = &checks.ByID("LIV019").Rule, checks.ByID("LIV019").Severity
			p.report.Findings = append(p.report.Findings, f)
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
		p.report.Findings = append(p.report.Findings, lint.Finding{
			Rule: rule, Severity: rule.Severity, File: r.File, Object: r.Object, Message: fmt.Sprintf(format, args...),
		})
	}
	if have, want := strings.Trim(p.o.URL.Path, "/"), strings.Trim(r.Path, "/"); have != want {
		report("Cluster API calls paths below %q, but the server was checked at %q", "/"+want, "/"+have)
	}
	// Behind a forwarded port or a proxy the number is another one.
	port := cmp.Or(p.o.URL.Port(), "443")
	if host := p.o.URL.Hostname(); len(r.Ports) > 0 && r.Ports[0] != port && (host == r.Name || strings.HasPrefix(host, r.Name+".")) {
		report("Cluster API calls port %s of the Service, but the server was checked at port %s", r.Ports[0], port)
	}
}

// strangers calls what no server should answer. The request is for a hook that does
// nothing.
func (p *probe) strangers(ctx context.Context) {
	hook := extension.Find("DiscoverVariables")
	body := extension.RequestJSON(p.maker.Make(hook))
	const nobody = "clusterctl-repo-probe"
	for _, unknown := range []struct{ what, path string }{
		{"hook", "/" + extension.APIVersion + "/" + nobody + "/" + nobody},
		{"handler", hook.Path(nobody)},
		{"version", strings.Replace(extension.Find("Discovery").Path(""), extension.Version, "v1alpha99", 1)},
	} {
		if r := p.client.do(ctx, unknown.path, body, patience); r.ok() {
			p.add("LIV047", here, "%s, an unknown %s, is answered with 200%s", unknown.path, unknown.what, excerpt(r.body))
		}
	}
}
