package rules_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// FuzzRules feeds any text to all rules: none may fail, and every finding must
// lie in the file.
func FuzzRules(f *testing.F) {
	for i, r := range rules.All {
		if i%share.Of(3, 1) != 0 {
			continue
		}
		e := given.Value(examples.Load(r.ID))(f)
		for _, text := range e.Bad.Text {
			if len(text) < 10_000 {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		id := layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}
		release := &repo.Release{Provider: id, Version: "v1.0.0", Path: "infrastructure-foo/v1.0.0"}
		for _, name := range []string{"cluster-template.yaml", "clusterclass-a.yaml", "infrastructure-components.yaml", layouts.MetadataFile} {
			release.Artifacts = append(release.Artifacts, repo.BytesArtifact(name, []byte(text)))
		}
		r := &repo.Repository{
			Config:    repo.BytesArtifact("clusterctl.yaml", []byte(text)),
			Providers: []*repo.Provider{{Provider: id, Releases: []*repo.Release{release}}},
		}
		report, err := lint.Run(context.Background(), r, lint.Options{Rules: rules.All})
		given.NoError(t, err)
		for _, err := range report.Failures {
			t.Error(err)
		}
		lines := strings.Count(text, "\n") + 1
		for _, f := range report.Findings {
			if f.Message == "" || f.Pos.Line > lines || !f.Pos.IsZero() && f.Pos.Column < 1 {
				t.Errorf("%s %+v-%+v %q in a text of %d lines", f.Rule.ID, f.Pos, f.End, f.Message, lines)
			}
		}
	})
}

// TestCutObjects checks that no rule fails for objects of which something is
// missing, as behind a NUL, where clusterctl ends a text.
func TestCutObjects(t *testing.T) {
	kinds := []string{
		"apps_Deployment_v1", "apiextensions.k8s.io_CustomResourceDefinition_v1", "rbac.authorization.k8s.io_ClusterRole_v1", "rbac.authorization.k8s.io_RoleBinding_v1",
		"admissionregistration.k8s.io_ValidatingWebhookConfiguration_v1", "cert-manager.io_Certificate_v1", "cert-manager.io_Issuer_v1",
		"infrastructure.cluster.x-k8s.io_FooMachineTemplate_v1beta1", "infrastructure.cluster.x-k8s.io_FooCluster_v1beta2",
	}
	schemas, err := os.ReadDir("../../capi/contract/schemas")
	if err != nil || len(schemas) == 0 {
		t.Fatal(err)
	}
	for _, s := range schemas {
		kinds = append(kinds, strings.TrimSuffix(s.Name(), ".yaml"))
	}
	const base = "infrastructure-foo/v1.0.0/"
	for _, rest := range []string{
		"", "metadata:\n", "metadata: {name: x%d}\n", "metadata: {name: x%d}\nspec:\n", "metadata: {name: x%d}\nspec: x\n", "metadata: {name: x%d}\nspec: []\n", "metadata: {name: x%d}\nspec: {}\n",
		"metadata: {name: x%d}\nspec: {topology: , template: , infrastructureRef: , controlPlaneRef: , workers: , names: , versions: [ , {}], patches: [ , {}], variables: [ , {}]}\n",
		"metadata: {name: x%d}\nspec: {topology: {}, template: {}, infrastructureRef: {}, controlPlaneRef: {}, workers: {machineDeployments: [ , {}]}, versions: x, patches: {}, variables: {}}\nrules: [ , {}]\nwebhooks: [ , {}]\n",
	} {
		var text strings.Builder
		for i, kind := range kinds {
			part := strings.Split(kind, "_")
			fmt.Fprintf(&text, "---\napiVersion: %s/%s\nkind: %s\n%s", part[0], part[2], part[1], strings.ReplaceAll(rest, "%d", fmt.Sprint(i)))
		}
		dir := t.TempDir()
		files := examples.Files{Text: map[string]string{
			base + "metadata.yaml":                  series,
			base + "infrastructure-components.yaml": fooNamespace + text.String(),
			base + "cluster-template.yaml":          text.String(),
			base + "clusterclass-x.yaml":            text.String(),
		}}
		given.NoError(t, files.Write(dir))
		r := given.Value(folder.Open(context.Background(), dir))(t)
		report, err := lint.Run(context.Background(), r, lint.Options{Rules: rules.All})
		given.NoError(t, err)
		for _, err := range report.Failures {
			t.Errorf("with %q: %v", rest, err)
		}
	}
}
