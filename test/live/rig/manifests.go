package rig

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The kinds of the manifests that a rig needs. The managers run as administrators, so
// RBAC is left out.
var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	mutating    = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	validating  = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

var resources = map[string]schema.GroupVersionResource{
	"Namespace": namespaces, "CustomResourceDefinition": definitions,
	"MutatingWebhookConfiguration": mutating, "ValidatingWebhookConfiguration": validating,
}

// manifests renders config/default of a manager, whose webhooks then point to its port
// on 127.0.0.1.
func (m *manager) manifests(ctx context.Context, ca []byte) ([]*unstructured.Unstructured, error) {
	dir, err := module(ctx, m.dir, m.module)
	if err != nil {
		return nil, err
	}
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, m.config, "config/default"))
	if err != nil {
		return nil, fmt.Errorf("manifests of %s: %w", m.name, err)
	}
	var out []*unstructured.Unstructured
	for _, r := range all.Resources() {
		if _, ok := resources[r.GetKind()]; !ok {
			continue
		}
		object, err := r.Map()
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{Object: object}
		if hooks, ok := object["webhooks"].([]any); ok {
			for _, hook := range hooks {
				m.local(hook.(map[string]any)["clientConfig"], ca)
			}
		}
		if conversion, ok, _ := unstructured.NestedFieldNoCopy(object, "spec", "conversion", "webhook", "clientConfig"); ok {
			m.local(conversion, ca)
		}
		out = append(out, o)
	}
	return out, nil
}

func (m *manager) local(config any, ca []byte) {
	c, ok := config.(map[string]any)
	if !ok {
		return
	}
	path, _, _ := unstructured.NestedString(c, "service", "path")
	delete(c, "service")
	c["url"] = fmt.Sprintf("https://127.0.0.1:%d%s", m.port, path)
	c["caBundle"] = base64.StdEncoding.EncodeToString(ca)
}
