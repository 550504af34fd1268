package oracle

//lint:file-ignore SA1019 The deprecated versions are what is migrated.

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	bootstrapconversion "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/conversion"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	controlplaneconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// migrating is a server with all definitions of Cluster API and the webhooks of the
// kinds that templates use.
func migrating(t *testing.T) *admitting {
	t.Helper()
	s := newAdmitting(t)
	for _, folder := range []string{"core", "bootstrap/kubeadm", "controlplane/kubeadm"} {
		names, err := filepath.Glob(filepath.Join(coreModule(t), filepath.FromSlash(folder), "config", "crd", "bases", "*.yaml"))
		if err != nil || len(names) == 0 {
			t.Fatal(folder, err)
		}
		for _, name := range names {
			data := given.Read(t, name)
			given.NoError(t, s.define(data))
		}
	}
	return s
}

// converted reads an object in either version as the hub.
func converted[Old, Hub any](o map[string]any, convert func(context.Context, *Old, *Hub) error) (*Hub, error) {
	hub := new(Hub)
	if version, _ := o["apiVersion"].(string); !strings.HasSuffix(version, "/v1beta1") {
		return hub, typed(o, hub)
	}
	old := new(Old)
	if err := typed(o, old); err != nil {
		return nil, err
	}
	return hub, convert(context.Background(), old, hub)
}

// accepts returns why a new object is refused.
func (s *admitting) accepts(o map[string]any) error {
	ctx := context.Background()
	object := &unstructured.Unstructured{Object: o}
	if group := object.GroupVersionKind().Group; !strings.HasSuffix(group, "cluster.x-k8s.io") {
		return nil
	}
	if object.GetKind() == "Cluster" {
		return s.cluster(o)
	}
	if err := s.create(o); err != nil {
		return err
	}
	switch object.GetKind() {
	case "KubeadmConfig":
		c, err := converted(o, func(ctx context.Context, in *bootstrapv1beta1.KubeadmConfig, out *bootstrapv1.KubeadmConfig) error {
			return bootstrapconversion.ConvertKubeadmConfigV1Beta1ToHub(ctx, in, out)
		})
		if err == nil {
			_, err = (&bootstrapadmission.KubeadmConfig{}).ValidateCreate(ctx, c)
		}
		return err
	case "KubeadmConfigTemplate":
		c, err := converted(o, func(ctx context.Context, in *bootstrapv1beta1.KubeadmConfigTemplate, out *bootstrapv1.KubeadmConfigTemplate) error {
			return bootstrapconversion.ConvertKubeadmConfigTemplateV1Beta1ToHub(ctx, in, out)
		})
		if err == nil {
			_, err = (&bootstrapadmission.KubeadmConfigTemplate{}).ValidateCreate(ctx, c)
		}
		return err
	case "KubeadmControlPlane":
		c, err := converted(o, func(ctx context.Context, in *controlplanev1beta1.KubeadmControlPlane, out *controlplanev1.KubeadmControlPlane) error {
			return controlplaneconversion.ConvertKubeadmControlPlaneV1Beta1ToHub(ctx, in, out)
		})
		if err != nil {
			return err
		}
		webhook := &controlplaneadmission.KubeadmControlPlane{}
		if err := webhook.Default(ctx, c); err != nil {
			return err
		}
		_, err = webhook.ValidateCreate(ctx, c)
		return err
	case "KubeadmControlPlaneTemplate":
		c, err := converted(o, func(ctx context.Context, in *controlplanev1beta1.KubeadmControlPlaneTemplate, out *controlplanev1.KubeadmControlPlaneTemplate) error {
			return controlplaneconversion.ConvertKubeadmControlPlaneTemplateV1Beta1ToHub(ctx, in, out)
		})
		if err == nil {
			_, err = (&controlplaneadmission.KubeadmControlPlaneTemplate{}).ValidateCreate(ctx, c)
		}
		return err
	}
	return nil
}

// sampledObjects are the objects of a text with values for its variables: numbers, or
// the samples of the tool. Defaults stay.
func sampledObjects(t *testing.T, data []byte, numbers bool) []map[string]any {
	t.Helper()
	parsed := given.Value(vars.Parse(data))(t)
	optional := map[string]bool{}
	for _, v := range parsed.Variables() {
		optional[v.Name] = v.Default != nil
	}
	text, err := parsed.Execute(func(name string) (string, bool) {
		switch {
		case optional[name]:
			return "", false
		case numbers && name != "KUBERNETES_VERSION":
			return "3", true
		}
		return manifest.Sample(name), true
	})
	given.NoError(t, err)
	docs := given.Value(yamldoc.Split(text.Data))(t)
	out := make([]map[string]any, len(docs))
	for i, d := range docs {
		_ = yaml.Unmarshal([]byte(d.Data), &out[i]) // nil if it depends on the values
	}
	return out
}

// What the API server and the webhooks of Cluster API accept in v1beta1, they accept
// after the migration.
func TestMigratedAdmission(t *testing.T) {
	t.Parallel()
	root := share.Corpus(t, "releases")
	server := migrating(t)
	tried, accepted := 0, 0
	kinds := map[string]int{}
	for _, r := range releases(t, root) {
		type text struct {
			name     string
			old, now []byte
		}
		var texts []text
		for _, name := range files(t, r.Dir()) {
			if kind := layouts.KindOfFile(name); kind != layouts.ClusterTemplate && kind != layouts.ClusterClass {
				continue
			}
			data := given.Read(t, filepath.Join(r.Dir(), name))
			texts = append(texts, text{name, data, migrate.Text(name, data, migrate.Options{Contract: table.To("v1beta2")}).New})
		}
		for _, numbers := range []bool{false, true} {
			before := &admitting{server.server, map[client.ObjectKey]*clusterv1.ClusterClass{}}
			after := &admitting{server.server, map[client.ObjectKey]*clusterv1.ClusterClass{}}
			old, now := make([][]map[string]any, len(texts)), make([][]map[string]any, len(texts))
			for i, f := range texts {
				old[i], now[i] = sampledObjects(t, f.old, numbers), sampledObjects(t, f.now, numbers)
				for s, list := range map[*admitting][]map[string]any{before: old[i], after: now[i]} {
					for _, o := range list {
						if o["kind"] == "ClusterClass" {
							_ = s.put(o) // one that cannot be read is refused below
						}
					}
				}
			}
			for i, f := range texts {
				if len(old[i]) != len(now[i]) {
					t.Errorf("%s/%s: %d objects became %d", r.Dir(), f.name, len(old[i]), len(now[i]))
					continue
				}
				for j, o := range old[i] {
					if o == nil || o["apiVersion"] == now[i][j]["apiVersion"] {
						continue
					}
					tried++
					if before.accepts(o) != nil {
						continue
					}
					accepted++
					kinds[o["kind"].(string)]++
					if err := after.accepts(now[i][j]); err != nil {
						text, _ := yaml.Marshal(now[i][j])
						t.Errorf("%s %s, %s: v1beta1 was accepted, but after the migration: %v\n%s", r.Name, r.Version, f.name, err, text)
					}
				}
			}
		}
	}
	t.Logf("%d objects tried, %d accepted in v1beta1 and again after the migration: %v", tried, accepted, kinds)
	if accepted < 300 {
		t.Errorf("only %d objects were accepted in v1beta1", accepted)
	}
}
