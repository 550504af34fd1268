// Package corpus holds the configurations with which real provider source
// trees are built, and tests what they and the conventions lead to. It must not know any rule.
package corpus

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// releases lists what each source tree is released as: label/version. A tree
// with a configuration in this folder is built with it, any other without.
var releases = map[string][]string{
	"cluster-api": {
		"bootstrap-kubeadm/v1.15.0", "cluster-api/v1.15.0", "control-plane-kubeadm/v1.15.0",
		"infrastructure-docker/v1.15.0", "runtime-extension-test/v1.15.0",
	},
	"cluster-api-addon-provider-helm":      {"addon-helm/v0.6.0"},
	"cluster-api-ipam-provider-in-cluster": {"ipam-in-cluster/v1.1.0"},
	"cluster-api-provider-aws":             {"infrastructure-aws/v2.11.0"},
	"cluster-api-provider-azure":           {"infrastructure-azure/v1.26.0"},
	"cluster-api-provider-gcp":             {"infrastructure-gcp/v1.13.0"},
	"cluster-api-provider-kubevirt":        {"infrastructure-kubevirt/v0.11.0"},
	"cluster-api-provider-linode":          {"infrastructure-linode/v0.10.0"},
	"cluster-api-provider-metal3":          {"infrastructure-metal3/v1.14.0"},
	"cluster-api-provider-nutanix":         {"infrastructure-nutanix/v1.10.0"},
	"cluster-api-provider-openstack":       {"infrastructure-openstack/v0.15.0"},
	"cluster-api-provider-outscale":        {"infrastructure-outscale/v1.5.0"},
	"cluster-api-provider-packet":          {"infrastructure-packet/v0.9.0"},
	"cluster-api-provider-rke2":            {"bootstrap-rke2/v0.25.0", "control-plane-rke2/v0.25.0"},
	"cluster-api-provider-vcluster":        {"infrastructure-vcluster/v0.3.0"},
	"k0smotron": {
		"bootstrap-k0sproject-k0smotron/v2.1.0", "control-plane-k0sproject-k0smotron/v2.1.0",
		"infrastructure-k0sproject-k0smotron/v2.1.0",
	},
	"kubekey": {"infrastructure-kubekey/v4.0.0"},
}

// names lists the files of a release folder, but for the checksums that this
// tool adds.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries := given.Value(os.ReadDir(dir))(t)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// planned lists the files of a planned release.
func planned(p config.PlannedProvider) []string {
	return phrase.List(p.Outputs, func(o config.Output) string { return o.Name })
}

func load(t *testing.T, repo string) *config.Config {
	t.Helper()
	file := repo + ".yaml"
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &config.Config{}
	}
	given.NoError(t, err)
	return given.Value(config.Decode(file, data))(t)
}

// TestPlans compares the files of each planned release with the real one.
func TestPlans(t *testing.T) {
	corpus := filepath.Dir(share.Corpus(t, "sources"))
	for repo, want := range releases {
		t.Run(repo, func(t *testing.T) {
			t.Parallel()
			root := given.Value(os.OpenRoot(filepath.Join(corpus, "sources", repo)))(t)
			defer root.Close()
			c, notes, err := detect.Complete(root.FS(), load(t, repo), detect.Hints{Folder: repo})
			for _, n := range notes {
				t.Log(n)
			}
			given.NoError(t, err)
			_, version, _ := strings.Cut(want[0], "/")
			plan := given.Value(config.Resolve(root.FS(), c, all(version)))(t)
			var got []string
			for _, p := range plan.Providers {
				release := p.Label() + "/" + version
				got = append(got, release)
				if diff := cmp.Diff(names(t, filepath.Join(corpus, "releases", filepath.FromSlash(release))), planned(p)); diff != "" {
					t.Errorf("%s: files (-real +planned):\n%s", release, diff)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("releases (-want +got):\n%s", diff)
			}
		})
	}
}

// conventional are the trees that follow the conventions, with the labels they
// give without any configuration.
var conventional = map[string][]string{
	"cluster-api":                          {"bootstrap-kubeadm", "cluster-api", "control-plane-kubeadm"},
	"cluster-api-addon-provider-helm":      {"addon-helm"},
	"cluster-api-ipam-provider-in-cluster": {"ipam-in-cluster"},
	"cluster-api-provider-aws":             {"infrastructure-aws"},
	"cluster-api-provider-azure":           {"infrastructure-azure"},
	"cluster-api-provider-gcp":             {"infrastructure-gcp"},
	"cluster-api-provider-kubevirt":        {"infrastructure-kubevirt"},
	"cluster-api-provider-openstack":       {"infrastructure-openstack"},
	"cluster-api-provider-outscale":        {"infrastructure-outscale"},
	"cluster-api-provider-packet":          {"infrastructure-packet"},
	"cluster-api-provider-rke2":            {"bootstrap-rke2", "control-plane-rke2"},
	"cluster-api-provider-vcluster":        {"infrastructure-vcluster"},
}

// TestZeroConfiguration compares everything that clusterctl reads; further
// assets are the only thing that such a tree has to name.
func TestZeroConfiguration(t *testing.T) {
	corpus := filepath.Dir(share.Corpus(t, "sources"))
	for repo, want := range conventional {
		root := given.Value(os.OpenRoot(filepath.Join(corpus, "sources", repo)))(t)
		defer root.Close()
		c, _, err := detect.Complete(root.FS(), &config.Config{}, detect.Hints{Folder: repo})
		if err != nil {
			t.Errorf("%s: %v", repo, err)
			continue
		}
		plan, err := config.Resolve(root.FS(), c, nil)
		if err != nil {
			t.Errorf("%s: %v", repo, err)
			continue
		}
		_, version, _ := strings.Cut(releases[repo][0], "/")
		var got []string
		for _, p := range plan.Providers {
			got = append(got, p.Label())
			read := slices.DeleteFunc(names(t, filepath.Join(corpus, "releases", p.Label(), version)), func(name string) bool {
				return layouts.KindOfFile(name) == layouts.Asset
			})
			if diff := cmp.Diff(read, planned(p)); diff != "" {
				t.Errorf("%s: files (-real +planned):\n%s", p.Label(), diff)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", repo, diff)
		}
	}
}

// all gives all providers one version.
func all(version string) func(string) layouts.Version {
	v, _ := layouts.ParseVersion(version) // of a folder of the corpus, or one of ours
	return func(string) layouts.Version { return v }
}

// TestWriteKeepsPlans writes what was detected, as init does, and reads it
// back: nothing may be left to detect differently.
func TestWriteKeepsPlans(t *testing.T) {
	corpus := filepath.Dir(share.Corpus(t, "sources"))
	for repo := range releases {
		t.Run(repo, func(t *testing.T) {
			t.Parallel()
			root := given.Value(os.OpenRoot(filepath.Join(corpus, "sources", repo)))(t)
			defer root.Close()
			before, notes, err := detect.Complete(root.FS(), load(t, repo), detect.Hints{Folder: repo})
			given.NoError(t, err)
			text := given.Value(config.Write(before, notes))(t)
			read, err := config.Decode(config.FileName, text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			after, _, err := detect.Complete(root.FS(), read, detect.Hints{Folder: repo})
			given.NoError(t, err)
			want := given.Value(config.Resolve(root.FS(), before, all("v9.8.7")))(t)
			got := given.Value(config.Resolve(root.FS(), after, all("v9.8.7")))(t)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(config.Origin{}, layouts.Version{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plan (-before +after):\n%s\n%s", diff, text)
			}
		})
	}
}
