package examples_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

const version = "v0.1.0"

// examples are the source trees with what is built from them: the files of
// each release, by label.
var examples = map[string]map[string][]string{
	"acme-k8s": {
		"bootstrap-acme-k8s":     {"SHA256SUMS", "bootstrap-components.yaml", "metadata.yaml"},
		"control-plane-acme-k8s": {"SHA256SUMS", "control-plane-components.yaml", "metadata.yaml"},
	},
	"acme-runtime-extension": {
		"runtime-extension-acme": {"SHA256SUMS", "metadata.yaml", "runtime-extension-components.yaml"},
	},
	"cluster-api": {
		"cluster-api": {"SHA256SUMS", "core-components.yaml", "metadata.yaml"},
	},
	"cluster-api-addon-provider-acme": {
		"addon-acme": {"SHA256SUMS", "addon-components.yaml", "metadata.yaml"},
	},
	"cluster-api-ipam-provider-acme": {
		"ipam-acme": {"SHA256SUMS", "ipam-components.yaml", "metadata.yaml"},
	},
	"cluster-api-provider-acme": {
		"infrastructure-acme": {
			"SHA256SUMS", "acme-v0.1.0.env", "cloud-controller.yaml", "cluster-template-machinepool.yaml",
			"cluster-template-topology.yaml", "cluster-template.yaml", "clusterclass-quick-start.yaml", "crds.yaml",
			"infrastructure-components.yaml", "metadata.yaml",
		},
	},
}

func build(t *testing.T, dir string) []*repo.Release {
	t.Helper()
	tree := given.Value(transform.Open(dir, transform.Options{Version: transform.Versions{All: version}}))(t)
	b := given.Value(tree.Build(context.Background()))(t)
	return b.Releases
}

func read(t *testing.T, a *repo.Artifact) []byte {
	t.Helper()
	return given.Value(a.Bytes())(t)
}

// contents are the files of releases as LABEL/FILE.
func contents(t *testing.T, releases []*repo.Release) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, r := range releases {
		for _, a := range r.Artifacts {
			out[r.Provider.Label()+"/"+a.Name] = string(read(t, a))
		}
	}
	return out
}

// TestEveryFolder makes sure that no example is forgotten in the other tests
// or in the table for readers.
func TestEveryFolder(t *testing.T) {
	entries := given.Value(os.ReadDir("."))(t)
	var folders []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(e.Name(), layouts.MetadataFile)); err == nil {
			folders = append(folders, e.Name())
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(examples)), folders); diff != "" {
		t.Errorf("folders (-tested +there):\n%s", diff)
	}
	readme := readme(t)
	types := map[layouts.ProviderType]bool{}
	for folder, releases := range examples {
		if !strings.Contains(readme, "]("+folder+")") {
			t.Errorf("README.md has no link to %s", folder)
		}
		for label := range releases {
			if !strings.Contains(readme, "`"+label+"`") {
				t.Errorf("README.md does not name %s", label)
			}
			p, err := layouts.ParseLabel(label)
			if err != nil {
				t.Error(err)
			}
			types[p.Type] = true
		}
	}
	for _, row := range layouts.Types {
		if !types[row.Type] {
			t.Errorf("no example of a %s", row.Type)
		}
	}
}

func readme(t *testing.T) string {
	t.Helper()
	return string(given.Read(t, "README.md"))
}

func TestFiles(t *testing.T) {
	for folder, want := range examples {
		t.Run(folder, func(t *testing.T) {
			got := map[string][]string{}
			for _, r := range build(t, folder) {
				for _, a := range r.Artifacts {
					got[r.Provider.Label()] = append(got[r.Provider.Label()], a.Name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReproducible(t *testing.T) {
	for folder := range examples {
		t.Run(folder, func(t *testing.T) {
			many := contents(t, build(t, folder))
			before := runtime.GOMAXPROCS(1)
			defer runtime.GOMAXPROCS(before)
			if diff := cmp.Diff(many, contents(t, build(t, folder))); diff != "" {
				t.Errorf("(-parallel +serial):\n%s", diff)
			}
		})
	}
}

// TestComponents checks what clusterctl asks of every components file.
func TestComponents(t *testing.T) {
	for folder := range examples {
		for _, r := range build(t, folder) {
			label := r.Provider.Label()
			t.Run(label, func(t *testing.T) {
				a := r.Components()
				if a == nil {
					t.Fatal("no components file")
				}
				var namespaces, managers int
				stream := yamldoc.Parse(yamldoc.NewFile(a.Name, read(t, a)))
				if stream.Err != nil {
					t.Fatal(stream.Err)
				}
				for _, d := range stream.Docs {
					if d.Err != nil {
						t.Fatal(d.Err)
					}
					kind, name := d.Root.Get("kind").Str(), d.Root.Get("metadata", "name").Str()
					if got := d.Root.Get("metadata", "labels", layouts.ProviderLabel).Str(); got != label {
						t.Errorf("%s %s: provider label %q", kind, name, got)
					}
					switch kind {
					case "Namespace":
						namespaces++
					case "Deployment":
						for _, c := range d.Root.Get("spec", "template", "spec", "containers").List() {
							if c.Get("name").Str() != "manager" {
								continue
							}
							managers++
							if image := c.Get("image").Str(); !strings.HasPrefix(image, "ghcr.io/acme/") || !strings.HasSuffix(image, ":"+version) {
								t.Errorf("image %s of %s is not that of the release", image, name)
							}
						}
					}
				}
				if namespaces != 1 || managers != 1 {
					t.Errorf("%d namespaces and %d containers called manager, want one of each", namespaces, managers)
				}
				// A placeholder that kustomize should have filled in.
				for _, word := range []string{"NAMESPACE", "NAME", "SECRET"} {
					for _, delimiter := range []string{" ", "/", "."} {
						if strings.Contains(string(read(t, a)), delimiter+word+"\n") || strings.Contains(string(read(t, a)), " "+word+delimiter) {
							t.Errorf("the placeholder %s is left", word)
						}
					}
				}
			})
		}
	}
}

// setByClusterctl are the variables of templates that always have a value
// (clusterctl: client/config.go, templateOptionsToVariables).
var setByClusterctl = []string{
	"CLUSTER_NAME", "CONTROL_PLANE_MACHINE_COUNT", "WORKER_MACHINE_COUNT",
}

// TestVariables wants a default for every variable, or a word in README.md.
func TestVariables(t *testing.T) {
	readme := readme(t)
	seen := map[string]bool{}
	for folder := range examples {
		for _, r := range build(t, folder) {
			for _, a := range r.Artifacts {
				switch a.Kind() {
				case layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass:
				default:
					continue
				}
				template, err := vars.Parse(read(t, a))
				if err != nil {
					t.Fatalf("%s: %v", a.Name, err)
				}
				for _, v := range template.Variables() {
					seen[v.Name] = true
					if v.Default == nil && !slices.Contains(setByClusterctl, v.Name) && !strings.Contains(readme, "`"+v.Name+"`") {
						t.Errorf("%s of %s: %s has no default and is not in README.md", a.Name, r.Provider.Label(), v.Name)
					}
				}
			}
		}
	}
	for _, name := range setByClusterctl {
		if !seen[name] {
			t.Errorf("no template uses %s", name)
		}
	}
}
