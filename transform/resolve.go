package transform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Resolved is a folder with releases, finished or built.
type Resolved struct {
	Repository *repo.Repository
	// Version is set if the folder is that of one version, or was built as one.
	Version string
	// Partial is set if there may be versions that Repository does not hold.
	Partial bool
	// Guessed is set if the version was not given.
	Guessed bool
	// Flat is set if the files lie in one folder, without folders for provider and version.
	Flat bool
	// Build is nil for finished releases.
	Build *Build
}

// Resolve opens a folder in clusterctl's layout, or builds it tolerantly if it
// is a source tree. Without a version that is the first of the highest release
// series. The error is an *InputError if the folder is neither, or is not there,
// and a *BuildError if it cannot be built.
func Resolve(ctx context.Context, dir string, o Options) (*Resolved, error) {
	r, err := folder.Open(ctx, dir)
	if err == nil {
		if err := overlayReleases(ctx, r, dir, o.Overlay); err != nil {
			return nil, err
		}
		return finished(r, &o)
	}
	not, ok := errors.AsType[*folder.NotRepositoryError](err)
	own := func(err error) (*Resolved, error) {
		if !mayBeOwn(dir, not) {
			return nil, err
		}
		switch t, ownErr := Own(ctx, dir, o); {
		case errors.Is(ownErr, ErrNotOwn) && o.Own && err != nil:
			return nil, wrongf("%s %w\n%w", dir, ownErr, err)
		case errors.Is(ownErr, ErrNotOwn):
			return nil, err
		case !o.Own && ownErr == nil:
			return nil, wrongf("%w\n%s holds templates of your own: lint, vars, images, move-plan, render cluster and render topology "+
				"take them, but they are not the release of a provider", err, dir)
		default:
			return t, ownErr
		}
	}
	switch {
	case !ok:
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, wrong(err)
	case not.Flat:
		return Flat(ctx, dir, o)
	case not.File, o.Finished:
		return own(wrong(err))
	case o.Own && !not.Source:
		if t, err := own(nil); t != nil || err != nil {
			return t, err
		}
	}
	o.Tolerant = true
	t, detectErr := Open(dir, o)
	switch {
	case detectErr != nil && not.Source:
		return own(detectErr) // it may be one, and this is what is wrong with it
	case detectErr != nil:
		return own(wrong(fmt.Errorf("%w\nit is not a source tree either: %w", err, detectErr)))
	}
	guessed := o.Version.IsZero()
	if guessed {
		t.opts.Version = t.SeriesVersion()
		o.note(true, "no version given: building as %s", t.opts.Version)
	}
	b, err := t.Build(ctx)
	if err != nil {
		return nil, err
	}
	return &Resolved{Repository: b.Repository(dir), Version: t.opts.Version.All, Partial: true, Guessed: guessed, Build: b}, nil
}

// IsFinished reports whether a folder holds releases that need no build, in clusterctl's
// layout or flat.
func IsFinished(ctx context.Context, dir string) (finished, flat bool) {
	_, err := folder.Open(ctx, dir)
	not, ok := errors.AsType[*folder.NotRepositoryError](err)
	flat = ok && not.Flat
	return err == nil || flat, flat
}

// Flat takes the files of a folder as the assets of one release. The version is that of
// the options or the name of the folder; without either it is guessed, so that nothing
// is compared with it. The label of its objects says who a provider is; without one,
// the options or the repository that the folder lies in do. The error is an *InputError if
// the folder has no components, or nothing tells who a provider is.
func Flat(ctx context.Context, dir string, o Options) (*Resolved, error) {
	whole, err := folder.Flat(ctx, dir)
	if err != nil {
		return nil, err
	}
	out := &Resolved{Repository: &repo.Repository{Path: dir}, Partial: true, Flat: true}
	releases, err := providers.Split(ctx, whole, "")
	if err != nil {
		return nil, wrong(err)
	}
	if err := named(dir, releases, o.Providers); err != nil {
		return nil, err
	}
	for _, r := range releases {
		if given := o.Version.Of(r.Provider.Label()); given != "" {
			if r.Version != "" && strings.TrimPrefix(r.Version, "v") != strings.TrimPrefix(given, "v") {
				return nil, wrongf("%s is the folder of %s, not of %s; pass --version %[2]s, or name the folder of the other version", dir, r.Version, given)
			}
			r.Version = given
		}
		if r.Version == "" {
			r.Version, out.Guessed = firstOfSeries(dir), true
			o.note(true, "no version given: %s counts as %s", r.Provider.Label(), r.Version)
		}
		if err := r.Identify(); err != nil {
			o.note(true, "%v", err)
		}
		out.Version = r.Version
		out.Repository.Providers = append(out.Repository.Providers, &repo.Provider{Provider: r.Provider, Path: dir, Releases: []*repo.Release{r}})
	}
	labels := phrase.List(releases, func(r *repo.Release) string { return r.Provider.Label() })
	if err := known(o.Providers, labels, dir); err != nil {
		return nil, err
	}
	if len(o.Providers) > 0 {
		out.Repository.Providers = slices.DeleteFunc(out.Repository.Providers, func(p *repo.Provider) bool { return !slices.Contains(o.Providers, p.Label()) })
	}
	return out, nil
}

// named gives the releases of a flat folder whose objects have no provider label the
// name that --provider gives, or else that of the repository around the folder.
func named(dir string, releases []*repo.Release, given []string) error {
	for _, r := range releases {
		if r.Provider.Name != "" {
			continue
		}
		for _, label := range given {
			if p, err := layouts.ParseLabel(label); err == nil && p.Type == r.Provider.Type {
				r.Provider = p
			}
		}
		if r.Provider.Name == "" && r.Provider.Type == layouts.Core {
			r.Provider.Name = layouts.CoreName
		}
		if r.Provider.Name == "" {
			r.Provider.Name = nameAround(dir)
		}
		if r.Provider.Name == "" {
			info, _ := r.Provider.Type.Info()
			return wrongf("%s: no object in the components has a valid label %s, and the folder lies in no repository named cluster-api-provider-NAME; say which provider it is: --provider %s", dir, layouts.ProviderLabel, info.Prefix+"NAME")
		}
	}
	return nil
}

// nameAround is the name of the provider that the nearest Go module or git repository
// around a folder tells; empty if it tells none.
func nameAround(dir string) string {
	at, err := filepath.Abs(dir)
	for ; err == nil && at != filepath.Dir(at); at = filepath.Dir(at) {
		if !slices.ContainsFunc([]string{"go.mod", ".git"}, func(name string) bool {
			_, err := os.Lstat(filepath.Join(at, name))
			return err == nil
		}) {
			continue
		}
		on, err := files.Open(at)
		if err != nil {
			return ""
		}
		defer on.Close()
		return detect.ProviderName(on, detect.Hints{Remote: func() string { return remote(at) }})
	}
	return ""
}

// firstOfSeries is the first version of the highest release series in the metadata of a
// folder.
func firstOfSeries(dir string) string {
	on, err := files.Open(dir)
	if err != nil {
		return "v0.0.0"
	}
	defer on.Close()
	series, _ := detect.SeriesOf(on, layouts.MetadataFile).Highest()
	return fmt.Sprintf("v%d.%d.0", series[0], series[1])
}

// Finished takes releases as they are.
func Finished(r *repo.Repository) *Resolved {
	out := &Resolved{Repository: r}
	if len(r.Providers) == 1 && len(r.Providers[0].Releases) == 1 &&
		filepath.Clean(r.Providers[0].Releases[0].Path) == filepath.Clean(r.Path) {
		out.Version, out.Partial = r.Providers[0].Releases[0].Version, true
	}
	return out
}

// finished takes releases as they are. It reports which options come too late, and
// refuses a version that is not there.
func finished(r *repo.Repository, o *Options) (*Resolved, error) {
	out := Finished(r)
	if len(o.Images) > 0 || o.AsIs || o.AddSeries {
		o.note(false, "%s is already built: --image, --as-is and --add-series have no effect on it", r.Path)
	}
	if !o.Version.IsZero() {
		var there []string
		for _, p := range r.Providers {
			there = append(there, phrase.List(p.Releases, func(r *repo.Release) string { return r.Version })...)
			p.Releases = slices.DeleteFunc(p.Releases, func(release *repo.Release) bool { return release.Version != o.Version.Of(p.Label()) })
		}
		r.Providers = slices.DeleteFunc(r.Providers, func(p *repo.Provider) bool { return len(p.Releases) == 0 })
		if slices.Sort(there); len(r.Providers) == 0 {
			return nil, wrongf("%s is already built and has no version %s; it has %s", r.Path, o.Version, strings.Join(slices.Compact(there), ", "))
		}
		out.Version, out.Partial = o.Version.All, true
	}
	if len(o.Providers) == 0 {
		return out, nil
	}
	labels := phrase.List(r.Providers, (*repo.Provider).Label)
	if err := known(o.Providers, labels, r.Path); err != nil {
		return nil, err
	}
	out.Partial = true
	r.Providers = slices.DeleteFunc(r.Providers, func(p *repo.Provider) bool { return !slices.Contains(o.Providers, p.Label()) })
	return out, nil
}
