package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/likeness"
)

// initFlags are the flags of init.
type initFlags struct {
	config, version, like string
	force, print          bool
	cache                 targets.Cache
}

// InitCommand is the verb init.
func InitCommand(env *cli.Env) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [SOURCE]",
		Short: "Find out how a source tree is released and write clusterctl-repo.yaml",
		Long: `Writes the configuration that makes the files of a release again, and proves it.
Each file is looked for by its content: among the files of the source tree, and
what its kustomizations build, with other images or texts where the release has
them. The result is built in memory and compared with the release. Files that
come out otherwise are named, with the difference. Makefiles are not read.

The release is --like, a folder or URL; without it, the latest one of the git
remote on GitHub or GitLab. If neither can be read, the conventions decide that
most providers follow. If the tag of the release is in git, its tree is looked
at, and the working tree only if that makes more files.

A tree that follows the conventions builds without the file; keep it to pin or
change a decision.`,
		Example: `  # See what would be written, like the latest release of the git remote
  clusterctl-repo init --dry-run

  # Make what make release has left in a folder
  clusterctl-repo init --like out --version v1.2.3

  # Write clusterctl-repo.yaml into another tree, like one of its releases
  clusterctl-repo init ../cluster-api-provider-acme --like https://github.com/acme/cluster-api-provider-acme`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := env.Path(targets.Arg(args))
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				return cli.Usagef("%s is a file, not the folder of a source tree", env.Short(dir))
			}
			existing, err := existingConfig(dir)
			switch {
			case err != nil:
				return cli.Usagef("%s: %w", env.Short(filepath.Join(dir, existing)), files.Cause(err))
			case existing != "" && !f.force && !f.print:
				return cli.Usagef("%s exists; use --force to replace it, or --dry-run to only see the result", env.Short(filepath.Join(dir, existing)))
			}
			given, err := given(env, dir, existing, &f)
			if err != nil {
				return err
			}
			version, err := transform.ParseVersions(f.version)
			if err != nil {
				return err
			}
			o := likeness.Options{Given: given, Version: version, Cache: f.cache.Open(env), Temp: os.TempDir()}
			like, err := f.releases(cmd.Context(), env, dir)
			if err != nil {
				return err
			}
			restore := (&targets.Source{}).Mute(env)
			var p *likeness.Proposal
			if len(like.Each) > 0 {
				p, err = likeness.Like(cmd.Context(), env.Short(dir), like, o)
			} else {
				p, err = likeness.Conventions(cmd.Context(), env.Short(dir), o)
			}
			restore()
			if err != nil {
				return err
			}
			if len(like.Each) > 0 {
				env.Say("%s", p.Counts.Summary(like.Each[0].Version))
			}
			return proposed(env, p, dir, filepath.Join(dir, cmp.Or(existing, config.FileName)), f.print)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "")
	fl.StringVar(&f.like, "like", "", "")
	fl.StringVar(&f.version, "version", "", "")
	fl.BoolVar(&f.force, "force", false, "")
	fl.BoolVar(&f.print, "dry-run", false, "")
	f.cache.Bind(fl)
	return cmd
}

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
		if out, err = f.published(ctx, env, url, dir, ""); err != nil {
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
	t, err := targets.Open(ctx, env, f.like, nil)
	if err != nil {
		return out, err
	}
	out.Shared = t.From != nil
	if p := t.Repository.Providers; len(p) == 1 && len(p[0].Releases) == 1 {
		whole := p[0].Releases[0]
		_, versionErr := layouts.ParseVersion(whole.Version)
		several := slices.ContainsFunc(whole.Artifacts, func(a *repo.Artifact) bool {
			typ := layouts.TypeOfComponents(a.Name)
			return typ != "" && typ != whole.Provider.Type
		})
		if versionErr != nil || several && t.From == nil { // a folder of the files alone
			if versionErr != nil {
				whole.Version = f.version
			}
			if whole.Version == "" {
				return out, cli.Usagef("%s does not say which release it is; add --version, such as --version v1.2.3", f.like)
			}
			out.Shared = true
			whole.Provider = layouts.Provider{}
			out.Each, err = publish.Split(ctx, whole, "")
			return out, err
		}
	}
	if f.version != "" {
		var there []string
		for _, p := range t.Repository.Providers {
			there = append(there, phrase.List(p.Releases, func(r *repo.Release) string { return r.Version })...)
			p.Releases = slices.DeleteFunc(p.Releases, func(r *repo.Release) bool { return r.Version != f.version })
		}
		t.Repository.Providers = slices.DeleteFunc(t.Repository.Providers, func(p *repo.Provider) bool { return len(p.Releases) == 0 })
		if len(t.Repository.Providers) == 0 {
			return out, cli.Usagef("%s has no version %s%s", f.like, f.version, phrase.Among(f.version, there))
		}
	}
	out.Each, err = t.Newest()
	return out, err
}

// published are the releases of a version at a place on a server, or of the highest
// stable one.
func (f *initFlags) published(ctx context.Context, env *cli.Env, place, dir, version string) (out likeness.Releases, err error) {
	site, err := targets.Site(env, place, open.Options{})
	if err != nil {
		return out, err
	}
	out.Shared = site.Shared
	providers := []layouts.Provider{{}}
	if !site.Shared { // the place does not list its providers
		p, err := likeness.Conventions(ctx, env.Short(dir), likeness.Options{Cache: f.cache.Open(env)})
		if err != nil {
			return out, err
		}
		providers = phrase.List(p.Config.Providers, func(p config.Provider) layouts.Provider {
			provider, _ := layouts.ParseLabel(p.Label())
			return provider
		})
	}
	for _, p := range providers {
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
		releases, err := publish.Split(ctx, whole, "")
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

// existingConfig returns the name of the configuration at the root of a tree; ""
// if there is none.
func existingConfig(dir string) (string, error) {
	for _, name := range transform.ConfigNames {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			if !info.Mode().IsRegular() {
				return name, errors.New("it is not a regular file, so it cannot be read or replaced")
			}
			return name, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
	}
	return "", nil
}

// given is the configuration that init completes; nil begins anew, as --force does.
func given(env *cli.Env, dir, existing string, f *initFlags) (*config.Config, error) {
	name := f.config
	if name == "" {
		if existing == "" || f.force {
			return nil, nil
		}
	}
	if name != "" {
		name = env.Short(name)
	}
	c, _, err := transform.LoadConfig(env.Short(dir), name)
	return c, err
}

// proposed prints or writes a proposal, with the reasons.
func proposed(env *cli.Env, p *likeness.Proposal, dir, file string, print bool) error {
	for _, text := range p.Said {
		env.Say("info: %s", text)
	}
	if print {
		if p.Problem != nil {
			env.Say("info: the tree does not build yet: %v", p.Problem)
		}
		_, err := env.Out.Write(p.Text)
		return err
	}
	if p.Problem != nil {
		return cli.Exit(cli.ExitFailed, fmt.Errorf("nothing was written, because the tree does not build yet: %w", p.Problem))
	}
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, p.Text) { // existingConfig looked at it
		env.Say("%s is up to date", env.Short(file))
		return nil
	}
	if err := env.WriteFile(file, p.Text); err != nil {
		return err
	}
	for _, r := range p.Releases {
		env.Say("builds %s %s (%d files)", r.Provider.Label(), r.Version, len(r.Artifacts))
	}
	allow := ""
	if p.Config.RemoteBases {
		allow = " --allow remote"
	}
	source := "" // is the working directory
	if short := env.Short(dir); short != "." {
		source = short + " "
	}
	env.Say("wrote %s; next: %s build %s--version %s%s", env.Short(file), env.Program(), source, p.Version, allow)
	return nil
}
