package shape

import (
	"reflect"
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1"
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// name is what names a type in a document.
type name struct{ apiVersion, kind string }

// catalogue holds the types by name. It is made when it is needed, because
// start-up time counts. The types of kubeadm are left out for the same reason:
// the package that they need compiles regular expressions when it is loaded.
var catalogue = sync.OnceValue(func() map[name]reflect.Type {
	out := map[name]reflect.Type{}
	add := func(version schema.GroupVersion, objects ...runtime.Object) {
		for _, o := range objects {
			t := reflect.TypeOf(o).Elem()
			out[name{version.String(), t.Name()}] = t
		}
	}
	add(corev1.SchemeGroupVersion,
		&corev1.ConfigMap{}, &corev1.Endpoints{}, &corev1.LimitRange{}, &corev1.Namespace{}, &corev1.PersistentVolume{},
		&corev1.PersistentVolumeClaim{}, &corev1.Pod{}, &corev1.PodTemplate{}, &corev1.ReplicationController{},
		&corev1.ResourceQuota{}, &corev1.Secret{}, &corev1.Service{}, &corev1.ServiceAccount{})
	add(appsv1.SchemeGroupVersion,
		&appsv1.DaemonSet{}, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{})
	add(batchv1.SchemeGroupVersion, &batchv1.CronJob{}, &batchv1.Job{})
	add(rbacv1.SchemeGroupVersion,
		&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.Role{}, &rbacv1.RoleBinding{})
	add(admissionv1.SchemeGroupVersion,
		&admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingAdmissionPolicy{},
		&admissionv1.ValidatingAdmissionPolicyBinding{}, &admissionv1.ValidatingWebhookConfiguration{})
	add(admissionv1beta1.SchemeGroupVersion,
		&admissionv1beta1.MutatingWebhookConfiguration{}, &admissionv1beta1.ValidatingWebhookConfiguration{})
	add(apiextensionsv1.SchemeGroupVersion, &apiextensionsv1.CustomResourceDefinition{})
	add(apiextensionsv1beta1.SchemeGroupVersion, &apiextensionsv1beta1.CustomResourceDefinition{})
	add(autoscalingv1.SchemeGroupVersion, &autoscalingv1.HorizontalPodAutoscaler{})
	add(autoscalingv2.SchemeGroupVersion, &autoscalingv2.HorizontalPodAutoscaler{})
	add(coordinationv1.SchemeGroupVersion, &coordinationv1.Lease{})
	add(flowcontrolv1.SchemeGroupVersion, &flowcontrolv1.FlowSchema{}, &flowcontrolv1.PriorityLevelConfiguration{})
	add(networkingv1.SchemeGroupVersion,
		&networkingv1.Ingress{}, &networkingv1.IngressClass{}, &networkingv1.NetworkPolicy{})
	add(nodev1.SchemeGroupVersion, &nodev1.RuntimeClass{})
	add(policyv1.SchemeGroupVersion, &policyv1.PodDisruptionBudget{})
	add(schedulingv1.SchemeGroupVersion, &schedulingv1.PriorityClass{})
	add(storagev1.SchemeGroupVersion, &storagev1.CSIDriver{}, &storagev1.StorageClass{})

	add(clusterv1.GroupVersion,
		&clusterv1.Cluster{}, &clusterv1.ClusterClass{}, &clusterv1.Machine{}, &clusterv1.MachineDeployment{},
		&clusterv1.MachineDrainRule{}, &clusterv1.MachineHealthCheck{}, &clusterv1.MachinePool{}, &clusterv1.MachineSet{})
	add(clusterv1beta1.GroupVersion,
		&clusterv1beta1.Cluster{}, &clusterv1beta1.ClusterClass{}, &clusterv1beta1.Machine{}, &clusterv1beta1.MachineDeployment{},
		&clusterv1beta1.MachineDrainRule{}, &clusterv1beta1.MachineHealthCheck{}, &clusterv1beta1.MachinePool{}, &clusterv1beta1.MachineSet{})
	add(addonsv1.GroupVersion, &addonsv1.ClusterResourceSet{}, &addonsv1.ClusterResourceSetBinding{})
	add(addonsv1beta1.GroupVersion, &addonsv1beta1.ClusterResourceSet{}, &addonsv1beta1.ClusterResourceSetBinding{})
	add(ipamv1.GroupVersion, &ipamv1.IPAddress{}, &ipamv1.IPAddressClaim{})
	add(ipamv1beta1.GroupVersion, &ipamv1beta1.IPAddress{}, &ipamv1beta1.IPAddressClaim{})
	add(ipamv1alpha1.GroupVersion, &ipamv1alpha1.IPAddress{}, &ipamv1alpha1.IPAddressClaim{})
	add(runtimev1.GroupVersion, &runtimev1.ExtensionConfig{})
	add(runtimev1alpha1.GroupVersion, &runtimev1alpha1.ExtensionConfig{})
	return out
})

// Lookup returns the type of the objects of a kind: Kubernetes v1.36 or Cluster
// API v1.14; nil if it is not known.
func Lookup(apiVersion, kind string) reflect.Type { return catalogue()[name{apiVersion, kind}] }

// conversion is a kind that clusterctl converts to a type and back, which loses
// what the type does not have.
type conversion struct {
	kind string
	// files are those in which it does.
	files []layouts.FileKind
	// apiVersions are those that it can convert.
	apiVersions []string
	// others says that it leaves objects of other versions alone.
	others bool
}

var (
	components = []layouts.FileKind{layouts.Components}
	templates  = []layouts.FileKind{layouts.ClusterTemplate}
	all        = []layouts.FileKind{layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass}
)

// conversions are in clusterctl: internal/util/objs.go, FixImages; client/
// repository/components.go, fixTargetNamespace; client/clusterclass.go,
// clusterClassNamesFromTemplate.
var conversions = []conversion{
	{"Deployment", components, []string{"apps/v1"}, false},
	{"DaemonSet", components, []string{"apps/v1"}, false},
	{"ClusterRoleBinding", all, []string{"rbac.authorization.k8s.io/v1"}, false},
	{"RoleBinding", all, []string{"rbac.authorization.k8s.io/v1"}, false},
	{"MutatingWebhookConfiguration", all, []string{"admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"}, false},
	{"ValidatingWebhookConfiguration", all, []string{"admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"}, false},
	{"CustomResourceDefinition", all, []string{"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"}, false},
	{"Cluster", templates, []string{"cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"}, true},
}

// Converted returns the type that clusterctl converts an object to when it reads
// it from a file. Clusterctl goes by the kind alone: an object of another group
// is converted too, or refused. Known is empty for an object that clusterctl
// leaves alone; otherwise it is the apiVersions that can be converted, and the
// type is nil if the object has none of them.
func Converted(file layouts.FileKind, apiVersion, kind string) (t reflect.Type, known []string) {
	for i := range conversions {
		c := &conversions[i]
		if c.kind != kind || !slices.Contains(c.files, file) {
			continue
		}
		switch {
		case slices.Contains(c.apiVersions, apiVersion):
			return Lookup(apiVersion, kind), c.apiVersions
		case !c.others:
			return nil, c.apiVersions
		}
	}
	return nil, nil
}
