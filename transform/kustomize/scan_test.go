package kustomize_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// write makes a source tree. A value that begins with "-> " is a link.
func write(t *testing.T, files map[string]string) *kustomize.Tree {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		given.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		var err error
		if to, link := strings.CutPrefix(text, "-> "); link {
			err = os.Symlink(to, name)
		} else {
			err = os.WriteFile(name, []byte(text), 0o644)
		}
		given.NoError(t, err)
	}
	tree := given.Value(kustomize.OpenTree(dir, nil))(t)
	t.Cleanup(func() { tree.Close() })
	return tree
}

// aliases is a document whose aliases stand for 9⁹ values.
func aliases() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := range 8 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	return b.String()
}

// TestRefusals are kustomizations that would reach out of the tree, run a
// program or never end. Each is refused at the line that does it, and the
// server is never asked.
func TestRefusals(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was loaded", r.URL)
	}))
	defer server.Close()
	plugin := func(text string) string { return "- |-\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n" }
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"remote resource", map[string]string{"k/kustomization.yaml": "resources:\n- SERVER/a.yaml\n"}, "k/kustomization.yaml:2:3: SERVER/a.yaml is loaded from the network"},
		{"remote resource in a block", map[string]string{"k/kustomization.yaml": "generators:\n- |\n  SERVER/a.yaml\n"}, "k/kustomization.yaml:2:3: SERVER/a.yaml is loaded from the network"},
		{"remote patch that looks inline", map[string]string{"k/kustomization.yaml": "patchesStrategicMerge:\n- SERVER/{a}\n"}, ":2:3: SERVER/{a} is loaded from the network"},
		{"out of the tree", map[string]string{"k/kustomization.yaml": "resources:\n- ../../crd\n"}, ":2:3: ../../crd leaves the source tree"},
		{"helm charts", map[string]string{"k/kustomization.yaml": "helmCharts:\n- name: x\n"}, ":2:3: helm charts"},
		{"user at host", map[string]string{"k/kustomization.yaml": "resources:\n- me@host/a/b\n"}, ":2:3: me@host/a/b is loaded from the network"},
		{"remote patch of a plugin", map[string]string{"k/kustomization.yaml": "transformers:\n" + plugin("apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: SERVER/p.yaml")}, "k/kustomization.yaml:2:3: SERVER/p.yaml is loaded"},
		{"remote file of a plugin in a file", map[string]string{
			"k/kustomization.yaml": "generators: [g.yaml]\n",
			"k/g.yaml":             "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: x}\nfiles:\n- a=SERVER/a\n",
		}, "k/g.yaml:5:3: SERVER/a is loaded"},
		{"remote file of a plugin that is built", map[string]string{
			"k/kustomization.yaml": "generators:\n- ../g\n",
			"g/kustomization.yaml": "resources: [g.yaml]\npatches:\n- {path: p.yaml, target: {kind: ConfigMapGenerator}}\n",
			"g/g.yaml":             "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: x}\nliterals: [a=b]\n",
			"g/p.yaml":             "- op: add\n  path: /files\n  value: [SERVER/a]\n",
		}, "k/kustomization.yaml:2:3: SERVER/a is loaded"},
		{"program", map[string]string{"k/kustomization.yaml": "generators:\n" + plugin("apiVersion: example.com/v1\nkind: Maker\nmetadata: {name: x}")}, ":2:3: example.com/v1 Maker is a plugin, which kustomize runs as a program"},
		{"helm plugin", map[string]string{"k/kustomization.yaml": "generators:\n" + plugin("apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: x}")}, ":2:3: helm charts need the helm program"},
		{"broken plugin", map[string]string{"k/kustomization.yaml": "generators:\n- |\n  a: [\n  b\n"}, ":2:3: this is neither the name of a file nor a document: not YAML"},
		{"link out", map[string]string{"k/kustomization.yaml": "resources:\n- a.yaml\n", "k/a.yaml": "-> /etc/hosts"}, ":2:3: a.yaml cannot be read: path escapes"},
		{"cycle through links", map[string]string{"k/kustomization.yaml": "resources:\n- l1\n- l2\n", "k/l1": "-> .", "k/l2": "-> ../k"}, ":2:3: the kustomization refers back to itself: k is"},
		{"folder without a kustomization", map[string]string{"k/kustomization.yaml": "resources:\n- ../none\n", "none/a.yaml": object}, ":2:3: none holds no kustomization.yaml"},
		{"patch of nothing", map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\npatches:\n- path: p.yaml\n- path: q.yaml\n", "k/a.yaml": object, "k/p.yaml": object, "k/q.yaml": strings.ReplaceAll(object, "a}", "b}")}, "k/q.yaml:3:18: "},
		{"patch in another namespace", map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.yaml}, {path: a.yaml}, {path: q.yaml}]\n", "k/a.yaml": object, "k/q.yaml": object, "k/p.yaml": strings.ReplaceAll(object, "a}", "a, namespace: b}")}, "k/p.yaml:3:32: "},
		{"operation that does not apply", map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\npatches:\n- {path: p.yaml, target: {kind: ConfigMap}}\n", "k/a.yaml": object, "k/p.yaml": "- {op: add, path: /data, value: {}}\n- {op: remove, path: /spec/x}\n"}, "k/p.yaml:2:22: "},
		{"operation inside", map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\npatchesJson6902:\n- {patch: '[{\"op\": \"add\", \"path\": \"/a/b/c\", \"value\": 1}]', target: {kind: ConfigMap, name: a, version: v1}}\n", "k/a.yaml": object}, "k/kustomization.yaml:3:35: "},
		{"object of two files", map[string]string{"k/kustomization.yaml": "resources: [a.yaml, b.yaml]\n", "k/a.yaml": object, "k/b.yaml": object}, "k/b.yaml:3:18: "},
		{"aliases", map[string]string{"k/kustomization.yaml": "resources:\n- a.yaml\n", "k/a.yaml": aliases()}, "k/a.yaml:2:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for name, text := range tc.files {
				tc.files[name] = strings.ReplaceAll(text, "SERVER", server.URL)
			}
			_, err := kustomize.Build(t.Context(), write(t, tc.files), "k", kustomize.Options{})
			if want := strings.ReplaceAll(tc.want, "SERVER", server.URL); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// Plugins that are part of kustomize and read the tree only are fine.
func TestBuiltinPlugins(t *testing.T) {
	tree := write(t, map[string]string{
		"k/kustomization.yaml": "generators: [../g, h.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: x}\n  prefix: p-\n  fieldSpecs: [{path: metadata/name}]\n",
		"k/h.yaml":             "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: h}\nfiles: [data]\n",
		"k/data":               "x",
		"g/kustomization.yaml": "resources: [g.yaml]\n",
		"g/g.yaml":             "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nliterals: [a=b]\n",
	})
	objs, err := kustomize.Build(t.Context(), tree, "k", kustomize.Options{})
	if err != nil || len(objs) != 2 {
		t.Fatalf("%d objects, %v", len(objs), err)
	}
}

// doubling is a tree in which each of n levels refers twice to the next.
func doubling(n int) map[string]string {
	files := map[string]string{fmt.Sprintf("k%d/kustomization.yaml", n): "resources: [a.yaml]\n", fmt.Sprintf("k%d/a.yaml", n): object}
	for i := range n {
		files[fmt.Sprintf("k%d/kustomization.yaml", i)] = "resources: [p, s]\n"
		files[fmt.Sprintf("k%d/p/kustomization.yaml", i)] = fmt.Sprintf("namePrefix: p\nresources: [../../k%d]\n", i+1)
		files[fmt.Sprintf("k%d/s/kustomization.yaml", i)] = fmt.Sprintf("nameSuffix: s%d\nresources: [../../k%d]\n", i, i+1)
	}
	return files
}

func TestDoubling(t *testing.T) {
	objs, err := kustomize.Build(t.Context(), write(t, doubling(3)), "k0", kustomize.Options{})
	if err != nil || len(objs) != 8 {
		t.Errorf("%d objects, %v", len(objs), err)
	}
	_, err = kustomize.Build(t.Context(), write(t, doubling(40)), "k0", kustomize.Options{})
	if err == nil || strings.Count(err.Error(), "more than 1000 times") != 1 {
		t.Errorf("got %v", err)
	}
}

// A build that was stopped does not wait for kustomize.
func TestStops(t *testing.T) {
	tree := write(t, doubling(7))
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	time.AfterFunc(5*time.Millisecond, func() { cancel(reason) })
	if _, err := kustomize.Build(ctx, tree, "k0", kustomize.Options{}); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}
