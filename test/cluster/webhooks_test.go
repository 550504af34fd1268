package cluster

//lint:file-ignore SA1019 The API server serves v1beta1 too, so the webhooks have to know it.

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1"
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	controlplaneconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/cluster-api/feature"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	kube "github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// webhooked starts an API server that has the definitions of Cluster API and asks
// its webhooks, which run in this process, for conversion and admission. Tests
// share another server, on which webhooks are switched off.
func webhooked(t *testing.T) client.Client {
	t.Helper()
	path := given.Value(program())(t)
	s := given.Value(kube.Start(t.Context(), path))(t)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("%v\n%s", err, s.Log())
		}
	})
	c, handler := coreWebhooks(t, s.Config)
	hooks := httptest.NewTLSServer(handler)
	t.Cleanup(hooks.Close)
	install(t, c, hooks)
	awaitWebhooks(t, c)
	return c
}

// install puts the definitions and webhooks of Cluster API into the API server.
func install(t *testing.T, c client.Client, hooks *httptest.Server) {
	t.Helper()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hooks.Certificate().Raw})
	at := func(path string) map[string]any {
		return map[string]any{"url": hooks.URL + path, "caBundle": base64.StdEncoding.EncodeToString(authority)}
	}
	objs := given.Value(coreObjects())(t)
	for i := range objs {
		o := &objs[i]
		if o.GetKind() == "CustomResourceDefinition" {
			o.Object["spec"].(map[string]any)["conversion"] = map[string]any{
				"strategy": "Webhook",
				"webhook":  map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": at("/convert")},
			}
		} else { // a configuration of webhooks; those of all providers have one name
			o.SetName(fmt.Sprint(o.GetName(), i))
			for _, w := range o.Object["webhooks"].([]any) {
				w := w.(map[string]any)
				path, _, _ := unstructured.NestedString(w, "clientConfig", "service", "path")
				w["clientConfig"] = at(path)
			}
		}
		given.NoError(t, c.Create(t.Context(), o))
	}
	for i := range objs {
		if objs[i].GetKind() == "CustomResourceDefinition" {
			served(t, c, &objs[i])
		}
	}
}

// served waits until the API server has all versions of a definition.
func served(t *testing.T, c client.Client, crd *unstructured.Unstructured) {
	t.Helper()
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		v := v.(map[string]any)
		if v["served"] != true {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: v["name"].(string), Kind: kind + "List"})
		await(t, crd.GetName()+" is not served", func() bool { return c.List(t.Context(), list) == nil })
	}
}

// awaitWebhooks waits until the API server asks them: it reads configurations some
// time after it accepted them.
func awaitWebhooks(t *testing.T, c client.Client) {
	t.Helper()
	try := func(kind, group string, spec map[string]any) (*unstructured.Unstructured, error) {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "apiVersion": group + "/v1beta2", "metadata": map[string]any{"name": "a", "namespace": "default"}, "spec": spec}}
		return o, c.Create(t.Context(), o, client.DryRunAll)
	}
	machine := func(version string) map[string]any {
		return map[string]any{
			"clusterName": "a", "version": version, "bootstrap": map[string]any{"dataSecretName": "a"},
			"infrastructureRef": map[string]any{"apiGroup": "example.com", "kind": "A", "name": "a"},
		}
	}
	await(t, "the webhooks do not answer", func() bool {
		o, err := try("Machine", clusterv1.GroupVersion.Group, machine("v1.34.0"))
		_, invalid := try("Machine", clusterv1.GroupVersion.Group, machine("a"))
		return err == nil && o.GetLabels()[clusterv1.ClusterNameLabel] == "a" && invalid != nil
	})
}

func await(t *testing.T, otherwise string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}

// coreWebhooks are the webhooks that the managers of Cluster API serve, and a client
// that reads without a cache.
func coreWebhooks(t *testing.T, config *rest.Config) (client.Client, http.Handler) {
	t.Helper()
	log.SetLogger(logr.Discard()) // or it complains of none
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, clusterv1beta1.AddToScheme, clusterv1.AddToScheme, addonsv1beta1.AddToScheme, addonsv1.AddToScheme,
		bootstrapv1beta1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1beta1.AddToScheme, controlplanev1.AddToScheme,
		ipamv1alpha1.AddToScheme, ipamv1beta1.AddToScheme, ipamv1.AddToScheme, runtimev1alpha1.AddToScheme, runtimev1.AddToScheme,
	} {
		given.NoError(t, add(scheme))
	}
	err := feature.MutableGates.SetFromMap(map[string]bool{
		string(feature.ClusterTopology): true, string(feature.RuntimeSDK): true, string(feature.MachinePool): true,
		string(feature.MachineTaintPropagation): true, string(feature.KubeadmBootstrapFormatIgnition): true,
	})
	given.NoError(t, err)
	m, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	given.NoError(t, err)
	direct := given.Value(client.New(config, client.Options{Scheme: scheme}))(t)
	// The manager takes the version from the definition of the provider, which is
	// not installed here.
	version := func(_ context.Context, gk schema.GroupKind) (string, error) {
		return gk.WithVersion("v1beta1").GroupVersion().String(), nil
	}
	conversion.SetAPIVersionGetter(version)
	controlplaneconversion.SetAPIVersionGetter(version)
	for _, w := range []interface {
		SetupWebhookWithManager(ctrl.Manager) error
	}{
		&admission.ClusterClass{Client: direct}, &admission.Cluster{Client: direct}, &admission.Machine{}, &admission.MachineSet{},
		&admission.MachineDeployment{}, &admission.MachineDrainRule{}, &admission.MachinePool{}, &admission.ClusterResourceSet{},
		&admission.ClusterResourceSetBinding{}, &admission.MachineHealthCheck{}, &admission.ExtensionConfig{},
		&admission.IPAddress{Client: direct}, &admission.IPAddressClaim{},
		&bootstrapadmission.KubeadmConfig{}, &bootstrapadmission.KubeadmConfigTemplate{},
		&controlplaneadmission.KubeadmControlPlane{}, &controlplaneadmission.KubeadmControlPlaneTemplate{}, &controlplaneadmission.ScaleValidator{Client: direct},
	} {
		given.NoError(t, w.SetupWebhookWithManager(m))
	}
	return direct, m.GetWebhookServer().WebhookMux()
}
