package objects

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var webhookRules = &lint.Family{Prefix: "WH", Title: "Webhooks, services and certificates", Kinds: view.Installed}

const admissionGroup = "admissionregistration.k8s.io"

// webhook is one entry of a webhook configuration.
type webhook struct {
	object *manifest.Object
	node   *yamldoc.Node
}

// webhooks returns the webhooks among objects.
func webhooks(objects []*manifest.Object) []webhook {
	var out []webhook
	for _, o := range objects {
		if o.Group == admissionGroup && (o.Kind == "MutatingWebhookConfiguration" || o.Kind == "ValidatingWebhookConfiguration") {
			for _, n := range o.Get("webhooks").List() {
				out = append(out, webhook{o, n})
			}
		}
	}
	return out
}

// name is where the webhook tells its name, or the webhook.
func (w webhook) name() *yamldoc.Node { return cmp.Or(w.node.Get("name"), w.node) }

// service is the reference to its Service, or nil.
func (w webhook) service() *yamldoc.Node { return w.node.Get("clientConfig", "service") }

// serving returns the Service that answers, or nil.
func (w webhook) serving(r *lint.Release) *manifest.Object {
	return r.Installed().Find("", "Service", w.service().Get("name").Str())
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH001", Name: "webhook-service", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The Service and port of a webhook must be in the components",
	Source: "clusterctl provider contract, section Links to external objects; Kubernetes documentation, Dynamic Admission Control, section Service reference",
	Why:    "The API server cannot reach the webhook and refuses every object that the webhook handles.",
	Fix:    "Correct the name and port, or add the Service.",
	Scope:  lint.ScopeRelease, Check: webhookService,
})

func webhookService(p *lint.Pass) {
	missing := map[string]bool{}
	for _, w := range webhooks(p.Release.Installed().Objects) {
		ref := w.service()
		n := ref.Get("name")
		if n.Str() == "" || view.Open(w.object, n) {
			continue
		}
		service := w.serving(p.Release)
		if service == nil {
			if key := w.object.Kind + " " + w.object.Name + " " + n.Text(); !missing[key] {
				missing[key] = true
				p.Report(lint.On(w.object, n, "Service %s is not in the components", n.Text()).Lacks("Service " + n.Text()))
			}
			continue
		}
		if port, at := view.Unserved(w.object, ref, service); at != nil {
			p.Report(lint.On(w.object, at, "Service %s has no port %d", n.Text(), port).Because(fmt.Sprintf("port %d of Service %s", port, n.Text())))
		}
	}
}

// call is a Service that the API server calls because of an object.
type call struct {
	object *manifest.Object
	// service is the reference to it, and what says what for.
	service *yamldoc.Node
	what    string
}

// calls returns the webhooks with a Service, those of admission and those that
// convert kinds with several versions.
func calls(r *lint.Release) []call {
	var out []call
	for _, w := range webhooks(r.Installed().Objects) {
		out = append(out, call{w.object, w.service(), "the webhook " + w.name().Str()})
	}
	for _, c := range r.CRDs() {
		if isConverted(c.Object) {
			out = append(out, call{c.Object, c.Object.Get("spec", "conversion", "webhook", "clientConfig", "service"), "the conversion of " + c.Kind})
		}
	}
	return slices.DeleteFunc(out, func(c call) bool { return c.service.Get("name").Str() == "" })
}

// isConverted reports whether the API server calls a webhook to convert objects
// of a CRD: one version needs no conversion.
func isConverted(o *manifest.Object) bool {
	return o.Get("spec", "conversion", "strategy").Str() == "Webhook" && len(o.Get("spec", "versions").List()) > 1
}

// called are the names of the Services that Kubernetes and Cluster API call.
func called(r *lint.Release) map[string]bool {
	out := map[string]bool{}
	for _, c := range calls(r) {
		out[c.service.Get("name").Text()] = true
	}
	for _, o := range r.Installed().Kind(view.RuntimeGroup, view.ExtensionKind) {
		out[o.Get("spec", "clientConfig", "service", "name").Str()] = true
	}
	// Users register a runtime extension without an ExtensionConfig, but by which Service is plain.
	if services := r.Installed().Kind("", "Service"); len(out) == 0 && view.ServesHooks(r) {
		for _, o := range services {
			out[o.Name] = len(services) == 1 || slices.ContainsFunc(r.Installed().Kind(view.CertManagerGroup, "Certificate"),
				func(c *manifest.Object) bool { return view.IsFor(c, o.Name, o.Namespace) })
		}
	}
	return out
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH002", Name: "service-selector", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A Service must select pods of the components and a port that they have",
	Source: "clusterctl provider contract, section Links to external objects; Kubernetes documentation, Service",
	Why:    "Connections to the Service fail. If it serves a webhook, the API server refuses every object that the webhook handles.",
	Fix:    "Give selector and pod template the same labels, and targetPort the name of a port of the container.",
	Scope:  lint.ScopeRelease, Check: serviceSelector,
})

func serviceSelector(p *lint.Pass) {
	all := p.Release.Installed()
	workloads := phrase.Only(all.Objects, func(o *manifest.Object) bool { return o.PodTemplate != nil })
	if len(workloads) == 0 {
		return // which is a greater fault
	}
	portless := func(o *manifest.Object) bool {
		return !slices.ContainsFunc(view.ContainersOf(o), func(c *yamldoc.Node) bool { return len(c.Get("ports").List()) > 0 })
	}
	byWebhooks := called(p.Release)
	report := func(o *manifest.Object, n *yamldoc.Node, f lint.Finding) {
		if !byWebhooks[o.Name] {
			f.Severity = lint.Warning
		}
		view.Settle(p, o, f, view.Within(n)...)
	}
	for _, o := range all.Kind("", "Service") {
		selector := o.Get("spec", "selector")
		if len(view.Fields(selector)) == 0 {
			continue // another controller manages its endpoints
		}
		behind := phrase.Only(workloads, func(w *manifest.Object) bool {
			return view.Selects(selector, w.PodTemplate.Get("metadata", "labels"))
		})
		switch len(behind) {
		case 0:
			labels := phrase.List(selector.Fields(), func(f yamldoc.Field) string { return f.Name + "=" + f.Value.Text() })
			report(o, selector, lint.On(o, selector, "the Service selects no pods of the components").Without(" containers").Because("pods "+strings.Join(labels, ",")))
			continue
		case 1:
		default:
			if behind[0].Name == behind[1].Name && behind[0].Kind == behind[1].Kind {
				break // YAML011
			}
			// Kubernetes leaves out pods without a port of the name that a port of the Service has.
			if !slices.ContainsFunc(o.Get("spec", "ports").List(), func(port *yamldoc.Node) bool {
				n := port.Get("targetPort")
				return len(phrase.Only(behind, func(w *manifest.Object) bool { return !n.Is(yamldoc.String) || hasPort(w, n) })) > 1
			}) {
				break
			}
			f := lint.On(o, selector, "the Service selects the pods of both %s and %s", behind[0].Name, behind[1].Name)
			f.Severity, f.Fix = lint.Warning, "Add a label that only one of them has."
			p.Report(f)
		}
		for _, port := range o.Get("spec", "ports").List() {
			n := cmp.Or(port.Get("targetPort"), port.Get("port"))
			if n == nil || view.Open(o, n) || len(view.ContainersOf(behind[0])) == 0 || // COMP013
				slices.ContainsFunc(behind, func(w *manifest.Object) bool { return hasPort(w, n) }) {
				continue
			}
			if n.Is(yamldoc.String) {
				f := lint.On(o, n, "no container of %s has a port named %s", behind[0].Name, n.Text())
				if portless(behind[0]) {
					f = f.Because("ports of " + behind[0].Name)
				}
				report(o, n, f)
			} else if view.ServesHooks(p.Release) && slices.ContainsFunc(view.ContainersOf(behind[0]), func(c *yamldoc.Node) bool { return len(c.Get("ports").List()) > 0 }) {
				p.Report(lint.On(o, n, "no container of %s declares the port %s", behind[0].Name, n.Text()).As(lint.Warning))
			}
		}
	}
}

// hasPort reports whether a container declares a port with a name or a number.
func hasPort(o *manifest.Object, port *yamldoc.Node) bool {
	field := "containerPort"
	if port.Is(yamldoc.String) {
		field = "name"
	}
	for _, c := range view.ContainersOf(o) {
		for _, n := range c.Get("ports").List() {
			if at := n.Get(field); at != nil && (at.Text() == port.Text() || view.Open(o, at)) {
				return true
			}
		}
	}
	return false
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH003", Name: "webhook-resources", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Webhooks should name resources and versions that exist",
	Source: "Kubernetes documentation, Dynamic Admission Control, section Matching requests: rules",
	Why:    "The rule never matches what does not exist, so the webhook is not called for it. The API server accepts any word, but only matches versions and plural names of resources.",
	Fix:    "Write the plural name and the versions from the CRD.",
	Scope:  lint.ScopeRelease, Check: webhookResources,
})

func webhookResources(p *lint.Pass) {
	kinds := map[string]map[string]*crd.CRD{} // by group and plural
	for _, c := range p.Release.CRDs() {
		if kinds[c.Group] == nil {
			kinds[c.Group] = map[string]*crd.CRD{}
		}
		kinds[c.Group][c.Plural] = c
	}
	for _, w := range webhooks(p.Release.Installed().Objects) {
		for _, rule := range w.node.Get("rules").List() {
			groups := rule.Get("apiGroups").List()
			if len(groups) != 1 || kinds[groups[0].Str()] == nil {
				continue // a group of others
			}
			own := kinds[groups[0].Str()]
			for _, v := range rule.Get("apiVersions").List() {
				var named *crd.CRD
				known := v.Str() == "*" || view.Open(w.object, v)
				for _, n := range rule.Get("resources").List() {
					word, _, _ := strings.Cut(n.Str(), "/")
					if c := own[word]; c != nil {
						named = cmp.Or(named, c)
						known = known || c.Version(v.Str()) != nil || len(c.Versions) == 0
					}
				}
				if named != nil && !known {
					p.Report(view.Unversioned(p, lint.On(w.object, v, "no CRD of the named resources has version %s", v.Text()), named, v.Text()))
				}
			}
			for _, n := range rule.Get("resources").List() {
				word, _, _ := strings.Cut(n.Str(), "/")
				if word == "" || word == "*" || own[word] != nil || view.Open(w.object, n) {
					continue
				}
				p.Report(lint.On(w.object, n, "no CRD in the components defines resource %s in group %s", word, groups[0].Str()).
					Lacks(word + "." + groups[0].Str()))
			}
		}
	}
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH004", Name: "webhook-ca", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "A webhook should have a CA bundle or an annotation that injects one",
	Source: "Kubernetes documentation, Dynamic Admission Control, section Service reference; cert-manager documentation, CA Injector",
	Why:    "The API server does not trust the webhook and refuses every object that it handles, unless the controller sets the CA bundle at start.",
	Fix:    "Add the annotation " + view.InjectCAFrom + " with the Certificate of the Service.",
	Scope:  lint.ScopeRelease, Check: func(p *lint.Pass) {
		said := map[*manifest.Object]bool{}
		for _, w := range webhooks(p.Release.Installed().Objects) {
			bundle := w.node.Get("clientConfig", "caBundle")
			// Generators write a line break in base64 where the CA is to be.
			if view.BringsCA(w.object) || said[w.object] || w.service() == nil ||
				bundle != nil && bundle.Text() != "" && bundle.Text() != "Cg==" && bundle.Text() != "Cgo=" {
				continue
			}
			said[w.object] = true
			p.On(w.object, w.name(), "the webhook has no CA bundle and no annotation that injects one")
		}
	},
})

// certificateOf returns what inject-ca-from names on an object: where, the name,
// and the Certificate if it is in the components.
func certificateOf(r *lint.Release, o *manifest.Object) (at *yamldoc.Node, name string, c *manifest.Object) {
	at = o.Get("metadata", "annotations", view.InjectCAFrom)
	_, name, ok := strings.Cut(at.Str(), "/")
	if !ok || strings.Contains(name, "/") || view.Open(o, at) {
		return at, "", nil
	}
	return at, name, r.Installed().Find(view.CertManagerGroup, "Certificate", name)
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH005", Name: "missing-certificate", Severity: lint.Error, Proof: lint.Contract,
	Title:  `The Certificate named in ` + view.InjectCAFrom + ` must be in the components`,
	Source: "clusterctl provider contract, section Links to external objects; clusterctl client/repository/components.go, fixWebhookNamespaceReferences",
	Why:    "The API server refuses every object that the webhook handles, because the CA bundle stays empty. clusterctl replaces the namespace, so a Certificate elsewhere is not found.",
	Fix:    "Correct the name, or add the Certificate.",
	Scope:  lint.ScopeRelease, Check: func(p *lint.Pass) {
		for _, o := range p.Release.Installed().Objects {
			if !view.CallsWebhooks(o) {
				continue
			}
			at, name, c := certificateOf(p.Release, o)
			if name == "" || c != nil {
				continue
			}
			f := lint.On(o, at, "Certificate %s is not in the components", name).Lacks("Certificate " + name)
			if o.Kind == crd.Kind && !isConverted(o) {
				f.Severity = lint.Warning // nothing uses it
			}
			p.Report(f)
		}
	},
})

var _ = webhookRules.Add(lint.Rule{
	ID: "WH006", Name: "certificate-for-service", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The Certificate of a webhook must be valid for its Service",
	Source: "Kubernetes documentation, Dynamic Admission Control, section Service reference; Go crypto/x509, VerifyHostname",
	Why:    "The API server refuses every object that the webhook handles, because it calls SERVICE.NAMESPACE.svc and the certificate has other names.",
	Fix:    "Add SERVICE.NAMESPACE.svc to the dnsNames of the Certificate.",
	Scope:  lint.ScopeRelease, Check: certificateForService,
})

func certificateForService(p *lint.Pass) {
	all := p.Release.Installed()
	if len(all.Objects) == 0 {
		return
	}
	namespace, ok := view.TargetName(all.Objects[0].File)
	if !ok {
		return
	}
	said := map[string]bool{}
	for _, call := range calls(p.Release) {
		at := call.service.Get("name")
		_, _, c := certificateOf(p.Release, call.object)
		if c == nil || p.Release.Installed().Find("", "Service", at.Text()) == nil ||
			view.Open(call.object, at) || view.IsFor(c, at.Text(), namespace) || said[c.Name+" "+at.Text()] {
			continue
		}
		said[c.Name+" "+at.Text()] = true
		f := lint.On(c, cmp.Or(c.Get("spec", "dnsNames"), c.Get("spec")), "the Certificate is not valid for %s.%s.svc, the Service of %s", at.Text(), namespace, call.what)
		view.Settle(p, c, f, view.Within(c.Get("spec", "dnsNames"))...)
	}
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH008", Name: "review-versions", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Webhooks must support AdmissionReview v1",
	Source: "Kubernetes pkg/apis/admissionregistration/validation, validateAdmissionReviewVersions",
	Why:    "The API server refuses the configuration if it knows none of the versions. v1beta1 still works, but is deprecated.",
	Fix:    "Set admissionReviewVersions: [v1].",
	Check:  reviewVersions,
})

func reviewVersions(p *lint.Pass) {
	for _, w := range webhooks(p.File.Objects()) {
		if w.object.Version != "v1" {
			continue
		}
		list := w.node.Get("admissionReviewVersions")
		known := map[string]bool{}
		for _, n := range list.List() {
			known[n.Str()] = true
			if view.Open(w.object, n) {
				known["v1"] = true
			}
		}
		switch {
		case list != nil && !list.Is(yamldoc.List) && !list.Is(yamldoc.Null), known["v1"]:
		case known["v1beta1"]:
			p.Report(lint.On(w.object, list, "the webhook only accepts AdmissionReview v1beta1, which is deprecated").As(lint.Info).Because(p.Rule.ID))
		case len(known) == 0:
			p.On(w.object, w.name(), "the webhook has no admissionReviewVersions")
		default:
			p.On(w.object, list, "admissionReviewVersions lists no version that the API server knows")
		}
	}
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH010", Name: "template-dry-run", Severity: lint.Info, Proof: lint.Contract,
	Title:  "Webhooks on templates accept server-side-apply dry runs of Cluster API",
	Source: "InfraMachine contract, section InfraMachineTemplate: support for SSA dry run; cluster-api core/reconcilers/topology/cluster, reconcileReferencedTemplate",
	Why:    "Users cannot change the ClusterClass if the webhook refuses a dry run with the annotation topology.cluster.x-k8s.io/dry-run. A manifest does not show whether it does.",
	Fix:    "Safe to ignore if a test covers a dry-run server-side apply of the template.",
	Check:  templateDryRun,
})

// templatesOf returns the templates that an entry of a webhook's resources is
// about: a name, or with a star all of the release in the groups of the rule. Those of
// clusters and control planes are left out: Cluster API never compares them by a dry run.
func templatesOf(r *lint.Release, rule *yamldoc.Node, resource string) []string {
	all := resource == "*" || resource == "*/*"
	var out []string
	if strings.HasSuffix(resource, "templates") {
		out = []string{resource}
	}
	for _, k := range r.Roles() {
		switch {
		case !k.Template || !view.Holds(rule, "apiGroups", k.Group):
		case isCluster(k) || k.Role == contract.Remediation || k.Role == contract.IPPool:
			out = slices.DeleteFunc(out, func(name string) bool { return name == k.Plural })
		case all:
			out = append(out, k.Plural)
		}
	}
	return out
}

func templateDryRun(p *lint.Pass) {
	said := map[string]bool{}
	for _, w := range webhooks(p.File.Objects()) {
		if w.object.Kind != "ValidatingWebhookConfiguration" {
			continue
		}
		for _, rule := range w.node.Get("rules").List() {
			if !view.Holds(rule, "operations", "UPDATE") {
				continue
			}
			for _, n := range rule.Get("resources").List() {
				for _, name := range templatesOf(p.Release, rule, n.Str()) {
					if !said[name] {
						said[name] = true
						p.Report(lint.On(w.object, n, "a webhook validates UPDATE of %s; check that it accepts server-side-apply dry runs", name).
							Because(p.Rule.ID).Without(crd.Kind + " ")) // of a cluster it needs no dry run
					}
				}
			}
		}
	}
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH017", Name: "certificate-issuer", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The issuer of a Certificate must be in the components",
	Source: "clusterctl provider contract, section Links to external objects",
	Why:    "cert-manager does not issue the certificate, so the Secret is never created and the pods that mount it do not start.",
	Fix:    "Add the Issuer, or correct its name.",
	Scope:  lint.ScopeRelease, Check: certificateIssuer,
})

func certificateIssuer(p *lint.Pass) {
	all := p.Release.Installed()
	for _, c := range all.Kind(view.CertManagerGroup, "Certificate") {
		ref := c.Get("spec", "issuerRef")
		name, kind, group := ref.Get("name"), cmp.Or(ref.Get("kind").Str(), "Issuer"), ref.Get("group").Str()
		if at := ref.Get("group"); group != "" && group != view.CertManagerGroup &&
			all.Find(view.CertManagerGroup, kind, name.Text()) != nil && !view.Open(c, at) {
			p.On(c, at, "the group is %q, but the %s %s is in %s", group, kind, name.Text(), view.CertManagerGroup)
		}
		if name.Str() == "" || group != "" && group != view.CertManagerGroup ||
			view.Open(c, name) || all.Find(view.CertManagerGroup, kind, name.Text()) != nil {
			continue
		}
		f := lint.On(c, name, "the %s %s is not in the components", kind, name.Text()).Lacks(kind + " " + name.Text()).Because("issuer " + name.Text())
		if kind != "Issuer" {
			f.Severity = lint.Info // administrators have those
		}
		p.Report(f)
	}
}
