package localrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// made knows what the recipes of a source tree make.
type made struct {
	top      string
	fsys     fs.FS
	products []recipes.Product
}

func once(top string) func() *made {
	return sync.OnceValue(func() *made {
		fsys := os.DirFS(top)
		return &made{top, fsys, recipes.Read(fsys).Products}
	})
}

// product returns the recipe that makes a file, by its path in the tree: one for that
// file before one for several.
func (m *made) product(name string) (recipes.Product, bool) {
	for _, p := range m.products {
		if p.To == name {
			return p, true
		}
	}
	for _, p := range m.products {
		if p, ok := p.For(name); ok {
			return p, true
		}
	}
	return recipes.Product{}, false
}

// source is what a file that is not in the tree is made from: one of a
// kustomization, several joined, and a file. Paths are absolute.
type source struct {
	file          string
	kustomization string
	joined        []recipes.Product
	unrestricted  bool
}

// find returns what a file is made from: the file itself, what a recipe names, or
// the kustomization next to it that has its name.
func (s *Suite) find(name string) (source, error) {
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return source{file: name}, nil
	}
	m := s.recipes()
	missing := errors.New("the file does not exist")
	rel, err := filepath.Rel(m.top, name)
	if err != nil || !filepath.IsLocal(rel) {
		return source{}, missing
	}
	abs := func(rel string) string { return filepath.Join(m.top, filepath.FromSlash(rel)) }
	is := func(dir string) bool { return dir != "" && fs.ValidPath(dir) && config.IsKustomization(m.fsys, dir) }
	rel = filepath.ToSlash(rel)
	p, ok := m.product(rel)
	switch {
	case ok && p.Joined != nil && !slices.ContainsFunc(p.Joined, func(q recipes.Product) bool { return len(q.Through) > 0 || !is(q.Kustomize) }):
		return source{joined: p.Joined}, nil
	case ok && len(p.Through) == 0 && is(p.Kustomize) && p.Unsorted:
		return source{joined: []recipes.Product{p}}, nil
	case ok && len(p.Through) == 0 && is(p.Kustomize):
		return source{kustomization: abs(p.Kustomize), unrestricted: p.Unrestricted}, nil
	case ok && len(p.Through) == 0 && len(p.From) == 1 && p.From[0] != rel:
		return s.find(abs(p.From[0]))
	case ok:
		return source{}, fmt.Errorf("the file does not exist; %s makes it%s", p.Place, m.target(p.Place))
	}
	stem := strings.TrimSuffix(rel, path.Ext(rel))
	if is(stem) {
		return source{kustomization: abs(stem), unrestricted: true}, nil
	}
	return source{}, missing
}

var targetLine = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_./-]*)\s*:`)

// target names the make target that a place belongs to.
func (m *made) target(at recipes.Place) string {
	data, err := fs.ReadFile(m.fsys, at.File)
	lines := strings.Split(string(data), "\n")
	if err != nil || !strings.Contains(path.Base(at.File), "akefile") && path.Ext(at.File) != ".mk" {
		return ""
	}
	for i := min(at.Line, len(lines)) - 1; i >= 0; i-- {
		if t := targetLine.FindStringSubmatch(lines[i]); t != nil {
			return fmt.Sprintf(" (make %s)", t[1])
		}
	}
	return ""
}

// output says what a file of the repository is made from, with absolute paths.
func (s *Suite) output(f File) (config.Output, source, error) {
	from, err := s.find(s.Config.path(f.Source.Value))
	out := config.Output{File: from.file, Kustomize: from.kustomization}
	if from.unrestricted {
		out.LoadRestrictor = config.NoRestrictions
	}
	return out, from, err
}

// text builds what a recipe joins, or makes for a kustomization to read.
func (s *Suite) text(ctx context.Context, from source, overlay map[string][]byte, dir string) ([]byte, error) {
	if from.file != "" {
		return os.ReadFile(from.file)
	}
	tree, err := kustomize.OpenTree(dir, overlay)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	tree.Cache = s.opts.Cache
	build := func(name string, o kustomize.Options) ([]byte, error) {
		o.AllowRemote = s.opts.AllowRemote
		return kustomize.Text(ctx, tree, relative(dir, name), o)
	}
	if from.kustomization != "" {
		return build(from.kustomization, kustomize.Options{NoLoadRestrictions: from.unrestricted})
	}
	var parts [][]byte
	for _, p := range from.joined {
		part, err := build(filepath.Join(s.top, filepath.FromSlash(p.Kustomize)), kustomize.Options{NoLoadRestrictions: p.Unrestricted, Unsorted: p.Unsorted})
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return bytes.Join(parts, []byte("---\n")), nil
}

// supply builds the files that kustomizations lack and recipes make, and reports
// whether there are any.
func (s *Suite) supply(ctx context.Context, err error, dir string, overlay map[string][]byte) (some bool) {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range list.Unwrap() {
			some = s.supply(ctx, err, dir, overlay) || some
		}
		return some
	}
	missing, ok := errors.AsType[*kustomize.MissingError](err)
	if !ok {
		return false
	}
	rel := path.Join(missing.Dir, missing.Target)
	if _, ok := overlay[rel]; ok {
		return false
	}
	from, err := s.find(filepath.Join(dir, filepath.FromSlash(rel)))
	if err != nil {
		return false
	}
	data, err := s.text(ctx, from, overlay, dir)
	if err != nil {
		return false
	}
	overlay[rel] = data
	return true
}
