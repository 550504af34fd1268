// Package targets opens what the arguments of verbs name: a TARGET, a source tree with
// the flags of its build, a DEST. It demands signatures of what is read, and loads the
// key that signs what is written. It must not know what a verb does with them.
package targets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// Help is the part of the help that all commands with a TARGET share.
const Help = `
TARGET is a folder: a repository <root>/<label>/<version>/<files>, a <label> or
<version> folder in it, or the flat folder of files that make left. Or it is the
URL of a release as clusterctl accepts it, such as
file:///srv/repository/infrastructure-foo/latest/infrastructure-components.yaml;
the address of a repository or release on GitHub; the label of a provider that
clusterctl knows, such as infrastructure-aws; or a clusterctl.yaml, which names
its providers.`

// Forms are the addresses of releases, for errors.
const Forms = `The address of a release is one of
  https://github.com/OWNER/REPO[/releases[/latest|/tag/TAG|/TAG/FILE]]
  https://gitlab.HOST/api/v4/projects/ID/packages/generic/PACKAGE/VERSION/FILE
  file:///FOLDER/LABEL/VERSION/FILE
  oci://HOST/REPO[:TAG]`

// GateHelp lists what a verb refuses whose verdicts are those of, and how it passes.
func GateHelp(of func(check.Gate) check.Verdict) string {
	var out strings.Builder
	for _, g := range check.Gates {
		text := g.Refuses
		if g.Override != "" {
			text += " (" + g.Override + ")"
		}
		if of(g) == check.Refused {
			fmt.Fprintln(&out, term.Wrap("- ", text, 80, 2))
		}
	}
	return out.String()
}

// SourceHelp follows Help for commands that build source trees.
const SourceHelp = `
It may also be a source tree, which is then built in memory.`

// Target is what a command looks at.
type Target struct {
	Repository *repo.Repository
	// Version is set if the target names one version.
	Version string
	// Latest is set if it names that version as the latest one.
	Latest bool
	// File is set if the target names the components file.
	File string
	// From is the place of a remote target; nil for a folder.
	From publish.Destination
	// Wholes are the releases as they lie at their place, before they are taken
	// apart by provider; nil for a folder, where they are the same.
	Wholes []*repo.Release
	// Partial is set if there may be versions that the target does not show.
	Partial bool
	// Built is set if the target is a source tree.
	Built bool
	// Flat is set if its files lie in one folder, without folders for provider and
	// version, and Guessed if nothing tells which version it is.
	Flat, Guessed bool
	// Remote is set if others may have written it: it comes from a server.
	Remote bool
	// parts are the targets that a configuration of clusterctl names.
	parts []*Target
}

// Open opens a TARGET. Source trees are built if s is not nil.
func Open(ctx context.Context, env *cli.Env, name string, s *Source) (*Target, error) {
	if open.IsURL(name) {
		l, err := ParseURL(env, name)
		if err != nil {
			return nil, err
		}
		return openLocation(ctx, env, name, l)
	}
	dir := env.Path(name)
	switch _, err := os.Lstat(dir); {
	case err != nil && !strings.ContainsAny(name, `/\`):
		if t, err := labelled(ctx, env, name); t != nil || err != nil {
			return t, err
		}
	case isConfig(dir):
		return openConfig(ctx, env, name)
	}
	if s == nil {
		s = &Source{finished: true}
	}
	o, err := s.Options(env)
	if err != nil {
		return nil, err
	}
	defer s.Mute(env)()
	r, err := transform.Resolve(ctx, env.Short(dir), o)
	switch {
	case err == nil:
		return resolved(r)
	case !IsComponents(env, name, err):
		return nil, err
	}
	// The path of a components file works as well as its URL, as in clusterctl.
	l, err := layouts.ParseURL(filepath.ToSlash(dir), layouts.Servers{})
	if err != nil {
		return nil, cli.UsageError(err)
	}
	return openLocation(ctx, env, name, l)
}

// resolved is a target that is a folder.
func resolved(r *transform.Resolved) (*Target, error) {
	if r.Build == nil {
		if _, _, err := Recorded(r.Repository, nil); err != nil {
			return nil, err
		}
	}
	return &Target{Repository: r.Repository, Version: r.Version, Partial: r.Partial, Built: r.Build != nil, Flat: r.Flat, Guessed: r.Guessed}, nil
}

// IsComponents reports whether a path that is not a repository, as err says, is
// that of a components file.
func IsComponents(env *cli.Env, name string, err error) bool {
	l, urlErr := layouts.ParseURL(filepath.ToSlash(env.Path(name)), layouts.Servers{})
	return urlErr == nil && errors.Is(err, folder.ErrNotRepository) && layouts.KindOfFile(l.File) == layouts.Components
}

// openLocation opens the release that a URL names.
func openLocation(ctx context.Context, env *cli.Env, raw string, l layouts.Location) (*Target, error) {
	if l.Kind != layouts.Local {
		return openRemote(ctx, env, raw, l)
	}
	t, err := Open(ctx, env, filepath.Join(filepath.FromSlash(l.Base), l.Label), nil)
	if err != nil {
		return nil, err
	}
	if p := t.Repository.Providers; len(p) != 1 || p[0].Label() != l.Label {
		return nil, cli.Usagef("%s: %s is not the folder of a provider; the form is file:///FOLDER/LABEL/VERSION/FILE with a label such as infrastructure-foo", raw, l.Label)
	}
	p := t.Repository.Providers[0]
	if t.Latest = l.Version == layouts.Latest; t.Latest {
		if l.Version, err = latest(p); err != nil {
			return nil, fmt.Errorf("%s: %w", raw, err)
		}
	}
	if err := t.narrow(l.Version); err != nil {
		return nil, fmt.Errorf("%s: %w", raw, err)
	}
	if t.Repository.Providers[0].Releases[0].Artifact(l.File) == nil {
		return nil, fmt.Errorf("%s: %w", raw, NoFile(t.Repository.Providers[0].Releases[0], l.File))
	}
	t.File = l.File
	return t, nil
}

// openRemote opens the release at a URL on a server. Without a file, which OCI
// artifacts have no place for, it is the release of every provider in it.
func openRemote(ctx context.Context, env *cli.Env, raw string, l layouts.Location) (*Target, error) {
	from, err := At(env, l)
	if err != nil {
		return nil, err
	}
	latest := l.Version == "" || l.Version == layouts.Latest
	if latest {
		versions, err := from.Versions(ctx)
		if err == nil {
			l.Version, err = newest(versions, func(version string) (*repo.Release, error) { return from.Fetch(ctx, version) })
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", raw, err)
		}
		env.Detail("%s: the latest version is %s", raw, l.Version)
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
		return nil, fmt.Errorf("%s: %w", raw, NoFile(whole, l.File))
	}
	if p, err := layouts.ParseLabel(l.Package); err == nil && l.Kind == layouts.GitLab {
		whole.Provider = p // so we name packages
	}
	releases, err := providers.Split(ctx, whole, l.File)
	if err != nil {
		return nil, err
	}
	for _, r := range releases {
		Identify(r, l)
	}
	t := &Target{Repository: &repo.Repository{Path: raw}, Version: l.Version, Latest: latest, File: l.File, From: from, Wholes: []*repo.Release{whole}, Partial: true, Remote: true}
	for _, r := range releases {
		if l.File == "" || r.Artifact(l.File) != nil {
			t.Repository.Providers = append(t.Repository.Providers, &repo.Provider{Provider: r.Provider, Path: whole.Path, Releases: []*repo.Release{r}})
		}
	}
	if n := len(t.Repository.Providers); l.File != "" && n != 1 {
		return nil, cli.Usagef("%s: the release holds %[3]d providers, and %[2]s is not the components file of any; name one of their components files", raw, l.File, len(releases))
	}
	return t, nil
}

// NoFile is the error for a file that a release does not have. It lists those of its kind.
func NoFile(r *repo.Release, name string) error {
	names := phrase.List(r.Artifacts, func(a *repo.Artifact) string { return a.Name })
	kind := layouts.KindOfFile(name)
	alike := phrase.Only(names, func(other string) bool { return layouts.KindOfFile(other) == kind })
	return fmt.Errorf("%s has no file %s%s", r.Path, name, phrase.Among(name, alike))
}

// Identify names a provider as clusterctl does for the repository on GitHub that
// it comes from; failing that, and a label, by the name of the repository.
func Identify(r *repo.Release, l layouts.Location) {
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

// newest resolves "latest" as clusterctl does.
func newest(versions []string, release func(version string) (*repo.Release, error)) (string, error) {
	return metadata.Latest(versions, func(version string) ([]byte, error) {
		r, err := release(version)
		if err != nil {
			return nil, err
		}
		if f := r.Artifact(layouts.MetadataFile); f != nil {
			return f.Bytes()
		}
		return nil, fmt.Errorf("%s has no %s", r.Path, layouts.MetadataFile)
	})
}

func versionsOf(p *repo.Provider) []string {
	return phrase.List(p.Releases, func(r *repo.Release) string { return r.Version })
}

// Components returns the components file that the target names, or else the one
// that the release has.
func (t *Target) Components(r *repo.Release) *repo.Artifact {
	if t.File != "" {
		return r.Artifact(t.File)
	}
	return r.Components()
}

// Of is the target that names a release: an entry of a configuration of clusterctl, or t.
func (t *Target) Of(r *repo.Release) *Target {
	return cmp.Or(phrase.First(t.parts, func(part *Target) bool {
		return slices.ContainsFunc(part.Repository.Providers, func(p *repo.Provider) bool { return slices.Contains(p.Releases, r) })
	}), t)
}

// Destination returns the place that holds a release of the target, as far as
// it has one that clusterctl can read.
func (t *Target) Destination(env *cli.Env, r *repo.Release) (publish.Destination, error) {
	if t.From != nil {
		return t.From, nil
	}
	if part := t.Of(r); part != t {
		return part.Destination(env, r)
	}
	if t.Flat {
		return nil, cli.Usagef("clusterctl does not read %s, a flat folder; publish it first: clusterctl-repo publish %[1]s --version %s --to FOLDER", t.Repository.Path, r.Version)
	}
	folder, err := local.New(env.Path(filepath.Dir(filepath.Dir(filepath.Clean(r.Path)))))
	if err != nil {
		return nil, err
	}
	return folder.Site().Of(r.Provider)
}

// narrow leaves one version of the only provider.
func (t *Target) narrow(version string) error {
	p := t.Repository.Providers[0]
	known := versionsOf(p)
	i := slices.Index(known, version)
	if i < 0 {
		return fmt.Errorf("%s has no version %s%s", p.Label(), version, phrase.Among(version, known))
	}
	p.Releases = p.Releases[i : i+1]
	t.Version, t.Partial = version, true
	return nil
}

// latest is the newest version of a provider in a folder.
func latest(p *repo.Provider) (string, error) {
	versions := versionsOf(p)
	return newest(versions, func(version string) (*repo.Release, error) {
		if i := slices.Index(versions, version); i >= 0 {
			return p.Releases[i], nil
		}
		return nil, fmt.Errorf("%s has no folder %s", p.Label(), version)
	})
}

// Release picks the one release of a target: the version it names, or what
// clusterctl calls latest.
func (t *Target) Release() (*repo.Release, error) {
	switch n := len(t.Repository.Providers); {
	case n == 0:
		return nil, cli.Usagef("%s holds no provider", t.Repository.Path)
	case n > 1:
		labels := phrase.List(t.Repository.Providers, (*repo.Provider).Label)
		return nil, cli.Usagef("%s holds several providers (%s); name the folder of one of them", t.Repository.Path, strings.Join(labels, ", "))
	}
	p := t.Repository.Providers[0]
	if len(p.Releases) == 0 {
		return nil, fmt.Errorf("%s holds no version", p.Path)
	}
	if t.Version == "" && !p.Releases[0].Own {
		version, err := latest(p)
		if err != nil {
			return nil, fmt.Errorf("%s: the latest version cannot be found: %w; name the folder of a version", p.Path, err)
		}
		if err := t.narrow(version); err != nil {
			return nil, err
		}
	}
	return t.Repository.Providers[0].Releases[0], nil
}

// Newest returns one release of each provider: the named one, or the latest.
func (t *Target) Newest() ([]*repo.Release, error) {
	if len(t.Repository.Providers) == 0 {
		return nil, cli.Usagef("%s holds no provider", t.Repository.Path)
	}
	var out []*repo.Release
	for _, p := range t.Repository.Providers {
		one := Target{Repository: &repo.Repository{Path: t.Repository.Path, Providers: []*repo.Provider{p}}, Version: t.Version}
		r, err := one.Release()
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// Unlisted is the error for a target of which files may be missing without a sign, as
// repo.Release.Unlisted.
func (t *Target) Unlisted() error {
	for _, r := range t.Wholes {
		if err := r.Unlisted(); err != nil {
			return err
		}
	}
	return nil
}

// None is the TARGET that stands for no release, where one is compared with.
const None = "none"

// Last opens the releases that the next ones are compared with: the newest of each
// provider of a TARGET, or none.
func Last(ctx context.Context, env *cli.Env, name string) ([]*repo.Release, error) {
	if name == "" || name == None {
		return nil, nil
	}
	t, err := Open(ctx, env, name, nil)
	if err == nil {
		err = t.Unlisted()
	}
	if err != nil {
		return nil, fmt.Errorf("--previous: %w", err)
	}
	if t.Guessed {
		return nil, cli.Usagef("--previous %s does not say which release it is; rename the folder to its version", name)
	}
	return t.Newest()
}

// DestHelp is the part of the help that all commands with a DEST share.
const DestHelp = `
DEST is a folder or file:/// with its path, static:DIR for a web server,
https://github.com/OWNER/REPO, https://gitlab.HOST/GROUP/PROJECT, or
oci://HOST/REPO. {provider} in the name of
a repository stands for the label of each provider. On GitLab each provider has
a package named by its label; to choose the package, or to name the project by
its number, write https://gitlab.HOST/api/v4/projects/ID/packages/generic/PACKAGE.
Tokens come from GH_TOKEN or GITHUB_TOKEN, GITLAB_TOKEN or CI_JOB_TOKEN, and the
store of docker login.`

// ParseURL reads the URL of a release, which must not hold a secret.
func ParseURL(env *cli.Env, raw string) (layouts.Location, error) {
	if err := open.WithoutSecret(raw); err != nil {
		return layouts.Location{}, cli.UsageError(err)
	}
	l, err := layouts.ParseURL(raw, env.Places().Servers())
	if err != nil && !strings.Contains(err.Error(), raw) {
		err = fmt.Errorf("%s: %w", raw, err)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, Forms)
	}
	return l, cli.UsageError(err)
}

// At opens the place of a release on a server, for reading.
func At(env *cli.Env, l layouts.Location) (publish.Destination, error) {
	dest, err := env.Places().Location(l)
	return dest, cli.UsageError(err)
}

func Site(env *cli.Env, name string, o open.Options) (publish.Site, error) {
	site, err := env.Places().Site(name, o)
	return site, cli.UsageError(err)
}

// NotMirror refuses a DEST that is the folder of a mirror.
func NotMirror(env *cli.Env, name string) error {
	folder, err := env.Places().Folder(name)
	if err != nil || folder == nil || !mirror.IsMirror(folder.String()) {
		return cli.UsageError(err)
	}
	return cli.Usagef("%s is a mirror, and its lock file would not list what another command writes there; use clusterctl-repo mirror TARGET --to %[1]s", name)
}
