package propose_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/propose"
)

// files are those of a source tree, by name.
type files map[string]string

// with joins trees; later ones override.
func with(trees ...files) files {
	out := files{}
	for _, t := range trees {
		for name, text := range t {
			out[name] = text
		}
	}
	return out
}

func series(minors ...int) string {
	out := "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n"
	for _, m := range minors {
		out += fmt.Sprintf("- {major: 0, minor: %d, contract: v1beta1}\n", m)
	}
	return out
}

// provider is an installable provider below dir: config with crd, manager and
// default.
func provider(dir, label string, groups ...string) files {
	if dir != "" {
		dir += "/"
	}
	out := files{
		dir + "config/default/kustomization.yaml": "namespace: acme-system\nresources: [../crd, ../manager]\npatches: [{path: manager_image_patch.yaml}]\nlabels: [{pairs: {cluster.x-k8s.io/provider: " + label + "}}]\n",
		dir + "config/default/manager_image_patch.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: system}
spec: {template: {spec: {containers: [{name: manager, image: controller:latest}]}}}
`,
		dir + "config/manager/kustomization.yaml": "resources: [manager.yaml]\n",
		dir + "config/manager/manager.yaml": `apiVersion: v1
kind: Namespace
metadata: {name: system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: system}
spec:
  selector: {matchLabels: {app: manager}}
  template:
    metadata: {labels: {app: manager}}
    spec: {containers: [{name: manager, image: controller:dev}]}
`,
	}
	var crds []string
	for _, g := range groups {
		crds = append(crds, g+".yaml")
		out[dir+"config/crd/"+g+".yaml"] = fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: acmes.%[1]s, labels: {cluster.x-k8s.io/v1beta1: v1beta1}}
spec:
  group: %[1]s
  names: {kind: Acme, plural: acmes}
  scope: Namespaced
  versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, g)
	}
	out[dir+"config/crd/kustomization.yaml"] = "resources: [" + strings.Join(crds, ", ") + "]\n"
	return out
}

const (
	infra        = "infrastructure.cluster.x-k8s.io"
	bootstrap    = "bootstrap.cluster.x-k8s.io"
	controlPlane = "controlplane.cluster.x-k8s.io"
)

func cluster(name string) string {
	return "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: " + name + "}\nspec: {}\n"
}

// flavor is a kustomization that makes a Cluster from a file outside its folder,
// which needs the load restrictor lifted.
func flavor(dir string) files {
	up := strings.Repeat("../", strings.Count(dir, "/")+1)
	return files{dir + "/kustomization.yaml": "resources: [" + up + "shared/cluster.yaml]\n", "shared/cluster.yaml": cluster("my")}
}

var acme = with(provider("", "infrastructure-acme", infra), files{"metadata.yaml": series(1, 2), "go.mod": "module example.com/cluster-api-provider-acme\n"})

// A tree is a source tree as real providers have it, with what init makes of it.
type tree struct {
	name  string
	files files
	// want are the files of each release, without metadata.yaml and SHA256SUMS.
	want map[string]string
	// left are patterns of what is left out, decided of the decisions.
	left, decided []string
	text          []string // in the configuration
	problem       string
}

var trees = []tree{
	{
		name:  "conventions",
		files: with(acme, files{"templates/cluster-template.yaml": cluster("x")}),
		want:  map[string]string{"infrastructure-acme v0.2.0": "cluster-template.yaml infrastructure-components.yaml"},
		text:  []string{"# yaml-language-server: ", "# rules:", "# publish:"},
	},
	{
		name: "flavors in folders, named by the Makefile, from files outside their folder",
		files: with(acme, flavor("templates/cluster-templates/hcloud"), flavor("templates/cluster-templates/bare-metal"), files{
			"templates/cluster-templates/bases/kustomization.yaml": "resources: [x.yaml]\n", "templates/cluster-templates/bases/x.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n",
			"Makefile": `KUSTOMIZE := $(abspath hack/tools/bin/kustomize)
RELEASE_DIR ?= out
generate: $(KUSTOMIZE)
	$(KUSTOMIZE) build templates/cluster-templates/hcloud --load-restrictor LoadRestrictionsNone > templates/cluster-templates/cluster-template.yaml
	$(KUSTOMIZE) build --load-restrictor=LoadRestrictionsNone templates/cluster-templates/bare-metal > templates/cluster-templates/cluster-template-metal.yaml
release: generate
	$(KUSTOMIZE) build config/default > $(RELEASE_DIR)/infrastructure-components.yaml
	cp templates/cluster-templates/cluster-template*.yaml $(RELEASE_DIR)/
	cp metadata.yaml $(RELEASE_DIR)/
`,
		}),
		want:    map[string]string{"infrastructure-acme v0.2.0": "cluster-template-metal.yaml cluster-template.yaml infrastructure-components.yaml"},
		decided: []string{`Makefile:7 builds infrastructure-components.yaml`, `Makefile:8 publishes cluster-template.yaml`},
		text:    []string{"loadRestrictor: none"},
	},
	{
		name:  "the same without a Makefile",
		files: with(acme, flavor("templates/cluster-templates/hcloud"), flavor("templates/cluster-templates/bare-metal")),
		want:  map[string]string{"infrastructure-acme v0.2.0": "cluster-template-bare-metal.yaml cluster-template-hcloud.yaml infrastructure-components.yaml"},
		text:  []string{"kustomize: templates/cluster-templates/*"},
	},
	{
		name:  "a template that no command reads, next to another file",
		files: with(acme, files{"docs/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n", "docs/example.yaml": cluster("x")}),
		want:  map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components.yaml"},
		left:  []string{`^docs/example.yaml is left out, because it is not in the place of a template; to release it, add to infrastructure-acme: templates: \[\{files: docs/example.yaml, flavor: default\}\]$`},
	},
	{
		name:  "kustomizations named like the files",
		files: with(acme, flavor("templates/cluster-template"), flavor("templates/cluster-template-vpc")),
		want:  map[string]string{"infrastructure-acme v0.2.0": "cluster-template-vpc.yaml cluster-template.yaml infrastructure-components.yaml"},
	},
	{
		name: "flavors, one of which does not build and one of which is a part",
		files: with(acme, flavor("templates/flavors/default"), flavor("templates/flavors/ha"), files{
			"templates/flavors/old/kustomization.yaml":  "resources: [gone.yaml]\n",
			"templates/flavors/base/kustomization.yaml": "resources: [x.yaml]\n", "templates/flavors/base/x.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n",
		}),
		want: map[string]string{"infrastructure-acme v0.2.0": "cluster-template-ha.yaml cluster-template.yaml infrastructure-components.yaml"},
		left: []string{`templates/flavors/old is left out, because it does not build: .*gone.yaml does not exist`, `templates/flavors/base is left out, because it contains neither a Cluster`},
	},
	{
		name: "a patch that only a recipe makes",
		files: with(acme, files{
			"config/default/kustomization.yaml": "namespace: acme-system\nresources: [../crd, ../manager]\npatches: [{path: manager_image_patch_edited.yaml}]\nlabels: [{pairs: {cluster.x-k8s.io/provider: infrastructure-acme}}]\n",
			"Makefile": `IMG ?= ghcr.io/acme/controller:dev
config/default/manager_image_patch_edited.yaml: config/default/manager_image_patch.yaml
	sed -e 's@image: .*@image: '"$(IMG)"'@' $< > $@
release: config/default/manager_image_patch_edited.yaml
	kustomize build config/default > out/infrastructure-components.yaml
`,
		}),
		want: map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components.yaml"},
		text: []string{"old: manager_image_patch_edited.yaml", "new: manager_image_patch.yaml"},
	},
	{
		name: "several providers, of which the root's metadata covers more",
		files: with(provider("bootstrap", "bootstrap-acme", bootstrap), provider("controlplane", "control-plane-acme", controlPlane),
			files{"metadata.yaml": series(1, 2, 3), "bootstrap/metadata.yaml": series(1), "Makefile": "all:\n\tcd bootstrap && make\n\tcd controlplane && make\n",
				"bootstrap/Makefile": "release:\n\tkustomize build config/default > ../out/bootstrap-components.yaml\n", "controlplane/Makefile": "release:\n\t$(KUSTOMIZE) build config/default | tee ../out/control-plane-components.yaml\n"}),
		want: map[string]string{"bootstrap-acme v0.3.0": "bootstrap-components.yaml", "control-plane-acme v0.3.0": "control-plane-components.yaml"},
		text: []string{"it lists the series of bootstrap/metadata.yaml, which is nearer, and newer ones"},
	},
	{
		name: "metadata of each provider, whose versions differ",
		files: with(provider("bootstrap", "bootstrap-acme", bootstrap), provider("controlplane", "control-plane-acme", controlPlane),
			files{"bootstrap/metadata.yaml": series(4), "controlplane/metadata.yaml": series(7)}),
		want: map[string]string{"bootstrap-acme v0.4.0": "bootstrap-components.yaml", "control-plane-acme v0.7.0": "control-plane-components.yaml"},
	},
	{
		name: "a variant that the Makefile builds",
		files: with(acme, files{
			"config/supervisor/kustomization.yaml": "namespace: acme-system\nresources: [../crd, ../manager]\nlabels: [{pairs: {cluster.x-k8s.io/provider: infrastructure-acme}}]\n",
			"Makefile":                             "MANIFESTS := out\n$(MANIFESTS)/infrastructure-components.yaml:\n\tkustomize build config/default > $@\n$(MANIFESTS)/infrastructure-components-supervisor.yaml:\n\tkustomize build config/supervisor > $@\n",
		}),
		want: map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components-supervisor.yaml infrastructure-components.yaml"},
	},
	{
		name:  "the same variant that nothing builds",
		files: with(acme, files{"config/supervisor/kustomization.yaml": "namespace: acme-system\nresources: [../crd, ../manager]\nlabels: [{pairs: {cluster.x-k8s.io/provider: infrastructure-acme}}]\n"}),
		want:  map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components.yaml"},
		left:  []string{`config/supervisor is left out, because config/default already builds infrastructure-acme; .*variants: \[\{path: config/supervisor, file: infrastructure-components-supervisor.yaml\}\]`},
	},
	{
		name:  "a second config/default that does not build",
		files: with(acme, files{"virtual/config/default/kustomization.yaml": "resources: [../crd, ../gone]\nlabels: [{pairs: {cluster.x-k8s.io/provider: infrastructure-virtual}}]\n", "virtual/config/crd/kustomization.yaml": "resources: [x.yaml]\n", "virtual/config/crd/x.yaml": acme["config/crd/"+infra+".yaml"]}),
		want:  map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components.yaml"},
		left:  []string{`infrastructure-virtual is left out, because virtual/config/default does not build`},
	},
	{
		name:    "two kustomizations of one provider",
		files:   with(acme, provider("deploy", "infrastructure-acme", infra)),
		want:    map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components.yaml"},
		decided: []string{`deploy/config/default builds the same provider and is not used`},
	},
	{
		name: "a shell loop over flavors",
		files: with(acme, flavor("flavors/one"), flavor("flavors/two"), files{"Makefile": `FLAVORS = one two
release: ; kustomize build config/default -o dist/infrastructure-components.yaml
templates:
	@for f in $(FLAVORS); do \
	  echo "building $$f"; \
	  kustomize build flavors/$$f --load-restrictor LoadRestrictionsNone > dist/cluster-template-$${f}.yaml; \
	done
`}),
		want: map[string]string{"infrastructure-acme v0.2.0": "cluster-template-one.yaml cluster-template-two.yaml infrastructure-components.yaml"},
		text: []string{"kustomize: flavors/*"},
	},
	{
		name: "a loop over what a command prints",
		files: with(acme, flavor("flavors/one"), files{"hack/templates.sh": `#!/bin/bash
set -o errexit
ROOT=$(cd "$(dirname "$0")/.." && pwd)
for d in "$ROOT"/flavors/*; do
  name=$(basename "$d")
  "$KUSTOMIZE" build --load-restrictor=LoadRestrictionsNone "$d" > "$ROOT/out/cluster-template-${name##*-}.yaml"
done
while read -r x; do kustomize build "$x" > "out/$x.yaml"; done < list
`}),
		want: map[string]string{"infrastructure-acme v0.2.0": "cluster-template-one.yaml infrastructure-components.yaml"},
		left: []string{`hack/templates.sh:8 builds something that was not recognized`},
	},
	{
		name: "a release workflow with renamed templates, envsubst and images",
		files: with(acme, files{
			"examples/clusterctl/cluster.yaml": cluster("x"), "examples/vars.rc": "A=1\n",
			".github/workflows/release.yml": `on: {push: {tags: ["v*"]}}
jobs:
  release:
    runs-on: ubuntu-latest
    steps:
    - uses: actions/checkout@v4
    - name: manifests
      run: |
        mkdir -p out
        (cd config/manager && kustomize edit set image controller=ghcr.io/acme/controller:${{ github.ref_name }})
        kustomize build config/default | envsubst > out/infrastructure-components.yaml
        cp metadata.yaml out/
        cp examples/clusterctl/cluster.yaml out/cluster-template.yaml
        cp examples/vars.rc out
`,
		}),
		want: map[string]string{"infrastructure-acme v0.2.0": "cluster-template.yaml infrastructure-components.yaml vars.rc"},
		left: []string{`release.yml:11 pipes infrastructure-components.yaml through envsubst`},
		text: []string{"newName: ghcr.io/acme/controller", "flavor: default"},
	},
	{
		name: "no goal is called release: one writes components into a release folder, whose files join",
		files: with(acme, files{"metadata.yaml": "", "infrastructure-acme/v0.0.0/metadata.yaml": series(1, 2), "infrastructure-acme/v0.0.0/cluster-template.yaml": cluster("x"),
			"config/default/manager_image_patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manager, namespace: system}\n" +
				"spec:\n  template:\n    spec:\n      containers:\n      - name: manager\n        image: example.com/acme:dev\n",
			"Makefile": `ARCH ?= amd64
KUSTOMIZE ?= go run sigs.k8s.io/kustomize/kustomize/v5@v5.3.0
ifeq (,$(DIGEST))
IMG := example.com/acme-manager
else
IMG := example.com/acme-manager@$(DIGEST)
endif
set-image:
	sed -i'' -e 's@image: .*@image: \"'"$(IMG):$(TAG)"'\"@' config/default/manager_image_patch.yaml
docker-build:
	$(MAKE) set-image IMG=$(IMG)-$(ARCH)
infra: docker-build
	$(MAKE) set-image
	printf '%s\n' '---' 'kind: Namespace' > infrastructure-acme/v0.0.0/infrastructure-components.yaml
	tmp="$$(mktemp -d)"; cp -R config "$$tmp/config"; cd "$$tmp/config/manager" && \
	$(KUSTOMIZE) build "$$tmp/config/default" >> "$(CURDIR)/infrastructure-acme/v0.0.0/infrastructure-components.yaml"
	$(KUSTOMIZE) build config/default > infrastructure-acme/v0.0.0/install.yaml
	$(MAKE) set-image TAG=dev
`}),
		want:    map[string]string{"infrastructure-acme v0.2.0": "cluster-template.yaml infrastructure-components.yaml install.yaml"},
		left:    []string{"^Makefile:14 writes a part of infrastructure-components.yaml with printf, but the build leaves that part out$"},
		decided: []string{"Makefile:14 builds infrastructure-components.yaml from config/default"},
		text:    []string{"  - name: example.com/acme\n    newName: example.com/acme-manager\n    newTag: '{version}'\n", "# the one that the recipes publish"},
	},
	{
		name: "sed puts the version in the place of a tag, in a file and in what is built",
		files: with(acme, files{
			"config/default/kustomization.yaml": acme["config/default/kustomization.yaml"] + "images:\n- {name: controller, newName: ghcr.io/acme/acme, newTag: IMAGE_TAG}\n",
			"Makefile":                          "release:\n\tkustomize build config/default > out/infrastructure-components.yaml\n\tsed -i 's/IMAGE_TAG/$(TAG)/g' out/infrastructure-components.yaml\n\tcp metadata.yaml out/\n",
		}),
		want: map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components.yaml"},
		text: []string{"- name: ghcr.io/acme/acme\n    newTag: '{version}'\n"},
	},
	{
		name:  "a template in a place of its own that no recipe names",
		files: with(acme, files{"examples/clusterctl-cluster.yaml": cluster("x")}),
		want:  map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components.yaml"},
		left:  []string{`templates: \[\{files: examples/clusterctl-cluster.yaml, flavor: default\}\]`},
	},
	{
		name: "components from the network beside the provider alone",
		files: with(acme, files{
			"config/default/kustomization.yaml": "resources: [../acme, https://github.com/example/operator/releases/download/v1/x.yaml]\n",
			"config/acme/kustomization.yaml":    acme["config/default/kustomization.yaml"], "config/acme/manager_image_patch.yaml": acme["config/default/manager_image_patch.yaml"],
			// Others of the same provider: one that is deeper, and one that comes later.
			"config/a/deep/kustomization.yaml": "resources: [../../acme]\n",
			"config/z/kustomization.yaml":      "resources: [../acme]\n",
		}),
		want:    map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components.yaml"},
		decided: []string{`config/default does not build, and config/acme builds the same provider`},
	},
	{
		name: "components from the network, which the recipe builds",
		files: with(acme, files{
			"Makefile":                             "release:\n\tsed -i 's@image: .*@image: ghcr.io/acme/acme:$(TAG)@' config/acme/manager_image_patch.yaml\n\tkustomize build config/default > out/infrastructure-components.yaml\n\tcp metadata.yaml out/metadata.yaml\n",
			"config/default/kustomization.yaml":    "resources: [../acme, https://github.com/example/operator/releases/download/v1/x.yaml]\n",
			"config/acme/kustomization.yaml":       acme["config/default/kustomization.yaml"],
			"config/acme/manager_image_patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manager, namespace: system}\nspec:\n  template:\n    spec:\n      containers:\n      - name: manager\n        image: controller:latest\n",
		}),
		left: []string{`not proven, because only a build with --allow remote`},
		text: []string{"remoteBases: true", "path: config/default", "newName: ghcr.io/acme/acme"},
	},
	{
		name: "no config/default: all in config",
		files: func() files {
			f := with(acme, files{"config/kustomization.yaml": "namespace: acme-system\nresources: [crd, manager]\n"})
			delete(f, "config/default/kustomization.yaml")
			return f
		}(),
		want:    map[string]string{"infrastructure-acme v0.2.0": "infrastructure-components.yaml"},
		decided: []string{`config holds its CRDs, controller and Namespace`},
	},
	{
		name: "finished manifests only",
		files: files{"metadata.yaml": series(2), "go.mod": acme["go.mod"], "deploy/infrastructure-components.yaml": acme["config/manager/manager.yaml"] + "---\n" + acme["config/crd/"+infra+".yaml"],
			"templates/cluster-template.yaml": cluster("x")},
		want: map[string]string{"infrastructure-acme v0.2.0": "cluster-template.yaml infrastructure-components.yaml"},
	},
	{
		name: "components from the network and nothing beside",
		files: with(acme, files{
			"config/default/kustomization.yaml": acme["config/default/kustomization.yaml"] + "configurations: []\n",
			"config/manager/kustomization.yaml": "resources: [manager.yaml, https://github.com/example/operator/releases/download/v1/x.yaml]\n",
		}),
		left: []string{`not proven, because only a build with --allow remote`},
		text: []string{"remoteBases: true"},
	},
	{
		name:    "no metadata",
		files:   with(acme, files{"metadata.yaml": ""}),
		problem: `no metadata.yaml|releaseSeries|series`,
	},
}

// write puts a tree on disk; empty files are left out.
func write(t *testing.T, tree files) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cluster-api-provider-acme")
	for name, text := range tree {
		if text == "" {
			continue
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		given.File(t, file, text)
	}
	return dir
}

func TestTreesBuildAfterInit(t *testing.T) {
	for _, tc := range trees {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, tc.files)
			p := given.Value(propose.Propose(context.Background(), dir, propose.Options{}))(t)
			if tc.problem != "" {
				if p.Problem == nil || !regexp.MustCompile(tc.problem).MatchString(p.Problem.Error()) {
					t.Fatalf("problem %v, want %s", p.Problem, tc.problem)
				}
				return
			}
			if p.Problem != nil {
				t.Fatalf("does not build: %v\n%s", p.Problem, p.Text)
			}
			got := map[string]string{}
			if tc.want != nil {
				got = built(t, dir, p)
			}
			for label, want := range tc.want {
				if got[label] != want {
					t.Errorf("%s: got %q, want %q", label, got[label], want)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("releases %v, want %v", got, tc.want)
			}
			lines(t, "left out", p.LeftOut, tc.left)
			lines(t, "decisions", p.Decisions, tc.decided)
			for _, want := range tc.text {
				if !strings.Contains(string(p.Text), want) {
					t.Errorf("the file lacks %q", want)
				}
			}
			if t.Failed() {
				t.Logf("left: %s\ndecided: %s\n%s", strings.Join(p.LeftOut, "\n"), strings.Join(p.Decisions, "\n"), p.Text)
			}
		})
	}
}

// built writes the file and builds the tree as build does.
func built(t *testing.T, dir string, p *propose.Proposal) map[string]string {
	t.Helper()
	given.NoError(t, os.WriteFile(filepath.Join(dir, config.FileName), p.Text, 0o644))
	tree := given.Value(transform.Open(dir, transform.Options{Version: p.Version}))(t)
	b, err := tree.Build(context.Background())
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Text)
	}
	out := map[string]string{}
	for _, r := range b.Releases {
		var names []string
		for _, a := range r.Artifacts {
			if a.Name != "metadata.yaml" && a.Name != "SHA256SUMS" {
				names = append(names, a.Name)
			}
		}
		slices.Sort(names)
		out[r.Provider.Label()+" "+r.Version] = strings.Join(names, " ")
	}
	return out
}

func lines(t *testing.T, what string, got, patterns []string) {
	t.Helper()
	for _, want := range patterns {
		re := regexp.MustCompile(want)
		if !slices.ContainsFunc(got, re.MatchString) {
			t.Errorf("%s: nothing matches %s in:\n%s", what, want, strings.Join(got, "\n"))
		}
	}
}

// The nearest metadata.yaml stays if it covers the version; one further above takes its
// place only if that covers more.
func TestCoveringMetadata(t *testing.T) {
	dir := write(t, with(provider("a", "infrastructure-acme", "infrastructure"), files{
		"go.mod": acme["go.mod"], "a/metadata.yaml": series(1, 3), "metadata.yaml": series(1, 2, 4)}))
	for version, above := range map[string]bool{"v0.1.0": false, "v0.2.0": true, "v0.3.0": false, "v0.5.0": true} {
		o := propose.Options{Version: given.Value(transform.ParseVersions(version))(t)}
		p := given.Value(propose.Propose(t.Context(), dir, o))(t)
		const want = "metadata.yaml lists series that a/metadata.yaml lacks"
		if got := strings.Contains(strings.Join(p.Decisions, "\n"), want); got != above {
			t.Errorf("%s: decided %q\n%s", version, p.Decisions, p.Text)
		}
	}
}

// Trees that hold no provider are refused with what was looked for.
func TestTreesWithoutProvider(t *testing.T) {
	for name, tree := range map[string]files{
		"a chart":   {"charts/acme/Chart.yaml": "name: acme\n", "charts/acme/templates/x.yaml": acme["config/crd/"+infra+".yaml"]},
		"CRDs only": {"config/crd/kustomization.yaml": acme["config/crd/kustomization.yaml"], "config/crd/" + infra + ".yaml": acme["config/crd/"+infra+".yaml"], "metadata.yaml": series(1)},
		"nothing":   {"README.md": "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := propose.Propose(context.Background(), write(t, tree), propose.Options{})
			if err == nil || !strings.Contains(err.Error(), "no provider found") {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// Real trees build after init. $UNSEEN names folders of further trees, separated
// as in $PATH; `make unseen` fetches some as Go modules.
func TestRealTreesBuildAfterInit(t *testing.T) {
	share.SkipInRace(t)
	dirs := filepath.SplitList(os.Getenv("UNSEEN"))
	if sources, missing := share.FindCorpus("sources"); missing == "" {
		dirs = append(dirs, given.Value(filepath.Glob(filepath.Join(sources, "*")))(t)...)
	} else if len(dirs) == 0 {
		share.Corpus(t, "sources") // skips the test
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			copied := filepath.Join(t.TempDir(), regexp.MustCompile(`@.*`).ReplaceAllString(filepath.Base(dir), ""))
			given.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
			os.Remove(filepath.Join(copied, config.FileName))
			p := given.Value(propose.Propose(context.Background(), copied, propose.Options{}))(t)
			if p.Problem != nil {
				t.Fatal(p.Problem)
			}
			for _, r := range p.Releases {
				t.Logf("%s %s: %d files", r.Provider.Label(), r.Version, len(r.Artifacts))
			}
		})
	}
}
