package transform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// Above returns the source tree that a folder with finished releases lies in: the
// nearest folder above it with a configuration, at most up to the root of the git
// repository, or else that root. It is nil if there is none, or nothing is known
// of the root. A wrong configuration is an *InputError.
func Above(dir string, o Options) (*Tree, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	// What is said about the releases is not about the tree.
	o.Version, o.Providers, o.Overlay, o.Given, o.Input, o.Note = Versions{}, nil, nil, nil, nil, nil
	for name := dir; at != filepath.Dir(at); {
		at, name = filepath.Dir(at), filepath.Join(name, "..")
		_, file, err := LoadConfig(name, "")
		switch {
		case err != nil:
			return nil, err
		case file != "":
			return Open(name, o)
		}
		if _, err := os.Lstat(filepath.Join(name, ".git")); err != nil {
			continue
		}
		t, err := Open(name, o)
		if _, unknown := errors.AsType[*InputError](err); unknown {
			return nil, nil
		}
		return t, err
	}
	return nil, nil
}

// Builds reports whether the tree has the provider of a label.
func (t *Tree) Builds(label string) bool {
	return slices.ContainsFunc(t.Config.Providers, func(p config.Provider) bool { return p.Label() == label })
}

// Tracer leads places in finished releases of the tree's providers back to it. The
// tree may have changed since they were built.
func (t *Tree) Tracer(ctx context.Context, r *repo.Repository) (*Tracer, error) {
	on, err := files.Open(t.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Dir, files.Cause(err))
	}
	defer on.Close()
	newest := map[string]layouts.Version{}
	var releases []*repo.Release
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			newest[p.Label()], _ = layouts.ParseVersion(release.Version)
			releases = append(releases, release)
		}
	}
	plan, err := config.Resolve(on, t.Config, func(label string) layouts.Version { return newest[label] })
	if err != nil {
		return nil, wrong(err)
	}
	for i := range plan.Providers {
		plan.Providers[i].Version = layouts.Version{} // the same sources for all releases
	}
	return newTracer(ctx, t.Dir, plan, Options{Cache: t.opts.Cache, AllowRemote: t.opts.AllowRemote}, releases), nil
}
