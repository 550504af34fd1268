package inventory

import (
	"context"
	"errors"
	"sort"
	"strings"

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
	// top are the indices of the expressions that are in no other one.
	top []int
	// required are the variables that clusterctl lists; true without default.
	required map[string]bool
}

// kinds are the files with variables, in the order in which a user meets them.
var kinds = [...]layouts.FileKind{layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass}

// load reads the files of a release that want accepts. A file that cannot be
// read does not hide the others: its error is joined to the result's.
func load(ctx context.Context, r *repo.Release, want func(name string, kind layouts.FileKind) bool, parsed Parsed) ([]*source, error) {
	kindOf := kindsOf(r)
	var sources []*source
	var failures []error
	for _, kind := range kinds {
		for _, a := range r.Artifacts {
			if kindOf(a) != kind || !want(a.Name, kind) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			f, err := parsed.file(a, kind, r)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			s, err := newSource(f, kind)
			if err != nil {
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

// file reads a file.
func (p Parsed) file(a *repo.Artifact, kind layouts.FileKind, r *repo.Release) (*manifest.File, error) {
	kind = readAs(kind, r)
	if f := p[a.Name]; f != nil && f.Kind == kind {
		return f, nil
	}
	data, err := a.Bytes()
	if err != nil {
		return nil, err
	}
	return manifest.New(a, kind, data), nil
}

func newSource(f *manifest.File, kind layouts.FileKind) (*source, error) {
	t, bad := f.Template()
	if bad != nil {
		return nil, f.Err()
	}
	if t == nil {
		t = &vars.Template{}
	}
	s := &source{name: f.Artifact.Name, kind: kind, file: f, raw: f.Raw, content: f.Raw.Text(), template: t, required: map[string]bool{}}
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
		return s, nil
	}
	s.docs = f.Docs()
	return s, nil
}

// aloneOnLine reports whether an expression has its line for itself.
func (s *source) aloneOnLine(ref int) bool {
	return s.file.Alone(s.template.Refs()[ref])
}

// offset leads an offset in the parsed text to the raw file.
func (s *source) offset(off int) int {
	if text := s.file.Text(); text != nil {
		return text.RawOffset(off)
	}
	return off
}

// span returns the range of the raw file that a scalar was made from.
func (s *source) span(d *yamldoc.Document, n *yamldoc.Node) (start, end int) {
	start, end = d.Offsets(n)
	return s.offset(start), s.offset(end)
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
		if s.required[r.Name] || options[r.Name].setIn(s) {
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
