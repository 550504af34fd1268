package build

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/likeness"
)

// remoteForm is the URL of a git remote on a forge.
var remoteForm = phrase.Pattern(`^(?:https?://|ssh://git@|git@)(?:[^/@]+@)?(github\.com|gitlab\.[^/:]+)(?::[0-9]+)?[:/](.+?)(?:\.git)?/?$`)

// releases are those to be like: what --like names, or else the latest release of the
// git remote, if that can be read.
func (f *initFlags) releases(ctx context.Context, env *cli.Env, dir string) (out likeness.Releases, err error) {
	switch _, urlErr := targets.ParseURL(env, f.like); {
	case f.like == "":
		hints, err := transform.Hints(env.Short(dir))
		if err != nil {
			return out, err
		}
		m := remoteForm().FindStringSubmatch(hints.Remote())
		if m == nil {
			return out, nil
		}
		url := "https://" + m[1] + "/" + m[2]
		if out, err = f.published(ctx, env, url, dir, f.version); err != nil {
			env.Say("info: the conventions alone decide, because no release of %s can be read: %v", url, err)
			return likeness.Releases{}, ctx.Err()
		}
		return out, nil
	case open.IsURL(f.like) && urlErr != nil:
		return f.published(ctx, env, f.like, dir, f.version)
	case !open.IsURL(f.like):
		if rel, err := filepath.Rel(dir, env.Path(f.like)); err == nil {
			out.Folder = filepath.ToSlash(rel)
		}
	}
	if _, flat := transform.IsFinished(ctx, env.Path(f.like)); flat {
		whole, err := folder.Flat(ctx, env.Short(env.Path(f.like)))
		if err != nil {
			return out, err
		}
		if f.version != "" {
			whole.Version = f.version
		}
		if whole.Version == "" {
			return out, cli.Usagef("%s does not say which release it is; add --version, such as --version v1.2.3", f.like)
		}
		out.Shared = true
		out.Each, err = providers.Split(ctx, whole, "")
		return out, err
	}
	t, err := targets.Open(ctx, env, f.like, nil)
	if err == nil {
		err = t.Unlisted()
	}
	if err != nil {
		return out, err
	}
	out.Shared = t.From != nil
	if f.version != "" {
		var there []string
		for _, p := range t.Repository.Providers {
			there = append(there, phrase.List(p.Releases, func(r *repo.Release) string { return r.Version })...)
			p.Releases = slices.DeleteFunc(p.Releases, func(r *repo.Release) bool { return r.Version != f.version })
		}
		t.Repository.Providers = slices.DeleteFunc(t.Repository.Providers, func(p *repo.Provider) bool {
			return len(p.Releases) == 0
		})
		if len(t.Repository.Providers) == 0 {
			err := fmt.Errorf("%s has no version %s%s", f.like, f.version, phrase.Among(f.version, there))
			if t.From == nil {
				err = cli.UsageError(err)
			}
			return out, err
		}
	}
	out.Each, err = t.Newest()
	return out, err
}

// published are the releases of a version at a place on a server, or of the highest
// stable one.
func (f *initFlags) published(
	ctx context.Context, env *cli.Env, place, dir, version string,
) (out likeness.Releases, err error) {
	site, err := targets.Site(env, place, open.Options{})
	if err != nil {
		return out, err
	}
	out.Shared = site.Shared
	labels := []layouts.Provider{{}}
	if !site.Shared { // the place does not list its providers
		p, err := likeness.Conventions(ctx, env.Short(dir), likeness.Options{Cache: f.cache.Open(env)})
		if err != nil {
			return out, err
		}
		labels = phrase.List(p.Config.Providers, func(p config.Provider) layouts.Provider {
			provider, _ := layouts.ParseLabel(p.Label())
			return provider
		})
	}
	for _, p := range labels {
		from, err := site.Of(p)
		if err != nil {
			return out, err
		}
		tag := version
		if tag == "" {
			versions, err := from.Versions(ctx)
			if err != nil {
				return out, err
			}
			if tag = highest(versions); tag == "" {
				return out, fmt.Errorf("%s has no stable release", place)
			}
		}
		whole, err := from.Fetch(ctx, tag)
		if err != nil {
			return out, err
		}
		releases, err := providers.Split(ctx, whole, "")
		if err != nil {
			return out, err
		}
		out.Each = append(out.Each, releases...)
	}
	return out, nil
}

// highest is the highest stable version.
func highest(tags []string) (best string) {
	for _, tag := range tags {
		v, err := layouts.ParseVersion(tag)
		if then, _ := layouts.ParseVersion(best); err == nil && v.Prerelease() == "" && (best == "" || v.Compare(then) > 0) {
			best = tag
		}
	}
	return best
}
