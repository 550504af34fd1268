package layouts

// ClusterScopedByClusterctl are the kinds that clusterctl leaves without a
// namespace; it gives one to every other kind, whatever its group
// (clusterctl: internal/util/objs.go, IsResourceNamespaced).
var ClusterScopedByClusterctl = map[string]bool{
	"Namespace": true, "Node": true, "PersistentVolume": true, "PodSecurityPolicy": true,
	"CertificateSigningRequest": true, "ClusterRoleBinding": true, "ClusterRole": true,
	"VolumeAttachment": true, "StorageClass": true, "CSIDriver": true, "CSINode": true,
	"ValidatingWebhookConfiguration": true, "MutatingWebhookConfiguration": true,
	"CustomResourceDefinition": true, "PriorityClass": true, "RuntimeClass": true,
}

// clusterScoped are the further kinds, as group/kind, that have no namespace in
// a cluster: the rest of Kubernetes, and the kinds of well-known add-ons that
// providers ship.
var clusterScoped = map[string]bool{
	"apiregistration.k8s.io/APIService":                             true,
	"admissionregistration.k8s.io/ValidatingAdmissionPolicy":        true,
	"admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": true,
	"admissionregistration.k8s.io/MutatingAdmissionPolicy":          true,
	"admissionregistration.k8s.io/MutatingAdmissionPolicyBinding":   true,
	"certificates.k8s.io/ClusterTrustBundle":                        true,
	"cert-manager.io/ClusterIssuer":                                 true,
	"flowcontrol.apiserver.k8s.io/FlowSchema":                       true,
	"flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration":       true,
	"networking.k8s.io/IngressClass":                                true,
	"networking.k8s.io/IPAddress":                                   true,
	"networking.k8s.io/ServiceCIDR":                                 true,
	"resource.k8s.io/DeviceClass":                                   true,
	"resource.k8s.io/ResourceSlice":                                 true,
	"storage.k8s.io/VolumeAttributesClass":                          true,
	"internal.apiserver.k8s.io/StorageVersion":                      true,
	"security.openshift.io/SecurityContextConstraints":              true,
	"snapshot.storage.k8s.io/VolumeSnapshotClass":                   true,
	"runtime.cluster.x-k8s.io/ExtensionConfig":                      true,
	"gateway.networking.k8s.io/GatewayClass":                        true,
	"storagemigration.k8s.io/StorageVersionMigration":               true,
}

// ClusterScoped reports whether objects of a kind live outside namespaces in a
// cluster. Custom resources are not known here; their scope stands in their
// CustomResourceDefinition.
func ClusterScoped(group, kind string) bool {
	return ClusterScopedByClusterctl[kind] || clusterScoped[group+"/"+kind]
}
