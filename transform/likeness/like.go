package likeness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// Same are byte for byte the released ones, Objects have the same objects, and
	// Labelled are those of Objects whose provider label is another one.
	Same, Objects, Labelled, All int
	// Tree is what was built: "the tree of v1.9.0", or "the working tree".
	Tree string
	// Unexplained says of every other file how it differs.
	Unexplained []string
}

// Summary says what is made again, and what is not.
func (c Counts) Summary(version string) string {
	text := fmt.Sprintf("%d of %d files of %s rebuilt byte for byte from %s", c.Same, c.All, version, c.Tree)
	if c.Objects > 0 {
		text += fmt.Sprintf(", %d with the same objects", c.Objects)
	}
	if c.Labelled > 0 {
		text += fmt.Sprintf(" (%d with another provider label, which the build sets)", c.Labelled)
	}
	if n := len(c.Unexplained); n > 0 {
		text += fmt.Sprintf(", %d not explained:\n  %s", n, strings.Join(c.Unexplained, "\n  "))
	}
	return text
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
	then := "the tree of " + r.Each[0].Version
	for _, tree := range []struct{ dir, name string }{{at, then}, {dir, "the working tree"}} {
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
	base, err := tree.Extract(ctx, commit, temp)
	if err != nil {
		return "", remove, fmt.Errorf("extract %s: %w", tag, err)
	}
	return filepath.Join(base, filepath.FromSlash(tree.Path)), remove, nil
}

// likening is the work on one tree.
type likening struct {
	*search
	Releases
	c     *config.Config
	files []file
}

type file struct {
	release *repo.Release
	version version
	name    string
	data    []byte
	kind    layouts.FileKind
	// components is set for what objects are installed from.
	components bool
	from       origin
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
	s := &search{ctx: ctx, dir: dir, fsys: on, tree: tree, net: o.AllowRemote}
	if err := s.walk(r.Folder); err != nil {
		return nil, fmt.Errorf("search the source tree: %w", err)
	}
	l := &likening{search: s, Releases: r, c: &config.Config{}}
	if o.Given != nil {
		given := *o.Given
		l.c = &given
	}
	for _, step := range []func() error{l.collect, l.loosen, l.installed, l.origins, l.describe, l.alone, ctx.Err} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	p := &Proposal{Config: l.c}
	o.Version = transform.Versions{Each: map[string]string{}}
	for _, release := range l.Each {
		o.Version.Each[release.Provider.Label()] = l.c.Version.StripPrefix + release.Version
	}
	if err := p.prove(ctx, dir, nil, o); err != nil {
		return nil, err
	}
	p.Counts = l.judge(p)
	notes := phrase.List(p.Counts.Unexplained, func(text string) config.Note {
		return config.Note{Text: "not explained: " + text}
	})
	if one := r.Each[0].Version; !slices.ContainsFunc(r.Each, func(r *repo.Release) bool { return r.Version != one }) {
		p.Version = transform.Versions{All: l.c.Version.StripPrefix + one}
	}
	p.Text, err = config.Write(l.c, notes)
	return p, err
}

// maxAsset is the size of the largest file that clusterctl does not read and that is
// looked for; beyond are programs and images.
const maxAsset = 8 << 20

// collect lists the files of the releases, each one once.
func (l *likening) collect() error {
	owner := 0 // of what is shared
	for _, typ := range []layouts.ProviderType{layouts.Core, layouts.Infrastructure} {
		is := func(r *repo.Release) bool { return r.Provider.Type == typ }
		if i := slices.IndexFunc(l.Each, is); i >= 0 {
			owner = i
		}
	}
	l.Each = slices.Clone(l.Each)
	for i := range l.Each {
		release := *l.Each[i]
		l.Each[i] = &release
		v, err := layouts.ParseVersion(release.Version)
		if err != nil {
			return &transform.InputError{Err: err}
		}
		for _, a := range release.Artifacts {
			f := file{release: &release, version: version{v}, name: a.Name, kind: layouts.KindOfFile(a.Name)}
			f.components = f.kind == layouts.Components || a.Name == release.ComponentsFile
			if f.kind.Attests() || l.Shared && i != owner && !f.components && f.kind != layouts.Metadata {
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

// loosen finds out which files git does not track, such as copies of a release, if there
// is a git repository.
func (l *likening) loosen() error {
	tree, err := git.Open(l.ctx, l.dir)
	if err != nil {
		return nil // no git is needed
	}
	tracked, err := tree.Tracked(l.ctx)
	if err != nil || len(tracked) == 0 {
		return err
	}
	l.loose = map[string]bool{}
	for name := range l.sizes {
		l.loose[name] = !tracked[name]
	}
	return nil
}

// first is the first origin that explains a file, or else the likeliest.
func first(looks ...func() origin) (out origin) {
	for _, look := range looks {
		o := look()
		if o.found() && o.why == "" {
			return o
		}
		if !out.found() {
			o.why = cmp.Or(out.why, o.why)
			out = o
		}
	}
	return out
}

// installed looks for the origins of components: in the places of the convention first,
// then among files, then in all kustomizations. A provider that no object of the
// release names has the name that the tree gives to what is found.
func (l *likening) installed() error {
	for i := range l.files {
		f := &l.files[i]
		if !f.components {
			continue
		}
		dirs := l.folders(l.likely(f.release.Provider))
		usual := phrase.Only(dirs, func(dir string) bool { return strings.HasSuffix("/"+dir, "/config/default") })
		f.from = first(
			func() origin { return l.made(f.data, f.version, true, usual) },
			func() origin { return l.copied(f.name, f.data, sameName) },
			func() origin { return l.made(f.data, f.version, true, dirs) },
			func() origin { return l.copied(f.name, f.data, anyFile) },
		)
		if p := &f.release.Provider; p.Name == "" && f.from.found() {
			c := &config.Config{Metadata: layouts.MetadataFile, Discovery: config.Discovery{Disabled: true}}
			c.Providers = []config.Provider{{Type: p.Type.Short(), Components: f.from.components()}}
			c, _, err := complete(l.dir, c)
			if err != nil {
				return err
			}
			p.Name = c.Providers[0].Name
		}
	}
	return nil
}

// likely orders the folders that may make the components of a provider: the place of
// the convention, those that say its label, the folder of its type.
func (l *likening) likely(p layouts.Provider) func(dir string) int {
	info, _ := p.Type.Info()
	order := map[string]int{}
	for _, dir := range l.kusts {
		if !strings.HasSuffix("/"+dir, "/config/default") {
			order[dir] += 4
		}
		if _, data := config.Kustomization(l.fsys, dir); !bytes.Contains(data, []byte(p.Label())) {
			order[dir] += 2
		}
		if !strings.Contains(strings.ReplaceAll(dir, "-", ""), strings.ReplaceAll(info.Short, "-", "")) {
			order[dir]++
		}
	}
	return func(dir string) int { return order[dir] }
}

// origins looks for the origins of all other files.
func (l *likening) origins() error {
	released := map[string][]byte{}
	for _, f := range l.files {
		if f.components {
			released[f.release.Provider.Label()+"/"+f.name] = f.data
		}
	}
	for i := range l.files {
		f := &l.files[i]
		switch {
		case f.components || f.from.why != "":
			continue
		case f.kind == layouts.Metadata:
			f.from = l.copied(f.name, f.data, anyFile)
			continue
		}
		likely := func(dir string) int {
			word := f.word()
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
		edited := l.edited(f.name, f.data, f.version)
		f.from = first(
			func() origin { return l.copied(f.name, f.data, sameName) },
			func() origin { return origin{why: edited.why} }, // what builds it says more than an edited file
			func() origin { return l.made(f.data, f.version, false, named) },
			func() origin { return l.copied(f.name, f.data, anyName) },
			func() origin { return l.joined(f.data, released) },
			func() origin { return l.made(f.data, f.version, false, dirs) },
			func() origin { return l.copied(f.name, f.data, anyFile) },
			func() origin { return edited },
		)
	}
	return nil
}

// word is the flavor or class that a file is.
func (f file) word() (word string) {
	if f.kind == layouts.ClusterTemplate || f.kind == layouts.ClusterClass {
		word, _ = config.NameOf(f.kind, f.name)
	}
	return word
}

// judge compares what was built with the releases.
func (l *likening) judge(p *Proposal) (c Counts) {
	seen := map[string]bool{}
	for _, f := range l.files {
		shown := f.name
		if len(l.Each) > 1 && !l.Shared {
			shown = f.release.Provider.Label() + "/" + f.name
		}
		if seen[shown] {
			continue
		}
		seen[shown] = true
		c.All++
		var built *repo.Artifact
		for _, b := range p.Releases {
			if b.Provider == f.release.Provider {
				built = b.Artifact(f.name)
			}
		}
		switch why := differs(built, f); {
		case why == "":
			c.Same++
		case why == sameObjects, why == otherLabel:
			c.Objects++
			if why == otherLabel {
				c.Labelled++
			}
		case p.Problem != nil:
			c.Unexplained = append(c.Unexplained, shown+": "+cmp.Or(f.from.why, "the configuration does not build"))
		default:
			c.Unexplained = append(c.Unexplained, shown+why)
		}
	}
	return c
}

// What differs says of files that are not the same and yet explained.
const (
	sameObjects = "the same objects"
	otherLabel  = "the same objects with another label"
)

// differs says how a built file differs from the released one; "" if it does not.
func differs(built *repo.Artifact, f file) string {
	if built == nil {
		return ": " + cmp.Or(f.from.why, "no file of the tree has its content, and no kustomization builds its objects")
	}
	data, err := built.Bytes()
	switch {
	case err != nil:
		return ": " + err.Error()
	case bytes.Equal(data, f.data):
		return ""
	}
	a, b := decode(data), decode(f.data)
	if g := compare(a, b, f.components); len(a) > 0 && len(b) > 0 {
		switch {
		case g.empty() && !compare(a, b, false).empty():
			return otherLabel
		case g.empty():
			return sameObjects
		}
		return " is built with other objects: " + g.String()
	}
	return fmt.Sprintf(" differs at line %d", differingLine(string(data), string(f.data)))
}
