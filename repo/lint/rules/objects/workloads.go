package objects

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var workloadRules = &lint.Family{Prefix: "DEP", Title: "Workloads of the components", Kinds: view.Installed}

var _ = workloadRules.Add(lint.Rule{
	ID: "DEP002", Name: "manager-resources", Severity: lint.Info, Proof: lint.Practice,
	Title:  "The controller has a ServiceAccount, probes and resource requests",
	Source: "Kubernetes documentation, Configure Liveness, Readiness and Startup Probes; Resource Management for Pods and Containers",
	Why:    "Kubernetes does not restart a hanging controller, and sends webhook calls to one that is not ready. Without requests its pod is evicted first when a node runs out of memory.",
	Fix:    "Set the missing fields: serviceAccountName in the pod; readinessProbe, livenessProbe and resources.requests in the container. Create the ServiceAccount and bind it to a role.",
	Check:  managerResources,
})

func managerResources(p *lint.Pass) {
	const requests = "resource requests"
	for _, o := range p.File.Objects() {
		for _, c := range view.Managers(o) {
			var missing []string
			if view.ServiceAccount(view.PodOf(o)).Str() == "" {
				missing = append(missing, "ServiceAccount")
			}
			for _, part := range []struct {
				words string
				path  []string
			}{
				{"readiness probe", []string{"readinessProbe"}},
				{"liveness probe", []string{"livenessProbe"}},
				{requests, []string{"resources", "requests"}},
			} {
				if c.Get(part.path...) == nil {
					missing = append(missing, part.words)
				}
			}
			if len(missing) > 1 || len(missing) == 1 && missing[0] != requests { // which Cluster API's own controllers lack too
				p.On(o, c.Get("name"), "the controller has no %s", phrase.Or(missing))
			}
		}
	}
}

// risk is a setting of a pod or container that gives it power over its node.
type risk struct {
	path  []string
	grave func(*yamldoc.Node) bool
	words string
}

func isTrue(n *yamldoc.Node) bool { return n.Bool() }

func isFalse(n *yamldoc.Node) bool { return n.Is(yamldoc.Bool) && !n.Bool() }

func isZero(n *yamldoc.Node) bool { v, ok := n.Int(); return ok && v == 0 }

var (
	podRisks = []risk{
		{[]string{"hostNetwork"}, isTrue, "uses the network of the node"},
		{[]string{"hostPID"}, isTrue, "sees the processes of the node"},
		{[]string{"hostIPC"}, isTrue, "shares memory with the node"},
		{[]string{"securityContext", "runAsNonRoot"}, isFalse, "may run as root"},
		{[]string{"securityContext", "runAsUser"}, isZero, "runs as root"},
		{[]string{"securityContext", "seccompProfile", "type"}, isUnconfined, "runs without seccomp"},
		{[]string{"securityContext", "appArmorProfile", "type"}, isUnconfined, "runs without AppArmor"},
	}
	containerRisks = []risk{
		{[]string{"securityContext", "privileged"}, isTrue, "is privileged"},
		{[]string{"securityContext", "allowPrivilegeEscalation"}, isTrue, "may escalate privileges"},
		{[]string{"securityContext", "runAsNonRoot"}, isFalse, "may run as root"},
		{[]string{"securityContext", "runAsUser"}, isZero, "runs as root"},
		{[]string{"securityContext", "capabilities", "add"}, addsPower, "has capabilities that the baseline standard forbids"},
		{[]string{"securityContext", "seccompProfile", "type"}, isUnconfined, "runs without seccomp"},
		{[]string{"securityContext", "appArmorProfile", "type"}, isUnconfined, "runs without AppArmor"},
		{[]string{"securityContext", "procMount"}, isUnmasked, "sees all of /proc"},
		{[]string{"ports"}, usesHostPorts, "uses ports of the node"},
	}
)

// baseline are the capabilities that the baseline Pod Security Standard allows to add.
var baseline = []string{
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

// addsPower reports whether a list of capabilities has one beyond the baseline. The
// container runtime also knows them with the prefix CAP_.
func addsPower(n *yamldoc.Node) bool {
	return slices.ContainsFunc(n.List(), func(c *yamldoc.Node) bool {
		return c.Str() != "" && !slices.Contains(baseline, strings.TrimPrefix(strings.ToUpper(c.Str()), "CAP_"))
	})
}

func isUnconfined(n *yamldoc.Node) bool { return n.Str() == "Unconfined" }

func isUnmasked(n *yamldoc.Node) bool { return n.Str() == "Unmasked" }

func usesHostPorts(n *yamldoc.Node) bool {
	return slices.ContainsFunc(n.List(), func(p *yamldoc.Node) bool { v, ok := p.Get("hostPort").Int(); return ok && v > 0 })
}

// risks returns the words for the risks that are there, and where the first is.
func risks(table []risk, n *yamldoc.Node) (first *yamldoc.Node, words []string) {
	for _, r := range table {
		if at := n.Get(r.path...); r.grave(at) {
			first = cmp.Or(first, at)
			words = append(words, r.words)
		}
	}
	return first, words
}

var _ = workloadRules.Add(lint.Rule{
	ID: "DEP003", Name: "pod-security", Severity: lint.Info, Proof: lint.Practice,
	Title:  "Pods have only the privileges they need",
	Source: "Kubernetes documentation, Pod Security Standards, Restricted; Cluster API proposal 20220221-runtime-SDK, section Identity and access management",
	Why:    "Clusters that enforce the restricted Pod Security Standard do not start the pods; elsewhere a flaw in the controller exposes the node.",
	Fix:    "Remove settings that give the pod rights on its node. Set runAsNonRoot: true and seccompProfile for the pod, and allowPrivilegeEscalation: false and capabilities.drop: [ALL] for each container.",
	Check:  view.EachObject(podSecurity),
})

func podSecurity(p *lint.Pass, o *manifest.Object) {
	pod := view.PodOf(o)
	if pod == nil {
		return
	}
	soft := false
	report := func(f lint.Finding) {
		if soft = true; view.ServesHooks(p.Release) {
			f.Severity = lint.Warning
		}
		p.Report(f)
	}
	if at, all := risks(podRisks, pod); at != nil {
		report(lint.On(o, at, "the pod %s", phrase.And(all)))
	}
	for _, v := range pod.Get("volumes").List() {
		if n := v.Get("hostPath"); n != nil {
			report(lint.On(o, n, "the pod mounts the file system of the node: %s", n.Get("path").Str()))
		}
	}
	for _, c := range view.ContainersOf(o) {
		if user := effective(pod, c, "runAsUser"); isZero(user) && effective(pod, c, "runAsNonRoot").Bool() {
			f := lint.On(o, user, "container %s never starts: runAsUser is 0, but runAsNonRoot is true", c.Get("name").Str())
			f.Fix = "Remove runAsUser: 0, or set another user."
			report(f)
			continue
		}
		if at, all := risks(containerRisks, c); at != nil {
			report(lint.On(o, at, "container %s %s", c.Get("name").Str(), phrase.And(all)))
		}
	}
	if soft {
		return // who asks for rights need not be told that they were not refused
	}
	for _, c := range view.ContainersOf(o) {
		if missing := unrestricted(pod, c); len(missing) > 0 {
			f := lint.On(o, c.Get("name"), "the pod does not meet the restricted standard: no %s", phrase.And(missing))
			if len(missing) == 4 { // it enforces nothing at all
				report(f)
			} else {
				p.Report(f)
			}
			break
		}
	}
}

// effective is the value of a container for a field of the securityContext, or that of its pod.
func effective(pod, c *yamldoc.Node, field string) *yamldoc.Node {
	return cmp.Or(c.Get("securityContext", field).Given(), pod.Get("securityContext", field))
}

// unrestricted returns what a container lacks for the restricted standard.
func unrestricted(pod, c *yamldoc.Node) (missing []string) {
	of, own := pod.Get("securityContext"), c.Get("securityContext")
	if !of.Get("runAsNonRoot").Bool() && !own.Get("runAsNonRoot").Bool() {
		missing = append(missing, "runAsNonRoot: true")
	}
	if of.Get("seccompProfile") == nil && own.Get("seccompProfile") == nil {
		missing = append(missing, "seccompProfile")
	}
	if !isFalse(own.Get("allowPrivilegeEscalation")) {
		missing = append(missing, "allowPrivilegeEscalation: false")
	}
	if !yamldoc.Has(own.Get("capabilities", "drop").List(), "ALL") {
		missing = append(missing, "capabilities.drop: [ALL]")
	}
	return missing
}

// link is a reference to an object, or to a key in it.
type link struct {
	group, kind string
	name, key   *yamldoc.Node
	// users says what a user has to make, where a release cannot hold it.
	users string
}

// links returns what an object does not work without: for pods, these must exist before they start.
func links(o *manifest.Object) []link {
	var out []link
	add := func(kind string, holder *yamldoc.Node, field string) {
		if n := holder.Get(field); n.Str() != "" && !holder.Get("optional").Bool() {
			out = append(out, link{kind: kind, name: n, key: holder.Get("key")})
			for _, item := range holder.Get("items").List() {
				out = append(out, link{kind: kind, name: n, key: item.Get("key")})
			}
		}
	}
	pod := view.PodOf(o)
	other := []link{{group: "scheduling.k8s.io", kind: "PriorityClass", name: pod.Get("priorityClassName")}}
	if strings.HasPrefix(other[0].name.Str(), "system-") { // those of Kubernetes
		other = nil
	}
	spec := o.Get("spec")
	for _, name := range slices.Concat(pod.All("imagePullSecrets", "*", "name"), o.Get("imagePullSecrets").All("*", "name")) {
		other = append(other, link{kind: "Secret", name: name, users: "credentials of the registry (kubernetes.io/dockerconfigjson)"})
	}
	switch {
	case o.Is("autoscaling", "HorizontalPodAutoscaler") && !unset(spec.Get("scaleTargetRef", "apiVersion")):
		of := spec.Get("scaleTargetRef")
		group, _ := manifest.SplitAPIVersion(of.Get("apiVersion").Str())
		other = append(other, link{group: group, kind: of.Get("kind").Str(), name: of.Get("name")})
	case o.Is(admissionGroup, "ValidatingAdmissionPolicyBinding"):
		other = append(other, link{group: admissionGroup, kind: "ValidatingAdmissionPolicy", name: spec.Get("policyName")})
	case o.Is("networking.k8s.io", "Ingress"):
		other = append(other, link{kind: "Service", name: spec.Get("defaultBackend", "service", "name")})
		for _, name := range spec.All("rules", "*", "http", "paths", "*", "backend", "service", "name") {
			other = append(other, link{kind: "Service", name: name})
		}
		for _, name := range spec.All("tls", "*", "secretName") {
			other = append(other, link{kind: "Secret", name: name, users: "a certificate for the Ingress (kubernetes.io/tls)"})
		}
	case o.Group == view.CertManagerGroup && spec.Get("ca") != nil:
		other = append(other, link{kind: "Secret", name: spec.Get("ca", "secretName"), users: "the CA of the issuer (kubernetes.io/tls)"})
	}
	out = slices.DeleteFunc(other, func(l link) bool { return l.name.Str() == "" })
	for _, v := range pod.Get("volumes").List() {
		add("Secret", v.Get("secret"), "secretName")
		add("ConfigMap", v.Get("configMap"), "name")
		add("PersistentVolumeClaim", v.Get("persistentVolumeClaim"), "claimName")
		add("Secret", v.Get("csi", "nodePublishSecretRef"), "name")
		for _, s := range v.Get("projected", "sources").List() {
			add("Secret", s.Get("secret"), "name")
			add("ConfigMap", s.Get("configMap"), "name")
		}
	}
	for _, c := range view.ContainersOf(o) {
		for _, e := range c.Get("envFrom").List() {
			add("Secret", e.Get("secretRef"), "name")
			add("ConfigMap", e.Get("configMapRef"), "name")
		}
		for _, e := range c.Get("env").List() {
			add("Secret", e.Get("valueFrom", "secretKeyRef"), "name")
			add("ConfigMap", e.Get("valueFrom", "configMapKeyRef"), "name")
		}
	}
	return out
}

var _ = workloadRules.Add(lint.Rule{
	ID: "DEP004", Name: "missing-volume-source", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Objects that pods and other components need should be in the components, with their keys",
	Source: "clusterctl provider contract, section Links to external objects",
	Why: `The provider does not run after "clusterctl init": a pod starts only when every Secret, ConfigMap and ` +
		"PriorityClass it names exists, with the keys that it names. Images are pulled without credentials. Autoscalers, Ingresses and bindings of policies " +
		"do nothing without what they name.",
	Fix:   "Add the key, the object or the Certificate that creates it, or mark the reference to a Secret or ConfigMap as optional.",
	Scope: lint.ScopeRelease, Check: missingVolumeSource,
})

func missingVolumeSource(p *lint.Pass) {
	all := p.Release.Installed()
	made := view.Certificates(p.Release)
	for _, o := range all.Objects {
		seen := map[string]bool{}
		for _, l := range links(o) {
			name := l.name.Text()
			said := l.kind + " " + name
			there := all.Find(l.group, l.kind, name)
			if there != nil && l.key.Str() != "" {
				said += " " + l.key.Text()
			}
			if l.kind == "Secret" && made[name] != nil || l.kind == "ConfigMap" && name == ofKubernetes || seen[said] ||
				view.Open(o, l.name) || there != nil && view.Open(o, l.key) {
				continue
			}
			seen[said] = true
			switch {
			case there == nil && l.users != "":
				f := lint.On(o, l.name, "the user must create the Secret %s with %s", name, l.users).As(lint.Info)
				f.Fix = "List the Secret in the documentation of the provider."
				p.Report(f)
			case there == nil && l.kind == "Secret" && slices.ContainsFunc(all.Kind(view.CertManagerGroup, "Certificate"), func(c *manifest.Object) bool { return c.Get("spec", "secretName") == nil }):
				// which Secret that one makes is not known
			case there == nil:
				p.Report(lint.On(o, l.name, "the %s %s is not in the components", l.kind, name).
					Because(cmp.Or(uncertified(p, l.kind), l.kind+" "+name)).Without(" " + name)) // a Certificate may make it
			case l.key.Str() != "" && lacks(there, l.key.Text()):
				p.On(o, l.key, "the %s %s has no key %s", l.kind, name, l.key.Text())
			}
		}
	}
}

// ofKubernetes is the ConfigMap that Kubernetes puts into every namespace.
const ofKubernetes = "kube-root-ca.crt"

// lacks reports whether a Secret or ConfigMap has data, but not under a key. One that is
// empty, or has a type, may get more from a controller.
func lacks(o *manifest.Object, key string) bool {
	if t := o.Get("type").Str(); t != "" && t != "Opaque" {
		return false
	}
	some := false
	for _, at := range [...]string{"data", "stringData", "binaryData"} {
		n := o.Get(at)
		if n.Get(key) != nil || view.Open(o, n) {
			return false
		}
		some = some || len(n.Fields()) > 0
	}
	return some
}

func unset(n *yamldoc.Node) bool {
	return n == nil || n.Is(yamldoc.Null) || n.Is(yamldoc.String) && n.Text() == ""
}

// uncertified is the Certificate that the components lack, which would have made a Secret.
func uncertified(p *lint.Pass, kind string) string {
	for _, o := range p.Release.Installed().Objects {
		if _, name, c := certificateOf(p.Release, o); kind == "Secret" && view.CallsWebhooks(o) && name != "" && c == nil {
			return "Certificate " + name
		}
	}
	return ""
}
