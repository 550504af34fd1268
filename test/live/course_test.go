package live

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/live/rig"
)

// clusterTemplate is a Cluster in memory, with a control plane and a worker. The
// DevCluster needs an annotation: its controller panics if it has none (v1.14.0,
// inmemorycluster_backend.go, ReconcileNormal).
const clusterTemplate = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec:
  clusterNetwork:
    services: {cidrBlocks: [10.128.0.0/12]}
    pods: {cidrBlocks: [192.168.0.0/16]}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: c}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: c}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: c, annotations: {example.com/any: ""}}
spec: {backend: {inMemory: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: c}
spec:
  replicas: 1
  version: v1.34.0
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: c}
  kubeadmConfigSpec: {format: cloud-config}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: c}
spec:
  template:
    spec:
      backend:
        inMemory:
          vm: {provisioning: {startupDuration: 3s}}
          node: {provisioning: {startupDuration: 2s}}
          apiServer: {provisioning: {startupDuration: 2s}}
          etcd: {provisioning: {startupDuration: 2s}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: w}
spec:
  clusterName: c
  replicas: 1
  selector: {matchLabels: {}}
  template:
    spec:
      clusterName: c
      version: v1.34.0
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: w}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: w}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: w}
spec:
  template:
    spec:
      backend:
        inMemory:
          vm: {provisioning: {startupDuration: 3s}}
          node: {provisioning: {startupDuration: 2s}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: w}
spec: {template: {spec: {format: cloud-config}}}
`

// addressTemplate is a pool of the IPAM provider and a claim for it.
const addressTemplate = `
---
apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: InClusterIPPool
metadata: {name: addresses}
spec: {addresses: [10.9.0.10-10.9.0.20], prefix: 24, gateway: 10.9.0.1}
---
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddressClaim
metadata: {name: own}
spec:
  clusterName: c
  poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: addresses}
`

// TestCourse drives the real controllers through a whole life. What they do wrong is
// known, and nothing else may be found.
func TestCourse(t *testing.T) {
	r := shared(t)
	c := drive(t, r, "course", clusterTemplate+addressTemplate, "--restart", r.Restart("ipam"))
	c.expect(t, []string{
		"BEH603 IPAddressClaim", // the IPAM provider puts its finalizer on claims of others,
		"BEH612 IPAddressClaim", // which then hang when they are deleted
		"BEH701 Machine",        // core does not look at Machines when the pause ends
	})
}

// TestCheck judges the definitions that the server has. Those of the real providers keep
// the contract.
func TestCheck(t *testing.T) {
	r := shared(t)
	out, err := exec.CommandContext(t.Context(), r.Program(rig.Tool), "contract", "check", "--kubeconfig", r.Kubeconfig).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "the CRDs of https://127.0.0.1:") {
		t.Errorf("got %s", out)
	}
}

// brokenTemplate is what the infrastructure provider in memory does not get right: a pool,
// and a Machine of a Cluster whose infrastructure never comes.
const brokenTemplate = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePool
metadata: {name: p}
spec: {backend: {docker: {}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: p}
spec:
  clusterName: c
  replicas: 1
  template:
    spec:
      clusterName: c
      version: v1.34.0
      bootstrap: {dataSecretName: data}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachinePool, name: p}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: e, annotations: {cluster.x-k8s.io/managed-by: other}}
spec: {backend: {inMemory: {}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: e}
spec:
  clusterNetwork:
    pods: {cidrBlocks: [192.168.0.0/16]}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: e}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachine
metadata: {name: m}
spec: {backend: {inMemory: {}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: m}
spec:
  clusterName: e
  version: v1.34.0
  bootstrap: {dataSecretName: data}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachine, name: m}
`

// TestWatch watches the real controllers while a person works, and finds what they are
// known to do wrong without a driver.
func TestWatch(t *testing.T) {
	r := shared(t)
	u := &user{t, r.Client, namespace(t, r, "watched")}
	stop := watching(t, r, u.namespace)
	for _, o := range decode(t, controlPlane) {
		u.create(o)
	}
	u.until("control plane", func() bool { return u.nodes() == 1 })
	for _, o := range decode(t, brokenTemplate) {
		u.create(o)
	}
	time.Sleep(30 * time.Second)
	given.NoError(t, u.resource(coreAPI, "Machine").Delete(t.Context(), "m", metav1.DeleteOptions{}))
	time.Sleep(30 * time.Second)
	stop().expect(t, []string{
		"BEH005 DevMachinePool", // never shows the condition Paused
		"BEH208 DevMachine",     // cannot be deleted before the infrastructure of the Cluster is there
	})
	// What hangs would keep the namespace.
	for kind, name := range map[string]string{"DevMachinePool": "p", "DevMachine": "m"} {
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		if _, err := u.resource(infraAPI, kind).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager}); err != nil {
			t.Error(err)
		}
	}
}
