package view

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// DefaultPort is the port of a Service at which webhooks are called.
const DefaultPort = 443

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
