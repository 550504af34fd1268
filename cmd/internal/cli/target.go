package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

// targetHelp is the part of the help that all commands with a TARGET share.
const targetHelp = `
TARGET is a folder (a repository <root>/<label>/<version>/<files>, or the
<label> or <version> folder in it), or the URL of a release as clusterctl
takes it, such as file:///srv/repository/infrastructure-foo/latest/infrastructure-components.yaml.`

const sourceHelp = `
It may also be a source tree, which is then built in memory.`

// target is what a command looks at.
type target struct {
	repository *repo.Repository
	// version is set if the target names one version.
	version string
	// latest is set if it names that version as the latest one.
	latest bool
	// file is set if the target names the components file.
	file string
	// from is the place of a remote target; nil for a folder.
	from publish.Destination
	// wholes are the releases as they lie at their place, before they are taken
	// apart by provider; nil for a folder, where they are the same.
	wholes []*repo.Release
	// partial is set if there may be versions that the target does not show.
	partial bool
	// built is set if the target is a source tree.
	built bool
}

// open opens a TARGET. Source trees are built if s is not nil.
func (a *app) open(ctx context.Context, name string, s *source) (*target, error) {
	if isURL(name) {
		if err := withoutSecret(name); err != nil {
			return nil, err
		}
		l, err := layouts.ParseURL(name, a.servers())
		if err != nil {
			return nil, usage(err)
		}
		return a.openLocation(ctx, name, l)
	}
	dir := a.path(name)
	if s == nil {
		r, err := folder.Open(ctx, a.short(dir))
		if err == nil {
			return resolved(sourcetree.Finished(r)), nil
		}
		return a.openComponents(ctx, name, err)
	}
	o, err := a.options(s)
	if err != nil {
		return nil, err
	}
	defer a.muteLibraries()()
	r, err := sourcetree.Resolve(ctx, a.short(dir), o)
	if err == nil {
		return resolved(r), nil
	}
	return a.openComponents(ctx, name, err)
}

// resolved is a target that is a folder.
func resolved(r *sourcetree.Resolved) *target {
	return &target{repository: r.Repository, version: r.Version, partial: r.Partial, built: r.Build != nil}
}

// openComponents opens the path of a components file, which works as well as its
// URL, as in clusterctl; err is why it is nothing else.
func (a *app) openComponents(ctx context.Context, name string, err error) (*target, error) {
	if a.isComponents(name, err) {
		l, err := layouts.ParseURL(filepath.ToSlash(a.path(name)), layouts.Servers{})
		if err != nil {
			return nil, usage(err)
		}
		return a.openLocation(ctx, name, l)
	}
	return nil, err
}

// isComponents reports whether a path that is not a repository, as err says, is
// that of a components file.
func (a *app) isComponents(name string, err error) bool {
	l, urlErr := layouts.ParseURL(filepath.ToSlash(a.path(name)), layouts.Servers{})
	return urlErr == nil && errors.Is(err, folder.ErrNotRepository) && layouts.KindOfFile(l.File) == layouts.Components
}

// known refuses labels that are not there.
func known(labels, all []string, where string) error {
	for _, label := range labels {
		if !slices.Contains(all, label) {
			return usagef("%s has no provider %s; it has %s", where, label, strings.Join(all, ", "))
		}
	}
	return nil
}

// openLocation opens the release that a URL names.
func (a *app) openLocation(ctx context.Context, raw string, l layouts.Location) (*target, error) {
	if l.Kind != layouts.Local {
		return a.openRemote(ctx, raw, l)
	}
	t, err := a.open(ctx, filepath.Join(filepath.FromSlash(l.Base), l.Label), nil)
	if err != nil {
		return nil, err
	}
	if p := t.repository.Providers; len(p) != 1 || p[0].Label() != l.Label {
		return nil, usagef("%s: %s is not the folder of a provider; the form is file:///FOLDER/LABEL/VERSION/FILE with a label such as infrastructure-foo", raw, l.Label)
	}
	p := t.repository.Providers[0]
	if l.Version == "latest" {
		if l.Version, err = latest(p); err != nil {
			return nil, fmt.Errorf("%s: %w", raw, err)
		}
	}
	if err := t.narrow(l.Version); err != nil {
		return nil, fmt.Errorf("%s: %w", raw, err)
	}
	if t.repository.Providers[0].Releases[0].Artifact(l.File) == nil {
		return nil, fmt.Errorf("%s: %s has no file %s", raw, t.repository.Providers[0].Releases[0].Path, l.File)
	}
	t.file = l.File
	return t, nil
}

// openRemote opens the release at a URL on a server. Without a file, which OCI
// artifacts have no place for, it is the release of every provider in it.
func (a *app) openRemote(ctx context.Context, raw string, l layouts.Location) (*target, error) {
	from, err := a.destinationAt(l)
	if err != nil {
		return nil, err
	}
	latest := l.Version == "" || l.Version == layouts.Latest
	if latest {
		if l.Version, err = newestAt(ctx, from); err != nil {
			return nil, fmt.Errorf("%s: %w", raw, err)
		}
		a.detail("%s: the latest version is %s", raw, l.Version)
	}
	whole, err := from.Fetch(ctx, l.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", raw, err)
	}
	switch {
	case whole.Version == l.Version:
	case l.Kind == layouts.OCI && strings.Contains(l.Version, ":"): // a digest
		l.Version = whole.Version
	default:
		return nil, fmt.Errorf("%s: the server answers with the release %s", raw, whole.Version)
	}
	if l.File != "" && whole.Artifact(l.File) == nil {
		return nil, fmt.Errorf("%s: %s has no file %s", raw, whole.Path, l.File)
	}
	if p, err := layouts.ParseLabel(l.Package); err == nil && l.Kind == layouts.GitLab {
		whole.Provider = p // so we name packages
	}
	releases, err := publish.Split(ctx, whole, l.File)
	if err != nil {
		return nil, err
	}
	for _, r := range releases {
		identify(r, l)
	}
	t := &target{repository: &repo.Repository{Path: raw}, version: l.Version, latest: latest, file: l.File, from: from, wholes: []*repo.Release{whole}, partial: true}
	for _, r := range releases {
		if l.File == "" || r.Artifact(l.File) != nil {
			t.repository.Providers = append(t.repository.Providers, &repo.Provider{Provider: r.Provider, Path: whole.Path, Releases: []*repo.Release{r}})
		}
	}
	if n := len(t.repository.Providers); l.File != "" && n != 1 {
		return nil, usagef("%s: the release holds %[3]d providers, and %[2]s is not the components file of any; name one of their components files", raw, l.File, len(releases))
	}
	return t, nil
}

// identify names a provider as clusterctl does for the repository on GitHub that
// it comes from; failing that, and a label, by the name of the repository.
func identify(r *repo.Release, l layouts.Location) {
	if l.Kind != layouts.GitHub {
		return
	}
	for _, a := range r.Artifacts {
		if p, ok := layouts.EmbeddedAt(l.Owner+"/"+l.Repository, a.Name); ok && p.Type == r.Provider.Type {
			r.Provider = p
			return
		}
	}
	if _, name, ok := strings.Cut(l.Repository, "provider-"); ok && r.Provider.Name == "" {
		r.Provider.Name = name
	}
}

// newestAt resolves "latest" at a place as clusterctl does.
func newestAt(ctx context.Context, from publish.Destination) (string, error) {
	versions, err := from.Versions(ctx)
	if err != nil {
		return "", err
	}
	return metadata.Latest(versions, func(version string) ([]byte, error) {
		r, err := from.Fetch(ctx, version)
		if err != nil {
			return nil, err
		}
		if f := r.Artifact(layouts.MetadataFile); f != nil {
			return f.Bytes()
		}
		return nil, fmt.Errorf("%s has no %s", r.Path, layouts.MetadataFile)
	})
}

// components returns the components file that the target names, or else the one
// that the release has.
func (t *target) components(r *repo.Release) *repo.Artifact {
	if t.file != "" {
		return r.Artifact(t.file)
	}
	return r.Components()
}

// destination returns the place that holds a release of the target, as far as
// it has one that clusterctl can read.
func (t *target) destination(a *app, r *repo.Release) (publish.Destination, error) {
	if t.from != nil {
		return t.from, nil
	}
	folder, err := local.New(a.path(filepath.Dir(filepath.Dir(filepath.Clean(r.Path)))))
	if err != nil {
		return nil, err
	}
	return folder.Site().Of(r.Provider)
}

// narrow leaves one version of the only provider.
func (t *target) narrow(version string) error {
	p := t.repository.Providers[0]
	i := slices.IndexFunc(p.Releases, func(r *repo.Release) bool { return r.Version == version })
	if i < 0 {
		return fmt.Errorf("%s has no version %s", p.Label(), version)
	}
	p.Releases = p.Releases[i : i+1]
	t.version, t.partial = version, true
	return nil
}

// latest resolves "latest" as clusterctl does.
func latest(p *repo.Provider) (string, error) {
	var versions []string
	byVersion := map[string]*repo.Release{}
	for _, r := range p.Releases {
		versions = append(versions, r.Version)
		byVersion[r.Version] = r
	}
	return metadata.Latest(versions, func(version string) ([]byte, error) {
		r := byVersion[version]
		if r == nil {
			return nil, fmt.Errorf("%s has no folder %s", p.Label(), version)
		}
		if f := r.Artifact(layouts.MetadataFile); f != nil {
			return f.Bytes()
		}
		return nil, fmt.Errorf("%s has no %s", r.Path, layouts.MetadataFile)
	})
}

// release picks the one release of a target: the version it names, or what
// clusterctl calls latest.
func (t *target) release() (*repo.Release, error) {
	switch n := len(t.repository.Providers); {
	case n == 0:
		return nil, usagef("%s holds no provider", t.repository.Path)
	case n > 1:
		var labels []string
		for _, p := range t.repository.Providers {
			labels = append(labels, p.Label())
		}
		return nil, usagef("%s holds several providers (%s); name the folder of one of them", t.repository.Path, strings.Join(labels, ", "))
	}
	p := t.repository.Providers[0]
	if len(p.Releases) == 0 {
		return nil, fmt.Errorf("%s holds no version", p.Path)
	}
	if t.version == "" {
		version, err := latest(p)
		if err != nil {
			return nil, fmt.Errorf("%s: the latest version cannot be found: %w; name the folder of a version", p.Path, err)
		}
		if err := t.narrow(version); err != nil {
			return nil, err
		}
	}
	return t.repository.Providers[0].Releases[0], nil
}

// newest returns one release of each provider: the named one, or the latest.
func (t *target) newest() ([]*repo.Release, error) {
	if len(t.repository.Providers) == 0 {
		return nil, usagef("%s holds no provider", t.repository.Path)
	}
	var out []*repo.Release
	for _, p := range t.repository.Providers {
		one := target{repository: &repo.Repository{Path: t.repository.Path, Providers: []*repo.Provider{p}}, version: t.version}
		r, err := one.release()
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// readFile returns a file named on the command line.
func (a *app) readFile(name string) ([]byte, error) {
	data, err := readDocuments(a.path(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause(err))
	}
	return data, nil
}

// readDocuments is files.Read for what may be YAML.
func readDocuments(path string) ([]byte, error) {
	data, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	if err := yamldoc.CheckCount(data); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, nil
}

// selected returns the releases of a target that have one of the labels.
func selected(releases []*repo.Release, labels []string) []*repo.Release {
	if len(labels) == 0 {
		return releases
	}
	return slices.DeleteFunc(releases, func(r *repo.Release) bool { return !slices.Contains(labels, r.Provider.Label()) })
}
