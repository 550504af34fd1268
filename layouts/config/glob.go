package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// glob is a pattern over slash-separated paths: * and ? stay within a name, **
// stands for any number of folders.
type glob struct {
	// root is the part before the first star, where the search begins.
	root string
	// depth is the number of names of a match below root; -1 if there is a **.
	depth int
	re    *regexp.Regexp
}

func newGlob(pattern string) glob {
	pattern = path.Clean(pattern)
	names := strings.Split(pattern, "/")
	fixed := slices.IndexFunc(names, func(n string) bool { return strings.ContainsAny(n, "*?") })
	if fixed < 0 {
		fixed = len(names)
	}
	g := glob{root: cmp.Or(path.Join(names[:fixed]...), "."), depth: len(names) - fixed}
	var b strings.Builder
	b.WriteString(`^`)
	for i, n := range names {
		last := i == len(names)-1
		switch {
		case n == "**" && last:
			b.WriteString(`(.*)`)
			g.depth = -1
		case n == "**":
			b.WriteString(`(?:(.*)/)?`)
			g.depth = -1
		default:
			for _, r := range n {
				switch r {
				case '*':
					b.WriteString(`([^/]*)`)
				case '?':
					b.WriteString(`[^/]`)
				default:
					b.WriteString(regexp.QuoteMeta(string(r)))
				}
			}
			if !last {
				b.WriteString(`/`)
			}
		}
	}
	b.WriteString(`$`)
	// Every part is quoted or fixed, but the size of a pattern is not ours.
	re, err := regexp.Compile(b.String())
	if err != nil {
		re = regexp.MustCompile(`^$`)
	}
	g.re = re
	return g
}

// match returns what the stars stand for.
func (g glob) match(name string) (stars []string, ok bool) {
	m := g.re.FindStringSubmatch(name)
	if m == nil {
		return nil, false
	}
	return m[1:], true
}

// Match reports whether a slash-separated path matches a pattern of the
// configuration: * and ? stay within a name, ** stands for any number of
// folders.
func Match(pattern, name string) bool { return Matcher([]string{pattern})(name) }

// Matcher returns a function that reports whether a path matches one of the
// patterns, as Match does. It is the faster way to try many paths.
func Matcher(patterns []string) func(name string) bool {
	compiled := globs(patterns, nil)
	return func(name string) bool {
		name = path.Clean(name)
		return slices.ContainsFunc(compiled, func(g glob) bool { _, ok := g.match(name); return ok })
	}
}

// found is a match in a tree.
type found struct {
	path  string
	stars []string
}

// find lists the files of the tree that match g in lexical order, or, if
// accept is given, the folders that it accepts. A missing root gives nothing.
func (g glob) find(fsys fs.FS, exclude []glob, accept func(dir string) bool) ([]found, error) {
	base := 0
	if g.root != "." {
		base = strings.Count(g.root, "/") + 1
	}
	var out []found
	err := fs.WalkDir(fsys, g.root, func(p string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && p == g.root:
			return fs.SkipAll
		case err != nil:
			return err
		case entry.IsDir() && p != g.root && layouts.InRelease(p):
			return fs.SkipDir // what an earlier build left
		case slices.ContainsFunc(exclude, func(x glob) bool { _, ok := x.match(p); return ok }):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		isDir := entry.IsDir()
		if entry.Type()&fs.ModeSymlink != 0 {
			// A link to a folder matches like the folder, but is not searched.
			info, err := fs.Stat(fsys, p)
			if _, ok := g.match(p); ok && accept != nil && errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is a broken link", p)
			}
			isDir = err == nil && info.IsDir()
		}
		if isDir == (accept != nil) {
			if stars, ok := g.match(p); ok && (accept == nil || accept(p)) {
				out = append(out, found{p, stars})
			}
		}
		if entry.IsDir() && p != "." {
			depth := strings.Count(p, "/") + 1 - base
			if entry.Name() == ".git" || g.depth >= 0 && depth >= g.depth && p != g.root {
				return fs.SkipDir
			}
		}
		return nil
	})
	return out, err
}

func globs(patterns []string, vars map[string]string) []glob {
	return phrase.List(patterns, func(p string) glob { return newGlob(expand(p, vars)) })
}

// IsFile reports whether the tree has a file, or a link to one, of that path. A pipe or a
// device is refused when it is read.
func IsFile(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, path.Clean(name))
	return err == nil && !info.IsDir()
}

// IsKustomization reports whether a folder of the tree holds a kustomization.
func IsKustomization(fsys fs.FS, dir string) bool {
	return slices.ContainsFunc(layouts.KustomizationFiles, func(name string) bool { return IsFile(fsys, path.Join(dir, name)) })
}

// Kustomization returns the file that makes a folder a kustomization, if there is one.
func Kustomization(fsys fs.FS, dir string) (file string, data []byte) {
	for _, name := range layouts.KustomizationFiles {
		if data, err := fs.ReadFile(fsys, path.Join(dir, name)); err == nil {
			return path.Join(dir, name), data
		}
	}
	return "", nil
}
