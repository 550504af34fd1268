package localrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// find returns what a file is made from, with absolute paths: the file itself, or the
// kustomization in the folder next to it that has its name, X.yaml from X.
func find(name string) (out config.Output, err error) {
	switch info, err := os.Stat(name); {
	case err == nil && !info.IsDir():
		return config.Output{File: name}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return out, err
	}
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	if stem == name || !config.IsKustomization(os.DirFS(stem), ".") {
		return out, fmt.Errorf("the file does not exist, and there is no kustomization in a folder %s next to it; "+
			"run what creates it first", filepath.Base(stem))
	}
	return config.Output{Kustomize: stem, LoadRestrictor: config.NoRestrictions}, nil
}

// supply builds the files that kustomizations lack and that a folder next to them
// makes, and reports whether there are any. The error says why one that is there makes none.
func (s *Suite) supply(ctx context.Context, lack error, dir string, overlay map[string][]byte) (some bool, err error) {
	for _, lack := range files.Parts(lack) {
		made, more := s.supplyOne(ctx, lack, dir, overlay)
		some, err = some || made, errors.Join(err, more)
	}
	return some, err
}

func (s *Suite) supplyOne(ctx context.Context, lack error, dir string, overlay map[string][]byte) (made bool, err error) {
	missing, ok := errors.AsType[*kustomize.MissingError](lack)
	if !ok {
		return false, nil
	}
	rel := path.Join(missing.Dir, missing.Target)
	if _, ok := overlay[rel]; ok {
		return false, nil
	}
	out, err := find(filepath.Join(dir, filepath.FromSlash(rel)))
	if err != nil || out.Kustomize == "" {
		return false, nil // then it is missing
	}
	tree, err := kustomize.OpenTree(dir, overlay)
	if err != nil {
		return false, err
	}
	defer tree.Close()
	tree.Cache = s.opts.Cache
	data, err := kustomize.Text(ctx, tree, relative(dir, out.Kustomize), kustomize.Options{
		NoLoadRestrictions: true, AllowRemote: s.opts.AllowRemote,
	})
	if err != nil {
		return false, err
	}
	overlay[rel] = data
	return true, nil
}
