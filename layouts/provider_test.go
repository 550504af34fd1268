package layouts_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

func TestLabelsRoundTrip(t *testing.T) {
	for label, want := range map[string]layouts.Provider{
		"cluster-api":               {Type: layouts.Core, Name: "cluster-api"},
		"bootstrap-kubeadm":         {Type: layouts.Bootstrap, Name: "kubeadm"},
		"control-plane-kubeadm":     {Type: layouts.ControlPlane, Name: "kubeadm"},
		"infrastructure-acme-cloud": {Type: layouts.Infrastructure, Name: "acme-cloud"},
		"ipam-in-cluster":           {Type: layouts.IPAM, Name: "in-cluster"},
		"runtime-extension-acme":    {Type: layouts.RuntimeExtension, Name: "acme"},
		"addon-helm":                {Type: layouts.Addon, Name: "helm"},
	} {
		got, err := layouts.ParseLabel(label)
		if err != nil || got != want || got.Label() != label {
			t.Errorf("%s: %+v, %v", label, got, err)
		}
	}
	for _, label := range []string{"", "foo", "infrastructure-", "cluster-api-x", "Infrastructure-x", "out"} {
		if p, err := layouts.ParseLabel(label); err == nil {
			t.Errorf("%q became %+v", label, p)
		}
	}
}

func TestProviderProblems(t *testing.T) {
	for _, tc := range []struct {
		p    layouts.Provider
		rule string // "" for none
	}{
		{layouts.Provider{Type: layouts.Infrastructure, Name: "acme"}, ""},
		{layouts.Provider{Type: layouts.Core, Name: "cluster-api"}, ""},
		{layouts.Provider{Type: layouts.Infrastructure, Name: "Acme"}, "NAME001"},
		{layouts.Provider{Type: layouts.Infrastructure, Name: "acme.cloud"}, "NAME001"},
		{layouts.Provider{Type: layouts.Infrastructure, Name: ""}, "NAME001"},
		{layouts.Provider{Type: layouts.Infrastructure, Name: strings.Repeat("a", 64)}, "NAME001"},
		{layouts.Provider{Type: layouts.Infrastructure, Name: strings.Repeat("a", 48)}, ""},
		{layouts.Provider{Type: layouts.Infrastructure, Name: strings.Repeat("a", 49)}, "NAME002"},
		{layouts.Provider{Type: "Infrastructure", Name: "acme"}, "NAME003"},
		{layouts.Provider{Type: layouts.Core, Name: "acme"}, "NAME004"},
		{layouts.Provider{Type: layouts.Infrastructure, Name: "cluster-api"}, "NAME004"},
	} {
		problems := tc.p.Problems()
		if tc.rule == "" && len(problems) > 0 || tc.rule != "" && (len(problems) != 1 || problems[0].Rule != tc.rule) {
			t.Errorf("%+v: %v, want %s", tc.p, problems, tc.rule)
		}
	}
}

func TestKindOfFile(t *testing.T) {
	for name, want := range map[string]layouts.FileKind{
		"metadata.yaml":                              layouts.Metadata,
		"Metadata.yaml":                              layouts.Asset,
		"SHA256SUMS":                                 layouts.Checksums,
		"cluster-template.yaml":                      layouts.ClusterTemplate,
		"cluster-template-ha.yaml":                   layouts.ClusterTemplate,
		"cluster-template-.yaml":                     layouts.Asset,
		"cluster-templates.yaml":                     layouts.Asset,
		"clusterclass-quick-start.yaml":              layouts.ClusterClass,
		"clusterclass-.yaml":                         layouts.Asset,
		"clusterclass.yaml":                          layouts.Asset,
		"core-components.yaml":                       layouts.Components,
		"infrastructure-components.yaml":             layouts.Components,
		"infrastructure-components-development.yaml": layouts.Components,
		"infrastructure-componentsx.yaml":            layouts.Asset,
		"runtime-extensions-components.yaml":         layouts.Components,
		"components.yaml":                            layouts.Asset,
	} {
		if got := layouts.KindOfFile(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestFileNamesRoundTrip(t *testing.T) {
	for _, flavor := range []string{"", "ha", "a-b"} {
		if got, ok := layouts.Flavor(layouts.TemplateFile(flavor)); !ok || got != flavor {
			t.Errorf("flavor %q became %q, %v", flavor, got, ok)
		}
	}
	if got, ok := layouts.ClassOf(layouts.ClusterClassFile("quick-start")); !ok || got != "quick-start" {
		t.Errorf("class became %q, %v", got, ok)
	}
}
