package layouts

import (
	"fmt"
	"strings"
)

// ProviderType is the kind of a provider, spelled as in clusterctl.yaml
// (clusterctl: cmd/clusterctl/api/v1alpha3/provider_type.go).
type ProviderType string

// The seven provider types that clusterctl knows.
const (
	Core             ProviderType = "CoreProvider"
	Bootstrap        ProviderType = "BootstrapProvider"
	ControlPlane     ProviderType = "ControlPlaneProvider"
	Infrastructure   ProviderType = "InfrastructureProvider"
	IPAM             ProviderType = "IPAMProvider"
	RuntimeExtension ProviderType = "RuntimeExtensionProvider"
	Addon            ProviderType = "AddonProvider"
)

// TypeInfo is one row of the table of provider types.
type TypeInfo struct {
	// Type is the constant used in clusterctl.yaml and in the inventory.
	Type ProviderType
	// Prefix precedes the provider name in the manifest label, with its
	// dash; empty for the core provider.
	Prefix string
	// ComponentsFile is the file name that the contract recommends.
	ComponentsFile string
	// Short is the word used on command lines and in clusterctl-repo.yaml.
	Short string
	// Flag is the flag of `clusterctl init` and `generate provider` that
	// selects a provider of this type.
	Flag string
	// Operator is the word of Cluster API Operator (cluster-api-operator: api/v1alpha2,
	// GetType).
	Operator string
}

// Types lists the provider types in clusterctl's install order
// (contract: "clusterctl provider contract", section "Naming conventions").
var Types = []TypeInfo{
	{Core, "", "core-components.yaml", "core", "--core", "core"},
	{Bootstrap, "bootstrap-", "bootstrap-components.yaml", "bootstrap", "--bootstrap", "bootstrap"},
	{ControlPlane, "control-plane-", "control-plane-components.yaml", "control-plane", "--control-plane", "control-plane"},
	{Infrastructure, "infrastructure-", "infrastructure-components.yaml", "infrastructure", "--infrastructure", "infrastructure"},
	{IPAM, "ipam-", "ipam-components.yaml", "ipam", "--ipam", "ipam"},
	{RuntimeExtension, "runtime-extension-", "runtime-extension-components.yaml", "runtime-extension", "--runtime-extension", "runtimeextension"},
	{Addon, "addon-", "addon-components.yaml", "addon", "--addon", "addon"},
}

// ProviderLabel is the label that ties an object to its provider; its value is
// the manifest label.
const ProviderLabel = "cluster.x-k8s.io/provider"

// CoreName is the only name a core provider may have, and no other provider.
const CoreName = "cluster-api"

// Info returns the row of Types for t; ok is false for an unknown type.
func (t ProviderType) Info() (info TypeInfo, ok bool) {
	for _, row := range Types {
		if row.Type == t {
			return row, true
		}
	}
	return TypeInfo{}, false
}

// Short returns the word of t on command lines and in configurations; "" for an
// unknown type.
func (t ProviderType) Short() string {
	info, _ := t.Info()
	return info.Short
}

// TypeByWord finds a provider type by its constant ("InfrastructureProvider")
// or its short word ("infrastructure").
func TypeByWord(word string) (ProviderType, bool) {
	for _, row := range Types {
		if string(row.Type) == word || row.Short == word {
			return row.Type, true
		}
	}
	return "", false
}

// Provider identifies a provider the way clusterctl does: by type and name.
type Provider struct {
	Type ProviderType
	Name string
}

// Label returns the manifest label of p: the folder name in a local
// repository, the value of the label cluster.x-k8s.io/provider and the name of
// the inventory object (clusterctl: api/v1alpha3/labels.go, ManifestLabel).
func (p Provider) Label() string {
	info, ok := p.Type.Info()
	if !ok {
		return p.Name
	}
	return info.Prefix + p.Name
}

// CertManager stands for the manifest of cert-manager, which clusterctl installs
// and finds like the components of a provider without a type
// (clusterctl: client/cluster/cert_manager.go, getManifestObjs).
var CertManager = Provider{Name: "cert-manager"}

// CertManagerFile is the only file of a version of cert-manager.
const CertManagerFile = "cert-manager.yaml"

func (p Provider) String() string { return p.Label() }

// ParseLabel is the inverse of Label. A label without a known prefix is a core
// provider only if it is exactly "cluster-api"; anything else is an error.
func ParseLabel(label string) (Provider, error) {
	if label == CoreName {
		return Provider{Core, CoreName}, nil
	}
	var prefixes []string
	for _, row := range Types {
		if row.Prefix == "" {
			continue
		}
		if name, ok := strings.CutPrefix(label, row.Prefix); ok && name != "" {
			return Provider{row.Type, name}, nil
		}
		prefixes = append(prefixes, row.Prefix)
	}
	return Provider{}, fmt.Errorf("%q is not a provider label: expected %q or a name after one of the prefixes %s", label, CoreName, strings.Join(prefixes, ", "))
}

// maxLabel is the longest value of a Kubernetes label and the longest DNS-1123
// label.
const maxLabel = 63

// IsDNSLabel reports whether s is a DNS-1123 label: lower-case letters, digits
// and dashes, at most 63 characters, letters or digits at both ends.
func IsDNSLabel(s string) bool {
	if s == "" || len(s) > maxLabel || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') })
}

// problem is one violated naming rule. Rule is the ID of the lint rule that
// states it, so that build and lint speak with one voice.
type problem struct {
	Rule, Message string
}

// Problems checks the type, the name and the label of p
// (clusterctl: client/config/providers_client.go validateProvider and
// client/common.go parseProviderName, whichever is stricter; Kubernetes limits
// label values to 63 characters).
func (p Provider) Problems() []problem {
	var out []problem
	add := func(rule, format string, args ...any) {
		out = append(out, problem{rule, fmt.Sprintf(format, args...)})
	}
	if p == CertManager {
		return nil
	}
	_, known := p.Type.Info()
	if !known {
		var names []string
		for _, row := range Types {
			names = append(names, string(row.Type))
		}
		add("NAME003", "provider type %q is unknown; it must be one of %s", p.Type, strings.Join(names, ", "))
	}
	switch {
	case !IsDNSLabel(p.Name):
		add("NAME001", "provider name %q must consist of lower-case letters, digits and dashes, begin and end with a letter or digit, and have at most %d characters", p.Name, maxLabel)
	case known && len(p.Label()) > maxLabel:
		add("NAME002", "provider label %q has %d characters, and Kubernetes allows %d in a label value", p.Label(), len(p.Label()), maxLabel)
	}
	if known && (p.Type == Core) != (p.Name == CoreName) {
		if p.Type == Core {
			add("NAME004", "the core provider must be named %q, not %q", CoreName, p.Name)
		} else {
			add("NAME004", "the name %q is reserved for the core provider, but the type here is %s", CoreName, p.Type)
		}
	}
	return out
}
