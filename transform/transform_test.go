package transform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// The small source tree that the tests below change in one place each.
const tree = `
-- config/default/kustomization.yaml --
namespace: capf-system
namePrefix: capf-
resources:
- ../manager
- ../crd
-- config/manager/kustomization.yaml --
resources:
- manager.yaml
-- config/manager/manager.yaml --
apiVersion: v1
kind: Namespace
metadata:
  name: system
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller-manager
  namespace: system
  labels:
    app: foo
spec:
  template:
    spec:
      initContainers:
      - name: prepare
        image: controller:latest
      containers:
      - name: manager
        image: controller:latest
        env:
        - name: SELF
          value: none
      - name: proxy
        image: registry.example.com:5000/proxy:v1
-- config/crd/kustomization.yaml --
resources:
- crd.yaml
-- config/crd/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: fooclusters.infrastructure.cluster.x-k8s.io
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names:
    kind: FooCluster
-- metadata.yaml --
# the series
apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
- major: 1
  minor: 0
  contract: v1beta1 # old
- major: 1
  minor: 1
  contract: v1beta2
# the end
-- templates/cluster-template.yaml --
kind: Cluster
metadata:
  name: ${CLUSTER_NAME}
-- clusterctl-repo.yaml --
apiVersion: clusterctl-repo.dev/v1alpha1
kind: Config
providers:
- type: infrastructure
  name: foo
  components:
    path: config/default
`

// write puts an archive into a folder.
func write(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		given.File(t, name, string(f.Data))
	}
	return dir
}

// edit replaces one text in the tree; a text that is not there fails the test.
func edit(t *testing.T, archive string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(archive, pairs[i]) {
			t.Fatalf("the tree does not contain %q", pairs[i])
		}
		archive = strings.Replace(archive, pairs[i], pairs[i+1], 1)
	}
	return archive
}

func buildTree(t *testing.T, archive, version string, opts Options) ([]*repo.Release, error) {
	t.Helper()
	b, err := buildWhole(t, archive, version, opts)
	if err != nil {
		return nil, err
	}
	return b.Releases, nil
}

func buildWhole(t *testing.T, archive, version string, opts Options) (*Build, error) {
	t.Helper()
	opts.Version = given.Value(ParseVersions(version))(t)
	source := given.Value(Open(write(t, archive), opts))(t)
	return source.Build(context.Background())
}

func content(t *testing.T, releases []*repo.Release, name string) string {
	t.Helper()
	var a *repo.Artifact
	for _, r := range releases {
		if found := r.Artifact(name); found != nil {
			a = found
		}
	}
	if a == nil {
		t.Fatalf("%s was not built", name)
	}
	return string(given.Value(a.Bytes())(t))
}

func TestBuildLabelsEveryObject(t *testing.T) {
	releases := given.Value(buildTree(t, tree, "v1.1.0", Options{}))(t)
	s := yamldoc.Parse(yamldoc.NewFile("c", []byte(content(t, releases, "infrastructure-components.yaml"))))
	if len(s.Docs) != 3 {
		t.Fatalf("%d objects", len(s.Docs))
	}
	for _, d := range s.Docs {
		if got := d.Root.Get("metadata", "labels", layouts.ProviderLabel).Str(); got != "infrastructure-foo" {
			t.Errorf("%s: label %q", d.Root.Get("kind").Str(), got)
		}
	}
	if got := content(t, releases, "cluster-template.yaml"); got != "kind: Cluster\nmetadata:\n  name: ${CLUSTER_NAME}\n" {
		t.Errorf("template changed: %q", got)
	}
	given.NoError(t, repo.VerifyChecksums(context.Background(), releases[0]))
}

// TestUnsetImages: only the provider's own controllers are judged.
func TestUnsetImages(t *testing.T) {
	const agent = "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, namespace: system}\nspec: {template: {spec: {containers: [{name: agent, image: 'other/agent:v3'}]}}}\n"
	other := strings.Replace(strings.Replace(agent, "DaemonSet", "Deployment", 1), "name: agent,", "name: other,", 1)
	const end = "        image: registry.example.com:5000/proxy:v1\n"
	unnamed := strings.Replace(strings.Replace(tree, "name: manager", "name: operator", 1), "5000/proxy:v1", "5000/kube-rbac-proxy:v1", 1)
	for name, tt := range map[string]struct{ tree, want string }{
		"the manager":         {strings.Replace(tree, end, end+agent+other, 1), "controller:latest"},
		"a single Deployment": {unnamed, "controller:latest"},
		"no manager":          {strings.Replace(unnamed, "kube-rbac-proxy:v1\n", "kube-rbac-proxy:v1\n"+other, 1), ""},
		"the version":         {strings.Replace(tree, "name: manager\n        image: controller:latest", "name: manager\n        image: controller:v1.1.0", 1), ""},
	} {
		b := given.Value(buildWhole(t, tt.tree, "v1.1.0", Options{}))(t)
		var got []string
		for _, u := range b.UnsetImages {
			got = append(got, u.Image)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
}

func TestBuildAsIsAddsNothing(t *testing.T) {
	releases, err := buildTree(t, edit(t, tree, "namespace: capf-system\n", "", "name: system\n---", "name: system\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: other\n---"), "v1.1.0", Options{AsIs: true})
	given.NoError(t, err)
	if got := content(t, releases, "infrastructure-components.yaml"); strings.Contains(got, layouts.ProviderLabel) {
		t.Error("--as-is put a label on objects")
	}
}

// TestVersionWithoutV: with stripPrefix v, versions have no v.
func TestVersionWithoutV(t *testing.T) {
	for strip, want := range map[string]string{"v": "0.2.0", "": "v0.2.0"} {
		c := &config.Config{Version: config.Version{StripPrefix: strip}}
		if v, err := release(c, "v0.2.0"); err != nil || v.String() != want {
			t.Errorf("%q: %v, %v", strip, v, err)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		edits   []string
		version string
		opts    Options
		want    []string // each in the message
	}{
		"two namespaces": {
			edits: []string{"namespace: capf-system\n", "", "name: system\n---", "name: system\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: other\n---"},
			want:  []string{"config/manager/manager.yaml:4:9: Namespace system: ", "second Namespace besides other"},
		},
		"no namespace": {
			edits: []string{"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: system\n---\n", ""},
			want:  []string{"config/default: ", "missing Namespace"},
		},
		"object in another namespace": {
			edits: []string{"namespace: capf-system\n", "", "  namespace: system\n", "  namespace: kube-system\n"},
			want:  []string{"config/manager/manager.yaml:9:9: Deployment kube-system/capf-controller-manager: ", "its namespace, system"},
		},
		"object without namespace": {
			edits: []string{"namespace: capf-system\n", "", "  namespace: system\n", ""},
			want:  []string{"has no namespace"},
		},
		"label that is no string": {
			edits: []string{"app: foo", "app: 1"},
			want:  []string{"label app is not a string"},
		},
		"version without series": {
			version: "v1.2.0",
			want:    []string{"metadata.yaml:5:1: version v1.2.0 belongs to series 1.2, but metadata lists only 1.0, 1.1", "--add-series"},
		},
		"empty series": {
			edits: []string{"releaseSeries:", "releaseSeries: []\nx:"},
			want:  []string{"metadata.yaml:4:16: releaseSeries is missing or empty"},
		},
		"remote base that the configuration does not permit": {
			edits: []string{"- ../crd\n", "- github.com/acme/base\n"},
			opts:  Options{AllowRemote: true},
			want:  []string{"loaded from the network"},
		},
		"image of the command line that is nowhere": {
			opts: Options{Images: []Image{{Image: config.Image{Name: "nope", NewTag: "v1"}}}},
			want: []string{"no container has the image nope", "controller, registry.example.com:5000/proxy; name one of them, such as --image controller=controller:v1"},
		},
		"image of the command line that is nowhere, beside one": {
			edits: []string{"registry.example.com:5000/proxy:v1", "controller:latest"},
			opts:  Options{Images: []Image{{Image: config.Image{Name: "nope", NewTag: "v1"}}}},
			want:  []string{"the components have: controller; name one of them, such as --image controller=controller:v1"},
		},
		"image of the configuration that is nowhere": {
			edits: []string{"    path: config/default\n", "    path: config/default\n  images:\n  - name: nope\n    newTag: v1\n"},
			want:  []string{"clusterctl-repo.yaml:9:11: ", "has the image nope"},
		},
		"replacement that finds nothing": {
			edits: []string{"    path: config/default\n", "    path: config/default\n  replacements:\n  - files: cluster-template*.yaml\n    old: NOPE\n    new: x\n"},
			want:  []string{"clusterctl-repo.yaml:10:10: ", "contains \"NOPE\""},
		},
		"source replacement that finds nothing": {
			edits: []string{"    path: config/default\n", "    path: config/default\n  sourceReplacements:\n  - {file: metadata.yaml, old: NOPE, new: x}\n"},
			want:  []string{"clusterctl-repo.yaml:9:32: ", "metadata.yaml does not contain the string to replace, \"NOPE\""},
		},
		"source replacement that an earlier one undoes": {
			edits: []string{"    path: config/default\n", "    path: config/default\n  sourceReplacements:\n  - {file: metadata.yaml, old: '# old', new: x}\n  - {file: metadata.yaml, old: '# old', new: z}\n"},
			want:  []string{"clusterctl-repo.yaml:10:32: ", "metadata.yaml does not contain \"# old\""},
		},
		"source replacement in no file": {
			edits: []string{"    path: config/default\n", "    path: config/default\n  sourceReplacements:\n  - {file: none.yaml, old: x, new: z}\n"},
			want:  []string{"clusterctl-repo.yaml:9:12: ", "none.yaml"},
		},
		"base of two outputs that is broken": {
			edits: []string{"name: fooclusters.", "name: [fooclusters.", "    path: config/default\n", "    path: config/default\n  templates: [{flavor: b, kustomize: config/crd}, {flavor: c, kustomize: config/crd}]\n"},
			want:  []string{"config/crd/crd.yaml:5:5: "},
		},
		"patch that matches nothing": {
			edits: []string{"    path: config/default\n", "    path: config/default\n  patches:\n  - patch: |\n      apiVersion: apps/v1\n      kind: Deployment\n      metadata:\n        name: nope\n"},
			want:  []string{"clusterctl-repo.yaml:9:12: infrastructure-foo: "},
		},
		"patch target that matches nothing": {
			edits: []string{"    path: config/default\n", "    path: config/default\n  patches:\n  - target: {kind: Deployment, name: nope|manager}\n    patch: |\n      - {op: add, path: /metadata/labels/x, value: y}\n"},
			want:  []string{"clusterctl-repo.yaml:9:13: ", "the target matches no object"},
		},
		"place that no components have": {
			edits: []string{"    path: config/default\n", "    path: config/default\n  images:\n  - name: controller\n    newTag: v1\n    places:\n    - {kind: Deployment, env: NOPE}\n"},
			want:  []string{"clusterctl-repo.yaml:12:7: ", "the built components have no Deployment with the environment variable NOPE"},
		},
		"label value that Kubernetes refuses": {
			edits: []string{"    app: foo\n", "    app: \"a b(c)\"\n"},
			want:  []string{"config/manager/manager.yaml:", "label app", "a b(c)"},
		},
		"label key that Kubernetes refuses": {
			edits: []string{"    app: foo\n", "    \"a b\": foo\n"},
			want:  []string{"config/manager/manager.yaml:", `"a b"`},
		},
		"label that kustomize makes": {
			edits: []string{"namePrefix: capf-\n", "namePrefix: capf-\nbuildMetadata: [managedByLabel]\n"},
			want:  []string{"app.kubernetes.io/managed-by", "buildMetadata"},
		},
		"command that is not allowed": {
			edits: []string{"    path: config/default\n", "    path: config/default\n  assets:\n  - run: [echo, hello]\n    name: hello.txt\n"},
			want:  []string{"clusterctl-repo.yaml:9:10: ", "--allow exec"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.version == "" {
				tc.version = "v1.1.0"
			}
			releases, err := buildTree(t, edit(t, tree, tc.edits...), tc.version, tc.opts)
			if err == nil {
				t.Fatal("it was built")
			}
			if releases != nil {
				t.Error("there is a partial result")
			}
			lines := slices.Sorted(strings.Lines(err.Error() + "\n"))
			if once := slices.Compact(slices.Clone(lines)); len(once) < len(lines) {
				t.Errorf("the message repeats a line:\n%v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestImages(t *testing.T) {
	configured := edit(t, tree, "    path: config/default\n", `    path: config/default
  images:
  - name: controller
    newName: ghcr.io/acme/foo
    newTag: "{version}"
    pullPolicy: IfNotPresent
    places:
    - {kind: Deployment, env: SELF}
    - {kind: ConfigMap, key: image}
    - {kind: Secret, key: image}
`, "  name: system\n---\n", "  name: system\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: system}, data: {image: none, other: none}}\n---\n"+
		"{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: system}, data: {image: bm9uZQ==}}\n---\n"+
		"{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: system}, stringData: {image: none}}\n---\n")
	releases, err := buildTree(t, configured, "v1.1.0", Options{Images: []Image{{Image: config.Image{Name: "registry.example.com:5000/proxy", Digest: "sha256:" + strings.Repeat("0", 64)}}}})
	given.NoError(t, err)
	got := content(t, releases, "infrastructure-components.yaml")
	_, err = buildTree(t, configured, "v1.1.0", Options{Bare: true}) // as the sources are, without images
	given.NoError(t, err)
	for text, n := range map[string]int{
		"image: ghcr.io/acme/foo:v1.1.0":                4,
		"image: Z2hjci5pby9hY21lL2Zvbzp2MS4xLjA=":       1,
		"stringData:\n  image: ghcr.io/acme/foo:v1.1.0": 1,
		"other: none":                    1,
		"value: ghcr.io/acme/foo:v1.1.0": 1,
		"imagePullPolicy: IfNotPresent":  2,
		"image: registry.example.com:5000/proxy@sha256:" + strings.Repeat("0", 64): 1,
	} {
		if found := strings.Count(got, text); found != n {
			t.Errorf("%q occurs %d times, want %d", text, found, n)
		}
	}
}

// TestOverlay: what takes the place of a file has its path, and checksums follow if they
// were right.
func TestOverlay(t *testing.T) {
	for name, right := range map[string]bool{"right": true, "wrong": false} {
		dir := t.TempDir()
		r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0"}
		r.Artifacts = []*repo.Artifact{repo.BytesArtifact("a.yaml", []byte("a: 1\n")), repo.BytesArtifact("b.yaml", []byte("b: 1\n"))}
		sums := given.Value(repo.Checksums(t.Context(), r))(t)
		if !right {
			sums = bytes.ToUpper(sums)
		}
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(layouts.ChecksumFile, sums))
		for _, a := range r.Artifacts {
			a.Path = filepath.Join(dir, "v1.0.0", a.Name)
		}
		of := &repo.Repository{Providers: []*repo.Provider{{Provider: r.Provider, Releases: []*repo.Release{r}}}}
		given.NoError(t, overlayReleases(t.Context(), of, dir, map[string][]byte{"v1.0.0/a.yaml": []byte("a: 2\n"), "v1.0.0/b.yaml": []byte("b: 2\n")}))
		for i, want := range []string{"a: 2\n", "b: 2\n", string(given.Value(repo.Checksums(t.Context(), r))(t))} {
			a := r.Artifacts[i]
			if got := string(given.Value(a.Bytes())(t)); a.Path != filepath.Join(dir, "v1.0.0", a.Name) || (got == want) != (right || i < 2) {
				t.Errorf("%s: %s is %q", name, a.Path, got)
			}
		}
	}
}

// TestCopiesOfImages: variables that hold the image of a container follow it.
func TestCopiesOfImages(t *testing.T) {
	copied := edit(t, tree, "        - name: SELF\n", "        - {name: COPY, value: \"controller:latest\"}\n        - {name: OTHER, value: controller}\n        - name: SELF\n")
	releases, err := buildTree(t, copied, "v1.1.0", Options{Images: []Image{{Image: config.Image{Name: "controller", NewName: "ghcr.io/acme/foo", NewTag: "v1.1.0"}}}})
	given.NoError(t, err)
	got := content(t, releases, "infrastructure-components.yaml")
	if !strings.Contains(got, "name: COPY\n          value: ghcr.io/acme/foo:v1.1.0\n") || !strings.Contains(got, "name: OTHER\n          value: controller\n") {
		t.Errorf("the variables do not follow:\n%s", got)
	}
}

// TestBuildSees: an overlay takes the place of files, before replacements. Only an
// unchanged file has the path of its source.
func TestBuildSees(t *testing.T) {
	replaced := edit(t, tree, "    path: config/default\n", "    path: config/default\n  sourceReplacements: [{file: templates/cluster-template.yaml, old: Other, new: Third}]\n")
	overlay := map[string][]byte{"templates/cluster-template.yaml": []byte("kind: Other\n")}
	releases := given.Value(buildTree(t, replaced, "v1.1.0", Options{Overlay: overlay}))(t)
	r := releases[0]
	if got, at := content(t, releases, "cluster-template.yaml"), r.Artifact("cluster-template.yaml").Path; got != "kind: Third\n" || at != r.Path+"/cluster-template.yaml" {
		t.Errorf("%s is %s", at, got)
	}
	if at := r.Artifact("metadata.yaml").Path; !filepath.IsAbs(at) {
		t.Errorf("the path of the metadata is %s", at)
	}
}

func TestBuildIsReproducible(t *testing.T) {
	var first string
	for _, procs := range []int{1, 4, 2} {
		old := runtime.GOMAXPROCS(procs)
		releases, err := buildTree(t, tree, "v1.1.0", Options{})
		runtime.GOMAXPROCS(old)
		given.NoError(t, err)
		var all strings.Builder
		for _, a := range releases[0].Artifacts {
			data, _ := a.Bytes()
			all.WriteString(a.Name + "\n" + string(data))
		}
		if first == "" {
			first = all.String()
		}
		if all.String() != first {
			t.Errorf("other bytes with GOMAXPROCS=%d", procs)
		}
	}
}

func TestBuildStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	plan := &config.Plan{Providers: []config.PlannedProvider{{Outputs: []config.Output{{Name: "x", File: "x"}}}}}
	if _, err := Make(ctx, t.TempDir(), plan, Options{}); err == nil {
		t.Error("built after being cancelled")
	}
	if _, err := Make(t.Context(), "none", plan, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("built from a folder that is not there: %v", err)
	}
}

// TestResolve builds a source tree as its newest series, and takes of finished releases those
// that were asked for.
func TestResolve(t *testing.T) {
	of := func(label, version string) string {
		return "-- " + label + "/" + version + "/" + strings.SplitN(label, "-", 2)[0] + "-components.yaml --\n-- " + label + "/" + version + "/metadata.yaml --\n"
	}
	finished := of("infrastructure-foo", "v1.0.0") + of("infrastructure-foo", "v1.1.0") + of("bootstrap-foo", "v1.1.0")
	for name, tc := range map[string]struct {
		archive, version string
		providers        []string
		want             string // releases, or the error
	}{
		"source tree":       {tree, "", nil, "v1.1.0 true true: infrastructure-foo v1.1.0"},
		"tolerant":          {edit(t, tree, "namespace: capf-system\n", "", "  namespace: system\n", "  namespace: kube-system\n"), "v1.0.0", nil, "v1.0.0 true false: infrastructure-foo v1.0.0"},
		"finished":          {finished, "", nil, " false false: bootstrap-foo v1.1.0 infrastructure-foo v1.0.0 infrastructure-foo v1.1.0"},
		"one version":       {finished, "v1.0.0", nil, "v1.0.0 true false: infrastructure-foo v1.0.0"},
		"one provider":      {finished, "", []string{"bootstrap-foo"}, " true false: bootstrap-foo v1.1.0"},
		"unknown version":   {finished, "v1.2.0", nil, "is already built and has no version v1.2.0; it has v1.0.0, v1.1.0"},
		"unknown provider":  {finished, "", []string{"core-x"}, "has no provider core-x; it has bootstrap-foo, infrastructure-foo"},
		"neither":           {"-- a.txt --\n", "", nil, "it is not a source tree either"},
		"versions of label": {finished, "bootstrap-foo=v1.1.0", nil, " true false: bootstrap-foo v1.1.0"},
	} {
		o := Options{Providers: tc.providers}
		if tc.version != "" {
			o.Version = given.Value(ParseVersions(tc.version))(t)
		}
		r, err := Resolve(t.Context(), write(t, tc.archive), o)
		if err != nil {
			if !errors.As(err, new(*InputError)) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %s", name, err, tc.want)
			}
			continue
		}
		got := fmt.Sprintf("%s %t %t:", r.Version, r.Partial, r.Guessed)
		for _, p := range r.Repository.Providers {
			for _, release := range p.Releases {
				got += " " + p.Label() + " " + release.Version
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// several is a tree of two providers; the second joins a file of the first.
const several = `
-- a/kustomization.yaml --
resources: [a.yaml]
-- a/a.yaml --
apiVersion: v1
kind: Namespace
metadata:
  name: a
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: manager
  namespace: a
spec:
  template:
    spec:
      containers:
      - name: manager
        image: controller:dev
-- b/kustomization.yaml --
resources: [b.yaml]
-- b/b.yaml --
apiVersion: v1
kind: Namespace
metadata:
  name: b
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: manager
  namespace: b
spec:
  template:
    spec:
      containers:
      - name: manager
        image: controller:dev
-- a/metadata.yaml --
releaseSeries:
- major: 0
  minor: 1
  contract: v1beta1
-- b/metadata.yaml --
releaseSeries:
- major: 0
  minor: 5
  contract: v1beta2
-- clusterctl-repo.yaml --
apiVersion: clusterctl-repo.dev/v1alpha1
kind: Config
providers:
- type: bootstrap
  name: x
  metadata: a/metadata.yaml
  components: {path: a}
- type: control-plane
  name: x
  metadata: b/metadata.yaml
  components: {path: b}
  replacements:
  - {files: "*.yaml", old: ":dev", new: ":dev-dev"}
  assets:
  - name: all.yaml
    concat:
    - output: bootstrap-x/bootstrap-components.yaml
    - output: control-plane-x/control-plane-components.yaml
`

// TestSeveral builds providers with versions, images and joined files of their own.
func TestSeveral(t *testing.T) {
	const versions = "v0.1.0,control-plane-x=v0.5.0"
	releases, err := buildTree(t, several, versions, Options{Images: []Image{
		{Provider: "bootstrap-x", Image: config.Image{Name: "controller", NewName: "ghcr.io/a"}},
		{Provider: "control-plane-x", Image: config.Image{Name: "controller", NewName: "ghcr.io/b"}},
	}})
	given.NoError(t, err)
	if len(releases) != 2 || releases[0].Version != "v0.1.0" || releases[1].Version != "v0.5.0" {
		t.Fatalf("%v", releases)
	}
	// Replacements reach each text once, in a joined file too.
	all := content(t, releases, "all.yaml")
	if strings.Count(all, "image: ghcr.io/a:dev-dev\n") != 1 || strings.Count(all, "image: ghcr.io/b:dev-dev\n") != 1 {
		t.Errorf("joined:\n%s", all)
	}

	if releases, err = buildTree(t, several, "v0.5.0", Options{Providers: []string{"control-plane-x"}}); err != nil || len(releases) != 1 || !strings.Contains(content(t, releases, "all.yaml"), "name: a\n") {
		t.Errorf("one provider that joins a file of another: %v", err)
	}

	_, err = buildTree(t, several, versions, Options{Images: []Image{{Image: config.Image{Name: "controller", NewName: "ghcr.io/x"}}}})
	if err == nil || !strings.Contains(err.Error(), "--image bootstrap-x:controller=ghcr.io/x") {
		t.Errorf("an image of several providers: %v", err)
	}
	// A name with a slash stands for one image, not for several.
	_, err = buildTree(t, strings.ReplaceAll(several, "image: controller:dev", "image: acme/controller:dev"), versions,
		Options{Images: []Image{{Image: config.Image{Name: "acme/controller", NewName: "ghcr.io/x"}}}})
	given.NoError(t, err)
}

// TestAddSeries adds the series with the contract of the CRDs and says what to
// write into the source.
func TestAddSeries(t *testing.T) {
	labelled := edit(t, tree, "  name: fooclusters.infrastructure.cluster.x-k8s.io\n", "  name: fooclusters.infrastructure.cluster.x-k8s.io\n  labels: {cluster.x-k8s.io/v1beta1: v1}\n")
	b := given.Value(buildWhole(t, labelled, "v1.2.0", Options{AddSeries: true}))(t)
	got, added := content(t, b.Releases, "metadata.yaml"), b.series[0]
	if !strings.Contains(got, "  minor: 2\n  contract: v1beta1\n# the end") || added.file != "metadata.yaml" || added.Contract != "v1beta1" || strings.Contains(string(added.before), "minor: 2") {
		t.Errorf("%+v, released:\n%s", added, got)
	}
	if saved, err := b.SaveSeries(); err != nil || len(saved) != 1 || string(given.Read(t, saved[0])) != got {
		t.Errorf("saved %v, %v", saved, err)
	}
	replaced := edit(t, labelled, "    path: config/default\n", "    path: config/default\n  sourceReplacements: [{file: metadata.yaml, old: \"# old\", new: \"# new\"}]\n")
	b = given.Value(buildWhole(t, replaced, "v1.2.0", Options{AddSeries: true}))(t)
	if saved, err := b.SaveSeries(); err == nil || len(saved) > 0 {
		t.Errorf("saved %v into a file with replacements, %v", saved, err)
	}
}
