package objects

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/gotypes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = workloadRules.Add(lint.Rule{
	ID: "DEP008", Name: "object-fields", Severity: lint.Error, Proof: lint.APIServer,
	Yields: []string{"YAML009"},
	Title:  "Other objects of Kubernetes must have fields that the API server accepts",
	Source: "Kubernetes pkg/apis/core/validation, ValidateSecret and ValidateResourceQuota; pkg/apis/networking/validation and those of other groups",
	Why:    "The API server refuses the object in the middle of the installation, and what needs it never works.",
	Fix:    "Set the field to what the message allows. Write values of a Secret's data and of binaryData in base64, and plain ones in stringData or a ConfigMap's data.",
	Check: func(p *lint.Pass) {
		ofKinds(coreDemands)(p)
		ofTypes(p)
	},
})

// ofTypes reports the values that do not fit the types of objects that clusterctl does
// not convert: those that it converts are the business of COMP018 and COMP033, labels and
// annotations that of YAML009.
func ofTypes(p *lint.Pass) {
	for _, o := range p.File.Objects() {
		version := o.Get("apiVersion").Str()
		t := gotypes.Lookup(version, o.Kind)
		if _, converted := gotypes.Converted(p.File.Kind, version, o.Kind); t == nil ||
			converted != nil || strings.HasSuffix(o.Group, "x-k8s.io") {
			continue
		}
		view.Settled(o, gotypes.Check(t, o.Doc.Root), func(problem gotypes.Problem) {
			if strings.HasPrefix(problem.Path, "metadata.labels.") ||
				strings.HasPrefix(problem.Path, "metadata.annotations.") {
				return
			}
			f := lint.On(o, problem.Node, "the API server drops the unknown field %s", problem.Path)
			switch {
			case problem.Kind.Fatal():
				f = lint.On(o, problem.Node, "%s", view.Misfit(problem))
				f.Fix = view.MisfitFix(o, problem)
			case problem.Kind == gotypes.Unknown:
				f.Severity = lint.Warning
			default:
				return
			}
			view.Settle(p, o, f, problem.Node)
		})
	}
}

// coreDemands are those of the objects around the workloads of a provider, by group and kind.
var coreDemands = map[string]map[string][]demand{
	"": {
		"Secret":    {{"data", entries}, {"stringData", entries}, {"", dataOfType}},
		"ConfigMap": {{"data", entries}, {"binaryData", entries}, {"", onceInData}},
		"ResourceQuota": {
			{"spec.hard", quotas},
			{"spec.scopes.*", oneOf(quotaScopes...)},
			{"spec.scopes", notBoth("BestEffort", "NotBestEffort")},
			{"spec.scopes", notBoth("Terminating", "NotTerminating")},
			{"spec", scoped},
			{"spec.scopeSelector.matchExpressions.*", scopeExpression},
			{"spec.scopeSelector.matchExpressions.*.scopeName", oneOf(quotaScopes...)},
		},
		"LimitRange": {
			{"spec.limits", distinct("type")},
			{"spec.limits.*", needs("type")},
			{"spec.limits.*.type", form(func(text string) []string {
				if !strings.Contains(text, "/") && text != "Pod" && text != "Container" &&
					text != "PersistentVolumeClaim" {
					return []string{"must be Pod, Container, PersistentVolumeClaim or have a domain"}
				}
				return validation.IsQualifiedName(text)
			})},
			{"spec.limits.*", ascending},
		},
		"PersistentVolumeClaim": append([]demand{{"", needs("spec")}}, under("spec", claimDemands)...),
	},
	"policy": {"PodDisruptionBudget": {
		{"spec", choice(false, "minAvailable", "maxUnavailable")},
		{"spec.minAvailable", share(100)},
		{"spec.maxUnavailable", share(100)},
		{"spec.selector", selects},
		{"spec.unhealthyPodEvictionPolicy", oneOf("IfHealthyBudget", "AlwaysAllow")},
	}},
	"scheduling.k8s.io": {"PriorityClass": {
		{"", func(n *yamldoc.Node, fail view.Failure) {
			name, at := n.Get("metadata", "name"), n.Get("value")
			value, _ := at.Int()
			switch known := map[string]int64{"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}[name.Str()]; {
			case known != 0 && known != value:
				fail.By(at, name).Says("has the value %d; %s must have %d", value, name.Str(), known)
			case known != 0 && n.Get("globalDefault").Bool():
				fail.By(n.Get("globalDefault"), name).Says("has globalDefault: true, which %s may not have", name.Str())
			case known != 0: // as Kubernetes creates it
			case strings.HasPrefix(name.Str(), "system-"):
				fail.By(name, at, n.Get("globalDefault")).Says("has the name %q; the prefix system- is reserved", name.Str())
			case value > 1_000_000_000:
				fail.By(at, name).Says("has the value %d; at most 1000000000 is allowed", value)
			}
		}},
		{"preemptionPolicy", oneOf("PreemptLowerPriority", "Never")},
	}},
	"coordination.k8s.io": {"Lease": {
		{"spec.leaseDurationSeconds", between(1, many)},
		{"spec.leaseTransitions", notNegative},
		{"spec.strategy", like(phrase.Pattern(`^(OldestEmulationVersion|.*/.*|)$`), "OldestEmulationVersion or have a domain")},
		{"spec", func(n *yamldoc.Node, fail view.Failure) {
			if at, of := n.Get("preferredHolder"), n.Get("strategy"); !unset(at) && unset(of) {
				fail.By(at, of).Says("has a preferredHolder, which needs a strategy")
			}
		}},
	}},
	"node.k8s.io": {"RuntimeClass": append([]demand{
		{"", needs("handler")},
		{"handler", form(validation.IsDNS1123Label)},
		{"overhead", resources("podFixed")},
		{"scheduling.nodeSelector", labels},
		{"scheduling.tolerations", distinct("key", "operator", "value", "effect")},
	}, under("scheduling.tolerations.*", tolerationDemands)...)},
	"discovery.k8s.io": {"EndpointSlice": {
		{"", needs("addressType")},
		{"addressType", oneOf("", "IPv4", "IPv6", "FQDN")},
		{"endpoints.*", needs("addresses")},
		{"endpoints.*.addresses", atMost(100)},
		{"endpoints.*.hostname", form(validation.IsDNS1123Label)},
		{"", func(n *yamldoc.Node, fail view.Failure) {
			of := n.Get("addressType")
			for _, at := range n.All("endpoints", "*", "addresses", "*") {
				a, err := netip.ParseAddr(at.Str())
				text := strings.TrimSuffix(at.Str(), ".")
				name := strings.Contains(text, ".") && len(validation.IsDNS1123Subdomain(text)) == 0
				fits := map[string]bool{"IPv4": a.Is4(), "IPv6": a.Is6() && !a.Is4In6(), "FQDN": name}
				if ok, known := fits[of.Str()]; known && !ok {
					fail.By(at, of).Says("has the address %q, which is not of the type %s", at.Text(), of.Str())
				} else if err == nil && of.Str() != "FQDN" && unreachable(a) {
					fail.By(at, of).Says("has the address %s, which other machines cannot reach", at.Str())
				}
			}
		}},
		{"ports", distinct("name")},
		{"ports.*.name", form(validation.IsDNS1123Label)},
		{"ports.*.protocol", oneOf("TCP", "UDP", "SCTP")},
		{"ports.*.appProtocol", form(validation.IsQualifiedName)},
	}},
	"apiregistration.k8s.io": {"APIService": {
		{"", needs("spec")},
		{"spec", needs("version", "groupPriorityMinimum", "versionPriority")},
		{"spec", func(n *yamldoc.Node, fail view.Failure) {
			if group, version := n.Get("group"), n.Get("version"); unset(group) && version.Str() != "v1" {
				fail.By(cmp.Or(group, n), version).Says("has no group")
			}
		}},
		{"spec.group", form(validation.IsDNS1123Subdomain)},
		{"spec.version", form(validation.IsDNS1035Label)},
		{"spec.groupPriorityMinimum", between(1, 20000)},
		{"spec.versionPriority", between(1, 1000)},
		{"spec.service", needs("name", "namespace")},
		{"spec.service.port", between(1, math.MaxUint16)},
		{"spec", func(n *yamldoc.Node, fail view.Failure) {
			service, ca, insecure := n.Get("service"), n.Get("caBundle"), n.Get("insecureSkipTLSVerify")
			none, trusted := service == nil || service.Is(yamldoc.Null), !unset(ca)
			switch {
			case trusted && insecure.Bool():
				fail.By(insecure, ca).Says("has both caBundle and insecureSkipTLSVerify: true")
			case none && trusted:
				fail.By(ca, service).Says("has a caBundle without a service")
			case none && insecure.Bool():
				fail.By(insecure, service).Says("has insecureSkipTLSVerify: true without a service")
			}
		}},
		{"", func(n *yamldoc.Node, fail view.Failure) {
			name, version, group := n.Get("metadata", "name"), n.Get("spec", "version"), n.Get("spec", "group")
			if want := version.Str() + "." + group.Str(); name.Is(yamldoc.String) &&
				version.Is(yamldoc.String) && name.Str() != want {
				fail.By(name, version, group).Says("has the name %q; it must be %q", name.Str(), want)
			}
		}},
	}},
	"storage.k8s.io": {"CSIDriver": {
		{"spec.fsGroupPolicy", oneOf("ReadWriteOnceWithFSType", "None", "File")},
		{"spec.volumeLifecycleModes.*", oneOf("Persistent", "Ephemeral")},
		{"spec.nodeAllocatableUpdatePeriodSeconds", between(10, math.MaxInt64)},
		{"spec.tokenRequests", distinct("audience")},
		{"spec.tokenRequests.*.expirationSeconds", between(600, 1<<32)},
	}, "StorageClass": {
		{"", needs("provisioner")},
		{"provisioner", form(func(text string) []string { return validation.IsQualifiedName(strings.ToLower(text)) })},
		{"reclaimPolicy", oneOf("", "Delete", "Retain")},
		{"volumeBindingMode", oneOf("Immediate", "WaitForFirstConsumer")},
	}},
	"networking.k8s.io": {
		"IngressClass": {
			{"", needs("spec")},
			{"spec", needs("controller")},
			{"spec.controller", domainPath},
			{"spec.controller", like(phrase.Pattern(`^.{0,250}$`), "at most 250 characters long")},
			{"spec.parameters", needs("kind", "name")},
			{"spec.parameters.kind", form(content.IsPathSegmentName)},
			{"spec.parameters.name", form(content.IsPathSegmentName)},
			{"spec.parameters.apiGroup", form(validation.IsDNS1123Subdomain)},
			{"spec.parameters.scope", oneOf("Cluster", "Namespace")},
			{"spec.parameters", only("namespace", "scope", "Namespace")},
			{"spec.parameters", func(n *yamldoc.Node, fail view.Failure) {
				if of := n.Get("scope"); of.Str() == "Namespace" {
					needs("namespace")(n, fail.By(n, of))
				}
			}},
			{"spec.parameters.namespace", form(validation.IsDNS1123Label)},
		},
		"NetworkPolicy": slices.Concat([]demand{
			{"spec.podSelector", selects},
			{"spec.policyTypes.*", oneOf("Ingress", "Egress")},
			{"spec.policyTypes", atMost(2)},
		}, under("spec.ingress.*.from.*", peerDemands), under("spec.egress.*.to.*", peerDemands),
			under("spec.ingress.*.ports.*", peerPortDemands), under("spec.egress.*.ports.*", peerPortDemands)),
		"Ingress": slices.Concat([]demand{
			{"", needs("spec")},
			{"spec", func(n *yamldoc.Node, fail view.Failure) {
				if unset(n.Get("defaultBackend")) && unset(n.Get("rules")) {
					fail.By(n, n.Get("defaultBackend"), n.Get("rules")).Says("has neither rules nor a defaultBackend")
				}
			}},
			{"spec.ingressClassName", form(validation.IsDNS1123Subdomain)},
			{"spec.rules.*.host", host},
			{"spec.rules.*.http", needs("paths")},
			{"spec.rules.*.http.paths.*", needs("pathType")},
			{"spec.rules.*.http.paths.*.pathType", oneOf("", "Exact", "Prefix", "ImplementationSpecific")},
			{"spec.rules.*.http.paths.*", func(n *yamldoc.Node, fail view.Failure) {
				at, kind := n.Get("path"), n.Get("pathType")
				text := at.Str()
				switch i := slices.IndexFunc(pathFaults, func(part string) bool { return strings.Contains(text+"\n", part) }); {
				case unset(kind): // another demand tells of it
				case !strings.HasPrefix(text, "/") && (text != "" || kind.Str() != "ImplementationSpecific"):
					fail.By(cmp.Or(at, n), kind).Says("has the path %q, which does not begin with a slash", text)
				case i >= 0 && kind.Str() != "ImplementationSpecific":
					fail.By(at, kind).Says("has the path %q, which must not contain %q", text, strings.TrimSpace(pathFaults[i]))
				}
				needs("backend")(n, fail)
			}},
			{"spec.tls.*.secretName", form(validation.IsDNS1123Subdomain)},
			{"spec.tls.*.hosts.*", notEmpty},
			{"spec.tls.*.hosts.*", form(hostName)},
		}, under("spec.rules.*.http.paths.*.backend", backendDemands), under("spec.defaultBackend", backendDemands)),
	},
	"autoscaling": {"HorizontalPodAutoscaler": slices.Concat([]demand{
		{"", needs("spec")},
		{"spec", needs("maxReplicas", "scaleTargetRef")},
		{"spec.scaleTargetRef", needs("kind", "name", "apiVersion")},
		{"spec.scaleTargetRef.kind", form(content.IsPathSegmentName)},
		{"spec.scaleTargetRef.name", form(content.IsPathSegmentName)},
		{"spec.scaleTargetRef", func(n *yamldoc.Node, fail view.Failure) {
			if at := n.Get("apiVersion"); at.Str() != "" && !strings.Contains(at.Str(), "/") &&
				n.Get("kind").Str() != "ReplicationController" {
				fail.By(at, n.Get("kind")).Says("has the apiVersion %q, which lacks a group", at.Str())
			}
		}},
		{"spec.minReplicas", between(1, many)},
		{"spec.maxReplicas", between(1, many)},
		{"spec", func(n *yamldoc.Node, fail view.Failure) {
			low, _ := n.Get("minReplicas").Int()
			if high, ok := n.Get("maxReplicas").Int(); ok && high < low {
				fail.By(n.Get("maxReplicas"), n.Get("minReplicas")).Says("has maxReplicas %d, less than minReplicas %d",
					high, low)
			}
		}},
		{"spec.metrics.*", choice(true, metricSources...)},
		{"spec.metrics.*", func(n *yamldoc.Node, fail view.Failure) {
			of := n.Get("type")
			source := of.Str()
			if source != "" {
				source = strings.ToLower(source[:1]) + source[1:]
			}
			if n.Get(source) == nil || !slices.Contains(metricSources, source) {
				fail.By(cmp.Or(of, n)).Says("has the type %q, but not the source of that type", of.Str())
			}
		}},
	}, under("spec.metrics.*.resource", resourceMetricDemands), under("spec.metrics.*.containerResource", resourceMetricDemands),
		under("spec.metrics.*.object", metricDemands), under("spec.metrics.*.pods", metricDemands), under("spec.metrics.*.external", metricDemands),
		[]demand{
			{"spec.metrics.*.object.target", choiceOfAny("value", "averageValue")},
			{"spec.metrics.*.pods.target", needs("averageValue")},
			{"spec.metrics.*.external.target", choice(true, "value", "averageValue")},
			{"spec.metrics.*.object", needs("describedObject")},
			{"spec.metrics.*.containerResource", needs("container")},
		},
		under("spec.behavior.scaleUp", scalingDemands), under("spec.behavior.scaleDown", scalingDemands))},
	admissionGroup: {
		"ValidatingAdmissionPolicy": slices.Concat([]demand{
			{"", needs("spec")},
			{"spec", needs("matchConstraints")},
			{"spec", func(n *yamldoc.Node, fail view.Failure) {
				if unset(n.Get("validations")) && unset(n.Get("auditAnnotations")) {
					fail.By(n, n.Get("validations"), n.Get("auditAnnotations")).Says("has neither validations nor auditAnnotations")
				}
			}},
			{"spec.failurePolicy", oneOf("Fail", "Ignore")},
			{"spec.paramKind", needs("apiVersion", "kind")},
			{"spec.paramKind.apiVersion", form(func(text string) []string { return validation.IsDNS1035Label(text[strings.Index(text, "/")+1:]) })},
			{"spec.paramKind.kind", form(func(text string) []string { return validation.IsDNS1035Label(strings.ToLower(text)) })},
			{"spec.matchConstraints", needs("resourceRules")},
			{"spec", policyExpressions},
			{"spec.variables.*", needs("name", "expression")},
			{"spec.variables.*.name", like(phrase.Pattern(`^[A-Za-z_]\w*$`), "an identifier of CEL")},
			{"spec.validations.*", needs("expression")},
			{"spec.validations.*.message", like(phrase.Pattern(`^\s*[^\r\n]*\s*$`), "a single line")},
			{"spec.validations.*.reason", oneOf("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")},
			{"spec.auditAnnotations", distinct("key")},
			{"spec.auditAnnotations.*.key", form(func(text string) []string { return validation.IsQualifiedName("a/" + text) })},
			{"spec.auditAnnotations.*", needs("key", "valueExpression")},
		}, under("spec.matchConstraints", policyMatchDemands)),
		"ValidatingAdmissionPolicyBinding": slices.Concat([]demand{
			{"", needs("spec")},
			{"spec", needs("policyName", "validationActions")},
			{"spec.policyName", form(validation.IsDNS1123Subdomain)},
			{"spec.validationActions", distinct()},
			{"spec.validationActions.*", oneOf("Deny", "Warn", "Audit")},
			{"spec.validationActions", notBoth("Deny", "Warn")},
			{"spec.paramRef", needs("parameterNotFoundAction")},
			{"spec.paramRef", func(n *yamldoc.Node, fail view.Failure) {
				name, selector := n.Get("name"), n.Get("selector")
				switch none := selector == nil || selector.Is(yamldoc.Null); {
				case unset(name) && none:
					fail.By(n, name, selector).Says("has neither a name nor a selector")
				case !unset(name) && !none:
					fail.By(name, selector).Says("has both a name and a selector")
				}
			}},
			{"spec.paramRef.selector", selects},
			{"spec.paramRef.name", form(content.IsPathSegmentName)},
			{"spec.paramRef.parameterNotFoundAction", oneOf("", "Allow", "Deny")},
		}, under("spec.matchResources", policyMatchDemands)),
	},
}

// policyExpressions demands that the expressions of a policy compile. They may use its params,
// if it has some, and but for its conditions also its variables, as each of these may use those before it.
func policyExpressions(n *yamldoc.Node, fail view.Failure) {
	var params []string
	if kind := n.Get("paramKind"); kind != nil && !kind.Is(yamldoc.Null) {
		params = []string{"params"}
	}
	env := cel.NewPolicy(params...)
	open := slices.DeleteFunc(view.Within(n.Get("variables")), func(v *yamldoc.Node) bool { return !view.Variable(fail.Object, v) })
	compile := func(gives string) test { return compiles(gives, env.Condition, open...) }
	rows := append(conditionDemands(params...), demand{"variables.*", func(n *yamldoc.Node, fail view.Failure) {
		if at := n.Get("expression"); at != nil {
			fail.Value, fail.Path = at, append(slices.Clip(fail.Path), "expression")
			compiles("", func(text, _ string) error { return env.Declare(n.Get("name").Str(), text) }, open...)(at, fail)
		}
	}})
	judge{fail.Pass, fail.Object}.demands(n, fail.Path, append(rows,
		demand{"validations.*.expression", compile("bool")},
		demand{"validations.*.messageExpression", compile("string")},
		demand{"auditAnnotations.*.valueExpression", compile("string null_type")}))
}

var policyMatchDemands = slices.Concat(selectionDemands, under("resourceRules.*", matchedDemands), under("excludeResourceRules.*", matchedDemands))

// claimDemands are those of a claim for a volume.
var claimDemands = []demand{
	{"", needs("accessModes", "resources")},
	{"accessModes.*", oneOf("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")},
	{"accessModes", notBoth("ReadWriteOncePod", "ReadWriteOnce")},
	{"accessModes", notBoth("ReadWriteOncePod", "ReadOnlyMany")},
	{"accessModes", notBoth("ReadWriteOncePod", "ReadWriteMany")},
	{"volumeMode", oneOf("Filesystem", "Block")},
	{"selector", selects},
	{"storageClassName", form(validation.IsDNS1123Subdomain)},
	{"resources", needs("requests")},
	{"resources.requests", needs("storage")},
	{"resources.requests.storage", positive(false)},
}

var metricSources = []string{"object", "pods", "resource", "external", "containerResource"}

var targetDemands = []demand{
	{"", needs("target")},
	{"target", needs("type")},
	{"target.type", oneOf("", "Utilization", "Value", "AverageValue")},
	{"target.value", positive(false)},
	{"target.averageValue", positive(false)},
}

var metricDemands = append([]demand{
	{"", needs("metric")},
	{"metric", needs("name")},
	{"metric.name", form(content.IsPathSegmentName)},
	{"describedObject", needs("kind", "name")},
	{"describedObject.name", form(content.IsPathSegmentName)},
}, targetDemands...)

var resourceMetricDemands = append([]demand{
	{"", needs("name")},
	{"target", choice(true, "averageUtilization", "averageValue")},
	{"target.averageUtilization", between(1, many)},
}, targetDemands...)

var scalingDemands = []demand{
	{"stabilizationWindowSeconds", between(0, 3600)},
	{"selectPolicy", oneOf("Max", "Min", "Disabled")},
	{"policies", func(n *yamldoc.Node, fail view.Failure) {
		if n.Is(yamldoc.List) && len(n.List()) == 0 {
			fail.Says("is empty; without the field, Kubernetes sets policies")
		}
	}},
	{"tolerance", positive(true)},
	{"policies.*", needs("type", "value", "periodSeconds")},
	{"policies.*.type", oneOf("", "Pods", "Percent")},
	{"policies.*.value", between(1, many)},
	{"policies.*.periodSeconds", between(1, 1800)},
}

var peerPortDemands = []demand{
	{"protocol", oneOf("TCP", "UDP", "SCTP")},
	{"port", aPort},
	{"port", notEmpty},
	{"", func(n *yamldoc.Node, fail view.Failure) {
		port, end := n.Get("port"), n.Get("endPort")
		first, number := port.Int()
		switch last, ok := end.Int(); {
		case ok && !number:
			fail.By(end, port).Says("has the endPort %d, which needs a port with a number", last)
		case ok && last < first:
			fail.By(end, port).Says("has the endPort %d, less than the port %d", last, first)
		}
	}},
	{"endPort", between(1, 65535)},
}

var peerDemands = []demand{
	{"podSelector", selects},
	{"namespaceSelector", selects},
	{"", func(n *yamldoc.Node, fail view.Failure) {
		block, pods, spaces := n.Get("ipBlock"), n.Get("podSelector"), n.Get("namespaceSelector")
		switch others := !unset(pods) || !unset(spaces); {
		case !unset(block) && others:
			fail.By(block).Says("has both an ipBlock and a selector")
		case unset(block) && !others:
			fail.Says("has none of ipBlock, podSelector and namespaceSelector")
		}
	}},
	{"ipBlock", needs("cidr")},
	{"ipBlock", func(n *yamldoc.Node, fail view.Failure) {
		whole := prefix(n.Get("cidr"), fail)
		for _, item := range n.Get("except").List() {
			if part := prefix(item, fail); part.IsValid() && whole.IsValid() &&
				(part.Bits() <= whole.Bits() || !whole.Contains(part.Addr())) {
				fail.By(item, n.Get("cidr")).Says("excepts %s, which is not a part of %s", part, whole)
			}
		}
	}},
}

// notBoth demands that a list has at most one of two words.
func notBoth(one, other string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		has := map[string]bool{}
		for _, item := range n.List() {
			has[item.Str()] = true
		}
		if has[one] && has[other] {
			fail.By(n).By(n.List()...).Says("has both %s and %s", one, other)
		}
	}
}

// prefix is the range of addresses that a value names; it fails if the value names none.
func prefix(n *yamldoc.Node, fail view.Failure) netip.Prefix {
	p, err := netip.ParsePrefix(n.Str())
	switch {
	case n.Str() != "" && err != nil:
		fail.By(n).Says(notCIDR, n.Str())
	case err == nil && p != p.Masked():
		fail.By(n).Says(hostBits, n.Str(), p.Masked()) // refused since Kubernetes v1.36
	}
	return p.Masked()
}

const (
	notCIDR  = "has %q; it must be in CIDR notation, such as 10.0.0.0/16"
	hostBits = "has %q, an address with a length; the range is %s"
)

// pathFaults are what the path of an Ingress must not contain, where a line ends it.
var pathFaults = []string{"//", "/./", "/../", "%2f", "%2F", "/..\n", "/.\n"}

// quotaScopes are the scopes that a ResourceQuota may have.
var quotaScopes = []string{"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"}

// scopeExpression demands an expression about a scope of a ResourceQuota.
func scopeExpression(n *yamldoc.Node, fail view.Failure) {
	scope := n.Get("scopeName")
	operator, _ := expression(n, fail, "In", "NotIn", "Exists", "DoesNotExist")
	if op := operator.Str(); op != "Exists" && slices.Contains(quotaScopes, scope.Str()) &&
		!strings.HasSuffix(scope.Str(), "Class") {
		fail.By(operator, scope).Says("has the operator %s; the scope %s allows Exists only", op, scope.Str())
	}
}

// scoped demands that a ResourceQuota limits what its scopes are about.
func scoped(n *yamldoc.Node, fail view.Failure) {
	named := n.All("scopeSelector", "matchExpressions", "*", "scopeName")
	for _, scope := range slices.Concat(n.Get("scopes").List(), named) {
		for _, f := range view.Fields(n.Get("hard")) {
			known := "pods cpu memory requests.cpu requests.memory limits.cpu limits.memory"
			switch scope.Str() {
			case "BestEffort":
				known = "pods"
			case "VolumeAttributesClass":
				known = "persistentvolumeclaims requests.storage"
			}
			standard := slices.Contains(quotaNames, f.Name) || strings.Contains(f.Name, "hugepages-")
			if standard && slices.Contains(quotaScopes, scope.Str()) &&
				!slices.Contains(strings.Fields(known), f.Name) {
				fail.By(f.Key(), scope).Says("limits %s, which the scope %s does not know", f.Name, scope.Str())
			}
		}
	}
}

var backendDemands = []demand{
	{"", choice(true, "service", "resource")},
	{"service", needs("name")},
	{"service", func(n *yamldoc.Node, fail view.Failure) {
		name, number := n.Get("port", "name"), n.Get("port", "number")
		if unset(name) == (unset(number) || isZero(number)) {
			fail.By(n, name, number).Says("must have either the name or the number of a port")
		}
	}},
	{"service.name", form(validation.IsDNS1123Label)},
	{"service.port.name", form(validation.IsValidPortName)},
	{"service.port.number", between(0, 65535)},
	{"resource", needs("kind", "name")},
	{"resource.name", form(content.IsPathSegmentName)},
	{"resource.apiGroup", form(validation.IsDNS1123Subdomain)},
}

// host demands a name of hosts, which may begin with a star.
func host(n *yamldoc.Node, fail view.Failure) {
	form(hostName)(n, fail)
	if _, err := netip.ParseAddr(n.Str()); err == nil {
		fail.Says("is %q, an address; it must be a name", n.Str())
	}
}

func hostName(text string) []string {
	if strings.Contains(text, "*") {
		return validation.IsWildcardDNS1123Subdomain(text)
	}
	return validation.IsDNS1123Subdomain(text)
}

// quotaNames are the resources without a domain that a ResourceQuota may limit; of the
// first ones there are only whole numbers.
var quotaNames = strings.Fields("pods resourcequotas services replicationcontrollers secrets configmaps persistentvolumeclaims services.nodeports services.loadbalancers " +
	"cpu memory ephemeral-storage requests.cpu requests.memory requests.storage requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage")

const wholeQuotas = 9

func quotas(n *yamldoc.Node, fail view.Failure) {
	for _, f := range view.Fields(n) {
		at := slices.Index(quotaNames, f.Name)
		q, err := resource.ParseQuantity(f.Value.Text())
		switch huge := strings.HasPrefix(f.Name, "hugepages-") || strings.HasPrefix(f.Name, "requests.hugepages-"); {
		case len(validation.IsQualifiedName(f.Name)) > 0, at < 0 && !huge && !strings.Contains(f.Name, "/"):
			fail.By(f.Key()).Says("has %q, which no quota can limit", f.Name)
		case err != nil: // another rule tells of it
		case q.Sign() < 0:
			fail.By(f.Value).Says("has %s %s, which is negative", f.Name, f.Value.Text())
		case at >= 0 && at < wholeQuotas && q.MilliValue()%1000 != 0:
			fail.By(f.Value).Says("has %s %s, which is not a whole number", f.Name, f.Value.Text())
		}
	}
}

// ascending demands that the limits of a LimitRange are in order.
func ascending(n *yamldoc.Node, fail view.Failure) {
	order := []string{"min", "defaultRequest", "default", "max"}
	if n.Get("type").Str() == "Pod" {
		for _, name := range order[1:3] {
			if len(view.Fields(n.Get(name))) > 0 {
				fail.By(n.Get(name), n.Get("type")).Says("has %s, which the type Pod does not allow", name)
			}
		}
		order = []string{"min", "max"}
	}
	if n.Get("type").Str() == "PersistentVolumeClaim" &&
		n.Get("min", "storage") == nil && n.Get("max", "storage") == nil {
		fail.By(n, n.Get("type"), n.Get("min"), n.Get("max")).Says("has neither min nor max of storage")
	}
	for _, f := range view.Fields(n.Get("maxLimitRequestRatio")) {
		if q, err := resource.ParseQuantity(f.Value.Text()); err == nil && q.Cmp(resource.MustParse("1")) < 0 {
			fail.By(f.Value).Says("has the maxLimitRequestRatio %s of %s; it must be at least 1", f.Value.Text(), f.Name)
		}
	}
	for i, low := range order {
		for _, f := range view.Fields(n.Get(low)) {
			for _, high := range order[i+1:] {
				at := n.Get(high, f.Name)
				a, err := resource.ParseQuantity(f.Value.Text())
				b, also := resource.ParseQuantity(at.Text())
				if err == nil && also == nil && a.Cmp(b) > 0 {
					fail.By(f.Value, at).Says("has %s %s of %s, more than %s, %s", low, f.Value.Text(), f.Name, high, at.Text())
				}
			}
		}
	}
}

// keysOfType are the keys that Secrets of a type must have.
var keysOfType = map[string][]string{
	"kubernetes.io/tls": {"tls.crt", "tls.key"}, "kubernetes.io/ssh-auth": {"ssh-privatekey"},
	"kubernetes.io/dockerconfigjson": {".dockerconfigjson"}, "kubernetes.io/dockercfg": {".dockercfg"},
}

// dataOfType demands what the type of a Secret needs.
func dataOfType(n *yamldoc.Node, fail view.Failure) {
	of := n.Get("type")
	for _, key := range keysOfType[of.Str()] {
		value, plain := n.Get("data", key), n.Get("stringData", key)
		raw, err := base64.StdEncoding.DecodeString(value.Str())
		if plain != nil {
			raw, err = []byte(plain.Str()), nil
		}
		switch {
		case value == nil && plain == nil:
			fail.By(of, n.Get("data"), n.Get("stringData")).Says("has the type %s, but no %s", of.Str(), key)
		case err == nil && strings.Contains(key, ".docker") && json.Unmarshal(raw, &map[string]any{}) != nil:
			fail.By(cmp.Or(plain, value), of).Says("has a value under %s that is not JSON", key)
		}
	}
	if of.Str() == "kubernetes.io/service-account-token" &&
		unset(n.Get("metadata", "annotations", "kubernetes.io/service-account.name")) {
		fail.By(of, n.Get("metadata", "annotations", "kubernetes.io/service-account.name")).Says("has the type %s, but no annotation kubernetes.io/service-account.name", of.Str())
	}
	if of.Str() == "kubernetes.io/basic-auth" && !slices.ContainsFunc([]string{"data", "stringData"}, func(list string) bool {
		return n.Get(list, "username") != nil || n.Get(list, "password") != nil
	}) {
		fail.By(of, n.Get("data"), n.Get("stringData")).Says("has the type %s, but neither username nor password", of.Str())
	}
}

// entries demands keys that may be names of files.
func entries(n *yamldoc.Node, fail view.Failure) {
	for _, f := range view.Fields(n) {
		if list := validation.IsConfigMapKey(f.Name); len(list) > 0 {
			fail.By(f.Key()).Says("has the key %q: %s", f.Name, list[0])
		}
	}
}

func onceInData(n *yamldoc.Node, fail view.Failure) {
	for _, f := range view.Fields(n.Get("binaryData")) {
		if n.Get("data", f.Name) != nil {
			fail.By(f.Value).Says("has the key %s in data and in binaryData", f.Name)
		}
	}
}
