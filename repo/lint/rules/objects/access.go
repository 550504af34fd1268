package objects

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var accessRules = &lint.Family{Prefix: "RBAC", Title: "Roles and bindings", Kinds: view.Installed}

const (
	aggregate        = "cluster.x-k8s.io/aggregate-to-manager"
	kubeadmAggregate = "kubeadm.controlplane.cluster.x-k8s.io/aggregate-to-manager"
)

// coreGroups are the API groups of providers for which Cluster API has rights
// anyway (core/config/rbac/role.yaml).
var coreGroups = []string{
	"addons.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io",
}

// isRole reports whether an object holds rules of rights.
func isRole(o *manifest.Object) bool {
	return o.Is(view.RbacGroup, "ClusterRole") || o.Is(view.RbacGroup, "Role")
}

// labelled returns the ClusterRoles that a label makes part of another one.
func labelled(r *lint.Release, label string) []*manifest.Object {
	return phrase.Only(r.Installed().Kind(view.RbacGroup, "ClusterRole"), func(o *manifest.Object) bool {
		v, _ := o.Label(label)
		return v == "true"
	})
}

// foreignKinds are the kinds that objects of Cluster API refer to, in groups for
// which it has no rights of its own.
func foreignKinds(p *lint.Pass) []*contract.Kind {
	foreign := func(c *crd.CRD) bool { return !slices.Contains(coreGroups, c.Group) && c.Plural != "" }
	if p.Release.Provider.Type == layouts.Core || !slices.ContainsFunc(p.Release.CRDs(), foreign) {
		return nil
	}
	return phrase.Only(p.Release.Roles(), func(k *contract.Kind) bool { return k.Role.Referenced() && foreign(k.CRD) })
}

// isCluster reports whether there is one object of a kind for each cluster, which
// Cluster API creates only for a ClusterClass.
func isCluster(k *contract.Kind) bool {
	return k.Role == contract.InfraCluster || k.Role == contract.ControlPlane
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC001", Name: "aggregation-role", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Cluster API must have access to contract kinds in other API groups",
	Source: "InfraCluster, InfraMachine, InfraMachinePool, BootstrapConfig and ControlPlane contracts, section All resources: API group",
	Why:    "No cluster comes up: Cluster API only has access to groups of cluster.x-k8s.io and can neither read nor own these objects.",
	Fix:    "Add a ClusterRole with the label " + aggregate + `: "true" that allows the resources.`,
	Scope:  lint.ScopeRelease, Check: func(p *lint.Pass) {
		aggregated := labelled(p.Release, aggregate)
		for _, k := range foreignKinds(p) {
			if verbs, _, _ := view.Allowed(aggregated, k.Group, k.Plural); len(verbs) == 0 {
				f := lint.On(k.Object, k.Object.Get("spec", "group"), "no role labelled %s gives Cluster API access to %s", aggregate, k.Plural)
				p.Report(view.InGroup(f, k.CRD).Because("access of Cluster API to group " + k.Group).Without(view.RbacGroup + " "))
			}
		}
	},
})

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC002", Name: "aggregation-label", Severity: lint.Error, Proof: lint.Contract,
	Title:  `The aggregation label must have the value "true"`,
	Source: "InfraCluster contract, section All resources: API group; Kubernetes documentation, Aggregated ClusterRoles",
	Why:    "The role is ignored, because Cluster API only aggregates roles with exactly this value.",
	Fix:    `Write "true", in quotes.`,
	Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		if !o.Is(view.RbacGroup, "ClusterRole") {
			return
		}
		labels := []string{aggregate}
		for _, row := range aggregates {
			labels = append(labels, row.label)
		}
		for _, label := range labels {
			if n := o.Get("metadata", "labels", label); n.Is(yamldoc.String) && n.Text() != "true" && !view.Open(o, n) {
				p.On(o, n, `the aggregation label is %q, not "true"`, n.Text())
			}
		}
	}),
})

var (
	readAndChange   = []string{"get", "list", "patch", "update", "watch"}
	createAndDelete = []string{"create", "delete"}
)

// lacking returns the verbs that are not allowed.
func lacking(verbs map[string]bool, want []string) []string {
	return phrase.Only(want, func(v string) bool { return !verbs[v] && !verbs["*"] })
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC003", Name: "machine-verbs", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Cluster API must have full access to machines, pools, bootstrap configs and their templates",
	Source: "InfraMachine, InfraMachinePool and BootstrapConfig contracts, section All resources: API group",
	Why:    "Machines hang: Cluster API creates these objects from templates, sets their owners and deletes them.",
	Fix:    "Allow create, delete, get, list, patch, update and watch.",
	Scope:  lint.ScopeRelease, Check: aggregatedVerbs,
})

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC004", Name: "cluster-verbs", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Cluster API must be able to read, change and create clusters and control planes",
	Source: "InfraCluster and ControlPlane contracts, section All resources: API group",
	Why:    "Clusters are not reconciled: Cluster API watches these objects and sets their owners, and with a ClusterClass it also creates and deletes them.",
	Fix:    "Allow get, list, patch, update and watch, and also create and delete if a ClusterClass can use the kind.",
	Scope:  lint.ScopeRelease, Check: aggregatedVerbs,
})

// aggregatedVerbs is the check of both rules about verbs: the one about clusters
// and control planes, and the one about all others.
func aggregatedVerbs(p *lint.Pass) {
	aggregated := labelled(p.Release, aggregate)
	for _, k := range foreignKinds(p) {
		verbs, role, rule := view.Allowed(aggregated, k.Group, k.Plural)
		if len(verbs) == 0 || isCluster(k) != (p.Rule.ID == "RBAC004") {
			continue
		}
		missing := lacking(verbs, readAndChange)
		var more []string
		if !isCluster(k) || k.Template || p.Release.CRD(k.Group, k.Kind+contract.Suffix) != nil {
			more = lacking(verbs, createAndDelete)
		}
		switch {
		case len(missing) > 0, !isCluster(k) && len(more) > 0:
			f := lint.On(role, rule.Get("verbs"), "Cluster API may not %s %s", phrase.And(append(missing, more...)), k.Plural)
			view.Settle(p, role, f, view.Within(rule)...)
		case len(more) > 0:
			p.Report(lint.On(role, rule.Get("verbs"), "Cluster API may not %s %s, which it does for a ClusterClass",
				phrase.And(more), k.Plural).As(lint.Warning))
		}
	}
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC005", Name: "resource-names", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Rules should name resources, groups and verbs that exist",
	Source: "Kubernetes documentation, Using RBAC Authorization, section Referring to resources",
	Why:    "The rule grants nothing. The API server accepts any word, but only matches the plural, lower-case names of resources, the names of groups without versions, and the verbs of requests.",
	Fix:    "Write the plural name of the resource in lower case, and an empty string for the core group. Grant create without resourceNames, because a request to create an object does not tell its name.",
	Scope:  lint.ScopeRelease, Check: resourceNames,
})

// isSubresource reports whether a resource is one such as pods/exec, whose requests name the
// object even to create it.
func isSubresource(n *yamldoc.Node) bool { return strings.Contains(n.Str(), "/") }

func resourceNames(p *lint.Pass) {
	type name struct{ group, name string }
	plural := map[name]string{}
	for _, c := range p.Release.CRDs() {
		plural[name{c.Group, strings.ToLower(c.Kind)}] = c.Plural
	}
	for _, o := range view.Roles(p.Release) {
		for _, r := range o.Get("rules").List() {
			for _, n := range r.Get("resources").List() {
				word, _, _ := strings.Cut(n.Str(), "/")
				lower := strings.ToLower(word)
				right := ""
				for _, g := range r.Get("apiGroups").List() {
					if p := plural[name{g.Str(), lower}]; p != "" {
						right = p
					}
				}
				switch {
				case right != "" && right != word:
					p.On(o, n, "%s is a kind; its resource is %s", word, right)
				case word != lower:
					p.On(o, n, "%s is not a resource; names of resources are lower case", word)
				}
			}
			for _, n := range r.Get("apiGroups").List() {
				if n.Str() == "core" || n.Str() == "v1" {
					p.On(o, n, `%s is not a group; the core group is ""`, n.Str())
				}
			}
			allowed := r.Get("verbs").List()
			for _, n := range allowed { // controllers may ask about verbs of their own
				if right := phrase.Nearest(n.Str(), verbs); right != "" && !slices.Contains(verbs, n.Str()) {
					p.On(o, n, "%s is not a verb of Kubernetes; did you mean %s?", n.Str(), right)
				}
			}
			if names := r.Get("resourceNames"); !unset(names) && len(allowed) == 1 && allowed[0].Str() == "create" &&
				!view.Open(o, names) && !slices.ContainsFunc(r.Get("resources").List(), isSubresource) {
				p.On(o, names, "resourceNames has no effect on create, because the request does not name the object")
			}
			for _, n := range r.Get("nonResourceURLs").List() {
				if text := n.Str(); text != "*" && !strings.HasPrefix(text, "/") ||
					strings.Contains(strings.TrimSuffix(text, "*"), "*") {
					p.On(o, n, "%q matches no request path; begin it with / and put * only at the end", text)
				}
			}
		}
	}
}

// verbs are those of requests, and those that the API server asks about by itself.
var verbs = strings.Fields("get list watch create update patch delete deletecollection proxy use bind escalate impersonate approve sign attest")

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC006", Name: "needless-aggregation", Severity: lint.Info, Proof: lint.Contract,
	Title:  "Aggregated roles only name groups that Cluster API has no access to",
	Source: "InfraCluster contract, section All resources: API group",
	Why:    "The rule is redundant: Cluster API has access to its own groups anyway.",
	Fix:    "Remove the rule, or the role.",
	Check:  needlessAggregation,
})

func needlessAggregation(p *lint.Pass) {
	if p.Release.Provider.Type == layouts.Core {
		return
	}
	for _, o := range p.File.Objects() {
		if v, _ := o.Label(aggregate); !o.Is(view.RbacGroup, "ClusterRole") || v != "true" {
			continue
		}
		for _, r := range o.Get("rules").List() {
			groups := r.Get("apiGroups").List()
			needed := slices.ContainsFunc(groups, func(n *yamldoc.Node) bool { return !slices.Contains(coreGroups, n.Str()) })
			if len(groups) > 0 && !needed {
				p.On(o, r.Get("apiGroups"), "Cluster API already has access to %s", groups[0].Str())
				break
			}
		}
	}
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC007", Name: "control-plane-aggregation", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Control plane providers must have access to the machines of the templates that use them",
	Source: "contract pages, All resources: API group; KubeadmControlPlane provider, config/rbac/aggregated_role.yaml; cluster-api-provider-vsphere issue 1345",
	Why:    "The control plane never gets a machine: its provider creates machines from machine templates itself, and has no access to other API groups unless a role has its own label.",
	Fix:    "Add the label of the provider to the role as well, such as " + kubeadmAggregate + `: "true".`,
	Scope:  lint.ScopeRelease, Check: controlPlaneAggregation,
})

// aggregates are the labels by which control plane providers get the rights of roles.
var aggregates = [...]struct{ kind, label, name string }{
	{"KubeadmControlPlane", kubeadmAggregate, "kubeadm"},
	{"RKE2ControlPlane", "rke2.controlplane.cluster.x-k8s.io/aggregate-to-manager", "RKE2"},
	{"OCNEControlPlane", "ocne.controlplane.cluster.x-k8s.io/aggregate-to-manager", "OCNE"},
}

// controlPlaneAggregation asks for what the templates and classes of the release need. What
// users may write themselves is an info, for the provider that most of them use.
func controlPlaneAggregation(p *lint.Pass) {
	for _, k := range foreignKinds(p) {
		if k.Role != contract.InfraMachine || !k.Template {
			continue
		}
		for i, row := range aggregates {
			aggregated := labelled(p.Release, row.label)
			var missing []string
			if verbs, _, _ := view.Allowed(aggregated, k.Group, k.Plural); len(lacking(verbs, []string{"get"})) > 0 {
				missing = append(missing, k.Plural)
			}
			if machine := p.Release.CRD(k.Group, k.Base()); machine != nil {
				if verbs, _, _ := view.Allowed(aggregated, k.Group, machine.Plural); len(lacking(verbs, []string{"create", "get", "patch"})) > 0 {
					missing = append(missing, machine.Plural)
				}
			}
			user := controlPlaneWith(p.Release, row.kind, k)
			if len(missing) == 0 || user == nil && (i > 0 || missing[0] != k.Plural) {
				continue
			}
			f := lint.On(k.Object, k.Object.Get("spec", "group"), "the %s control plane provider has no access to %s", row.name, phrase.And(missing))
			if user == nil {
				f.Severity = lint.Info
			} else {
				f.Message += ", which a " + user.Kind + " in " + user.File.Artifact.Name + " uses"
			}
			p.Report(view.InGroup(f, k.CRD).Without(view.RbacGroup + " "))
		}
	}
}

// controlPlaneWith returns a control plane of a kind, or a ClusterClass with one, that gets
// its machines from a template.
func controlPlaneWith(r *lint.Release, kind string, machines *contract.Kind) *manifest.Object {
	for _, f := range r.Files {
		if f.Kind == layouts.Components {
			continue
		}
		for _, o := range f.Objects() {
			spec := o.Get("spec")
			refs := []*yamldoc.Node{spec.Get("machineTemplate", "infrastructureRef"), spec.Get("machineTemplate", "spec", "infrastructureRef")}
			uses := o.Kind == kind
			if plane := spec.Get("controlPlane"); o.Is(view.CoreGroup, view.ClassKind) {
				refs = []*yamldoc.Node{plane.Get("machineInfrastructure", "ref"), plane.Get("machineInfrastructure", "templateRef")}
				uses = cmp.Or(plane.Get("ref"), plane.Get("templateRef")).Get("kind").Str() == kind+contract.Suffix
			}
			if uses && slices.ContainsFunc(refs, func(n *yamldoc.Node) bool { return n.Get("kind").Str() == machines.Kind }) {
				return o
			}
		}
	}
	return nil
}

// subject is a ServiceAccount in a binding.
type subject struct {
	binding *manifest.Object
	node    *yamldoc.Node
}

// subjects returns the accounts in bindings by name. Namespaces do not count, as
// clusterctl makes them all the same.
func subjects(r *lint.Release) map[string]subject {
	out := map[string]subject{}
	for _, kind := range []string{"ClusterRoleBinding", "RoleBinding"} {
		for _, b := range r.Installed().Kind(view.RbacGroup, kind) {
			for _, s := range b.Get("subjects").List() {
				if s.Get("kind").Str() == "ServiceAccount" {
					out[s.Get("name").Str()] = subject{b, s}
				}
			}
		}
	}
	return out
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC008", Name: "service-account", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The ServiceAccount of pods must be in the components",
	Source: "clusterctl provider contract, section Links to external objects; Kubernetes documentation, Configure Service Accounts for Pods",
	Why:    `Kubernetes does not create a pod whose ServiceAccount is missing. Without a binding the controller can do nothing, and permissions of "default" apply to every pod in the namespace.`,
	Fix:    "Add a ServiceAccount and a binding for it.",
	Scope:  lint.ScopeRelease, Check: accounts,
})

func accounts(p *lint.Pass) {
	all := p.Release.Installed()
	bound := subjects(p.Release)
	for _, o := range all.Objects {
		pod := view.PodOf(o)
		if pod == nil {
			continue
		}
		n := view.ServiceAccount(pod)
		name := cmp.Or(n.Str(), view.DefaultAccount)
		s, isBound := bound[name]
		switch {
		case n != nil && view.Open(o, n):
		case name != view.DefaultAccount && all.Find("", "ServiceAccount", name) == nil:
			p.Report(lint.On(o, n, "the ServiceAccount %s is not in the components", name).Lacks("ServiceAccount " + name))
		case view.ServesHooks(p.Release): // another rule wants an account of its own, whose rights may be none
		case name == view.DefaultAccount:
			if isBound {
				p.Report(lint.On(s.binding, s.node, "the binding grants permissions to every pod that runs as the ServiceAccount default").As(lint.Warning))
			}
		case !isBound && !isFalse(pod.Get("automountServiceAccountToken")):
			p.Report(lint.On(o, n, "no binding grants permissions to the ServiceAccount %s", name).As(lint.Warning).Without(view.RbacGroup + " "))
		}
	}
}

// builtInRole reports whether Kubernetes has a role itself.
func builtInRole(role string) bool {
	switch role {
	case "cluster-admin", "admin", "edit", "view":
		return true
	}
	return strings.HasPrefix(role, "system:")
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC009", Name: "missing-role", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Bindings and aggregated roles must find their roles and accounts in the components or in Kubernetes",
	Source: "clusterctl provider contract, section Links to external objects",
	Why:    "The account gets no permissions, although the API server accepts the binding.",
	Fix:    "Correct roleRef or the subject, or add the role or the ServiceAccount.",
	Scope:  lint.ScopeRelease, Check: missingRole,
})

func missingRole(p *lint.Pass) {
	all := p.Release.Installed()
	for _, o := range all.Objects {
		if o.Is(view.RbacGroup, "ClusterRole") && aggregatesNothing(all, o) {
			f := lint.On(o, view.Nearest(o, "aggregationRule"), "no ClusterRole of the components has the labels that %s aggregates", o.Name)
			p.Report(f.As(lint.Warning).Without("ClusterRole ")) // other providers may bring one
		}
		if o.Group != view.RbacGroup || !view.IsBinding(o) {
			continue
		}
		for _, s := range o.Get("subjects").List() {
			name, space := s.Get("name"), s.Get("namespace").Str()
			if s.Get("kind").Str() == "ServiceAccount" && name.Str() != "" && name.Str() != view.DefaultAccount && all.Find("", "ServiceAccount", name.Str()) == nil && all.Find("", "Namespace", space) != nil && len(all.Kind("", "ServiceAccount")) > 0 && !view.Open(o, name) {
				f := lint.On(o, name, "the ServiceAccount %s is not in the components", name.Str()).Lacks("ServiceAccount " + name.Str())
				p.Report(f.As(lint.Warning)) // a controller may create it
			}
		}
		n := o.Get("roleRef", "name")
		kind, name := o.Get("roleRef", "kind").Str(), n.Str()
		if name == "" || kind == "ClusterRole" && builtInRole(name) ||
			all.Find(view.RbacGroup, kind, name) != nil || view.Open(o, n) {
			continue
		}
		f := lint.On(o, n, "the %s %s is not in the components", kind, name).Lacks(kind + " " + name)
		own := slices.ContainsFunc(o.Get("subjects").List(), func(s *yamldoc.Node) bool {
			return s.Get("kind").Str() == "ServiceAccount" && all.Find("", "ServiceAccount", s.Get("name").Str()) != nil
		})
		if !own {
			f.Severity = lint.Warning // the role may be the user's as well
		}
		p.Report(f)
	}
}

// aggregatesNothing reports whether a ClusterRole gets its rules from others, and none of the
// components is one of them.
func aggregatesNothing(all *lint.Index, role *manifest.Object) bool {
	selectors := role.Get("aggregationRule", "clusterRoleSelectors").List()
	for _, s := range selectors {
		protocol := slices.ContainsFunc(view.Fields(s.Get("matchLabels")), func(f yamldoc.Field) bool {
			return strings.HasSuffix(f.Name, "cluster.x-k8s.io/aggregate-to-manager") // which other providers have by contract
		})
		if protocol || len(s.Get("matchExpressions").List()) > 0 || slices.ContainsFunc(all.Kind(view.RbacGroup, "ClusterRole"), func(o *manifest.Object) bool {
			return view.Selects(s.Get("matchLabels"), o.Get("metadata", "labels"))
		}) {
			return false
		}
	}
	return len(selectors) > 0
}

// unlimited reports whether a binding grants everything.
func unlimited(r *lint.Release) bool {
	return slices.ContainsFunc(r.Installed().Kind(view.RbacGroup, "ClusterRoleBinding"), func(o *manifest.Object) bool {
		return o.Get("roleRef", "name").Str() == "cluster-admin"
	})
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC011", Name: "own-kinds", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "The controller should have access to the kinds that it defines",
	Source: "Kubernetes documentation, Using RBAC Authorization, section Referring to resources",
	Why:    "The controller fails with a permission error as soon as the first object of the kind exists.",
	Fix:    "Add the resource, and its status, to the role of the controller.",
	Yields: []string{"RBAC013", "RBAC016"},
	Scope:  lint.ScopeRelease, Check: ownKinds,
})

func ownKinds(p *lint.Pass) {
	all := rolesInUse(p.Release)
	if len(all) == 0 || unlimited(p.Release) || bindsMissing(p.Release) {
		return // there is nothing to compare with
	}
	report := func(c *crd.CRD, severity lint.Severity, suffix string) {
		f := lint.On(c.Object, c.Object.Get("spec", "names", "plural"), "no role of an account in the components covers %s", c.Plural+suffix)
		f = view.InGroup(f.As(severity), c).Because(p.Rule.ID + suffix).Perhaps(c.Object.Name)
		p.Report(unbound(p.Release, f, c.Group, c.Plural+suffix))
	}
	for _, c := range p.Release.CRDs() {
		if c.Plural == "" || strings.HasSuffix(c.Kind, contract.Suffix) {
			continue // only Cluster API reads templates
		}
		if verbs, _, _ := view.Allowed(all, c.Group, c.Plural); len(verbs) == 0 {
			report(c, lint.Warning, "")
		} else if verbs, _, _ := view.Allowed(all, c.Group, c.Plural+"/status"); len(verbs) == 0 && hasStatus(c) {
			report(c, lint.Info, "/status") // not all have something to say
		}
	}
	poolMachineRights(p, all)
}

// rolesInUse are the roles that bindings give to accounts: roles for people, which
// scaffolds add, give nothing to the controller. They are all roles if it is not
// known which ones accounts have.
func rolesInUse(r *lint.Release) []*manifest.Object {
	if list, complete := granted(r); complete && len(list) > 0 {
		return list
	}
	return view.Roles(r)
}

// machinesOf returns the kinds that may stand for the replicas of a pool: the one
// that is named after it, or all machines of its group if none is.
func machinesOf(pool *contract.Kind, kinds []*contract.Kind) []*contract.Kind {
	for _, name := range []string{pool.Kind + "Machine", strings.TrimSuffix(pool.Kind, "Pool")} {
		for _, k := range kinds {
			if k.Group == pool.Group && k.Kind == name {
				return []*contract.Kind{k}
			}
		}
	}
	return phrase.Only(kinds, func(k *contract.Kind) bool {
		return k.Group == pool.Group && strings.HasSuffix(k.Kind, "Machine")
	})
}

// poolMachineRights reports pools that say which kind stands for their replicas, if
// no role allows to make such objects and to remove them.
func poolMachineRights(p *lint.Pass, all []*manifest.Object) {
	kinds := p.Release.Roles()
	for _, pool := range kinds {
		if pool.Role != contract.InfraMachinePool || pool.Template || pool.Judged == nil {
			continue
		}
		if _, presence := pool.Judged.Schema.At("status", "infrastructureMachineKind"); presence != crd.Present {
			continue
		}
		var machines []*contract.Kind
		managed := false
		for _, k := range machinesOf(pool, kinds) {
			if verbs, _, _ := view.Allowed(all, k.Group, k.Plural); len(verbs) > 0 {
				machines = append(machines, k)
				managed = managed || len(lacking(verbs, createAndDelete)) == 0
			}
		}
		if len(machines) > 0 && !managed {
			o := pool.Object
			p.Report(lint.On(o, o.Get("spec", "names", "plural"), "no role allows %s on %s, which hold the replicas of a %s", phrase.And(createAndDelete), machines[0].Plural, pool.Kind).As(lint.Info)) // another controller may do so
		}
	}
}

// hasStatus reports whether a version of a kind has the subresource status.
func hasStatus(c *crd.CRD) bool {
	return slices.ContainsFunc(c.Versions, func(v crd.Version) bool { return v.Subresources.Get("status") != nil })
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC014", Name: "owner-finalizers", Severity: lint.Info, Proof: lint.Contract,
	Title:  "A controller that owns Machines can update the finalizers of their owner",
	Source: "contract pages, All resources: API group, since Cluster API v1.14; Kubernetes documentation, OwnerReferencesPermissionEnforcement",
	Why:    "On clusters with the admission plugin OwnerReferencesPermissionEnforcement, such as OpenShift, the API server refuses the Machines that the controller creates: an owner reference with blockOwnerDeletion needs the right to update the finalizers of the owner.",
	Fix:    "Add the marker +kubebuilder:rbac for RESOURCE/finalizers with the verb update.",
	Scope:  lint.ScopeRelease, Check: ownerFinalizers,
})

// ownerFinalizers looks at control planes and pools: their controllers create
// Machines, or machines of the provider, that they own.
func ownerFinalizers(p *lint.Pass) {
	all := rolesInUse(p.Release)
	if p.Profile.Core < 14 || len(all) == 0 || unlimited(p.Release) {
		return
	}
	creates := func(group, resource string) bool {
		verbs, _, _ := view.Allowed(all, group, resource)
		return verbs["create"] || verbs["*"]
	}
	kinds := p.Release.Roles()
	for _, k := range kinds {
		owns := false
		switch {
		case k.Template || k.Plural == "" || k.Judged == nil:
		case k.Role == contract.ControlPlane && view.MayHave(k, "spec", "machineTemplate"):
			owns = creates(view.CoreGroup, "machines")
		case k.Role == contract.InfraMachinePool && view.MayHave(k, "status", "infrastructureMachineKind"):
			owns = slices.ContainsFunc(machinesOf(k, kinds), func(m *contract.Kind) bool { return creates(m.Group, m.Plural) })
		}
		if !owns {
			continue
		}
		if verbs, _, _ := view.Allowed(all, k.Group, k.Plural+"/finalizers"); !verbs["update"] && !verbs["*"] {
			p.On(k.Object, k.Object.Get("spec", "names", "plural"),
				"no role of an account allows update on %s/finalizers, which the owner of Machines needs", k.Plural)
		}
	}
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC012", Name: "unlimited-role", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "No account should have all permissions, and no runtime extension may have unlimited ones",
	Source: "Kubernetes documentation, Role Based Access Control Good Practices, section Least privilege; Cluster API proposal 20220221-runtime-SDK, section Identity and access management",
	Why:    "Attackers who take over the controller own the management cluster and all workload clusters. For a runtime extension any wildcard is an error.",
	Fix:    "List the groups, resources and verbs that the controller needs.",
	Check:  view.EachObject(unlimitedRole),
})

func unlimitedRole(p *lint.Pass, o *manifest.Object) {
	report := func(n *yamldoc.Node, format string, args ...any) {
		f := lint.On(o, n, format, args...)
		if view.ServesHooks(p.Release) {
			f.Severity = lint.Error
		}
		p.Report(f)
	}
	if n := o.Get("roleRef", "name"); view.IsBinding(o) && n.Str() == "cluster-admin" {
		report(n, "the binding grants all permissions")
	}
	if !isRole(o) {
		return
	}
	for _, r := range o.Get("rules").List() {
		if view.Holds(r, "apiGroups", "*") && view.Holds(r, "resources", "*") && view.Holds(r, "verbs", "*") {
			report(r, "the rule grants all permissions")
			break
		} else if fields := view.Wildcards(p.Release, o, r); fields != "" {
			report(r, "the rule has wildcards in %s", fields)
		}
	}
}

// granted returns the roles of the components that a binding gives to an account.
// It is not complete if a binding names a role that is not in the components, or
// one that collects others.
func granted(r *lint.Release) (list []*manifest.Object, complete bool) {
	all := r.Installed()
	complete = true
	for _, b := range all.Objects {
		if b.Group != view.RbacGroup || !view.IsBinding(b) ||
			!yamldoc.Has(b.Get("subjects").All("*", "kind"), "ServiceAccount") {
			continue
		}
		role := all.Find(view.RbacGroup, b.Get("roleRef", "kind").Str(), b.Get("roleRef", "name").Str())
		if role == nil || role.Get("aggregationRule") != nil {
			complete = false
			continue
		}
		list = append(list, role)
	}
	return list, complete
}

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC013", Name: "reads-clusters", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The controller should be able to read Clusters, Machines and their bootstrap data",
	Source: "InfraCluster, InfraMachine, InfraMachinePool, BootstrapConfig and ControlPlane contracts, section on pausing; InfraMachine contract, section on the bootstrap data secret",
	Why:    `The controller fails, or continues to work on paused objects during "clusterctl move", because spec.paused is in the Cluster. A machine never starts without its Machine and the Secret with its bootstrap data.`,
	Fix:    "Allow get, list and watch for clusters, machines and machinepools of cluster.x-k8s.io, and get for secrets.",
	Scope:  lint.ScopeRelease, Check: func(p *lint.Pass) {
		lacksRight(p, func(k *contract.Kind) bool { return k.Role.Referenced() }, view.CoreGroup, "clusters", "get",
			"no account of the components can get clusters of "+view.CoreGroup+", so controllers cannot see that one is paused")
		for _, needs := range [...]struct {
			role                  contract.Role
			group, resource, what string
		}{
			{contract.InfraMachine, view.CoreGroup, "machines", "machines of " + view.CoreGroup + ", which own the objects of the provider"},
			{contract.InfraMachinePool, view.CoreGroup, "machinepools", "machinepools of " + view.CoreGroup + ", which own the objects of the provider"},
			{contract.InfraMachine, "", "secrets", "secrets, which hold the bootstrap data of Machines"},
		} {
			lacksRight(p, func(k *contract.Kind) bool { return !k.Template && k.Role == needs.role }, needs.group, needs.resource, "get",
				"no account of the components can get "+needs.what)
		}
	},
})

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC016", Name: "writes-secrets", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Bootstrap and control plane providers should be able to create Secrets",
	Source: "BootstrapConfig contract, bootstrap data secret; ControlPlane contract, Cluster kubeconfig management",
	Why:    "Machines never start, because no controller may write their bootstrap data, or Cluster API cannot reach the new cluster, because its kubeconfig is missing.",
	Fix:    "Allow create, get, list, patch, update and watch for secrets.",
	Scope:  lint.ScopeRelease, Check: func(p *lint.Pass) {
		lacksRight(p, func(k *contract.Kind) bool {
			return !k.Template && (k.Role == contract.BootstrapConfig || k.Role == contract.ControlPlane)
		},
			"", "secrets", "create", "no account of the components can create secrets, which hold bootstrap data and kubeconfigs")
	},
})

// lacksRight reports that the components, if they define some kind, let none of their
// accounts do something with a resource.
func lacksRight(p *lint.Pass, needed func(*contract.Kind) bool, group, resource, verb, message string) {
	if t := p.Release.Provider.Type; t == layouts.Core || t == layouts.RuntimeExtension {
		return
	}
	if !slices.ContainsFunc(p.Release.Roles(), needed) {
		return
	}
	list, complete := granted(p.Release)
	if verbs, _, _ := view.Allowed(list, group, resource); !complete || len(list) == 0 ||
		len(lacking(verbs, []string{verb})) == 0 {
		return
	}
	// The role with the most rules is that of the controller, not that of leader
	// election or of metrics.
	role := slices.MaxFunc(list, func(a, b *manifest.Object) int {
		return cmp.Compare(len(a.Get("rules").List()), len(b.Get("rules").List()))
	})
	role = cmp.Or(ruleless(list), role)
	p.Report(unbound(p.Release, lint.On(role, cmp.Or(role.Get("rules"), role.Get("metadata", "name")), "%s", message), group, resource))
}

// bindsMissing reports whether an account has a role that is not in the components, which
// RBAC009 reports.
func bindsMissing(r *lint.Release) bool {
	return slices.ContainsFunc(r.Installed().Objects, func(b *manifest.Object) bool {
		kind, name := b.Get("roleRef", "kind").Str(), b.Get("roleRef", "name").Str()
		return b.Group == view.RbacGroup && view.IsBinding(b) && name != "" && !builtInRole(name) &&
			yamldoc.Has(b.Get("subjects").All("*", "kind"), "ServiceAccount") && r.Installed().Find(view.RbacGroup, kind, name) == nil
	})
}

// ruleless returns a role that grants nothing, or nil.
func ruleless(list []*manifest.Object) *manifest.Object {
	if i := slices.IndexFunc(list, func(o *manifest.Object) bool { return len(o.Get("rules").List()) == 0 }); i >= 0 {
		return list[i]
	}
	return nil
}

// unbound gives a finding about a missing right the largest role with that right that no
// account has as its cause, if there is one.
func unbound(r *lint.Release, f lint.Finding, group, resource string) lint.Finding {
	list, _ := granted(r)
	var largest *manifest.Object
	for _, role := range view.Roles(r) {
		verbs, _, _ := view.Allowed([]*manifest.Object{role}, group, resource)
		if len(verbs) > 0 && !slices.Contains(list, role) &&
			(largest == nil || len(role.Get("rules").List()) > len(largest.Get("rules").List())) {
			largest = role
		}
	}
	f = f.Without(view.RbacGroup + " ")
	if empty := ruleless(list); largest == nil && empty != nil {
		f.Message += fmt.Sprintf("; the %s %s has no rules", empty.Kind, empty.Name)
		return f.Because("rules of " + empty.Kind + " " + empty.Name)
	} else if largest == nil {
		return f
	}
	f.Message += fmt.Sprintf("; no binding grants the %s %s", largest.Kind, largest.Name)
	return f.Because("binding of " + largest.Kind + " " + largest.Name)
}
