package localrepo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

const config = `providers:
- {name: cluster-api, type: CoreProvider, versions: [{name: "{go://m@v1.2}", type: url, value: "https://x/{go://m@v1.2}/core-components.yaml", replacements: [{old: "image: (.*)", new: "image: $1-x"}, {old: nothing}]}]}
- {name: kubeadm, type: BootstrapProvider}
- {name: kubeadm, type: ControlPlaneProvider}
- name: docker
  type: InfrastructureProvider
  files: [{sourcePath: "${PWD}/t/cluster-template.yaml"}, {sourcePath: "../t/cluster-template-two.yaml"}]
  versions: [{name: v1.9.9, value: ../config}, {name: v1.9.9, value: ../config, files: [{sourcePath: ../t/joined.yaml, targetName: x.yaml}]}]
variables: {SET: file, UNSET: "${WITH:-default}"}
`

const object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\n"

// tree writes a source tree whose templates only make makes.
func tree(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Makefile": "ENVSUBST_PKG := github.com/drone/envsubst/v2\ntemplates:\n\tkustomize build kustomize/one > t/cluster-template.yaml\n" +
			"\tkustomize build kustomize/one > t/joined.yaml\n\techo --- >> t/joined.yaml\n\tkustomize build config >> t/joined.yaml\n" +
			"t/cluster-template-%.yaml: kustomize/%\n\tkustomize build $< > $@\n" +
			"run:\n\tenvsubst < $(E2E_CONF_FILE) > out.yaml\n",
		"e2e/docker.yaml":                  config,
		"config/kustomization.yaml":        "resources: [a.yaml]\n",
		"config/a.yaml":                    strings.Replace(object, "NAME", "components", 1),
		"kustomize/one/kustomization.yaml": "resources: [a.yaml]\n",
		"kustomize/one/a.yaml":             strings.Replace(object, "NAME", "one", 1),
		"kustomize/two/kustomization.yaml": "resources: [a.yaml]\n",
		"kustomize/two/a.yaml":             strings.Replace(object, "NAME", "two", 1),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "e2e", "docker.yaml")
}

func options() localrepo.Options {
	core := &repo.Provider{Provider: layouts.Provider{Type: layouts.Core, Name: "cluster-api"}}
	core.Releases = []*repo.Release{{Provider: core.Provider, Version: "v1.2.7", Artifacts: []*repo.Artifact{repo.BytesArtifact("core-components.yaml", []byte("image: a\n"))}}}
	return localrepo.Options{
		Env:      func(name string) (string, bool) { return "", name == "SET" },
		Upstream: localrepo.Mirror(&repo.Repository{Providers: []*repo.Provider{core}}),
	}
}

func TestBuild(t *testing.T) {
	s, err := localrepo.Open(t.Context(), tree(t, config), options())
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range m.Releases {
		for _, a := range r.Artifacts {
			data, err := a.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			got[r.Provider.Label()+"/"+r.Version+"/"+a.Name] = string(data)
		}
	}
	named := func(name string) string { return strings.Replace(object, "NAME", name, 1) }
	want := map[string]string{
		"cluster-api/v1.2.7/components.yaml":                     "image: a-x\n",
		"infrastructure-docker/v1.9.9/components.yaml":           named("components"),
		"infrastructure-docker/v1.9.9/cluster-template.yaml":     named("one"),
		"infrastructure-docker/v1.9.9/cluster-template-two.yaml": named("two"),
		"infrastructure-docker/v1.9.9/x.yaml":                    named("one") + "---\n" + named("components"),
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
		"URL":          {"value: ../config}, {", "value: \"https://x/y?ref=v1\"}, {", "URLs work only inside of kustomizations"},
		"scheme":       {"https://x/", "s3://x/", `unknown scheme "s3"`},
		"no file":      {"joined.yaml", "gone.yaml", "the file does not exist"},
		"no version":   {"v1.2}\", type", "v1.7}\", type", "no version of cluster-api in the series 1.7"},
		"a bad folder": {"x.yaml}", "../x.yaml}", "write a file name without a folder"},
	} {
		s, err := localrepo.Open(t.Context(), tree(t, strings.Replace(config, tc.old, tc.new, 1)), options())
		if err == nil {
			_, err = s.Build(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

func TestParts(t *testing.T) {
	o := options()
	for part, want := range map[string]string{"infrastructure-docker": "", "docker:v1.9.9": "", "docker:v2.0.0": "declares no docker:v2.0.0"} {
		o.Parts = []string{part}
		s, err := localrepo.Open(t.Context(), tree(t, config), o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Build(t.Context())
		if want == "" && (err != nil || len(m.Releases) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", part, err)
		}
	}
}
