package components

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var componentRules = &lint.Family{Prefix: "COMP", Title: "Components: namespace, labels, images and types", Kinds: view.Installed}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP001", Name: "one-namespace", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The components must contain exactly one Namespace",
	Source: "clusterctl client/repository/components.go, inspectTargetNamespace and NewComponents",
	Why:    "clusterctl refuses components with two Namespaces. Without one, users must pass --target-namespace.",
	Fix:    "Keep one Namespace, the one of the controller.",
	Check: func(p *lint.Pass) {
		if noNamespace(p.File) {
			p.Report(lint.Finding{File: p.File.Raw.Name, Severity: lint.Warning,
				Message: "the components have no Namespace, so clusterctl installs them only with --target-namespace"}.Because("Namespace"))
		}
		first := view.TargetNamespace(p.File)
		past := false
		for _, o := range p.File.Objects() {
			if past && o.Kind == "Namespace" {
				p.Report(lint.On(o, o.Get("kind"), "this is a second Namespace; the first is %s on line %d",
					first.Name, first.Doc.Pos(first.Get("kind")).Line).Because(inNamespace(o.Name)))
			}
			past = past || o == first
		}
	},
})

// inNamespace is the cause of findings about a namespace that clusterctl replaces.
func inNamespace(name string) string { return "namespace " + name }

// noNamespace reports whether a file has no Namespace. If it can be read only with
// certain values of its variables, those count; if it cannot be read at all,
// clusterctl does not get as far as to look.
func noNamespace(f *lint.File) bool {
	streams := []*yamldoc.Stream{f.Docs()}
	if f.MayHold("Namespace", "") {
		streams = view.OtherSamples(f)
	}
	read := false
	for _, s := range streams {
		if s == nil || s.Err != nil || slices.ContainsFunc(s.Docs, func(d *yamldoc.Document) bool { return d.Err != nil }) {
			continue
		}
		if slices.ContainsFunc(s.Docs, func(d *yamldoc.Document) bool { return d.Root.Get("kind").Str() == "Namespace" }) {
			return false
		}
		read = read || len(s.Docs) > 0
	}
	return read
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP002", Name: "namespace-name", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The name of the Namespace must be a DNS label",
	Source: "Kubernetes names, section RFC 1123 Label Names",
	Why:    "The API server refuses the Namespace and every object in it; clusterctl does not check the name.",
	Fix:    "Use at most 63 lower-case letters, digits and dashes.",
	Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		n := o.Get("metadata", "name")
		if o.Kind != "Namespace" || n == nil || view.Open(o, n) {
			return
		}
		if _, variable := p.File.Variable(o.Doc, n); o.Name == "" && !variable {
			return // no name at all, which is the same fault in any object
		}
		if !layouts.IsDNSLabel(o.Name) {
			p.Report(lint.On(o, n, "%q is not a DNS label", view.ScalarText(n)).Because(view.Named(o)))
		}
	}),
})

// clusterScoped reports whether objects of a kind have no namespace.
func clusterScoped(r *lint.Release, o *manifest.Object) bool {
	if layouts.ClusterScoped(o.Group, o.Kind) {
		return true
	}
	c := r.CRD(o.Group, o.Kind)
	return c != nil && c.Scope == "Cluster"
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP003", Name: "other-namespace", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "All objects of the components must be in the same namespace",
	Source: "clusterctl provider contract, section Target namespace; client/repository/components.go, fixTargetNamespace",
	Why:    "clusterctl silently moves objects from other namespaces into the target namespace. A RoleBinding for kube-system then has no effect there.",
	Fix:    "Use the namespace of the Namespace object, or remove the object and tell users to create it.",
	Yields: []string{"COMP001"}, Check: func(p *lint.Pass) {
		name, ok := view.TargetName(p.File)
		if !ok {
			return
		}
		for _, o := range p.File.Objects() {
			n := o.Get("metadata", "namespace")
			if o.Kind == "" || o.Namespace == "" || o.Namespace == name || clusterScoped(p.Release, o) || view.Open(o, n) {
				continue
			}
			p.Report(lint.On(o, n, "clusterctl moves this %s from %s to %s", o.Kind, o.Namespace, name).
				Because(inNamespace(o.Namespace)).Perhaps(view.Named(view.TargetNamespace(p.File))))
		}
	},
})

var _ = componentRules.Add(lint.Rule{
	ID: "COMP004", Name: "namespace-for-cluster-scope", Severity: lint.Info, Proof: lint.Clusterctl,
	Title:  "Cluster-wide kinds are among those that clusterctl knows",
	Source: "clusterctl internal/util/objs.go, IsResourceNamespaced",
	Why:    "Users who compare the printed manifest with the cluster see a difference: clusterctl adds a namespace to all but sixteen known kinds, and the API server drops it.",
	Fix:    "Use a namespaced kind, such as Issuer, if that is enough. Otherwise safe to ignore.",
	Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		if !layouts.ClusterScopedByClusterctl[o.Kind] && clusterScoped(p.Release, o) {
			p.Report(lint.On(o, o.Get("kind"), "clusterctl adds a namespace to this %s, which is cluster-wide", o.Kind).Perhaps("issuer " + o.Name))
		}
	}),
})

var _ = componentRules.Add(lint.Rule{
	ID: "COMP005", Name: "foreign-subject", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Bindings should only grant access to subjects in the namespace of the provider",
	Source: "clusterctl client/repository/components.go, fixTargetNamespace",
	Why:    "The binding grants access to the wrong account: clusterctl replaces the namespace of every subject by the target namespace.",
	Fix:    "Bind accounts of the provider's namespace, or let users create the binding.",
	Check: func(p *lint.Pass) {
		name, ok := view.TargetName(p.File)
		if !ok {
			return
		}
		for _, o := range p.File.Objects() {
			if !view.IsBinding(o) {
				continue
			}
			for _, s := range o.Get("subjects").List() {
				n := s.Get("namespace")
				if ns := n.Str(); ns != "" && ns != name && !view.Open(o, n) {
					p.Report(lint.On(o, n, "clusterctl replaces namespace %s of subject %s with %s", ns, s.Get("name").Str(), name).Because(inNamespace(ns)))
				}
			}
		}
	},
})

var _ = componentRules.Add(lint.Rule{
	ID: "COMP009", Name: "inject-ca-from", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  `The annotation ` + view.InjectCAFrom + ` must have the form NAMESPACE/NAME`,
	Source: "clusterctl client/repository/components.go, fixWebhookNamespaceReferences",
	Why:    "clusterctl refuses the whole file, because it cannot replace the namespace in the annotation of a webhook configuration or CRD.",
	Fix:    "Write the namespace and the name of the Certificate, separated by one slash.",
	Kinds:  view.Substituted, Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		if !view.CallsWebhooks(o) {
			return
		}
		annotations := o.Get("metadata", "annotations")
		n := annotations.Get(view.InjectCAFrom)
		if n == nil || strings.Count(n.Text(), "/") == 1 || view.Open(o, n) {
			return
		}
		if slices.ContainsFunc(view.Fields(annotations), func(f yamldoc.Field) bool { return !f.Value.Is(yamldoc.String) && !f.Value.Is(yamldoc.Null) }) {
			return // clusterctl sees no annotations at all
		}
		p.On(o, n, "%q does not have the form NAMESPACE/NAME", n.Text())
	}),
})

// textsWithNamespace are values of an object that may hold the namespace and
// that clusterctl does not touch.
func textsWithNamespace(o *manifest.Object) []*yamldoc.Node {
	var out []*yamldoc.Node
	for _, c := range view.ContainersOf(o) {
		out = append(out, c.Get("command").List()...)
		out = append(out, c.Get("args").List()...)
		out = append(out, c.All("env", "*", "value")...)
	}
	out = append(out, o.Get("metadata", "annotations", "cert-manager.io/inject-ca-from-secret"))
	switch o.Kind {
	case "APIService":
		out = append(out, o.Get("spec", "service", "namespace"), o.Get("metadata", "annotations", view.InjectCAFrom))
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		out = append(out, o.Get("webhooks").All("*", "clientConfig", "url")...)
	case crd.Kind:
		out = append(out, o.Get("spec", "conversion", "webhook", "clientConfig", "url"))
	}
	return out
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP010", Name: "fixed-namespace", Severity: lint.Info, Proof: lint.Clusterctl,
	Title:  "The namespace only occurs where clusterctl can replace it",
	Source: "clusterctl client/repository/components.go, fixTargetNamespace",
	Why:    "Users who pass --target-namespace get the old namespace here: clusterctl does not change arguments, environment variables, URLs and most annotations.",
	Fix:    "Take the namespace from the pod: fieldRef metadata.namespace in env, and $(NAME) in the arguments.",
	Check: func(p *lint.Pass) {
		name, ok := view.TargetName(p.File)
		if !ok {
			return
		}
		for _, o := range p.File.Objects() {
			for _, n := range textsWithNamespace(o) {
				if view.Mentions(n.Str(), name) {
					p.Report(lint.On(o, n, "clusterctl does not replace the namespace %s in %q", name, n.Text()).Because(p.Rule.ID + view.Named(o)))
				}
			}
		}
	},
})

var _ = componentRules.Add(lint.Rule{
	ID: "COMP011", Name: "certificate-names", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The dnsNames of a Certificate must be strings of the form SERVICE.NAMESPACE.svc",
	Source: "clusterctl client/repository/components.go, fixCertificate",
	Why:    "clusterctl refuses the whole file if dnsNames is not a list of strings. It only replaces the namespace in names of this form; with another target namespace the API server trusts no other webhook certificate.",
	Fix:    "Write SERVICE.NAMESPACE.svc, and give the Certificate its namespace.",
	Kinds:  view.Substituted, Check: view.EachObject(certificateNames),
})

func certificateNames(p *lint.Pass, o *manifest.Object) {
	if o.Kind != "Certificate" {
		return
	}
	spec := o.Get("spec")
	n := spec.Get("dnsNames")
	switch {
	case n == nil && (spec == nil || spec.Is(yamldoc.Map) || spec.Is(yamldoc.Null)):
		return
	case n == nil:
		if !view.Open(o, spec) {
			p.On(o, spec, "spec is %s, not a mapping", spec.Kind.Noun())
		}
		return
	case !n.Is(yamldoc.List):
		if !view.Open(o, n) {
			p.On(o, n, "dnsNames is %s, not a list of strings", n.Kind.Noun())
		}
		return
	}
	for _, name := range n.List() {
		if view.Open(o, name) {
			continue
		}
		if !name.Is(yamldoc.String) {
			p.On(o, name, "a name in dnsNames is %s, not a string", name.Kind.Noun())
			continue
		}
		if p.File.Kind != layouts.Components || o.Group != view.CertManagerGroup {
			continue
		}
		host, rest, _ := strings.Cut(name.Text(), ".")
		switch {
		case o.Namespace == "" && (strings.HasSuffix(rest, ".svc") || strings.Contains(rest, ".svc.")):
			p.Report(lint.On(o, name, "the Certificate has no namespace, so clusterctl keeps the one in %s", name.Text()).
				As(lint.Warning).Because("namespace of Certificate " + o.Name))
		case o.Namespace != "" && rest == o.Namespace && !view.IsFor(o, host, o.Namespace):
			p.Report(lint.On(o, name, "clusterctl does not replace the namespace in %s, because no dot follows it", name.Text()).As(lint.Warning))
		}
	}
}

// expanded reports whether Kubernetes puts the value of an environment variable
// into an argument.
func expanded(argument string) bool { return strings.Contains(argument, "$(") }

var _ = componentRules.Add(lint.Rule{
	ID: "COMP013", Name: "manager-container", Severity: lint.Error, Proof: lint.Contract,
	Title:  `The container of a controller must be named "manager", in a Deployment`,
	Source: "clusterctl provider contract, section Controllers & Watching namespace; internal/util/objs.go, IsDeploymentWithManager",
	Why:    `"clusterctl init --wait-providers" returns before the provider works, because it only waits for containers with this name.`,
	Fix:    `Run the controller in a Deployment, in a container named "manager".`,
	Yields: []string{"COMP033"},
	Scope:  lint.ScopeRelease, Check: managerContainer,
})

func managerContainer(p *lint.Pass) {
	named := func(o *manifest.Object) bool {
		return slices.ContainsFunc(view.PodOf(o).Get("containers").List(), func(c *yamldoc.Node) bool {
			return c.Get("name").Str() == view.ManagerName || view.Open(o, c.Get("name"))
		})
	}
	running := phrase.Only(p.Release.Installed().Objects, func(o *manifest.Object) bool { return view.PodOf(o) != nil })
	deployments := phrase.Only(running, func(o *manifest.Object) bool { return o.Kind == "Deployment" })
	if len(running) == 0 {
		return // COMP039
	}
	if len(deployments) == 0 {
		p.Report(lint.On(running[0], running[0].Get("kind"),
			"the controller is in a %s; want a Deployment with a container named %s", running[0].Kind, view.ManagerName).As(lint.Warning).Without("Deployment "))
		deployments = running
	}
	watches := watchers(p.Release)
	several := slices.ContainsFunc(deployments, named)
	for _, o := range deployments {
		if named(o) || several && !watches[view.ServiceAccount(view.PodOf(o)).Str()] {
			continue
		}
		n := view.PodOf(o)
		if names := n.All("containers", "*", "name"); len(names) > 0 {
			n = names[0]
		}
		f := lint.On(o, n, "no container of the %s %s is named %s", o.Kind, o.Name, view.ManagerName).Without("Deployment ")
		if len(view.PodOf(o).Get("containers").List()) == 0 && o.Get("spec", "template", "spec") != nil {
			f = f.Because(view.FieldOf(o, "spec.template.spec.containers"))
		}
		p.Report(f)
		if !several {
			return // which of them is the controller is not known
		}
	}
}

// watchers are the accounts that may watch a kind of the release, as its controllers do.
func watchers(r *lint.Release) map[string]bool {
	out := map[string]bool{}
	for _, b := range r.Installed().Objects {
		role := r.Installed().Find(view.RbacGroup, b.Get("roleRef", "kind").Str(), b.Get("roleRef", "name").Str())
		if !view.IsBinding(b) || role == nil {
			continue
		}
		own := slices.ContainsFunc(role.Get("rules").List(), func(rule *yamldoc.Node) bool {
			return view.Holds(rule, "verbs", "watch") &&
				slices.ContainsFunc(r.CRDs(), func(c *crd.CRD) bool {
					return view.Holds(rule, "apiGroups", c.Group) && view.Holds(rule, "resources", c.Plural)
				})
		})
		for _, s := range b.Get("subjects").List() {
			out[s.Get("name").Str()] = out[s.Get("name").Str()] || own && s.Get("kind").Str() == "ServiceAccount"
		}
	}
	return out
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP039", Name: "components-incomplete", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The components must hold the CRDs and the controller of the provider",
	Source: "clusterctl provider contract, sections Components YAML and Links to external objects",
	Why:    `Users cannot create clusters after "clusterctl init", because it installs this one file.`,
	Fix:    "Add what is missing, usually a resource of config/default that the build leaves out.",
	Yields: []string{"COMP033"},
	Scope:  lint.ScopeRelease, Check: incomplete,
})

// withoutKinds are the types of providers that may have no kinds of their own.
var withoutKinds = []layouts.ProviderType{layouts.RuntimeExtension, layouts.Addon}

func incomplete(p *lint.Pass) {
	i := slices.IndexFunc(p.Release.Files, func(f *lint.File) bool {
		c := p.Release.Components()
		return f.Kind == layouts.Components && (c == nil || f.Artifact == c)
	})
	if i < 0 {
		return
	}
	f := p.Release.Files[i]
	all := phrase.Only(f.Objects(), func(o *manifest.Object) bool { return o.Kind != "Namespace" })
	if slices.ContainsFunc(all, func(o *manifest.Object) bool { return o.Kind == "" || o.IsList() }) {
		return // what is in it does not count for clusterctl, which is another finding
	}
	// The server of a runtime extension may run elsewhere, where a URL leads.
	elsewhere := slices.ContainsFunc(p.Release.Installed().Kind(view.RuntimeGroup, view.ExtensionKind), func(o *manifest.Object) bool {
		return o.Get("spec", "clientConfig", "url") != nil
	})
	program := "a controller"
	if p.Release.Provider.Type == layouts.RuntimeExtension {
		program = "the extension"
	}
	if len(all) == 0 {
		if f.Healthy() {
			p.Path(f.Raw.Name, "the components have no objects but a Namespace")
		}
		return
	}
	if !elsewhere && !slices.ContainsFunc(all, runs) && !f.MayHold("containers", "") {
		f := lint.Finding{File: f.Raw.Name, Message: "the components have no Deployment with " + program}
		if i := slices.IndexFunc(all, func(o *manifest.Object) bool { return o.Is("apps", "Deployment") }); i >= 0 {
			f = lint.On(all[i], all[i].Get("spec"), "the Deployment has no containers, so the components have no Deployment with %s", program).
				Because(view.FieldOf(all[i], "spec.template.spec.containers")).Perhaps(view.Document(all[i].File, all[i].Doc), view.Misplaced(all[i], "spec"))
		}
		p.Report(f)
	}
	if len(p.Release.Installed().Kind(crd.Group, crd.Kind)) == 0 && !f.MayHold(crd.Kind, "") && !slices.Contains(withoutKinds, p.Release.Provider.Type) {
		p.Path(f.Raw.Name, "the components have no CRDs")
	}
}

// runs reports whether an object runs pods, also of kinds that only their form shows.
func runs(o *manifest.Object) bool {
	return view.PodOf(o) != nil || len(o.Get("spec", "template", "spec", "containers").List()) > 0
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP040", Name: "undefined-kind", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The components must define the kinds of the provider that its templates use",
	Source: "clusterctl provider contract, sections Components YAML and Links to external objects",
	Why:    "Users cannot create a cluster, because the API server does not know the kind.",
	Fix:    "Add the CRD to the components, or correct kind and apiVersion.",
	Kinds:  []layouts.FileKind{layouts.ClusterTemplate}, Check: undefinedKinds, // CC006 is for classes
})

// infrastructureGroup is shared by providers, like all API groups below that of Cluster API.
const infrastructureGroup = "infrastructure." + view.CoreGroup

// undefinedKinds reports objects in API groups of the provider without a definition, and
// the infrastructure of a Cluster, if the provider has no kind for that at all.
func undefinedKinds(p *lint.Pass) {
	crds, roles := p.Release.CRDs(), p.Release.Roles()
	if len(crds) == 0 {
		return // COMP039
	}
	own := p.Release.Provider.Type == layouts.Infrastructure &&
		!slices.ContainsFunc(roles, func(k *contract.Kind) bool { return k.Role == contract.InfraCluster && !k.Template })
	said := map[[2]string]bool{}
	report := func(o *manifest.Object, n *yamldoc.Node, group, kind string) {
		if id := [2]string{group, kind}; kind != "" && group != "" && !said[id] && p.Release.CRD(group, kind) == nil && !view.Open(o, n) {
			said[id] = true
			f := view.Undefined(p, lint.On(o, n, "the components have no CRD for %s in group %s", kind, group), group, kind)
			if kind == o.Kind {
				f = f.Because(view.Named(o))
			}
			// Providers share the group, and a template may use kinds of another one. Those of
			// one provider begin alike.
			alike := func(c *crd.CRD) bool { return len(kind) > 3 && strings.HasPrefix(c.Kind, kind[:3]) }
			if contract.OfClusterAPI(group) && !slices.ContainsFunc(crds, alike) {
				f = f.As(lint.Warning)
			}
			p.Report(f)
		}
	}
	elsewhere := func(o *manifest.Object) bool {
		return slices.ContainsFunc(crds, func(c *crd.CRD) bool { return c.Kind == o.Kind })
	}
	for _, o := range p.File.Objects() {
		if (o.Group == infrastructureGroup && p.Release.Provider.Type == layouts.Infrastructure || !contract.OfClusterAPI(o.Group)) &&
			slices.ContainsFunc(crds, func(c *crd.CRD) bool { return c.Group == o.Group || elsewhere(o) }) {
			report(o, o.Get("kind"), o.Group, o.Kind)
		}
		if ref := o.Get("spec", "infrastructureRef"); own && o.Kind == view.ClusterKind && ref != nil {
			report(o, ref.Get("kind"), manifest.GroupOf(ref), ref.Get("kind").Str())
		}
	}
}

var plusTag = phrase.Pattern(`:[^/@]*\+[^/@]*(@|$)`)

// imageProblem says why clusterctl refuses an image, or "".
func imageProblem(ref string) string {
	_, err := imageref.ParseCanonical(ref)
	switch {
	case err == nil:
		return ""
	case plusTag().MatchString(ref):
		return fmt.Sprintf("clusterctl refuses image %q: a tag cannot hold a + (%v)", ref, err)
	case errors.Is(err, imageref.ErrNotCanonical):
		full := ""
		if named, err := imageref.Parse(ref); err == nil {
			full = ", which stands for " + named.String()
		}
		return fmt.Sprintf("clusterctl refuses image %q%s: the registry is missing", ref, full)
	}
	return fmt.Sprintf("clusterctl refuses image %q: %v", ref, err)
}

// seesImages reports whether clusterctl looks for images in an object. The kind
// alone decides.
func seesImages(o *manifest.Object) bool { return o.Kind == "Deployment" || o.Kind == "DaemonSet" }

var _ = componentRules.Add(lint.Rule{
	ID: "COMP014", Name: "watches-one-namespace", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The controller should watch all namespaces",
	Source: "clusterctl provider contract, section Controllers & Watching namespace",
	Why:    "Clusters in other namespaces are not reconciled: clusterctl installs each provider once, for all namespaces.",
	Fix:    "Remove the flag --namespace and the variable WATCH_NAMESPACE, or leave the value empty.",
	Check:  view.EachObject(watchesOneNamespace),
})

func watchesOneNamespace(p *lint.Pass, o *manifest.Object) {
	for _, c := range view.Managers(o) {
		n, name := view.Flag(c, "namespace")
		for _, e := range c.Get("env").List() {
			value := e.Get("value")
			if e.Get("valueFrom", "fieldRef", "fieldPath").Str() == "metadata.namespace" {
				value = e.Get("name")
			}
			switch variable := e.Get("name").Str(); {
			case name == "$("+variable+")" && value.Str() != "":
				name = value.Str()
			case variable == "WATCH_NAMESPACE" && n == nil:
				n, name = value, value.Str()
			}
		}
		if _, variable := p.File.Variable(o.Doc, n); name != "" && !variable && !expanded(name) {
			p.On(o, n, "the controller watches only one namespace: %s", n.Text())
		}
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP015", Name: "canonical-image", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Images of Deployments and DaemonSets must have a registry and a path",
	Source: "clusterctl internal/util/objs.go, FixImages; distribution/reference, ParseNamed",
	Why:    "clusterctl refuses all components, because it parses every image even if no override is set.",
	Fix:    "Write registry, path and tag, for example docker.io/library/nginx:1.29.",
	Check:  view.EachObject(canonicalImage),
})

func canonicalImage(p *lint.Pass, o *manifest.Object) {
	if !seesImages(o) {
		return
	}
	for _, c := range view.ContainersOf(o) {
		n := c.Get("image")
		switch {
		case !c.Is(yamldoc.Map) && !c.Is(yamldoc.Null): // another fault
		case n == nil || n.Is(yamldoc.Null):
			p.On(o, c, "%s has no image", strings.TrimSpace("container "+c.Get("name").Str()))
		case n.Is(yamldoc.String) && !view.Open(o, n):
			if problem := imageProblem(n.Text()); problem != "" {
				f := lint.On(o, n, "%s", problem)
				if named, err := imageref.Parse(n.Text()); err == nil && p.Release.Guessed && (named.Tag == "" || imageref.Moving(named.Tag)) {
					f.Severity = lint.Warning // of a source tree: the release sets another one
					f.Message += ", unless the release sets another one"
					f.Fix = "Set the image of releases under images in clusterctl-repo.yaml, or with --image " + strings.TrimSuffix(n.Text(), ":"+named.Tag) + "=IMAGE."
				}
				p.Report(f)
			}
		}
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP016", Name: "image-version", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Images should have a fixed tag, and the controller that of the release",
	Source: "clusterctl provider contract, section Controllers & Watching namespace",
	Why:    "Users of the same release run different programs and cannot roll back, because the tag can change at any time.",
	Fix:    "Set the tag of the release at build time, for example with images in clusterctl-repo.yaml. Give other images a fixed tag or a digest.",
	Check:  view.EachObject(imageVersion),
})

func imageVersion(p *lint.Pass, o *manifest.Object) {
	manager := view.Managers(o)
	for _, c := range view.ContainersOf(o) {
		n := c.Get("image")
		if n.Str() == "" || view.Open(o, n) {
			continue
		}
		named, err := imageref.Parse(n.Text())
		if err != nil || seesImages(o) && named.String() != n.Text() {
			continue // another rule says so
		}
		if named.Digest != "" {
			continue
		}
		switch {
		case named.Tag == "":
			p.On(o, n, "image %s has neither a tag nor a digest", n.Text())
		case imageref.Moving(named.Tag):
			p.On(o, n, "image uses the moving tag %q", named.Tag)
		case slices.Contains(manager, c) && otherVersion(p.Release, named.Tag):
			p.On(o, n, "the controller image has tag %s, but the release is %s", named.Tag, p.Release.Version)
		}
	}
}

// otherVersion reports whether a tag is a version, and not that of the release.
func otherVersion(r *lint.Release, tag string) bool {
	release, err := layouts.ParseVersion(r.Version)
	if err != nil || r.Guessed || release.Tags(tag) {
		return false
	}
	v, err := layouts.ParseVersion(tag)
	return err == nil && v.Compare(release) != 0
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP017", Name: "unseen-image", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Only Deployments and DaemonSets should run images",
	Source: "clusterctl internal/util/objs.go, FixImages and InspectImages",
	Why:    `Installations without Internet access fail: clusterctl neither lists the image in "clusterctl init list-images" nor applies image overrides to it.`,
	Fix:    "Use a Deployment, or document the image for users.",
	Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		if seesImages(o) {
			return
		}
		for _, c := range view.ContainersOf(o) {
			if n := c.Get("image"); n.Is(yamldoc.String) {
				p.On(o, n, "clusterctl does not see images in a %s", o.Kind)
				break
			}
		}
	}),
})

var _ = componentRules.Add(lint.Rule{
	ID: "COMP020", Name: "provider-label", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "All objects should have the provider label",
	Source: "clusterctl provider contract, section Labels",
	Why:    "Users who install with kubectl get objects without the label that clusterctl sets, and cannot switch to clusterctl later.",
	Fix:    "Set the label with labels in the kustomization of config/default.",
	Check:  providerLabel,
})

func providerLabel(p *lint.Pass) {
	want := p.Release.Provider.Label()
	all := p.File.Objects()
	type group struct {
		first *manifest.Object
		count int
	}
	var missing group
	var wrong []string // in the order of the file
	byValue := map[string]*group{}
	for _, o := range all {
		n := o.Get("metadata", "labels", layouts.ProviderLabel)
		switch value := n.Str(); {
		case !manifest.Identified(o.Doc) || value == want || view.Open(o, n):
		case n == nil:
			missing.first = cmp.Or(missing.first, o)
			missing.count++
		case byValue[value] != nil:
			byValue[value].count++
		default:
			byValue[value] = &group{o, 1}
			wrong = append(wrong, value)
		}
	}
	if missing.count > 0 {
		metadata := missing.first.Get("metadata")
		f := lint.On(missing.first, cmp.Or(metadata.Get("labels"), metadata),
			"the label %s: %s is missing on %d of %s", layouts.ProviderLabel, want, missing.count, phrase.Count(len(all), "object"))
		if missing.count == 1 {
			f = f.Perhaps(view.FieldOf(missing.first, "metadata.labels"))
		}
		p.Report(f)
	}
	for _, value := range wrong {
		g := byValue[value]
		p.On(g.first, g.first.Get("metadata", "labels", layouts.ProviderLabel), "the label %s is %s on %d of %s, but the provider is %s", layouts.ProviderLabel, value, g.count, phrase.Count(len(all), "object"), want)
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP026", Name: "dropped-storage-version", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A release must keep the storage versions of all releases before it",
	Source: "Kubernetes, Versions in CustomResourceDefinitions, upgrade existing objects; k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation, ValidateCustomResourceDefinitionStoredVersions",
	Why:    `"clusterctl upgrade" stops halfway: the API server refuses the new CRD while status.storedVersions lists a version that it lacks.`,
	Fix:    "Keep the version with served: false. Remove it only after a release whose controller migrates the stored objects and removes the version from status.storedVersions; then suppress this rule.",
	Scope:  lint.ScopeRelease, Check: droppedStorageVersion,
})

// migratesStorage reports whether the controller may remove versions from
// status.storedVersions, as the CRD migrator of Cluster API does.
func migratesStorage(r *lint.Release) bool {
	has := func(list *yamldoc.Node, names ...string) bool {
		return slices.ContainsFunc(list.List(), func(n *yamldoc.Node) bool { return slices.Contains(names, n.Str()) })
	}
	for _, role := range r.Installed().Kind("rbac.authorization.k8s.io", "ClusterRole") {
		for _, rule := range role.Get("rules").List() {
			if has(rule.Get("resources"), "customresourcedefinitions/status", "*", "*/*", "*/status") &&
				has(rule.Get("apiGroups"), crd.Group, "*") && has(rule.Get("verbs"), "update", "patch", "*") {
				return true
			}
		}
	}
	return false
}

func droppedStorageVersion(p *lint.Pass) {
	before := p.Provider.Releases
	if n := len(before); n > 1 && migratesStorage(p.Release) {
		before = before[n-1:] // what was stored earlier has been migrated
	}
	for _, c := range p.Release.CRDs() {
		said := map[string]bool{}
		for _, r := range slices.Backward(before) {
			stored := r.Stored[c.Object.Name]
			if stored == "" || c.Version(stored) != nil || said[stored] {
				continue
			}
			said[stored] = true
			n := view.Nearest(c.Object, "spec", "versions")
			f := lint.On(c.Object, n, "%s stored %s in version %s, which this CRD lacks", r.Version, c.Kind, stored)
			view.Settle(p, c.Object, f, c.Object.Get("spec", "versions").All("*", "name")...)
		}
	}
}
