package clusterctl

//lint:file-ignore SA1019 clusterctl v1.14 converts through v1beta1, so rendering does

import (
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// scheme holds the types that clusterctl converts objects to (clusterctl:
// internal/scheme). It registers nothing else, and only when it is needed,
// because start-up time counts.
var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(appsv1.SchemeGroupVersion, &appsv1.Deployment{}, &appsv1.DaemonSet{})
	s.AddKnownTypes(rbacv1.SchemeGroupVersion, &rbacv1.ClusterRoleBinding{}, &rbacv1.RoleBinding{})
	s.AddKnownTypes(admissionv1.SchemeGroupVersion, &admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{})
	s.AddKnownTypes(admissionv1beta1.SchemeGroupVersion, &admissionv1beta1.MutatingWebhookConfiguration{}, &admissionv1beta1.ValidatingWebhookConfiguration{})
	s.AddKnownTypes(apiextensionsv1.SchemeGroupVersion, &apiextensionsv1.CustomResourceDefinition{})
	s.AddKnownTypes(apiextensionsv1beta1.SchemeGroupVersion, &apiextensionsv1beta1.CustomResourceDefinition{})
	s.AddKnownTypes(clusterv1.GroupVersion, &clusterv1.Cluster{})
	s.AddKnownTypes(clusterv1beta1.GroupVersion, &clusterv1beta1.Cluster{})
	return s
})
