package view

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// defaultPort is the port of a Service at which webhooks are called.
const defaultPort = 443

// Unserved returns the port of a Service that a reference of an object asks for, and the node
// that names it, or nil if the Service may have the port.
func Unserved(o *manifest.Object, ref *yamldoc.Node, service *manifest.Object) (port int64, at *yamldoc.Node) {
	port, at = defaultPort, ref.Get("name")
	if n := ref.Get("port"); n != nil {
		v, ok := n.Int()
		if !ok || Open(o, n) {
			return 0, nil
		}
		port, at = v, n
	}
	if slices.ContainsFunc(service.Get("spec", "ports").List(), func(n *yamldoc.Node) bool {
		v, ok := n.Get("port").Int()
		return !ok || v == port || Open(service, n.Get("port"))
	}) {
		return 0, nil
	}
	return port, at
}

// InjectCAFrom is the annotation that names the Certificate of a webhook.
const InjectCAFrom = "cert-manager.io/inject-ca-from"

// bringsCA are annotations by which something puts a CA into webhooks.
var bringsCA = []string{
	InjectCAFrom, "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca", "service.beta.openshift.io/inject-cabundle",
}

// BringsCA reports whether something puts a CA into the webhooks of an object.
func BringsCA(o *manifest.Object) bool {
	return slices.ContainsFunc(bringsCA, func(key string) bool { _, ok := o.Annotation(key); return ok })
}

// CallsWebhooks reports whether clusterctl replaces the namespace of webhooks in
// an object. The kind alone decides.
func CallsWebhooks(o *manifest.Object) bool {
	switch o.Kind {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", crd.Kind:
		return true
	}
	return false
}

// IsFor reports whether a Certificate is for a Service in a namespace, after
// clusterctl has put that in the place of its own.
func IsFor(c *manifest.Object, service, namespace string) bool {
	for _, n := range c.Get("spec", "dnsNames").List() {
		if Open(c, n) {
			return true
		}
		name := strings.Replace(n.Str(), "."+c.Namespace+".", "."+namespace+".", 1)
		if host, rest, _ := strings.Cut(name, "."); (host == service || host == "*") && rest == namespace+".svc" {
			return true
		}
	}
	return false
}
