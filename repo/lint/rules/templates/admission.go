package templates

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blang/semver/v4"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP025", Name: "core-admission", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Kubeadm configs, control planes, workers and health checks must pass the webhooks of Cluster API",
	Source: "cluster-api core/webhooks/admission, MachineDeployment and MachineHealthCheck; controlplane/kubeadm/webhooks/admission, validateKubeadmControlPlaneSpec; bootstrap/kubeadm/webhooks/admission, Validate",
	Why:    "The Cluster API webhook refuses the object, so the cluster is created without it.",
	Fix:    "Set the field to what the message allows.",
	Kinds:  rendered, Check: view.EachObject(coreAdmission),
})

func coreAdmission(p *lint.Pass, o *manifest.Object) {
	check := admissions[o.Group+"/"+o.Kind]
	if check == nil || o.Version != "v1beta2" && o.Version != clusterclass.V1Beta1 {
		return
	}
	check(admitted{o, o.Get("spec"), o.Version == clusterclass.V1Beta1}, view.Failure{Pass: p, Object: o, Value: cmp.Or(o.Get("spec"), o.Doc.Root)})
}

// admitted is an object that a webhook looks at. Old says that its fields have the
// names of v1beta1.
type admitted struct {
	*manifest.Object
	spec *yamldoc.Node
	old  bool
}

// at returns a field that has another path in v1beta1.
func (a admitted) at(path, old string) *yamldoc.Node {
	if a.old {
		path = old
	}
	return a.spec.Get(strings.Split(path, ".")...)
}

// admissions are the webhooks, by group and kind.
var admissions = map[string]func(admitted, view.Failure){
	"bootstrap.cluster.x-k8s.io/KubeadmConfig": func(a admitted, refuse view.Failure) { kubeadm(a.spec, refuse) },
	"bootstrap.cluster.x-k8s.io/KubeadmConfigTemplate": func(a admitted, refuse view.Failure) {
		kubeadm(a.spec.Get("template", "spec"), refuse)
	},
	"controlplane.cluster.x-k8s.io/KubeadmControlPlaneTemplate": func(a admitted, refuse view.Failure) {
		const enough = 3                                                                                       // a template has no replicas, so they are never too few
		if a.spec = a.spec.Get("template", "spec"); !view.Blank(a.at("rollout.strategy", "rolloutStrategy")) { // there is no default
			rollout(a, enough, refuse)
		}
		controlPlane(a, refuse)
	},
	"controlplane.cluster.x-k8s.io/KubeadmControlPlane": func(a admitted, refuse view.Failure) {
		controlPlane(a, refuse)
		replicas, n := int64(1), a.spec.Get("replicas")
		if v, ok := n.Int(); ok {
			replicas = v
			stacked := view.Blank(a.spec.Get("kubeadmConfigSpec", "clusterConfiguration", "etcd", "external"))
			switch {
			case v <= 0:
				refuse.By(n).Says("replicas is %d; it must be at least 1", v)
			case v%2 == 0 && stacked:
				refuse.By(n).Says("replicas is %d; with stacked etcd it must be odd", v)
			}
		}
		rollout(a, replicas, refuse)
		kubernetesVersion(a.spec.Get("version"), refuse)
	},
	"cluster.x-k8s.io/MachineDeployment": func(a admitted, refuse view.Failure) {
		sameCluster(a, refuse)
		bootstrapped(a, refuse)
		scaled(a.Get("metadata"), view.Blank(a.spec.Get("replicas")), refuse)
		skipped := a.Get("metadata", "annotations", "machineset.cluster.x-k8s.io/skip-preflight-checks")
		for check := range strings.SplitSeq(skipped.Str(), ",") {
			if check = strings.TrimSpace(check); skipped.Str() != "" && !slices.Contains(preflightChecks, check) {
				refuse.By(skipped).Says("the annotation skips the preflight check %q; it must be one of %s",
					check, strings.Join(preflightChecks, ", "))
			}
		}
		tainted(a.spec.Get("template", "spec"), refuse)
		update := a.at("rollout.strategy.rollingUpdate", "strategy.rollingUpdate")
		surge, some := update.Get("maxSurge").Int()
		unavailable, given := update.Get("maxUnavailable").Int()
		if some && surge == 0 && (given && unavailable == 0 || update.Get("maxUnavailable") == nil) {
			refuse.By(update, update.Get("maxSurge"), update.Get("maxUnavailable")).Says("maxSurge and maxUnavailable are both 0")
		}
		for _, name := range [...]string{"maxSurge", "maxUnavailable"} {
			numberOrPercent(update.Get(name), name, refuse)
		}
		numberOrPercent(a.at("remediation.maxInFlight", "strategy.remediation.maxInFlight"), "maxInFlight", refuse)
		for _, u := range view.UnmetBy(a.spec.Get("template", "metadata", "labels"), a.spec.Get("selector")) {
			refuse := refuse.By(u.At, u.Label).By(u.Of...)
			switch {
			case u.Key == clusterNameLabel: // which the webhook sets
			case u.Of != nil:
				refuse.Says("the labels of the template do not match the selector's expression %s", u)
			default:
				if view.ByClusterName(a.Object, u.Label) && view.ByClusterName(a.Object, u.At) {
					refuse = refuse.Always() // as for clusterName
				}
				refuse.Says("the selector asks for the label %s: %s, which the template does not have", u.Key, u.At.Text())
			}
		}
		kubernetesVersion(a.spec.Get("template", "spec", "version"), refuse)
	},
	"cluster.x-k8s.io/MachinePool": func(a admitted, refuse view.Failure) {
		sameCluster(a, refuse)
		bootstrapped(a, refuse)
		scaled(a.Get("metadata"), view.Blank(a.spec.Get("replicas")), refuse)
		if n := a.spec.Get("template", "spec", "taints"); !view.Blank(n) {
			refuse.By(n).Says("the machines of a MachinePool cannot have taints")
		}
		kubernetesVersion(a.spec.Get("template", "spec", "version"), refuse)
	},
	"addons.cluster.x-k8s.io/ClusterResourceSet": func(a admitted, refuse view.Failure) { selective(a.spec.Get("clusterSelector"), refuse) },
	"cluster.x-k8s.io/MachineHealthCheck": func(a admitted, refuse view.Failure) {
		selector := a.spec.Get("selector")
		selective(selector, refuse)
		if n := selector.Get("matchLabels", clusterNameLabel); n != nil && n.Str() != a.spec.Get("clusterName").Str() {
			refuse.By(n, a.spec.Get("clusterName")).Says("the selector asks for cluster %s, but clusterName is %q",
				n.Text(), a.spec.Get("clusterName").Str())
		}
		timeout := a.at("checks.nodeStartupTimeoutSeconds", "nodeStartupTimeout")
		seconds, ok := timeout.Int()
		if d, err := time.ParseDuration(timeout.Str()); a.old && err == nil {
			seconds, ok = int64(d/time.Second), true
		}
		if ok && seconds != 0 && seconds < 30 {
			refuse.By(timeout).Says("the startup timeout is %d seconds; it must be 0 or at least 30", seconds)
		}
		if n := a.at("remediation.triggerIf.unhealthyInRange", "unhealthyRange"); view.Reversed(n) {
			refuse.As(lint.Warning, "Write the smaller number first.").By(n).Says("the range of unhealthy machines is %s, whose end is below its beginning, so no machine is ever replaced", n.Text())
		}
		numberOrPercent(a.at("remediation.triggerIf.unhealthyLessThanOrEqualTo", "maxUnhealthy"), "the limit of unhealthy machines", refuse)
	},
}

// preflightChecks are those that a MachineSet can skip.
var preflightChecks = []string{"All", "ControlPlaneIsStable", "ControlPlaneVersionSkew", "KubeadmVersionSkew", "KubernetesVersionSkew"}

// scaled: with annotations of the autoscaler, new workers without replicas get the smallest
// number of machines, so that the webhook reads the annotations of this object. The autoscaler
// itself wants the largest to be no smaller.
func scaled(metadata *yamldoc.Node, read bool, refuse view.Failure) {
	severity := lint.Warning
	if read {
		severity = 0
	}
	integer := refuse.As(severity, "Write an integer in quotes.")
	low, high := metadata.Get("annotations", minSize), metadata.Get("annotations", maxSize)
	least, err := strconv.ParseInt(low.Str(), 10, 32)
	most, wrong := strconv.ParseInt(high.Str(), 10, 32)
	switch {
	case !low.Is(yamldoc.String) || !high.Is(yamldoc.String):
	case err != nil:
		integer.By(low).Says("%s is %q; it must be an integer", minSize, low.Text())
	case wrong != nil:
		integer.By(high).Says("%s is %q; it must be an integer", maxSize, high.Text())
	case least > most:
		refuse.As(lint.Warning, "Make the largest size no smaller than the other.").By(high, low).Says("the autoscaler scales to at most %d machines, but to at least %d, so it leaves these workers alone", most, least)
	}
}

// selective: a selector for everything is refused.
func selective(selector *yamldoc.Node, refuse view.Failure) {
	if view.Blank(selector.Get("matchLabels")) && view.Blank(selector.Get("matchExpressions")) {
		refuse.By(selector).Says("the selector is empty")
	}
}

// sources are the entries of kubeadm configs that have a value or a Secret with it.
var sources = []struct{ list, value, from string }{{"files", "content", "contentFrom"}, {"users", "passwd", "passwdFrom"}}

// notInIgnition are the fields that only cloud-init knows; value is the one that Ignition
// knows, too.
var notInIgnition = []struct{ list, field, value string }{
	{"users", "inactive", "false"}, {"diskSetup.partitions", "tableType", "gpt"},
	{"diskSetup.filesystems", "replaceFS", ""}, {"diskSetup.filesystems", "partition", ""},
}

// kubeadm is what the webhooks demand of every kubeadm config.
func kubeadm(config *yamldoc.Node, refuse view.Failure) {
	for _, s := range sources {
		for _, entry := range config.Get(s.list).List() {
			if from := entry.Get(s.from); entry.Get(s.value).Str() != "" && !view.Blank(from) {
				refuse.By(from, entry.Get(s.value)).Says("an entry of %s has both %s and %s", s.list, s.value, s.from)
			}
		}
	}
	paths := map[string]*yamldoc.Node{}
	for _, file := range config.Get("files").List() {
		n := file.Get("path")
		if first := paths[n.Str()]; first != nil {
			refuse.By(n, first).Says("two files have the path %s", n.Str())
		} else if n != nil {
			paths[n.Str()] = n
		}
	}
	for _, table := range config.Get("diskSetup", "partitions").List() {
		sum, layout := int64(0), table.Get("diskLayout")
		for _, part := range layout.List() {
			percentage, _ := part.Get("percentage").Int()
			sum += percentage
		}
		if sum > 100 {
			refuse.By(layout).By(view.Within(layout)...).Says("the partitions take %d percent of the disk", sum)
		}
	}
	user := config.Get("joinConfiguration", "discovery", "file", "kubeConfig", "user")
	if exec := user.Get("exec"); !view.Blank(exec) && !view.Blank(user.Get("authProvider")) {
		refuse.By(exec).Says("the kubeconfig for the discovery has both authProvider and exec")
	}
	format := config.Get("format")
	if format.Str() != "ignition" {
		if n := config.Get("ignition"); !view.Blank(n) {
			refuse.By(n, format).Says("ignition is set, which needs the format ignition")
		}
		return
	}
	const alien = "the format ignition does not support %s"
	if n := config.Get("bootCommands"); len(n.List()) > 0 {
		refuse.By(n, format).Says(alien, "bootCommands")
	}
	for _, file := range config.Get("files").List() {
		if n := file.Get("encoding"); strings.HasPrefix(n.Str(), "gzip") {
			refuse.By(n, format).Says(alien, "the encoding "+n.Str())
		}
	}
	for _, f := range notInIgnition {
		for _, entry := range config.Get(strings.Split(f.list, ".")...).List() {
			if n := entry.Get(f.field); n != nil && !n.Is(yamldoc.Null) && n.Text() != "" && n.Text() != f.value {
				refuse.By(n, format).Says(alien, f.field+": "+n.Text()+" in "+f.list)
			}
		}
	}
}

// longestCA is how many days the certificate of a CA is valid by default.
const longestCA = 3650

// rollout is how machines of a control plane are replaced, and when.
func rollout(a admitted, replicas int64, refuse view.Failure) {
	if surge := a.at("rollout.strategy.rollingUpdate.maxSurge", "rolloutStrategy.rollingUpdate.maxSurge"); surge != nil && !surge.Is(yamldoc.Null) {
		v, _ := strconv.Atoi(surge.Text())
		if v != 0 && v != 1 {
			refuse.By(surge).Says("maxSurge is %s; it must be 0 or 1", surge.Text())
		} else if v == 0 && replicas < 3 {
			refuse.By(surge, a.spec.Get("replicas")).Says("maxSurge is 0, which needs at least 3 replicas")
		}
	}
	at := a.spec.Get("kubeadmConfigSpec", "clusterConfiguration")
	n, of := at.Get("certificateValidityPeriodDays"), at.Get("caCertificateValidityPeriodDays")
	before := a.at("rollout.before.certificatesExpiryDays", "rolloutBefore.certificatesExpiryDays")
	days, _ := n.Int()
	if days == 0 {
		return
	}
	ca, _ := of.Int()
	if ca == 0 {
		ca = longestCA
	}
	if days > ca {
		refuse.By(n, of).Says("certificates are valid for %d days, but their CA only for %d", days, ca)
	}
	if v, ok := before.Int(); ok && v >= days {
		refuse.By(before, n).Says("machines are replaced %d days before their certificates expire, but these are valid for %d days only", v, days)
	}
}

// controlPlane is what the webhooks demand of a KubeadmControlPlane and of its template.
func controlPlane(a admitted, refuse view.Failure) {
	config := a.spec.Get("kubeadmConfigSpec")
	kubeadm(config, refuse)
	tainted(a.spec.Get("machineTemplate", "spec"), refuse)
	at, health := config.Get("clusterConfiguration"), []string{"timeouts", "controlPlaneComponentHealthCheckSeconds"}
	if etcd := at.Get("etcd"); !view.Blank(etcd.Get("local")) && !view.Blank(etcd.Get("external")) {
		refuse.By(etcd.Get("local")).Says("etcd has both local and external")
	}
	first, others := config.Get("initConfiguration").Get(health...), config.Get("joinConfiguration").Get(health...)
	if !a.old && first.Text() != others.Text() {
		refuse.By(cmp.Or(first, others), others).Says("%s differs between initConfiguration and joinConfiguration", health[1])
	}
	if n := a.at("machineNaming.template", "machineNamingStrategy.template"); n.Str() != "" {
		name, err := clusterclass.Naming{Of: clusterclass.OfControlPlane}.Render(n.Text())
		switch problem := clusterclass.Unnamed(name); {
		case !strings.Contains(n.Text(), "{{ .random }}"):
			refuse.By(n).Says("the template for names of machines lacks {{ .random }}")
		case err != nil:
			refuse.By(n).Says("the template for names of machines cannot be rendered: %v", err)
		case problem != "":
			refuse.By(n).Says("the template for names of machines produces %q, which is not a valid name: %s", name, problem)
		}
	}
}

const clusterNameLabel = view.CoreGroup + "/cluster-name"

// sameCluster: workers and their machines belong to one Cluster.
func sameCluster(a admitted, refuse view.Failure) {
	of, in := a.spec.Get("clusterName"), a.spec.Get("template", "spec", "clusterName")
	if of.Str() != "" && in.Str() != "" && of.Text() != in.Text() {
		if view.ByClusterName(a.Object, in) && view.ByClusterName(a.Object, of) { // they are equal for one name of the Cluster at most
			refuse = refuse.Always()
		}
		refuse.By(of, in).Says("the clusterName of the template is %q, but that of the %s is %q",
			view.Spelling(a.Object, in), a.Kind, view.Spelling(a.Object, of))
	}
}

// tainted: some taints are reserved.
func tainted(machine *yamldoc.Node, refuse view.Failure) {
	for _, taint := range machine.Get("taints").List() {
		n := taint.Get("key")
		if problem := clusterclass.TaintProblem(n.Str()); n.Str() != "" && problem != "" {
			refuse.By(n).Says("taint %q %s", n.Text(), problem)
		}
	}
}

// bootstrapped: machines need a bootstrap config or a secret with its data.
func bootstrapped(a admitted, refuse view.Failure) {
	n := a.spec.Get("template", "spec", "bootstrap")
	secret := n.Get("dataSecretName") // which may be empty
	if a.spec.Get("template", "spec") != nil && view.Blank(n.Get("configRef")) && (secret == nil || secret.Is(yamldoc.Null)) {
		refuse.By(n).Says("the bootstrap of the template has neither configRef nor dataSecretName")
	}
}

func kubernetesVersion(n *yamldoc.Node, refuse view.Failure) {
	if text := n.Str(); text != "" {
		if _, err := semver.Parse(strings.TrimPrefix(text, "v")); err != nil {
			refuse.By(n).Says("version is %q; it must be a Kubernetes version such as v1.34.0", text)
		}
	}
}

func numberOrPercent(n *yamldoc.Node, name string, refuse view.Failure) {
	if n.Is(yamldoc.String) && !view.IsPercent(n.Text()) {
		refuse.By(n).Says("%s is %q; it must be a number or a percentage", name, n.Text())
	}
}
