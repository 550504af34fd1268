package layouts

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestEmbeddedAt(t *testing.T) {
	for _, tc := range []struct{ repository, file, want string }{
		{"kubernetes-sigs/cluster-api", "core-components.yaml", "cluster-api"},
		{"kubernetes-sigs/cluster-api", "bootstrap-components.yaml", "bootstrap-kubeadm"},
		{"Kubernetes-SIGs/cluster-api", "infrastructure-components-development.yaml", "infrastructure-docker"},
		{"kubernetes-sigs/cluster-api", "infrastructure-components.yaml", ""},
		{"acme/cluster-api", "core-components.yaml", ""},
	} {
		got, ok := EmbeddedAt(tc.repository, tc.file)
		if ok != (tc.want != "") || ok && got.Label() != tc.want {
			t.Errorf("%s %s: %v %v", tc.repository, tc.file, got, ok)
		}
	}
	for _, e := range EmbeddedProviders {
		l := given.Value(ParseProviderURL(e.URL(), e.Provider))(t)
		if got, ok := EmbeddedAt(e.Repository, l.File); !ok || got != e.Provider {
			t.Errorf("%s: %v %v", e.URL(), got, ok)
		}
	}
}
