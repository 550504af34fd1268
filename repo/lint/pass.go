package lint

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// File is one file of a release, parsed on demand and once.
type File = manifest.File

// Release is a release with its files read. During provider and repository
// rules only Metadata and Stored are left in memory.
type Release struct {
	*repo.Release
	// Parsed is the version; the zero Version if it is not one.
	Parsed layouts.Version
	// Guessed is set if the release will have another version; see Options.
	Guessed bool
	// Files are sorted by name; files that clusterctl does not read are left
	// out.
	Files []*File
	// Metadata is nil if metadata.yaml is missing or clusterctl refuses it;
	// MetadataErr says why.
	Metadata    *metadata.Metadata
	MetadataErr error
	// Stored are the versions in which the API server stores objects, by the name
	// of the definition. Only releases before the one at hand have it.
	Stored map[string]string

	with      func() []*Release // that others than the authors of this one have made
	files     func() map[string]*File
	classes   func() []*File
	byClass   func() map[string][]*File // by the ClusterClasses in them
	parts     func() *Index
	forgotten map[*File]bool
	installed func() *Index
	crds      func() []*crd.CRD
	byCRD     func() map[[2]string]*crd.CRD
	uses      contract.Uses // of files that are forgotten
	roles     func() []*contract.Kind
	byRole    func() map[[2]string]*contract.Kind
}

// Series returns the metadata, if clusterctl accepts it, and its series of the version; each
// may be nil.
func (r *Release) Series() (*metadata.Metadata, *metadata.Series) {
	if r.Metadata == nil || r.MetadataErr != nil || r.Parsed.IsZero() {
		return nil, nil
	}
	return r.Metadata, r.Metadata.SeriesOf(r.Parsed.Major(), r.Parsed.Minor())
}

// Installed are the objects of the components file, which an installation
// brings; empty if there is none. Only file and release rules may ask.
func (r *Release) Installed() *Index { return r.installed() }

// MayHold reports whether the components may hold an object in a document that cannot be understood.
func (r *Release) MayHold(what string) bool {
	all := r.Installed()
	if len(all.Objects) == 0 {
		return false
	}
	kind, name, named := strings.Cut(what, " ")
	if !named {
		kind, name = crd.Kind, what
	}
	return all.Objects[0].File.MayHold(kind, name) || slices.ContainsFunc(all.Kind(crd.Group, crd.Kind), func(o *manifest.Object) bool {
		return o.Name == name && !slices.ContainsFunc(r.CRDs(), func(c *crd.CRD) bool { return c.Object == o })
	})
}

// CRDs are the definitions in the components file, in its order, but for those that do not
// tell which kind they define.
func (r *Release) CRDs() []*crd.CRD { return r.crds() }

// CRD returns the definition of a kind, also one in Options.With, or nil.
func (r *Release) CRD(group, kind string) *crd.CRD {
	c, _ := r.Defines(group, kind)
	return c
}

// Defines is CRD with the release that has the definition.
func (r *Release) Defines(group, kind string) (*crd.CRD, *Release) {
	id := [2]string{group, kind}
	if c := r.byCRD()[id]; c != nil {
		return c, r
	}
	for _, w := range r.with() {
		if c := w.byCRD()[id]; c != nil {
			return c, w
		}
	}
	return nil, nil
}

// Brings reports whether the components of the release, or of one in Options.With, hold
// an object, or a file of users does that is a part of all others.
func (r *Release) Brings(group, kind, name string) bool {
	return slices.ContainsFunc(append(slices.Clip(r.with()), r), func(r *Release) bool {
		return r.Installed().Find(group, kind, name) != nil || r.parts().Find(group, kind, name) != nil
	})
}

// IsPart reports whether a file of users holds objects for others next to it: it is not called
// like a template, and has no Cluster.
func (r *Release) IsPart(f *File) bool {
	_, template := layouts.Flavor(f.Artifact.Name)
	return r.Own && !template && f.Kind == layouts.ClusterTemplate &&
		!slices.ContainsFunc(f.Objects(), func(o *manifest.Object) bool { return o.Kind == "Cluster" })
}

// ClassFile returns the file from which the ClusterClass of a Cluster in a file comes: the one
// that clusterctl reads. Files of users may have any name, and use classes of Options.With.
func (r *Release) ClassFile(of *File, name string) *File {
	file := layouts.ClusterClassFile(name)
	if f := r.File(file); f != nil || !r.Own || name == "" {
		return f
	}
	if slices.Contains(r.byClass()[name], of) {
		return of
	}
	var own, others []*File
	for _, in := range append([]*Release{r}, r.with()...) {
		all := in.byClass()[name]
		if f := in.File(file); f != nil {
			all = []*File{f}
		}
		if in.Own {
			own = append(own, all...)
		} else {
			others = append(others, all...)
		}
	}
	if len(own) == 0 {
		own = others
	}
	if len(own) != 1 {
		return nil // none, or which of them is meant is not known
	}
	return own[0]
}

// Roles are the definitions with their roles in the contracts, in the order of
// CRDs. What templates and classes refer to decides, so that rules for these must not
// ask, only rules for components and for releases.
func (r *Release) Roles() []*contract.Kind { return r.roles() }

// Role returns the definition of a kind with its role, or nil.
func (r *Release) Role(group, kind string) *contract.Kind {
	_, in := r.Defines(group, kind)
	if in == nil {
		return nil
	}
	return in.byRole()[[2]string{group, kind}]
}

// index sets up what is made of the files on demand.
func (r *Release) index(profile contract.Profile) {
	r.files = sync.OnceValue(func() map[string]*File {
		out := make(map[string]*File, len(r.Files))
		for _, f := range r.Files {
			out[f.Artifact.Name] = f
		}
		return out
	})
	r.forgotten = map[*File]bool{}
	r.classes = sync.OnceValue(func() []*File {
		return phrase.Only(r.Files, func(f *File) bool { return !r.forgotten[f] && hasClass(f) })
	})
	r.byClass = sync.OnceValue(func() map[string][]*File {
		out := map[string][]*File{}
		for _, f := range r.classes() {
			for _, o := range f.Objects() {
				if o.Kind == "ClusterClass" && !slices.Contains(out[o.Name], f) {
					out[o.Name] = append(out[o.Name], f)
				}
			}
		}
		return out
	})
	r.parts = sync.OnceValue(func() *Index {
		var all []*manifest.Object
		for _, f := range r.Files {
			if r.Own && r.IsPart(f) {
				all = append(all, f.Objects()...)
			}
		}
		return NewIndex(all)
	})
	r.installed = sync.OnceValue(func() *Index {
		components := r.Components() // nil if several files may be it
		for _, f := range r.Files {
			if f.Kind == layouts.Components && (components == nil || f.Artifact == components) {
				return NewIndex(f.Objects())
			}
		}
		return NewIndex(nil)
	})
	r.crds = sync.OnceValue(func() []*crd.CRD {
		all := phrase.List(r.installed().Kind(crd.Group, crd.Kind), crd.Of)
		return phrase.Only(all, func(c *crd.CRD) bool { return c.Group != "" && c.Kind != "" })
	})
	r.byCRD = sync.OnceValue(func() map[[2]string]*crd.CRD {
		out := map[[2]string]*crd.CRD{}
		for _, c := range r.crds() {
			out[[2]string{c.Group, c.Kind}] = c
		}
		return out
	})
	r.uses = contract.Uses{}
	maps.Copy(r.uses, profile.Uses)
	r.roles = sync.OnceValue(func() []*contract.Kind {
		if len(r.crds()) == 0 {
			return nil
		}
		for _, f := range r.Files {
			if !r.forgotten[f] {
				r.uses.Add(f.Artifact.Name, f.Objects())
			}
		}
		kinds := profile.Kinds(r.crds(), r.uses)
		if r.samples(kinds) {
			kinds = profile.Kinds(r.crds(), r.uses)
		}
		return kinds
	})
	r.byRole = sync.OnceValue(func() map[[2]string]*contract.Kind {
		out := map[[2]string]*contract.Kind{}
		for _, k := range r.roles() {
			out[[2]string{k.Group, k.Kind}] = k
		}
		return out
	})
}

// IsSmall reports whether a file that clusterctl does not read may be searched for objects
// all the same: nothing is downloaded for that, and logs and archives are left alone.
func IsSmall(a *repo.Artifact) bool { return !strings.Contains(a.Path, "://") && a.Size <= 1<<20 }

// samples notes what refers to kinds without a role in YAML that clusterctl does not
// read, and reports whether there was any. It downloads nothing.
func (r *Release) samples(kinds []*contract.Kind) bool {
	kinds = phrase.Only(kinds, func(k *contract.Kind) bool { return k.Role == contract.Aux })
	found := false
	for _, a := range r.Artifacts {
		if len(kinds) == 0 || a.Kind() != layouts.Asset ||
			!slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(a.Name)) || !IsSmall(a) {
			continue
		}
		data, err := a.Text()
		if err == nil && slices.ContainsFunc(kinds, func(k *contract.Kind) bool { return strings.Contains(data, k.Kind) }) {
			r.uses.Add(a.Name, manifest.New(a, layouts.ClusterTemplate, data).Objects())
			found = true
		}
	}
	return found
}

// stored returns what Stored is for the releases that follow.
func (r *Release) stored() map[string]string {
	out := map[string]string{}
	for _, c := range r.crds() {
		if v := c.Storage(); v != nil {
			// The texts of a document share its memory, which is given up.
			out[strings.Clone(c.Object.Name)] = strings.Clone(v.Name)
		}
	}
	return out
}

// Index finds objects by kind and name.
type Index struct {
	// Objects are all, in the order of their files.
	Objects []*manifest.Object
	byKind  map[[2]string][]*manifest.Object
	byName  map[[3]string]*manifest.Object
}

// NewIndex returns an index of objects.
func NewIndex(objects []*manifest.Object) *Index {
	i := &Index{Objects: objects, byKind: map[[2]string][]*manifest.Object{}, byName: map[[3]string]*manifest.Object{}}
	for _, o := range objects {
		kind, name := [2]string{o.Group, o.Kind}, [3]string{o.Group, o.Kind, o.Name}
		i.byKind[kind] = append(i.byKind[kind], o)
		if i.byName[name] == nil {
			i.byName[name] = o
		}
	}
	return i
}

// Kind returns the objects of a group and kind, in any version.
func (i *Index) Kind(group, kind string) []*manifest.Object { return i.byKind[[2]string{group, kind}] }

// Find returns the first object of a group, kind and name, or nil. Namespaces do
// not count, as clusterctl puts all objects into one.
func (i *Index) Find(group, kind, name string) *manifest.Object {
	return i.byName[[3]string{group, kind, name}]
}

// File returns the file of that name, or nil.
func (r *Release) File(name string) *File {
	if r.files == nil {
		return nil // an earlier release, of which no files are left
	}
	return r.files()[name]
}

// OfKind returns the files of a kind.
func (r *Release) OfKind(kind layouts.FileKind) []*File {
	return phrase.Only(r.Files, func(f *File) bool { return f.Kind == kind })
}

// WithClasses are the files that hold a ClusterClass or a Cluster that uses one. Rules
// that look for these in other files than their own ask for them here, because all
// other templates may have to be parsed again. Only file and release rules may ask.
// The files of the release come last, because findings in others are not reported.
func (r *Release) WithClasses() []*File {
	out := r.classes()
	for _, w := range r.with() {
		if r.Own && w.Own {
			out = slices.Concat(w.classes(), out)
		}
	}
	return out
}

// hasClass reports whether a file belongs to WithClasses.
func hasClass(f *File) bool {
	return slices.ContainsFunc(f.Objects(), func(o *manifest.Object) bool {
		return o.Kind == "ClusterClass" || o.Kind == "Cluster" && o.Get("spec", "topology") != nil
	})
}

// forget lets go of what was parsed of a file without a class.
func (r *Release) forget(f *File) {
	r.uses.Add(f.Artifact.Name, f.Objects())
	r.forgotten[f] = true
	f.Forget()
}

// provider is a provider with its releases, oldest first.
type provider struct {
	*repo.Provider
	Releases []*Release
	// Complete is set if all versions are known, so that rules may reason
	// about versions that are missing.
	Complete bool
}

// Pass is one call of a rule. Which fields are set depends on the scope: a
// file rule sees all of them but Config, a repository rule only Repository and
// Config.
type Pass struct {
	Rule       *Rule
	Repository *repo.Repository
	// Config is the clusterctl.yaml in the root of the repository, or nil.
	Config   *File
	Provider *provider
	Release  *Release
	File     *File
	// Profile is the Cluster API that the release is judged for.
	Profile contract.Profile
	// Kustomizations are for ScopeKustomizations.
	Kustomizations []*yamldoc.Stream
	// Ignores are the comments that suppress rules, for ScopeComments; Known
	// tells whether there is a rule of an ID, and Ran whether it was applied.
	Ignores    []*Ignore
	Known, Ran func(id string) bool

	severity Severity
	part     *part
}

// each returns passes for files.
func (p *Pass) each(files []*File) []Pass {
	out := make([]Pass, len(files))
	for i, f := range files {
		out[i] = *p
		out[i].File = f
	}
	return out
}

// Images asks the registries for images. Only rules with the flag CheckImages may
// ask. One that cannot be asked for is not a finding: the report is incomplete then.
func (p *Pass) Images(names []ImageName) []Image { return p.part.images(names) }

// Report adds a finding; rule and severity are filled in if they are not set. An error
// at a value that is the default of a variable is a warning then, as users may set
// another value; but what clusterctl refuses by default is an error.
func (p *Pass) Report(f Finding) {
	if f.lacks != "" && p.Release.MayHold(f.lacks) {
		return
	}
	f.Rule = p.Rule
	if f.Severity == Off {
		f.Severity = p.Rule.Severity
		if a := f.about; f.Severity == Error && p.Rule.Proof != Clusterctl && a != nil && a.node != nil &&
			a.in.Artifact != nil {
			if name := a.in.Default(a.doc, a.node); name != "" {
				f.Unless(name)
			}
		}
	}
	if p.severity != Off {
		f.Severity = p.severity
	}
	in := p.File
	if f.about != nil && f.about.in != nil {
		in = f.about.in
	}
	others := p.part.with()
	if p.Release != nil {
		others = p.Release.with()
	}
	if in != nil && in.Artifact != nil && slices.ContainsFunc(others, func(r *Release) bool { return r.File(in.Artifact.Name) == in }) {
		return // of Options.With, or beside what was named: not judged
	}
	if in != nil && in.Artifact != nil && f.about != nil && in.CutAt(f.End) {
		if end := "end of " + in.Raw.Name; f.Severity == Error {
			f = f.Because(end)
		} else {
			f = f.Perhaps(end)
		}
	}
	o := p.identify(&f)
	if in != nil {
		f.Message, f.Fix, f.Object = in.Written(f.Message), in.Written(f.Fix), in.Written(f.Object)
	}
	if f.Edit != nil && p.part.opts.Edits {
		f.Edit.Linted = p.text(f.File)
	}
	if trace := p.part.opts.Trace; trace != nil {
		trace(&f, o.doc, o.node, o.start, o.end)
	}
	f.Message, f.Object = short(f.Message), short(f.Object)
	f.Source = strings.Clone(f.Source) // a part of the text, which would stay in memory
	p.part.add(f)
}

// short leaves out the middle of a text that nobody would read to its end, because
// a value of megabytes is in it.
func short(text string) string {
	const most, end = 2000, 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-end], "") + " … " + strings.ToValidUTF8(text[len(text)-end:], "")
}

// text returns the content of a file of the release, by its path.
func (p *Pass) text(path string) string {
	if p.Release != nil {
		for _, f := range p.Release.Files {
			if f.Raw.Name == path {
				return f.Raw.Data
			}
		}
	}
	return ""
}

// Path reports something about a file or folder as a whole.
func (p *Pass) Path(path, format string, args ...any) {
	p.Report(Finding{File: path, Message: fmt.Sprintf(format, args...)})
}

// On reports a value of an object, in whatever file it is. A nil node is the
// object as a whole.
func (p *Pass) On(o *manifest.Object, n *yamldoc.Node, format string, args ...any) {
	p.Report(On(o, n, format, args...))
}

// Node reports a value of the current file. A nil node is the document.
func (p *Pass) Node(d *yamldoc.Document, n *yamldoc.Node, format string, args ...any) {
	p.Report(At(p.File, d, n, format, args...))
}

// Span reports a byte range of the raw text of the current file.
func (p *Pass) Span(start, end int, format string, args ...any) {
	p.Report(Spanning(p.File, start, end, format, args...))
}

// SourceLine returns a line for Finding.Source; it is empty if the line is too
// long to be of use to people, as in minified JSON.
func SourceLine(f *File, line int) string {
	const longest = 4 << 10
	if f.Raw.Offset(yamldoc.Pos{Line: line + 1, Column: 1})-f.Raw.Offset(yamldoc.Pos{Line: line, Column: 1}) > longest {
		return ""
	}
	return f.Raw.Line(line)
}

// At makes a finding at a value, to be completed and reported.
func At(f *File, d *yamldoc.Document, n *yamldoc.Node, format string, args ...any) Finding {
	pos := f.Raw.Pos(f.Raw.Offset(d.Pos(n))) // a parser may stop behind the end
	return Finding{
		File: f.Raw.Name, Pos: pos, End: d.End(n), Source: SourceLine(f, pos.Line),
		Object: ObjectName(d), Message: fmt.Sprintf(format, args...), about: &about{in: f, doc: d, node: n},
	}
}

// On is At for a value of an object.
func On(o *manifest.Object, n *yamldoc.Node, format string, args ...any) Finding {
	return At(o.File, o.Doc, n, format, args...)
}

// Replace is an edit that puts a text in the place of a scalar; nil if the scalar
// is not written in the file as it was read.
func Replace(f *File, d *yamldoc.Document, n *yamldoc.Node, text string) *Edit {
	if n == nil || n.Kind == yamldoc.Map || n.Kind == yamldoc.List || n.Style == yamldoc.Block || !d.Placed() {
		return nil
	}
	from, to := d.Offsets(n)
	start := f.Raw.Offset(d.Pos(n))
	end := start + to - from
	if end > len(f.Raw.Data) || f.Raw.Data[start:end] != d.Text()[from:to] {
		return nil
	}
	return &Edit{Start: start, End: end, Text: text}
}

// Spanning makes a finding at a byte range of the raw text.
func Spanning(f *File, start, end int, format string, args ...any) Finding {
	pos := f.Raw.Pos(start)
	source, column := f.Raw.Excerpt(pos)
	return Finding{
		File: f.Raw.Name, Pos: pos, End: f.Raw.Pos(end), Source: source, SourceColumn: column,
		Message: fmt.Sprintf(format, args...), about: &about{start: start, end: end},
	}
}

// Where says where a value of an object is written, in the file that people edit.
func (p *Pass) Where(o *manifest.Object, n *yamldoc.Node) string {
	f := On(o, n, "")
	if trace := p.part.opts.Trace; trace != nil {
		trace(&f, o.Doc, n, 0, 0)
	}
	return fmt.Sprintf("line %d of %s", f.Pos.Line, path.Base(f.File))
}

// ObjectName names the Kubernetes object in a document, with what is there of
// kind, namespace and name.
func ObjectName(d *yamldoc.Document) string {
	kind := d.Root.Get("kind").Str()
	name := d.Root.Get("metadata", "name").Str()
	if ns := d.Root.Get("metadata", "namespace").Str(); ns != "" {
		name = ns + "/" + name
	}
	switch {
	case kind == "":
		return name
	case name == "":
		return kind
	}
	return kind + " " + name
}
