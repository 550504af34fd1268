package examples_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// TestOneFault plants single faults into an example. Each gives one finding, at its line
// of the source: rules that see its consequences leave it to the one that names it.
func TestOneFault(t *testing.T) {
	const tree = "cluster-api-provider-acme"
	for _, fault := range []struct{ file, old, new, want string }{
		{"metadata.yaml", "releaseSeries:", "releaseseries:", "META016 metadata.yaml:5"},
		{"metadata.yaml", "contract: v1beta2", "contract: v1beta3", "META007 metadata.yaml:11"},
		{"metadata.yaml", "minor: 1", "minor: -1", "META004 metadata.yaml:10"},
		{"config/default/kustomization.yaml", "- ../certmanager\n", "", "LINT003 config/default/kustomization.yaml:1"},
		{"config/manager/manager.yaml", "      terminationGracePeriodSeconds: 10\n", "      serviceAccountName: other\n", "LINT003 config/default/kustomization.yaml:1"},
		{"config/webhook/manifests.yaml", "name: webhook-service", "name: webhook-svc", "WH001 config/webhook/manifests.yaml:14"},
		{"config/webhook/manifests.yaml", "- v1beta2", "- v1beta3", "WH003 config/webhook/manifests.yaml:23"},
		{"templates/base/cluster.yaml", "kind: AcmeCluster\n    name", "kind: AcmeClster\n    name", "TPL007 templates/base/cluster.yaml:13"},
		{"templates/base/cluster.yaml", "clusterNetwork:", "clusterNetworks:", "TOP001 templates/base/cluster.yaml:6"},
		{"templates/base/control-plane.yaml", "${CONTROL_PLANE_MACHINE_COUNT}", `"three"`, "TOP001 templates/base/control-plane.yaml:6"},
		{"templates/base/control-plane.yaml", "${KUBERNETES_VERSION}", "1.34", "TOP001 templates/base/control-plane.yaml:7"},
		{"templates/flavors/default/workers.yaml", "kind: KubeadmConfigTemplate\n          name", "kind: KubeadmConfig\n          name", "TPL007 templates/flavors/default/workers.yaml:23"},
		{"templates/flavors/default/workers.yaml", "        name: ${CLUSTER_NAME}-workers\n---", "        name: ${CLUSTER_NAME}-worker\n---", "TPL007 templates/flavors/default/workers.yaml:28"},
		{"templates/clusterclass-quick-start.yaml", "variable: region", "variable: reg", "PA013 templates/clusterclass-quick-start.yaml:78"},
		{"templates/clusterclass-quick-start.yaml", "op: replace", "op: replac", "PA008 templates/clusterclass-quick-start.yaml:75"},
	} {
		t.Run(fault.want+" "+fault.new, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), tree)
			given.NoError(t, os.CopyFS(dir, os.DirFS(tree)))
			name := filepath.Join(dir, filepath.FromSlash(fault.file))
			data := given.Read(t, name)
			planted := strings.Replace(string(data), fault.old, fault.new, 1)
			if planted == string(data) {
				t.Fatalf("%s does not have %q", fault.file, fault.old)
			}
			given.NoError(t, os.WriteFile(name, []byte(planted), 0o600))
			r := given.Value(check.Folder(t.Context(), dir, check.Options{}))(t)
			var got []string
			for _, f := range r.Report.Findings {
				got = append(got, fmt.Sprintf("%s %s:%d", f.Rule.ID, strings.TrimPrefix(f.File, filepath.ToSlash(dir)+"/"), f.Pos.Line))
			}
			if strings.Join(got, ", ") != fault.want {
				t.Errorf("got %v, want %s", got, fault.want)
			}
		})
	}
}
