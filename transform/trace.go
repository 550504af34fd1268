package transform

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// Tracer leads places in built files back to the source tree. Nothing is done
// before the first question, and it is safe for concurrent use.
type Tracer struct {
	ctx  context.Context
	dir  string
	opts Options

	mu     sync.Mutex
	builts map[string]*built // by the path that Make gave the artifact
}

// built is one file of a release and what leads back from it.
type built struct {
	plan   *config.PlannedProvider
	output *config.Output
	raw    func() *yamldoc.Stream // without substitution
	// parts are the kustomizations and files it is made from.
	kustomizations []func() *kustomize.Tracer
	sources        []func() *yamldoc.Stream
}

// Source is a place in the source tree.
type Source struct {
	// File is named like the source tree that Make was given.
	File     string
	Pos, End yamldoc.Pos
	// Text is the line of Pos, or the part of it that begins at column Column.
	Text   string
	Column int
	// Exact is set if the value stands there, and not only its object.
	Exact bool
	// Way is the path of the value in the built object, if not Exact.
	Way string
	// Start and Stop are the byte range of a scalar in File if it is Exact and
	// may be edited there; otherwise both are 0.
	Start, Stop int
	// Data is the content of File, if Stop is set.
	Data string
	// Same is set if the scalar is the one in the built file, unchanged.
	Same bool
}

// newTracer prepares to trace what Make made with the same arguments.
func newTracer(ctx context.Context, dir string, plan *config.Plan, opts Options, releases []*repo.Release) *Tracer {
	t := &Tracer{ctx: ctx, dir: dir, opts: opts, builts: map[string]*built{}}
	files := &sourceFiles{tree: t.tree(nil), edited: map[string]func() *kustomize.Tree{}, dir: filepath.ToSlash(dir)}
	tracers := map[string]func() *kustomize.Tracer{}
	for _, r := range releases {
		i := slices.IndexFunc(plan.Providers, func(p config.PlannedProvider) bool {
			return p.Label() == r.Provider.Label() && (p.Version.IsZero() || p.Version.String() == r.Version)
		})
		if i < 0 {
			continue
		}
		p := &plan.Providers[i]
		for _, a := range r.Artifacts {
			o := p.Output(a.Name)
			if o == nil || o.File != "" && a.Path == path.Join(filepath.ToSlash(dir), o.File) {
				continue // it is its own source
			}
			b := &built{plan: p, output: o, raw: sync.OnceValue(func() *yamldoc.Stream {
				data, err := a.Bytes()
				if err != nil {
					return &yamldoc.Stream{}
				}
				return yamldoc.Parse(yamldoc.NewFile(a.Path, data))
			})}
			t.parts(plan, p, o, b, files, tracers)
			if t.builts[a.Path] = b; o.Kind == layouts.Components && t.builts[r.Path] == nil {
				t.builts[r.Path] = b // the release as a whole
			}
		}
	}
	return t
}

// tree opens the source tree with replacements, when it is needed; nil if it cannot be
// opened.
func (t *Tracer) tree(replacements []config.SourceReplacement) func() *kustomize.Tree {
	return sync.OnceValue(func() *kustomize.Tree {
		overlay, err := replaceSources(t.dir, t.opts.Overlay, replacements)
		if err != nil {
			return nil
		}
		tree, err := kustomize.OpenTree(t.dir, overlay)
		if err != nil {
			return nil
		}
		tree.Cache = t.opts.Cache
		return tree
	})
}

// parts adds what an output is made from.
func (t *Tracer) parts(plan *config.Plan, p *config.PlannedProvider, o *config.Output, b *built, files *sourceFiles, tracers map[string]func() *kustomize.Tracer) {
	switch {
	case o.Kustomize != "":
		key, tree := o.Kustomize+"\x00"+string(o.LoadRestrictor), files.tree
		// A kustomization may not build without what is replaced in it. In other files the
		// places are those of the file as it is.
		edited := phrase.Only(p.SourceReplacements, func(r config.SourceReplacement) bool {
			return slices.Contains(layouts.KustomizationFiles, path.Base(r.File))
		})
		if len(edited) > 0 {
			label := p.Label()
			if files.edited[label] == nil {
				files.edited[label] = t.tree(edited)
			}
			key, tree = key+"\x00"+label, files.edited[label]
		}
		if tracers[key] == nil {
			opts := kustomize.Options{NoLoadRestrictions: o.LoadRestrictor == config.NoRestrictions, AllowRemote: t.opts.AllowRemote && plan.RemoteBases}
			tracers[key] = sync.OnceValue(func() *kustomize.Tracer {
				if tree() == nil {
					return nil
				}
				k, err := kustomize.NewTracer(t.ctx, tree(), o.Kustomize, opts)
				if err != nil {
					return nil // the build worked, so there is nothing to report
				}
				return k
			})
		}
		b.kustomizations = append(b.kustomizations, tracers[key])
	case o.File != "":
		b.sources = append(b.sources, files.stream(o.File))
	}
	for _, part := range o.Concat {
		if part.File != "" {
			b.sources = append(b.sources, files.stream(part.File))
			continue
		}
		label, name, _ := strings.Cut(part.Output, "/")
		for i := range plan.Providers {
			if other := &plan.Providers[i]; other.Label() == label && other.Output(name) != nil {
				t.parts(plan, other, other.Output(name), b, files, tracers)
			}
		}
	}
}

// sourceFiles parses source files once.
type sourceFiles struct {
	tree func() *kustomize.Tree
	// edited are the trees of providers that replace texts in kustomizations, by label.
	edited map[string]func() *kustomize.Tree
	dir    string
	cache  sync.Map
}

func (s *sourceFiles) stream(name string) func() *yamldoc.Stream {
	parse := sync.OnceValue(func() *yamldoc.Stream {
		if s.tree() == nil {
			return &yamldoc.Stream{}
		}
		data, err := s.tree().Read(filepath.FromSlash(name))
		if err != nil {
			return &yamldoc.Stream{}
		}
		return yamldoc.Parse(yamldoc.NewFile(path.Join(s.dir, name), data))
	})
	f, _ := s.cache.LoadOrStore(name, parse)
	return f.(func() *yamldoc.Stream)
}

// Locate returns where a value in a built file, named by the path of its
// artifact, comes from. A nil node is the document. It is false for a file that
// is its own source, and if nothing is known.
func (t *Tracer) Locate(artifact string, d *yamldoc.Document, n *yamldoc.Node) (Source, bool) {
	b := t.builts[artifact]
	if b == nil {
		return Source{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if d == nil {
		return b.whole()
	}
	way, key := wayTo(d.Root, n)
	text := ""
	if n != nil {
		text = n.Text()
	}
	// The value and the name of the object may have come from a variable, and the source
	// has the variable.
	root := d.Root
	if s := b.raw(); d.Index >= 1 && d.Index <= len(s.Docs) && s.Docs[d.Index-1].Err == nil {
		raw := s.Docs[d.Index-1].Root
		if at := kustomize.At(raw, way); at != nil {
			root = raw
			if at.Kind != yamldoc.Map && at.Kind != yamldoc.List {
				text = at.Text()
			}
		}
	}
	s, ok := b.find(root, way, text, key)
	return s.Source, ok
}

// LocatePos is Locate for a position in the text of a built file; the zero
// position is the file as a whole.
func (t *Tracer) LocatePos(artifact string, pos yamldoc.Pos) (Source, bool) {
	b := t.builts[artifact]
	switch {
	case b == nil:
		return Source{}, false
	case pos.IsZero() || b.raw().File == nil:
		t.mu.Lock()
		defer t.mu.Unlock()
		return b.whole()
	}
	off := b.raw().File.Offset(pos)
	return t.LocateSpan(artifact, off, off)
}

// LocateSpan is Locate for a byte range of the text of a built file.
func (t *Tracer) LocateSpan(artifact string, start, end int) (Source, bool) {
	b := t.builts[artifact]
	if b == nil {
		return Source{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range b.raw().Docs {
		from, to := d.Range()
		if start < from || start >= to || d.Err != nil {
			continue
		}
		n := scalarAt(d, start)
		if n == nil {
			s, ok := b.find(d.Root, nil, "", false)
			return s.Source, ok
		}
		way, key := wayTo(d.Root, n)
		s, ok := b.find(d.Root, way, n.Text(), key)
		if !ok || s.Stop == 0 {
			return s.Source, ok
		}
		// The same expression inside the value of the source.
		file := s.file
		expression := d.File.Data[start:min(end, len(d.File.Data))]
		if i := strings.Index(file.Data[s.Start:s.Stop], expression); i >= 0 && len(expression) > 0 {
			s.Start += i
			s.Stop = s.Start + len(expression)
			s.Pos, s.End = file.Pos(s.Start), file.Pos(s.Stop)
			s.Text, s.Column = file.Excerpt(s.Pos)
		}
		return s.Source, true
	}
	return b.whole()
}

// Files returns the source files that places were found in or looked for.
func (t *Tracer) Files() []*yamldoc.File {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*yamldoc.File
	seen := map[string]bool{}
	add := func(f *yamldoc.File) {
		if f != nil && !seen[f.Name] {
			seen[f.Name] = true
			out = append(out, f)
		}
	}
	for _, b := range t.builts {
		for _, f := range b.kustomizations {
			if k := f(); k != nil {
				for _, s := range k.Files() {
					add(s)
				}
			}
		}
		for _, f := range b.sources {
			add(f().File)
		}
	}
	slices.SortFunc(out, func(a, b *yamldoc.File) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// whole is the place of a finding about the file as a whole.
func (b *built) whole() (Source, bool) {
	for _, f := range b.sources {
		if s := f(); s.File != nil {
			return Source{File: s.File.Name}, true
		}
	}
	for _, f := range b.kustomizations {
		if k := f(); k != nil {
			return Source{File: k.File()}, true
		}
	}
	return Source{}, false
}

// located is a Source and the file it is in.
type located struct {
	Source
	file *yamldoc.File
}

// wayTo returns the keys and indices that lead to a value, or to the value of a
// key.
func wayTo(root, n *yamldoc.Node) (way []string, key bool) {
	if n == nil || n == root {
		return nil, false
	}
	var search func(at *yamldoc.Node, path []string) bool
	search = func(at *yamldoc.Node, path []string) bool {
		if at == nil {
			return false
		}
		for i := range at.Fields() {
			f := &at.Fields()[i]
			if f.Merged {
				continue
			}
			here := append(path, f.Name)
			if f.Value == n || f.IsKey(n) {
				way, key = slices.Clone(here), f.IsKey(n)
				return true
			}
			if search(f.Value, here) {
				return true
			}
		}
		for i, item := range at.List() {
			here := append(path, strconv.Itoa(i))
			if item == n {
				way = slices.Clone(here)
				return true
			}
			if search(item, here) {
				return true
			}
		}
		return false
	}
	search(root, nil)
	return way, key
}

// scalarAt returns the scalar around an offset of the text of a document.
func scalarAt(d *yamldoc.Document, off int) *yamldoc.Node {
	var found *yamldoc.Node
	d.Root.Walk(func(_ yamldoc.Path, n *yamldoc.Node) bool {
		if n.Kind == yamldoc.Map || n.Kind == yamldoc.List {
			return found == nil
		}
		if start, end := d.Offsets(n); off >= start && off < end {
			found = n
		}
		return false
	})
	return found
}

// find looks for a value in all that the file is made from. With key the name of
// the field is meant, not its value.
func (b *built) find(root *yamldoc.Node, way []string, text string, key bool) (located, bool) {
	if s, ok := b.configured(way, text); ok {
		return located{Source: s}, true
	}
	var best located
	known := false
	for _, f := range b.kustomizations {
		k := f()
		if k == nil {
			continue
		}
		if p, ok := k.Find(root, way, text); ok {
			return at(p, way, text, key), true
		}
	}
	for _, f := range b.sources {
		if p, ok := kustomize.FindIn(f(), root, way); ok {
			if s := at(p, way, text, key); !known || s.Exact && !best.Exact {
				best, known = s, true
			}
		}
	}
	return best, known
}

// configured finds an image that the configuration or the command line set.
func (b *built) configured(way []string, text string) (Source, bool) {
	if b.output.Kind != layouts.Components || len(way) == 0 || way[len(way)-1] != "image" {
		return Source{}, false
	}
	for _, image := range slices.Backward(b.plan.Images) {
		set := splitImage(text)
		if set.name != cmp.Or(image.NewName, image.Name) || image.NewTag != "" && set.tag != image.NewTag {
			continue
		}
		if file, pos, ok := image.Place("name"); ok {
			return Source{File: file, Pos: pos, End: pos, Exact: true}, true
		}
	}
	return Source{}, false
}

func at(p kustomize.Place, way []string, text string, key bool) located {
	n := p.Node
	if key && p.Exact && p.Key != nil {
		n = p.Key
	}
	s := located{Source: Source{File: p.Doc.File.Name, Pos: p.Doc.Pos(n), End: p.Doc.End(n), Exact: p.Exact}, file: p.Doc.File}
	s.Text, s.Column = s.file.Excerpt(s.Pos)
	if !p.Exact {
		s.Way = strings.Join(way, ".")
		return s
	}
	if n != nil && n.Kind != yamldoc.Map && n.Kind != yamldoc.List && !p.Doc.Derived() {
		s.Start, s.Stop = p.Doc.Offsets(n)
		s.Data = p.Doc.File.Data
		s.Same = n.Text() == text
	}
	return s
}
