package likeness

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// tree are the files of a source tree, by name.
type tree = map[string]string

const (
	series  = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 0, minor: 2, contract: v1beta2}\n"
	cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: ${CLUSTER_NAME}\n"
)

// installed are the components of a provider as kustomize writes them.
func installed(label, group, image, arg string) string {
	head := func(apiVersion, kind, name string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  labels:\n    cluster.x-k8s.io/provider: " + label + "\n  name: " + name + "\n"
	}
	return head("v1", "Namespace", "acme-system") + "---\n" +
		head("apiextensions.k8s.io/v1", "CustomResourceDefinition", "acmes."+group) +
		"spec:\n  group: " + group + "\n  names:\n    kind: Acme\n    plural: acmes\n  scope: Namespaced\n---\n" +
		head("apps/v1", "Deployment", "acme") + "  namespace: acme-system\n" +
		"spec:\n  selector:\n    matchLabels:\n      app: acme\n  template:\n    metadata:\n      labels:\n        app: acme\n    spec:\n" +
		"      containers:\n      - args:\n        - " + arg + "\n        image: " + image + "\n        name: manager\n"
}

const (
	label = "infrastructure-acme"
	group = "infrastructure.cluster.x-k8s.io"
)

var acme = tree{
	"go.mod":                            "module example.com/cluster-api-provider-acme\n",
	"metadata.yaml":                     series,
	"config/default/kustomization.yaml": "resources: [all.yaml]\n",
	"config/default/all.yaml":           installed(label, group, "controller:latest", "--v=2"),
}

func with(trees ...tree) tree {
	out := tree{}
	for _, t := range trees {
		maps.Copy(out, t)
	}
	return out
}

// release is v0.2.0 of acme, with these files besides components and metadata.
func release(more tree) tree {
	return with(tree{"infrastructure-components.yaml": installed(label, group, "controller:latest", "--v=2"), "metadata.yaml": series}, more)
}

func releaseOf(p layouts.Provider, files tree) *repo.Release {
	r := &repo.Release{Provider: p, Version: "v0.2.0"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(name, []byte(files[name])))
	}
	return r
}

// TestLike makes the files of releases again, and names those that the tree does not
// make.
func TestLike(t *testing.T) {
	flavor := func(name string) string { return strings.Replace(cluster, "${CLUSTER_NAME}", name, 1) }
	for name, tt := range map[string]struct {
		tree, release tree
		text          []string // in the configuration
		unexplained   []string // beginnings
		same, objects int
	}{
		"conventions": {
			tree: with(acme, tree{"templates/cluster-template.yaml": cluster, "templates/cluster-template-ha.yaml": flavor("ha")}), release: release(tree{"cluster-template.yaml": cluster, "cluster-template-ha.yaml": flavor("ha")}),
			text: []string{"metadata: metadata.yaml\n", "path: config/default\n", "- files: templates/cluster-template*.yaml\n"}, same: 4,
		},
		"what is not released": {
			tree: with(acme, tree{"templates/cluster-template.yaml": cluster, "templates/cluster-template-ha.yaml": flavor("ha"), "LICENSE": "x"}), release: release(tree{"cluster-template.yaml": cluster}),
			text: []string{"- files: templates/cluster-template.yaml\n", "clusterClasses: []\n"}, same: 3,
		},
		"other places and names": {
			tree: with(acme, tree{"examples/a.yaml": cluster, "examples/b.rc": "B=1\n"}), release: release(tree{"cluster-template-x.yaml": cluster, "vars.rc": "B=1\n"}),
			text: []string{"- files: examples/a.yaml\n    flavor: x\n", "- files: examples/b.rc\n    name: vars.rc\n"}, same: 4,
		},
		"flavors in folders": {
			tree: with(acme, tree{
				"flavors/default/kustomization.yaml": "resources: [../../shared/c.yaml]\n", "shared/c.yaml": cluster,
				"flavors/ha/kustomization.yaml": "resources: [../../shared/c.yaml]\nnamePrefix: ha-\n", "flavors/base/kustomization.yaml": "resources: []\n",
				"classes/one/kustomization.yaml": "resources: [c.yaml]\nnamePrefix: a-\n", "classes/one/c.yaml": flavor("one"),
			}),
			release: release(tree{"cluster-template.yaml": cluster, "cluster-template-ha.yaml": flavor("ha-${CLUSTER_NAME}"), "clusterclass-two.yaml": flavor("a-one")}),
			text:    []string{"- kustomize: flavors/*\n    exclude:\n    - flavors/base\n    loadRestrictor: none\n", "- kustomize: classes/one\n    class: two\n"}, same: 5,
		},
		"images": {
			tree:    with(acme, tree{"config/default/all.yaml": strings.Replace(acme["config/default/all.yaml"], "name: manager\n", "name: manager\n        imagePullPolicy: Always\n        env: [{name: SELF, value: 'controller:latest'}]\n", 1)}),
			release: tree{"metadata.yaml": series, "infrastructure-components.yaml": strings.Replace(installed(label, group, "ghcr.io/acme/acme:v0.2.0", "--v=2"), "        image: ghcr.io/acme/acme:v0.2.0\n", "        env:\n        - name: SELF\n          value: ghcr.io/acme/acme:v0.2.0\n        image: ghcr.io/acme/acme:v0.2.0\n        imagePullPolicy: IfNotPresent\n", 1)},
			text:    []string{"- name: controller\n    newName: ghcr.io/acme/acme\n    newTag: '{version}'\n    pullPolicy: IfNotPresent\n"}, same: 2,
		},
		"the tag of a manager that the tree has already": {
			tree: with(acme, tree{"config/default/all.yaml": installed(label, group, "acme:0.2.0", "--v=2")}), release: tree{"metadata.yaml": series, "infrastructure-components.yaml": installed(label, group, "acme:0.2.0", "--v=2")},
			text: []string{"- name: acme\n    newTag: '{number}'\n"}, same: 2,
		},
		"texts in the place of others": {
			tree:    with(acme, tree{"config/default/all.yaml": installed(label, group, "controller:latest", "--agent=acme/agent:AGENT_TAG"), "templates/cluster-template.yaml": cluster + "spec: {at: '${CERTS}/ca.crt'}\n", "install.sh": "get latest\n"}),
			release: tree{"metadata.yaml": series, "infrastructure-components.yaml": installed(label, group, "controller:latest", "--agent=acme/agent:v0.2.0"), "cluster-template.yaml": cluster + "spec: {at: '/etc/pki/ca.crt'}\n", "install.sh": "get v0.2.0\n"},
			text:    []string{"old: AGENT_TAG\n    new: '{version}'\n", "old: ${CERTS}\n    new: /etc/pki\n", "old: latest\n    new: '{version}'\n"}, same: 4,
		},
		"the same text in several files": {
			tree:    with(acme, tree{"a/cluster-template-k3s-a.yaml": cluster + "spec: {at: '${CERTS}/ca.crt'}\n", "a/cluster-template-k3s-b.yaml": cluster + "spec: {in: '${CERTS}'}\n", "a/cluster-template-rke2.yaml": cluster + "spec: {on: '${CERTS}'}\n"}),
			release: release(tree{"cluster-template-k3s-a.yaml": cluster + "spec: {at: '/k3s/ca.crt'}\n", "cluster-template-k3s-b.yaml": cluster + "spec: {in: '/k3s'}\n", "cluster-template-rke2.yaml": cluster + "spec: {on: '/rke2'}\n"}),
			text:    []string{"- files: cluster-template-k3s-*.yaml\n    old: ${CERTS}\n    new: /k3s\n", "- files: cluster-template-rke2.yaml\n    old: ${CERTS}\n    new: /rke2\n"}, same: 5,
		},
		"files of line ends, and text that is not UTF-8": {
			tree:    with(acme, tree{"config/blank.yaml": "\n", "docs/a.yaml": "caf\xe9-1\n"}),
			release: release(tree{"a.yaml": "caf\xe9-2\n"}), same: 2, unexplained: []string{"a.yaml: docs/a.yaml has that name, but differs at line 1"},
		},
		"files in a row": {
			tree: with(acme, tree{"extra/a.yaml": flavor("a")}), release: release(tree{"all.yaml": installed(label, group, "controller:latest", "--v=2") + "---\n" + flavor("a")}),
			text: []string{"- output: infrastructure-acme/infrastructure-components.yaml\n    - file: extra/a.yaml\n    name: all.yaml\n"}, same: 3,
		},
		"an edited copy of a patch": {
			tree: with(acme, tree{
				"config/default/kustomization.yaml": "resources: [all.yaml]\npatches: [{path: image_edited.yaml}]\n",
				"config/default/image.yaml":         "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: acme, namespace: acme-system}\nspec: {template: {spec: {containers: [{name: manager, image: 'acme:dev'}]}}}\n",
			}),
			release: tree{"metadata.yaml": series, "infrastructure-components.yaml": installed(label, group, "acme:v0.2.0", "--v=2")},
			text:    []string{"old: image_edited.yaml\n    new: image.yaml\n", "- name: acme\n    newTag: '{version}'\n"}, same: 2,
		},
		"another folder than the place of the convention": {
			tree:    with(acme, tree{"config/default/kustomization.yaml": "resources: [all.yaml, https://example.com/more.yaml]\n", "config/acme/kustomization.yaml": "resources: [../default/all.yaml]\n"}),
			release: release(nil), text: []string{"path: config/acme\n    loadRestrictor: none\n"}, same: 2,
		},
		"a label that only the build sets": {
			tree: with(acme, tree{"config/default/all.yaml": installed("acme", group, "controller:latest", "--v=2")}), release: tree{"metadata.yaml": series, "infrastructure-components.yaml": installed("acme", group, "controller:latest", "--v=2")},
			same: 1, objects: 1,
		},
		"another beginning": {
			tree: acme, release: tree{"metadata.yaml": series, "infrastructure-components.yaml": "---\n" + release(nil)["infrastructure-components.yaml"]}, same: 1, objects: 1,
		},
		"a program": {
			tree: acme, release: release(tree{"program": strings.Repeat("x", maxAsset+1)}),
			same: 2, unexplained: []string{"program: it is not looked for, because it has 8388609 bytes"},
		},
		"what differs": {
			tree: with(acme, tree{"metadata.yaml": series + "- {major: 0, minor: 3, contract: v1beta2}\n", "templates/cluster-template.yaml": cluster + "spec: {replicas: 1}\n"}),
			release: tree{"metadata.yaml": series, "infrastructure-components.yaml": installed(label, group, "controller:latest", "--v=3"), "cluster-template.yaml": cluster + "spec: {replicas: 3}\n",
				"made.txt": "by a program\n", "clusterclass-x.yaml": "kind: ClusterClass\n"},
			text: []string{"path: config/default\n", "templates: []\n", "# - not explained: made.txt: no file of the tree has its content"},
			unexplained: []string{
				"cluster-template.yaml: templates/cluster-template.yaml has that name, but differs at line 5",
				"clusterclass-x.yaml: no file of the tree has its content, and no kustomization builds its objects",
				`infrastructure-components.yaml is built with other objects: Deployment acme-system/acme differs at spec.template.spec.containers[0].args[0]: "--v=2", released as "--v=3"`,
				"made.txt: no file", "metadata.yaml is built with other objects",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			given.Files(t, dir, tt.tree)
			p := given.Value(Like(t.Context(), dir, Releases{Each: []*repo.Release{releaseOf(layouts.Provider{Type: layouts.Infrastructure, Name: "acme"}, tt.release)}}, Options{}))(t)
			if p.Problem != nil || p.Counts.Same != tt.same || p.Counts.Objects != tt.objects || p.Counts.All != len(tt.release) || len(p.Counts.Unexplained) != len(tt.unexplained) ||
				strings.Contains(p.Counts.Summary("v0.2.0"), "another provider label") != strings.Contains(name, "label") {
				t.Errorf("%v\n%s\n%s", p.Problem, p.Counts.Summary("v0.2.0"), p.Text)
			}
			text := strings.ReplaceAll(string(p.Text), "\n# ", " ")
			for _, want := range tt.text {
				if !strings.Contains(string(p.Text), want) && !strings.Contains(text, strings.TrimPrefix(want, "# ")) {
					t.Errorf("no %q in\n%s", want, p.Text)
				}
			}
			for i, want := range tt.unexplained {
				if i < len(p.Counts.Unexplained) && !strings.HasPrefix(p.Counts.Unexplained[i], want) {
					t.Errorf("%s\nwant %s", p.Counts.Unexplained[i], want)
				}
			}
			for _, r := range p.Releases {
				for _, a := range r.Artifacts {
					if _, ok := tt.release[a.Name]; !ok && a.Name != layouts.ChecksumFile {
						t.Errorf("%s was not published", a.Name)
					}
				}
			}
		})
	}
}

// TestLikeOfSeveral: providers of one place share their files; one whose objects do not
// name it has the name that the tree tells.
func TestLikeOfSeveral(t *testing.T) {
	const bootstrap = "bootstrap.cluster.x-k8s.io"
	files := tree{
		"go.mod": acme["go.mod"], "metadata.yaml": series, "config/default/kustomization.yaml": "resources: [all.yaml]\n", "LICENSE": "free\n",
		"config/default/all.yaml": strings.ReplaceAll(acme["config/default/all.yaml"], label, "other"), "bootstrap/config/default/kustomization.yaml": "resources: [all.yaml]\n",
		"bootstrap/config/default/all.yaml":      installed("bootstrap-acme", bootstrap, "controller:latest", "--v=2"),
		"more/config/default/kustomization.yaml": "resources: [all.yaml]\n", "more/config/default/all.yaml": installed("ipam-acme", "ipam.cluster.x-k8s.io", "x", "y"),
	}
	dir := t.TempDir()
	given.Files(t, dir, files)
	shared := tree{"metadata.yaml": series, "LICENSE": "free\n"}
	r := Releases{Shared: true, Each: []*repo.Release{
		releaseOf(layouts.Provider{Type: layouts.Bootstrap, Name: "acme"}, with(shared, tree{"bootstrap-components.yaml": files["bootstrap/config/default/all.yaml"]})),
		releaseOf(layouts.Provider{Type: layouts.Infrastructure}, with(shared, tree{"infrastructure-components.yaml": files["config/default/all.yaml"]})),
	}}
	p := given.Value(Like(t.Context(), dir, r, Options{}))(t)
	var got []string
	for _, c := range p.Config.Providers {
		got = append(got, fmt.Sprint(c.Label(), " ", c.Components.Path, " ", len(c.Assets)))
	}
	if want := "bootstrap-acme bootstrap/config/default 0, infrastructure-other config/default 1"; strings.Join(got, ", ") != want || p.Counts.All != 4 || p.Counts.Same != 3 || p.Counts.Objects != 1 {
		t.Errorf("%s\n%s", got, p.Counts.Summary("v0.2.0"))
	}
	// What is said stays.
	given := &config.Config{Providers: []config.Provider{{Type: "bootstrap", Name: "acme", Assets: []config.Asset{{Files: "LICENSE"}}}}}
	if p, err := Like(t.Context(), dir, r, Options{Given: given}); err != nil || len(p.Config.Providers[0].Assets) != 1 {
		t.Error(p, err)
	}
	r.Each = []*repo.Release{releaseOf(layouts.Provider{Type: layouts.Addon, Name: "x"}, tree{"addon-components.yaml": "kind: Other\n"})}
	if _, err := Like(t.Context(), dir, r, Options{}); err == nil || !strings.Contains(err.Error(), "nothing in the tree makes the components") {
		t.Error(err)
	}
}

// TestLikeOfATag looks at the tree of the tag, and at the working tree if that explains
// more. The folder of the release is not taken for its source.
func TestLikeOfATag(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	given.Files(t, dir, with(acme, tree{"templates/cluster-template.yaml": cluster}))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}, {"tag", "v0.2.0"}} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", args, out)
		}
	}
	given.Files(t, dir, tree{"new.txt": "new\n", "released/made.txt": "made\n"})
	// What was made before, and is not in git, is not its own source.
	given.Files(t, dir, tree{"flavors/ha/kustomization.yaml": "resources: [c.yaml]\n", "flavors/ha/c.yaml": "# ha\n" + cluster, "made/cluster-template-ha.yaml": cluster})
	given.NoError(t, os.Remove(filepath.Join(dir, "templates", "cluster-template.yaml")))
	for want, more := range map[string]tree{
		"3 of 3 files of v0.2.0 rebuilt byte for byte from the tree of v0.2.0": {"cluster-template.yaml": cluster},
		"4 of 4 files of v0.2.0 rebuilt byte for byte from the working tree":   {"new.txt": "new\n", "cluster-template-ha.yaml": cluster},
		"2 of 3 files of v0.2.0 rebuilt byte for byte from the tree of v0.2.0, 1 not explained:\n  made.txt: no file of the tree has its content, and no kustomization builds its objects": {"made.txt": "made\n"},
	} {
		r := Releases{Folder: "released", Each: []*repo.Release{releaseOf(layouts.Provider{Type: layouts.Infrastructure, Name: "acme"}, release(more))}}
		p := given.Value(Like(t.Context(), dir, r, Options{Temp: t.TempDir()}))(t)
		if got := p.Counts.Summary("v0.2.0"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if built := strings.Contains(string(p.Text), "kustomize: flavors/"); built != (more["new.txt"] != "") {
			t.Errorf("%s:\n%s", want, p.Text)
		}
		if changed := strings.Contains(strings.Join(p.Said, ""), "the working tree has changed since: infrastructure-acme: no file in the tree matches"); changed != (more["cluster-template.yaml"] != "") {
			t.Errorf("%s: said %q", want, p.Said)
		}
	}
}

func TestConventions(t *testing.T) {
	for name, tt := range map[string]struct {
		tree                 tree
		said, problem, wrong string
	}{
		"good":    {tree: acme},
		"network": {tree: with(acme, tree{"config/default/kustomization.yaml": "resources: [all.yaml, https://example.com/more.yaml]\n"}), said: "the result is not proven"},
		"no build": {tree: with(acme, tree{"config/default/kustomization.yaml": "resources: [../crd, all.yaml]\n", "config/crd/kustomization.yaml": "resources:\n- bases/x.yaml\n", "config/supervisor/kustomization.yaml": "resources: [../default/all.yaml]\n"}),
			problem: "config/crd/kustomization.yaml:2:3: bases/x.yaml does not exist; controller-gen writes CRDs there: run the generator first"},
		"nothing": {tree: tree{"x": ""}, wrong: "no provider found"},
	} {
		dir := t.TempDir()
		given.Files(t, dir, tt.tree)
		p, err := Conventions(t.Context(), dir, Options{Version: transform.Versions{All: "v0.2.0"}})
		switch {
		case tt.wrong != "":
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || !strings.Contains(strings.Join(p.Said, "\n"), tt.said) || (p.Problem != nil) != (tt.problem != "") ||
			p.Problem != nil && !strings.Contains(p.Problem.Error(), tt.problem):
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

func TestWords(t *testing.T) {
	v := version{given.Value(layouts.ParseVersion("v1.2.3"))(t)}
	for _, tt := range []struct {
		built, want string
		found       string // OLD→NEW; "none" if it is no replacement
	}{
		{"a: latest", "a: v1.2.3", "latest→{version}"},
		{"a: x:TAG_NAME b", "a: x:1.2.3 b", "TAG_NAME→{number}"},
		{"p=${A}/${B}", "p=x/y", "${A}→x ${B}→y"},
		{"p=${A}/${A}", "p=/x//y", "none"},
		{"a: 1", "a: 2", "none"},
		{"a: 1", "a: 1 v1.2.3", "none"},
		{"a: ${A}", "a: {x}", "none"},
		{"a", "a\nb", "none"},
	} {
		found := []string{}
		l, ok := v.literals(tt.built, tt.want)
		for _, l := range l {
			found = append(found, l.old+"→"+l.new)
		}
		got := strings.Join(found, " ")
		if !ok {
			got = "none"
		}
		if got != tt.found {
			t.Errorf("%q, %q: %s, want %s", tt.built, tt.want, got, tt.found)
		}
	}
}
