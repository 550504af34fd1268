package inventory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/doc"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/vars"
)

// source is one file in which clusterctl replaces variables.
type source struct {
	name     string
	kind     layouts.FileKind
	raw      *doc.File
	content  string // of raw, so that expressions in expressions share memory
	template *vars.Template
	// text and docs are what clusterctl makes of the file if nothing has a
	// value but what it sets itself, and samples where it insists on one. Text
	// is nil if that fails; docs never.
	text *vars.Text
	docs *doc.Stream
	err  error // why text is nil
	// top are the indices of the expressions that are in no other one.
	top []int
	// required are the variables that clusterctl lists; true without default.
	required map[string]bool
}

// kinds are the files with variables, in the order in which a user meets them.
var kinds = [...]layouts.FileKind{layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass}

// load reads the files of a release that want accepts. A file that cannot be
// read does not hide the others: its error is joined to the result's.
func load(ctx context.Context, r *repo.Release, want func(name string, kind layouts.FileKind) bool) ([]*source, error) {
	components := r.Components()
	var sources []*source
	var failures []error
	for _, kind := range kinds {
		for _, a := range r.Artifacts {
			k := a.Kind()
			if a == components {
				k = layouts.Components
			}
			if k != kind || !want(a.Name, kind) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			data, err := a.Bytes()
			if err != nil {
				failures = append(failures, err)
				continue
			}
			s, err := newSource(a, kind, data)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			sources = append(sources, s)
		}
	}
	return sources, errors.Join(failures...)
}

func newSource(a *repo.Artifact, kind layouts.FileKind, data []byte) (*source, error) {
	s := &source{name: a.Name, kind: kind, raw: doc.NewFile(a.Path, data), content: string(data), required: map[string]bool{}}
	t, err := vars.Parse(data)
	if err != nil {
		var at *vars.Error
		if errors.As(err, &at) {
			return nil, s.raw.Errorf(at.Offset, "clusterctl refuses the whole file because of this expression: %w", at.Err)
		}
		return nil, fmt.Errorf("%s: %w", a.Path, err)
	}
	s.template = t
	for i, r := range t.Refs() {
		if r.Depth == 0 {
			s.top = append(s.top, i)
		}
	}
	for _, v := range t.Variables() {
		s.required[v.Name] = v.Default == nil
	}
	s.render()
	return s, nil
}

// render sets text and docs. A variable that stands for lines of YAML has no
// sample that fits everywhere; if the samples break the file, those that are
// alone on their line are left empty.
func (s *source) render() {
	s.execute(lint.Sample)
	if s.text == nil || sound(s.docs) {
		return
	}
	lines := map[string]bool{}
	for i, r := range s.template.Refs() {
		if s.required[r.Name] && s.aloneOnLine(i) {
			lines[r.Name] = true
		}
	}
	if len(lines) == 0 {
		return
	}
	text, docs := s.text, s.docs
	s.execute(func(name string) string {
		if lines[name] {
			return ""
		}
		return lint.Sample(name)
	})
	if !sound(s.docs) {
		s.text, s.docs = text, docs
	}
}

func (s *source) execute(sample func(string) string) {
	text, err := s.template.Execute(func(name string) (string, bool) {
		if s.required[name] || options[name].setIn(s) {
			return sample(name), true
		}
		return "", false
	})
	if err != nil {
		var at *vars.Error
		if errors.As(err, &at) {
			err = s.raw.Errorf(at.Offset, "clusterctl cannot replace this expression: %w", at.Err)
		}
		s.text, s.docs, s.err = nil, &doc.Stream{File: s.raw}, err
		return
	}
	s.text, s.docs = text, doc.ParseText(s.raw, text.Data, text.RawOffset)
}

func sound(s *doc.Stream) bool {
	return s.Err == nil && !slices.ContainsFunc(s.Docs, func(d *doc.Document) bool { return d.Err != nil })
}

// aloneOnLine reports whether an expression has its line for itself.
func (s *source) aloneOnLine(ref int) bool {
	r := s.template.Refs()[ref]
	before := bytes.TrimRight(s.raw.Data[:r.Start], " \t")
	after := bytes.TrimLeft(s.raw.Data[r.End:], " \t\r")
	return (len(before) == 0 || before[len(before)-1] == '\n') && (len(after) == 0 || after[0] == '\n')
}

// span returns the range of the raw file that a scalar was made from.
func (s *source) span(d *doc.Document, n *doc.Node) (start, end int) {
	start, end = d.Offsets(n)
	return s.text.RawOffset(start), s.text.RawOffset(end)
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
func (s *source) open(d *doc.Document, n *doc.Node) (name string, ok bool) {
	for _, i := range s.within(s.span(d, n)) {
		r := &s.template.Refs()[i]
		if s.required[r.Name] || options[r.Name].setIn(s) {
			return r.Name, true
		}
	}
	return "", false
}

// show returns the text of a scalar, as it is written if its value is open.
func (s *source) show(d *doc.Document, n *doc.Node) string {
	if n == nil || n.Kind == doc.Null || n.Kind == doc.Map || n.Kind == doc.List {
		return ""
	}
	if _, open := s.open(d, n); open {
		return s.written(d, n)
	}
	return n.Text
}

// written returns a scalar as it stands in the file, without quotes.
func (s *source) written(d *doc.Document, n *doc.Node) string {
	start, end := s.span(d, n)
	return strings.Trim(s.content[start:max(start, end)], "\"'")
}
