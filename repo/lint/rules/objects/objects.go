package objects

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = accessRules.Add(lint.Rule{
	ID: "RBAC015", Name: "role-fields", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Roles and bindings must have fields that the API server accepts",
	Source: "Kubernetes pkg/apis/rbac/validation, ValidatePolicyRule and ValidateClusterRoleBinding",
	Why:    "The API server refuses the role or binding in the middle of the installation.",
	Fix:    "Give each rule verbs, apiGroups and resources, or verbs and nonResourceURLs in a ClusterRole, and each binding a roleRef and subjects with kinds and names.",
	Check: ofKinds(map[string]map[string][]demand{view.RbacGroup: {
		"ClusterRole":        append(roleDemands, demand{"rules.*", policyRule}),
		"Role":               append(roleDemands, demand{"rules.*", policyRule}, demand{"rules.*.nonResourceURLs", never("only a ClusterRole may do")}),
		"ClusterRoleBinding": append(bindingDemands, demand{"roleRef.kind", oneOf("ClusterRole")}),
		"RoleBinding":        append(bindingDemands, demand{"roleRef.kind", oneOf("ClusterRole", "Role")}),
	}}),
})

// ofKinds is the check of a rule that has demands for objects, by group and kind.
func ofKinds(tables map[string]map[string][]demand) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, o := range p.File.Objects() {
			if o.Version == "v1" || o.Version == "v2" || o.Group == view.RbacGroup {
				judge{p, o}.demands(o.Doc.Root, nil, tables[o.Group][o.Kind])
			}
		}
	}
}

// ofWebhooks is the check of a rule that has demands for webhooks of both kinds.
func ofWebhooks(rows ...demand) func(*lint.Pass) {
	return ofKinds(map[string]map[string][]demand{admissionGroup: {"ValidatingWebhookConfiguration": rows, "MutatingWebhookConfiguration": rows}})
}

var roleDemands = []demand{
	{"rules.*", needs("verbs")},
	{"aggregationRule", needs("clusterRoleSelectors")},
	{"aggregationRule.clusterRoleSelectors.*", selects},
}

func policyRule(n *yamldoc.Node, fail view.Failure) {
	if urls := n.Get("nonResourceURLs"); !unset(urls) {
		if !unset(n.Get("apiGroups")) || !unset(n.Get("resources")) || !unset(n.Get("resourceNames")) {
			fail.By(urls).Says("has both nonResourceURLs and resources")
		}
		return
	}
	needs("apiGroups", "resources")(n, fail)
}

var bindingDemands = []demand{
	{"", needs("roleRef")},
	{"roleRef", needs("kind", "name")},
	{"roleRef.name", form(content.IsPathSegmentName)},
	{"roleRef.apiGroup", oneOf("", view.RbacGroup)},
	{"subjects.*", needs("kind", "name")},
	{"subjects.*.kind", oneOf("", "ServiceAccount", "User", "Group")},
	{"subjects.*", func(n *yamldoc.Node, fail view.Failure) {
		switch at := n.Get("apiGroup"); n.Get("kind").Str() {
		case "ServiceAccount":
			if at.Str() != "" {
				fail.By(at, n.Get("kind")).Says("has the apiGroup %q; a ServiceAccount must have none", at.Str())
			}
			if name := n.Get("name"); name != nil {
				form(validation.IsDNS1123Subdomain)(name, fail.By(name, n.Get("kind")))
			}
		case "User", "Group":
			if at.Str() != "" && at.Str() != view.RbacGroup {
				fail.By(at, n.Get("kind")).Says("has the apiGroup %q; it must be %s", at.Str(), view.RbacGroup)
			}
		}
	}},
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH014", Name: "webhook-fields", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Webhooks must have fields that the API server accepts",
	Source: "Kubernetes pkg/apis/admissionregistration/validation, validateMutatingWebhook and validateRuleWithOperations",
	Why:    "The API server refuses the configuration with all its webhooks.",
	Fix:    "Set the field to what the message allows. Most come from a +kubebuilder:webhook marker or a patch in config/webhook.",
	Check: ofKinds(map[string]map[string][]demand{admissionGroup: {
		"ValidatingWebhookConfiguration": webhookDemands,
		"MutatingWebhookConfiguration":   append(webhookDemands, demand{"webhooks.*.reinvocationPolicy", oneOf("Never", "IfNeeded")}),
	}}),
})

var webhookDemands = slices.Concat(
	under("webhooks.*.rules.*", matchedDemands), under("webhooks.*", selectionDemands), under("webhooks.*", conditionDemands()),
	[]demand{
		{"webhooks.*.admissionReviewVersions", distinct()},
		{"webhooks.*.admissionReviewVersions.*", form(validation.IsDNS1035Label)},
		{"webhooks.*.admissionReviewVersions.*", notEmpty},
		{"webhooks.*.failurePolicy", oneOf("Fail", "Ignore")},
		{"webhooks.*.clientConfig.url", fault(view.URLFault)},
		{"webhooks.*.clientConfig.service", needs("name", "namespace")},
		{"webhooks.*.clientConfig.service.path", fault(view.PathFault)},
		{"webhooks.*.clientConfig.service.port", between(1, math.MaxUint16)},
	})

// under is demands of what stands at a path.
func under(path string, rows []demand) (out []demand) {
	for _, row := range rows {
		out = append(out, demand{strings.TrimSuffix(path+"."+row.path, "."), row.test})
	}
	return out
}

// matchedDemands are those of the requests that a webhook or policy is for.
var matchedDemands = []demand{
	{"", needs("operations", "apiGroups", "apiVersions", "resources")},
	{"operations", alone},
	{"operations.*", oneOf("*", "CREATE", "UPDATE", "DELETE", "CONNECT")},
	{"apiGroups", alone},
	{"apiVersions", alone},
	{"apiVersions.*", notEmpty},
	{"resources", webhookedResources},
	{"resources.*", notEmpty},
	{"resourceNames", distinct()},
	{"resourceNames.*", form(content.IsPathSegmentName)},
	{"scope", oneOf("*", "Cluster", "Namespaced")},
}

var selectionDemands = []demand{
	{"matchPolicy", oneOf("Equivalent", "Exact")},
	{"namespaceSelector", selects},
	{"objectSelector", selects},
}

// conditionDemands are those of matchConditions, which may use some more variables.
func conditionDemands(variables ...string) []demand {
	return []demand{
		{"matchConditions", atMost(64)},
		{"matchConditions", distinct("name")},
		{"matchConditions.*", needs("name", "expression")},
		{"matchConditions.*.name", form(validation.IsQualifiedName)},
		{"matchConditions.*.expression", compiles("bool", cel.NewConditions(variables...).Condition)},
	}
}

// compiles demands an expression that gives one of some types, in words. Others may decide
// it too: declarations of the names that it uses.
func compiles(gives string, condition func(text, gives string) error, others ...*yamldoc.Node) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		if err := condition(n.Str(), gives); n.Str() != "" && err != nil {
			fail.By(n).By(others...).Says("does not compile: %v", err)
		}
	}
}

func notEmpty(n *yamldoc.Node, fail view.Failure) {
	if n.Is(yamldoc.Null) || n.Is(yamldoc.String) && n.Text() == "" {
		fail.Says("is empty")
	}
}

// fault demands a text about which a function finds nothing to say.
func fault(of func(string) string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		if n.Is(yamldoc.String) {
			if why := of(n.Text()); why != "" {
				fail.Says("%q %s", n.Text(), why)
			}
		}
	}
}

func atMost(limit int) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		if len(n.List()) > limit {
			fail.Says("has %d entries; at most %d are allowed", len(n.List()), limit)
		}
	}
}

// webhookedResources demands that no resource is covered by another one.
func webhookedResources(n *yamldoc.Node, fail view.Failure) {
	covers := map[string]*yamldoc.Node{} // "pods/*" and "*/status", as they stand
	plain, star := false, false
	for _, item := range n.List() {
		text := item.Str()
		kind, sub, split := strings.Cut(text, "/")
		switch {
		case text == "*":
			plain, star = false, true // what the API server does: only names after the star count
		case !split:
			plain = text != ""
		case text == "*/*" && len(n.List()) > 1:
			fail.By(item).By(n.List()...).Says(`has other resources besides "*/*"`)
		case covers[kind+"/*"] != nil, covers["*/"+sub] != nil:
			fail.By(item, covers[kind+"/*"], covers["*/"+sub]).Says("%q repeats what another entry covers", text)
		}
		if split && (kind == "*" || sub == "*") {
			covers[text] = item
		}
	}
	if plain && star {
		fail.By(n).By(n.List()...).Says(`has other resources besides "*"`)
	}
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH015", Name: "service-fields", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Services must have fields that the API server accepts",
	Source: "Kubernetes pkg/apis/core/validation, ValidateService and validateServicePort",
	Why:    "The API server refuses the Service in the middle of the installation.",
	Fix:    "Correct the field. A Service with several ports must name each of them.",
	Check:  ofKinds(map[string]map[string][]demand{"": {"Service": serviceDemands}}),
})

var serviceDemands = []demand{
	{"", needs("spec")},
	{"spec", func(n *yamldoc.Node, fail view.Failure) {
		ports := n.Get("ports")
		headless := n.Get("clusterIP").Str() == "None"
		if external := n.Get("type").Str() == "ExternalName"; external {
			needs("externalName")(n, fail.By(n, n.Get("type")))
		} else if unset(ports) && !headless {
			fail.By(cmp.Or(ports, n), n.Get("type"), n.Get("clusterIP")).Says("has no ports")
		}
		for i, port := range ports.List() {
			if len(ports.List()) > 1 && unset(port.Get("name")) {
				fail.By(port, port.Get("name")).Says("has several ports, so each needs a name; ports[%d] has none", i)
			}
			inside := unset(n.Get("type")) || n.Get("type").Str() == "ClusterIP"
			if v, _ := port.Get("nodePort").Int(); inside && v != 0 {
				fail.By(port.Get("nodePort"), n.Get("type")).Says("has a nodePort, which the type ClusterIP does not allow")
			}
		}
	}},
	{"spec.type", oneOf("", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName")},
	{"spec.sessionAffinity", oneOf("", "None", "ClientIP")},
	{"spec.ipFamilyPolicy", oneOf("SingleStack", "PreferDualStack", "RequireDualStack")},
	{"spec.ipFamilies", distinct()},
	{"spec.ipFamilies.*", oneOf("IPv4", "IPv6")},
	{"spec.clusterIP", func(n *yamldoc.Node, fail view.Failure) {
		if n.Str() != "" && n.Str() != "None" {
			address(n, fail)
		}
	}},
	{"spec", func(n *yamldoc.Node, fail view.Failure) {
		at, of := n.Get("externalTrafficPolicy"), n.Get("type")
		if at.Str() != "" && (unset(of) || of.Str() == "ClusterIP") && unset(n.Get("externalIPs")) {
			fail.By(at, of).Says("has an externalTrafficPolicy, which the type ClusterIP does not allow")
		}
	}},
	{"spec.loadBalancerSourceRanges.*", func(n *yamldoc.Node, fail view.Failure) {
		switch p, err := netip.ParsePrefix(strings.TrimSpace(n.Str())); {
		case err != nil:
			fail.Says(notCIDR, n.Str())
		case p != p.Masked():
			fail.Says(hostBits, n.Str(), p.Masked())
		}
	}},
	{"spec", only("loadBalancerSourceRanges", "type", "LoadBalancer")},
	{"spec", only("loadBalancerClass", "type", "LoadBalancer")},
	{"spec", only("allocateLoadBalancerNodePorts", "type", "LoadBalancer")},
	{"spec", only("healthCheckNodePort", "type", "LoadBalancer")},
	{"spec", only("healthCheckNodePort", "externalTrafficPolicy", "Local")},
	{"spec", func(n *yamldoc.Node, fail view.Failure) {
		if none, of := n.Get("clusterIP"), n.Get("type"); none.Str() == "None" &&
			(of.Str() == "NodePort" || of.Str() == "LoadBalancer") {
			fail.By(none, of).Says("has the clusterIP None, which the type %s does not allow", of.Str())
		}
	}},
	{"spec.loadBalancerClass", form(validation.IsQualifiedName)},
	{"spec", func(n *yamldoc.Node, fail view.Failure) { // without ClientIP, it is dropped
		at, affinity := n.Get("sessionAffinityConfig", "clientIP", "timeoutSeconds"), n.Get("sessionAffinity")
		if v, ok := at.Int(); ok && affinity.Str() == "ClientIP" && (v < 1 || v > 86400) {
			fail.By(at, affinity).Says("has a session affinity of %d seconds; it must be between 1 and 86400", v)
		}
	}},
	{"spec", func(n *yamldoc.Node, fail view.Failure) {
		if at, of := n.Get("externalName"), n.Get("type"); of.Str() == "ExternalName" {
			fail.Path = append(slices.Clip(fail.Path), "externalName")
			form(func(text string) []string { return validation.IsDNS1123Subdomain(strings.TrimSuffix(text, ".")) })(at, fail.By(at, of))
		}
	}},
	{"spec.externalIPs.*", address},
	{"spec.externalIPs.*", reachable},
	{"spec.trafficDistribution", oneOf("PreferClose", "PreferSameZone", "PreferSameNode")},
	{"spec.externalTrafficPolicy", oneOf("", "Cluster", "Local")},
	{"spec.internalTrafficPolicy", oneOf("Cluster", "Local")},
	{"spec.selector", labels},
	{"spec.ports", distinct("name")},
	{"spec.ports", func(n *yamldoc.Node, fail view.Failure) {
		seen := map[string]*yamldoc.Node{}
		for _, port := range n.List() {
			for _, name := range [...]string{"port", "nodePort"} {
				at := port.Get(name)
				key := strings.TrimPrefix(name+" ", "port ") + cmp.Or(port.Get("protocol").Str(), "TCP") + " " + at.Text()
				if first := seen[key]; !unset(at) && !isZero(at) && first != nil {
					fail.By(at, port.Get("protocol"), first.Get(name), first.Get("protocol")).Says("has two entries for %s", key)
				}
				seen[key] = port
			}
		}
	}},
	{"spec.ports.*", needs("port")},
	{"spec.ports.*.name", form(validation.IsDNS1123Label)},
	{"spec.ports.*.port", between(1, math.MaxUint16)},
	{"spec.ports.*.protocol", oneOf("", "TCP", "UDP", "SCTP")},
	{"spec.ports.*.targetPort", func(n *yamldoc.Node, fail view.Failure) {
		if !isZero(n) { // which is none
			aPort(n, fail)
		}
	}},
	{"spec.ports.*.appProtocol", form(validation.IsQualifiedName)},
}

func unreachable(a netip.Addr) bool {
	return a.IsUnspecified() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast()
}

// reachable demands an address that is not one of the machine or its link alone.
func reachable(n *yamldoc.Node, fail view.Failure) {
	a, err := netip.ParseAddr(n.Str())
	if err == nil && unreachable(a) {
		fail.Says("is %s, which other machines cannot reach", n.Str())
	}
}

// labels demands labels with valid keys and values.
func labels(n *yamldoc.Node, fail view.Failure) {
	for _, f := range view.Fields(n) {
		for _, why := range append(validation.IsQualifiedName(f.Name), validation.IsValidLabelValue(f.Value.Str())...) {
			fail.By(f.Value, f.Key()).Says("has the label %s: %s, which is not valid: %s", f.Name, f.Value.Text(), why)
			break
		}
	}
}

// aPort demands the number of a port or a name that one may have.
func aPort(n *yamldoc.Node, fail view.Failure) {
	between(1, math.MaxUint16)(n, fail)
	form(validation.IsValidPortName)(n, fail)
}

var _ = workloadRules.Add(lint.Rule{
	ID: "DEP007", Name: "pod-fields", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Workloads must have fields that the API server accepts",
	Source: "Kubernetes pkg/apis/core/validation, ValidatePodSpec and validateContainerCommon; pkg/apis/apps/validation",
	Why:    "The API server refuses the workload, so the controller never runs.",
	Fix:    "Set the field to what the message allows. A volumeMount needs a volume with its name in the Pod.",
	Check:  view.EachObject(podFields),
})

func podFields(p *lint.Pass, o *manifest.Object) {
	j, pod := judge{p, o}, view.PodOf(o)
	if o.Group == "apps" || o.Group == "batch" {
		j.demands(o.Doc.Root, nil, workloadDemands[o.Kind])
	}
	if o.Group == "apps" {
		j.demands(pod, nil, []demand{{"restartPolicy", oneOf("", "Always")}, {"activeDeadlineSeconds", never("only the pods of a Job may do")}})
	}
	if o.Group == "batch" {
		j.demands(pod, nil, []demand{{"", needs("restartPolicy")}, {"restartPolicy", oneOf("", "OnFailure", "Never")}})
	}
	if pod == nil {
		return
	}
	j.demands(pod, nil, podDemands)
	mounted, device := volumes(o, pod)
	for _, list := range [...]string{"containers", "initContainers"} {
		for i, c := range pod.Get(list).List() {
			at := []string{list + "[" + strconv.Itoa(i) + "]"}
			j.demands(c, at, containerDemands)
			j.demands(c, at, []demand{{"volumeMounts.*.name", mounted}, {"volumeDevices.*.name", mounted}, {"volumeDevices.*.name", device}})
			for _, probe := range probes {
				if n := c.Get(probe); n != nil && list == "initContainers" && c.Get("restartPolicy").Str() != "Always" {
					j.walk(n, append(at, probe), "", func(_ *yamldoc.Node, fail view.Failure) {
						fail.By(n, c.Get("restartPolicy")).Says("is only allowed for containers that keep running")
					})
				}
				j.demands(c.Get(probe), append(at, probe), probeDemands)
				if probe != "readinessProbe" {
					j.demands(c.Get(probe), append(at, probe), []demand{{"successThreshold", onlyOne}})
				} else {
					j.demands(c.Get(probe), append(at, probe), []demand{{"terminationGracePeriodSeconds", func(_ *yamldoc.Node, fail view.Failure) {
						fail.Says("is set, which only the other probes may do")
					}}})
				}
			}
		}
	}
}

// volumes are the demands for a volume that the pods of an object have, and for one that
// may be a device.
func volumes(o *manifest.Object, pod *yamldoc.Node) (mounted, device test) {
	names := append(pod.All("volumes", "*", "name"), o.Get("spec", "volumeClaimTemplates").All("*", "metadata", "name")...)
	var files []*yamldoc.Node
	for _, v := range pod.Get("volumes").List() {
		if v.Get("persistentVolumeClaim") == nil && v.Get("ephemeral") == nil {
			files = append(files, v.Get("name"))
		}
	}
	return func(n *yamldoc.Node, fail view.Failure) {
			if n.Str() != "" && !yamldoc.Has(names, n.Str()) {
				fail.By(n).By(names...).Says("is %q, but the pod has no volume of that name", n.Text())
			}
		}, func(n *yamldoc.Node, fail view.Failure) {
			if n.Str() != "" && yamldoc.Has(files, n.Str()) {
				fail.By(n).By(files...).Says("is %q, but a device needs a volume with persistentVolumeClaim or ephemeral", n.Text())
			}
		}
}

func onlyOne(n *yamldoc.Node, fail view.Failure) {
	if v, ok := n.Int(); ok && v != 0 && v != 1 {
		fail.Says("is %d; it must be 1", v)
	}
}

var notNegative = between(0, many)

// workloadDemands are those of the kinds around pods.
var workloadDemands = map[string][]demand{
	"Deployment": {
		{"", needs("spec")}, {"spec", needs("template")}, {"spec.template", needs("spec")},
		{"spec.replicas", notNegative}, {"spec.minReadySeconds", notNegative}, {"spec.revisionHistoryLimit", notNegative},
		{"spec", func(n *yamldoc.Node, fail view.Failure) {
			ready, _ := n.Get("minReadySeconds").Int()
			deadline, ok := n.Get("progressDeadlineSeconds").Int()
			if !ok {
				deadline = 600
			}
			if deadline <= ready {
				fail.By(n.Get("progressDeadlineSeconds"), n.Get("minReadySeconds")).Says("has progressDeadlineSeconds %d, which must be greater than minReadySeconds, %d", deadline, ready)
			}
		}},
		{"spec.selector", selects},
		{"spec.strategy.type", oneOf("", "Recreate", "RollingUpdate")},
		{"spec.strategy", func(n *yamldoc.Node, fail view.Failure) {
			update := n.Get("rollingUpdate")
			if n.Get("type").Str() != "Recreate" &&
				isNone(update.Get("maxSurge")) && isNone(update.Get("maxUnavailable")) {
				fail.By(update, update.Get("maxSurge"), update.Get("maxUnavailable")).Says("allows neither a new pod nor a missing one: maxSurge and maxUnavailable are both 0")
			}
		}},
		{"spec.strategy", only("rollingUpdate", "type", "RollingUpdate", "")},
		{"spec.strategy.rollingUpdate.maxSurge", share(many)},
		{"spec.strategy.rollingUpdate.maxUnavailable", share(100)},
	},
	"DaemonSet": {
		{"", needs("spec")}, {"spec", needs("template")}, {"spec.template", needs("spec")},
		{"spec.minReadySeconds", notNegative}, {"spec.revisionHistoryLimit", notNegative}, {"spec.selector", selects},
		{"spec.updateStrategy.type", oneOf("", "OnDelete", "RollingUpdate")},
		{"spec.updateStrategy.rollingUpdate", func(n *yamldoc.Node, fail view.Failure) {
			surge, unavailable := n.Get("maxSurge"), n.Get("maxUnavailable")
			some := unavailable == nil || !isNone(unavailable) // the default is 1
			if more := surge != nil && !isNone(surge); more == some {
				fail.By(n, surge, unavailable).Says("must have one of maxSurge and maxUnavailable that is not 0, and only one")
			}
		}},
		{"spec.updateStrategy.rollingUpdate.maxSurge", share(100)},
		{"spec.updateStrategy.rollingUpdate.maxUnavailable", share(100)},
	},
	"StatefulSet": slices.Concat([]demand{
		{"", needs("spec")}, {"spec", needs("template")}, {"spec.template", needs("spec")},
		{"spec.replicas", notNegative}, {"spec.minReadySeconds", notNegative}, {"spec.revisionHistoryLimit", notNegative}, {"spec.selector", selects},
		{"spec.ordinals.start", notNegative},
		{"spec.podManagementPolicy", oneOf("", "OrderedReady", "Parallel")},
		{"spec.serviceName", form(validation.IsDNS1123Label)},
		{"spec.updateStrategy.type", oneOf("", "OnDelete", "RollingUpdate")},
		{"spec.updateStrategy", only("rollingUpdate", "type", "RollingUpdate", "")},
		{"spec.persistentVolumeClaimRetentionPolicy.whenDeleted", oneOf("Retain", "Delete")},
		{"spec.persistentVolumeClaimRetentionPolicy.whenScaled", oneOf("Retain", "Delete")},
		{"spec.updateStrategy.rollingUpdate.partition", notNegative},
		{"spec.updateStrategy.rollingUpdate.maxUnavailable", share(100)},
		{"spec.volumeClaimTemplates.*", needs("spec")},
	}, under("spec.volumeClaimTemplates.*.spec", claimDemands)),
	"Job": append(under("spec", jobDemands), demand{"spec", func(n *yamldoc.Node, fail view.Failure) {
		if at, manual := n.Get("selector"), n.Get("manualSelector"); !unset(at) && len(view.Fields(at)) > 0 &&
			!manual.Bool() {
			fail.By(at, manual).Says("has a selector, which needs manualSelector: true")
		}
	}}),
	"CronJob": append([]demand{
		{"", needs("spec")},
		{"spec", needs("schedule", "jobTemplate")},
		{"spec.jobTemplate", needs("spec")},
		{"spec.schedule", fault(scheduleFault)},
		{"spec.concurrencyPolicy", oneOf("", "Allow", "Forbid", "Replace")},
		{"metadata.name", like(phrase.Pattern(`^.{0,52}$`), "at most 52 characters long, because the Jobs are named after it")},
		{"spec.timeZone", like(zone, "a time zone such as Europe/Berlin")},
		{"spec.timeZone", fault(func(text string) string {
			if strings.EqualFold(text, "Local") {
				return "is not the name of a time zone"
			}
			return ""
		})},
		{"spec.jobTemplate.spec.selector", never("a CronJob does not allow")},
		{"spec.jobTemplate.spec.manualSelector", func(n *yamldoc.Node, fail view.Failure) {
			if n.Bool() {
				fail.Says("is true, which a CronJob does not allow")
			}
		}},
		{"spec.startingDeadlineSeconds", between(0, math.MaxInt64)}, {"spec.successfulJobsHistoryLimit", notNegative}, {"spec.failedJobsHistoryLimit", notNegative},
	}, under("spec.jobTemplate.spec", jobDemands)...),
}

var jobDemands = []demand{
	{"", needs("template")}, {"template", needs("spec")},
	{"parallelism", notNegative}, {"completions", notNegative}, {"backoffLimit", notNegative},
	{"activeDeadlineSeconds", between(0, math.MaxInt64)}, {"ttlSecondsAfterFinished", notNegative}, {"backoffLimitPerIndex", notNegative}, {"maxFailedIndexes", notNegative},
	{"template.spec.activeDeadlineSeconds", between(1, many)},
	{"completionMode", oneOf("NonIndexed", "Indexed")},
	{"", func(n *yamldoc.Node, fail view.Failure) {
		mode := n.Get("completionMode")
		if mode.Str() == "Indexed" {
			needs("completions")(n, fail.By(n, mode))
		}
		if at, limit := n.Get("maxFailedIndexes"), n.Get("backoffLimitPerIndex"); !unset(at) && unset(limit) {
			fail.By(at, limit).Says("has maxFailedIndexes, which need a backoffLimitPerIndex")
		}
	}},
	{"", func(n *yamldoc.Node, fail view.Failure) { // 0 is a limit, too
		if at, mode := n.Get("backoffLimitPerIndex"), n.Get("completionMode"); !unset(at) && mode.Str() != "Indexed" {
			fail.By(at, mode).Says("has backoffLimitPerIndex, which only the completionMode Indexed allows")
		}
	}},
	{"", only("successPolicy", "completionMode", "Indexed")},
	{"", only("podFailurePolicy", "template.spec.restartPolicy", "Never", "")},
	{"", only("podFailurePolicy", "podReplacementPolicy", "Failed", "")},
	{"", exitCodes},
	{"podReplacementPolicy", oneOf("Failed", "TerminatingOrFailed")},
	{"managedBy", domainPath},
	{"podFailurePolicy", needs("rules")},
	{"podFailurePolicy.rules", atMost(20)},
	{"podFailurePolicy.rules.*", needs("action")},
	{"podFailurePolicy.rules.*.action", oneOf("", "FailJob", "FailIndex", "Ignore", "Count")},
	{"podFailurePolicy.rules.*", choice(true, "onExitCodes", "onPodConditions")},
	{"podFailurePolicy.rules.*.onExitCodes", needs("operator", "values")},
	{"podFailurePolicy.rules.*.onExitCodes.operator", oneOf("", "In", "NotIn")},
	{"podFailurePolicy.rules.*.onPodConditions.*", needs("type")},
	{"podFailurePolicy.rules.*.onPodConditions.*.type", form(validation.IsQualifiedName)},
	{"podFailurePolicy.rules.*.onPodConditions.*.status", oneOf("", "True", "False", "Unknown")},
	{"successPolicy", needs("rules")},
	{"successPolicy.rules.*", choiceOfAny("succeededCount", "succeededIndexes")},
}

var domainPath = like(phrase.Pattern(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/.+$`),
	"a domain and a path, such as example.com/controller")

// zone is the form of the name of a time zone; which ones there are, the machine of the
// API server decides.
var zone = phrase.Pattern(`^[A-Za-z][\w.+-]*(/[A-Za-z][\w.+-]*)*$`)

// exitCodes demands that the rules about failed pods name containers that there are, and
// exit codes in order.
func exitCodes(n *yamldoc.Node, fail view.Failure) {
	pod := n.Get("template", "spec")
	names := append(pod.All("containers", "*", "name"), pod.All("initContainers", "*", "name")...)
	for _, rule := range n.Get("podFailurePolicy", "rules").List() {
		if at, limit := rule.Get("action"), n.Get("backoffLimitPerIndex"); at.Str() == "FailIndex" && unset(limit) {
			fail.By(at, limit).Says("has the action FailIndex, which needs a backoffLimitPerIndex")
		}
		codes := rule.Get("onExitCodes")
		if of := codes.Get("containerName"); of.Is(yamldoc.String) && !yamldoc.Has(names, of.Str()) {
			fail.By(of).By(names...).Says("has a rule for the container %q, which the pod does not have", of.Text())
		}
		last := int64(-1 << 31)
		for i, code := range codes.Get("values").List() {
			v, ok := code.Int()
			switch {
			case !ok:
			case v == 0 && codes.Get("operator").Str() == "In":
				fail.By(code, codes.Get("operator")).Says("has a rule for the exit code 0, which is not a failure")
			case i > 0 && v <= last:
				fail.By(code).By(codes.Get("values").List()...).Says("has a rule with exit codes that do not ascend: %d after %d", v, last)
			}
			last = v
		}
	}
}

// scheduleFault says what is wrong with the schedule of a CronJob
// (github.com/robfig/cron/v3, ParseStandard).
func scheduleFault(text string) string {
	if strings.Contains(text, "TZ") {
		return "has a time zone, which belongs in timeZone"
	}
	if every, ok := strings.CutPrefix(text, "@every "); ok {
		if _, err := time.ParseDuration(every); err != nil {
			return "has no duration after @every"
		}
		return ""
	}
	if strings.HasPrefix(text, "@") {
		if !slices.Contains([]string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}, text) {
			return "is not a known schedule"
		}
		return ""
	}
	fields := strings.Fields(text)
	if len(fields) != len(timeFields) {
		return "must have five fields: minute, hour, day of the month, month and day of the week"
	}
	for i, f := range timeFields {
		for part := range strings.SplitSeq(fields[i], ",") {
			if part != "" && !f.has(part) {
				return fmt.Sprintf("has the %s %q; it must be between %d and %d", f.name, part, f.low, f.high)
			}
		}
	}
	return ""
}

// timeField is a field of a schedule; names are those of its values, from the lowest.
type timeField struct {
	name      string
	low, high int
	names     string
}

var timeFields = []timeField{
	{"minute", 0, 59, ""}, {"hour", 0, 23, ""}, {"day of the month", 1, 31, ""},
	{"month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"}, {"day of the week", 0, 6, "sun mon tue wed thu fri sat"},
}

// has reports whether a range of values, with its step, fits.
func (f timeField) has(part string) bool {
	values, step, steps := strings.Cut(part, "/")
	if n, err := strconv.Atoi(step); steps && (err != nil || n <= 0) {
		return false
	}
	first, last, ranged := strings.Cut(values, "-")
	if first == "*" || first == "?" {
		return true
	}
	low, high := f.value(first), f.value(first)
	switch {
	case ranged:
		high = f.value(last)
	case steps:
		high = f.high
	}
	return f.low <= low && low <= high && high <= f.high
}

func (f timeField) value(text string) int {
	if i := slices.Index(strings.Fields(f.names), strings.ToLower(text)); i >= 0 {
		return f.low + i
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}

func isNone(n *yamldoc.Node) bool { return isZero(n) || n.Str() == "0%" }

// share demands a number that is not negative, or a percentage up to a limit.
func share(limit int64) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		notNegative(n, fail)
		if text := n.Str(); n.Is(yamldoc.String) {
			percent, _ := strconv.ParseInt(strings.TrimSuffix(text, "%"), 10, 64)
			switch {
			case !view.IsPercent(text):
				fail.Says("is %q; it must be a number or a percentage such as 25%%", text)
			case percent > limit:
				fail.Says("is %q; at most %d%% is allowed", text, limit)
			}
		}
	}
}

var podDemands = slices.Concat([]demand{
	{"", needs("containers")},
	{"", func(n *yamldoc.Node, fail view.Failure) {
		seen := map[string]*yamldoc.Node{}
		for _, c := range slices.Concat(n.Get("containers").List(), n.Get("initContainers").List()) {
			name := c.Get("name")
			if first := seen[name.Str()]; first != nil && name.Str() != "" {
				fail.By(name, first).Says("the pod has two containers named %s", name.Text())
			}
			seen[name.Str()] = name
		}
	}},
	{"", func(n *yamldoc.Node, fail view.Failure) {
		if policy := n.Get("dnsPolicy"); policy.Str() == "None" && unset(n.Get("dnsConfig", "nameservers")) {
			fail.By(policy, n.Get("dnsConfig", "nameservers")).Says("has the dnsPolicy None, which needs dnsConfig.nameservers")
		}
	}},
	{"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", needs("nodeSelectorTerms")},
	{"affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.*.weight", between(1, 100)},
	{"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.*.matchExpressions.*", nodeExpression},
	{"affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.*.preference.matchExpressions.*", nodeExpression},
	{"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.*.matchFields.*", nodeField},
	{"affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.*.preference.matchFields.*", nodeField},
	{"dnsPolicy", oneOf("", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")},
	{"dnsConfig.nameservers", atMost(3)},
	{"dnsConfig.nameservers.*", address},
	{"dnsConfig.searches", atMost(32)},
	{"dnsConfig.searches.*", form(func(text string) []string {
		if text == "." {
			return nil
		}
		return validation.IsDNS1123SubdomainWithUnderscore(strings.TrimSuffix(text, "."))
	})},
	{"dnsConfig.options.*", needs("name")},
	{"hostname", form(validation.IsDNS1123Label)},
	{"subdomain", form(validation.IsDNS1123Label)},
	{"runtimeClassName", form(validation.IsDNS1123Subdomain)},
	{"", resources("overhead")},
	{"preemptionPolicy", oneOf("", "PreemptLowerPriority", "Never")},
	{"schedulingGates", distinct("name")},
	{"schedulingGates.*", needs("name")},
	{"schedulingGates.*.name", form(validation.IsQualifiedName)},
	{"resourceClaims", distinct("name")},
	{"resourceClaims.*", needs("name")},
	{"resourceClaims.*", choice(true, "resourceClaimName", "resourceClaimTemplateName")},
	{"ephemeralContainers", never("the template of a pod may not do")},
	{"", func(n *yamldoc.Node, fail view.Failure) {
		if share, host := n.Get("shareProcessNamespace"), n.Get("hostPID"); share.Bool() && host.Bool() {
			fail.By(share, host).Says("has both shareProcessNamespace and hostPID")
		}
	}},
	{"", func(n *yamldoc.Node, fail view.Failure) {
		for _, name := range [...]string{"hostPID", "hostIPC"} {
			if users, host := n.Get("hostUsers"), n.Get(name); isFalse(users) && host.Bool() {
				fail.By(host, users).Says("has %s, which hostUsers: false does not allow", name)
			}
		}
	}},
	{"", ofPod},
	{"hostAliases.*.ip", address},
	{"os.name", oneOf("linux", "windows")},
	{"readinessGates.*.conditionType", form(validation.IsQualifiedName)},
	{"", hostPorts},
	{"securityContext.fsGroupChangePolicy", oneOf("OnRootMismatch", "Always")},
	{"serviceAccountName", form(validation.IsDNS1123Subdomain)},
	{"priorityClassName", form(validation.IsDNS1123Subdomain)},
	{"nodeSelector", labels},
	{"securityContext.runAsUser", notNegative},
	{"securityContext.runAsGroup", notNegative},
	{"securityContext.fsGroup", notNegative},
	{"securityContext.supplementalGroups.*", notNegative},
	{"securityContext.supplementalGroupsPolicy", oneOf("Merge", "Strict")},
	{"securityContext.sysctls", distinct("name")},
	{"securityContext.sysctls.*", needs("name")},
	{"securityContext.sysctls.*.name", like(sysctl, "the name of a kernel parameter such as net.core.somaxconn")},
	{"securityContext.seccompProfile", profile},
	{"securityContext.appArmorProfile", profile},
	{"topologySpreadConstraints.*", needs("topologyKey", "whenUnsatisfiable", "maxSkew")},
	{"topologySpreadConstraints.*.whenUnsatisfiable", oneOf("", "DoNotSchedule", "ScheduleAnyway")},
	{"topologySpreadConstraints.*.maxSkew", between(1, many)},
	{"topologySpreadConstraints.*.minDomains", between(1, many)},
	{"topologySpreadConstraints", distinct("topologyKey", "whenUnsatisfiable")},
	{"topologySpreadConstraints.*.nodeAffinityPolicy", oneOf("Honor", "Ignore")},
	{"topologySpreadConstraints.*.nodeTaintsPolicy", oneOf("Honor", "Ignore")},
	{"topologySpreadConstraints.*", only("minDomains", "whenUnsatisfiable", "DoNotSchedule", "")},
	{"volumes", distinct("name")},
	{"volumes.*", needs("name")},
	{"volumes.*.name", form(validation.IsDNS1123Label)},
	{"volumes.*", func(n *yamldoc.Node, fail view.Failure) {
		var sources []string
		for _, f := range view.Fields(n) {
			if f.Name != "name" && f.Value.Kind != yamldoc.Null {
				sources = append(sources, f.Name)
			}
		}
		if len(sources) > 1 {
			fail.Says("has %s; only one source is allowed", phrase.And(sources))
		}
	}},
	{"volumes.*.secret", needs("secretName")},
	{"volumes.*.configMap", needs("name")},
	{"volumes.*.hostPath", needs("path")},
	{"volumes.*.persistentVolumeClaim", needs("claimName")},
	{"volumes.*.csi", needs("driver")},
	{"volumes.*.nfs", needs("server", "path")},
	{"volumes.*.nfs.path", like(phrase.Pattern(`^(/|$)`), "a path that begins with a slash")},
	{"volumes.*.ephemeral", needs("volumeClaimTemplate")},
	{"volumes.*.image.pullPolicy", oneOf("", "Always", "IfNotPresent", "Never")},
	{"volumes.*.secret.defaultMode", between(0, 0o777)},
	{"volumes.*.configMap.defaultMode", between(0, 0o777)},
	{"volumes.*.projected.defaultMode", between(0, 0o777)},
	{"volumes.*.projected.sources.*", choice(false, "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")},
	{"volumes.*.projected.sources.*.serviceAccountToken", needs("path")},
	{"volumes.*.projected.sources.*.serviceAccountToken.path", descending},
	{"volumes.*.projected.sources.*.secret", needs("name")},
	{"volumes.*.projected.sources.*.configMap", needs("name")},
	{"volumes.*.projected.sources.*.clusterTrustBundle", choice(true, "name", "signerName")},
	{"volumes.*.projected.sources.*.clusterTrustBundle", needs("path")},
	{"volumes.*.projected.sources", distinctPaths},
	{"volumes.*.projected.sources.*.serviceAccountToken.expirationSeconds", between(600, 1<<32)},
	{"volumes.*.emptyDir.sizeLimit", positive(true)},
	{"volumes.*.hostPath.type", oneOf("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")},
	{"volumes.*.hostPath.path", func(n *yamldoc.Node, fail view.Failure) {
		if slices.Contains(strings.Split(n.Str(), "/"), "..") {
			fail.Says(`is %q; it must be a path without ".."`, n.Str())
		}
	}},
}, under("tolerations.*", tolerationDemands), under("topologySpreadConstraints.*", selectedPods),
	podAffinity("affinity.podAffinity"), podAffinity("affinity.podAntiAffinity"),
	under("volumes.*.ephemeral.volumeClaimTemplate", append([]demand{{"", needs("spec")}}, under("spec", claimDemands)...)),
	under("volumes.*.secret.items.*", keyDemands), under("volumes.*.configMap.items.*", keyDemands),
	under("volumes.*.projected.sources.*.secret.items.*", keyDemands), under("volumes.*.projected.sources.*.configMap.items.*", keyDemands),
	under("volumes.*.downwardAPI.items.*", downwardDemands), under("volumes.*.projected.sources.*.downwardAPI.items.*", downwardDemands))

// selectedPods are the demands of what selects other pods, by their labels or by those that are as its own.
var selectedPods = []demand{
	{"labelSelector", selects},
	{"matchLabelKeys.*", form(validation.IsQualifiedName)},
	{"mismatchLabelKeys.*", form(validation.IsQualifiedName)},
	{"", func(n *yamldoc.Node, fail view.Failure) {
		selector, unlike := n.Get("labelSelector"), map[string]*yamldoc.Node{}
		for _, name := range [...]string{"mismatchLabelKeys", "matchLabelKeys"} {
			if keys := n.Get(name); !unset(keys) && (selector == nil || selector.Is(yamldoc.Null)) {
				fail.By(keys, selector).Says("has %s, which needs a labelSelector", name)
			}
			for _, key := range n.Get(name).List() {
				if name == "mismatchLabelKeys" {
					unlike[key.Str()] = key
				} else if other := unlike[key.Str()]; other != nil {
					fail.By(key, other).Says("has %s in both matchLabelKeys and mismatchLabelKeys", key.Text())
				}
			}
		}
	}},
}

// podAffinity are the demands of affinity to pods, or of its opposite, at a path.
func podAffinity(path string) []demand {
	term := append([]demand{
		{"", needs("topologyKey")},
		{"topologyKey", form(validation.IsQualifiedName)},
		{"namespaces.*", form(validation.IsDNS1123Label)},
		{"namespaceSelector", selects},
	}, selectedPods...)
	preferred := path + ".preferredDuringSchedulingIgnoredDuringExecution.*"
	return slices.Concat(under(path+".requiredDuringSchedulingIgnoredDuringExecution.*", term),
		under(preferred+".podAffinityTerm", term), []demand{{preferred + ".weight", between(1, 100)}})
}

// ofPod demands what containers need of their pod: time to sleep, and the claims that they use.
func ofPod(n *yamldoc.Node, fail view.Failure) {
	grace := n.Get("terminationGracePeriodSeconds")
	limit, ok := grace.Int()
	if !ok {
		limit = 30
	}
	claims := n.All("resourceClaims", "*", "name")
	for _, c := range slices.Concat(n.Get("containers").List(), n.Get("initContainers").List()) {
		for _, hook := range [...]string{"postStart", "preStop"} {
			sleep := c.Get("lifecycle", hook, "sleep", "seconds")
			if v, ok := sleep.Int(); ok && (v < 0 || v > limit) {
				fail.By(sleep, grace).Says("has a %s that sleeps %d seconds; it must be between 0 and terminationGracePeriodSeconds, %d", hook, v, limit)
			}
		}
		for _, name := range c.All("resources", "claims", "*", "name") {
			if name.Str() != "" && !yamldoc.Has(claims, name.Str()) {
				fail.By(name).By(claims...).Says("has no resourceClaims entry named %s, which a container uses", name.Str())
			}
		}
	}
}

// sysctl is the name of a kernel parameter.
var sysctl = phrase.Pattern(`^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$`)

var fileDemands = []demand{
	{"", needs("path")},
	{"path", descending},
	{"path", func(n *yamldoc.Node, fail view.Failure) {
		if text := n.Str(); strings.HasPrefix(text, "..") && !strings.HasPrefix(text, "../") && text != ".." {
			fail.Says(`is %q; it must not begin with ".."`, text)
		}
	}},
	{"mode", between(0, 0o777)},
}

// keyDemands are those of a file with the value of a key; downwardDemands those of one
// with a field of the pod.
var (
	keyDemands      = append([]demand{{"", needs("key")}}, fileDemands...)
	downwardDemands = append([]demand{
		{"", choice(true, "fieldRef", "resourceFieldRef")},
		{"fieldRef.fieldPath", fieldOf("a volume", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations")},
		{"fieldRef", needs("fieldPath")},
		{"resourceFieldRef", needs("containerName", "resource")},
		{"resourceFieldRef", divided},
		{"resourceFieldRef.resource", form(resourceOfContainer)},
	}, fileDemands...)
)

// distinctPaths demands that the files of a projected volume do not replace each other.
func distinctPaths(n *yamldoc.Node, fail view.Failure) {
	seen := map[string]*yamldoc.Node{}
	for _, source := range n.List() {
		paths := []*yamldoc.Node{source.Get("clusterTrustBundle", "path")}
		for _, list := range [...]string{"secret", "configMap", "downwardAPI"} {
			paths = append(paths, source.All(list, "items", "*", "path")...)
		}
		for _, at := range paths {
			if first := seen[at.Str()]; first != nil && at.Str() != "" {
				fail.By(at, first).Says("has two files with the path %s", at.Text())
			}
			seen[at.Str()] = at
		}
	}
}

// expression demands an operator, and values if it compares with some.
func expression(n *yamldoc.Node, fail view.Failure, operators ...string) (operator, values *yamldoc.Node) {
	values, operator = n.Get("values"), n.Get("operator")
	switch op := operator.Str(); {
	case !slices.Contains(operators, op):
		fail.By(cmp.Or(operator, n)).Says("has the operator %q; it must be %s", op, phrase.Or(operators))
	case unset(values) && !strings.Contains(op, "Exist"):
		fail.By(n, operator, values).Says("has no values, which the operator %s needs", op)
	case !unset(values) && strings.Contains(op, "Exist"):
		fail.By(n, operator, values).Says("has values, which the operator %s does not allow", op)
	}
	return operator, values
}

// nodeField demands an expression about the name of nodes, the only field that there is.
func nodeField(n *yamldoc.Node, fail view.Failure) {
	_, values := expression(n, fail, "In", "NotIn")
	if len(values.List()) > 1 {
		fail.By(values).Says("has several values; one is allowed")
	}
	if key := n.Get("key"); key.Str() != "metadata.name" {
		fail.By(cmp.Or(key, n)).Says("has the key %q; it must be metadata.name", key.Str())
	}
}

// nodeExpression demands an expression about the labels of nodes.
func nodeExpression(n *yamldoc.Node, fail view.Failure) {
	operator, values := expression(n, fail, "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
	if op := operator.Str(); op == "Gt" || op == "Lt" {
		for i, n := range values.List() {
			if _, err := strconv.ParseInt(n.Str(), 10, 64); i > 0 {
				fail.By(values, operator).Says("has several values, which the operator %s does not allow", op)
			} else if n.Is(yamldoc.String) && err != nil {
				fail.As(lint.Warning, "Write an integer.").By(n, operator).Says("has the value %q, so no node matches: the operator %s compares integers", n.Text(), op)
			}
		}
	}
	needs("key")(n, fail)
	form(validation.IsQualifiedName)(n.Get("key"), fail.By(n.Get("key")))
}

// address demands an IP address.
func address(n *yamldoc.Node, fail view.Failure) {
	if _, err := netip.ParseAddr(n.Str()); n.Is(yamldoc.String) && err != nil {
		fail.Says("is %q; it must be an IP address", n.Text())
	}
}

// hostPorts demands that containers do not share ports of the node, and that those of a
// pod in its network are the ports of the containers.
func hostPorts(n *yamldoc.Node, fail view.Failure) {
	seen := map[string]*yamldoc.Node{}
	for _, port := range n.All("containers", "*", "ports", "*") {
		at, own := port.Get("hostPort"), port.Get("containerPort")
		if unset(at) || isZero(at) {
			continue
		}
		key := strings.Join([]string{cmp.Or(port.Get("protocol").Str(), "TCP"), port.Get("hostIP").Str(), at.Text()}, " ")
		if first := seen[key]; first != nil {
			fail.By(at, port.Get("protocol"), port.Get("hostIP"), first).Says("the pod has two ports %s of the node", at.Text())
		}
		seen[key] = at
		if n.Get("hostNetwork").Bool() && own != nil && own.Text() != at.Text() {
			fail.By(at, own, n.Get("hostNetwork")).Says("the pod uses the network of the node, so the hostPort %s must be the containerPort %s", at.Text(), own.Text())
		}
	}
}

var tolerationDemands = []demand{
	{"", toleration},
	{"key", form(validation.IsQualifiedName)},
	{"effect", oneOf("", "NoSchedule", "PreferNoSchedule", "NoExecute")},
}

func toleration(n *yamldoc.Node, fail view.Failure) {
	key, operator, value, seconds := n.Get("key"), n.Get("operator"), n.Get("value"), n.Get("tolerationSeconds")
	switch op := operator.Str(); {
	case key.Str() == "" && op != "Exists":
		fail.By(n, key, operator).Says("has no key, which only the operator Exists allows")
	case op == "Exists" && value.Str() != "":
		fail.By(value, operator).Says("has a value, which the operator Exists does not allow")
	case !slices.Contains([]string{"", "Exists", "Equal"}, op):
		fail.By(operator).Says("has the operator %q; it must be Exists or Equal", op)
	case !unset(seconds) && n.Get("effect").Str() != "NoExecute":
		fail.By(seconds, n.Get("effect")).Says("has tolerationSeconds, which only the effect NoExecute allows")
	}
}

// profile demands a profile of seccomp or AppArmor.
func profile(n *yamldoc.Node, fail view.Failure) {
	file, of := n.Get("localhostProfile"), n.Get("type")
	switch kind := of.Str(); {
	case !slices.Contains([]string{"RuntimeDefault", "Unconfined", "Localhost"}, kind):
		fail.By(of).Says("has the type %q; it must be RuntimeDefault, Unconfined or Localhost", kind)
	case unset(file) == (kind == "Localhost"):
		fail.By(n, of, file).Says("must have a localhostProfile if and only if its type is Localhost")
	}
}

// descending demands a relative path without "..".
func descending(n *yamldoc.Node, fail view.Failure) {
	if text := n.Str(); path.IsAbs(text) || slices.Contains(strings.Split(text, "/"), "..") {
		fail.Says(`is %q; it must be a relative path without ".."`, text)
	}
}

// containerDemands are those of a container.
var containerDemands = []demand{
	{"", needs("name", "image")},
	{"name", form(validation.IsDNS1123Label)},
	{"imagePullPolicy", oneOf("", "Always", "IfNotPresent", "Never")},
	{"terminationMessagePolicy", oneOf("", "File", "FallbackToLogsOnError")},
	{"ports", distinct("name")},
	{"ports.*", needs("containerPort")},
	{"ports.*.name", form(validation.IsValidPortName)},
	{"ports.*.containerPort", between(1, math.MaxUint16)},
	{"ports.*.hostPort", between(0, math.MaxUint16)},
	{"ports.*.protocol", oneOf("", "TCP", "UDP", "SCTP")},
	{"env.*", needs("name")},
	{"env.*.name", form(validation.IsRelaxedEnvVarName)},
	{"env.*", func(n *yamldoc.Node, fail view.Failure) {
		if from := n.Get("valueFrom"); from.Is(yamldoc.Map) && len(from.Fields()) > 0 && !unset(n.Get("value")) {
			fail.By(from, n.Get("value")).Says("has both value and valueFrom")
		}
	}},
	{"env.*.valueFrom", choice(true, "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")},
	{"env.*.valueFrom.fieldRef.fieldPath", fieldOf("an environment variable", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "spec.host", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")},
	{"env.*.valueFrom.fieldRef", needs("fieldPath")},
	{"env.*.valueFrom.resourceFieldRef", needs("resource")},
	{"env.*.valueFrom.resourceFieldRef", divided},
	{"env.*.valueFrom.configMapKeyRef", needs("name", "key")},
	{"env.*.valueFrom.secretKeyRef", needs("name", "key")},
	{"env.*.valueFrom.configMapKeyRef.key", form(validation.IsConfigMapKey)},
	{"env.*.valueFrom.secretKeyRef.key", form(validation.IsConfigMapKey)},
	{"env.*.valueFrom.resourceFieldRef.resource", form(resourceOfContainer)},
	{"envFrom.*", choice(true, "configMapRef", "secretRef")},
	{"envFrom.*.prefix", form(validation.IsRelaxedEnvVarName)},
	{"env.*.valueFrom.configMapKeyRef.name", form(validation.IsDNS1123Subdomain)},
	{"env.*.valueFrom.secretKeyRef.name", form(validation.IsDNS1123Subdomain)},
	{"envFrom.*.configMapRef", needs("name")},
	{"envFrom.*.secretRef", needs("name")},
	{"envFrom.*.configMapRef.name", form(validation.IsDNS1123Subdomain)},
	{"envFrom.*.secretRef.name", form(validation.IsDNS1123Subdomain)},
	{"volumeMounts", distinct("mountPath")},
	{"volumeMounts.*", needs("name", "mountPath")},
	{"volumeMounts.*.subPath", descending},
	{"volumeMounts.*.subPathExpr", descending},
	{"volumeMounts.*.recursiveReadOnly", oneOf("Disabled", "IfPossible", "Enabled")},
	{"volumeMounts.*", func(n *yamldoc.Node, fail view.Failure) {
		at, only, propagation := n.Get("recursiveReadOnly"), n.Get("readOnly"), n.Get("mountPropagation")
		if (at.Str() == "IfPossible" || at.Str() == "Enabled") &&
			(!only.Bool() || !unset(propagation) && propagation.Str() != "None") {
			fail.By(at, only, propagation).Says("has recursiveReadOnly, which needs readOnly: true and no mountPropagation")
		}
	}},
	{"volumeDevices.*", needs("name", "devicePath")},
	{"volumeDevices", distinct("name")},
	{"volumeDevices", distinct("devicePath")},
	{"resizePolicy", distinct("resourceName")},
	{"resizePolicy.*", needs("resourceName", "restartPolicy")},
	{"resizePolicy.*.resourceName", oneOf("", "cpu", "memory")},
	{"resizePolicy.*.restartPolicy", oneOf("", "NotRequired", "RestartContainer")},
	{"", func(n *yamldoc.Node, fail view.Failure) {
		for _, m := range n.Get("volumeMounts").List() {
			if at, of := m.Get("mountPropagation"), n.Get("securityContext", "privileged"); at.Str() == "Bidirectional" && !of.Bool() {
				fail.By(at, of).Says("has the mountPropagation Bidirectional, which only a privileged container may use")
			}
		}
	}},
	{"volumeMounts.*.mountPropagation", oneOf("None", "HostToContainer", "Bidirectional")},
	{"volumeMounts.*", func(n *yamldoc.Node, fail view.Failure) {
		if !unset(n.Get("subPath")) && !unset(n.Get("subPathExpr")) {
			fail.By(n, n.Get("subPath"), n.Get("subPathExpr")).Says("has both subPath and subPathExpr")
		}
	}},
	{"resources", resources("limits", "requests")},
	{"securityContext.runAsUser", notNegative},
	{"securityContext.runAsGroup", notNegative},
	{"securityContext.seccompProfile", profile},
	{"securityContext.appArmorProfile", profile},
	{"securityContext", func(n *yamldoc.Node, fail view.Failure) {
		added := n.Get("capabilities", "add").List()
		admin := yamldoc.Has(added, "CAP_SYS_ADMIN")
		if at := n.Get("allowPrivilegeEscalation"); isFalse(at) && (n.Get("privileged").Bool() || admin) {
			fail.By(at, n.Get("privileged")).By(added...).Says("forbids privilege escalation for a privileged container")
		}
	}},
	{"securityContext.procMount", oneOf("Default", "Unmasked")},
	{"lifecycle.postStart", choice(true, handlers...)},
	{"lifecycle.preStop", choice(true, handlers...)},
}

var handlers = []string{"exec", "httpGet", "tcpSocket", "sleep"}

// fieldOf demands a field of the pod that something can show, such as a label.
func fieldOf(shown string, fields ...string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		text := n.Str()
		rest, closed := strings.CutSuffix(text, "']")
		of, key, opened := strings.Cut(rest, "['")
		switch {
		case closed && opened && of == "metadata.labels" && len(validation.IsQualifiedName(key)) == 0:
		case closed && opened && of == "metadata.annotations" &&
			len(validation.IsQualifiedName(strings.ToLower(key))) == 0:
		case text != "" && !slices.Contains(fields, text):
			fail.Says("is %q, which %s cannot show", text, shown)
		}
	}
}

func resourceOfContainer(text string) []string {
	of, name, _ := strings.Cut(text, ".")
	resources := []string{"cpu", "memory", "ephemeral-storage"}
	if of != "limits" && of != "requests" ||
		!slices.Contains(resources, name) && !strings.HasPrefix(name, "hugepages-") {
		return []string{"must be limits or requests of cpu, memory or ephemeral-storage"}
	}
	return nil
}

// divided demands that a resource of a container is shown in one of some units.
func divided(n *yamldoc.Node, fail view.Failure) {
	of, at, units := n.Get("resource"), n.Get("divisor"), "1 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei"
	if strings.HasSuffix(of.Str(), ".cpu") {
		units = "1 1m"
	}
	q, err := resource.ParseQuantity(at.Text())
	if err == nil && !q.IsZero() && !slices.Contains(strings.Fields(units), q.String()) {
		fail.By(at, of).Says("has the divisor %s; for %s it must be one of %s", at.Text(), of.Str(), units)
	}
}

// resources compares the quantities of lists, and looks at the names of resources. Requests
// come after limits.
func resources(lists ...string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		limits := map[string]resource.Quantity{}
		values := n.Get("limits")
		for _, list := range lists {
			for _, f := range view.Fields(n.Get(list)) {
				quantity, err := resource.ParseQuantity(f.Value.Text())
				if err != nil {
					continue // another rule tells of it
				}
				bare := !strings.Contains(f.Name, "/")
				huge := strings.HasPrefix(f.Name, "hugepages-")
				switch limit, limited := limits[f.Name]; {
				case bare && !huge && !slices.Contains([]string{"cpu", "memory", "ephemeral-storage"}, f.Name), len(validation.IsQualifiedName(f.Name)) > 0:
					fail.By(f.Key()).Says("%s has %q, which is not a resource of containers", list, f.Name)
				case quantity.Sign() < 0:
					fail.By(f.Value).Says("%s has %s %s, which is negative", list, f.Name, f.Value.Text())
				case list != "requests":
					limits[f.Name] = quantity
				case limited && quantity.Cmp(limit) > 0:
					fail.By(f.Value, values.Get(f.Name)).Says("requests %s %s, more than its limit of %s",
						f.Name, f.Value.Text(), fmt.Sprint(&limit))
				case (huge || !bare && !strings.Contains(f.Name, "kubernetes.io/")) && (!limited || quantity.Cmp(limit) != 0):
					fail.By(f.Value, values.Get(f.Name)).Says("requests %s without an equal limit", f.Name)
				}
			}
		}
	}
}

var probeDemands = []demand{
	{"", choice(true, "exec", "httpGet", "tcpSocket", "grpc")},
	{"initialDelaySeconds", notNegative}, {"timeoutSeconds", notNegative}, {"periodSeconds", notNegative},
	{"successThreshold", notNegative}, {"failureThreshold", notNegative},
	{"terminationGracePeriodSeconds", between(1, many)},
	{"exec", needs("command")},
	{"httpGet", needs("port")},
	{"httpGet.port", aPort},
	{"httpGet.scheme", oneOf("", "HTTP", "HTTPS")},
	{"httpGet.httpHeaders.*.name", form(validation.IsHTTPHeaderName)},
	{"tcpSocket", needs("port")},
	{"tcpSocket.port", aPort},
	{"grpc.port", between(1, math.MaxUint16)},
}
