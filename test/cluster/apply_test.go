package cluster

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/apply"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// awkward is what a session has to undo, or to keep from being in the way.
var awkward = []string{
	`{apiVersion: v1, kind: Namespace, metadata: {name: awkward}}`,
	// An object that exists before.
	`{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {changed: "yes"}}}`,
	// Webhooks for everything that nobody answers.
	`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: awkward}, webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1],
	  clientConfig: {service: {name: none, namespace: awkward}}, rules: [{apiGroups: [example.com], apiVersions: ["*"], operations: ["*"], resources: [awkwards]}]}]}`,
	// A definition that converts with a webhook, and an object in the version
	// that is not stored.
	`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: awkwards.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: awkwards, kind: Awkward},
	  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: none, namespace: awkward}}}},
	  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [a], properties: {a: {type: string}}}}}}},
	             {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [a], properties: {a: {type: string}}}}}}}]}}`,
	`{apiVersion: example.com/v2, kind: Awkward, metadata: {name: held, namespace: awkward, finalizers: [example.com/never]}, spec: {a: b}}`,
	// An object for which the library has the definition.
	`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: issuer, namespace: awkward}, spec: {selfSigned: {}}}`,
}

func decode(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	given.NoError(t, yaml.UnmarshalStrict([]byte(text), &o.Object))
	return o
}

// TestSession demands that a session accepts what a management cluster accepts,
// and leaves nothing behind.
func TestSession(t *testing.T) {
	for range 2 { // what is left behind would be found by the second
		s := session(t)
		for _, text := range awkward {
			if err := s.Create(t.Context(), decode(t, text), apply.Clusterctl); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		}
		for _, kind := range []struct {
			kind           schema.GroupVersionKind
			known, changes bool
		}{
			{schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Awkward"}, true, true},
			{schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Other"}, false, false},
			{schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"}, true, false},
			{schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineDeployment"}, true, true},
			{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, true, false},
			{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Other"}, true, false},
		} {
			if known, changes := s.Knows(kind.kind.GroupKind()), s.Changes(t.Context(), kind.kind); known != kind.known || changes != kind.changes {
				t.Errorf("%s: known %t, changed by webhooks %t", kind.kind, known, changes)
			}
		}
		for by, accepts := range map[apply.By]bool{apply.Clusterctl: true, apply.Kubectl: false} {
			unknown := `{apiVersion: example.com/v1, kind: Awkward, metadata: {name: more, namespace: awkward}, spec: {a: b, c: d}}`
			if err := s.Create(t.Context(), decode(t, unknown), by); (err == nil) != accepts {
				t.Errorf("an unknown field, validation %q: %v", by, err)
			}
		}
		for text, is := range map[string]func(error) bool{
			`{apiVersion: example.com/v3, kind: Awkward, metadata: {name: a}}`:               func(err error) bool { return err != nil && !apierrors.IsNotFound(err) },
			`{apiVersion: example.com/v1, kind: Awkward, metadata: {name: a}, spec: {}}`:     func(err error) bool { return apierrors.IsInvalid(err) && onlyMissing(err) },
			`{apiVersion: example.com/v1, kind: Awkward, metadata: {name: a}, spec: {a: 1}}`: func(err error) bool { return apierrors.IsInvalid(err) && !onlyMissing(err) },
			`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: none}}`:           apierrors.IsNotFound,
		} {
			if err := s.Create(t.Context(), decode(t, text), apply.Clusterctl); !is(err) {
				t.Errorf("%v\n%s", err, text)
			}
		}
		end(t, s)
	}
	running := given.Value(running())(t)
	client := given.Value(dynamic.NewForConfig(running.Config))(t)
	for name, r := range map[string]schema.GroupVersionResource{
		"awkward":              {Version: "v1", Resource: "namespaces"},
		"awkwards.example.com": {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	} {
		if _, err := client.Resource(r).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s is left behind: %v", name, err)
		}
	}
	before, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(t.Context(), "default", metav1.GetOptions{})
	given.NoError(t, err)
	if before.GetLabels()["changed"] != "" {
		t.Error("a changed object is not restored")
	}
}
