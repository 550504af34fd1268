package extensions

import (
	"cmp"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var extensionRules = &lint.Family{Prefix: "RXS", Title: "Runtime extensions", Kinds: view.Substituted}

const extensionAdmission = "cluster-api core/webhooks/admission, ExtensionConfig"

// extensions returns the ExtensionConfigs among objects.
func extensions(objects []*manifest.Object) []*manifest.Object {
	return phrase.Only(objects, func(o *manifest.Object) bool { return o.Is(view.RuntimeGroup, view.ExtensionKind) })
}

// eachExtension applies a check to every ExtensionConfig of a file.
func eachExtension(check func(*lint.Pass, *manifest.Object)) func(*lint.Pass) {
	return view.ForEach(func(p *lint.Pass) []*manifest.Object { return extensions(p.File.Objects()) }, check)
}

func clientConfig(o *manifest.Object) *yamldoc.Node { return o.Get("spec", "clientConfig") }

// isExtension reports whether the release is one of a runtime extension.
func isExtension(p *lint.Pass) bool { return p.Release.Provider.Type == layouts.RuntimeExtension }

// server is a workload that Services lead to.
type server struct {
	workload *manifest.Object
	services []*manifest.Object
}

// servers returns the workloads that Services lead to: all of a runtime extension, and
// those of another provider that an ExtensionConfig of its own names.
func servers(p *lint.Pass) []server {
	all := p.Release.Installed()
	named := phrase.List(extensions(all.Objects), func(o *manifest.Object) string { return clientConfig(o).Get("service", "name").Str() })
	var out []server
	for _, o := range all.Objects {
		s := server{workload: o}
		for _, service := range all.Kind("", "Service") {
			if !isExtension(p) && !slices.Contains(named, service.Name) {
				continue
			}
			if selector := service.Get("spec", "selector"); view.Selects(selector, o.PodTemplate.Get("metadata", "labels")) {
				s.services = append(s.services, service)
			}
		}
		if len(s.services) > 0 {
			out = append(out, s)
		}
	}
	return out
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS005", Name: "extension-service-type", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "The Service of a runtime extension should only be reachable inside the cluster",
	Source: "Cluster API proposal 20220221-runtime-SDK, section Security Model",
	Why:    "Anyone who can reach the extension can send it requests, because it does not authenticate callers.",
	Fix:    "Set the type to ClusterIP, and remove externalIPs.",
	Scope:  lint.ScopeRelease, Check: view.ForEach(servers, func(p *lint.Pass, s server) {
		for _, service := range s.services {
			if n := service.Get("spec", "type"); n.Str() == "LoadBalancer" || n.Str() == "NodePort" {
				p.On(service, n, "the Service has type %s, so the extension can be reached from outside the cluster", n.Text())
			} else if n.Str() == "ExternalName" {
				p.On(service, n, "the Service has type ExternalName, so calls leave the cluster for %s", cmp.Or(service.Get("spec", "externalName").Str(), "another host"))
			} else if n := service.Get("spec", "externalIPs"); len(n.List()) > 0 {
				p.On(service, n, "the Service has externalIPs, so the extension can be reached from outside the cluster")
			}
		}
	}),
})

// mounts returns the Secrets that the pods of a workload mount, and whether they mount
// something else that may hold a certificate.
func mounts(o *manifest.Object) (secrets []string, other bool) {
	for _, v := range view.PodOf(o).Get("volumes").List() {
		used := slices.ContainsFunc(view.ContainersOf(o), func(c *yamldoc.Node) bool {
			return yamldoc.Has(c.Get("volumeMounts").All("*", "name"), v.Get("name").Str())
		})
		if !used {
			continue
		}
		found := append(v.Get("projected").All("sources", "*", "secret", "name"), v.Get("secret", "secretName"))
		for _, n := range found {
			if n.Str() != "" {
				secrets = append(secrets, n.Str())
			}
		}
		other = other || v.Get("csi") != nil
	}
	return secrets, other
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS006", Name: "extension-certificate-mount", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "The server of a runtime extension should mount its certificate",
	Source: "Cluster API book, Implementing Runtime Extensions, section Deploy",
	Why:    "The server does not start without its certificate, or uses one that Cluster API does not trust.",
	Fix:    "Mount the Secret of the Certificate.",
	Scope:  lint.ScopeRelease, Check: view.ForEach(servers, func(p *lint.Pass, s server) {
		if secrets, other := mounts(s.workload); len(secrets) == 0 && !other {
			p.On(s.workload, s.workload.Get("metadata", "name"),
				"no container mounts a Secret, so the server has no certificate")
		}
	}),
})

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS007", Name: "extension-certificate-name", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The Certificate of a runtime extension must be valid for its Service",
	Source: "cluster-api internal/runtime/client/client.go, createHTTPClient; Go crypto/x509, VerifyHostname",
	Why:    "The extension is never discovered: Cluster API calls SERVICE.NAMESPACE.svc and refuses a certificate for other names.",
	Fix:    "Add SERVICE.NAMESPACE.svc to dnsNames.",
	Scope:  lint.ScopeRelease, Check: extensionCertificateName,
})

func extensionCertificateName(p *lint.Pass) {
	made := view.Certificates(p.Release)
	for _, s := range servers(p) {
		namespace, ok := view.TargetName(s.workload.File)
		if !ok {
			return
		}
		secrets, _ := mounts(s.workload)
		slices.Sort(secrets)
		for _, secret := range slices.Compact(secrets) {
			c := made[secret]
			if c == nil {
				continue
			}
			if slices.ContainsFunc(s.services, func(service *manifest.Object) bool { return view.IsFor(c, service.Name, namespace) }) {
				continue
			}
			f := lint.On(c, cmp.Or(c.Get("spec", "dnsNames"), c.Get("spec")), "the Certificate is not valid for %s.%s.svc, the Service of the extension", s.services[0].Name, namespace)
			view.Settle(p, c, f, view.Within(c.Get("spec", "dnsNames"))...)
		}
	}
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS009", Name: "extension-config-kind", Severity: lint.Error, Proof: lint.APIServer,
	Title:  `Objects of ` + view.RuntimeGroup + ` must be ExtensionConfigs of a served version`,
	Source: "cluster-api core/config/crd/bases/runtime.cluster.x-k8s.io_extensionconfigs.yaml",
	Why:    "The API server refuses other kinds, groups and versions.",
	Fix:    "Write apiVersion: " + view.RuntimeGroup + "/v1beta2 and kind: " + view.ExtensionKind + ".",
	Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		switch n := o.Get("apiVersion"); {
		case o.Group != view.RuntimeGroup:
			if o.Kind == view.ExtensionKind && contract.OfClusterAPI(o.Group) && !view.Open(o, n) {
				p.On(o, n, "kind %s is in group %s, not in %s", o.Kind, view.RuntimeGroup, o.Group)
			}
		case o.Kind != view.ExtensionKind:
			p.On(o, o.Get("kind"), "kind %s does not exist in group %s", o.Kind, view.RuntimeGroup)
		case o.Version != "v1beta2" && o.Version != "v1alpha1" && !view.Open(o, n):
			p.On(o, n, "Cluster API serves ExtensionConfig in v1beta2 and v1alpha1, not in %s", o.Version)
		}
	}),
})

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS010", Name: "extension-config-name", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The name of an ExtensionConfig must be a DNS label",
	Source: extensionAdmission,
	Why:    "The Cluster API webhook refuses names with a dot, because handlers are named HANDLER.EXTENSIONCONFIG.",
	Fix:    "Use at most 63 lower-case letters, digits and dashes.",
	Yields: []string{"YAML013"}, Check: eachExtension(func(p *lint.Pass, o *manifest.Object) {
		if n := o.Get("metadata", "name"); n.Str() != "" && !layouts.IsDNSLabel(n.Text()) && !view.Open(o, n) {
			p.On(o, n, "%q is not a DNS label", n.Text())
		}
	}),
})

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS011", Name: "extension-address", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "An ExtensionConfig must have either a Service or an https URL",
	Source: extensionAdmission + "; cluster-api api/runtime/v1beta2, ClientConfig.URL",
	Why:    "The Cluster API webhook refuses the object, or Cluster API cannot call the address.",
	Fix:    "Keep one of spec.clientConfig.service and spec.clientConfig.url; a URL has the form https://HOST:PORT/PATH.",
	Check:  eachExtension(extensionAddress),
})

func extensionAddress(p *lint.Pass, o *manifest.Object) {
	config := clientConfig(o)
	at, service := config.Get("url"), config.Get("service")
	hasURL, hasService := at.Str() != "", service.Is(yamldoc.Map) && len(service.Fields()) > 0
	switch {
	case at != nil && !at.Is(yamldoc.String) && !at.Is(yamldoc.Null):
		p.On(o, at, "the URL is %s", at.Kind.Noun())
	case hasURL && hasService:
		p.On(o, at, "clientConfig has both a Service and a URL")
	case !hasURL && !hasService:
		p.On(o, cmp.Or(config, o.Get("spec"), o.Doc.Root), "clientConfig has neither a Service nor a URL")
	case hasURL && !view.Open(o, at):
		if u, err := url.ParseRequestURI(at.Text()); err != nil {
			p.On(o, at, "%q is not a URL", at.Text())
		} else if u.Scheme != "https" {
			p.On(o, at, "the scheme of the URL is not https")
		} else if u.Hostname() == "" {
			p.On(o, at, "the URL has no host")
		} else if port := u.Port(); port != "" && len(validation.IsValidPortNum(atoi(port))) > 0 {
			p.On(o, at, "%s is not a port", port)
		} else if u.User != nil || strings.ContainsAny(at.Text(), "?#") {
			p.Report(lint.On(o, at, "the URL has more than scheme, host, port and path").As(lint.Warning))
		} else if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && (ip.IsLoopback() || ip.IsUnspecified()) {
			p.On(o, at, "%s is the pod of Cluster API itself, which has no extension", u.Hostname())
		}
	}
}

// atoi is the number that a text of digits stands for, 0 if it is too large.
func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// longestPath and longestCA are what an ExtensionConfig may hold.
const longestPath, longestCA = 512, 51200

// validPort reports whether a number is that of a port.
func validPort(n *yamldoc.Node) bool {
	v, ok := n.Int()
	return ok && v >= 1 && v <= 65535
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS012", Name: "extension-service-fields", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The Service of an ExtensionConfig must have a valid name, namespace, path and port",
	Source: extensionAdmission,
	Why:    "The Cluster API webhook refuses the object.",
	Fix:    "Correct the field. A path begins with a slash, and a port is between 1 and 65535.",
	Check:  eachExtension(extensionServiceFields),
})

func extensionServiceFields(p *lint.Pass, o *manifest.Object) {
	service := clientConfig(o).Get("service")
	if !service.Is(yamldoc.Map) || len(service.Fields()) == 0 {
		return
	}
	for _, row := range []struct {
		field, is string
		required  bool
		valid     func(n *yamldoc.Node) bool
	}{
		// A name of a Service begins with a letter.
		{"name", "not a valid Service name", true, func(n *yamldoc.Node) bool {
			return layouts.IsDNSLabel(n.Str()) && n.Text()[0] >= 'a'
		}},
		{"namespace", "not a valid namespace", true, func(n *yamldoc.Node) bool { return layouts.IsDNSLabel(n.Str()) }},
		{"path", "not a path that begins with a slash", false, func(n *yamldoc.Node) bool {
			_, err := url.ParseRequestURI(n.Str())
			return err == nil && strings.HasPrefix(n.Text(), "/") && len(n.Text()) <= longestPath
		}},
		{"port", "not a port", false, validPort},
	} {
		switch n := service.Get(row.field); {
		case n == nil && row.required:
			p.On(o, service, "the Service has no %s", row.field)
		case n == nil, view.Open(o, n), n.Is(yamldoc.Null) && !row.required, row.valid(n):
		default:
			p.On(o, n, "%s is %s", cmp.Or(view.ScalarText(n), `""`), row.is)
		}
	}
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS013", Name: "extension-service", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The Service and port of an ExtensionConfig must be in the components",
	Source: "clusterctl provider contract, section Links to external objects; cluster-api internal/runtime/client/client.go, urlForExtension",
	Why:    "The extension is not discovered, and clusters of a ClusterClass that uses it are not reconciled.",
	Fix:    "Correct the name, namespace or port. The port defaults to 443.",
	Yields: []string{"RXS012"}, Scope: lint.ScopeRelease, Check: extensionService,
})

func extensionService(p *lint.Pass) {
	all := p.Release.Installed()
	for _, o := range extensions(all.Objects) {
		ref := clientConfig(o).Get("service")
		name, namespace := ref.Get("name"), ref.Get("namespace")
		own, known := view.TargetName(o.File)
		if name.Str() == "" || view.Open(o, name) || view.Open(o, namespace) {
			continue
		}
		report := func(f lint.Finding) {
			if !known || namespace.Str() != own {
				f.Severity = lint.Warning // another provider may install it
			}
			p.Report(f)
		}
		service := all.Find("", "Service", name.Text())
		if service == nil {
			report(lint.On(o, name, "Service %s is not in the components", name.Text()).Lacks("Service " + name.Text()))
			continue
		}
		if known && namespace.Str() != "" && namespace.Text() != own {
			report(lint.On(o, namespace, "Service %s is in namespace %s", name.Text(), own))
		}
		if port, at := view.Unserved(o, ref, service); at != nil {
			report(lint.On(o, at, "Service %s has no port %d", name.Text(), port).Because(fmt.Sprintf("port %d of Service %s", port, name.Text())))
		}
	}
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS014", Name: "extension-ca", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "An ExtensionConfig must have a CA bundle or an annotation that injects one",
	Source: "cluster-api core/config/crd/bases/runtime.cluster.x-k8s.io_extensionconfigs.yaml, format byte; core/reconcilers/extensionconfig, reconcileCABundle; internal/runtime/client/client.go, createHTTPClient",
	Why:    "The extension is not discovered: without a CA bundle Cluster API trusts only public authorities, which issue no certificates for Services, and the kubeadm control plane provider never calls the extension. cert-manager does not inject CAs into ExtensionConfigs. A CA bundle that is not base64 is refused.",
	Fix:    "Annotate the object with " + view.InjectCAFromSecret + ": NAMESPACE/SECRET, and remove caBundle.",
	Yields: []string{"TOP001"}, Check: eachExtension(extensionCA),
})

func extensionCA(p *lint.Pass, o *manifest.Object) {
	config := clientConfig(o)
	n := config.Get("caBundle")
	if _, injected := o.Annotation(view.InjectCAFromSecret); injected && n.Str() == "" || view.Open(o, n) {
		return
	} else if n.Str() == "" {
		f := lint.On(o, cmp.Or(n, config, o.Doc.Root), "the ExtensionConfig has no CA bundle and no annotation that injects one")
		for _, a := range o.Get("metadata", "annotations").Fields() {
			if strings.Contains(a.Name, "inject-ca") {
				f = lint.On(o, a.Key(), "Cluster API ignores the annotation %s, so the ExtensionConfig has no CA bundle", a.Name)
			}
		}
		if config.Get("url").Str() != "" || setsItself(p) {
			f.Severity = lint.Warning // the CA may be a public one, or come later
		}
		p.Report(f)
		return
	} else if data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Text()), "")); err != nil {
		p.On(o, n, "caBundle is not base64")
	} else if len(n.Text()) > longestCA {
		p.On(o, n, "caBundle has %d characters; at most %d are allowed", len(n.Text()), longestCA)
	} else if block, _ := pem.Decode(data); (block == nil || block.Type != "CERTIFICATE") && !injected {
		f := lint.On(o, n, "caBundle does not contain a PEM certificate")
		if setsItself(p) {
			f.Severity = lint.Warning
		}
		p.Report(f)
	}
}

// setsItself reports whether the components may change ExtensionConfigs, and so set their CA.
func setsItself(p *lint.Pass) bool {
	return slices.ContainsFunc(view.Roles(p.Release), func(o *manifest.Object) bool {
		return slices.ContainsFunc(o.Get("rules").List(), func(rule *yamldoc.Node) bool {
			return view.About(rule, view.RuntimeGroup, "extensionconfigs") && (view.Holds(rule, "verbs", "update") || view.Holds(rule, "verbs", "patch"))
		})
	})
}

// secretOf returns what the annotation for the CA names.
func secretOf(o *manifest.Object) (at *yamldoc.Node, namespace, name string) {
	at = o.Get("metadata", "annotations", view.InjectCAFromSecret)
	namespace, name, _ = strings.Cut(at.Str(), "/")
	return at, namespace, name
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS015", Name: "extension-ca-secret", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The CA annotation must name the Secret of the Certificate",
	Source: "cluster-api core/reconcilers/extensionconfig, reconcileCABundle",
	Why:    "The extension is never discovered, because Cluster API does not find the Secret.",
	Fix:    "Write NAMESPACE/NAME with the secretName of the Certificate.",
	Scope:  lint.ScopeRelease, Check: extensionCASecret,
})

func extensionCASecret(p *lint.Pass) {
	made := view.Certificates(p.Release)
	all := p.Release.Installed()
	for _, o := range extensions(all.Objects) {
		at, namespace, name := secretOf(o)
		own, known := view.TargetName(o.File)
		switch {
		case at == nil || view.Open(o, at):
		case namespace == "" || name == "" || strings.Contains(name, "/"):
			p.On(o, at, "%q does not have the form NAMESPACE/NAME", at.Text())
		case len(made) == 0:
		case made[name] == nil && all.Find("", "Secret", name) == nil:
			f := lint.On(o, at, "no Certificate of the components creates Secret %s", name).Without(" " + name)
			if known && namespace != own {
				f.Severity = lint.Warning // another provider may install it
			}
			p.Report(f)
		case known && namespace != own:
			p.On(o, at, "Secret %s is in namespace %s", name, own)
		}
	}
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS017", Name: "extension-fixed-namespace", Severity: lint.Info, Proof: lint.Practice,
	Title:  "An ExtensionConfig works in another namespace",
	Source: "clusterctl client/repository/components.go, fixTargetNamespace",
	Why:    "Users who pass --target-namespace get an extension that is not discovered: clusterctl moves the Service and Secret, but keeps the namespace in the ExtensionConfig.",
	Fix:    "Take the namespace from a variable, for example ${FOO_NAMESPACE:=foo-system}, or let users create the ExtensionConfig.",
	Kinds:  view.Installed, Check: func(p *lint.Pass) {
		own, ok := view.TargetName(p.File)
		if !ok {
			return
		}
		for _, o := range extensions(p.File.Objects()) {
			n := clientConfig(o).Get("service", "namespace")
			if at, namespace, _ := secretOf(o); n.Str() != own && namespace == own {
				n = at
			}
			if view.Mentions(n.Str(), own) && !view.Variable(o, n) {
				p.On(o, n, "clusterctl does not replace the namespace %s in %q", own, n.Text())
			}
		}
	},
})

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS018", Name: "extension-namespaces", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The namespaceSelector of an ExtensionConfig must be valid",
	Source: extensionAdmission,
	Why:    "The Cluster API webhook refuses an invalid selector. Without a selector the extension is called for the clusters of all namespaces.",
	Fix:    "Use the operators In and NotIn with values, and Exists and DoesNotExist without values.",
	Check:  eachExtension(extensionNamespaces),
})

func extensionNamespaces(p *lint.Pass, o *manifest.Object) {
	selector := o.Get("spec", "namespaceSelector")
	if selector == nil || selector.Is(yamldoc.Null) {
		p.Report(lint.On(o, cmp.Or(o.Get("spec"), o.Doc.Root),
			"the extension has no namespaceSelector, so it is called for clusters of all namespaces").As(lint.Info))
		return
	}
	for _, f := range selector.Get("matchLabels").Fields() {
		if problems := validation.IsQualifiedName(f.Name); len(problems) > 0 {
			p.On(o, f.Key(), "%q is not a valid label key: %s", f.Name, problems[0])
		}
		labelValue(p, o, f.Value)
	}
	for _, e := range selector.Get("matchExpressions").List() {
		if n := e.Get("key"); !view.Open(o, n) {
			if problems := validation.IsQualifiedName(n.Str()); len(problems) > 0 {
				p.On(o, cmp.Or(n, e), "%q is not a valid label key: %s", n.Str(), problems[0])
			}
		}
		for _, n := range e.Get("values").List() {
			labelValue(p, o, n)
		}
		n, values := e.Get("operator"), len(e.Get("values").List())
		switch word := n.Str(); {
		case view.Open(o, n):
		case word == "In" || word == "NotIn":
			if values == 0 {
				p.On(o, n, "operator %s needs values", word)
			}
		case word == "Exists" || word == "DoesNotExist":
			if values > 0 {
				p.On(o, e.Get("values"), "operator %s must not have values", word)
			}
		case n == nil:
			p.On(o, e, "the expression has no operator")
		default:
			p.On(o, n, "operator %s does not exist", view.ScalarText(n))
		}
	}
}

// labelValue reports a text that no label can have.
func labelValue(p *lint.Pass, o *manifest.Object, n *yamldoc.Node) {
	if problems := validation.IsValidLabelValue(n.Str()); len(problems) > 0 && !view.Open(o, n) {
		p.On(o, n, "%q is not a valid label value: %s", n.Text(), problems[0])
	}
}

// secretive are names of settings that probably hold a secret.
var secretive = phrase.Pattern(`(?i)(password|passwd|secret|token|credential|private[-_]?key|api[-_]?key)$`)

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS019", Name: "extension-settings", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The settings of an ExtensionConfig must be strings without secrets",
	Source: "cluster-api core/config/crd/bases/runtime.cluster.x-k8s.io_extensionconfigs.yaml, spec.settings",
	Why:    "The API server refuses values that are not strings. Secrets are visible to everyone who can read ExtensionConfigs, and are sent with every request.",
	Fix:    "Put the value in quotes. Remove secrets, and let the server read them from a Secret.",
	Check: eachExtension(func(p *lint.Pass, o *manifest.Object) {
		for _, f := range o.Get("spec", "settings").Fields() {
			switch {
			case f.Value.Is(yamldoc.Null), view.Open(o, f.Value):
			case !f.Value.Is(yamldoc.String):
				p.On(o, f.Value, "setting %s is %s; it must be a string", f.Name, f.Value.Kind.Noun())
			case secretive().MatchString(f.Name) && f.Value.Text() != "":
				p.Report(lint.On(o, f.Value, "setting %s looks like a secret", f.Name).As(lint.Warning))
			}
		}
	}),
})

// byName is not much more than an extension needs that calls the API servers of clusters,
// whose kubeconfigs are Secrets of unknown names.
const byName = "the extension can read any Secret whose name it knows"

// rights are those that an extension should not have, by rule. Verbs are the ones
// that matter; without a resource they matter for all.
var rights = []struct {
	rule            string
	group, resource string
	verbs           []string
	clusterWide     bool
	message         string
}{
	{"RXS025", "", "secrets", []string{"list", "watch"}, true, "the extension can read all Secrets"},
	{"RXS025", "", "secrets", []string{"get"}, true, byName},
	{"RXS026", view.RuntimeGroup, "extensionconfigs", []string{"create", "update", "patch", "delete"}, false, "the extension can change ExtensionConfigs"},
	{"RXS027", view.RbacGroup, "clusterroles", []string{"escalate", "bind"}, false, "the extension can grant itself any role"},
	{"RXS027", view.RbacGroup, "roles", []string{"escalate", "bind"}, false, "the extension can grant itself any role"},
	{"RXS027", "", "users", []string{"impersonate"}, false, "the extension can act as any user"},
	{"RXS027", "", "groups", []string{"impersonate"}, false, "the extension can act as any user"},
	{"RXS027", "", "serviceaccounts", []string{"impersonate"}, false, "the extension can act as any user"},
	{"RXS027", "", "serviceaccounts/token", []string{"create"}, false, "the extension can act as any ServiceAccount"},
	{"RXS027", "", "pods/exec", []string{"create", "get"}, false, "the extension can run commands in all pods"},
	{"RXS027", "", "nodes/proxy", []string{"get", "create"}, false, "the extension can run commands on all nodes"},
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS022", Name: "extension-account", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The pods of a runtime extension must have their own ServiceAccount",
	Source: "Cluster API proposal 20220221-runtime-SDK, section Identity and access management",
	Why:    `All pods with the ServiceAccount, with "default" every pod in the namespace, have the permissions of the extension, and the extension has theirs. Audit logs cannot tell them apart.`,
	Fix:    "Add a ServiceAccount for the extension and name it in serviceAccountName.",
	Scope:  lint.ScopeRelease, Check: extensionAccount,
})

// runs reports whether an object keeps pods running, as jobs do not.
func runs(o *manifest.Object) bool {
	return o.PodTemplate != nil && o.Kind != "Job" && o.Kind != "CronJob"
}

func extensionAccount(p *lint.Pass) {
	running := phrase.Only(p.Release.Installed().Objects, runs)
	own := running
	if !isExtension(p) {
		own = phrase.List(servers(p), func(s server) *manifest.Object { return s.workload })
	}
	first := map[string]*manifest.Object{} // by account
	for _, o := range slices.Concat(own, running) {
		pod := view.PodOf(o)
		n := view.ServiceAccount(pod)
		other, mine := first[n.Str()], slices.Contains(own, o)
		switch {
		case other == o || n != nil && view.Open(o, n):
		case n.Str() == "" || n.Text() == view.DefaultAccount:
			if mine {
				p.On(o, cmp.Or(n, pod), "the pods run as ServiceAccount %s", view.DefaultAccount)
			}
		case other != nil:
			p.On(o, n, "the pods share the ServiceAccount %s with those of %s %s", n.Text(), other.Kind, other.Name)
		case mine:
			first[n.Text()] = o
		}
	}
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS025", Name: "extension-reads-secrets", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A runtime extension must not read all Secrets",
	Source: "Cluster API proposal 20220221-runtime-SDK, sections Identity and access management and Security Model",
	Why:    "Attackers who take over the extension get the keys of all clusters and clouds. Extensions receive what they need in the request.",
	Fix:    "List the Secrets in resourceNames, or use a Role in the namespace of the extension. An extension that needs the kubeconfigs of clusters only needs the verb get, which is a warning.",
	Scope:  lint.ScopeRelease, Check: extensionRights,
})

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS026", Name: "extension-registers-itself", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A runtime extension must not change ExtensionConfigs",
	Source: "Cluster API proposal 20220221-runtime-SDK, sections Identity and access management and Security Model",
	Why:    "The extension could register itself for every hook of every cluster, which only administrators should do.",
	Fix:    "Remove these verbs from the role. Include the ExtensionConfig in the components, or document how to create it.",
	Scope:  lint.ScopeRelease, Check: extensionRights,
})

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS027", Name: "extension-escalates", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A runtime extension must not be able to extend its own permissions",
	Source: "Cluster API proposal 20220221-runtime-SDK, section Identity and access management; Kubernetes documentation, Role Based Access Control Good Practices, section Privilege escalation risks",
	Why:    "Attackers who take over the extension can act as any user, or run any program on any node.",
	Fix:    "Remove these verbs and resources from the role.",
	Scope:  lint.ScopeRelease, Check: extensionRights,
})

func extensionRights(p *lint.Pass) {
	if !isExtension(p) {
		return
	}
	report := func(o *manifest.Object, n *yamldoc.Node, message string) {
		f := lint.On(o, n, "%s", message)
		if o.Kind == "Role" || message == byName || !view.ServesHooks(p.Release) {
			f.Severity = lint.Warning
		}
		p.Report(f)
	}
	for _, o := range p.Release.Installed().Kind(view.RbacGroup, "ClusterRoleBinding") {
		// Those of Kubernetes that include Secrets.
		if n := o.Get("roleRef", "name"); p.Rule.ID == "RXS025" && (n.Str() == "admin" || n.Str() == "edit") {
			report(o, n, rights[0].message)
		}
	}
	for _, o := range view.Roles(p.Release) {
		for _, rule := range o.Get("rules").List() {
			if view.Wildcards(p.Release, o, rule) != "" {
				continue // which a rule about wildcards reports
			}
			for _, row := range rights {
				if row.rule != p.Rule.ID || row.clusterWide && o.Kind != "ClusterRole" ||
					!view.About(rule, row.group, row.resource) {
					continue
				}
				if slices.ContainsFunc(row.verbs, func(verb string) bool { return view.Holds(rule, "verbs", verb) }) {
					report(o, rule, row.message)
					break
				}
			}
		}
	}
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS032", Name: "extension-hardening", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The pods of a runtime extension should be replicated and hardened",
	Source: "Cluster API proposal 20220221-runtime-SDK, sections Availability and Security Model",
	Why:    "Users can neither create nor change clusters that use the extension while its only pod is down.",
	Fix:    "Set readOnlyRootFilesystem: true, and add a NetworkPolicy, where they are missing.",
	Scope:  lint.ScopeRelease, Check: view.ForEach(servers, extensionHardening),
})

func extensionHardening(p *lint.Pass, s server) {
	all, o := p.Release.Installed(), s.workload
	n := o.Get("spec", "replicas")
	if v, ok := n.Int(); (n == nil || ok && v < 2) && !view.Open(o, n) && (o.Kind == "Deployment" || o.Kind == "StatefulSet") &&
		len(all.Kind("autoscaling", "HorizontalPodAutoscaler")) == 0 {
		f := lint.On(o, cmp.Or(n, o.Get("metadata", "name")), "the extension has no second replica")
		f.Fix = "Set replicas: 2."
		p.Report(f)
	}
	var missing []string
	if !slices.ContainsFunc(view.ContainersOf(o), func(c *yamldoc.Node) bool {
		return c.Get("securityContext", "readOnlyRootFilesystem").Bool()
	}) {
		missing = append(missing, "readOnlyRootFilesystem: true")
	}
	if len(all.Kind("networking.k8s.io", "NetworkPolicy")) == 0 {
		missing = append(missing, "NetworkPolicy")
	}
	if len(missing) > 0 {
		p.Report(lint.On(o, o.Get("metadata", "name"), "the extension has no %s", phrase.And(missing)).As(lint.Info))
	}
}

var _ = extensionRules.Add(lint.Rule{
	ID: "RXS043", Name: "extension-unreachable", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A Service must select the pods of a runtime extension",
	Source: "Cluster API proposal 20220221-runtime-SDK, section Deploy Runtime Extensions",
	Why:    "Cluster API cannot call the extension, so administrators cannot register it.",
	Fix:    "Add a Service of type ClusterIP with the labels of the pods in its selector.",
	Scope:  lint.ScopeRelease, Check: func(p *lint.Pass) {
		all := p.Release.Installed()
		i := slices.IndexFunc(all.Objects, runs)
		services := all.Kind("", "Service")
		// Other rules report Services that an ExtensionConfig names, or that select no pods.
		if i < 0 || !view.ServesHooks(p.Release) || len(services) == 0 && len(extensions(all.Objects)) > 0 ||
			slices.ContainsFunc(all.Objects, func(o *manifest.Object) bool {
				selector := o.Get("spec", "selector")
				return o.Kind == "Service" && (len(selector.Fields()) > 0 || o.Get("spec", "type").Str() == "ExternalName") ||
					o.Kind == "Endpoints" || o.Kind == "EndpointSlice"
			}) {
			return
		}
		o := all.Objects[i]
		p.Report(lint.On(o, o.Get("metadata", "name"), "no Service selects the pods of the extension").Without("Service "))
	},
})
