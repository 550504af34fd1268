//go:build tools

package live

// What Build compiles.
import (
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "sigs.k8s.io/cluster-api/bootstrap/kubeadm"
	_ "sigs.k8s.io/cluster-api/controlplane/kubeadm"
	_ "sigs.k8s.io/cluster-api/core"
	_ "sigs.k8s.io/cluster-api/test/infrastructure/docker"

	_ "github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
	_ "github.com/clusterctl-repo/clusterctl-repo/test/cluster/server/kube"
)
