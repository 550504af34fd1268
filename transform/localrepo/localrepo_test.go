package localrepo_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

const config = `providers:
- {name: cluster-api, type: CoreProvider, versions: [{name: "{go://m@v1.2}", type: url, value: "https://x/{go://m@v1.2}/core-components.yaml", replacements: [{old: "image: (.*)", new: "image: $1-x"}, {old: nothing}]}]}
- {name: kubeadm, type: BootstrapProvider}
- {name: kubeadm, type: ControlPlaneProvider}
- name: docker
  type: InfrastructureProvider
  files: [{sourcePath: "${PWD}/t/one.yaml", targetName: cluster-template.yaml}, {sourcePath: "../t/cluster-template-two.yaml"}]
  versions: [{name: v1.9.9, value: ../config}, {name: v1.9.9, value: ../config, files: [{sourcePath: ../t/needs.yaml, targetName: x.yaml}]}]
variables: {SET: file, UNSET: "${WITH:-default}"}
`

const object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\n"

// tree writes a source tree whose templates are built from the folders next to them.
func tree(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	given.Files(t, dir, map[string]string{
		"Makefile":                                  "",
		"e2e/docker.yaml":                           config,
		"config/kustomization.yaml":                 "resources: [a.yaml]\n",
		"config/a.yaml":                             strings.Replace(object, "NAME", "components", 1),
		"t/one/kustomization.yaml":                  "resources: [../../shared/a.yaml]\n", // outside its folder
		"shared/a.yaml":                             strings.Replace(object, "NAME", "one", 1),
		"t/cluster-template-two/kustomization.yaml": "resources: [a.yaml]\n",
		"t/cluster-template-two/a.yaml":             strings.Replace(object, "NAME", "two", 1),
		"t/needs/kustomization.yaml":                "resources: [../one.yaml, ../../config]\n",
	})
	return filepath.Join(dir, "e2e", "docker.yaml")
}

func options() localrepo.Options {
	core := &repo.Provider{Provider: layouts.Provider{Type: layouts.Core, Name: "cluster-api"}}
	core.Releases = []*repo.Release{{Provider: core.Provider, Version: "v1.2.7", Artifacts: []*repo.Artifact{repo.BytesArtifact("core-components.yaml", []byte("image: a\n"))}}}
	return localrepo.Options{
		Env:      func(name string) (string, bool) { return "", name == "SET" },
		Upstream: localrepo.Mirror{Repository: &repo.Repository{Providers: []*repo.Provider{core}}},
	}
}

// TestBrokenConfiguration demands the place of what is not YAML, not another idea of
// what the file is.
func TestBrokenConfiguration(t *testing.T) {
	for text, want := range map[string]bool{
		config: true,
		strings.Replace(config, "variables: {", "variables: {{", 1):                          true,
		"providers: [{name: a, type: CoreProvider, url: x}]\n":                               false, // clusterctl's own
		"providers: [{name: a, type: CoreProvider, url: x}]\na: b: c\n":                      false,
		"kind: ConfigMap\ndata: {x: 'providers: versions: type: CoreProvider', y: [a, b]}\n": false,
	} {
		name := tree(t, text)
		if got := localrepo.Is(name); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if _, err := localrepo.Open(t.Context(), name, options()); strings.Contains(text, "{{") && (err == nil || !strings.Contains(err.Error(), "docker.yaml:10:1: not YAML")) {
			t.Errorf("got %v", err)
		}
	}
}

func TestBuild(t *testing.T) {
	s := given.Value(localrepo.Open(t.Context(), tree(t, config), options()))(t)
	m := given.Value(s.Build(t.Context()))(t)
	got := map[string]string{}
	for _, r := range m.Releases {
		for _, a := range r.Artifacts {
			data := given.Value(a.Bytes())(t)
			got[r.Provider.Label()+"/"+r.Version+"/"+a.Name] = string(data)
		}
	}
	named := func(name string) string { return strings.Replace(object, "NAME", name, 1) }
	want := map[string]string{
		"cluster-api/v1.2.7/components.yaml":                     "image: a-x\n",
		"infrastructure-docker/v1.9.9/components.yaml":           named("components"),
		"infrastructure-docker/v1.9.9/cluster-template.yaml":     named("one"),
		"infrastructure-docker/v1.9.9/cluster-template-two.yaml": named("two"),
		"infrastructure-docker/v1.9.9/x.yaml":                    named("components") + "---\n" + named("one"),
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s should not be there", name)
	}
	if len(m.Idle) != 1 || len(m.Repeated) != 1 {
		t.Errorf("idle %v, repeated %v", m.Idle, m.Repeated)
	}
	data, err := s.ConfigFile("out/repository")
	if err != nil || !strings.HasPrefix(string(data), "SET: \"\"\nUNSET: default\noverridesFolder: out/repository/overrides\nproviders:\n- name: cluster-api\n  type: CoreProvider\n  url: out/repository/cluster-api/latest/components.yaml\n") {
		t.Errorf("%v\n%s", err, data)
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"no folder":    {"value: ../config}, {", "value: ../gone}, {", "docker.yaml:8:36: Failed to generate the manifest"},
		"URL":          {"value: ../config}, {", "value: \"https://x/y?ref=v1\"}, {", "URLs work only inside kustomizations"},
		"scheme":       {"https://x/", "s3://x/", `unknown scheme "s3"`},
		"no file":      {"needs.yaml", "gone.yaml", "the file does not exist, and there is no kustomization in a folder gone next to it"},
		"no version":   {"v1.2}\", type", "v1.7}\", type", "no version of cluster-api in the series 1.7"},
		"a bad folder": {"x.yaml}", "../x.yaml}", "write a file name without a folder"},
	} {
		s, err := localrepo.Open(t.Context(), tree(t, strings.Replace(config, tc.old, tc.new, 1)), options())
		if err == nil {
			_, err = s.Build(context.Background())
		}
		if err == nil || !strings.Contains(err.Error()+"\n", tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

func TestParts(t *testing.T) {
	o := options()
	for part, want := range map[string]string{"infrastructure-docker": "", "docker:v1.9.9": "", "docker:v2.0.0": "declares no docker:v2.0.0"} {
		o.Parts = []string{part}
		s := given.Value(localrepo.Open(t.Context(), tree(t, config), o))(t)
		m, err := s.Build(t.Context())
		if want == "" && (err != nil || len(m.Releases) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// TestDevelop builds from the settings of a tree, and from a list of trees.
func TestDevelop(t *testing.T) {
	dir := filepath.Dir(filepath.Dir(tree(t, config)))
	write := func(name, text string) {
		t.Helper()
		given.File(t, filepath.Join(dir, name), text)
	}
	const series = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 0, minor: 3, contract: v1beta2}, {major: 0, minor: 4, contract: v1beta2}]\n"
	const settings = `{"name": "infrastructure-acme", "config": {"componentsFile": "x.yaml", "nextVersion": "v0.4.0", "configFolder": "config"}}`
	for _, folder := range []string{".", "capi"} {
		write(folder+"/metadata.yaml", series)
	}
	write("list/clusterctl-settings.json", `{"providers": ["infrastructure-acme"], "provider_repos": [".."]}`)
	for _, folder := range []string{"bootstrap/kubeadm/config/default", "core/config/default"} {
		write("capi/"+folder+"/kustomization.yaml", "resources: [a.yaml]\n")
		write("capi/"+folder+"/a.yaml", object)
	}
	write("capi/templates/x.yaml", object)
	for name, tc := range map[string]struct {
		source, old, new, version string
		want                      string // LABEL/VERSION/FILE, or a part of an error
		note                      string
	}{
		"tree":        {source: ".", want: "infrastructure-acme/v0.4.0/metadata.yaml infrastructure-acme/v0.4.0/x.yaml"},
		"list":        {source: "list", want: "infrastructure-acme/v0.4.0/metadata.yaml infrastructure-acme/v0.4.0/x.yaml"},
		"file":        {source: "list/clusterctl-settings.json", version: "v0.3.9", want: "infrastructure-acme/v0.3.9/metadata.yaml infrastructure-acme/v0.3.9/x.yaml"},
		"Cluster API": {source: "capi", want: "bootstrap-kubeadm/v0.4.99/bootstrap-components.yaml bootstrap-kubeadm/v0.4.99/metadata.yaml cluster-api/v0.4.99/core-components.yaml cluster-api/v0.4.99/metadata.yaml"},
		"none":        {source: "t", want: "others"},
		"old":         {source: ".", old: "v0.4.0", new: "v0.3.0", note: "clusterctl-settings.json:1:87: nextVersion v0.3.0 is older than 0.4", want: "infrastructure-acme/v0.3.0/metadata.yaml infrastructure-acme/v0.3.0/x.yaml"},
		"no series":   {source: ".", version: "infrastructure-acme=v1.0.0", note: "has no series 1.0", want: "infrastructure-acme/v1.0.0/metadata.yaml infrastructure-acme/v1.0.0/x.yaml"},
		"unknown key": {source: ".", old: `"config"`, new: `"x": 1, "config"`, note: "unknown key x", want: "infrastructure-acme/v0.4.0/metadata.yaml infrastructure-acme/v0.4.0/x.yaml"},
		"no label":    {source: ".", old: "infrastructure-acme", new: "acme", want: `clusterctl-settings.json:1:10: name: "acme" is not a provider label`},
		"no version":  {source: ".", old: "v0.4.0", new: "", want: `pass --version infrastructure-acme=v0.4.99`},
		"no folder":   {source: ".", old: `"config"}`, new: `"../config"}`, want: "set config.configFolder"},
		"no file":     {source: ".", old: "x.yaml", new: "a/x.yaml", want: `config.componentsFile is "a/x.yaml"`},
		"not built":   {source: ".", old: `"config"}`, new: `"t/three"}`, want: "gone.yaml"},
		"not listed":  {source: "list", old: "infrastructure-acme", new: "infrastructure-other", want: "has the provider infrastructure-acme"},
		"other label": {source: ".", version: "infrastructure-x=v1.0.0", want: "no source has the provider infrastructure-x"},
	} {
		write("clusterctl-settings.json", strings.Replace(settings, tc.old, tc.new, 1))
		write("t/three/kustomization.yaml", "resources: [gone.yaml]\n")
		d, others, err := localrepo.Develop(t.Context(), []string{filepath.Join(dir, tc.source)}, localrepo.Options{Version: tc.version})
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case len(others) > 0:
			got = "others"
		default:
			var names []string
			for _, r := range d.Releases {
				for _, a := range r.Artifacts {
					names = append(names, r.Provider.Label()+"/"+r.Version+"/"+a.Name)
				}
			}
			slices.Sort(names)
			got = strings.Join(names, " ")
			if notes := fmt.Sprint(d.Notes); !strings.Contains(notes, tc.note) || tc.note == "" && len(d.Notes) > 0 {
				t.Errorf("%s: notes %s, want %q", name, notes, tc.note)
			}
		}
		if err == nil && got != tc.want || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
