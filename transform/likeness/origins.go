package likeness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// origin is what a file of a release is made from: a file, the folder of a
// kustomization, or parts in a row; nothing if why says what was looked at.
type origin struct {
	file, dir    string
	unrestricted bool // dir loads files from outside it
	remote       bool // dir loads bases from the network
	parts        []config.Part
	images       []config.Image
	literals     []literal
	sources      []config.SourceReplacement
	why          string
}

func (o origin) found() bool { return o.file != "" || o.dir != "" || o.parts != nil }

// components describe the origin as that of components.
func (o origin) components() config.Components {
	out := config.Components{Path: cmp.Or(o.dir, o.file)}
	if o.unrestricted {
		out.LoadRestrictor = config.NoRestrictions
	}
	return out
}

// search looks for origins in a source tree.
type search struct {
	ctx   context.Context
	dir   string
	fsys  fs.FS
	tree  *kustomize.Tree
	net   bool             // kustomizations may load from the network
	sizes map[string]int64 // of all files
	kusts []string         // folders with a kustomization
	loose map[string]bool  // files that git does not have
	read  map[string][]byte

	mu    sync.Mutex
	built map[string]outcome
}

// outcome is what kustomize makes of a folder.
type outcome struct {
	text    []byte
	sources []config.SourceReplacement // without which it does not build
	err     error
}

// Folders that hold no product wherever an origin is looked for: what tools and
// earlier builds leave, and what others wrote.
var skipped = []string{"node_modules", "vendor", "third_party", "out", "dist", "bin"}

// last are folders in which an origin is looked for last.
var last = []string{"docs", "doc", "e2e", "test", "tests", "testdata", "hack", "example", "examples", "samples"}

// maxFolders is how many kustomizations are built at most, maxText the size of a file
// that is compared line by line.
const (
	maxFolders = 400
	maxText    = 1 << 20
)

// walk lists the tree, but for a folder of releases in it.
func (s *search) walk(releases string) error {
	s.sizes, s.read, s.built = map[string]int64{}, map[string][]byte{}, map[string]outcome{}
	return fs.WalkDir(s.fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return fs.SkipDir
		case entry.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || name == releases ||
			slices.Contains(skipped, base) || layouts.InRelease(name)):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		if info, err := fs.Stat(s.fsys, name); err == nil && info.Mode().IsRegular() {
			s.sizes[name] = info.Size()
		}
		if slices.Contains(layouts.KustomizationFiles, base) && len(s.kusts) < maxFolders {
			s.kusts = append(s.kusts, path.Dir(name))
		}
		return nil
	})
}

func (s *search) data(file string) []byte {
	data, ok := s.read[file]
	if !ok {
		data, _ = fs.ReadFile(s.fsys, file) // what cannot be read is no origin
		s.read[file] = data
	}
	return data
}

// rank orders the places in which an origin is looked for.
func rank(at, name string) string {
	far := 0
	for _, part := range strings.Split(path.Dir(at), "/") {
		if slices.Contains(last, part) {
			far = 1
		}
	}
	other := 0
	if path.Base(at) != name {
		other = 1
	}
	return fmt.Sprintf("%d%d%02d%s", other, far, strings.Count(at, "/"), at)
}

// files are those of the tree that may be meant, the likeliest first.
func (s *search) files(name string, may func(file string, size int64) bool) (out []string) {
	for file, size := range s.sizes {
		if may(file, size) {
			out = append(out, file)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(rank(a, name), rank(b, name)) })
	return out
}

// How freely a copy is looked for: under its name and apart from kustomizations, then
// anywhere, then also among what git does not have, which something else makes.
const (
	sameName = iota
	anyName
	anyFile
)

// copied finds the file of the tree that is the released one.
func (s *search) copied(name string, data []byte, free int) origin {
	for _, file := range s.files(name, func(_ string, size int64) bool { return size == int64(len(data)) }) {
		apart := path.Base(file) == name && !slices.Contains(s.kusts, path.Dir(file))
		if (apart || free > sameName) && (!s.loose[file] || free == anyFile) && bytes.Equal(s.data(file), data) {
			return origin{file: file}
		}
	}
	return origin{}
}

// edited finds the file of the tree that literal replacements make the released one.
func (s *search) edited(name string, data []byte, v version) (out origin) {
	lines := bytes.Count(data, []byte("\n"))
	for _, file := range s.files(name, func(file string, size int64) bool {
		return size <= maxText && path.Ext(file) == path.Ext(name) &&
			(path.Base(file) == name || size > int64(len(data))/2 && size < int64(len(data))*2)
	}) {
		text := s.data(file)
		if path.Base(file) == name && out.why == "" {
			out.why = fmt.Sprintf("%s has that name, but differs at line %d", file, differingLine(string(text), string(data)))
		}
		if bytes.Count(text, []byte("\n")) != lines {
			continue
		}
		if l, ok := v.literals(string(text), string(data)); ok {
			return origin{file: file, literals: l}
		}
	}
	return out
}

// joined finds the files of the tree, and of the release, that stand in it in a row.
func (s *search) joined(data []byte, released map[string][]byte) origin {
	type piece struct {
		config.Part
		data []byte
	}
	var pieces []piece
	for output, data := range released {
		pieces = append(pieces, piece{config.Part{Output: output}, data})
	}
	for _, file := range s.files("", func(file string, size int64) bool {
		return size > 0 && size < int64(len(data)) && path.Ext(file) == ".yaml"
	}) {
		if data := s.data(file); len(data) > 0 {
			pieces = append(pieces, piece{config.Part{File: file}, data})
		}
	}
	// The longest first; among equal ones those of the release.
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(len(b.data), len(a.data)) })
	var parts []config.Part
	for rest := data; len(rest) > 0; {
		if parts != nil {
			rest = bytes.TrimPrefix(rest, []byte("---\n"))
		}
		i := slices.IndexFunc(pieces, func(p piece) bool {
			part := bytes.TrimRight(p.data, "\n")
			return len(part) > 0 && len(p.data) < len(data) && bytes.HasPrefix(rest, part)
		})
		if i < 0 {
			return origin{}
		}
		parts = append(parts, pieces[i].Part)
		rest = bytes.TrimLeft(rest[len(bytes.TrimRight(pieces[i].data, "\n")):], "\n")
	}
	return origin{parts: parts}
}

// build builds a folder, once, without the load restrictor.
func (s *search) build(dir string) outcome {
	s.mu.Lock()
	o, ok := s.built[dir]
	s.mu.Unlock()
	if ok {
		return o
	}
	o.text, o.sources, o.err = s.text(dir, kustomize.Options{NoLoadRestrictions: true, AllowRemote: s.net})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.built[dir] = o
	return o
}

// text builds a folder. A file that a kustomization names and that is not there may be
// an edited copy of the one next to it whose name it extends, as
// manager_image_patch_edited.yaml is: that one takes its place.
func (s *search) text(dir string, o kustomize.Options) (text []byte, sources []config.SourceReplacement, err error) {
	tree := s.tree
	for replace := map[string][]byte{}; ; {
		text, err = kustomize.Text(s.ctx, tree, dir, o)
		missing, ok := errors.AsType[*kustomize.MissingError](err)
		if tree != s.tree {
			tree.Close()
		}
		if !ok || len(sources) > 9 {
			return text, sources, err
		}
		file, data := config.Kustomization(s.fsys, missing.Dir)
		if before, ok := replace[file]; ok {
			data = before
		}
		ext := path.Ext(missing.Target)
		stem := strings.TrimSuffix(missing.Target, ext)
		at := strings.LastIndexAny(stem, "_-")
		if at < 0 || !config.IsFile(s.fsys, path.Join(missing.Dir, stem[:at]+ext)) {
			return nil, nil, err
		}
		sources = append(sources, config.SourceReplacement{File: file, Old: missing.Target, New: stem[:at] + ext})
		replace[file] = bytes.ReplaceAll(data, []byte(missing.Target), []byte(stem[:at]+ext))
		if tree, err = kustomize.OpenTree(s.dir, maps.Clone(replace)); err != nil {
			return nil, nil, err
		}
	}
}

// folders orders the kustomizations: the likeliest have the lowest number.
func (s *search) folders(likely func(dir string) int) []string {
	out := slices.Clone(s.kusts)
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(likely(a), likely(b)), cmp.Compare(rank(a, path.Base(a)), rank(b, path.Base(b))))
	})
	return out
}

// made finds the kustomization that builds the objects of the released file. The
// likeliest that is nearly right is in why, or, for components, is taken.
func (s *search) made(data []byte, v version, components bool, dirs []string) (out origin) {
	want := decode(data)
	if len(want) == 0 {
		return origin{}
	}
	best := -1
	for at := 0; at < len(dirs); at++ {
		if at > 0 && at%4 == 0 { // the first ones are right in most trees
			next := dirs[at:min(at+4, len(dirs))]
			parallel.Each(len(next), func(i int) { s.build(next[i]) })
		}
		dir := dirs[at]
		b := s.build(dir)
		if s.ctx.Err() != nil {
			return origin{}
		}
		if b.err != nil {
			if at == 0 {
				out.why = fmt.Sprintf("%s does not build: %v", dir, b.err)
			}
			continue
		}
		if !components && bytes.Equal(b.text, data) {
			return s.restricted(origin{dir: dir, sources: b.sources})
		}
		if len(b.text) > 4*len(data) || 4*len(b.text) < len(data) {
			continue // that is something else
		}
		built := decode(b.text)
		o := origin{dir: dir, sources: b.sources}
		if components {
			o.images = v.images(built, want)
		}
		g := compare(built, want, components)
		if all := v.changed(g); all != nil {
			for _, o := range built {
				for path, x := range o.values {
					if text, ok := x.(string); ok {
						o.values[path] = v.replace(text, all)
					}
				}
			}
			if after := compare(built, want, components); after.score() < g.score() {
				o.literals, g = all, after
			}
		}
		if g.empty() {
			return s.restricted(o)
		}
		if score := g.score(); 2*(len(g.missing)+len(g.extra)) <= len(want) && (best < 0 || score < best) {
			best = score
			out = o
			out.why = fmt.Sprintf("%s is the likeliest kustomization: %s", dir, g)
		}
	}
	if !components {
		out = origin{why: out.why}
	}
	return s.restricted(out)
}

// restricted notes whether a folder needs the load restrictor lifted, or the network.
func (s *search) restricted(o origin) origin {
	if o.dir != "" {
		_, _, err := s.text(o.dir, kustomize.Options{NoLoadRestrictions: true})
		_, o.remote = errors.AsType[*kustomize.RemoteError](err)
		_, _, err = s.text(o.dir, kustomize.Options{AllowRemote: s.net})
		o.unrestricted = err != nil
	}
	return o
}
