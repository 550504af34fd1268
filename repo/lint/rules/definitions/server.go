package definitions

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD007", Name: "structural-schema", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The schemas of a CRD must be structural",
	Source: "k8s.io/apiextensions-apiserver pkg/apiserver/schema/validation.go; " + crdValidation + ", ValidateCustomResourceDefinitionOpenAPISchema",
	Why:    "The API server refuses the CRD, and the installation stops.",
	Fix:    "Correct the Go type or its markers and generate the CRD again.",
	Check:  structuralSchema,
})

func structuralSchema(p *lint.Pass) {
	var checker schemaChecker
	eachVersion(func(f *faults, v *crd.Version) {
		if set(v.Schema.Node) == nil {
			f.add(v.Name, v.Node, "the version has no schema")
			return
		}
		for _, found := range checker.check(v.Schema.Node, v.Subresources.Get("status") != nil) {
			f.add(v.Name, found.node, "%s %s", cmp.Or(found.path, "the schema"), found.message)
		}
	})(p)
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD034", Name: "validation-rules", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The validation rules of a CRD must compile and stay within the cost limit",
	Source: crdValidation + ", ValidateCustomResourceDefinitionOpenAPISchema; k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel, Compile",
	Why:    "The API server refuses the CRD, and the installation stops.",
	Fix:    "Correct the expression, its message or its fieldPath in the marker of the Go type, and generate the CRD again. To lower the cost, set limits such as maxItems and maxLength.",
	Check:  eachVersion(validationRules),
})

func validationRules(f *faults, v *crd.Version) {
	for _, found := range cel.Check(v.Schema.Node, "") {
		f.add(v.Name, found.Node, "%s", found.Message)
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD036", Name: "required-fields", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Required fields of a CRD must be in its properties",
	Source: "k8s.io/apiextensions-apiserver pkg/apiserver/schema/pruning, Prune; pkg/apiserver/validation, ValidateCustomResource",
	Why:    "The API server refuses every object that has this part: it drops the field, because the schema does not describe it, and then demands it.",
	Fix:    "Add the field to properties, or remove it from required.",
	Check: eachVersion(func(f *faults, v *crd.Version) {
		if v.Served {
			requiredFields(v.Schema, nil, false, func(n *yamldoc.Node, format string, args ...any) { f.add(v.Name, n, format, args...) })
		}
	}),
})

// requiredFields adds the fields that a schema, or one below it, demands and does not describe.
// Elements of a list that keeps unknown fields keep them, too.
func requiredFields(s crd.Schema, path []string, kept bool, add func(n *yamldoc.Node, format string, args ...any)) {
	if s.Node == nil {
		return
	}
	kept = kept || s.Node.Get("x-kubernetes-preserve-unknown-fields").Bool()
	embedded := s.Node.Get("x-kubernetes-embedded-resource").Bool()
	drops := s.Type() == "object" && !kept && (!s.Open() || embedded)
	for _, one := range slices.Concat(s.Node.Get("allOf").List(), []*yamldoc.Node{s.Node}) {
		for _, n := range one.Get("required").List() {
			name := n.Str()
			header := (len(path) == 0 || embedded) && (name == "apiVersion" || name == "kind" || name == "metadata")
			if drops && !header && name != "" && s.Node.Get("properties", name) == nil {
				of := "the schema"
				if len(path) > 0 {
					of = crd.Join(path)
				}
				add(n, "%s requires the field %s, but its properties lack it", of, name)
			}
		}
	}
	for _, f := range s.Node.Get("properties").Fields() {
		requiredFields(crd.Schema{Node: f.Value}, append(path, f.Name), false, add)
	}
	requiredFields(crd.Schema{Node: s.Node.Get("items")}, append(path, crd.Items), kept, add)
	requiredFields(crd.Schema{Node: s.Node.Get("additionalProperties")}, append(path, crd.Values), false, add)
}

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
	where := strings.TrimPrefix(path, ".")
	if where == "" {
		where = "their schemas"
	}
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
	ID: "CRD024", Name: "conversion-settings", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A conversion webhook must have a complete address",
	Source: crdValidation + ", validateCustomResourceConversion",
	Why:    "The API server refuses the CRD, and the installation stops.",
	Fix:    "Set spec.conversion.webhook.clientConfig with either a service of the components or a url. If the versions have the same schema, use the strategy None without a webhook.",
	Check:  eachKind(conversionSettings),
})

// set is a value, or nil for null, which the API server treats as none.
func set(n *yamldoc.Node) *yamldoc.Node {
	if n.Is(yamldoc.Null) {
		return nil
	}
	return n
}

func conversionSettings(p *lint.Pass, k *contract.Kind) {
	n, strategy := conversion(k)
	if set(n) == nil || k.Object.Version != "v1" {
		return
	}
	webhook := n.Get("webhook")
	switch strategy {
	case "None":
		if set(webhook.Get("clientConfig")) != nil || len(webhook.Get("conversionReviewVersions").List()) > 0 {
			view.Accuse(p, k, webhook, 0, "%s has a conversion webhook but the strategy None", k.Kind)
		}
	case "Webhook":
		client := set(webhook.Get("clientConfig"))
		url, service := set(client.Get("url")), set(client.Get("service"))
		switch {
		case client == nil:
			view.Accuse(p, k, view.NearestOf(n, "webhook"), 0, "the conversion webhook of %s has no clientConfig", k.Kind)
		case (url == nil) == (service == nil):
			view.Accuse(p, k, client, 0, "the conversion webhook of %s needs either a service or a url", k.Kind)
		case service != nil && (service.Get("name").Str() == "" || service.Get("namespace").Str() == ""):
			view.Accuse(p, k, service, 0, "the service of the conversion webhook of %s needs a name and a namespace", k.Kind)
		case url != nil && view.URLFault(url.Str()) != "":
			view.Accuse(p, k, url, 0,
				"the url %q of the conversion webhook of %s %s", url.Str(), k.Kind, view.URLFault(url.Str()))
		case service != nil && view.PathFault(service.Get("path").Str()) != "":
			view.Accuse(p, k, service.Get("path"), 0, "the path %q of the conversion webhook of %s %s",
				service.Get("path").Str(), k.Kind, view.PathFault(service.Get("path").Str()))
		case service != nil:
			if port, ok := service.Get("port").Int(); ok && (port < 1 || port > math.MaxUint16) {
				view.Accuse(p, k, service.Get("port"), 0, "the port of the conversion webhook of %s is %d; it must be between 1 and %d", k.Kind, port, math.MaxUint16)
			}
		}
	default:
		view.Accuse(p, k, view.NearestOf(n, "strategy"), 0,
			"the conversion strategy of %s is %q; it must be None or Webhook", k.Kind, strategy)
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD025", Name: "conversion-service", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "The Service of a conversion webhook should be installed and trusted",
	OptIn:  "webhooks of CRDs with one version, which are never called",
	Source: "Kubernetes, Versions in CustomResourceDefinitions, webhook conversion",
	Why:    "The API server cannot read objects that are stored in another version.",
	Fix:    "Name a Service of this file and one of its ports, and let cert-manager inject the CA bundle with the annotation cert-manager.io/inject-ca-from.",
	Check:  eachKind(conversionService),
})

func conversionService(p *lint.Pass, k *contract.Kind) {
	n, strategy := conversion(k)
	service := n.Get("webhook", "clientConfig", "service")
	if strategy != "Webhook" || service == nil {
		return
	}
	name := service.Get("name").Str()
	called := lint.Warning
	when := ""
	if len(k.Versions) < 2 {
		if !p.Asked() {
			return
		}
		called, when = lint.Info, "; with one version it is never called"
	}
	object := p.Release.Installed().Find("", "Service", name)
	switch {
	case name == "":
	case object == nil:
		view.Accuse(p, k, service.Get("name"), called,
			"the conversion webhook of %s uses Service %s, which is not in this file%s", k.Kind, name, when)
	default:
		port, ok := service.Get("port").Int()
		if !ok {
			port = 443
		}
		serves := func(n *yamldoc.Node) bool { got, _ := n.Get("port").Int(); return got == port }
		if ports := object.Get("spec", "ports").List(); !slices.ContainsFunc(ports, serves) {
			view.Accuse(p, k, view.NearestOf(service, "port"), called,
				"the conversion webhook of %s uses port %d, which Service %s does not have%s", k.Kind, port, name, when)
		}
	}
	trusted := n.Get("webhook", "clientConfig", "caBundle").Str() != ""
	for _, a := range trustAnnotations {
		_, ok := k.Object.Annotation(a)
		trusted = trusted || ok
	}
	if !trusted {
		view.Accuse(p, k, n.Get("webhook", "clientConfig"), called,
			"the conversion webhook of %s has no CA bundle and no annotation that injects one%s", k.Kind, when)
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD026", Name: "conversion-review-versions", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A conversion webhook must accept ConversionReview v1",
	Source: crdValidation + ", validateConversionReviewVersions",
	Why:    "The API server refuses a CRD whose webhook supports no version that it can send. v1beta1 alone still works.",
	Fix:    "Set spec.conversion.webhook.conversionReviewVersions to [v1].",
	Check:  conversionReviews,
})

func conversionReviews(p *lint.Pass) {
	var first *contract.Kind
	var at *yamldoc.Node
	var old []string
	for _, k := range view.Definitions(p) {
		n, strategy := conversion(k)
		if strategy != "Webhook" || k.Object.Version != "v1" || n.Get("webhook") == nil {
			continue
		}
		list := n.Get("webhook", "conversionReviewVersions")
		var names []string
		for _, v := range list.List() {
			if len(validation.IsDNS1035Label(v.Str())) > 0 || slices.Contains(names, v.Str()) {
				view.Accuse(p, k, v, 0,
					"%q in conversionReviewVersions of %s is not a version, or is listed twice", v.Str(), k.Kind)
			}
			names = append(names, v.Str())
		}
		list = cmp.Or(list, n.Get("webhook"))
		switch {
		case slices.Contains(names, "v1"):
		case slices.Contains(names, "v1beta1"):
			if first == nil {
				first, at = k, list
			}
			old = append(old, k.Kind)
		default:
			view.Accuse(p, k, list, 0, "the conversion webhook of %s accepts neither v1 nor v1beta1", k.Kind)
		}
	}
	switch len(old) {
	case 0:
	case 1:
		view.Accuse(p, first, at, lint.Info, "the conversion webhook of %s only accepts ConversionReview v1beta1", first.Kind)
	default:
		view.Accuse(p, first, at, lint.Info,
			"the conversion webhooks of %s only accept ConversionReview v1beta1", phrase.Few(old, 3))
	}
}

// trustAnnotations tell cert-manager to fill in the certificate authority.
var trustAnnotations = [...]string{
	"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca",
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
		var at *yamldoc.Node
		var taken []string
		for _, n := range append([]*yamldoc.Node{names.Get("plural"), names.Get("singular")}, names.Get("shortNames").List()...) {
			name := n.Str()
			for _, row := range kubectlNames {
				if row.name == name {
					if at == nil {
						at = n
					}
					taken = append(taken, name+" ("+row.resource+")")
				}
			}
			key := owner{k.Group, name}
			if other := owners[key]; name != "" && other != "" && other != k.Kind {
				view.Accuse(p, k, n, 0, "%s has the name %s, like %s of the same group; the API server serves only one of them", k.Kind, name, other)
			}
			owners[key] = k.Kind
		}
		if at != nil {
			view.Accuse(p, k, at, 0, "%s of group %s has names that kubectl uses for other resources: %s",
				k.Kind, k.Group, strings.Join(taken, ", "))
		}
	}
}

// The limits of kubectl apply and of etcd, in bytes of JSON.
const (
	annotationLimit = 256 << 10
	requestLimit    = 3 << 19
)

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD028", Name: "printer-columns", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Printer columns should show fields of the schema",
	Source: "Kubernetes, additional printer columns",
	Why:    `The column is always empty in "kubectl get".`,
	Fix:    "Correct the path in the marker +kubebuilder:printcolumn.",
	Check:  eachKind(printerColumns),
})

func printerColumns(p *lint.Pass, k *contract.Kind) {
	f := faults{p: p, kind: k}
	for i := range k.Versions {
		v := &k.Versions[i]
		if !v.Served {
			continue
		}
		for _, column := range v.Node.Get("additionalPrinterColumns").List() {
			at := column.Get("jsonPath")
			if strings.Count(at.Str(), "[") != strings.Count(at.Str(), "]") {
				f.add(v.Name, at, "column %q has the path %q with unbalanced brackets, so kubectl shows none of the columns", column.Get("name").Str(), at.Str())
			} else if bad := unknownColumn(v.Schema, at.Str()); bad != "" {
				f.add(v.Name, at, "column %q shows %s, but the schema has no %s", column.Get("name").Str(), at.Str(), bad)
			}
		}
	}
	f.report(k.Kind + " ")
}

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
			if closing < 0 || strings.ContainsAny(rest[:1+min(1, closing)], `'"`) ||
				strings.HasPrefix(rest, "['") || strings.HasPrefix(rest, `["`) {
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

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD030", Name: "definition-size", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "A CRD should fit into an annotation and into etcd",
	OptIn:  "CRDs that only kubectl apply without --server-side refuses",
	Source: "kubectl apply, last-applied-configuration; etcd, request size",
	Why:    `"kubectl apply" without --server-side refuses CRDs above 256 KiB, and etcd refuses requests above 1.5 MiB.`,
	Fix:    "Omit descriptions with controller-gen crd:maxDescLen=0. Below the limit of etcd, clusterctl and kubectl apply --server-side install the CRD as it is.",
	Check:  definitionSize,
})

func definitionSize(p *lint.Pass) {
	if len(p.File.Raw.Data) < annotationLimit/2 {
		return
	}
	starts := map[*yamldoc.Document]int{} // of the documents behind those
	end := len(p.File.Raw.Data)
	for _, o := range slices.Backward(p.File.Objects()) {
		starts[o.Doc] = end
		end = p.File.Raw.Offset(o.Doc.Pos(nil))
	}
	for _, k := range view.Definitions(p) {
		if starts[k.Object.Doc]-p.File.Raw.Offset(k.Object.Doc.Pos(nil)) < annotationLimit/2 {
			continue // as YAML it is seldom shorter than as JSON, and then not by half
		}
		switch size := jsonSize(k.Object.Doc.Root); {
		case size > requestLimit:
			view.Accuse(p, k, nil, 0, "%s has %d KiB; etcd accepts at most 1536 KiB", k.Object.Name, size>>10)
		case size > annotationLimit && p.Asked():
			view.Accuse(p, k, nil, lint.Info,
				"%s has %d KiB; kubectl apply without --server-side accepts at most 256 KiB", k.Object.Name, size>>10)
		}
	}
}

// jsonSize is the length of a value as JSON, but for escapes in texts.
func jsonSize(n *yamldoc.Node) int {
	if n == nil {
		return 0
	}
	switch n.Kind {
	case yamldoc.Null:
		return 4
	case yamldoc.Map:
		size := 1 + max(1, len(n.Fields()))
		for i := range n.Fields() {
			size += len(n.Fields()[i].Name) + 3 + jsonSize(n.Fields()[i].Value)
		}
		return size
	case yamldoc.List:
		size := 1 + max(1, len(n.List()))
		for _, item := range n.List() {
			size += jsonSize(item)
		}
		return size
	case yamldoc.String:
		return len(n.Text()) + 2
	}
	return len(n.Text())
}

// approval is the annotation that CRDs in groups of Kubernetes must have (validateAPIApproval).
const approval = "api-approved.kubernetes.io"

// columnTypes and columnFormats are the types and formats of columns.
var (
	columnTypes   = [...]string{"integer", "number", "string", "boolean", "date"}
	columnFormats = [...]string{"int32", "int64", "float", "double", "byte", "date", "date-time", "password"}
)

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD033", Name: "definition-fields", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The fields of a CRD must have values that the API server accepts",
	Source: crdValidation + ", ValidateCustomResourceDefinition",
	Why:    "The API server refuses the CRD, and the installation stops.",
	Fix:    "Correct the marker of the Go type and generate the CRD again.",
	Check:  eachKind(definitionFields),
})

func definitionFields(p *lint.Pass, k *contract.Kind) {
	if k.Object.Version != "v1" {
		return
	}
	at := func(path ...string) *yamldoc.Node {
		return view.Nearest(k.Object, append([]string{"spec"}, path...)...)
	}
	if parts := strings.Split(k.Group, "."); len(parts) < 2 || slices.ContainsFunc(parts, func(s string) bool { return !isDNSLabel("x"+s) || strings.HasPrefix(s, "-") || s == "" }) {
		view.Accuse(p, k, at("group"), 0, "the group %q is not a domain with a dot", k.Group)
	}
	if k.Scope != "Namespaced" && k.Scope != "Cluster" {
		view.Accuse(p, k, at("scope"), 0, "the scope of %s is %q; it must be Namespaced or Cluster", k.Kind, k.Scope)
	}
	names := k.Object.Get("spec", "names")
	for _, name := range [...]string{"plural", "singular", "kind", "listKind"} {
		n := names.Get(name)
		text := n.Str()
		if name == "kind" || name == "listKind" {
			text = strings.ToLower(text)
		}
		optional := name == "singular" || name == "listKind"
		if !isDNSLabel(text) && (n.Str() != "" || !optional) {
			view.Accuse(p, k, at("names", name), 0, "spec.names.%s is %q, which is not a valid resource name", name, n.Str())
		}
	}
	if k.ListKind != "" && k.ListKind == k.Kind {
		view.Accuse(p, k, at("names", "listKind"), 0, "kind and listKind are both %s", k.Kind)
	}
	for _, list := range [...]string{"shortNames", "categories"} {
		for _, n := range names.Get(list).List() {
			if !isDNSLabel(n.Str()) {
				view.Accuse(p, k, n, 0, "%q in spec.names.%s is not a valid resource name", n.Str(), list)
			}
		}
	}
	if n := k.Object.Get("spec", "preserveUnknownFields"); n.Bool() {
		view.Accuse(p, k, n, 0,
			"spec.preserveUnknownFields is true; set x-kubernetes-preserve-unknown-fields in the schema instead")
	}
	if domain := "." + k.Group; strings.HasSuffix(domain, ".k8s.io") || strings.HasSuffix(domain, ".kubernetes.io") {
		text, _ := k.Object.Annotation(approval)
		if u, err := url.ParseRequestURI(text); !strings.HasPrefix(text, "unapproved") &&
			(err != nil || u.Host == "" || u.Scheme == "") {
			view.Accuse(p, k, at("group"), 0, "the group %s belongs to Kubernetes, and the annotation %s has neither a URL nor \"unapproved\"", k.Group, approval)
		}
	}
	f := faults{p: p, kind: k}
	for i := range k.Versions {
		versionFields(&f, &k.Versions[i])
	}
	f.report(k.Kind + " ")
}

// versionFields checks the fields of one version but for its schema.
func versionFields(f *faults, v *crd.Version) {
	if !isDNSLabel(v.Name) {
		f.add(v.Name, view.NearestOf(v.Node, "name"), "%q is not a valid version name", v.Name)
	}
	if n := v.Node.Get("deprecationWarning"); n.Is(yamldoc.String) {
		switch text := n.Text(); {
		case !v.Node.Get("deprecated").Bool():
			f.add(v.Name, n, "it has a deprecationWarning but is not deprecated")
		case text == "" || len(text) > 256 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
			f.add(v.Name, n, "the deprecationWarning must have 1 to 256 printable characters")
		}
	}
	selectableFields(f, v)
	for _, column := range v.Node.Get("additionalPrinterColumns").List() {
		name, path := column.Get("name").Str(), column.Get("jsonPath")
		switch kind := column.Get("type"); {
		case name == "":
			f.add(v.Name, column, "a printer column has no name")
		case !slices.Contains(columnTypes[:], kind.Str()):
			f.add(v.Name, view.NearestOf(column, "type"),
				"column %q has type %q; it must be one of %s", name, kind.Str(), strings.Join(columnTypes[:], ", "))
		case column.Get("format").Str() != "" && !slices.Contains(columnFormats[:], column.Get("format").Str()):
			f.add(v.Name, column.Get("format"), "column %q has format %q; it must be one of %s",
				name, column.Get("format").Str(), strings.Join(columnFormats[:], ", "))
		case !strings.HasPrefix(path.Str(), "."):
			f.add(v.Name, view.NearestOf(column, "jsonPath"),
				"column %q has the path %q, which does not begin with a dot", name, path.Str())
		}
	}
	scale := set(v.Subresources.Get("scale"))
	if scale == nil {
		return
	}
	for _, row := range [...]struct {
		name     string
		prefixes []string
		optional bool
	}{
		{"specReplicasPath", []string{".spec."}, false},
		{"statusReplicasPath", []string{".status."}, false},
		{"labelSelectorPath", []string{".spec.", ".status."}, true},
	} {
		path := scale.Get(row.name).Str()
		fits := slices.ContainsFunc(row.prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
		if !fits && (path != "" || !row.optional) {
			f.add(v.Name, view.NearestOf(scale, row.name), "%s of the scale subresource is %q; it must begin with %s",
				row.name, path, strings.Join(row.prefixes, " or "))
		}
	}
}

// mostSelectable is how many fields of a version may be selected.
const mostSelectable = 8

// selectableFields checks the fields that "kubectl get --field-selector" can select by
// (ValidateCustomResourceSelectableFields).
func selectableFields(f *faults, v *crd.Version) {
	list := v.Node.Get("selectableFields")
	if v.Schema.Node == nil {
		return // another rule tells of it
	}
	seen := map[string]bool{}
	for _, entry := range list.List() {
		n := view.NearestOf(entry, "jsonPath")
		path := entry.Get("jsonPath").Str()
		var at *yamldoc.Node
		if strings.HasPrefix(path, ".") && !strings.Contains(path, "[") {
			at = cel.At(v.Schema.Node, path)
		}
		switch {
		case path == "":
			f.add(v.Name, n, "a selectable field has no jsonPath")
		case at == nil:
			f.add(v.Name, n, "the selectable field %q is not a field of the schema", path)
		case path == ".metadata" || strings.HasPrefix(path, ".metadata."):
			f.add(v.Name, n, "the selectable field %q is in the metadata, which is not allowed", path)
		case !slices.Contains([]string{"string", "boolean", "integer"}, at.Get("type").Str()):
			f.add(v.Name, n, "the selectable field %q is not a string, boolean or integer", path)
		case seen[path]:
			f.add(v.Name, n, "the selectable field %q is listed twice", path)
		}
		seen[path] = true
	}
	if len(seen) > mostSelectable {
		f.add(v.Name, list, "it has %d selectable fields; at most %d are allowed", len(seen), mostSelectable)
	}
}
