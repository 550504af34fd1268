package inventory

import (
	"context"
	"errors"
	"sort"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// source is one file in which clusterctl replaces variables.
type source struct {
	name     string
	kind     layouts.FileKind
	file     *manifest.File
	raw      *yamldoc.File
	content  string // of raw, so that expressions in expressions share memory
	template *vars.Template
	// docs are what clusterctl makes of the file if nothing has a value but
	// what it sets itself, and samples where it insists on one. They are empty
	// if that fails; err says why.
	docs *yamldoc.Stream
	err  error
	// look is what counts in a document. Where let is set, all documents were looked
	// at as soon as they were parsed, and let go of, so that no large file is in
	// memory as a whole; seen are those in which something counts.
	look func(*source, *yamldoc.Document) *seen
	let  bool
	mu   sync.Mutex
	seen map[*yamldoc.Document]*seen
	// top are the indices of the expressions that are in no other one.
	top []int
	// required are the variables that clusterctl lists; true without default.
	required map[string]bool
}

// seen is what counts in a document: for the images of a release, or for its
// variables.
type seen struct {
	images  []Image
	spots   []spot
	class   *class
	schemas []schemaAt
}

// in returns what counts in a document.
func (s *source) in(d *yamldoc.Document) *seen {
	found := s.seen[d]
	switch {
	case found != nil:
	case s.let:
		found = &seen{}
	default:
		found = s.look(s, d)
		s.seen[d] = found
	}
	return found
}

func (s *source) letGo(d *yamldoc.Document) {
	if d.Err != nil || d.Root.Is(yamldoc.Null) {
		return
	}
	found := s.look(s, d)
	d.Root = nil
	if len(found.images)+len(found.spots)+len(found.schemas) == 0 && found.class == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[d] = found
}

// kinds are the files with variables, in the order in which a user meets them.
var kinds = [...]layouts.FileKind{layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass}

// load reads the files of a release. A file that cannot be read does not hide the
// others: its error is joined to the result's. Look returns what counts in a document.
func load(ctx context.Context, r *repo.Release, parsed Parsed, look func(*source, *yamldoc.Document) *seen) ([]*source, error) {
	kindOf := kindsOf(r)
	var sources []*source
	var failures []error
	for _, kind := range kinds {
		for _, a := range r.Artifacts {
			if kindOf(a) != kind {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s := &source{kind: kind, look: look, required: map[string]bool{}, seen: map[*yamldoc.Document]*seen{}}
			if err := s.read(parsed, a, r); err != nil {
				failures = append(failures, err)
				continue
			}
			sources = append(sources, s)
		}
	}
	return sources, errors.Join(failures...)
}

// kindsOf is r.Kinds, which also knows the only file of cert-manager: clusterctl
// installs that like components.
func kindsOf(r *repo.Release) func(*repo.Artifact) layouts.FileKind {
	if r.Provider != layouts.CertManager {
		return r.Kinds()
	}
	return func(a *repo.Artifact) layouts.FileKind {
		if a.Name == layouts.CertManagerFile {
			return layouts.Components
		}
		return layouts.Asset
	}
}

// Parsed are files of a release that were read before, by name.
type Parsed map[string]*manifest.File

func (s *source) read(parsed Parsed, a *repo.Artifact, r *repo.Release) error {
	kind := readAs(s.kind, r)
	f := parsed[a.Name]
	if f == nil || f.Kind != kind {
		data, err := a.Text()
		if err != nil {
			return err
		}
		f, s.let = manifest.NewEach(a, kind, data, s.letGo), true
	}
	t, bad := f.Template()
	if bad != nil {
		return f.Err()
	}
	if t == nil {
		t = &vars.Template{}
	}
	s.name, s.file, s.raw, s.content, s.template = f.Artifact.Name, f, f.Raw, f.Raw.Data, t
	for i, r := range t.Refs() {
		if r.Depth == 0 {
			s.top = append(s.top, i)
		}
	}
	for _, v := range t.Variables() {
		s.required[v.Name] = v.Default == nil
	}
	if s.err = f.Err(); s.err != nil {
		s.docs = &yamldoc.Stream{File: s.raw}
		return nil
	}
	s.docs = f.Docs()
	return nil
}

// aloneOnLine reports whether an expression has its line for itself.
func (s *source) aloneOnLine(ref int) bool {
	return s.file.Alone(s.template.Refs()[ref])
}

// span returns the range of the raw file that a scalar was made from.
func (s *source) span(d *yamldoc.Document, n *yamldoc.Node) (start, end int) {
	start, end = d.Offsets(n)
	return d.RawOffset(start), d.RawOffset(end)
}

// within returns the expressions that begin in a range of the raw file, without
// the nested ones.
func (s *source) within(start, end int) []int {
	refs := s.template.Refs()
	i := sort.Search(len(s.top), func(i int) bool { return refs[s.top[i]].Start >= start })
	j := i
	for j < len(s.top) && refs[s.top[j]].Start < end {
		j++
	}
	return s.top[i:j]
}

// open returns the first variable in a scalar whose value only the user knows.
func (s *source) open(d *yamldoc.Document, n *yamldoc.Node) (name string, ok bool) {
	return s.openIn(s.span(d, n))
}

// openIn is open for a range of the raw file.
func (s *source) openIn(start, end int) (name string, ok bool) {
	for _, i := range s.within(start, end) {
		r := &s.template.Refs()[i]
		if s.template.Needed()[r.Name] || options[r.Name].setIn(s) {
			return r.Name, true
		}
	}
	return "", false
}

// show returns the text of a scalar, as it is written if its value is open.
func (s *source) show(d *yamldoc.Document, n *yamldoc.Node) string {
	if n == nil || n.Kind == yamldoc.Null || n.Kind == yamldoc.Map || n.Kind == yamldoc.List {
		return ""
	}
	if _, open := s.open(d, n); open {
		return s.written(d, n)
	}
	return n.Text()
}

// written returns a scalar as it stands in the file, without quotes.
func (s *source) written(d *yamldoc.Document, n *yamldoc.Node) string {
	start, end := s.span(d, n)
	return strings.Trim(s.content[start:max(start, end)], "\"'")
}
