package transform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
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
	// Guessed is set if the version that was built was not given.
	Guessed bool
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
	switch {
	case !ok:
		return nil, err
	case errors.Is(err, fs.ErrNotExist), not.File:
		return nil, wrong(err)
	}
	o.Tolerant = true
	t, detectErr := Open(dir, o)
	if detectErr != nil {
		if not.Source {
			return nil, detectErr // it is one, and this is what is wrong with it
		}
		return nil, wrong(fmt.Errorf("%w\nit is not a source tree either: %w", err, detectErr))
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
			for _, release := range p.Releases {
				there = append(there, release.Version)
			}
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
