package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform/propose"
)

// published is what the recipes of each tree publish for each provider, read from
// its Makefile or workflow by a person, so far as the tree holds what it is made
// from. Nil has no recipe: then the test only wants the same from init.
var published = map[string]map[string]string{
	"cluster-api-bootstrap-provider-microk8s":     {"bootstrap-microk8s": "bootstrap-components.yaml metadata.yaml"},
	"cluster-api-bootstrap-provider-talos":        {"bootstrap-talos": "bootstrap-components.yaml metadata.yaml"},
	"cluster-api-control-plane-provider-microk8s": {"control-plane-microk8s": "control-plane-components.yaml metadata.yaml"},
	"cluster-api-control-plane-provider-talos":    {"control-plane-talos": "control-plane-components.yaml metadata.yaml"},
	"cluster-api-k3s": {
		"bootstrap-k3s":     "bootstrap-components.yaml metadata.yaml",
		"control-plane-k3s": "control-plane-components.yaml metadata.yaml",
	},
	"cluster-api-provider-bringyourownhost": {"infrastructure-byoh": "cluster-template-docker.yaml cluster-template-topology-docker.yaml " +
		"cluster-template-topology.yaml cluster-template.yaml clusterclass-quickstart-docker.yaml clusterclass-quickstart.yaml infrastructure-components.yaml metadata.yaml"},
	"cluster-api-provider-cloud-director": nil,
	"cluster-api-provider-cloudstack": {"infrastructure-cloudstack": "cluster-template-managed-ssh.yaml cluster-template-ssh-material.yaml cluster-template-with-disk-offering.yaml " +
		"cluster-template-with-existing-vpc-network.yaml cluster-template-with-kube-vip.yaml cluster-template.yaml infrastructure-components.yaml metadata.yaml"},
	"cluster-api-provider-hetzner": {"infrastructure-hetzner": "cluster-class-topology-example.yaml cluster-class.yaml cluster-template-hcloud-network.yaml cluster-template-hcloud.yaml " +
		"cluster-template-hetzner-baremetal-control-planes-remediation.yaml cluster-template-hetzner-baremetal-control-planes.yaml " +
		"cluster-template-hetzner-hcloud-control-planes.yaml cluster-template.yaml infrastructure-components.yaml metadata.yaml"},
	"cluster-api-provider-nested": {
		"control-plane-nested": "control-plane-components.yaml metadata.yaml",
		"infrastructure-nested": "cluster-api-provider-nested-components.yaml cluster-template-certmanager.yaml cluster-template-virtualcluster.yaml cluster-template.yaml " +
			"infrastructure-components.yaml metadata.yaml",
	},
	"cluster-api-provider-ocne": {
		"bootstrap-ocne":     "bootstrap-components.yaml metadata.yaml",
		"control-plane-ocne": "control-plane-components.yaml metadata.yaml",
	},
	"cluster-api-provider-proxmox":    {"infrastructure-proxmox": "infrastructure-components.yaml metadata.yaml"},
	"cluster-api-provider-tinkerbell": {"infrastructure-tinkerbell": "cluster-template.yaml infrastructure-components.yaml metadata.yaml"},
	"cluster-api-provider-vsphere":    nil, // a Go program makes its templates
}

// TestTrees compares what is built of whole trees, without a configuration and with
// the one that init writes, with what their own recipes publish. What the build
// leaves out is said.
func TestTrees(t *testing.T) {
	trees := share.Corpus(t, "trees")
	for name, want := range published {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), name)
			given.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(trees, name))))
			fsys := os.DirFS(dir)
			full, _, err := detect.Complete(fsys, &config.Config{}, detect.Hints{Folder: name})
			given.NoError(t, err)
			release := recipes.Follow(fsys, "")
			plain := plannedOf(t, dir, full, release)
			if diff := cmp.Diff(want, plain); want != nil && diff != "" {
				t.Errorf("without a configuration (-recipe +planned):\n%s", diff)
			}
			p, err := propose.Propose(t.Context(), dir, propose.Options{})
			if err != nil || p.Problem != nil {
				t.Fatal(err, p.Problem)
			}
			if diff := cmp.Diff(plain, plannedOf(t, dir, p.Config, release)); diff != "" {
				t.Errorf("after init (-without +planned):\n%s", diff)
			}
		})
	}
}

// plannedOf lists the files of each planned provider. A file that the recipes
// publish and the plan lacks must be among the differences.
func plannedOf(t *testing.T, dir string, c *config.Config, release *recipes.Release) map[string]string {
	t.Helper()
	plan := given.Value(config.Resolve(os.DirFS(dir), c, nil))(t)
	out, have := map[string]string{}, map[string]bool{}
	for _, p := range plan.Providers {
		out[p.Label()] = strings.Join(p.Names(), " ")
		for _, name := range p.Names() {
			have[name] = true
		}
	}
	if release == nil {
		return out
	}
	said := detect.Compare(os.DirFS(dir), release, c, plan)
	for _, product := range release.Products {
		if !have[product.Name] && !slices.ContainsFunc(said, func(d detect.Difference) bool { return d.Name == product.Name }) {
			t.Errorf("%s publishes %s, and the plan silently leaves it out", product.Place, product.Name)
		}
	}
	return out
}
