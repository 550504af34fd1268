package contract_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
)

func TestCoreSchema(t *testing.T) {
	for _, row := range []struct {
		group, kind, version string
		path                 []string
	}{
		{"cluster.x-k8s.io", "Cluster", "v1beta2", []string{"spec", "topology", "classRef", "name"}},
		{"cluster.x-k8s.io", "Cluster", "v1beta1", []string{"spec", "topology", "class"}},
		{"controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "v1beta2", []string{"spec", "machineTemplate", "spec", "infrastructureRef", "apiGroup"}},
		{"controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate", "v1beta2", []string{"spec", "template", "spec", "kubeadmConfigSpec", "files"}},
		{"runtime.cluster.x-k8s.io", "ExtensionConfig", "v1alpha1", []string{"spec", "clientConfig", "url"}},
	} {
		for range 2 { // the second one is kept from the first
			s, ok := contract.CoreSchema(row.group, row.kind, row.version)
			if _, presence := s.At(row.path...); !ok || presence != crd.Present {
				t.Errorf("%s %s: %v is %v", row.kind, row.version, row.path, presence)
			}
		}
	}
	for _, row := range [][3]string{
		{"cluster.x-k8s.io", "Cluster", "v1alpha4"},
		{"cluster.x-k8s.io", "Cluste", "v1beta1"},
		{"", "../Cluster", "v1beta1"},
		{"", "", ""},
	} {
		if s, ok := contract.CoreSchema(row[0], row[1], row[2]); ok || s.Node != nil {
			t.Errorf("%v is known", row)
		}
	}
}
