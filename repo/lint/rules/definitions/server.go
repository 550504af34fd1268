package definitions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// conversion is spec.conversion.
func conversion(k *contract.Kind) (n *yamldoc.Node, strategy string) {
	n = k.Object.Get("spec", "conversion")
	return n, n.Get("strategy").Str()
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD023", Name: "conversion-none", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Versions with different schemas should have a conversion webhook",
	Source: "Kubernetes, Versions in CustomResourceDefinitions",
	Why:    "Fields that the other version does not have are lost when an object is read and written, because the API server only changes apiVersion.",
	Fix:    "Serve only the stored version, or add a conversion webhook with its Service.",
	Check:  eachKind(conversionNone),
})

func conversionNone(p *lint.Pass, k *contract.Kind) {
	if _, strategy := conversion(k); strategy != "" && strategy != "None" {
		return
	}
	var first *crd.Version
	for i := range k.Versions {
		v := &k.Versions[i]
		if !v.Served {
			continue
		}
		if first == nil {
			first = v
			continue
		}
		if path, differ := schemaDifference(first.Schema.Node, v.Schema.Node, ""); differ {
			view.Accuse(p, k, view.NearestOf(v.Node, "name"), 0, "%s serves %s and %s without a conversion webhook, but they differ in %s", k.Kind, first.Name, v.Name, path)
			return
		}
	}
}

// schemaDifference returns the first property that two schemas do not both
// describe, or not with the same type.
func schemaDifference(a, b *yamldoc.Node, path string) (string, bool) {
	where := cmp.Or(strings.TrimPrefix(path, "."), "their schemas")
	if (crd.Schema{Node: a}).Type() != (crd.Schema{Node: b}).Type() {
		return where, true
	}
	for _, name := range [...]string{"items", "additionalProperties"} {
		x, y := a.Get(name), b.Get(name)
		if (x == nil) != (y == nil) {
			return where, true
		}
		if x.Is(yamldoc.Map) && y.Is(yamldoc.Map) {
			if at, differ := schemaDifference(x, y, path+"[]"); differ {
				return at, true
			}
		}
	}
	x, y := a.Get("properties"), b.Get("properties")
	if x == nil && y == nil {
		return "", false
	}
	if x == nil || y == nil {
		return where, true
	}
	rest := make(map[string]*yamldoc.Node, len(y.Fields()))
	for _, f := range y.Fields() {
		rest[f.Name] = f.Value
	}
	for i := range x.Fields() {
		f := &x.Fields()[i]
		at := path + "." + f.Name
		other, ok := rest[f.Name]
		if !ok {
			return at[1:], true
		}
		delete(rest, f.Name)
		if at, differ := schemaDifference(f.Value, other, at); differ {
			return at, true
		}
	}
	for _, f := range y.Fields() {
		if _, left := rest[f.Name]; left {
			return strings.TrimPrefix(path+"."+f.Name, "."), true
		}
	}
	return "", false
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD025", Name: "conversion-service", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "The Service of a conversion webhook should be installed and trusted",
	Source: "Kubernetes, Versions in CustomResourceDefinitions, webhook conversion",
	Why:    "The API server cannot read objects that are stored in another version.",
	Fix:    "Name a Service of this file and one of its ports, and let cert-manager inject the CA bundle with the annotation cert-manager.io/inject-ca-from.",
	Check:  eachKind(conversionService),
})

func conversionService(p *lint.Pass, k *contract.Kind) {
	n, strategy := conversion(k)
	service := n.Get("webhook", "clientConfig", "service")
	if strategy != "Webhook" || service == nil || len(k.Versions) < 2 { // with one version it is never called
		return
	}
	name := service.Get("name").Str()
	object := p.Release.Installed().Find("", "Service", name)
	switch {
	case name == "":
	case object == nil:
		n := service.Get("name")
		view.Settle(p, k.Object, lint.On(k.Object, n, "the conversion webhook of %s uses Service %s, which is not in this file", k.Kind, name).
			Lacks("Service "+name), n)
	default:
		if port, n := view.Unserved(k.Object, service, object); n != nil {
			f := lint.On(k.Object, n, "the conversion webhook of %s uses port %d, which Service %s does not have", k.Kind, port, name)
			view.Settle(p, k.Object, f.Because(fmt.Sprintf("port %d of Service %s", port, name)), n)
		}
	}
	trusted := n.Get("webhook", "clientConfig", "caBundle").Str() != "" || view.BringsCA(k.Object)
	if !trusted {
		view.Accuse(p, k, n.Get("webhook", "clientConfig"), 0,
			"the conversion webhook of %s has no CA bundle and no annotation that injects one", k.Kind)
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD026", Name: "conversion-review-versions", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A conversion webhook must accept ConversionReview v1",
	Source: crdValidation + ", validateConversionReviewVersions",
	Why:    "The API server refuses a CRD whose webhook supports no version that it can send. v1beta1 alone still works.",
	Fix:    "Set spec.conversion.webhook.conversionReviewVersions to [v1].",
	Check:  eachKind(conversionReviews),
})

func conversionReviews(p *lint.Pass, k *contract.Kind) {
	n, strategy := conversion(k)
	if strategy != "Webhook" || k.Object.Version != "v1" || n.Get("webhook") == nil {
		return
	}
	list := n.Get("webhook", "conversionReviewVersions")
	var names []string
	for _, v := range list.List() {
		if !isDNSLabel(v.Str()) || slices.Contains(names, v.Str()) {
			view.Accuse(p, k, v, 0, "%q in conversionReviewVersions of %s is not a version, or is listed twice", v.Str(), k.Kind)
		}
		names = append(names, v.Str())
	}
	list = cmp.Or(list, n.Get("webhook"))
	switch {
	case slices.Contains(names, "v1"):
	case slices.Contains(names, "v1beta1"):
		f := lint.On(k.Object, list, "the conversion webhook of %s only accepts ConversionReview v1beta1", k.Kind).As(lint.Info)
		view.Settle(p, k.Object, f.Because(p.Rule.ID), view.Within(list)...)
	default:
		view.Accuse(p, k, list, 0, "the conversion webhook of %s accepts neither v1 nor v1beta1", k.Kind)
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD027", Name: "name-collision", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Names of a kind should not collide with others that kubectl knows",
	Source: "kubectl, resource names; k8s.io/apiextensions-apiserver pkg/controller/status/naming_controller.go",
	Why:    "kubectl shows the objects of the other kind. Within one group the API server serves only one of them.",
	Fix:    "Choose another short name, for example the initials with the provider as a prefix.",
	Check:  nameCollisions,
})

func nameCollisions(p *lint.Pass) {
	type owner struct{ group, name string }
	owners := map[owner]string{}
	for _, k := range view.Definitions(p) {
		if k.Role == contract.Core {
			continue
		}
		names := k.Object.Get("spec", "names")
		for _, n := range append([]*yamldoc.Node{names.Get("plural"), names.Get("singular")}, names.Get("shortNames").List()...) {
			name := n.Str()
			for _, row := range kubectlNames {
				if row.name == name {
					f := lint.On(k.Object, n, "%s of group %s has the name %s, which kubectl uses for %s", k.Kind, k.Group, name, row.resource)
					view.Settle(p, k.Object, f.Because(p.Rule.ID+k.Object.Name), n)
				}
			}
			key := owner{k.Group, name}
			if other := owners[key]; name != "" && other != "" && other != k.Kind {
				view.Accuse(p, k, n, 0, "%s has the name %s, like %s of the same group; the API server serves only one of them", k.Kind, name, other)
			}
			owners[key] = k.Kind
		}
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD028", Name: "printer-columns", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Printer columns should show fields of the schema",
	Source: "Kubernetes, additional printer columns",
	Why:    `The column is always empty in "kubectl get".`,
	Fix:    "Correct the path in the marker +kubebuilder:printcolumn.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		for i := range k.Versions {
			v := &k.Versions[i]
			if !v.Served {
				continue
			}
			for _, column := range v.Node.Get("additionalPrinterColumns").List() {
				at := column.Get("jsonPath")
				if strings.Count(at.Str(), "[") != strings.Count(at.Str(), "]") {
					alike(p, k, k.Object.Name, k.Kind+" "+v.Name, at, "column %q has the path %q with unbalanced brackets, so kubectl shows none of the columns", column.Get("name").Str(), at.Str())
				} else if bad := unknownColumn(v.Schema, at.Str()); bad != "" {
					alike(p, k, k.Object.Name, k.Kind+" "+v.Name, at, "column %q shows %s, but the schema has no %s", column.Get("name").Str(), at.Str(), bad)
				}
			}
		}
	}),
})

// unknownColumn returns the part of a JSON path that a schema does not have, or
// "". It gives up at what is no plain path.
func unknownColumn(s crd.Schema, path string) string {
	rest, ok := strings.CutPrefix(path, ".")
	if !ok || strings.HasPrefix(rest, "metadata") {
		return ""
	}
	done := ""
	for rest != "" {
		end := strings.IndexAny(rest, ".[\\")
		if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		if name == "" || name == "*" || end < len(rest) && rest[end] == '\\' {
			return ""
		}
		next, presence := s.At(name)
		done += "." + name
		switch presence {
		case crd.Unknowable:
			return ""
		case crd.Absent:
			return done[1:]
		}
		s, rest = next, rest[end:]
		for strings.HasPrefix(rest, "[") {
			closing := strings.IndexByte(rest, ']')
			if closing < 0 || strings.HasPrefix(rest, "['") || strings.HasPrefix(rest, `["`) {
				return ""
			}
			if s, presence = s.At(crd.Items); presence != crd.Present {
				return ""
			}
			rest = rest[closing+1:]
		}
		rest = strings.TrimPrefix(rest, ".")
	}
	return ""
}

// kubectlNames are names that kubectl knows from Kubernetes and Cluster API, and
// their resources.
var kubectlNames = [...]struct{ name, resource string }{
	{"cc", "clusterclasses"}, {"cj", "cronjobs"}, {"cl", "clusters"}, {"cluster", "clusters"}, {"clusters", "clusters"},
	{"cm", "configmaps"}, {"crd", "customresourcedefinitions"}, {"crds", "customresourcedefinitions"}, {"cs", "componentstatuses"},
	{"csr", "certificatesigningrequests"}, {"deploy", "deployments"}, {"ds", "daemonsets"}, {"ep", "endpoints"}, {"ev", "events"},
	{"ext", "extensionconfigs"}, {"hpa", "horizontalpodautoscalers"}, {"ing", "ingresses"}, {"limits", "limitranges"},
	{"ma", "machines"}, {"machine", "machines"}, {"machinepool", "machinepools"}, {"machinepools", "machinepools"}, {"machines", "machines"},
	{"md", "machinedeployments"}, {"mhc", "machinehealthchecks"}, {"mhcs", "machinehealthchecks"}, {"mp", "machinepools"},
	{"ms", "machinesets"}, {"namespace", "namespaces"}, {"namespaces", "namespaces"}, {"netpol", "networkpolicies"}, {"no", "nodes"},
	{"node", "nodes"}, {"nodes", "nodes"}, {"ns", "namespaces"}, {"pc", "priorityclasses"}, {"pdb", "poddisruptionbudgets"}, {"po", "pods"},
	{"pod", "pods"}, {"pods", "pods"}, {"pv", "persistentvolumes"}, {"pvc", "persistentvolumeclaims"}, {"quota", "resourcequotas"},
	{"rc", "replicationcontrollers"}, {"rs", "replicasets"}, {"sa", "serviceaccounts"}, {"sc", "storageclasses"}, {"secret", "secrets"},
	{"secrets", "secrets"}, {"service", "services"}, {"services", "services"}, {"sts", "statefulsets"}, {"svc", "services"},
}
