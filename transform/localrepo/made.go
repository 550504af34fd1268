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
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// made knows what the recipes of a source tree make.
type made struct {
	top      string
	fsys     fs.FS
	products []recipes.Product
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

// find returns what a file is made from, with absolute paths: the file itself, what a
// recipe names, or the kustomization next to it that has its name. Several
// kustomizations are joined.
func (s *Suite) find(name string) (config.Output, []recipes.Product, error) {
	return s.copied(name, 0)
}

// maxCopies is how often recipes may copy a file: they may do so in a circle, or each
// file from one with a longer name.
const maxCopies = 8

// copied is find for a file that was copied a number of times.
func (s *Suite) copied(name string, times int) (out config.Output, joined []recipes.Product, err error) {
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return config.Output{File: name}, nil, nil
	}
	m := s.recipes()
	missing := errors.New("the file does not exist")
	rel, err := filepath.Rel(m.top, name)
	if err != nil || !filepath.IsLocal(rel) {
		return out, nil, missing
	}
	abs := func(rel string) string { return filepath.Join(m.top, filepath.FromSlash(rel)) }
	is := func(dir string) bool { return dir != "" && fs.ValidPath(dir) && config.IsKustomization(m.fsys, dir) }
	built := func(dir string, unrestricted bool) (config.Output, []recipes.Product, error) {
		out.Kustomize = abs(dir)
		if unrestricted {
			out.LoadRestrictor = config.NoRestrictions
		}
		return out, nil, nil
	}
	rel = filepath.ToSlash(rel)
	p, ok := m.product(rel)
	switch {
	case ok && p.Joined != nil && !slices.ContainsFunc(p.Joined, func(q recipes.Product) bool { return len(q.Through) > 0 || !is(q.Kustomize) }):
		return out, p.Joined, nil
	case ok && len(p.Through) == 0 && is(p.Kustomize) && p.Unsorted:
		return out, []recipes.Product{p}, nil
	case ok && len(p.Through) == 0 && is(p.Kustomize):
		return built(p.Kustomize, p.Unrestricted)
	case ok && len(p.Through) == 0 && len(p.From) == 1 && times < maxCopies:
		return s.copied(abs(p.From[0]), times+1)
	case ok:
		return out, nil, fmt.Errorf("the file does not exist; %s makes it%s", p.Place, m.target(p.Place))
	}
	if stem := strings.TrimSuffix(rel, path.Ext(rel)); is(stem) {
		return built(stem, true)
	}
	return out, nil, missing
}

var targetLine = phrase.Pattern(`^([A-Za-z0-9][A-Za-z0-9_./-]*)\s*:`)

// patternLine begins a pattern rule, which has no single target.
var patternLine = phrase.Pattern(`^[^\t#:=]*%[^:=]*:`)

// target names the make target that a place belongs to.
func (m *made) target(at recipes.Place) string {
	data, err := fs.ReadFile(m.fsys, at.File)
	lines := strings.Split(string(data), "\n")
	if err != nil || !strings.Contains(path.Base(at.File), "akefile") && path.Ext(at.File) != ".mk" {
		return ""
	}
	for i := min(at.Line, len(lines)) - 1; i >= 0; i-- {
		t := targetLine().FindStringSubmatch(lines[i])
		if t == nil && patternLine().MatchString(lines[i]) {
			return ""
		}
		if t != nil {
			return fmt.Sprintf(" (make %s)", t[1])
		}
	}
	return ""
}

// join builds what a recipe joins.
func (s *Suite) join(ctx context.Context, products []recipes.Product, overlay map[string][]byte, dir string) ([]byte, error) {
	tree, err := kustomize.OpenTree(dir, overlay)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	tree.Cache = s.opts.Cache
	var parts [][]byte
	for _, p := range products {
		part, err := kustomize.Text(ctx, tree, relative(dir, filepath.Join(s.top, filepath.FromSlash(p.Kustomize))), kustomize.Options{
			NoLoadRestrictions: p.Unrestricted, Unsorted: p.Unsorted, AllowRemote: s.opts.AllowRemote,
		})
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
	out, joined, err := s.find(filepath.Join(dir, filepath.FromSlash(rel)))
	if err != nil {
		return false
	}
	var data []byte
	if out.File != "" {
		data, err = os.ReadFile(out.File)
	} else {
		if out.Kustomize != "" {
			joined = []recipes.Product{{Kustomize: relative(s.top, out.Kustomize), Unrestricted: out.LoadRestrictor != ""}}
		}
		data, err = s.join(ctx, joined, overlay, dir)
	}
	if err != nil {
		return false
	}
	overlay[rel] = data
	return true
}
