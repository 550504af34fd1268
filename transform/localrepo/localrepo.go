// Package localrepo makes the local repository of an E2EConfig, as the e2e framework
// of Cluster API does (sigs.k8s.io/cluster-api/test, framework/clusterctl), or of a
// clusterctl-settings.json for developers. Every value of these files keeps its place.
//
// It must not know how files are fetched or written, nor any rule of lint. It
// writes nothing: what the tree builds templates from is built in memory.
package localrepo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// upstream gives what other places have: the network, or a mirror.
type upstream interface {
	// Version returns the version that a marker stands for.
	Version(ctx context.Context, p layouts.Provider, m layouts.Marker) (string, error)
	// Components returns the file at a URL, which is that of the components of a
	// version.
	Components(ctx context.Context, p layouts.Provider, version, url string) ([]byte, error)
}

// Options say how a repository is made.
type Options struct {
	// Env returns variables of the environment.
	Env func(name string) (string, bool)
	// Parts are the providers to make, as LABEL or NAME, with :VERSION for one
	// version; none means all.
	Parts []string
	// Version takes the place of the versions in clusterctl-settings.json: one for
	// all, and LABEL=VERSION after a comma.
	Version     string
	AllowRemote bool
	Cache       *kustomize.Cache
	Upstream    upstream
	// Absent is told of a version that layouts.ErrUnavailable keeps away, which is then
	// left out; nil makes it an error.
	Absent func(error)
}

// Suite is an E2EConfig that was read and checked.
type Suite struct {
	Config *suiteConfig
	// Own is what the framework would refuse although the suite's own loader takes
	// it; empty if there is nothing.
	Own string
	// Unset are variables of the configuration that the environment lacks.
	Unset []*yamldoc.Error
	// Refused says what cannot be built; Build fails with it.
	Refused error
	// Partial is whether versions were left out; see Options.Absent.
	Partial bool

	opts Options
	top  string // of the source tree
	// unresolved says which markers have no version.
	unresolved error
}

func Is(name string) bool {
	if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" {
		return false
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	data, err := files.Read(name)
	if err != nil || !bytes.Contains(data, []byte("providers")) {
		return false
	}
	s := yamldoc.Parse(yamldoc.NewFile(name, data))
	if len(s.Docs) > 0 && s.Docs[0].Err != nil { // Open says what is wrong
		return bytes.Contains(data, []byte("type: CoreProvider")) && bytes.Contains(data, []byte("versions:"))
	}
	return len(s.Docs) > 0 && isConfig(s.Docs[0])
}

// Open reads an E2EConfig, with the variables of the environment where it has to be
// prepared, and resolves its markers. The error is an *transform.InputError for a file that cannot be read;
// everything else that is wrong is in Suite.Refused.
func Open(ctx context.Context, name string, o Options) (*Suite, error) {
	wrong := func(err error) error { return &transform.InputError{Err: err} }
	data, err := files.Read(name)
	if err != nil {
		return nil, wrong(err)
	}
	s := &Suite{opts: o}
	if s.top, err = top(name); err != nil {
		return nil, wrong(err)
	}
	stream, err := s.substituted(yamldoc.NewFile(name, data))
	if err != nil {
		return nil, wrong(err)
	}
	if s.Config, err = decode(stream); err != nil {
		return nil, wrong(err)
	}
	if s.Config.real, err = filepath.EvalSymlinks(s.top); err != nil {
		return nil, wrong(err)
	}
	if s.Config.Dir, err = filepath.Abs(filepath.Dir(name)); err != nil {
		return nil, wrong(err)
	}
	s.unresolved = s.resolve(ctx)
	s.Config.defaults(runtime.GOOS, runtime.GOARCH)
	own, err := s.Config.check(func(f file) error {
		_, err := find(s.Config.path(f.Source.Value))
		return err
	}, func() bool { return loadsItself(s.Config.Dir, s.top) })
	s.Own, s.Refused = own, errors.Join(s.unresolved, err)
	return s, nil
}

// top is the root of the source tree that a file lies in: that of its git
// repository, or else the highest folder above it with a Makefile.
func top(name string) (string, error) {
	abs, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return "", err
	}
	found := abs
	for dir := abs; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, nil
		}
		if _, err := os.Stat(filepath.Join(dir, "Makefile")); err == nil {
			found = dir
		}
		if dir == filepath.Dir(dir) {
			return found, nil
		}
	}
}

// comments are those of lines of Go.
var comments = phrase.Pattern(`(?m)^\s*//.*$`)

// loadsItself reports whether the Go files nearest to a configuration, in a folder above it and
// below the root of the tree, decode it, where none of them leaves that to the framework, or
// lets it validate. What cannot be read shows nothing.
func loadsItself(dir, top string) bool {
	for ; strings.HasPrefix(dir, top+string(filepath.Separator)); dir = filepath.Dir(dir) {
		var own, framework bool
		_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || filepath.Ext(name) != ".go" {
				return nil
			}
			data, err := files.Read(name)
			if err != nil {
				return nil
			}
			code := comments().ReplaceAll(data, nil)
			has := func(text string) bool { return bytes.Contains(code, []byte(text)) }
			decodes := has(".E2EConfig{") && has("Unmarshal")
			own, framework = own || decodes, framework || has(".LoadE2EConfigInput{") || decodes && has(".Validate()")
			return nil
		})
		if own || framework {
			return !framework
		}
	}
	return false
}

// resolve puts versions in the place of markers, side by side.
func (s *Suite) resolve(ctx context.Context) error {
	type task struct {
		p *provider
		v *version
	}
	var tasks []task
	for p, v := range s.Config.versions() {
		if _, ok := v.Marker(); ok && s.chosen(p, v, false) {
			tasks = append(tasks, task{p, v})
		}
	}
	var faults []error
	errs, versions := make([]error, len(tasks)), make([]string, len(tasks))
	parallel.Limited(requests, len(tasks), func(i int) {
		text, _ := tasks[i].v.Marker()
		m, err := layouts.ParseMarker(text)
		if err == nil {
			versions[i], err = s.opts.Upstream.Version(ctx, tasks[i].p.Provider(), m)
		}
		errs[i] = err
	})
	for i, t := range tasks {
		if errs[i] != nil {
			err := s.Config.Errorf(t.v.Name.At, "failed resolving release url %q: %w", t.v.Name.Value, errs[i])
			if !s.absent(err) {
				faults = append(faults, err)
			}
			continue
		}
		t.v.Resolve(versions[i])
	}
	return errors.Join(faults...)
}

// absent reports whether an error only leaves a version out.
func (s *Suite) absent(err error) bool {
	if s.opts.Absent == nil || !errors.Is(err, layouts.ErrUnavailable) {
		return false
	}
	s.opts.Absent(err)
	s.Partial = true
	return true
}

// requests is how many files are fetched at a time.
const requests = 8

// remote is a version by URL.
type remote struct {
	layouts.Provider
	Version, URL string
	At           yamldoc.Pos
}

// Remote returns the versions by URL. The error is about markers.
func (s *Suite) Remote() (out []remote, err error) {
	if s.unresolved != nil {
		return nil, &transform.InputError{Err: s.unresolved}
	}
	for p, v := range s.Config.versions() {
		_, local := s.Config.Local(v)
		if v.Type.Value == byURL && !local {
			out = append(out, remote{p.Provider(), v.Name.Value, v.Value.Value, v.Value.At})
		}
	}
	return out, nil
}

// chosen reports whether a version is to be made. One with a marker may be, before it
// is resolved, if the marker may stand for a version that is asked for.
func (s *Suite) chosen(p *provider, v *version, resolved bool) bool {
	text, marker := v.Marker()
	asked, err := layouts.ParseMarker(text)
	return len(s.opts.Parts) == 0 || slices.ContainsFunc(s.opts.Parts, func(part string) bool {
		name, version, one := strings.Cut(part, ":")
		may := marker && !resolved && (err != nil || len(asked.Candidates([]string{version})) > 0)
		return (name == p.Name.Value || name == p.Provider().Label()) && (!one || version == v.Name.Value || may)
	})
}

// Made is the repository of a suite, with each file as the framework writes it.
type Made struct {
	*transform.Build
	// Idle are replacements that match nothing.
	Idle []*yamldoc.Error
	// Repeated are versions that a later one of the same name replaces.
	Repeated []*yamldoc.Error
	// Declared are the versions of the configuration by LABEL/VERSION.
	Declared map[string]*version

	places map[string]yamldoc.Pos
}

// At is where the configuration wants a file of a release that is not in the tree:
// one that was fetched or built. The folder of a release stands for its version.
func (m *Made) At(file string) (yamldoc.Pos, bool) {
	at, ok := m.places[file]
	return at, ok
}

// release is a version with all that goes into it.
type release struct {
	planned  config.PlannedProvider
	version  *version
	replaced []replacement
	// url is where the components are from, if they are not on disk.
	url string
}

// set adds an output in its place: they are sorted by name.
func (r *release) set(o config.Output) {
	i, found := slices.BinarySearchFunc(r.planned.Outputs, o.Name, func(o config.Output, name string) int { return cmp.Compare(o.Name, name) })
	if found {
		r.planned.Outputs[i] = o
		return
	}
	r.planned.Outputs = slices.Insert(r.planned.Outputs, i, o)
}

// Build makes the repository in memory. The error joins everything that is wrong,
// or is that of the network.
func (s *Suite) Build(ctx context.Context) (*Made, error) {
	if s.Refused != nil {
		return nil, &transform.InputError{Err: s.Refused}
	}
	m := &Made{Declared: map[string]*version{}, places: map[string]yamldoc.Pos{}}
	releases, dir, overlay, err := s.plan(ctx, m)
	if err != nil {
		return nil, err
	}
	if here, err := filepath.Abs("."); err == nil && !filepath.IsAbs(s.Config.Name) {
		if rel, err := filepath.Rel(here, dir); err == nil {
			dir = rel // as findings name files
		}
	}
	planned := phrase.List(releases, func(r release) config.PlannedProvider { return r.planned })
	plan := &config.Plan{RemoteBases: true, Providers: planned}
	opts := s.opts.build()
	opts.Overlay = overlay
	made, err := transform.Make(ctx, dir, plan, opts)
	for err != nil {
		some, why := s.supply(ctx, err, dir, overlay)
		if err = cmp.Or(why, err); !some || why != nil {
			break
		}
		made, err = transform.Make(ctx, dir, plan, opts)
	}
	if err != nil {
		return nil, &transform.BuildError{Dir: dir, Err: err}
	}
	for i, r := range made.Releases {
		s.finish(m, &releases[i], r)
		m.Declared[r.Path] = releases[i].version
		m.places[r.Path] = releases[i].version.Name.At
	}
	m.Build = made
	for name, at := range m.places {
		if _, ok := overlay[name]; ok {
			m.places[path.Join(filepath.ToSlash(dir), name)] = at
		}
	}
	return m, nil
}

// build are the options for a source tree.
func (o *Options) build() transform.Options {
	return transform.Options{Bare: true, Tolerant: true, AllowRemote: o.AllowRemote, Cache: o.Cache}
}

// finish does to a built release what only the framework does.
func (s *Suite) finish(m *Made, from *release, r *repo.Release) {
	i := slices.IndexFunc(r.Artifacts, func(a *repo.Artifact) bool { return a.Name == componentsFile })
	if i < 0 || len(from.replaced) == 0 {
		return
	}
	data, err := r.Artifacts[i].Bytes()
	if err != nil {
		return // it lies in memory
	}
	before := data
	for _, c := range from.replaced {
		rx := regexp.MustCompile(c.Old.Value) // Check has compiled it
		if !rx.Match(data) {
			m.Idle = append(m.Idle, s.Config.Errorf(cmp.Or(c.Old.At, c.At),
				"replacement %q matches nothing in the components of %s %s", c.Old.Value, r.Provider.Label(), r.Version))
			continue
		}
		data = rx.ReplaceAll(data, []byte(c.New.Value))
	}
	if !bytes.Equal(before, data) {
		a := repo.BytesArtifact(componentsFile, data).As(layouts.Components)
		a.Path = path.Join(r.Path, componentsFile)
		r.Artifacts[i] = a
	}
}

// Value returns what the environment, or else the configuration, sets a variable to.
func (s *Suite) Value(name string) (string, bool) {
	if set, ok := s.opts.Env(name); ok {
		return set, true
	}
	for _, v := range s.Config.Variables {
		if v.Name == name {
			return v.Value.Value, true
		}
	}
	return "", false
}

// ConfigFile returns the clusterctl-config.yaml of the repository in a folder, as
// that is named.
func (s *Suite) ConfigFile(out string) ([]byte, error) {
	entries := phrase.List(s.Config.Providers, func(p provider) any {
		return entry(p.Provider(), out, layouts.Latest, componentsFile)
	})
	values := map[string]any{}
	for _, v := range s.Config.Variables {
		values[v.Name], _ = s.Value(v.Name)
	}
	return configFile(out, entries, values)
}

// ConfigFile returns the configuration of clusterctl for the repository in a folder.
func (d *development) ConfigFile(out string) ([]byte, error) {
	entries := phrase.List(d.Releases, func(r *repo.Release) any {
		return entry(r.Provider, out, r.Version, r.Components().Name)
	})
	return configFile(out, entries, map[string]any{})
}

func entry(p layouts.Provider, out, version, file string) map[string]any {
	return map[string]any{"name": p.Name, "type": string(p.Type), "url": filepath.Join(out, p.Label(), version, file)}
}

func configFile(out string, providers []any, values map[string]any) ([]byte, error) {
	values["providers"], values["overridesFolder"] = append([]any{}, providers...), filepath.Join(out, layouts.OverridesFolder)
	return yamldoc.Marshal(values)
}

// plan decides what each file is made from, and fetches what lies elsewhere. The
// paths of the plan are relative to dir, where the overlay adds what is not on disk.
func (s *Suite) plan(ctx context.Context, m *Made) (releases []release, dir string, overlay map[string][]byte, err error) {
	dir = s.common()
	overlay = map[string][]byte{}
	byPath := map[string]int{}
	var faults []error
	for p, v := range s.Config.versions() {
		if _, unresolved := v.Marker(); unresolved && s.opts.Absent != nil || !s.chosen(p, v, true) {
			continue
		}
		key := p.Provider().Label() + "/" + v.Name.Value
		n, again := byPath[key]
		if again {
			m.Repeated = append(m.Repeated, s.Config.Errorf(v.Name.At,
				"%s %s is declared twice: the components of this one win", p.Provider().Label(), v.Name.Value))
		} else {
			n = len(releases)
			byPath[key] = n
			version, _ := layouts.ParseVersion(v.Name.Value) // check has parsed it
			releases = append(releases, release{planned: config.PlannedProvider{Provider: p.Provider(), Version: version, ComponentsFile: componentsFile}})
		}
		r := &releases[n]
		r.version, r.replaced, r.url = v, v.Replacements, ""
		out, err := s.components(dir, v)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if out.File == "" && out.Kustomize == "" {
			r.url = v.Value.Value
			out.File = path.Join(".fetched", key, componentsFile)
		}
		r.set(out)
		m.places[path.Join(key, componentsFile)] = v.Value.At
		if r.url != "" {
			m.places[out.File] = v.Value.At
		}
		for _, f := range slices.Concat(p.Files, v.Files) {
			out, err := find(s.Config.path(f.Source.Value))
			out.Name = filepath.Clean(f.Target.Value)
			out.Kind = layouts.KindOfFile(out.Name)
			switch {
			case out.File != "":
				out.File = relative(dir, out.File)
			case out.Kustomize != "":
				out.Kustomize = relative(dir, out.Kustomize)
			}
			if err != nil {
				faults = append(faults, s.Config.Errorf(f.Source.At, "%w", err))
				continue
			}
			m.places[path.Join(key, out.Name)] = f.Source.At
			if r.set(out); out.Name == componentsFile {
				r.replaced = nil
			}
		}
	}
	for _, part := range s.opts.Parts {
		if name, _, _ := strings.Cut(part, ":"); !slices.ContainsFunc(releases, func(r release) bool {
			return (r.planned.Label() == name || r.planned.Name == name) && (!strings.Contains(part, ":") || part == name+":"+r.planned.Version.String())
		}) {
			faults = append(faults, fmt.Errorf("%s declares no %s", s.Config.Name, part))
		}
	}
	fetched, errs := make([][]byte, len(releases)), make([]error, len(releases))
	parallel.Limited(requests, len(releases), func(i int) {
		if r := &releases[i]; r.url != "" {
			fetched[i], errs[i] = s.opts.Upstream.Components(ctx, r.planned.Provider, r.planned.Version.String(), r.url)
		}
	})
	var present []release
	for i := range releases {
		r := &releases[i]
		switch {
		case errs[i] != nil:
			err := s.Config.Errorf(r.version.Value.At, "Failed to generate the manifest for %q / %q: %w", r.planned.Label(), r.planned.Version, errs[i])
			if s.absent(err) {
				continue
			}
			faults = append(faults, err)
		case r.url != "":
			overlay[path.Join(".fetched", r.planned.Label(), r.planned.Version.String(), componentsFile)] = fetched[i]
		}
		present = append(present, *r)
	}
	releases = present
	slices.SortStableFunc(releases, func(a, b release) int { return cmp.Compare(a.planned.Label(), b.planned.Label()) })
	if err := errors.Join(faults...); err != nil {
		return nil, "", nil, &transform.InputError{Err: err}
	}
	return releases, dir, overlay, nil
}

// components says what the components of a version are made from: nothing on disk
// if neither File nor Kustomize is set.
func (s *Suite) components(dir string, v *version) (config.Output, error) {
	out := config.Output{Name: componentsFile, Kind: layouts.Components}
	fail := func(why string, args ...any) error {
		return s.Config.Errorf(v.Value.At, "Failed to generate the manifest for version %q: %s", v.Name.Value, fmt.Sprintf(why, args...))
	}
	if v.Type.Value == byKustomize {
		name := s.Config.path(v.Value.Value)
		if !config.IsKustomization(os.DirFS(name), ".") {
			return out, fail("%s must be a folder with a kustomization; URLs work only inside kustomizations", v.Value.Value)
		}
		out.Kustomize = relative(dir, name)
		return out, nil
	}
	name, ok := s.Config.Local(v)
	if !ok {
		if scheme, _, _ := strings.Cut(v.Value.Value, "://"); !slices.Contains([]string{"http", "https"}, strings.ToLower(scheme)) {
			return out, fail("unknown scheme %q: write a path, file://, http:// or https://", scheme)
		}
		return out, nil
	}
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		return out, fail("failed to read file %s: %v", v.Value.Value, cmp.Or(err, error(fs.ErrInvalid)))
	}
	out.File = relative(dir, name)
	return out, nil
}

func relative(dir, name string) string {
	rel, _ := filepath.Rel(dir, name) // both are absolute, and dir encloses name
	return filepath.ToSlash(rel)
}

// common is the folder that encloses the source tree and everything that the
// configuration names on disk.
func (s *Suite) common() string {
	dir := s.top
	enclose := func(name string) {
		for dir != filepath.Dir(dir) && !strings.HasPrefix(name+"/", dir+"/") {
			dir = filepath.Dir(dir)
		}
	}
	for _, v := range s.Config.versions() {
		if name, ok := s.Config.Local(v); ok {
			enclose(name)
		}
	}
	for _, f := range s.Config.files() {
		enclose(s.Config.path(f.Source.Value))
	}
	return dir
}
