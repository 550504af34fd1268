package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Impact is what a change means for users who upgrade.
type Impact int

// The impacts, mildest first.
const (
	// Neutral changes need no action.
	Neutral Impact = iota
	// Attention: something that works may need a decision or a value.
	Attention
	// Breaking: something that works stops working, unless it is changed.
	Breaking
)

var impactNames = [...]string{"neutral", "attention", "breaking"}

// String returns the word for output.
func (i Impact) String() string { return impactNames[i] }

// Words are all impacts; see report.Document.
func (Impact) Words() []string { return impactNames[:] }

func (i Impact) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// Area is the part of a release that changes.
type Area string

// The areas, in the order of a report.
const (
	InMetadata    Area = "metadata"
	InAPI         Area = "api"
	InVariables   Area = "variables"
	InImages      Area = "images"
	InPermissions Area = "permissions"
	InObjects     Area = "objects"
	InTemplates   Area = "templates"
	InClasses     Area = "classes"
	InFiles       Area = "files"
)

// Areas lists the areas in their order.
var Areas = []Area{InMetadata, InAPI, InVariables, InImages, InPermissions, InObjects, InTemplates, InClasses, InFiles}

func (Area) Words() []string { return phrase.List(Areas, func(a Area) string { return string(a) }) }

// Kind says whether something was added, removed or changed.
type Kind string

const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

func (Kind) Words() []string { return []string{string(Added), string(Removed), string(Changed)} }

type Change struct {
	Area    Area   `json:"area" doc:"the part of the release that changes"`
	Kind    Kind   `json:"kind" doc:"whether something was added, removed or changed"`
	Impact  Impact `json:"impact" doc:"what it means for an upgrade: breaking, something that works stops working unless it is changed; attention, it may need a decision or a value; neutral, there is nothing to do"`
	Subject string `json:"subject" doc:"what changes, such as an object, a variable or a file"`
	Path    string `json:"path,omitempty" doc:"the field of the subject; absent if all of it changes"`
	Old     string `json:"old,omitempty" doc:"the old value; absent if there is none"`
	New     string `json:"new,omitempty" doc:"the new value; absent if there is none"`
	Message string `json:"message" doc:"what changes, in a sentence"`
	Advice  string `json:"advice,omitempty" doc:"what to do; absent if there is nothing"`
	File    string `json:"file,omitempty" doc:"the name of the file in the release: the old one for what was removed, otherwise the new one; absent if the change has no position"`
	Line    int    `json:"line,omitempty" doc:"the line, from 1; absent if the change has no position"`
	Column  int    `json:"column,omitempty" doc:"the column in Unicode characters, from 1; absent if the change has no position"`
}

// Releases compares two releases of one provider. The changes are sorted by
// area, then by impact, the heaviest first, then by subject. Files that cannot
// be read do not hide the others: the error joins what is wrong with them. What
// cannot be read in one release is compared in neither, and so nothing in it counts
// as new or gone.
func Releases(ctx context.Context, from, to *repo.Release) ([]Change, error) {
	c := &comparison{}
	c.old, c.new = loadBoth(from, to)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.metadata()
	c.definitions()
	c.labels()
	if err := c.variables(ctx); err != nil {
		return nil, err
	}
	if err := c.images(ctx); err != nil {
		return nil, err
	}
	c.permissions()
	c.objects()
	c.templates()
	c.files()
	slices.SortStableFunc(c.changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Areas, a.Area), slices.Index(Areas, b.Area)),
			cmp.Compare(b.Impact, a.Impact),
			cmp.Compare(a.Subject, b.Subject),
			cmp.Compare(a.Path, b.Path),
		)
	})
	return c.changes, errors.Join(append(c.old.failures, c.new.failures...)...)
}

// side is one of the two releases, parsed.
type side struct {
	*repo.Release
	files    map[string]*manifest.File
	failures []error
	unread   []*repo.Artifact
	skip     map[string]bool    // files that are not compared, by name
	roles    map[[2]string]bool // by kind and name; nil until asked for
}

// loadBoth parses the files of two releases that can be compared.
func loadBoth(from, to *repo.Release) (old, new *side) {
	old, new = load(from), load(to)
	unread := slices.Concat(old.unread, new.unread)
	for _, s := range []*side{old, new} {
		kindOf := s.Kinds()
		for _, a := range s.Artifacts {
			s.skip[a.Name] = slices.ContainsFunc(unread, func(u *repo.Artifact) bool {
				return u.Name == a.Name || u.Kind() == layouts.Components && kindOf(a) == layouts.Components
			})
			if s.skip[a.Name] {
				delete(s.files, a.Name)
			}
		}
	}
	return old, new
}

// load parses the files that clusterctl reads.
func load(r *repo.Release) *side {
	s := &side{Release: r, files: map[string]*manifest.File{}, skip: map[string]bool{}}
	kindOf := r.Kinds()
	var wanted []*repo.Artifact
	for _, a := range r.Artifacts {
		switch kindOf(a) {
		case layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass, layouts.Metadata:
			wanted = append(wanted, a)
		}
	}
	files, failures := make([]*manifest.File, len(wanted)), make([]error, len(wanted))
	parallel.Each(len(wanted), func(i int) {
		data, err := wanted[i].Text()
		if err != nil {
			failures[i] = err
			return
		}
		if kind := kindOf(wanted[i]); kind == layouts.Components && len(data) > large {
			files[i] = manifest.NewEach(wanted[i], kind, data, dropSchemas)
		} else {
			files[i] = manifest.New(wanted[i], kind, data)
		}
		if files[i].Kind != layouts.Metadata {
			files[i].Objects()
			failures[i] = unreadable(files[i])
		} else {
			_, failures[i] = metadata.Read(files[i].Raw)
		}
	})
	for i, f := range files {
		if failures[i] != nil {
			s.failures = append(s.failures, fmt.Errorf("%s was not compared: %w", wanted[i].Path, failures[i]))
			s.unread = append(s.unread, wanted[i])
			continue
		}
		s.files[wanted[i].Name] = f
	}
	return s
}

// unreadable says why a file, or a document in it, cannot be read.
func unreadable(f *manifest.File) error {
	if err := f.Err(); err != nil {
		return err
	}
	if s := f.Docs(); s != nil {
		return s.Problem()
	}
	return nil
}

func (s *side) of(kind layouts.FileKind) []*manifest.File {
	all := phrase.Some(s.Artifacts, func(a *repo.Artifact) *manifest.File { return s.files[a.Name] })
	return phrase.Only(all, func(f *manifest.File) bool { return f.Kind == kind })
}

// components returns all objects that clusterctl installs.
func (s *side) components() []*manifest.Object {
	return phrase.Flat(s.of(layouts.Components), (*manifest.File).Objects)
}

type comparison struct {
	old, new *side
	changes  []Change
}

// at notes a change at a node, which is in the new release unless it was
// removed.
func (c *comparison) at(o *manifest.Object, n *yamldoc.Node, change Change) {
	change.File = o.File.Artifact.Name
	if n == nil {
		n = o.Doc.Root
	}
	if pos := o.Doc.Pos(n); !pos.IsZero() {
		change.Line, change.Column = pos.Line, pos.Column
	}
	c.changes = append(c.changes, change)
}

func (c *comparison) note(change Change) { c.changes = append(c.changes, change) }

// is returns the change with what it is and means, in words.
func (c Change) is(kind Kind, impact Impact, advice, format string, args ...any) Change {
	c.Kind, c.Impact, c.Advice, c.Message = kind, impact, advice, fmt.Sprintf(format, args...)
	return c
}

// id names an object, whatever its version is.
type id struct{ group, kind, namespace, name string }

func idOf(o *manifest.Object) id { return id{o.Group, o.Kind, o.Namespace, o.Name} }

// String is the kind and the name, with the namespace if there is one.
func (i id) String() string {
	name := i.name
	if i.namespace != "" {
		name = i.namespace + "/" + name
	}
	return i.kind + " " + name
}

// deref is what a pointer leads to, or the zero value.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// pairs calls visit for everything that is in one of two lists, in the order of
// the old list, then of the new one. What is on one side only comes with nil for
// the other. The second thing with the same key is paired with the second.
func pairs[K comparable, V any](old, new []V, key func(V) K, visit func(k K, old, new *V)) {
	type nth struct {
		key K
		n   int
	}
	number := func(list []V) []nth {
		count := make(map[K]int, len(list))
		out := make([]nth, len(list))
		for i := range list {
			k := key(list[i])
			out[i] = nth{k, count[k]}
			count[k]++
		}
		return out
	}
	keys := number(new)
	index := make(map[nth]int, len(new))
	for i, k := range keys {
		index[k] = i
	}
	paired := make([]bool, len(new))
	for i, k := range number(old) {
		if at, ok := index[k]; ok {
			paired[at] = true
			visit(k.key, &old[i], &new[at])
		} else {
			visit(k.key, &old[i], nil)
		}
	}
	for i := range new {
		if !paired[i] {
			visit(keys[i].key, nil, &new[i])
		}
	}
}
