package kustomize

import (
	"path"
	"path/filepath"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Kustomizations returns the kustomization in a folder and all that it is made of,
// each once, with names below that of the tree. What cannot be read is left out: a
// build says why.
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
		stream := yamldoc.Parse(yamldoc.NewFile(path.Join(filepath.ToSlash(tree.Name), name), data))
		out = append(out, stream)
		for _, d := range stream.Docs {
			for _, field := range []string{"resources", "bases", "components", "generators", "transformers", "validators"} {
				for _, n := range d.Root.Get(field).List() {
					target := n.Str()
					if path.IsAbs(target) || layouts.IsRemoteBase(target) {
						continue
					}
					sub := path.Join(dir, target)
					if info, err := tree.stat(sub); err == nil && info.IsDir() {
						walk(sub)
					}
				}
			}
		}
	}
	walk(path.Clean(dir))
	return out
}
