package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestOneFault plants faults into a sound release: what follows from one is listed
// alongside it, not as a fault that has to be removed as well.
func TestOneFault(t *testing.T) {
	const file = "infrastructure-foo/v1.0.0/infrastructure-components.yaml"
	sound := given.Value(examples.Load("COMP039"))(t).Good.Text
	for _, fault := range []struct {
		old, new, want string
		also           []string
	}{
		{"apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1x\n", "COMP008", []string{"CRD005"}},
		{"metadata:\n  name: fooclusters.", "metadaat:\n  name: fooclusters.", "COMP033", []string{"CRD010", "YAML007"}},
		{"labels:\n    cluster.x-k8s.io/provider: infrastructure-foo\n    cluster.x-k8s.io/v1beta2", "labesl:\n    cluster.x-k8s.io/provider: infrastructure-foo\n    cluster.x-k8s.io/v1beta2", "COMP033", []string{"COMP020", "CRD010"}},
		{"kind: ClusterRole\n  name", "kind: [\n  name", "YAML001", nil},
	} {
		text := maps.Clone(sound)
		text[file] = strings.Replace(sound[file], fault.old, fault.new, 1)
		var also []string
		findings := lintFiles(t, examples.Files{Text: text})
		if len(findings) != 1 || findings[0].Rule.ID != fault.want {
			t.Errorf("%s: got %+v", fault.new, findings)
			continue
		}
		for _, p := range findings[0].Also {
			also = append(also, p.Rule.ID)
		}
		slices.Sort(also)
		if !slices.Equal(also, fault.also) {
			t.Errorf("%s: got also %v, want %v", fault.new, also, fault.also)
		}
	}
}
