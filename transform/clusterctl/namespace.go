package clusterctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// setNamespace moves all objects to the target namespace, with the references
// that clusterctl knows of (clusterctl: client/repository/components.go,
// fixTargetNamespace). Prefix begins the error message.
func setNamespace(objs []object, target, prefix string) error {
	for i := range objs {
		o := &objs[i]
		if path, err := moveTo(o, target); err != nil {
			return o.fail(fmt.Errorf("%s: %w", prefix, err), path...)
		}
	}
	return nil
}

// moveTo returns with an error the path of the value that is to blame, if it is
// known.
func moveTo(o *object, target string) (path []string, err error) {
	kind := o.GetKind()
	if kind == "Namespace" {
		o.SetName(target)
	}
	original := o.GetNamespace()
	if !layouts.ClusterScopedByClusterctl[kind] {
		o.SetNamespace(target)
	}
	switch kind {
	case "ClusterRoleBinding":
		b := &rbacv1.ClusterRoleBinding{}
		return nil, edit(o, b, func() []*string { return subjectNamespaces(b.Subjects) }, target)
	case "RoleBinding":
		b := &rbacv1.RoleBinding{}
		return nil, edit(o, b, func() []*string { return subjectNamespaces(b.Subjects) }, target)
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition":
		if err := moveInjection(o, target); err != nil {
			return []string{"metadata", "annotations", injectCAFrom}, err
		}
		version := o.GroupVersionKind().Version
		typed, namespaces := webhookServices(kind, version)
		if typed == nil {
			return []string{"apiVersion"}, fmt.Errorf("failed to patch %s %s", version, kind)
		}
		return nil, edit(o, typed, namespaces, target)
	case "Certificate":
		return moveCertificate(o, original, target)
	}
	return nil, nil
}

// edit sets the texts of a typed object that pick selects.
func edit(o *object, typed runtime.Object, pick func() []*string, value string) error {
	if err := toTyped(o, typed); err != nil {
		return err
	}
	for _, field := range pick() {
		*field = value
	}
	return fromTyped(typed, o)
}

func subjectNamespaces(subjects []rbacv1.Subject) (out []*string) {
	for i := range subjects {
		if subjects[i].Namespace != "" {
			out = append(out, &subjects[i].Namespace)
		}
	}
	return out
}

// injectCAFrom is the annotation by which cert-manager finds a certificate.
const injectCAFrom = "cert-manager.io/inject-ca-from"

func moveInjection(o *object, target string) error {
	annotations := o.GetAnnotations()
	from, ok := annotations[injectCAFrom]
	if !ok {
		return nil
	}
	_, name, ok := strings.Cut(from, "/")
	if !ok || strings.Contains(name, "/") {
		return fmt.Errorf("object %s %s does not have a correct value for %s", o.GetKind(), o.GetName(), injectCAFrom)
	}
	annotations[injectCAFrom] = target + "/" + name
	o.SetAnnotations(annotations)
	return nil
}

// webhookServices returns an empty object of a kind that calls webhooks, and a
// function that finds the namespaces of their services in it; nil for a version
// that clusterctl does not know.
func webhookServices(kind, version string) (runtime.Object, func() []*string) {
	switch kind + "/" + version {
	case "MutatingWebhookConfiguration/v1":
		c := &admissionv1.MutatingWebhookConfiguration{}
		return c, ofEach(&c.Webhooks, func(w admissionv1.MutatingWebhook) *string { return serviceV1(w.ClientConfig) })
	case "MutatingWebhookConfiguration/v1beta1":
		c := &admissionv1beta1.MutatingWebhookConfiguration{}
		return c, ofEach(&c.Webhooks, func(w admissionv1beta1.MutatingWebhook) *string { return serviceV1beta1(w.ClientConfig) })
	case "ValidatingWebhookConfiguration/v1":
		c := &admissionv1.ValidatingWebhookConfiguration{}
		return c, ofEach(&c.Webhooks, func(w admissionv1.ValidatingWebhook) *string { return serviceV1(w.ClientConfig) })
	case "ValidatingWebhookConfiguration/v1beta1":
		c := &admissionv1beta1.ValidatingWebhookConfiguration{}
		return c, ofEach(&c.Webhooks, func(w admissionv1beta1.ValidatingWebhook) *string { return serviceV1beta1(w.ClientConfig) })
	case "CustomResourceDefinition/v1":
		c := &apiextensionsv1.CustomResourceDefinition{}
		return c, func() []*string {
			conversion := c.Spec.Conversion
			if conversion == nil || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil ||
				conversion.Webhook.ClientConfig.Service == nil {
				return nil
			}
			return []*string{&conversion.Webhook.ClientConfig.Service.Namespace}
		}
	case "CustomResourceDefinition/v1beta1":
		c := &apiextensionsv1beta1.CustomResourceDefinition{}
		return c, func() []*string {
			conversion := c.Spec.Conversion
			if conversion == nil || conversion.WebhookClientConfig == nil ||
				conversion.WebhookClientConfig.Service == nil {
				return nil
			}
			return []*string{&conversion.WebhookClientConfig.Service.Namespace}
		}
	}
	return nil, nil
}

// ofEach returns a function that collects the namespaces that of finds in webhooks.
func ofEach[W any](webhooks *[]W, of func(W) *string) func() []*string {
	return func() []*string { return phrase.Some(*webhooks, of) }
}

func serviceV1(c admissionv1.WebhookClientConfig) *string {
	if c.Service == nil {
		return nil
	}
	return &c.Service.Namespace
}

func serviceV1beta1(c admissionv1beta1.WebhookClientConfig) *string {
	if c.Service == nil {
		return nil
	}
	return &c.Service.Namespace
}

// moveCertificate replaces the namespace in the DNS names of a Certificate: the
// first place where it stands between dots.
func moveCertificate(o *object, original, target string) (path []string, err error) {
	path = []string{"spec", "dnsNames"}
	names, ok, err := unstructured.NestedStringSlice(o.UnstructuredContent(), path...)
	if err != nil {
		wrong := slices.IndexFunc(dnsNames(o), func(v any) bool { _, ok := v.(string); return !ok })
		if wrong >= 0 {
			path = append(path, strconv.Itoa(wrong))
		}
		return path, fmt.Errorf("failed to get .spec.dnsNames from Certificate %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	if !ok {
		return nil, nil
	}
	for i, name := range names {
		names[i] = strings.Replace(name, "."+original+".", "."+target+".", 1)
	}
	if err := unstructured.SetNestedStringSlice(o.UnstructuredContent(), names, path...); err != nil {
		return path, fmt.Errorf("failed to set .spec.dnsNames to Certificate %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	return nil, nil
}

func dnsNames(o *object) []any {
	names, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "dnsNames")
	list, _ := names.([]any)
	return list
}
