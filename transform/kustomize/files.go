package kustomize

import (
	"bytes"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Kustomizations returns the kustomization in a folder and all that it is made of,
// each once, with names below that of the tree; after it the files with webhooks that it lists,
// and if it lists files of a folder bases, where controller-gen writes definitions, those there
// that it does not list.
// What cannot be read is left out: a build says why.
func Kustomizations(tree *Tree, dir string) []*yamldoc.Stream {
	var out []*yamldoc.Stream
	seen := map[string]bool{}
	var walk func(dir string)
	walk = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		name, data, err := tree.kustomization(dir)
		if err != nil {
			return
		}
		add := func(name string, data []byte) *yamldoc.Stream {
			out = append(out, yamldoc.Parse(yamldoc.NewFile(path.Join(filepath.ToSlash(tree.Name), name), data)))
			return out[len(out)-1]
		}
		stream, listed := add(name, data), map[string]bool{}
		for _, d := range stream.Docs {
			for _, field := range []string{"resources", "bases", "components", "generators", "transformers", "validators"} {
				for _, n := range d.Root.Get(field).List() {
					target := n.Str()
					if path.IsAbs(target) || layouts.IsRemoteBase(target) {
						continue
					}
					sub := path.Join(dir, target)
					listed[sub] = true
					if info, err := tree.stat(sub); err != nil {
						continue
					} else if info.IsDir() {
						walk(sub)
					} else if data, err := tree.Read(sub); err == nil && bytes.Contains(data, []byte("\nwebhooks:")) {
						add(sub, data)
					}
				}
			}
		}
		bases := path.Join(dir, "bases")
		files, _ := tree.files.ReadDir(bases)
		generated := func(f fs.DirEntry) bool { return path.Ext(f.Name()) == ".yaml" }
		if !slices.ContainsFunc(files, func(f fs.DirEntry) bool { return generated(f) && listed[path.Join(bases, f.Name())] }) {
			return
		}
		for _, f := range files {
			if name := path.Join(bases, f.Name()); generated(f) && !listed[name] {
				if data, err := tree.Read(name); err == nil {
					add(name, data)
				}
			}
		}
	}
	walk(path.Clean(dir))
	return out
}
