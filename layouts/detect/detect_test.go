package detect

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// tree makes a file system; "path=text" gives a file content.
func tree(files ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

const metadata = "metadata.yaml=releaseSeries: []\n"

func crd(group string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: foos." + group + "\nspec:\n  group: " + group + "\n  names: {kind: Foo}\n"
}

// product is a kustomization in dir with one CRD for each group and, if it is
// not empty, the provider label.
func product(dir, label string, groups ...string) []string {
	kust := "namespace: example-system\nresources: [../crd]\n"
	if label != "" {
		kust += "commonLabels: {cluster.x-k8s.io/provider: " + label + "}\n"
	}
	above := dir[:strings.LastIndex(dir, "/")]
	files := []string{dir + "/kustomization.yaml=" + kust}
	res := "resources:\n"
	for i, g := range groups {
		files = append(files, fmt.Sprintf("%s/crd/bases/%d.yaml=%s", above, i, crd(g)))
		res += fmt.Sprintf("- bases/%d.yaml\n", i)
	}
	return append(files, above+"/crd/kustomization.yaml="+res)
}

func join(parts ...any) []string {
	var out []string
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			out = append(out, p)
		case []string:
			out = append(out, p...)
		}
	}
	return out
}

const (
	infra        = "infrastructure.cluster.x-k8s.io"
	bootstrap    = "bootstrap.cluster.x-k8s.io"
	controlPlane = "controlplane.cluster.x-k8s.io"
)

// labels lists the providers of a configuration as label=components.
func labels(c *config.Config) []string {
	var out []string
	for _, p := range c.Providers {
		out = append(out, fmt.Sprintf("%s/%s=%s", p.Type, p.Name, p.Components.Path))
	}
	return out
}

// A name that only the folder tells is said aloud: such notes have no key.
func TestNameOfFolder(t *testing.T) {
	for text, want := range map[string]bool{"": true, "module example.org/cluster-api-provider-x\n": false} {
		_, notes, err := Complete(tree(append(product("config/default", "", infra), "go.mod="+text)...), &config.Config{}, Hints{Folder: "cluster-api-provider-x"})
		said := slices.ContainsFunc(notes, func(n config.Note) bool {
			return n.Key == "" && strings.Contains(n.Text, "is named after the folder cluster-api-provider-x")
		})
		if err != nil || said != want {
			t.Errorf("%q: %v, %v", text, err, notes)
		}
	}
}

func TestProviders(t *testing.T) {
	tests := map[string]struct {
		files  []string
		config string
		folder string
		remote string
		want   []string
	}{
		"label": {files: product("config/default", "infrastructure-x", infra),
			want: []string{"infrastructure/x=config/default"}},
		"several": {files: join(product("bootstrap/config/default", "bootstrap-x", bootstrap), product("controlplane/config/default", "control-plane-x", controlPlane)),
			want: []string{"bootstrap/x=bootstrap/config/default", "control-plane/x=controlplane/config/default"}},
		"core": {files: product("core/config/default", "cluster-api", "cluster.x-k8s.io", "addons.cluster.x-k8s.io", "ipam.cluster.x-k8s.io"),
			want: []string{"core/cluster-api=core/config/default"}},
		"core with more": {files: product("config/default", "", "cluster.x-k8s.io", infra, bootstrap),
			want: []string{"core/cluster-api=config/default"}},
		"core without a label": {files: product("config/default", "", "cluster.x-k8s.io"),
			want: []string{"core/cluster-api=config/default"}},
		"label without the prefix": {files: product("config/default", "helm", "addons.cluster.x-k8s.io"),
			want: []string{"addon/helm=config/default"}},
		"label of another type": {files: product("config/default", "infrastructure-x", bootstrap),
			want: []string{"bootstrap/x=config/default"}},
		"label decides among CRDs": {files: product("config/default", "control-plane-x", infra, bootstrap, controlPlane),
			want: []string{"control-plane/x=config/default"}},
		"CRDs of another group": {files: product("config/default", "ipam-x", "ipam.example.org"),
			want: []string{"ipam/x=config/default"}},
		"runtime extension without CRDs": {files: product("config/default", "runtime-extension-x"),
			want: []string{"runtime-extension/x=config/default"}},
		"label on objects only": {files: []string{
			"config/default/kustomization.yaml=resources: [all.yaml]", "config/default/all.yaml=" + crd(infra) + "---\nkind: Secret\nmetadata:\n  labels:\n    cluster.x-k8s.io/provider: \"infrastructure-x\"\n"},
			want: []string{"infrastructure/x=config/default"}},
		"label in the newer form": {files: []string{
			"config/default/kustomization.yml=labels:\n- includeSelectors: true\n  pairs: {cluster.x-k8s.io/provider: infrastructure-x}\nresources: [a.yaml]\n", "config/default/a.yaml=" + crd(infra)},
			want: []string{"infrastructure/x=config/default"}},
		"CRD in another writing": {files: []string{
			"config/default/kustomization.yaml=resources: [a.yaml]", `config/default/a.yaml={"spec": {"group": "` + bootstrap + `"}, "kind": "CustomResourceDefinition"}`},
			folder: "cluster-api-provider-x", want: []string{"bootstrap/x=config/default"}},
		"generated CRDs are not there yet": {files: []string{
			"config/default/kustomization.yaml=commonLabels: {cluster.x-k8s.io/provider: infrastructure-x}\nresources: [crds.yaml]\n"},
			want: []string{"infrastructure/x=config/default"}},
		"bases in circles": {files: []string{
			"config/default/kustomization.yaml=resources: [../a, ../../../outside]\n", "config/a/kustomization.yaml=resources: [../default, crd.yaml]\n", "config/a/crd.yaml=" + crd(infra)},
			folder: "x", want: []string{"infrastructure/x=config/default"}},

		"a part that cannot be read": {files: join(product("config/default", "infrastructure-x", infra),
			"config/crd/bases/kustomization.yaml=[", "config/crd/kustomization.yaml=resources: [bases, bases/0.yaml]\n"), want: []string{"infrastructure/x=config/default"}},

		"name from the folder": {files: product("config/default", "", infra), folder: "cluster-api-provider-foo-bar",
			want: []string{"infrastructure/foo-bar=config/default"}},
		"name from the module": {files: join(product("config/default", "", infra), "go.mod=module example.org/cluster-api-provider-mod/v2\n\ngo 1.26\n"), folder: "checkout",
			want: []string{"infrastructure/mod=config/default"}},
		"name from the remote": {files: join(product("config/default", "", infra), "go.mod=module x\n", ".git/config=[remote \"fork\"]\n\turl = https://example.org/me/fork\n[remote \"origin\"]\n\turl = git@example.org:org/cluster-api-provider-Git.git\n[branch \"main\"]\n\turl = x\n"),
			want: []string{"infrastructure/git=config/default"}},
		"name from the module, not from a fork": {files: join(product("config/default", "", infra), "go.mod=module sigs.k8s.io/cluster-api-provider-mod\n", ".git/config=[remote \"origin\"]\n\turl = https://github.com/me/cluster-api-provider-my-fork.git\n"), folder: "wt",
			want: []string{"infrastructure/mod=config/default"}},
		"name from the remote of a worktree": {files: product("config/default", "", infra), folder: "wt-name", remote: "https://github.com/org/cluster-api-provider-far.git",
			want: []string{"infrastructure/far=config/default"}},
		"name from the folder of a larger repository": {files: product("config/default", "", infra), folder: "cluster-api-provider-near", remote: "git@example.org:org/monorepo.git",
			want: []string{"infrastructure/near=config/default"}},
		"name of another form": {files: product("config/default", "", infra), folder: "Kube_Thing",
			want: []string{"infrastructure/kube-thing=config/default"}},
		"type from the repository": {files: product("config/default", "", bootstrap, controlPlane), folder: "cluster-api-control-plane-provider-x",
			want: []string{"control-plane/x=config/default"}},
		"type from the folder": {files: product("bootstrap/config/default", "", bootstrap, controlPlane), folder: "cluster-api-x",
			want: []string{"bootstrap/x=bootstrap/config/default"}},
		"type of the folder that has no CRDs": {files: product("bootstrap/config/default", "", controlPlane, infra), folder: "x",
			want: []string{"infrastructure/x=bootstrap/config/default"}},
		"infrastructure with more": {files: product("config/default", "", bootstrap, controlPlane, infra), folder: "cluster-api-provider-x",
			want: []string{"infrastructure/x=config/default"}},

		"other products": {files: join(product("config/default", "infrastructure-x", infra), product("operator/config/default", "", "example.org"), product("agent/config/default", "infrastructure-x")),
			want: []string{"infrastructure/x=config/default"}},
		"folders without products": {files: join(product("config/default", "infrastructure-x", infra), product("test/a/config/default", "infrastructure-a", infra),
			product("vendor/b/config/default", "infrastructure-b", infra), product("_out/config/default", "infrastructure-c", infra), product("hack/config/default", "infrastructure-d", infra)),
			want: []string{"infrastructure/x=config/default"}},

		"label with the type in other words": {files: product("config/default", "controlplane-x", infra, controlPlane),
			want: []string{"control-plane/x=config/default"}},
		"label with a word that is no type here": {files: product("config/default", "controlplane-x", infra),
			want: []string{"infrastructure/controlplane-x=config/default"}},
		"labels elsewhere": {files: join(product("config/x/bootstrap", "name", bootstrap), product("config/y/controlplane", "name", bootstrap, controlPlane), product("config/z/all", "name", bootstrap, controlPlane, infra), product("config/w/other", "", infra)),
			want: []string{"bootstrap/name=config/x/bootstrap", "control-plane/name=config/y/controlplane"}},
		"label in the config folder itself, CRDs to be generated": {files: []string{"config/kustomization.yaml=namespace: some\nlabels: [{pairs: {cluster.x-k8s.io/provider: control-plane-x}}]\nresources: [../build/crds]\n"},
			want: []string{"control-plane/x=config"}},
		"labels for a place that builds several": {files: join(product("config/default", "x", bootstrap, controlPlane), product("config/bootstrap", "bootstrap-x", bootstrap, controlPlane), product("config/control-plane", "control-plane-x", bootstrap, controlPlane), "config/dev/kustomization.yaml=namespace: some\nresources: [../default]\n"),
			want: []string{"bootstrap/x=config/bootstrap", "control-plane/x=config/control-plane"}},
		"labels elsewhere do not add to the place": {files: join(product("config/default", "infrastructure-x", infra), product("config/ci", "infrastructure-y", infra)),
			want: []string{"infrastructure/x=config/default"}},
		"a whole of parts": {files: join(product("a/config/default", "control-plane-y", infra), product("b/config/default", "infrastructure-z", "example.org"), "config/kustomization.yaml=resources: [../a/config/default, ../b/config/default]\ncommonLabels: {cluster.x-k8s.io/provider: x}\n"),
			want: []string{"infrastructure/x=config"}},
		"an installation of all": {files: join(product("a/config/default", "bootstrap-x", bootstrap), product("b/config/default", "control-plane-x", controlPlane), "config/all/kustomization.yaml=resources: [../../a/config/default, ../../b/config/default]\ncommonLabels: {cluster.x-k8s.io/provider: x}\n"),
			want: []string{"bootstrap/x=a/config/default", "control-plane/x=b/config/default"}},

		"ignored": {files: join(product("config/default", "infrastructure-x", infra), product("a/b/config/default", "infrastructure-x", infra)),
			config: "discovery: {ignore: [a/*]}\n", want: []string{"infrastructure/x=config/default"}},
		"not discovered": {files: join(product("config/default", "infrastructure-x", infra), product("config/special", "", infra)),
			config: "discovery: {disabled: true}\nproviders: [{type: infrastructure, name: other, components: {path: config/special}}]\n", want: []string{"infrastructure/other=config/special"}},
		"entry with the same label": {files: join(product("config/default", "infrastructure-x", infra), product("config/special", "", infra)),
			config: "providers: [{type: infrastructure, name: x, components: {path: config/special}}]\n", want: []string{"infrastructure/x=config/special"}},
		"entry with the same path": {files: product("config/default", "infrastructure-x", infra),
			config: "providers: [{name: other, components: {path: ./config/default/}}]\n", want: []string{"infrastructure/other=./config/default/"}},
		"entry with a path only": {files: join(product("config/default", "infrastructure-x", infra), product("test/config/default", "infrastructure-y", infra)),
			config: "providers: [{components: {path: test/config/default}}]\n", want: []string{"infrastructure/y=test/config/default", "infrastructure/x=config/default"}},
		"entry settles a choice": {files: join(product("config/default", "infrastructure-x", infra), product("sub/config/default", "infrastructure-x", infra)),
			config: "providers: [{type: infrastructure, name: x, components: {path: sub/config/default}}]\n", want: []string{"infrastructure/x=sub/config/default"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, notes, err := Complete(tree(join(metadata, tt.files)...), decode(t, tt.config), Hints{Folder: tt.folder, Remote: func() string { return tt.remote }})
			given.NoError(t, err)
			if diff := cmp.Diff(tt.want, labels(c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, n := range notes {
				if n.Text == "" || strings.Contains(n.Text, "%!") {
					t.Errorf("note %q", n)
				}
			}
			if c.Metadata != "metadata.yaml" {
				t.Errorf("metadata %q", c.Metadata)
			}
		})
	}
}

func decode(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Decode("c.yaml", []byte("apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\n"+text))
	given.NoError(t, err)
	return c
}

// TestQuestions holds what a newcomer is told when the conventions do not
// suffice. The lines of configuration in a message have to settle it.
func TestQuestions(t *testing.T) {
	tests := map[string]struct {
		files  []string
		config string
		want   string
		fix    string // lines of the message that decode, after filling in NAME and FOLDER
	}{
		"nothing": {nil, "", "no provider found: looked for kustomizations in config/default, at any depth, outside folders such as test, hack, examples and vendor; " +
			"no other kustomization builds CRDs of Cluster API either. Set its place in clusterctl-repo.yaml:\nproviders:\n- type: infrastructure   # or core, bootstrap, control-plane, ipam, runtime-extension, addon\n  name: NAME\n  components:\n    path: FOLDER", ""},
		"elsewhere": {join(product("config/thing", "", infra), "go.mod=module example.org/cluster-api-provider-x\n"), "", "no provider found: looked for kustomizations in config/default, at any depth, outside folders such as test, hack, examples and vendor. " +
			"These kustomizations build CRDs of Cluster API; name the right ones in clusterctl-repo.yaml:\n", "providers:\n- type: infrastructure\n  name: x\n  components:\n    path: config/thing"},
		"another product": {product("config/default", "", "example.org"), "", "no provider found: looked for kustomizations in config/default, at any depth, outside folders such as test, hack, examples and vendor; " +
			"config/default builds no provider: it has no CRD of an API group of Cluster API and no label cluster.x-k8s.io/provider. " +
			"If config/default is one anyway, declare it in clusterctl-repo.yaml:\n",
			"providers:\n- type: infrastructure   # or core, bootstrap, control-plane, ipam, runtime-extension, addon\n  name: NAME\n  components:\n    path: config/default"},
		"no name": {product("config/default", "", infra), "",
			"config/default builds a provider whose name is unknown: it has no label cluster.x-k8s.io/provider, and the repository is not named cluster-api-provider-NAME.\nSet it in clusterctl-repo.yaml:\n",
			"providers:\n- type: infrastructure\n  name: NAME\n  components:\n    path: config/default"},
		"CRDs that are not there yet": {[]string{"config/default/kustomization.yaml=resources: [../crd]\n", "config/crd/kustomization.yaml=resources: [bases/x.yaml]\n", "config/x/kustomization.yaml=commonLabels: {cluster.x-k8s.io/provider: infrastructure-x}\nnamespace: x\n", metadata}, "",
			"config/default shows no provider, but config/crd/bases/x.yaml, which it names, is not in the tree. Run the generator first (controller-gen writes CRDs), or say in clusterctl-repo.yaml what it builds:\n",
			"providers:\n- type: infrastructure   # or core, bootstrap, control-plane, ipam, runtime-extension, addon\n  name: NAME\n  components:\n    path: config/default"},
		"no type": {product("config/default", "", bootstrap, controlPlane), "",
			"config/default builds CRDs of several provider types: bootstrap, control-plane.\nSet it in clusterctl-repo.yaml:\n",
			"providers:\n- type: bootstrap\n  name: NAME\n  components:\n    path: config/default"},
		"neither type nor CRD": {product("config/default", "thing", "example.org"), "",
			"config/default builds a provider \"thing\" of unknown type: it has no CRD of an API group of Cluster API, and the label in config/default/kustomization.yaml lacks the prefix of a type.\nSet it in clusterctl-repo.yaml:\n",
			"providers:\n- type: infrastructure   # or core, bootstrap, control-plane, ipam, runtime-extension, addon\n  name: thing\n  components:\n    path: config/default"},
		"foreign CRDs in a known repository": {join(product("config/default", "", "example.org"), "go.mod=module example.org/cluster-api-bootstrap-provider-x\n"), "", "no provider found: looked for kustomizations in config/default, at any depth, outside folders such as test, hack, examples and vendor; " +
			"config/default builds no provider: it has no CRD of an API group of Cluster API and no label cluster.x-k8s.io/provider. " +
			"If config/default is one anyway, declare it in clusterctl-repo.yaml:\n",
			"providers:\n- type: bootstrap\n  name: x\n  components:\n    path: config/default"},
		"two of a kind elsewhere": {join(product("config/a/x", "infrastructure-x", infra), product("config/b/x", "infrastructure-x", infra)), "",
			"both config/a/x and config/b/x build infrastructure-x. Choose one in clusterctl-repo.yaml:\nproviders:\n- type: infrastructure\n  name: x\n  components:\n    path: config/a/x\nor leave one out:\n",
			"discovery:\n  ignore:\n  - config/b/x"},
		"two of a kind": {join(product("a/config/default", "infrastructure-x", infra), product("b/config/default", "infrastructure-x", infra)), "",
			"both a/config/default and b/config/default build infrastructure-x. Choose one in clusterctl-repo.yaml:\nproviders:\n- type: infrastructure\n  name: x\n  components:\n    path: a/config/default\nor leave one out:\n",
			"discovery:\n  ignore:\n  - b/config/default"},
		"two metadata files": {join(product("config/default", "infrastructure-x", infra), "a/metadata.yaml=releaseSeries:", "b/metadata.yaml=releaseSeries:"), "",
			"config/default has no metadata.yaml in a folder above it, and the tree holds several: a/metadata.yaml, b/metadata.yaml. Choose one in clusterctl-repo.yaml:\n",
			"metadata: a/metadata.yaml"},
		"entry without a source": {product("config/default", "infrastructure-x", infra), "providers:\n- type: infrastructure\n  name: other\n",
			"c.yaml:4:3: the source of the provider is unknown: no config/default in the tree builds infrastructure-other. Add the folder of its kustomization:\n  components:\n    path: FOLDER", ""},
		"entry that builds nothing": {product("config/default", "infrastructure-x", infra), "providers:\n- components: {path: config/none}\n",
			"c.yaml:4:22: config/none shows no type and name, as it has no CRD of an API group of Cluster API and no label cluster.x-k8s.io/provider; set both", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := tree(tt.files...)
			_, _, err := Complete(fsys, decode(t, tt.config), Hints{})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want+tt.fix, err.Error()); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if tt.fix == "" {
				return
			}
			fix := strings.ReplaceAll(tt.fix, "NAME", "some")
			if _, _, err := Complete(fsys, decode(t, fix), Hints{}); err != nil {
				t.Errorf("the proposed configuration does not settle it: %v", err)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	two := join(product("a/config/default", "infrastructure-a", infra), product("b/config/default", "bootstrap-b", bootstrap))
	tests := map[string]struct {
		files  []string
		config string
		want   []string // shared, then of each provider
	}{
		"root":             {join(two, metadata), "", []string{"metadata.yaml", "", ""}},
		"own":              {join(two, metadata, "b/metadata.yaml=releaseSeries:"), "", []string{"", "metadata.yaml", "b/metadata.yaml"}},
		"the only one":     {join(two, "release/metadata.yaml=releaseSeries:"), "", []string{"release/metadata.yaml", "", ""}},
		"another format":   {join(two, "a/metadata.yaml=kind: Other"), "", []string{"", "", ""}},
		"in a test folder": {join(two, "test/metadata.yaml=releaseSeries:"), "", []string{"", "", ""}},
		"said for all":     {join(two, metadata), "metadata: x.yaml\n", []string{"x.yaml", "", ""}},
		"said for one":     {join(two, metadata), "providers: [{type: bootstrap, name: b, metadata: x.yaml}]\n", []string{"", "x.yaml", "metadata.yaml"}},
	}
	for name, tt := range tests {
		c, _, err := Complete(tree(tt.files...), decode(t, tt.config), Hints{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := []string{c.Metadata, c.Providers[0].Metadata, c.Providers[1].Metadata}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

func TestTemplates(t *testing.T) {
	one := product("config/default", "infrastructure-x", infra)
	sub := product("infra/config/default", "infrastructure-x", infra)
	tests := map[string]struct {
		files     []string
		config    string
		templates []config.Template
		classes   []config.ClusterClass
	}{
		"none": {files: one},
		"finished": {files: join(one, "templates/cluster-template.yaml", "templates/cluster-template-a.yaml", "templates/clusterclass-q.yaml", "templates/cluster-template-vpc/kustomization.yaml"),
			templates: []config.Template{{Files: "templates/cluster-template*.yaml"}}, classes: []config.ClusterClass{{Files: "templates/clusterclass-*.yaml"}}},
		"finished and flavors": {files: join(one, "templates/cluster-template.yaml", "templates/flavors/a/kustomization.yaml"),
			templates: []config.Template{{Files: "templates/cluster-template*.yaml"}}},
		"flavors": {files: join(one, "templates/flavors/a/kustomization.yaml", "templates/flavors/b/c/kustomization.yaml"),
			templates: []config.Template{{Kustomize: "templates/flavors/*"}, {Kustomize: "templates/flavors/*/*"}}},
		"a name of another form": {files: join(one, "templates/cluster-template.yaml", "templates/cluster-templates.yaml"),
			templates: []config.Template{{Files: "templates/cluster-template*.yaml", Exclude: []string{"templates/cluster-templates.yaml"}}}},
		"beside the config folder": {files: join(sub, "infra/templates/cluster-template.yaml", "templates/cluster-template.yaml"),
			templates: []config.Template{{Files: "infra/templates/cluster-template*.yaml"}}},
		"at the root": {files: join(sub, "templates/cluster-template.yaml"),
			templates: []config.Template{{Files: "templates/cluster-template*.yaml"}}},
		"said": {files: join(one, "templates/cluster-template.yaml", "templates/clusterclass-q.yaml"), config: "providers: [{type: infrastructure, name: x, templates: []}]\n",
			templates: []config.Template{}, classes: []config.ClusterClass{{Files: "templates/clusterclass-*.yaml"}}},
		"only the infrastructure provider": {files: join(one, product("z/config/default", "bootstrap-z", bootstrap), "z/templates/cluster-template.yaml", "templates/cluster-template.yaml"),
			templates: []config.Template{{Files: "templates/cluster-template*.yaml"}}},
		"in another folder": {files: join(one, "config/release/cluster-template.yaml", "config/release/clusterclass-q.yaml", "chart/Chart.yaml", "chart/templates/cluster-template.yaml", "examples/cluster-template.yaml"),
			templates: []config.Template{{Files: "config/release/cluster-template*.yaml"}}, classes: []config.ClusterClass{{Files: "config/release/clusterclass-*.yaml"}}},
		"in two other folders":           {files: join(one, "a/cluster-template.yaml", "b/cluster-template.yaml")},
		"source of a kustomization":      {files: join(one, "a/cluster-template.yaml", "a/kustomization.yaml")},
		"other folder of another type":   {files: join(product("config/default", "bootstrap-z", bootstrap), "a/cluster-template.yaml")},
		"kustomizations of another form": {files: join(one, "templates/cluster-templates/a/kustomization.yaml", "b/cluster-template.yaml")},
		"the only provider": {files: join(product("config/default", "bootstrap-z", bootstrap), "templates/cluster-template.yaml"),
			templates: []config.Template{{Files: "templates/cluster-template*.yaml"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, _, err := Complete(tree(join(tt.files, metadata)...), decode(t, tt.config), Hints{})
			given.NoError(t, err)
			if diff := cmp.Diff(tt.templates, c.Providers[0].Templates, cmpopts.IgnoreTypes(config.Origin{})); diff != "" {
				t.Errorf("templates (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.classes, c.Providers[0].ClusterClasses, cmpopts.IgnoreTypes(config.Origin{})); diff != "" {
				t.Errorf("classes (-want +got):\n%s", diff)
			}
			for _, p := range c.Providers[1:] {
				if p.Templates != nil {
					t.Errorf("%s has templates", p.Name)
				}
			}
		})
	}
}

// TestElsewhereEnds: of very many folders with the label not all are read, and a note says so.
func TestElsewhereEnds(t *testing.T) {
	var files []string
	for i := range maxElsewhere + 1 {
		files = append(files, product(fmt.Sprintf("sites/x%03d", i), "infrastructure-x", "example.org")...)
	}
	_, notes, err := Complete(tree(files...), &config.Config{}, Hints{Folder: "x"})
	if !slices.ContainsFunc(notes, func(n config.Note) bool { return strings.HasPrefix(n.Text, "sites/x100 and further folders") }) {
		t.Errorf("%v, notes %v", err, notes)
	}
}

func TestRemoteBasesAreNoted(t *testing.T) {
	_, notes, err := Complete(tree("config/default/kustomization.yaml=resources: [crd.yaml, 'https://example.org/x.yaml', 'example.org/a//b?ref=v1']\n", "config/default/crd.yaml="+crd(infra)), &config.Config{}, Hints{Folder: "x"})
	given.NoError(t, err)
	want := config.Note{Key: "providers[0].components", Text: "config/default loads from the network, which has to be allowed: https://example.org/x.yaml, example.org/a//b?ref=v1"}
	for _, n := range notes {
		if n == want {
			return
		}
	}
	t.Errorf("no %q among %q", want, notes)
}

// TestStaysInTheTree gives a tree whose links lead out of it.
func TestStaysInTheTree(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		given.File(t, file, text)
	}
	write(outside, "metadata.yaml", "releaseSeries: []")
	write(outside, "crd.yaml", crd(infra))
	write(inside, "config/default/kustomization.yaml", "resources: [crd.yaml, ../../../crd.yaml]")
	for _, link := range []string{"metadata.yaml", "config/default/crd.yaml"} {
		if err := os.Symlink(filepath.Join(outside, filepath.Base(link)), filepath.Join(inside, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	root := given.Value(os.OpenRoot(inside))(t)
	defer root.Close()
	c, _, err := Complete(root.FS(), &config.Config{}, Hints{Folder: "x"})
	if err == nil || !strings.Contains(err.Error(), "config/default shows no provider") {
		t.Errorf("found %+v, %v through a link out of the tree", c, err)
	}
}

// FuzzDetect feeds any text in the places that are read.
func FuzzDetect(f *testing.F) {
	f.Add("resources: [../crd, x.yaml]", crd(infra), "module x", "[remote \"o\"]\nurl = x")
	f.Add("resources: {a: b}\nlabels: x\ncommonLabels: [1]", "kind: CustomResourceDefinition\nspec:\n  group: [", "", "url =")
	f.Add("a: [", "--- x\n", "module", "[remote \"\"]\n url = ///")
	f.Fuzz(func(t *testing.T, kust, manifest, module, git string) {
		fsys := fstest.MapFS{}
		for name, text := range map[string]string{"config/default/kustomization.yaml": kust, "config/default/x.yaml": manifest,
			"config/crd/kustomization.yaml": kust, "config/crd/x.yaml": manifest, "go.mod": module, ".git/config": git, "metadata.yaml": manifest} {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		c, notes, err := Complete(fsys, &config.Config{}, Hints{})
		if err != nil {
			return
		}
		text := given.Value(config.Write(c, notes))(t)
		// The type is detected, the name may come from a label of any form, which
		// the decoder refuses; everything else has to be readable.
		if _, err := config.Decode("c.yaml", text); err != nil && !strings.Contains(err.Error(), `"name"`) {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

// TestNotes holds what is said about what a tree has but its release has not,
// and about names.
func TestNotes(t *testing.T) {
	one := product("config/default", "infrastructure-x", infra)
	tests := map[string]struct {
		files []string
		want  config.Note
	}{
		"nested files": {join(one, "templates/cluster-template.yaml", "templates/sub/clusterclass-a.yaml"),
			config.Note{Text: "templates/sub/clusterclass-a.yaml is not released, because it is not directly in templates; if it should be, list it under templates or clusterClasses"}},
		"kustomizations that may be flavors": {join(one, "templates/some/a/kustomization.yaml"),
			config.Note{Text: "infrastructure-x: the kustomizations in templates/some/* are not built; list those that make cluster templates under templates in its entry"}},
		"templates in many folders": {join(one, "a/cluster-template.yaml", "b/cluster-template.yaml", "c/cluster-template.yaml", "d/cluster-template.yaml", "e/cluster-template.yaml", "f/cluster-template.yaml"),
			config.Note{Text: "infrastructure-x: no templates are in templates, but some are in a, b, c, d, e, …; list those that are released under templates in its entry"}},
		"templates in another folder": {join(one, "a/cluster-template.yaml"),
			config.Note{Text: "infrastructure-x: the templates are in a, the only folder that holds any"}},
		"clusterctl's name, from the module": {join(product("config/default", "infrastructure-linode", infra), "go.mod=module github.com/linode/cluster-api-provider-linode/v2\n"),
			config.Note{Key: "providers[0].name", Text: "clusterctl's own list has this repository as linode-linode: that is the name under which users install it"}},
		"clusterctl's name, from the remote": {join(product("config/default", "infrastructure-linode", infra), ".git/config=[remote \"origin\"]\n\turl = git@github.com:Linode/cluster-api-provider-linode.git\n"),
			config.Note{Key: "providers[0].name", Text: "clusterctl's own list has this repository as linode-linode: that is the name under which users install it"}},
		"why not the place": {join(product("config/default", "x", bootstrap, controlPlane), product("config/bootstrap", "bootstrap-x", bootstrap, controlPlane)),
			config.Note{Text: "config/default builds CRDs of several provider types: bootstrap, control-plane"}},
	}
	for name, tt := range tests {
		_, notes, err := Complete(tree(join(tt.files, metadata)...), &config.Config{}, Hints{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Contains(notes, tt.want) {
			t.Errorf("%s: no %q among %q", name, tt.want, notes)
		}
	}
	for name, files := range map[string][]string{
		"the same name":    join(product("config/default", "infrastructure-aws", infra), "go.mod=module github.com/kubernetes-sigs/cluster-api-provider-aws\n"),
		"another host":     join(product("config/default", "infrastructure-x", infra), "go.mod=module notgithub.com/linode/cluster-api-provider-linode\n"),
		"another type":     join(product("config/default", "bootstrap-x", bootstrap), "go.mod=module github.com/linode/cluster-api-provider-linode\n"),
		"a nested module":  join(product("config/default", "infrastructure-x", infra), "go.mod=module github.com/linode/cluster-api-provider-linode/sub\n"),
		"not in the list":  join(product("config/default", "infrastructure-x", infra), "go.mod=module github.com/me/cluster-api-provider-linode\n"),
		"nothing is known": product("config/default", "infrastructure-x", infra),
	} {
		_, notes, err := Complete(tree(join(files, metadata)...), &config.Config{}, Hints{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, n := range notes {
			if strings.Contains(n.Text, "own list") {
				t.Errorf("%s: %q", name, n)
			}
		}
	}
}

// TestScan skips folders of releases and, except at the root, metadata.yaml without
// releaseSeries.
func TestScan(t *testing.T) {
	d := &detection{survey: newSurvey(tree("metadata.yaml=kind: Metadata\n", "a/metadata.yaml=kind: Metadata\n", "b/"+metadata,
		"infrastructure-x/v1.0.0/"+metadata, "Chart.yaml=", "c/Chart.yaml=", "c/"+metadata, "c/d/"+metadata)),
		file: &config.Config{}}
	given.NoError(t, d.scan())
	if diff := cmp.Diff([]string{"b/metadata.yaml", "metadata.yaml"}, d.metadatas); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestReadLabel: another word for a type counts if it has CRDs.
func TestReadLabel(t *testing.T) {
	types := map[layouts.ProviderType]bool{layouts.ControlPlane: true}
	for label, want := range map[string]string{
		"infrastructure-x": "infrastructure-x false true", "controlplane-x": "control-plane-x true true", "controlplane-": " false false",
		"word-x": " false false", "x": " false false",
	} {
		p, misspelt, ok := readLabel(label, types)
		if got := fmt.Sprintf("%s %t %t", p.Label(), misspelt, ok); got != want {
			t.Errorf("%s: %s, want %s", label, got, want)
		}
	}
}

// TestKustomizationFiles: each folder has its kustomization, whatever is in it.
func TestKustomizationFiles(t *testing.T) {
	s := newSurvey(tree("a/kustomization.yaml=resources: []\n", "b/kustomization.yml=", "c/Kustomization=[", "d/kustomization.yaml/x="))
	for range 2 {
		for dir, want := range map[string]string{"a": "a/kustomization.yaml", "b": "b/kustomization.yml", "c": "c/Kustomization", "d": "d/kustomization.yaml", "e": ""} {
			if k, file := s.kustomization(dir); file != want || (k == nil) != (want == "") || k != nil && (k.err != nil) != (dir > "b") {
				t.Errorf("%s: %+v in %q", dir, k, file)
			}
		}
	}
}

func TestSeries(t *testing.T) {
	old := series{{0, 9}: "v1beta1", {1, 2}: "v1beta1"}
	if best, ok := old.Highest(); !ok || best != [2]int64{1, 2} {
		t.Error(best, ok)
	}
	for want, s := range map[bool]series{true: {{0, 9}: "v1beta1", {1, 2}: "v1beta1", {1, 3}: "v1beta2"}, false: {{0, 9}: "v1beta1", {1, 2}: "v1beta2", {1, 3}: "v1beta2"}} {
		if s.extend(old) != want || old.extend(old) || s.extend(nil) {
			t.Errorf("%v, %v, %v", s.extend(old), old.extend(old), s.extend(nil))
		}
	}
}
