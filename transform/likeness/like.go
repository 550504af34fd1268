package likeness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// Releases are what a configuration is to make again.
type Releases struct {
	// Each has one release of each provider.
	Each []*repo.Release
	// Shared is set if they lie in one place, so that a file that several have is one
	// file, made for one of them.
	Shared bool
	// Folder is where they lie in the tree, with slashes; there no origin is looked for.
	Folder string
}

// Counts is how many files of a release the configuration makes.
type Counts struct {
	// Same are byte for byte the released ones, Objects have the same objects.
	Same, Objects, All int
	// Tree is what was built: "the tree of v1.9.0", or "the working tree".
	Tree string
	// Unexplained says of every other file how it differs.
	Unexplained []string
}

// Summary says what is made again, and what is not.
func (c Counts) Summary(version string) string {
	text := fmt.Sprintf("%d of %d files of %s rebuilt byte for byte from %s", c.Same, c.All, version, c.Tree)
	if c.Objects > 0 {
		text += fmt.Sprintf(", %d with the same objects but for the provider label", c.Objects)
	}
	if n := len(c.Unexplained); n > 0 {
		text += fmt.Sprintf(", %d not explained:\n  %s", n, strings.Join(c.Unexplained, "\n  "))
	}
	return text
}

// file is one file of a release.
type file struct {
	provider int // index
	version  version
	name     string
	data     []byte
	kind     layouts.FileKind
	// components is set for what objects are installed from.
	components bool
	from       origin
}

// Like finds the configuration that makes the files of releases from the tree in dir,
// and builds it. If the tag of the release is in git, the tree of the tag is looked
// at, and the working tree only if that explains more. The error is a
// *transform.InputError if nothing of the tree makes a provider.
func Like(ctx context.Context, dir string, r Releases, o Options) (best *Proposal, err error) {
	at, remove, err := tagged(ctx, dir, r.Each[0].Version, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	for _, tree := range []struct{ dir, name string }{{at, "the tree of " + r.Each[0].Version}, {dir, "the working tree"}} {
		if tree.dir == "" || best != nil && len(best.Counts.Unexplained) == 0 {
			continue
		}
		var p *Proposal
		if p, err = like(ctx, tree.dir, r, o); err != nil {
			continue
		}
		if p.Counts.Tree = tree.name; best == nil || len(p.Counts.Unexplained) < len(best.Counts.Unexplained) {
			best = p
		}
	}
	switch {
	case best == nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	if on, err := files.Open(dir); err == nil {
		defer on.Close()
		if _, err := config.Resolve(on, best.Config, nil); err != nil {
			best.Said = append(best.Said, fmt.Sprintf("the working tree has changed since: %v", err))
		}
	}
	return best, nil
}

// tagged writes the tree of a tag into a folder; "" if git does not know the tag.
func tagged(ctx context.Context, dir, version string, o Options) (at string, remove func() error, err error) {
	remove = func() error { return nil }
	tree, err := git.Open(ctx, dir)
	if err != nil {
		return "", remove, nil // no git is needed
	}
	tag := version
	if o.Given != nil {
		tag = o.Given.Version.StripPrefix + version
	}
	commit, err := tree.Commit(ctx, "refs/tags/"+tag)
	switch {
	case errors.Is(err, git.ErrNoRevision):
		return "", remove, nil
	case err != nil:
		return "", remove, err
	}
	temp, err := os.MkdirTemp(o.Temp, "clusterctl-repo-")
	if err != nil {
		return "", remove, err
	}
	remove = func() error { return os.RemoveAll(temp) }
	base := filepath.Join(temp, filepath.Base(tree.Root)) // its name can tell the provider
	if err := errors.Join(os.Mkdir(base, 0o755), tree.Extract(ctx, commit, base)); err != nil {
		return "", remove, fmt.Errorf("extract %s: %w", tag, err)
	}
	return filepath.Join(base, filepath.FromSlash(tree.Path)), remove, nil
}

// likening is the work on one tree.
type likening struct {
	*search
	c     *config.Config
	files []file
	notes []config.Note
}

func like(ctx context.Context, dir string, r Releases, o Options) (*Proposal, error) {
	on, err := files.Open(dir)
	if err != nil {
		return nil, &transform.InputError{Err: fmt.Errorf("cannot read the source tree %s: %w", dir, files.Cause(err))}
	}
	defer on.Close()
	tree, err := kustomize.OpenTree(dir, nil)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	tree.Cache = o.Cache
	l := &likening{search: &search{ctx: ctx, dir: dir, fsys: on, tree: tree, sizes: map[string]int64{}, read: map[string][]byte{}, built: map[string]outcome{}}, c: &config.Config{}}
	if o.Given != nil {
		given := *o.Given
		l.c = &given
	}
	if err := l.walk(r.Folder); err != nil {
		return nil, fmt.Errorf("search the source tree: %w", err)
	}
	if err := l.collect(r); err != nil {
		return nil, err
	}
	l.installed(r)
	if r.Each, err = l.named(dir, r.Each); err != nil {
		return nil, err
	}
	l.origins(r)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	given := l.c.Providers
	l.c.Providers = nil
	for i, release := range r.Each {
		p := l.provider(i, release)
		if g := slices.IndexFunc(given, func(p config.Provider) bool { return p.Label() == release.Provider.Label() }); g >= 0 {
			p = given[g].Over(p)
		}
		l.c.Providers = append(l.c.Providers, p)
	}
	if err := l.alone(dir); err != nil {
		return nil, &transform.InputError{Err: err}
	}
	p := &Proposal{Config: l.c}
	o.Version = transform.Versions{Each: map[string]string{}}
	for _, release := range r.Each {
		o.Version.Each[release.Provider.Label()] = l.c.Version.StripPrefix + release.Version
	}
	if err := p.prove(ctx, dir, l.notes, o); err != nil {
		return nil, err
	}
	l.judge(p, r)
	for _, text := range p.Counts.Unexplained {
		l.notes = append(l.notes, config.Note{Text: "not explained: " + text})
	}
	p.Text, err = config.Write(l.c, l.notes)
	if one := r.Each[0].Version; !slices.ContainsFunc(r.Each, func(r *repo.Release) bool { return r.Version != one }) {
		p.Version = transform.Versions{All: l.c.Version.StripPrefix + one}
	}
	return p, err
}

// maxAsset is the size of the largest file that clusterctl does not read and that is
// looked for; beyond are programs and images.
const maxAsset = 8 << 20

// collect lists the files of the releases, each one once.
func (l *likening) collect(r Releases) error {
	owner := slices.IndexFunc(r.Each, func(r *repo.Release) bool { return r.Provider.Type == layouts.Infrastructure })
	if owner < 0 {
		owner = max(0, slices.IndexFunc(r.Each, func(r *repo.Release) bool { return r.Provider.Type == layouts.Core }))
	}
	for i, release := range r.Each {
		v, err := layouts.ParseVersion(release.Version)
		if err != nil {
			return &transform.InputError{Err: err}
		}
		for _, a := range release.Artifacts {
			f := file{provider: i, version: version{v}, name: a.Name, kind: layouts.KindOfFile(a.Name)}
			f.components = f.kind == layouts.Components || a.Name == release.ComponentsFile
			if f.kind.Attests() || r.Shared && i != owner && !f.components && f.kind != layouts.Metadata {
				continue
			}
			if f.kind == layouts.Asset && a.Size > maxAsset {
				f.from.why = fmt.Sprintf("it is not looked for, because it has %d bytes", a.Size)
			} else if f.data, err = a.Bytes(); err != nil {
				return err
			}
			l.files = append(l.files, f)
		}
	}
	return nil
}

// installed looks for the origins of components: in the places of the convention first,
// then among files, then in all kustomizations.
func (l *likening) installed(r Releases) {
	for i := range l.files {
		f := &l.files[i]
		if !f.components {
			continue
		}
		dirs := l.folders(l.likely(r.Each[f.provider].Provider))
		usual := phrase.Only(dirs, func(dir string) bool { return strings.HasSuffix("/"+dir, "/config/default") })
		f.from = first(
			func() origin { return l.made(f.data, f.version, true, usual) },
			func() origin { return l.copied(f.name, f.data, false) },
			func() origin { return l.made(f.data, f.version, true, dirs) },
			func() origin { return l.copied(f.name, f.data, true) },
		)
	}
}

// first is the first origin that explains a file, or else the likeliest.
func first(looks ...func() origin) (out origin) {
	for _, look := range looks {
		o := look()
		if o.found() && o.why == "" {
			return o
		}
		if !out.found() {
			why := cmp.Or(out.why, o.why)
			out = o
			out.why = why
		}
	}
	return out
}

// named names the providers that no object of their release names, as the tree does.
func (l *likening) named(dir string, releases []*repo.Release) (out []*repo.Release, err error) {
	for i, r := range releases {
		f := slices.IndexFunc(l.files, func(f file) bool { return f.provider == i && f.components })
		if r.Provider.Name == "" && f >= 0 && l.files[f].from.found() {
			from := l.files[f].from
			c := &config.Config{Metadata: layouts.MetadataFile, Discovery: config.Discovery{Disabled: true}}
			c.Providers = []config.Provider{{Type: r.Provider.Type.Short(), Components: config.Components{Path: cmp.Or(from.dir, from.file)}}}
			if c, _, err = complete(dir, c); err != nil {
				return nil, err
			}
			again := *r
			again.Provider.Name = c.Providers[0].Name
			r = &again
		}
		out = append(out, r)
	}
	return out, nil
}

// origins looks for the origins of all other files.
func (l *likening) origins(r Releases) {
	released := map[string][]byte{}
	for _, f := range l.files {
		if f.components {
			released[r.Each[f.provider].Provider.Label()+"/"+f.name] = f.data
		}
	}
	for i := range l.files {
		f := &l.files[i]
		if f.components || f.from.why != "" {
			continue
		}
		if f.kind == layouts.Metadata {
			f.from = l.copied(f.name, f.data, true)
			continue
		}
		word := ""
		if f.kind != layouts.Asset {
			word, _ = config.NameOf(f.kind, f.name)
		}
		likely := func(dir string) int {
			switch base := path.Base(dir); {
			case base == word || base+path.Ext(f.name) == f.name:
				return 0
			case word != "" && strings.Contains(dir, word):
				return 1
			case strings.Contains(dir, "templates") || strings.Contains(dir, "flavors") || strings.Contains(dir, "class"):
				return 2
			}
			return 3
		}
		dirs := l.folders(likely)
		named := phrase.Only(dirs, func(dir string) bool { return likely(dir) == 0 })
		var edited origin
		f.from = first(
			func() origin { return l.copied(f.name, f.data, false) },
			func() origin { return l.made(f.data, f.version, false, named) },
			func() origin { return l.copied(f.name, f.data, true) },
			func() origin { return l.joined(f.data, released) },
			func() origin {
				edited = l.edited(f.name, f.data, f.version)
				return origin{why: edited.why} // that a kustomization builds it says more
			},
			func() origin { return l.made(f.data, f.version, false, dirs) },
			func() origin { return edited },
		)
	}
}

// likely orders the folders that may make the components of a provider: the place of
// the convention, the folder of its type, those that say its label.
func (l *likening) likely(p layouts.Provider) func(dir string) int {
	info, _ := p.Type.Info()
	order := map[string]int{}
	for _, dir := range l.kusts {
		n := 8
		if strings.HasSuffix("/"+dir, "/config/default") {
			n -= 4
		}
		if _, data := config.Kustomization(l.fsys, dir); bytes.Contains(data, []byte(p.Label())) {
			n -= 2
		}
		if strings.Contains(strings.ReplaceAll(dir, "-", ""), strings.ReplaceAll(info.Short, "-", "")) {
			n--
		}
		order[dir] = n
	}
	return func(dir string) int { return order[dir] }
}

// provider describes what the origins of the i-th release say.
func (l *likening) provider(i int, release *repo.Release) config.Provider {
	p := config.Provider{Type: release.Provider.Type.Short(), Name: release.Provider.Name, Templates: []config.Template{}, ClusterClasses: []config.ClusterClass{}}
	info, _ := release.Provider.Type.Info()
	mine := phrase.Only(l.files, func(f file) bool { return f.provider == i })
	main := slices.IndexFunc(mine, func(f file) bool { return f.name == cmp.Or(release.ComponentsFile, info.ComponentsFile) })
	if main < 0 {
		main = slices.IndexFunc(mine, func(f file) bool { return f.components })
	}
	var templates, classes []file
	for n, f := range mine {
		for _, r := range f.from.literals {
			p.Replacements = append(p.Replacements, config.Replacement{Files: f.name, Old: r.old, New: r.new})
		}
		o := f.from
		for _, r := range o.sources {
			if !slices.ContainsFunc(p.SourceReplacements, func(other config.SourceReplacement) bool { return other.File == r.File && other.Old == r.Old }) {
				p.SourceReplacements = append(p.SourceReplacements, r)
			}
		}
		switch {
		case !o.found():
		case f.components || f.kind == layouts.Asset && o.dir != "":
			c := o.restrictor()
			c.Path = cmp.Or(o.dir, o.file)
			if f.name != info.ComponentsFile {
				c.File = f.name
			}
			for _, image := range o.images {
				if !slices.ContainsFunc(p.Images, func(other config.Image) bool { return other.Name == image.Name }) {
					p.Images = append(p.Images, image)
				}
			}
			if n == main {
				p.Components = c
			} else {
				p.Variants = append(p.Variants, c)
			}
		case f.kind == layouts.Metadata:
			p.Metadata = o.file
		case o.parts != nil:
			p.Assets = append(p.Assets, config.Asset{Name: f.name, Concat: o.parts})
		case f.kind == layouts.ClusterTemplate:
			templates = append(templates, f)
		case f.kind == layouts.ClusterClass:
			classes = append(classes, f)
		default:
			a := config.Asset{Files: o.file}
			if path.Base(o.file) != f.name {
				a.Name = f.version.placeholders(f.name)
			}
			p.Assets = append(p.Assets, a)
		}
	}
	p.Templates = append(p.Templates, l.entries(templates, layouts.ClusterTemplate, "cluster-template*.yaml")...)
	for _, t := range l.entries(classes, layouts.ClusterClass, "clusterclass-*.yaml") {
		p.ClusterClasses = append(p.ClusterClasses, config.ClusterClass(t))
	}
	return p
}

// entries describe templates: those of a folder by one pattern, if it means no others,
// and the rest one by one.
func (l *likening) entries(list []file, kind layouts.FileKind, pattern string) (out []config.Template) {
	at := func(f file) string { return cmp.Or(f.from.file, f.from.dir) }
	folder := func(f file) string { return fmt.Sprint(f.from.file != "", f.from.unrestricted, path.Dir(at(f))) }
	for _, group := range phrase.Groups(list, folder) {
		first := group[0].from
		match := pattern
		t := config.Template{Files: path.Join(path.Dir(first.file), match), LoadRestrictor: first.restrictor().LoadRestrictor}
		there := slices.Collect(maps.Keys(l.sizes))
		if first.dir != "" {
			match = "*"
			t.Files, t.Kustomize = "", path.Join(path.Dir(first.dir), match)
			there = l.kusts
		}
		named := func(f file) bool { // as its source
			word, _ := config.NameOf(kind, f.name)
			return path.Base(at(f)) == f.name || f.from.dir != "" && path.Base(at(f)) == word
		}
		natural := phrase.List(phrase.Only(group, named), at)
		others := phrase.Only(there, func(file string) bool {
			return path.Dir(file) == path.Dir(at(group[0])) && config.Match(match, path.Base(file)) && !slices.Contains(natural, file)
		})
		whole := len(natural) > 0 && len(others) == 0 || len(natural) > 1 && first.dir != ""
		if whole {
			slices.Sort(others)
			t.Exclude = others
			out = append(out, t)
		}
		for _, f := range group {
			if is := named(f); !whole || !is {
				one := config.Template{Files: f.from.file, Kustomize: f.from.dir, LoadRestrictor: t.LoadRestrictor}
				if !is || f.from.dir != "" {
					one.Name, _ = config.NameOf(kind, f.name)
				}
				out = append(out, one)
			}
		}
	}
	return out
}

// alone completes the configuration, and sees to it that nothing is detected that the
// releases do not have.
func (l *likening) alone(dir string) (err error) {
	l.c.Providers = slices.DeleteFunc(l.c.Providers, func(p config.Provider) bool { return p.Components.Path == "" })
	if len(l.c.Providers) == 0 {
		why := ""
		for _, f := range l.files {
			why = cmp.Or(why, f.from.why)
		}
		return fmt.Errorf("nothing in the tree makes the components of the release: %s", cmp.Or(why, "it has no kustomization"))
	}
	first := l.c.Providers[0].Metadata
	if !slices.ContainsFunc(l.c.Providers, func(p config.Provider) bool { return p.Metadata != first }) {
		l.c.Metadata = cmp.Or(l.c.Metadata, first)
		for i := range l.c.Providers {
			l.c.Providers[i].Metadata = ""
		}
	}
	full, _, err := complete(dir, l.c)
	if err != nil || len(full.Providers) > len(l.c.Providers) {
		l.c.Discovery.Disabled = true
		if full, _, err = complete(dir, l.c); err != nil {
			return err
		}
	}
	l.c = full
	return nil
}

// judge compares what was built with the releases.
func (l *likening) judge(p *Proposal, r Releases) {
	seen := map[string]bool{}
	for _, f := range l.files {
		release := r.Each[f.provider]
		key := release.Provider.Label() + "/" + f.name
		if r.Shared {
			key = f.name
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		p.Counts.All++
		var built *repo.Artifact
		for _, b := range p.Releases {
			if b.Provider == release.Provider {
				built = b.Artifact(f.name)
			}
		}
		shown := f.name
		if len(r.Each) > 1 && !r.Shared {
			shown = key
		}
		switch why := differs(built, f); {
		case why == "":
			p.Counts.Same++
		case why == sameObjects:
			p.Counts.Objects++
		case p.Problem != nil:
			p.Counts.Unexplained = append(p.Counts.Unexplained, shown+": "+cmp.Or(f.from.why, "the configuration does not build"))
		case built == nil:
			p.Counts.Unexplained = append(p.Counts.Unexplained, shown+": "+cmp.Or(f.from.why, "no file of the tree has its content, and no kustomization builds its objects"))
		default:
			p.Counts.Unexplained = append(p.Counts.Unexplained, shown+" "+cmp.Or(why, f.from.why))
		}
	}
}

const sameObjects = "the same objects"

// differs says how a built file differs from the released one; "" if it does not.
func differs(built *repo.Artifact, f file) string {
	if built == nil {
		return "is not built"
	}
	data, err := built.Bytes()
	switch {
	case err != nil:
		return err.Error()
	case bytes.Equal(data, f.data):
		return ""
	}
	a, b := decode(data), decode(f.data)
	if g := compare(a, b, f.components); len(b) > 0 && len(a) > 0 {
		if g.empty() {
			return sameObjects
		}
		return "is built with other objects: " + g.String()
	}
	return fmt.Sprintf("differs at line %d", differingLine(string(data), string(f.data)))
}
