package layouts

import "strings"

// Embedded is one provider of the list that is built into clusterctl.
type Embedded struct {
	Provider
	// Repository is owner/name on GitHub.
	Repository string
	// File is the components file; the recommended name of the type if empty.
	File string
}

// URL returns the provider URL as clusterctl has it, which names the latest
// release.
func (e Embedded) URL() string {
	file := e.File
	if info, ok := e.Type.Info(); ok && file == "" {
		file = info.ComponentsFile
	}
	return "https://" + gitHubHost + "/" + e.Repository + "/releases/" + Latest + "/" + file
}

// EmbeddedAt returns the provider that is built into clusterctl for a repository
// on GitHub, as owner/name, and a components file in it. That is what its users
// call it, whatever its labels say.
func EmbeddedAt(repository, componentsFile string) (Provider, bool) {
	for _, e := range EmbeddedProviders {
		file := e.File
		if info, ok := e.Type.Info(); ok && file == "" {
			file = info.ComponentsFile
		}
		if strings.EqualFold(e.Repository, repository) && file == componentsFile {
			return e.Provider, true
		}
	}
	return Provider{}, false
}

// EmbeddedProviders is the list built into clusterctl v1.14.2, in its order: by
// type, then by name (clusterctl: client/config/providers_client.go, defaults).
// A user need not configure these; an entry of the same type and name in
// clusterctl.yaml replaces one.
var EmbeddedProviders = []Embedded{
	{Provider{Core, "cluster-api"}, "kubernetes-sigs/cluster-api", ""},
	{Provider{Bootstrap, "canonical-kubernetes"}, "canonical/cluster-api-k8s", ""},
	{Provider{Bootstrap, "k0sproject-k0smotron"}, "k0sproject/k0smotron", ""},
	{Provider{Bootstrap, "kubeadm"}, "kubernetes-sigs/cluster-api", ""},
	{Provider{Bootstrap, "kubekey-k3s"}, "kubesphere/kubekey", ""},
	{Provider{Bootstrap, "microk8s"}, "canonical/cluster-api-bootstrap-provider-microk8s", ""},
	{Provider{Bootstrap, "rke2"}, "rancher/cluster-api-provider-rke2", ""},
	{Provider{Bootstrap, "talos"}, "siderolabs/cluster-api-bootstrap-provider-talos", ""},
	{Provider{ControlPlane, "canonical-kubernetes"}, "canonical/cluster-api-k8s", ""},
	{Provider{ControlPlane, "hosted-control-plane"}, "teutonet/cluster-api-provider-hosted-control-plane", ""},
	{Provider{ControlPlane, "k0sproject-k0smotron"}, "k0sproject/k0smotron", ""},
	{Provider{ControlPlane, "kamaji"}, "clastix/cluster-api-control-plane-provider-kamaji", ""},
	{Provider{ControlPlane, "kubeadm"}, "kubernetes-sigs/cluster-api", ""},
	{Provider{ControlPlane, "kubekey-k3s"}, "kubesphere/kubekey", ""},
	{Provider{ControlPlane, "microk8s"}, "canonical/cluster-api-control-plane-provider-microk8s", ""},
	{Provider{ControlPlane, "nested"}, "kubernetes-sigs/cluster-api-provider-nested", ""},
	{Provider{ControlPlane, "rke2"}, "rancher/cluster-api-provider-rke2", ""},
	{Provider{ControlPlane, "talos"}, "siderolabs/cluster-api-control-plane-provider-talos", ""},
	{Provider{Infrastructure, "aws"}, "kubernetes-sigs/cluster-api-provider-aws", ""},
	{Provider{Infrastructure, "azure"}, "kubernetes-sigs/cluster-api-provider-azure", ""},
	{Provider{Infrastructure, "byoh"}, "vmware-tanzu/cluster-api-provider-bringyourownhost", ""},
	{Provider{Infrastructure, "cloudscale-ch-cloudscale"}, "cloudscale-ch/cluster-api-provider-cloudscale", ""},
	{Provider{Infrastructure, "cloudstack"}, "kubernetes-sigs/cluster-api-provider-cloudstack", ""},
	{Provider{Infrastructure, "coxedge"}, "coxedge/cluster-api-provider-coxedge", ""},
	{Provider{Infrastructure, "digitalocean"}, "kubernetes-sigs/cluster-api-provider-digitalocean", ""},
	{Provider{Infrastructure, "docker"}, "kubernetes-sigs/cluster-api", "infrastructure-components-development.yaml"},
	{Provider{Infrastructure, "gcp"}, "kubernetes-sigs/cluster-api-provider-gcp", ""},
	{Provider{Infrastructure, "harvester-harvester"}, "rancher-sandbox/cluster-api-provider-harvester", ""},
	{Provider{Infrastructure, "hetzner"}, "syself/cluster-api-provider-hetzner", ""},
	{Provider{Infrastructure, "hivelocity-hivelocity"}, "hivelocity/cluster-api-provider-hivelocity", ""},
	{Provider{Infrastructure, "huawei"}, "HuaweiCloudDeveloper/cluster-api-provider-huawei", ""},
	{Provider{Infrastructure, "ibmcloud"}, "kubernetes-sigs/cluster-api-provider-ibmcloud", ""},
	{Provider{Infrastructure, "ionoscloud-ionoscloud"}, "ionos-cloud/cluster-api-provider-ionoscloud", ""},
	{Provider{Infrastructure, "k0sproject-k0smotron"}, "k0sproject/k0smotron", ""},
	{Provider{Infrastructure, "kubekey"}, "kubesphere/kubekey", ""},
	{Provider{Infrastructure, "kubeswift-io"}, "kubeswift-io/cluster-api-provider-kubeswift", ""},
	{Provider{Infrastructure, "kubevirt"}, "kubernetes-sigs/cluster-api-provider-kubevirt", ""},
	{Provider{Infrastructure, "linode-linode"}, "linode/cluster-api-provider-linode", ""},
	{Provider{Infrastructure, "maas"}, "spectrocloud/cluster-api-provider-maas", ""},
	{Provider{Infrastructure, "metal-stack"}, "metal-stack/cluster-api-provider-metal-stack", ""},
	{Provider{Infrastructure, "metal3"}, "metal3-io/cluster-api-provider-metal3", ""},
	{Provider{Infrastructure, "nested"}, "kubernetes-sigs/cluster-api-provider-nested", ""},
	{Provider{Infrastructure, "nutanix"}, "nutanix-cloud-native/cluster-api-provider-nutanix", ""},
	{Provider{Infrastructure, "oci"}, "oracle/cluster-api-provider-oci", ""},
	{Provider{Infrastructure, "opennebula"}, "OpenNebula/cluster-api-provider-opennebula", ""},
	{Provider{Infrastructure, "openstack"}, "kubernetes-sigs/cluster-api-provider-openstack", ""},
	{Provider{Infrastructure, "outscale"}, "outscale/cluster-api-provider-outscale", ""},
	{Provider{Infrastructure, "oxide"}, "oxidecomputer/cluster-api-provider-oxide", ""},
	{Provider{Infrastructure, "proxmox"}, "ionos-cloud/cluster-api-provider-proxmox", ""},
	{Provider{Infrastructure, "scaleway"}, "scaleway/cluster-api-provider-scaleway", ""},
	{Provider{Infrastructure, "sidero"}, "siderolabs/sidero", ""},
	{Provider{Infrastructure, "tinkerbell-tinkerbell"}, "tinkerbell/cluster-api-provider-tinkerbell", ""},
	{Provider{Infrastructure, "vcd"}, "vmware/cluster-api-provider-cloud-director", ""},
	{Provider{Infrastructure, "vcluster"}, "loft-sh/cluster-api-provider-vcluster", ""},
	{Provider{Infrastructure, "virtink"}, "smartxworks/cluster-api-provider-virtink", ""},
	{Provider{Infrastructure, "vsphere"}, "kubernetes-sigs/cluster-api-provider-vsphere", ""},
	{Provider{Infrastructure, "vultr-vultr"}, "vultr/cluster-api-provider-vultr", ""},
	{Provider{IPAM, "in-cluster"}, "kubernetes-sigs/cluster-api-ipam-provider-in-cluster", ""},
	{Provider{IPAM, "metal3"}, "metal3-io/ip-address-manager", ""},
	{Provider{IPAM, "nutanix"}, "nutanix-cloud-native/cluster-api-ipam-provider-nutanix", ""},
	{Provider{RuntimeExtension, "nutanix"}, "nutanix-cloud-native/cluster-api-runtime-extensions-nutanix", "runtime-extensions-components.yaml"},
	{Provider{Addon, "eitco-cdk8s"}, "eitco/cluster-api-addon-provider-cdk8s", ""},
	{Provider{Addon, "helm"}, "kubernetes-sigs/cluster-api-addon-provider-helm", ""},
	{Provider{Addon, "rancher-fleet"}, "rancher/cluster-api-addon-provider-fleet", ""},
}

// EmbeddedProvider finds a provider in the list built into clusterctl.
func EmbeddedProvider(p Provider) (e Embedded, ok bool) {
	for _, e := range EmbeddedProviders {
		if e.Provider == p {
			return e, true
		}
	}
	return Embedded{}, false
}
