package templates

import (
	"cmp"
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
	ID: "TOP025", Name: "core-admission", Since: "v0.1.0",
	Title:    "Control planes, workers and health checks must pass the webhooks of Cluster API",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: "cluster-api core/webhooks/admission, MachineDeployment and MachineHealthCheck; controlplane/kubeadm/webhooks/admission, validateKubeadmControlPlaneSpec",
	Why:    "The Cluster API webhook refuses the object, so the cluster is created without it.",
	Fix:    "Set the field to what the message allows.",
	Kinds:  rendered, Check: coreAdmission,
})

func coreAdmission(p *lint.Pass) {
	for _, o := range p.File.Objects() {
		check := admissions[o.Group+"/"+o.Kind]
		if check == nil || o.Version != "v1beta2" && o.Version != clusterclass.V1Beta1 {
			continue
		}
		check(admitted{o, o.Get("spec"), o.Version == clusterclass.V1Beta1}, view.Failure{Pass: p, Object: o, Value: cmp.Or(o.Get("spec"), o.Doc.Root)})
	}
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
	"controlplane.cluster.x-k8s.io/KubeadmControlPlane": func(a admitted, refuse view.Failure) {
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
		if surge := a.at("rollout.strategy.rollingUpdate.maxSurge", "rolloutStrategy.rollingUpdate.maxSurge"); surge != nil && !surge.Is(yamldoc.Null) {
			v, _ := strconv.Atoi(surge.Text())
			if v != 0 && v != 1 {
				refuse.By(surge).Says("maxSurge is %s; it must be 0 or 1", surge.Text())
			} else if v == 0 && replicas < 3 {
				refuse.By(surge, n).Says("maxSurge is 0, which needs at least 3 replicas")
			}
		}
		kubernetesVersion(a.spec.Get("version"), refuse)
	},
	"cluster.x-k8s.io/MachineDeployment": func(a admitted, refuse view.Failure) {
		sameCluster(a, refuse)
		bootstrapped(a, refuse)
		update := a.at("rollout.strategy.rollingUpdate", "strategy.rollingUpdate")
		surge, some := update.Get("maxSurge").Int()
		unavailable, given := update.Get("maxUnavailable").Int()
		if some && surge == 0 && (given && unavailable == 0 || update.Get("maxUnavailable") == nil) {
			refuse.By(update, update.Get("maxSurge"), update.Get("maxUnavailable")).Says("maxSurge and maxUnavailable are both 0")
		}
		for _, name := range [...]string{"maxSurge", "maxUnavailable"} {
			numberOrPercent(update.Get(name), name, refuse)
		}
		for _, f := range view.Fields(a.spec.Get("selector", "matchLabels")) {
			n := a.spec.Get("template", "metadata", "labels", f.Name)
			if f.Name != clusterNameLabel && n.Str() != f.Value.Str() {
				refuse.By(f.Value, n).Says("the selector asks for the label %s: %s, which the template does not have", f.Name, f.Value.Text())
			}
		}
		kubernetesVersion(a.spec.Get("template", "spec", "version"), refuse)
	},
	"cluster.x-k8s.io/MachinePool": func(a admitted, refuse view.Failure) {
		sameCluster(a, refuse)
		bootstrapped(a, refuse)
		if n := a.spec.Get("template", "spec", "taints"); !view.Blank(n) {
			refuse.By(n).Says("the machines of a MachinePool cannot have taints")
		}
		kubernetesVersion(a.spec.Get("template", "spec", "version"), refuse)
	},
	"cluster.x-k8s.io/MachineHealthCheck": func(a admitted, refuse view.Failure) {
		selector := a.spec.Get("selector")
		if view.Blank(selector.Get("matchLabels")) && view.Blank(selector.Get("matchExpressions")) {
			refuse.By(selector).Says("the selector is empty")
		}
		if n := selector.Get("matchLabels", clusterNameLabel); n != nil && n.Str() != a.spec.Get("clusterName").Str() {
			refuse.By(n, a.spec.Get("clusterName")).Says("the selector asks for cluster %s, but clusterName is %q", n.Text(), a.spec.Get("clusterName").Str())
		}
		timeout := a.at("checks.nodeStartupTimeoutSeconds", "nodeStartupTimeout")
		seconds, ok := timeout.Int()
		if d, err := time.ParseDuration(timeout.Str()); a.old && err == nil {
			seconds, ok = int64(d/time.Second), true
		}
		if ok && seconds != 0 && seconds < 30 {
			refuse.By(timeout).Says("the startup timeout is %d seconds; it must be 0 or at least 30", seconds)
		}
		numberOrPercent(a.at("remediation.triggerIf.unhealthyLessThanOrEqualTo", "maxUnhealthy"), "the limit of unhealthy machines", refuse)
	},
}

const clusterNameLabel = view.CoreGroup + "/cluster-name"

// sameCluster: workers and their machines belong to one Cluster.
func sameCluster(a admitted, refuse view.Failure) {
	of, in := a.spec.Get("clusterName"), a.spec.Get("template", "spec", "clusterName")
	if of.Str() != "" && in.Str() != "" && of.Text() != in.Text() {
		refuse.By(in, of).Says("the clusterName of the template is %q, but that of the %s is %q", in.Text(), a.Kind, of.Text())
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
