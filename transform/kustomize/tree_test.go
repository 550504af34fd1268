package kustomize

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// What is missing may be made while the tree is open; what is there stays.
func TestTreeFindsWhatIsMadeLater(t *testing.T) {
	dir := t.TempDir()
	tree := given.Value(OpenTree(dir, nil))(t)
	defer tree.Close()
	if tree.Exists("made") {
		t.Error("made exists before it was made")
	}
	if _, _, err := tree.CleanedAbs("made"); err == nil {
		t.Error("made has a target before it was made")
	}
	given.NoError(t, os.Mkdir(filepath.Join(dir, "made"), 0o755))
	for range 2 {
		if !tree.Exists("made") || !tree.IsDir("made") {
			t.Error("made is not found")
		}
		if target, name, err := tree.CleanedAbs("made"); err != nil || target.String() != filepath.Join(tree.dir, "made") || name != "" {
			t.Errorf("the target of made is %s, %s, %v", target, name, err)
		}
	}
}

// TestTreeRefuses: a build changes nothing in the tree and reads nothing outside it.
func TestTreeRefuses(t *testing.T) {
	tree := given.Value(OpenTree(t.TempDir(), nil))(t)
	defer tree.Close()
	outside := filepath.Join(tree.dir, "..", "x")
	_, made := tree.Create("x")
	_, opened := tree.Open("x")
	_, globbed := tree.Glob("*")
	_, listed := tree.ReadDir(".")
	_, read := schemas{Tree: tree}.ReadFile(outside)
	_, _, cleaned := tree.CleanedAbs(outside)
	for name, c := range map[string]struct{ got, want error }{
		"create": {made, errReadOnly}, "mkdir": {tree.Mkdir("x"), errReadOnly}, "mkdir all": {tree.MkdirAll("x"), errReadOnly},
		"write": {tree.WriteFile("x", nil), errReadOnly}, "remove": {tree.RemoveAll("."), errReadOnly},
		"remove beside the disk": {withDisk{Tree: tree}.RemoveAll(tree.dir), errReadOnly},
		"open":                   {opened, errUnasked}, "glob": {globbed, errUnasked}, "list": {listed, errUnasked}, "walk": {tree.Walk(".", nil), errUnasked},
		"read outside": {read, errOutside}, "resolve outside": {cleaned, errOutside},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// probe is a tree that tells whether the schema is free for others while it is read.
type probe struct {
	*Tree
	shared, free *bool
}

func (p probe) ReadFile(path string) ([]byte, error) {
	if schema.TryRLock() {
		*p.shared = true
		schema.RUnlock()
	}
	if schema.TryLock() {
		*p.free = true
		schema.Unlock()
	}
	return p.Tree.ReadFile(path)
}

// A build with its own schema runs alone and leaves none behind; others run next to each other.
func TestSchemaIsHeld(t *testing.T) {
	dir := t.TempDir()
	given.Files(t, dir, map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	tree := given.Value(OpenTree(dir, nil))(t)
	defer tree.Close()
	for _, alone := range []bool{false, true, false} {
		shared, free := false, false
		given.Value(call(probe{tree, &shared, &free}, tree.dir, Options{}, alone))(t)
		if shared == alone || free || schema.parsed == alone {
			t.Errorf("alone %t: others read it: %t, change it: %t; parsed: %t", alone, shared, free, schema.parsed)
		}
	}
}
