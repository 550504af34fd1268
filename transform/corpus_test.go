package transform_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// build builds one source tree of the corpus with the configuration it needs,
// if any.
func build(t testing.TB, source string, version string, opts transform.Options) []*repo.Release {
	t.Helper()
	releases, _ := buildTraced(t, source, version, opts)
	return releases
}

func buildTraced(t testing.TB, source string, version string, opts transform.Options) ([]*repo.Release, *transform.Tracer) {
	t.Helper()
	if file := filepath.Join("..", "test", "corpus", filepath.Base(source)+".yaml"); exists(file) {
		opts.Config = file
	}
	opts.Version = transform.Versions{All: version}
	tree := given.Value(transform.Open(source, opts))(t)
	b := given.Value(tree.Build(context.Background()))(t)
	return b.Releases, b.Tracer
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// corpusVersions are the versions in the corpus, by source tree. All providers
// of a tree have the same.
func corpusVersions(t testing.TB, dir string) map[string]string {
	versions := map[string]string{}
	byLabel := map[string]string{}
	found, err := filepath.Glob(filepath.Join(dir, "releases", "*", "v*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no releases in the corpus: %v", err)
	}
	for _, path := range found {
		byLabel[filepath.Base(filepath.Dir(path))] = filepath.Base(path)
	}
	for source, label := range map[string]string{
		"cluster-api": "cluster-api", "cluster-api-addon-provider-helm": "addon-helm", "cluster-api-ipam-provider-in-cluster": "ipam-in-cluster",
		"cluster-api-provider-aws": "infrastructure-aws", "cluster-api-provider-azure": "infrastructure-azure", "cluster-api-provider-gcp": "infrastructure-gcp",
		"cluster-api-provider-kubevirt": "infrastructure-kubevirt", "cluster-api-provider-linode": "infrastructure-linode", "cluster-api-provider-metal3": "infrastructure-metal3",
		"cluster-api-provider-nutanix": "infrastructure-nutanix", "cluster-api-provider-openstack": "infrastructure-openstack", "cluster-api-provider-outscale": "infrastructure-outscale",
		"cluster-api-provider-packet": "infrastructure-packet", "cluster-api-provider-rke2": "bootstrap-rke2", "cluster-api-provider-vcluster": "infrastructure-vcluster",
		"k0smotron": "infrastructure-k0sproject-k0smotron", "kubekey": "infrastructure-kubekey",
	} {
		versions[source] = byLabel[label]
	}
	return versions
}

// TestCorpusAsIs builds every real source tree and compares with the release
// that the kustomize program made from it, byte by byte.
func TestCorpusAsIs(t *testing.T) {
	dir := filepath.Dir(share.Corpus(t, "sources"))
	for source, version := range corpusVersions(t, dir) {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			for _, r := range build(t, filepath.Join(dir, "sources", source), version, transform.Options{AsIs: true}) {
				want := filepath.Join(dir, "releases", r.Provider.Label(), version)
				entries, err := os.ReadDir(want)
				if err != nil {
					t.Errorf("%s is no release of the corpus: %v", r.Provider.Label(), err)
					continue
				}
				for _, e := range entries {
					data := given.Read(t, filepath.Join(want, e.Name()))
					a := r.Artifact(e.Name())
					if a == nil {
						t.Errorf("%s: %s was not built", r.Provider.Label(), e.Name())
						continue
					}
					got, _ := a.Bytes()
					if !bytes.Equal(got, data) {
						t.Errorf("%s: %s differs from the release (%d bytes, want %d)", r.Provider.Label(), e.Name(), len(got), len(data))
					}
				}
				for _, a := range r.Artifacts {
					if _, err := os.Stat(filepath.Join(want, a.Name)); err != nil && a.Kind() != layouts.Checksums {
						t.Errorf("%s: %s is not in the release", r.Provider.Label(), a.Name)
					}
				}
			}
		})
	}
}
