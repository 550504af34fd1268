package oracle

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"
	"sigs.k8s.io/cluster-api/exp/runtime/topologymutation"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// configSetting is what the lifecycle hooks below cannot do without.
const configSetting = "extensionConfigName"

// typedPatches changes typed templates, and lets Cluster API's library compute the
// patches: their operations come in an order that changes from call to call, and
// some of them add empty objects.
func typedPatches(t *testing.T) func(context.Context, *hooksv1.GeneratePatchesRequest, *hooksv1.GeneratePatchesResponse) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{bootstrapv1.AddToScheme, controlplanev1.AddToScheme} {
		given.NoError(t, add(scheme))
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder(bootstrapv1.GroupVersion, controlplanev1.GroupVersion)
	more := bootstrapv1.Arg{Name: "v", Value: new("2")}
	return func(ctx context.Context, request *hooksv1.GeneratePatchesRequest, response *hooksv1.GeneratePatchesResponse) {
		topologymutation.WalkTemplates(ctx, decoder, request, response, func(_ context.Context, o runtime.Object, _ map[string]apiextensionsv1.JSON, _ hooksv1.HolderReference) error {
			switch o := o.(type) {
			case *controlplanev1.KubeadmControlPlaneTemplate:
				spec := &o.Spec.Template.Spec.KubeadmConfigSpec
				spec.ClusterConfiguration.APIServer.ExtraArgs = append(spec.ClusterConfiguration.APIServer.ExtraArgs, more)
				spec.ClusterConfiguration.Scheduler.ExtraArgs = append(spec.ClusterConfiguration.Scheduler.ExtraArgs, more)
				spec.InitConfiguration.NodeRegistration.KubeletExtraArgs = append(spec.InitConfiguration.NodeRegistration.KubeletExtraArgs, more)
			case *bootstrapv1.KubeadmConfigTemplate:
				join := &o.Spec.Template.Spec.JoinConfiguration
				join.NodeRegistration.KubeletExtraArgs = append(join.NodeRegistration.KubeletExtraArgs, more)
			}
			return nil
		})
	}
}

// needsSetting answers a lifecycle hook if its setting is there.
func needsSetting(request hooksv1.RequestObject, response hooksv1.ResponseObject) {
	response.SetStatus(hooksv1.ResponseStatusSuccess)
	if request.GetSettings()[configSetting] == "" {
		response.SetStatus(hooksv1.ResponseStatusFailure)
		response.SetMessage(configSetting + " is not set")
	}
}

// TestTypedExtension checks a server that is made like the test extension of Cluster
// API's own repository, but without its cluster: typed templates, and lifecycle
// hooks that fail without a setting. That failure is all that is found.
func TestTypedExtension(t *testing.T) {
	dir := t.TempDir()
	certificates(t, dir, exampleName)
	c := catalog.New()
	given.NoError(t, hooksv1.AddToCatalog(c))
	port := given.Value(strconv.Atoi(freePort(t)))(t)
	s, err := runtimeserver.New(runtimeserver.Options{Catalog: c, Host: "127.0.0.1", Port: port, CertDir: dir})
	given.NoError(t, err)
	for _, h := range []runtimeserver.ExtensionHandler{
		{Name: "patches", Hook: hooksv1.GeneratePatches, HandlerFunc: typedPatches(t)},
		{Name: "create", Hook: hooksv1.BeforeClusterCreate, HandlerFunc: func(_ context.Context, request *hooksv1.BeforeClusterCreateRequest, response *hooksv1.BeforeClusterCreateResponse) {
			needsSetting(request, response)
		}},
	} {
		given.NoError(t, s.AddExtensionHandler(h))
	}
	ctx, stop := context.WithCancel(background)
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for range 200 {
		if s.StartedChecker()(nil) == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	args := []string{"https://127.0.0.1:" + strconv.Itoa(port), "--ca-file", filepath.Join(dir, "ca.crt"), "--server-name", exampleName, "--level", "all"}
	for range 5 { // what changes from call to call shall not be found by chance
		findings := checked(t, args...)
		if len(findings) != 1 || !strings.HasPrefix(findings[0], "LIV023 warning BeforeClusterCreate create: ") {
			t.Errorf("without the setting: %q", findings)
		}
		if findings = checked(t, slices.Concat(args, []string{"--setting", configSetting + "=acme"})...); len(findings) > 0 {
			t.Errorf("with the setting: %q", findings)
		}
	}
}
