package check_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// suite is an E2EConfig without a fault.
const suite = `images:
- name: example.com/manager:e2e
providers:
- name: cluster-api
  type: CoreProvider
  versions:
  - name: v1.14.2
    type: url
    value: https://example.com/v1.14.2/core-components.yaml
    contract: v1beta2
    files:
    - sourcePath: ../core-metadata.yaml
      targetName: metadata.yaml
- {name: kubeadm, type: BootstrapProvider}
- {name: kubeadm, type: ControlPlaneProvider}
- name: acme
  type: InfrastructureProvider
  files:
  - sourcePath: ../../metadata.yaml
  - sourcePath: ../templates/cluster-template.yaml
  - sourcePath: ../templates/cluster-template-ha.yaml
  versions:
  - name: v0.1.99
    value: ../../config/default
    contract: v1beta2
    replacements:
    - old: "image: example.com/manager:dev"
      new: "image: example.com/manager:e2e"
variables:
  ACME_REGION: "here"
  FLAVOR: ha
  ACME_MACHINE_FLAVOR: tiny
  CNI: file
  ACME_ZONE: a
`

// suiteFiles are the files that it wants: the flavor ha is built from the folder next to it.
func suiteFiles(config string) map[string]string {
	manager := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manager, namespace: acme-system}\nspec:\n  selector: {matchLabels: {app: manager}}\n  template: {metadata: {labels: {app: manager}}, spec: {containers: [{name: manager, image: 'example.com/manager:dev'}]}}\n"
	files := map[string]string{
		"e2e/core-metadata.yaml":              "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 1, minor: 14, contract: v1beta2}]\n",
		"Makefile":                            "e2e:\n",
		"e2e/config/e2e.yaml":                 config,
		"e2e/templates/cluster-template.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '${CLUSTER_NAME}', namespace: '${NAMESPACE}'}\ndata: {region: '${ACME_REGION}', net: '${CNI_RESOURCES}', zone: '${ACME_ZONE:=b}', zones: '${ACME_ZONE}'}\n",
		"e2e/templates/cluster-template-ha/kustomization.yaml": "resources: [../cluster-template.yaml]\n",
		"config/default/kustomization.yaml":                    "resources: [manager.yaml, deployment.yaml]\n",
		"config/default/deployment.yaml":                       manager,
	}
	for _, name := range []string{"metadata.yaml", "config/default/manager.yaml"} {
		files[name] = provider[name]
	}
	return files
}

// TestSuite demands that each fault of a configuration is found on its line.
func TestSuite(t *testing.T) {
	const file = "e2e/config/e2e.yaml"
	for name, tc := range map[string]struct {
		old, new string
		want     []string // PLACE RULE
	}{
		"good":           {"", "", nil},
		"in the release": {"", "", []string{"config/default/manager.yaml:6 YAML009"}},
		"missing file":   {"../templates/cluster-template.yaml", "../templates/gone.yaml", []string{file + ":20 SUITE001"}},
		"no folder":      {"cluster-template-ha.yaml", "cluster-template-hb.yaml", []string{file + ":21 SUITE001"}},
		"expression":     {"\"image: example.com/manager:d", "\"(image: example.com/manager:d", []string{file + ":27 SUITE001"}},
		"own loader":     {"kubeadm, type: Boot", "k3s, type: Boot", nil},
		"refused":        {"kubeadm, type: Boot", "k3s, type: Boot", []string{file + ":14 SUITE001"}},
		"idle":           {"manager:dev", "manager:old", []string{file + ":27 SUITE002", file + ":2 SUITE008"}},
		"repeated":       {"variables:", "  - {name: v0.1.99, value: ../../config/default}\nvariables:", []string{file + ":29 SUITE003", file + ":2 SUITE008"}},
		"key":            {"replacements", "replacement", []string{file + ":26 SUITE004", file + ":2 SUITE008"}},
		"unset":          {"v0.1.99", "v0.1.99${NOWHERE}", []string{file + ":23 SUITE005"}},
		"variable":       {"ACME_REGION", "ACME_REGIN", []string{file + ":21 SUITE006"}},
		"of two":         {"variables:\n  ACME_REGION", "  - {name: v0.1.98, value: ../../config/default, files: [{sourcePath: ../templates/cluster-template.yaml, targetName: cluster-template-a.yaml}]}\nvariables:\n  ACME_REGIN", []string{file + ":21 SUITE006"}},
		"resources":      {"CNI: file", "CMI: file", []string{file + ":21 SUITE006"}},
		"empty":          {"ACME_ZONE: a", "ACME_ZONE:", []string{"e2e/templates/cluster-template.yaml:4 VAR006", "e2e/templates/cluster-template.yaml:4 VAR006"}},
		"contract":       {"default\n    contract: v1beta2", "default\n    contract: v1beta1", []string{file + ":25 SUITE007"}},
		"of CRDs":        {"https://example.com/v1.14.2/core", "https://example.com/v1.14.2/older", []string{file + ":10 SUITE007"}},
		"image":          {"name: example.com/manager:e2e", "name: example.com/mamaher:e2e", []string{file + ":2 SUITE008"}},
		"flavor":         {"FLAVOR: ha", "FLAVOR: he", []string{file + ":31 SUITE009"}},
		"series":         {"v0.1.99", "v0.2.0", []string{file + ":23 META006"}},
		"not YAML":       {"../../config/default\n", "../../config/other\n", []string{"config/other/bad.yaml:2 LINT003"}},
		"not made":       {"../../config/default\n", "../../config/lacks\n", []string{"config/lacks/part/bad.yaml:2 LINT003"}},
		"by URL":         {"https://example.com/v1.14.2/core", "https://example.com/v1.14.2/other", []string{file + ":9 YAML001"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			files := suiteFiles(strings.Replace(suite, tc.old, tc.new, 1))
			if name == "own loader" {
				files["e2e/suite_test.go"] = "config := &clusterctl.E2EConfig{}\nyaml.Unmarshal(data, config)\n// config.Validate()\n"
			}
			files["config/other/kustomization.yaml"], files["config/other/bad.yaml"] = "resources: [bad.yaml]\n", "a: b\nc: d: e\n"
			files["config/lacks/kustomization.yaml"], files["config/lacks/part/kustomization.yaml"] = "resources: [part.yaml]\n", "resources: [bad.yaml]\n"
			files["config/lacks/part/bad.yaml"] = files["config/other/bad.yaml"]
			write(t, dir, files)
			s, err := localrepo.Open(t.Context(), filepath.FromSlash(file), localrepo.Options{
				Env:      func(string) (string, bool) { return "", false },
				Upstream: localrepo.Mirror{Repository: upstream},
			})
			given.NoError(t, err)
			r := given.Value(check.Suite(t.Context(), s, check.Options{}))(t)
			var got []string
			for _, f := range r.Report.Findings {
				if at := fmt.Sprintf("%s:%d %s", f.File, f.Pos.Line, f.Rule.ID); f.File == file && f.Rule.ID != "COMP039" || f.Rule.ID == "VAR006" || slices.Contains(tc.want, at) {
					got = append(got, at)
				}
				t.Log(f.File, f.Pos, f.Rule.ID, f.Message)
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// upstream has the components of Cluster API, and some that are broken.
var upstream = &repo.Repository{Providers: []*repo.Provider{{
	Provider: layouts.Provider{Type: layouts.Core, Name: "cluster-api"},
	Releases: []*repo.Release{{Version: "v1.14.2", Artifacts: []*repo.Artifact{
		repo.BytesArtifact("core-components.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: capi-system}\n")),
		repo.BytesArtifact("older-components.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: capi-system}\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io, labels: {cluster.x-k8s.io/v1beta1: v1}}\nspec: {group: x.io, scope: Namespaced, names: {kind: Foo, plural: foos}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n")),
		repo.BytesArtifact("other-components.yaml", []byte("a: b\nc: d: e\n")),
	}}},
}}}
