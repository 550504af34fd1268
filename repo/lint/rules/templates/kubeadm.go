package templates

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP026", Name: "kubeadm-fields", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Kubeadm configs and the networks of Clusters should let machines become nodes",
	Source: "Kubernetes cmd/kubeadm/app/apis/kubeadm/validation, ValidateInitConfiguration and ValidateJoinConfiguration; cmd/kubelet/app/options, ValidateKubeletFlags; pkg/controller/nodeipam, filterOutServiceRange; cloud-init, module write_files",
	Why:    "Cluster API accepts the object, but kubeadm or the kubelet fails on the machine, which never becomes a node. If networks overlap, nodes get no addresses for pods, or pods get those of Services. cloud-init ignores permissions that are not octal.",
	Fix:    "Set the field to what the message allows.",
	Kinds:  rendered, Check: view.EachObject(kubeadmFields),
})

// kubeadmConfigs are the paths of kubeadm configs, by kind.
var kubeadmConfigs = map[string]string{
	"KubeadmConfig": "spec", "KubeadmConfigTemplate": "spec.template.spec",
	"KubeadmControlPlane": "spec.kubeadmConfigSpec", "KubeadmControlPlaneTemplate": "spec.template.spec.kubeadmConfigSpec",
}

// kubeadmValues are what kubeadm demands of values; a star stands for all fields or
// entries.
var kubeadmValues = []struct {
	path, words string
	valid       func(string) bool
}{
	{"initConfiguration.bootstrapTokens.*.token", "a token such as abcdef.0123456789abcdef", matches(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)},
	{"initConfiguration.localAPIEndpoint.bindPort", "a port from 0 to 65535", func(text string) bool { v, err := strconv.Atoi(text); return err == nil && v >= 0 && v < 1<<16 }},
	{"clusterConfiguration.apiServer.certSANs.*", "a host name or an IP address", func(text string) bool {
		_, err := netip.ParseAddr(text)
		return err == nil || isDomain(strings.TrimPrefix(text, "*."))
	}},
	{"clusterConfiguration.dns.imageTag", "the tag of an image", matches(`^\w[\w.-]{0,127}$`)},
	{"clusterConfiguration.etcd.local.imageTag", "the tag of an image", matches(`^\w[\w.-]{0,127}$`)},
	{"clusterConfiguration.etcd.external.endpoints.*", "a URL such as https://10.0.0.1:2379", matches(`(?i)^https?://`)},
	{"clusterConfiguration.networking.dnsDomain", "a DNS name", isDomain},
	{"clusterConfiguration.*.extraVolumes.*.pathType", "a type of hostPath volumes", matches(`^((File|Directory)(OrCreate)?|Socket|(Char|Block)Device|)$`)},
	{"joinConfiguration.discovery.bootstrapToken.apiServerEndpoint", "a host and a port", func(text string) bool { _, _, err := net.SplitHostPort(text); return err == nil }},
	{"joinConfiguration.discovery.bootstrapToken.caCertHashes.*", "sha256: and 64 hexadecimal digits", matches(`(?i)^sha256:[0-9a-f]{64}$`)},
	{"*.nodeRegistration.taints.*.effect", "NoSchedule, PreferNoSchedule or NoExecute", matches(`^((Prefer)?NoSchedule|NoExecute)$`)},
	{"*.nodeRegistration.taints.*.key", "a label key", func(text string) bool { return len(validation.IsQualifiedName(text)) == 0 }},
	{"*.nodeRegistration.kubeletExtraArgs.node-labels", "labels that a kubelet may set", ownLabels},
	{"files.*.permissions", "an octal number such as 0644", matches(`^(0o?)?[0-7]{3,4}$`)},
}

func isDomain(text string) bool { return len(validation.IsDNS1123Subdomain(text)) == 0 }

func matches(pattern string) func(string) bool {
	compiled := phrase.Pattern(pattern)
	return func(text string) bool { return compiled().MatchString(text) }
}

// ownLabels reports whether a kubelet starts with labels: in the domains of Kubernetes it
// may set few (k8s.io/kubelet pkg/apis, IsKubeletLabel).
func ownLabels(list string) bool {
	return !slices.ContainsFunc(strings.Split(list, ","), func(label string) bool {
		key, _, _ := strings.Cut(label, "=")
		domain, name, _ := strings.Cut(key, "/")
		under := func(of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }
		switch {
		case !under("kubernetes.io") && !under("k8s.io"), under("kubelet.kubernetes.io"), under("node.kubernetes.io"):
			return false
		case domain == "topology.kubernetes.io" || domain == "failure-domain.beta.kubernetes.io":
			return name != "zone" && name != "region"
		}
		return !slices.Contains([]string{"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type"}, key)
	})
}

func kubeadmFields(p *lint.Pass, o *manifest.Object) {
	fail := view.Failure{Pass: p, Object: o, Value: o.Doc.Root}
	if o.Is(view.CoreGroup, view.ClusterKind) {
		networks(o.Get("spec", "clusterNetwork"), fail)
	}
	config := o.Get(strings.Split(kubeadmConfigs[o.Kind], ".")...)
	if config == nil || !contractual(o.Group) {
		return
	}
	for _, row := range kubeadmValues {
		each(config, strings.Split(row.path, "."), func(n *yamldoc.Node) {
			if (n.Is(yamldoc.String) || n.Is(yamldoc.Int)) && n.Text() != "" && !row.valid(n.Text()) {
				fail.By(n).Says("%s is %q; it must be %s",
					strings.ReplaceAll(strings.TrimSuffix(row.path, ".*"), "*.", ""), n.Text(), row.words)
			}
		})
	}
	found := config.Get("joinConfiguration", "discovery")
	if file, token := found.Get("file"), found.Get("bootstrapToken"); !view.Blank(file) && !view.Blank(token) {
		fail.By(file, token).Says("the discovery has both bootstrapToken and file")
	}
	etcd := config.Get("clusterConfiguration", "etcd", "external")
	for _, n := range etcd.Get("endpoints").List() {
		for _, name := range [...]string{"caFile", "certFile", "keyFile"} {
			if file := etcd.Get(name); file.Str() != "" && strings.HasPrefix(strings.ToLower(n.Str()), "http:") {
				fail.By(n, file).Says("clusterConfiguration.etcd.external.endpoints is %q; with a %s it must begin with https://", n.Text(), name)
				break
			}
		}
	}
}

// each visits the values at a path. Arguments of a component are a map, or a list of
// names and values.
func each(n *yamldoc.Node, path []string, visit func(*yamldoc.Node)) {
	switch {
	case n == nil:
	case len(path) == 0:
		visit(n)
	case path[0] == "*":
		for _, f := range view.Fields(n) {
			each(f.Value, path[1:], visit)
		}
		for _, item := range n.List() {
			each(item, path[1:], visit)
		}
	case n.Is(yamldoc.List):
		for _, item := range n.List() {
			if item.Get("name").Str() == path[0] {
				each(item.Get("value"), path[1:], visit)
			}
		}
	default:
		each(n.Get(path[0]), path[1:], visit)
	}
}

// networks: a Cluster has one network of each family for its pods and its services, and they
// do not overlap.
func networks(network *yamldoc.Node, fail view.Failure) {
	if n := network.Get("serviceDomain"); n.Str() != "" && !isDomain(n.Text()) {
		fail.By(n).Says("serviceDomain is %q; it must be a DNS name", n.Text())
	}
	prefixes := func(of string) (list []*yamldoc.Node, out []netip.Prefix) {
		seen := map[bool]bool{}
		for _, n := range network.Get(of, "cidrBlocks").List() {
			p, err := netip.ParsePrefix(n.Str())
			if err != nil {
				continue // TOP015
			}
			if seen[p.Addr().Is4()] {
				fail.By(n).By(list...).Says("the %s have a second network of the same family, %s; Kubernetes accepts one of each", of, n.Text())
			}
			seen[p.Addr().Is4()] = true
			list, out = append(list, n), append(out, p)
		}
		return list, out
	}
	pods, ofPods := prefixes("pods")
	services, ofServices := prefixes("services")
	for i, own := range ofServices {
		for k, other := range ofPods {
			if own.Overlaps(other) {
				fail.By(services[i], pods[k]).Says("the services have the network %s, which overlaps with %s of the pods", services[i].Text(), pods[k].Text())
			}
		}
	}
}
