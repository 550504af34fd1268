package transform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/program"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// Options say how a source tree is built. The zero value builds what the
// configuration and the conventions say, and runs no command.
type Options struct {
	// Config is the configuration file; empty means clusterctl-repo.yaml or
	// .clusterctl-repo.yaml in the tree, if one of them is there.
	Config string
	// Given is a configuration to use instead of a file; nil reads the file.
	Given *config.Config
	// Version of the releases, for Tree.Build; Resolve proposes versions if it is zero.
	Version Versions
	// Providers are the labels of the providers to build; none means all. Outputs of
	// others are made only if a file of these is joined from them.
	Providers []string
	// Images to set, after those of the configuration.
	Images []Image
	// AsIs leaves objects as kustomize gives them: no provider label, and no check of
	// namespaces. Configured images and patches still apply.
	AsIs bool
	// Bare makes each file as its source gives it, and no checksum file; nothing is
	// judged.
	Bare bool
	// AddSeries adds the release series of the version to metadata.yaml if it is
	// missing there, with the contract that the CRDs of the components have.
	AddSeries bool
	// AllowExec runs the commands that the configuration lists.
	AllowExec bool
	// AllowRemote lets kustomizations load bases from the network, if the
	// configuration permits it.
	AllowRemote bool
	// Own lets Resolve take what is no repository for templates of users; see Own.
	Own bool
	// Finished makes Resolve refuse what has to be built first.
	Finished bool
	// Tolerant leaves what is wrong with objects and metadata to lint, and keeps the
	// provider labels that objects have; see Build.Problem.
	Tolerant bool
	// Overlay is the content of files to use instead of those on disk, by their
	// slash-separated path in the tree.
	Overlay map[string][]byte
	// Cache keeps what kustomize made for a later build; nil keeps nothing.
	Cache *kustomize.Cache
	// Stderr gets what commands print on standard error; nil throws it away.
	Stderr io.Writer
	// Note is told what a person may want to know; nil is told nothing.
	Note func(Note)
}

// Note is something about a tree or its build that is not an error.
type Note struct {
	Text string
	// Detail is set for decisions that are as usual.
	Detail bool
}

func (o *Options) note(detail bool, format string, args ...any) {
	if o.Note != nil {
		o.Note(Note{Text: fmt.Sprintf(format, args...), Detail: detail})
	}
}

// InputError is a request or a configuration that is wrong, so that the same
// call fails again until it is changed.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

func (e *InputError) Unwrap() error { return e.Err }

func wrong(err error) error {
	if err == nil {
		return nil
	}
	return &InputError{err}
}

func wrongf(format string, args ...any) error { return wrong(fmt.Errorf(format, args...)) }

// ConfigNames are the names of a configuration at the root of a source tree.
var ConfigNames = []string{config.FileName, "." + config.FileName}

// LoadConfig reads a configuration: the named file, or the one at the root of the
// tree dir, which no link leads out of. It is empty, and file too, if there is
// none. Errors are *InputError.
func LoadConfig(dir, name string) (c *config.Config, file string, err error) {
	file, data, err := configFile(dir, name)
	switch {
	case err != nil:
		return nil, file, wrongf("%s: %w", file, files.Cause(err))
	case file == "":
		return &config.Config{}, "", nil
	}
	c, err = config.Decode(file, data)
	return c, file, wrong(err)
}

func configFile(dir, name string) (file string, data []byte, err error) {
	if name != "" {
		data, err := files.Read(name)
		return name, data, err
	}
	tree, err := files.Open(dir)
	if err != nil {
		return "", nil, nil // who needs the folder reports it
	}
	defer tree.Close()
	for _, base := range ConfigNames {
		data, err := tree.ReadFile(base)
		if _, there := os.Lstat(filepath.Join(dir, base)); errors.Is(err, fs.ErrNotExist) && there == nil {
			err = errors.New("the link is broken")
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(dir, base), data, err
		}
	}
	return "", nil, nil
}

// Tree is a source tree whose layout is known.
type Tree struct {
	// Dir is the root, as it was named; files are named below it.
	Dir string
	// Config is the complete configuration, with all that was detected.
	Config *config.Config

	opts Options
}

// Open finds out what the source tree in dir holds. An error about the tree or
// its configuration is an *InputError; a configuration that detection cannot
// complete says which lines would settle the question.
func Open(dir string, o Options) (*Tree, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, wrongf("cannot read the source tree %s: %w", dir, files.Cause(err))
	case !info.IsDir():
		return nil, wrongf("%s is a file, not the folder of a source tree", dir)
	}
	c, file := o.Given, ""
	if c == nil {
		if c, file, err = LoadConfig(dir, o.Config); err != nil {
			return nil, err
		}
	}
	if file != "" {
		o.note(true, "configuration: %s", file)
	}
	on, err := files.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, files.Cause(err))
	}
	defer on.Close()
	hints, err := Hints(dir)
	if err != nil {
		return nil, err
	}
	full, notes, err := detect.Complete(seen(on, o.Overlay), c, hints)
	for _, n := range notes {
		// Without a key it is about something left out, or decided unusually.
		o.note(n.Key != "", "%s", n)
	}
	if err != nil {
		if _, nothing := errors.AsType[*detect.NothingError](err); !nothing {
			return nil, wrong(err)
		}
		if r, repoErr := folder.Open(context.Background(), dir); repoErr == nil && len(r.Providers) > 0 {
			return nil, wrongf("%s holds finished releases, not a source tree; lint, publish and mirror read it as it is", dir)
		}
		return nil, wrong(err)
	}
	return &Tree{Dir: dir, Config: full, opts: o}, nil
}

// Hints are what the folder of a tree tells about it besides its files.
func Hints(dir string) (detect.Hints, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return detect.Hints{}, err
	}
	return detect.Hints{Folder: filepath.Base(abs), Remote: func() string { return remote(abs) }}, nil
}

// remote asks git for the remote of the repository that a folder lies in; "" if
// there is none.
func remote(dir string) string {
	ctx := context.Background() // git answers from its configuration at once
	r, err := git.Open(ctx, dir)
	if err != nil {
		return ""
	}
	url, _ := r.Remote(ctx) // the name of the provider is asked for without one
	return url
}

// Build is what a source tree was made into.
type Build struct {
	Releases []*repo.Release
	Config   *config.Config
	// Tracer leads places in the releases back to the tree.
	Tracer *Tracer
	// Problem is what a tolerant build left undone, or nil.
	Problem *BuildError
	// Kustomizations are those that the releases were built from, sorted by name.
	Kustomizations []*yamldoc.Stream
	// UnsetImages are the images of controllers that were not chosen for these versions.
	UnsetImages []unsetImage

	dir    string // of the tree
	series []addedSeries
}

// Module returns the path of the Go module in the root of the tree, and where it is stated;
// empty if there is none.
func (b *Build) Module() (path string, at yamldoc.Error) {
	at.File = filepath.Join(b.dir, "go.mod")
	data, err := files.Read(at.File)
	for i, line := range strings.Split(string(data), "\n") {
		if words := strings.Fields(line); err == nil && len(words) > 1 && words[0] == "module" {
			at.Pos = yamldoc.Pos{Line: i + 1, Column: 1}
			return strings.Trim(words[1], `"`), at
		}
	}
	return "", at
}

// SaveSeries writes what AddSeries added into the source tree, so that the next
// release has it too, and returns the files. A file that changed since it was read,
// or whose released text is not that of the source, is refused; then none that
// follows is written.
func (b *Build) SaveSeries() (changed []string, err error) {
	texts := map[string]struct{ before, after []byte }{}
	for _, s := range b.series {
		if s.replaced {
			return nil, wrongf("%s has sourceReplacements, so --add-series cannot change it; add the series by hand", s.file)
		}
		differs := func(other addedSeries) bool {
			return other.file == s.file && other.Version.Series() == s.Version.Series() && other.Contract != s.Contract
		}
		if slices.ContainsFunc(b.series, differs) {
			return nil, wrongf("%s belongs to several providers, whose CRDs have different contracts; add series %s by hand", s.file, s.Version.Series())
		}
		text, again := texts[s.file]
		if !again {
			text.before, text.after = s.before, s.before
		}
		if text.after, err = metadata.WithSeries(yamldoc.NewFile(s.file, text.after), s.NewSeries); err != nil {
			return nil, wrong(err)
		}
		texts[s.file] = text
	}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		name := filepath.Join(b.dir, filepath.FromSlash(file))
		if err := files.Replace(name, texts[file].before, texts[file].after); err != nil {
			return changed, err
		}
		changed = append(changed, name)
	}
	return changed, nil
}

func (b *Build) Repository(path string) *repo.Repository {
	r := &repo.Repository{Path: path}
	for _, release := range b.Releases {
		r.Providers = append(r.Providers, &repo.Provider{
			Provider: release.Provider, Path: release.Provider.Label(), Releases: []*repo.Release{release},
		})
	}
	return r
}

// BuildError is a source tree that cannot be built.
type BuildError struct {
	// Dir is the tree; empty if all places are in the configuration.
	Dir string
	Err error

	config string // the file of the configuration; it may lie outside Dir
}

// Error returns the text of the cause, with its places named from where Dir is.
func (e *BuildError) Error() string {
	text := e.Err.Error()
	for _, at := range e.Places() {
		inside := *at
		inside.File = strings.TrimPrefix(at.File, filepath.ToSlash(e.Dir)+"/")
		if !strings.Contains(text, at.Error()) {
			text = strings.Replace(text, inside.Error(), at.Error(), 1)
		}
	}
	return text
}

func (e *BuildError) Unwrap() error { return e.Err }

// Places returns the problems, if each has a place in a file; nil otherwise.
// Files are named below Dir, but for the configuration.
func (e *BuildError) Places() []*yamldoc.Error {
	var out []*yamldoc.Error
	for _, err := range files.Parts(e.Err) {
		at, ok := errors.AsType[*yamldoc.Error](err)
		if !ok || at.Pos.IsZero() {
			return nil
		}
		placed := *at
		if dir := filepath.ToSlash(e.Dir); at.File != e.config && !filepath.IsAbs(at.File) &&
			!strings.HasPrefix(at.File, dir+"/") {
			placed.File = path.Join(dir, at.File)
		}
		out = append(out, &placed)
	}
	return out
}

// Build makes the releases of the tree in memory. The error is an *InputError if
// the request or the configuration is wrong, and a *BuildError if the tree
// cannot be built.
func (t *Tree) Build(ctx context.Context) (*Build, error) {
	o := &t.opts
	version, versions, err := t.versions()
	if err != nil {
		return nil, wrong(err)
	}
	run := o.runner()
	for _, g := range t.Config.Generated {
		if len(g.Run) == 0 || run == nil {
			continue
		}
		o.note(false, "running %s", strings.Join(g.Run, " "))
		if _, err := run(ctx, filepath.Join(t.Dir, filepath.FromSlash(g.Dir)), g.Run); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(g.Run, " "), err)
		}
	}
	on, err := files.Open(t.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Dir, files.Cause(err))
	}
	defer on.Close()
	plan, err := config.Resolve(seen(on, o.Overlay), t.Config, func(label string) layouts.Version {
		if v, ok := versions[label]; ok {
			return v
		}
		return version
	})
	if err != nil {
		return nil, wrong(err)
	}
	if err := choosable(plan, o.Providers, versions); err != nil {
		return nil, err
	}
	start := time.Now()
	b, err := Make(ctx, t.Dir, plan, *o)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		file, _, _ := t.Config.Place("")
		return nil, &BuildError{Dir: t.Dir, config: file, Err: err}
	}
	b.Config = t.Config
	for _, r := range b.Releases {
		o.note(true, "built %s %s: %d files", r.Provider.Label(), r.Version, len(r.Artifacts))
	}
	o.note(true, "built in %s", time.Since(start).Round(time.Millisecond))
	return b, nil
}

// BuildAs is Build with other versions than those of the options.
func (t *Tree) BuildAs(ctx context.Context, version Versions) (*Build, error) {
	other := *t
	other.opts.Version = version
	return other.Build(ctx)
}

// runner starts commands if that is allowed.
func (o *Options) runner() func(context.Context, string, []string) ([]byte, error) {
	if !o.AllowExec {
		return nil
	}
	return func(ctx context.Context, dir string, argv []string) ([]byte, error) {
		p := program.Program{Args: argv, Dir: dir, Stderr: o.Stderr}
		return p.Output(ctx)
	}
}

// versions returns the version of the releases, and those of single providers.
func (t *Tree) versions() (version layouts.Version, each map[string]layouts.Version, err error) {
	each = map[string]layouts.Version{}
	if tag := t.opts.Version.All; tag != "" {
		if version, err = release(t.Config, tag); err != nil {
			return version, nil, err
		}
	}
	for label, tag := range t.opts.Version.Each {
		if each[label], err = release(t.Config, tag); err != nil {
			return version, nil, err
		}
	}
	for _, p := range t.Config.Providers {
		label := p.Label()
		if t.opts.chosen(label) && t.opts.Version.Of(label) == "" {
			return version, nil, fmt.Errorf("%s has no version; add one for all providers, or %s=VERSION", label, label)
		}
	}
	return version, each, nil
}

// choosable refuses labels that the plan does not have.
func choosable(plan *config.Plan, labels []string, versions map[string]layouts.Version) error {
	all := phrase.List(plan.Providers, config.PlannedProvider.Label)
	return known(append(slices.Clone(labels), slices.Sorted(maps.Keys(versions))...), all, "this tree")
}

// known refuses labels that are not there.
func known(labels, all []string, where string) error {
	for _, label := range labels {
		if !slices.Contains(all, label) {
			return wrongf("%s has no provider %s; it has %s", where, label, strings.Join(all, ", "))
		}
	}
	return nil
}

// SeriesVersion proposes versions for a tree that is only looked at: the first of the
// highest release series in the metadata of each provider, v0.0.0 if there is none.
func (t *Tree) SeriesVersion() (v Versions) {
	on, err := files.Open(t.Dir)
	if err != nil {
		return Versions{All: "v0.0.0"}
	}
	defer on.Close()
	for _, p := range t.Config.Providers {
		var series [2]int64
		if file := cmp.Or(p.Metadata, t.Config.Metadata); file != "" {
			series, _ = detect.SeriesOf(on, file).Highest()
		}
		tag := fmt.Sprintf("%sv%d.%d.0", t.Config.Version.StripPrefix, series[0], series[1])
		switch v.All {
		case "":
			v.All = tag
		case tag:
		default:
			v.set(p.Label(), tag)
		}
	}
	v.All = cmp.Or(v.All, "v0.0.0")
	return v
}
