package move

import (
	"fmt"
	"maps"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// file reads an artifact.
func file(t testing.TB, a *repo.Artifact, kind layouts.FileKind) *manifest.File {
	t.Helper()
	data := given.Value(a.Bytes())(t)
	return manifest.New(a, kind, data)
}

// typesOf are the definitions in the components of a release.
func typesOf(t testing.TB, r *repo.Release) Types {
	known := map[[2]string]Type{}
	if a := r.Components(); a != nil {
		for _, o := range file(t, a, layouts.Components).Objects() {
			if c := crd.Of(o); c != nil {
				known[[2]string{c.Group, c.Kind}] = TypeOf(c)
			}
		}
	}
	return func(group, kind string) (Type, bool) {
		typ, ok := known[[2]string{group, kind}]
		return typ, ok
	}
}

// TestCorpus says which objects in the templates of real providers stay behind,
// and why. A survey of the same templates, which only followed names, found these
// unreachable: those of linode, k0smotron and nutanix. Those of kubevirt carry the
// label of the Cluster, but no controller goes by it (its own deletes by it). The
// NutanixFailureDomains have no owner, and the label of their definition moves
// them; the objects next to the Cluster with a topology may get owners from its
// class. It prints all verdicts with -v.
func TestCorpus(t *testing.T) {
	want := map[string]int{
		"infrastructure-k0sproject-k0smotron, left, PooledRemoteMachine: nothing refers to it, so no controller sets an owner":                1,
		"infrastructure-k0sproject-k0smotron, left, Secret: only PooledRemoteMachine my-cluster refers to it, and that stays behind too":      1,
		"infrastructure-linode, left, ServiceAccount: clusterctl only moves Secrets, ConfigMaps and the kinds of providers":                   9,
		"infrastructure-linode, left, Role: clusterctl only moves Secrets, ConfigMaps and the kinds of providers":                             9,
		"infrastructure-linode, left, RoleBinding: clusterctl only moves Secrets, ConfigMaps and the kinds of providers":                      9,
		"infrastructure-linode, left, Deployment: clusterctl only moves Secrets, ConfigMaps and the kinds of providers":                       9,
		"infrastructure-kubevirt, left, ServiceAccount: clusterctl only moves Secrets, ConfigMaps and the kinds of providers":                 8,
		"infrastructure-kubevirt, left, Role: clusterctl only moves Secrets, ConfigMaps and the kinds of providers":                           8,
		"infrastructure-kubevirt, left, RoleBinding: clusterctl only moves Secrets, ConfigMaps and the kinds of providers":                    8,
		"infrastructure-kubevirt, left, Deployment: clusterctl only moves Secrets, ConfigMaps and the kinds of providers":                     8,
		"infrastructure-kubevirt, left, ConfigMap: only Deployment kubevirt-cloud-controller-manager refers to it, and that stays behind too": 8,
		"infrastructure-nutanix, moves, NutanixFailureDomain: the definition of its kind carries the label clusterctl.cluster.x-k8s.io/move":  3,
		"infrastructure-nutanix, unclear, ConfigMap: Cluster my-cluster may become its owner because of Cluster my-cluster, spec.topology: " +
			"patches and templates of the ClusterClass decide what happens to it": 1,
		"infrastructure-nutanix, unclear, Secret: Cluster my-cluster may become its owner because of Cluster my-cluster, spec.topology.variables.2.value.credentialSecret: " +
			"patches and templates of the ClusterClass decide what happens to it": 1,
	}
	got := map[string]int{}
	r := given.Value(folder.Open(t.Context(), share.Corpus(t, "releases")))(t)
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			types := typesOf(t, release)
			for _, a := range release.Artifacts {
				if k := a.Kind(); k != layouts.ClusterTemplate && k != layouts.ClusterClass {
					continue
				}
				g := Template(file(t, a, a.Kind()).Objects(), types)
				for _, n := range g.Nodes {
					t.Log(n.Verdict, p.Label(), a.Name, n, n.Reason())
					key := fmt.Sprintf("%s, %v, %s: %s", p.Label(), n.Verdict, n.Kind, n.Reason())
					if _, known := want[key]; known || n.Verdict == Left {
						got[key]++
					}
				}
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
