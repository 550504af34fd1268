package migrate

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// seeds is how many broken texts are migrated.
var seeds = share.Of(400, 20_000)

// seedText has everything that is edited.
const seedText = "# head\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {name: a}\nspec:\n  rolloutStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}\n  machineTemplate:\n    nodeDrainTimeout: ${D:=10m} # d\n    infrastructureRef:\n      apiVersion: a/v1\n      kind: K\n      namespace: ${N}\n  kubeadmConfigSpec:\n    files:\n    - path: /a\n      append: false\n      content: |\n        x: y\n    clusterConfiguration:\n      apiServer:\n        timeoutForControlPlane: 1m\n        extraArgs:\n          # c\n          b: \"1\"\n\n          a: >-\n            2\n---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nspec:\n  workers:\n    machineDeployments:\n    - class: a\n      template:\n        bootstrap:\n          ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: x}\n  patches:\n  - definitions:\n    - selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate}\n      jsonPatches:\n      - op: add\n        path: /spec/template/spec/kubeadmConfigSpec/clusterConfiguration/apiServer\n        valueFrom:\n          template: |\n            timeoutForControlPlane: 5m\n            extraArgs: {a: \"{{ .x }}\"}\n      - {op: add, path: /spec/template/spec/rolloutStrategy/type, value: RollingUpdate}\n"

// Whatever is done to a text, it is migrated or left, and the second run changes
// nothing more.
func TestBrokenTexts(t *testing.T) {
	parts := []string{"\n", " ", "  ", ":", "- ", "{", "}", "[", "]", "#", "'", "\"", "|", "${A}", "${", "{{ .x }}", "&a ", "*a", "!!str ", "---\n", "\t", "null", "? ", "<<: ", "\r", "é", ","}
	for seed := range seeds {
		r := rand.New(rand.NewSource(int64(seed)))
		text := seedText
		for range 1 + r.Intn(3) {
			at := r.Intn(len(text))
			switch r.Intn(3) {
			case 0:
				text = text[:at] + parts[r.Intn(len(parts))] + text[at:]
			case 1:
				text = text[:at] + text[min(len(text), at+1+r.Intn(12)):]
			default:
				lines := strings.SplitAfter(text, "\n")
				i, j := r.Intn(len(lines)), r.Intn(len(lines))
				lines[i], lines[j] = lines[j], lines[i]
				text = strings.Join(lines, "")
			}
		}
		first := Text("x", []byte(text), options())
		if again := Text("x", first.New, options()); again.Changed(first.New) {
			t.Fatalf("seed %d: the second run changes\n%s\ninto\n%s\nfrom\n%s", seed, first.New, again.New, text)
		}
	}
}

const seedKustomization = "resources:\n- base.yaml\ncomponents: [.]\npatches:\n- path: merge.yaml\n- path: ops.yaml\n  target: {group: controlplane.cluster.x-k8s.io, version: v1beta1, kind: KubeadmControlPlane, name: a}\n- target:\n    kind: KubeadmControlPlane\n  patch: |-\n    - op: add\n      path: /spec/rolloutStrategy\n      value:\n        type: RollingUpdate\n- patch: |\n    apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n    kind: KubeadmControlPlane\n    metadata: {name: a}\n    spec: {kubeadmConfigSpec: {clusterConfiguration: {apiServer: {extraArgs: {z: \"1\"}}}}}\npatchesStrategicMerge:\n- merge.yaml\nreplacements:\n- source: {kind: Cluster, fieldPath: spec.topology.class}\n  targets:\n  - select: {kind: Cluster}\n    fieldPaths: [spec.topology.class]\n"

// Broken kustomizations are migrated or left too.
func TestBrokenKustomizations(t *testing.T) {
	for seed := range seeds / 4 {
		r := rand.New(rand.NewSource(int64(seed)))
		broken := func(text string) []byte {
			lines := strings.SplitAfter(text, "\n")
			for range r.Intn(3) {
				i, j := r.Intn(len(lines)), r.Intn(len(lines))
				lines[i], lines[j] = lines[j], lines[i]
			}
			text = strings.Join(lines, "")
			at := r.Intn(len(text))
			return []byte(text[:at] + text[min(len(text), at+r.Intn(8)):])
		}
		files := []*source{
			{name: "kustomization.yaml", data: broken(seedKustomization)},
			{name: "base.yaml", data: broken(seedText)},
			{name: "merge.yaml", data: broken(seedText)},
			{name: "ops.yaml", data: broken("- op: add\n  path: /spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/x\n  value: \"1\"\n- op: replace\n  path: /spec/machineTemplate/nodeDrainTimeout\n  value: 1m\n")},
		}
		first := given.Value(together(t.Context(), files, "", options()))(t)
		now := map[string][]byte{}
		for _, f := range first.Files {
			now[f.Name] = f.New
		}
		var again []*source
		for _, f := range files {
			data := f.data
			if changed, ok := now[f.name]; ok {
				data = changed
			}
			again = append(again, &source{name: f.name, data: data})
		}
		second := given.Value(together(t.Context(), again, "", options()))(t)
		for _, f := range second.Files {
			if f.Changed(f.Old) {
				t.Fatalf("seed %d: the second run changes %s\n%s\ninto\n%s", seed, f.Name, f.Old, f.New)
			}
		}
	}
}
