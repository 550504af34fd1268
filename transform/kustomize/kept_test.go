package kustomize

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// buildWith builds a folder with a cache.
func buildWith(t *testing.T, root string, c *Cache) (string, error) {
	t.Helper()
	tree := given.Value(OpenTree(root, nil))(t)
	defer tree.Close()
	tree.Cache = c
	objs, err := Build(context.Background(), tree, ".", Options{})
	if err != nil {
		return "", err
	}
	text, err := Marshal(objs)
	return string(text), err
}

// TestKeptBuildsAreThoseOfTheFiles changes a tree by chance, and compares builds
// with a cache to builds without one.
func TestKeptBuildsAreThoseOfTheFiles(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, filepath.FromSlash(name))
		given.File(t, file, text)
	}
	object := func(name, value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {n: \"" + value + "\", i: '1', f: \"1.0\"}\n"
	}
	start := map[string]string{
		"kustomization.yaml": "resources: [a.yaml, base, crd.yaml]\npatches:\n- path: patch.yaml\n", "a.yaml": object("a", "1"), "base/kustomization.yaml": "resources: [b.yaml]\nnamePrefix: x-\n",
		"base/b.yaml": object("b", "1"), "base/c.yaml": object("c", "1"), "patch.yaml": object("a", "2"), "crd.yaml": definition("One", ""),
	}
	for name, text := range start {
		write(name, text)
	}
	changes := []func(){
		func() { write("a.yaml", object("a", "3")) }, func() { write("base/b.yaml", object("b", "3")) }, func() { write("base/c.yaml", object("c", "3")) },
		func() { write("patch.yaml", object("a", "4")) }, func() { _ = os.Remove(filepath.Join(root, "a.yaml")) }, func() { _ = os.Remove(filepath.Join(root, "base/kustomization.yaml")) },
		func() { write("base/kustomization.yml", "resources: [c.yaml]\n") }, func() { _ = os.Remove(filepath.Join(root, "base/kustomization.yml")) },
		func() { write("base/kustomization.yaml", "resources: [b.yaml, c.yaml]\n") }, func() { write("kustomization.yaml", start["kustomization.yaml"]+"namespace: n\n") },
		func() {
			_ = os.Remove(filepath.Join(root, "a.yaml"))
			_ = os.Symlink("base/c.yaml", filepath.Join(root, "a.yaml"))
		}, func() { write("crd.yaml", definition("One", "            default: \"yes\"")) },
		func() {
			for name, text := range start {
				_ = os.Remove(filepath.Join(root, name))
				write(name, text)
			}
		},
	}
	random := rand.New(rand.NewPCG(11, 12))
	c := OpenCache(t.TempDir(), "test")
	for i := range 150 {
		change := random.IntN(len(changes))
		if i%3 == 0 {
			change = len(changes) - 1
		}
		changes[change]()
		want, wantErr := buildWith(t, root, nil)
		for range 2 {
			if got, err := buildWith(t, root, c); got != want || (err == nil) != (wantErr == nil) {
				t.Fatalf("change %d: %v and %v:\n%s\nwant\n%s", change, err, wantErr, got, want)
			}
		}
	}
	tree := given.Value(OpenTree(root, nil))(t)
	defer tree.Close()
	changes[len(changes)-1]()
	given.Value(buildWith(t, root, c))(t)
	tree.Cache = c
	if _, ok := tree.kept(".", Options{}); !ok {
		t.Error("a build without a change is made anew")
	}
	for _, other := range []Options{{NoLoadRestrictions: true}} {
		if _, ok := tree.kept(".", other); ok {
			t.Errorf("a build with %+v is taken for one without", other)
		}
	}
}

// TestKeptObjectsAreThoseOfKustomize compares the types of values, too.
func TestKeptObjectsAreThoseOfKustomize(t *testing.T) {
	root := t.TempDir()
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nvalues: [1, 1.5, true, null, \"1\", 'yes', {}, [], \"a\\nb\\n\", \"\\u00e9\", 9007199254740993, \"2001-01-01\"]\n"
	for name, text := range map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": text} {
		given.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	c := OpenCache(t.TempDir(), "test")
	var built [][]byte
	for range 2 {
		tree := given.Value(OpenTree(root, nil))(t)
		defer tree.Close()
		tree.Cache = c
		objs := given.Value(Build(context.Background(), tree, ".", Options{}))(t)
		var types []byte
		for _, v := range objs[0]["values"].([]any) {
			types = append(types, fmt.Sprintf("%T %v; ", v, v)...)
		}
		built = append(built, types)
	}
	if !slices.EqualFunc(built[:1], built[1:], bytes.Equal) {
		t.Errorf("%s, and from the cache %s", built[0], built[1])
	}
}
