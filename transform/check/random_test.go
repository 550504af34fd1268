package check_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// TestOutputInsideTheTree builds random trees, writes the releases where people
// write them, often into the tree, and builds again: what was built does not become
// a source, so the same version has the same bytes and the next one the same files.
func TestOutputInsideTheTree(t *testing.T) {
	built, refused := 0, map[string]int{}
	for seed := range trees() {
		g := &treeMaker{rand.New(rand.NewPCG(uint64(seed), 12)), map[string]string{}}
		dir := filepath.Join(t.TempDir(), "cluster-api-provider-acme")
		g.make()
		write(t, dir, g.files)
		first, err := build(t, dir, "v0.1.0")
		if err != nil {
			refused[strings.SplitN(err.Error(), "\n", 2)[0]]++
			continue
		}
		built++
		agree(t, seed, dir, first, g)
		out := g.pick("out", "release", "repository", "releases", "dist", "build", "bin/out", ".", "clusters", "config/release", "templates", "manifests")
		for name, data := range first {
			if out == "." || out == "templates" && g.IntN(2) == 0 {
				name = "x/" + name // the folders of a build, not those of the tree
			}
			write(t, dir, map[string]string{filepath.Join(out, name): data})
		}
		for _, version := range []string{"v0.1.0", "v0.1.1"} {
			again, err := build(t, dir, version)
			if err != nil {
				t.Errorf("seed %d: after the output was written to %s, %s is refused: %v\n%s", seed, out, version, err, g)
				break
			}
			if d := cmp.Diff(names(first, "v0.1.0"), names(again, version)); d != "" {
				t.Errorf("seed %d: after the output was written to %s, %s has other files:\n%s\n%s", seed, out, version, d, g)
				break
			}
			if version != "v0.1.0" {
				continue
			}
			if d := cmp.Diff(first, again); d != "" {
				t.Errorf("seed %d: after the output was written to %s, the same version has other bytes:\n%s", seed, out, d)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d trees were built; refused: %v", built, trees(), refused)
	if built < trees()/2 {
		t.Errorf("only %d of %d trees were built: %v", built, trees(), refused)
	}
}

// agree compares what is found in the tree with what is found in its releases: the
// same rules, for the same objects. What several releases have from one source is one
// finding there.
func agree(t *testing.T, seed int, dir string, files map[string]string, g *treeMaker) {
	t.Helper()
	of := func(dir string) []string {
		r, err := check.Folder(t.Context(), dir, check.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var out []string
		for _, f := range r.Report.Findings {
			out = append(out, fmt.Sprintf("%s %s %s", f.Rule.ID, f.Severity, f.Object))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	built := filepath.Join(t.TempDir(), "built")
	write(t, built, files)
	if d := cmp.Diff(of(built), of(dir)); d != "" {
		t.Errorf("seed %d: lint of the releases (-) and of their tree (+) differ:\n%s\n%s", seed, d, g)
	}
}

// build returns the files of all releases.
func build(t *testing.T, dir, version string) (map[string]string, error) {
	t.Helper()
	tree, err := transform.Open(dir, transform.Options{Version: transform.Versions{All: version}, Tolerant: true})
	if err != nil {
		return nil, err
	}
	b, err := tree.Build(t.Context())
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range b.Releases {
		for _, a := range r.Artifacts {
			out[r.Provider.Label()+"/"+r.Version+"/"+a.Name] = string(given.Value(a.Bytes())(t))
		}
	}
	return out, nil
}

func names(files map[string]string, version string) []string {
	var out []string
	for name := range files {
		out = append(out, strings.Replace(name, "/"+version+"/", "/", 1))
	}
	slices.Sort(out)
	return out
}

// treeMaker makes source trees as projects have them: one provider or several,
// templates as files or kustomizations, metadata shared or not, with and without a
// configuration.
type treeMaker struct {
	*rand.Rand
	files map[string]string
}

func (g *treeMaker) String() string {
	var out []string
	for name := range g.files {
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n" + g.files["clusterctl-repo.yaml"]
}

func (g *treeMaker) pick(texts ...string) string { return texts[g.IntN(len(texts))] }

const metadataText = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 0, minor: 1, contract: v1beta2}\n"

func (g *treeMaker) make() {
	kinds := [][]string{{"infrastructure"}, {"infrastructure"}, {"bootstrap", "control-plane"}, {"infrastructure", "bootstrap", "control-plane"}}[g.IntN(4)]
	config := "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\nproviders:\n"
	shared := g.IntN(2) == 0 || len(kinds) == 1
	if shared {
		g.files[g.pick("metadata.yaml", "metadata.yaml", "config/metadata.yaml")] = metadataText
	}
	for i, kind := range kinds {
		root := ""
		if len(kinds) > 1 && (i > 0 || g.IntN(2) == 0) {
			root = strings.ReplaceAll(kind, "-", "") + "/"
		}
		if !shared {
			g.files[root+"metadata.yaml"] = metadataText
		}
		base := root + g.pick("config/default", "config/default", "config/release", "config")
		g.provider(base, kind)
		config += fmt.Sprintf("- type: %s\n  name: acme\n  components:\n    path: %s\n", kind, base)
		if g.IntN(5) == 0 {
			config += "    file: acme-" + kind + ".yaml\n"
		}
		if kind == "infrastructure" || g.IntN(3) == 0 {
			config += g.templates(root)
		}
	}
	if g.IntN(2) == 0 {
		g.files["clusterctl-repo.yaml"] = config
	}
	if g.IntN(3) == 0 {
		g.files["docs/example.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		g.files["README.md"] = "# acme\n"
		g.files["go.mod"] = "module example.com/cluster-api-provider-acme\n"
	}
}

func (g *treeMaker) provider(base, kind string) {
	g.files[base+"/kustomization.yaml"] = fmt.Sprintf("namespace: acme-%s-system\nlabels:\n- pairs: {cluster.x-k8s.io/provider: %s-acme}\nresources: [manager.yaml, %s]\n", kind, kind, g.pick("role.yaml", "../rbac"))
	if strings.Contains(g.files[base+"/kustomization.yaml"], "../rbac") {
		g.files[filepath.ToSlash(filepath.Join(base, "../rbac/kustomization.yaml"))] = "resources: [role.yaml]\n"
		base, _ := filepath.Split(base)
		g.files[base+"rbac/role.yaml"] = role
	} else {
		g.files[base+"/role.yaml"] = role
	}
	crd := definitions[kind]
	g.files[base+"/manager.yaml"] = fmt.Sprintf(definition, strings.ToLower(crd[1]), crd[0], crd[1]) + fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: acme-%s-system}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manager}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      - {name: manager, image: \"example.com/acme:dev\"}\n", kind)
}

// definitions are the group and the kind of a CRD for each type of provider.
var definitions = map[string][2]string{
	"infrastructure": {"infrastructure.cluster.x-k8s.io", "AcmeCluster"},
	"bootstrap":      {"bootstrap.cluster.x-k8s.io", "AcmeConfig"},
	"control-plane":  {"controlplane.cluster.x-k8s.io", "AcmeControlPlane"},
}

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[1]ss.%[2]s
  labels: {cluster.x-k8s.io/v1beta2: v1}
spec:
  group: %[2]s
  names: {kind: %[3]s, listKind: %[3]sList, plural: %[1]ss, singular: %[1]s}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
`

const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: manager}\nrules: []\n"

// templates adds templates and returns the lines of a configuration for them.
func (g *treeMaker) templates(root string) string {
	dir := root + g.pick("templates", "templates", "clusters", "test/templates")
	const text = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: \"${CLUSTER_NAME}\"}\n"
	config := "  templates:\n"
	flavors := []string{"", "-ha", "-small"}[:1+g.IntN(3)]
	if g.IntN(2) == 0 {
		for _, flavor := range flavors {
			g.files[dir+"/cluster-template"+flavor+".yaml"] = text
		}
		return config + "  - files: " + dir + "/cluster-template*.yaml\n"
	}
	g.files[dir+"/base/cluster.yaml"] = text
	g.files[dir+"/base/kustomization.yaml"] = "resources: [cluster.yaml]\n"
	for _, flavor := range flavors {
		name := strings.TrimPrefix(flavor, "-")
		if name == "" {
			name = "default"
		}
		g.files[dir+"/flavors/"+name+"/kustomization.yaml"] = "resources: [../../base]\n"
	}
	return config + "  - kustomize: " + dir + "/flavors/*\n"
}
