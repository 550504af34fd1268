package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// Plan is a configuration made concrete: every provider with every file of its
// release and what each file is made from.
type Plan struct {
	// Providers are sorted by label.
	Providers []PlannedProvider
	// RemoteBases permits bases from the network.
	RemoteBases bool
}

// PlannedProvider is one release to build. Placeholders that depend on the
// version are filled in everywhere.
type PlannedProvider struct {
	layouts.Provider
	// Version is that of the release; zero if it is not known yet.
	Version layouts.Version
	// ComponentsFile is the name of the output that clusterctl installs.
	ComponentsFile string
	// Outputs are sorted by name. ComponentsFile and metadata.yaml are always
	// among them; variants of the components have the kind Components too.
	Outputs []Output
	// SourceReplacements apply to source files before the build.
	SourceReplacements []SourceReplacement
	// Images, then Patches apply to every output of the kind Components.
	Images  []Image
	Patches []Patch
	// Replacements apply to finished outputs.
	Replacements []Replacement
	// Origin is the entry of the configuration, if there is one.
	Origin Origin
}

// Output is one file of a release. Exactly one of File, Kustomize, Concat and
// Run says what it is made from. All paths are relative to the source tree,
// clean, and use slashes.
type Output struct {
	// Name is the file name in the release.
	Name string
	// Kind is what clusterctl does with it; components keep their kind under
	// any name.
	Kind layouts.FileKind
	// File is copied.
	File string
	// Kustomize is a folder to build, under LoadRestrictor.
	Kustomize      string
	LoadRestrictor loadRestrictor
	// Concat are joined.
	Concat []Part
	// Run is a command whose standard output becomes the file.
	Run []string
	// Origin is the entry of the configuration, if there is one.
	Origin Origin
}

// Source names what the output is made from, for messages.
func (o *Output) Source() string {
	switch {
	case o.Kustomize != "":
		return o.Kustomize
	case o.Concat != nil:
		return "several files"
	case o.Run != nil:
		return strings.Join(o.Run, " ")
	}
	return o.File
}

// Output returns the output of that name, or nil.
func (p *PlannedProvider) Output(name string) *Output {
	i, ok := slices.BinarySearchFunc(p.Outputs, name, func(o Output, name string) int { return cmp.Compare(o.Name, name) })
	if !ok {
		return nil
	}
	return &p.Outputs[i]
}

// Resolve makes a complete configuration concrete: it finds the files that the
// patterns mean, names the outputs and fills in the version. It reads only
// fsys. Generated files must exist already; their commands belong before it.
// version returns that of a provider label; nil, or the zero version, leaves
// placeholders as they are.
//
// The error joins every problem of the whole configuration, with the position
// where a configuration file caused it: sources that are not there, patterns
// that match nothing, files without a usable name, two sources for one name.
func Resolve(fsys fs.FS, c *Config, version func(label string) layouts.Version) (*Plan, error) {
	r := &resolver{fsys: fsys}
	for _, g := range c.Generated {
		r.generated(g)
	}
	plan := &Plan{RemoteBases: c.RemoteBases}
	byLabel := map[string]bool{}
	for i := range c.Providers {
		p := r.provider(&c.Providers[i], c.Metadata, version)
		if label := p.Label(); byLabel[label] {
			r.add(p.Origin.Errorf("name", "%s is described twice; merge the entries, and use variants for further components files", label))
			continue
		} else {
			byLabel[label] = true
		}
		plan.Providers = append(plan.Providers, p)
	}
	slices.SortFunc(plan.Providers, func(a, b PlannedProvider) int { return cmp.Compare(a.Label(), b.Label()) })
	for _, p := range plan.Providers {
		for _, o := range p.Outputs {
			r.parts(plan, o)
		}
	}
	for _, d := range c.Publish {
		for i, label := range d.Providers {
			if !byLabel[label] {
				r.add(d.Errorf(fmt.Sprintf("providers[%d]", i), "no provider %q in this tree", label))
			}
		}
	}
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	return plan, nil
}

type resolver struct {
	fsys     fs.FS
	problems []error
}

func (r *resolver) add(err error) { r.problems = append(r.problems, err) }

func (r *resolver) generated(g Generated) {
	for i, f := range g.Files {
		if IsFile(r.fsys, f) {
			continue
		}
		how := "create it before the build"
		if len(g.Run) > 0 {
			how = fmt.Sprintf("it is created by %q, which runs only with --allow exec", strings.Join(g.Run, " "))
		}
		r.add(g.Errorf(fmt.Sprintf("files[%d]", i), "the generated file %s does not exist; %s", f, how))
	}
}

// planning is the work on one provider.
type planning struct {
	*resolver
	out  PlannedProvider
	vars map[string]string
	// named remembers what claimed an output name.
	named map[string]int
}

func (r *resolver) provider(c *Provider, sharedMetadata string, versionOf func(label string) layouts.Version) PlannedProvider {
	t, _ := layouts.TypeByWord(c.Type)
	w := &planning{resolver: r, named: map[string]int{}}
	w.out.Provider = layouts.Provider{Type: t, Name: c.Name}
	w.out.Origin = c.Origin
	for _, problem := range w.out.Problems() {
		r.add(c.Errorf("name", "%s", problem.Message))
	}
	w.vars = map[string]string{"label": w.out.Label(), "type": c.Type, "name": c.Name}
	if versionOf != nil {
		w.out.Version = versionOf(w.out.Label())
	}
	if version := w.out.Version.String(); version != "" {
		w.vars["version"], w.vars["number"] = version, strings.TrimPrefix(version, "v")
	}

	w.components(c.Components)
	for _, v := range c.Variants {
		if v.File == "" {
			r.add(v.Errorf("", "a variant needs a name: set file, such as %s", strings.TrimSuffix(w.recommendedFile(), ".yaml")+"-variant.yaml"))
			continue
		}
		w.components(v)
	}
	if len(w.out.Outputs) > 0 {
		w.out.ComponentsFile = w.out.Outputs[0].Name
	}
	w.metadata(c, sharedMetadata)
	for _, t := range c.Templates {
		w.templates(t, layouts.ClusterTemplate)
	}
	for _, cc := range c.ClusterClasses {
		w.templates(Template(cc), layouts.ClusterClass)
	}
	for _, a := range c.Assets {
		w.asset(a)
	}
	slices.SortFunc(w.out.Outputs, func(a, b Output) int { return cmp.Compare(a.Name, b.Name) })
	w.texts(c)
	return w.out
}

// output adds o unless its name is taken.
func (w *planning) output(o Output, key string) {
	o.Name = expand(o.Name, w.vars)
	if err := fileName(o.Name); err != nil {
		w.add(o.Origin.Errorf(key, "%s: %w", o.Source(), err))
		return
	}
	if i, taken := w.named[o.Name]; taken {
		w.add(o.Origin.Errorf(key, "%s: two sources for %s: %s and %s; leave one out with exclude or give it another name", w.out.Label(), o.Name, w.out.Outputs[i].Source(), o.Source()))
		return
	}
	w.named[o.Name] = len(w.out.Outputs)
	w.out.Outputs = append(w.out.Outputs, o)
}

func (w *planning) recommendedFile() string {
	info, ok := w.out.Type.Info()
	if !ok {
		return "components.yaml"
	}
	return info.ComponentsFile
}

func (w *planning) components(c Components) {
	o := Output{
		Name:           cmp.Or(c.File, w.recommendedFile()),
		Kind:           layouts.Components,
		LoadRestrictor: c.LoadRestrictor,
		Origin:         c.Origin,
	}
	at := path.Clean(expand(c.Path, w.vars))
	switch {
	case c.Path == "":
		origin := c.Origin
		if origin.IsZero() {
			origin = w.out.Origin
		}
		w.add(origin.Errorf("", "%s: the source of its components is unknown; add components: {path: FOLDER} with the folder of the kustomization", w.out.Label()))
	case IsFile(w.fsys, at):
		o.File = at
		o.LoadRestrictor = ""
	case IsKustomization(w.fsys, at):
		o.Kustomize = at
	default:
		w.add(c.Errorf("path", "%s: %s is neither a manifest nor a folder with a kustomization.yaml", w.out.Label(), at))
	}
	w.output(o, "file")
}

func (w *planning) metadata(c *Provider, shared string) {
	file := cmp.Or(c.Metadata, shared)
	switch {
	case file == "":
		major, minor := w.out.Version.Major(), w.out.Version.Minor()
		if v := w.out.Version; v.IsZero() || v.String() == "v0.0.0" {
			minor = 1
		}
		w.add(c.Errorf("", `%s: no metadata.yaml, without which clusterctl cannot install the provider. Create it at the root of the tree:
apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
- major: %d   # one entry for each series of versions …
  minor: %d
  contract: %s   # … with the Cluster API contract it follows`, w.out.Label(), major, minor, cmp.Or(c.Contract, "v1beta2")))
		return
	case !IsFile(w.fsys, expand(file, w.vars)):
		w.add(c.Errorf("metadata", "%s: the metadata file %s does not exist", w.out.Label(), file))
		return
	}
	w.output(Output{Name: layouts.MetadataFile, Kind: layouts.Metadata, File: path.Clean(expand(file, w.vars)), Origin: c.Origin}, "metadata")
}

// naming says how a kind of template gets its file name.
type naming struct {
	key  string // of the configuration, for positions
	file func(name string) string
	of   func(file string) (name string, ok bool)
	want string
}

var namings = map[layouts.FileKind]naming{
	layouts.ClusterTemplate: {"flavor", templateFile, flavorOf, "cluster-template.yaml or cluster-template-FLAVOR.yaml"},
	layouts.ClusterClass:    {"class", layouts.ClusterClassFile, layouts.ClassOf, "clusterclass-CLASS.yaml"},
}

// defaultFlavor is the word for the flavor without a name.
const defaultFlavor = "default"

func templateFile(flavor string) string {
	if flavor == defaultFlavor {
		flavor = ""
	}
	return layouts.TemplateFile(flavor)
}

// NameOf returns the flavor or class in the name of a template of a kind, if it is one.
func NameOf(kind layouts.FileKind, file string) (name string, ok bool) { return namings[kind].of(file) }

func flavorOf(file string) (string, bool) {
	flavor, ok := layouts.Flavor(file)
	return cmp.Or(flavor, defaultFlavor), ok
}

func (w *planning) templates(t Template, kind layouts.FileKind) {
	name := namings[kind]
	matches, key := w.matches(t.Origin, t.Files, t.Kustomize, t.Exclude)
	used := map[string]bool{}
	for _, m := range matches {
		var word string
		switch {
		case t.Name != "":
			word = joinParts(strings.Split(w.fill(t.Name, withoutDefault(m.stars)), "-"))
		case t.Kustomize != "":
			word = joinParts(withoutDefault(m.stars))
		default:
			var ok bool
			if word, ok = NameOf(kind, path.Base(m.path)); !ok {
				w.add(t.Errorf(key, "%s is not named %s; set the name with %s, or leave the file out with exclude", m.path, name.want, name.key))
				continue
			}
		}
		if to, ok := t.Rename[word]; ok {
			used[word] = true
			word = to
		}
		used["alias "+word] = true
		for _, n := range append([]string{word}, t.Aliases[word]...) {
			o := Output{Name: name.file(n), Kind: kind, LoadRestrictor: t.LoadRestrictor, Origin: t.Origin}
			if t.Kustomize != "" {
				o.Kustomize = m.path
			} else {
				o.File = m.path
			}
			w.output(o, name.key)
		}
	}
	if matches == nil {
		return
	}
	for from := range t.Rename {
		if !used[from] {
			w.add(t.Errorf("rename."+from, "nothing is named %q, so it cannot be renamed", from))
		}
	}
	for from := range t.Aliases {
		if !used["alias "+from] {
			w.add(t.Errorf("aliases."+from, "nothing is named %q, so it cannot be given another name", from))
		}
	}
}

// withoutDefault empties the stars that stand for the word default, which adds
// nothing to a name.
func withoutDefault(stars []string) []string {
	out := slices.Clone(stars)
	for i, s := range out {
		if s == defaultFlavor {
			out[i] = ""
		}
	}
	return out
}

// joinParts joins the parts of a name that are not empty.
func joinParts(parts []string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return cmp.Or(strings.Join(parts, "-"), defaultFlavor)
}

// fill replaces {1}, {2} … by what the stars stand for.
func (w *planning) fill(pattern string, stars []string) string {
	vars := map[string]string{}
	for i, s := range stars {
		vars[fmt.Sprint(i+1)] = s
	}
	return expand(expand(pattern, vars), w.vars)
}

// matches finds files, or folders with a kustomization, and names the key that
// asked for them. It is nil after a problem.
func (w *planning) matches(o Origin, files, kustomize string, exclude []string) ([]found, string) {
	key, pattern, what := "files", files, "file"
	var accept func(string) bool
	if kustomize != "" {
		key, pattern, what = "kustomize", kustomize, "folder with a kustomization.yaml"
		accept = func(dir string) bool { return IsKustomization(w.fsys, dir) }
	}
	matches, err := newGlob(expand(pattern, w.vars)).find(w.fsys, globs(exclude, w.vars), accept)
	switch {
	case err != nil:
		w.add(o.Errorf(key, "%s: %w", pattern, err))
		return nil, key
	case len(matches) == 0:
		w.add(o.Errorf(key, "%s: no %s in the tree matches %s", w.out.Label(), what, pattern))
		return nil, key
	}
	return matches, key
}

func (w *planning) asset(a Asset) {
	add := func(o Output) {
		o.Origin = a.Origin
		o.Kind = layouts.Asset
		switch kind := layouts.KindOfFile(expand(o.Name, w.vars)); {
		case kind == layouts.Metadata, kind.Attests():
			w.add(a.Errorf("name", "%s is created by the build and cannot be an asset", o.Name))
			return
		case kind == layouts.ClusterTemplate, kind == layouts.ClusterClass:
			o.Kind = kind
		}
		w.output(o, "name")
	}
	switch {
	case a.Files != "":
		matches, _ := w.matches(a.Origin, a.Files, "", a.Exclude)
		for _, m := range matches {
			add(Output{Name: cmp.Or(w.fill(a.Name, m.stars), path.Base(m.path)), File: m.path})
		}
	case a.Name == "":
		w.add(a.Errorf("", "an asset that is not a copy of a file needs a name"))
	case len(a.Concat) > 0:
		parts := slices.Clone(a.Concat)
		for i := range parts {
			parts[i].File = expand(parts[i].File, w.vars)
			parts[i].Output = expand(parts[i].Output, w.vars)
			if parts[i].File != "" {
				parts[i].File = path.Clean(parts[i].File)
			}
		}
		add(Output{Name: a.Name, Concat: parts})
	default:
		run := slices.Clone(a.Run)
		for i := range run {
			run[i] = expand(run[i], w.vars)
		}
		add(Output{Name: a.Name, Run: run})
	}
}

// parts checks that what o joins exists.
func (r *resolver) parts(plan *Plan, o Output) {
	for _, part := range o.Concat {
		if part.File != "" {
			if !IsFile(r.fsys, part.File) {
				r.add(part.Errorf("file", "%s: the file %s does not exist", o.Name, part.File))
			}
			continue
		}
		label, name, _ := strings.Cut(part.Output, "/")
		i, ok := slices.BinarySearchFunc(plan.Providers, label, func(p PlannedProvider, label string) int { return cmp.Compare(p.Label(), label) })
		var source *Output
		if ok {
			source = plan.Providers[i].Output(name)
		}
		switch {
		case source == nil:
			r.add(part.Errorf("output", "%s: the build does not create %s", o.Name, part.Output))
		case source.Concat != nil:
			r.add(part.Errorf("output", "%s: %s is itself merged from parts; name the parts", o.Name, part.Output))
		}
	}
}

// texts fills in the placeholders of everything that changes content, and
// checks that what is to be replaced is there.
func (w *planning) texts(c *Provider) {
	for _, s := range c.SourceReplacements {
		s.File = path.Clean(expand(s.File, w.vars))
		data, err := fs.ReadFile(w.fsys, s.File)
		switch {
		case err != nil:
			w.add(s.Errorf("file", "the source file %s cannot be read: %w", s.File, err))
		case !bytes.Contains(data, []byte(s.Old)):
			w.add(s.Errorf("old", "%s does not contain the string to replace, %q", s.File, s.Old))
		}
		s.New = expand(s.New, w.vars)
		w.out.SourceReplacements = append(w.out.SourceReplacements, s)
	}
	for _, i := range c.Images {
		i.NewName, i.NewTag = expand(i.NewName, w.vars), expand(i.NewTag, w.vars)
		i.Places = slices.Clone(i.Places)
		for j := range i.Places {
			i.Places[j].Value = expand(i.Places[j].Value, w.vars)
		}
		if i.NewTag != "" && i.Digest != "" {
			w.add(i.Errorf("digest", "the image %s gets both a tag and a digest; give only one", i.Name))
		}
		w.out.Images = append(w.out.Images, i)
	}
	w.out.Patches = c.Patches
	for _, s := range c.Replacements {
		g := newGlob(expand(s.Files, w.vars))
		if !slices.ContainsFunc(w.out.Outputs, func(o Output) bool { _, ok := g.match(o.Name); return ok }) {
			w.add(s.Errorf("files", "%s: no output is named %s", w.out.Label(), s.Files))
		}
		s.New = expand(s.New, w.vars)
		w.out.Replacements = append(w.out.Replacements, s)
	}
}
