package clusterctl

import (
	"cmp"
	"fmt"
	"strconv"
)

// The cert-manager that clusterctl v1.14.2 installs if nothing else is
// configured (clusterctl: client/config/cert_manager_client.go).
const (
	CertManagerVersion = "v1.21.1"
	certManagerURL     = "https://github.com/cert-manager/cert-manager/releases/" + CertManagerVersion + "/cert-manager.yaml"
)

// certManager is where clusterctl takes cert-manager from.
type certManager struct {
	// URL is that of a release, with the environment filled in.
	URL string
	// Version is the one that is installed, whichever the URL names.
	Version string
	// ExternallyProvisioned is a boolean in words: with a true one clusterctl neither
	// installs nor upgrades cert-manager.
	ExternallyProvisioned string
}

// External reports whether clusterctl leaves cert-manager to the user.
func (m certManager) External() bool {
	external, _ := strconv.ParseBool(m.ExternallyProvisioned) // checked when it was read
	return external
}

// CertManager returns the entry of the file, completed by the defaults
// (clusterctl: client/config/cert_manager_client.go, Get).
func (c *Config) CertManager() (certManager, error) {
	var out certManager
	if err := c.unmarshal("cert-manager", &out); err != nil {
		return certManager{}, fmt.Errorf("%s: failed to unmarshal certManager from the clusterctl configuration file: %w", c.name, err)
	}
	out.URL, out.Version = cmp.Or(out.URL, certManagerURL), cmp.Or(out.Version, CertManagerVersion)
	if out.ExternallyProvisioned != "" {
		if _, err := strconv.ParseBool(out.ExternallyProvisioned); err != nil {
			return certManager{}, fmt.Errorf("%s: cert-manager.externallyProvisioned: %w", c.name, err)
		}
	}
	var err error
	if out.URL, err = c.expand(out.URL); err != nil {
		return certManager{}, fmt.Errorf("%s: unable to evaluate url: %q: %w", c.name, out.URL, err)
	}
	return out, nil
}
