package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

func ReleaseCommand(env *cli.Env) *cobra.Command {
	var s shipment
	cmd := &cobra.Command{
		Use:   "release [SOURCE|FOLDER] --version VERSION --to DEST",
		Short: "Build, lint, publish and read back: the release target of a Makefile",
		Long: `Builds the releases of a source tree, or takes those of a folder such as the one
that make left, checks them, publishes them and reads back what readers see. A
second run finishes what a first one did not.

Nothing is published if
` + targets.GateHelp(func(g check.Gate) check.Verdict {
			if g.Tree == check.Refused {
				return g.Tree
			}
			return g.Built
		}) + `
Without --to, the destinations of the configuration are used.
` + targets.DestHelp,
		Example: `  # What make left in the folder out
  make release && clusterctl-repo release out --version v1.2.3 \
      --to https://github.com/acme/cluster-api-provider-acme

  # What the source tree makes
  clusterctl-repo release --version v1.2.3 --to /srv/repository

  # From a workflow, with contents: write
  clusterctl-repo release --version "$GITHUB_REF_NAME" \
      --to "https://github.com/$GITHUB_REPOSITORY"

  # The image of this release, and the series of a new minor version
  image=ghcr.io/acme/cluster-api-provider-acme
  clusterctl-repo release --version v1.3.0 --add-series --to /srv/repository \
      --image $image=$image:v1.3.0`,
		Annotations: map[string]string{cli.Stepwise: "yes"},
		Args:        cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, dir := cmd.Context(), targets.Arg(args)
			s.origin(ctx, env, dir)
			if finished, _ := transform.IsFinished(ctx, env.Path(dir)); finished {
				c, from, err := s.config(env, dir)
				if err != nil {
					return err
				}
				steps, err := s.finished(ctx, env, dir, func(releases []*repo.Release) ([]step, error) {
					return s.steps(ctx, env, c, releases, from)
				})
				if err != nil {
					return s.fail(env, err)
				}
				return s.deliver(ctx, env, steps)
			}
			b, err := s.source.Build(ctx, env, dir)
			if err != nil {
				return err
			}
			steps, err := s.steps(ctx, env, b.Config, b.Releases, dir)
			if err != nil {
				return err
			}
			checked, err := check.Build(ctx, b, check.Options{Last: func(ctx context.Context, _ []*repo.Release) ([]check.Succession, error) {
				return s.last(ctx, env, steps, true)
			}})
			if err != nil {
				return s.fail(env, err)
			}
			if err := s.judge(env, checked); err != nil {
				return err
			}
			if refusals := check.Refusals(b); len(refusals) > 0 {
				return fmt.Errorf("%w\nnothing was published", errors.Join(refusals...))
			}
			if err := wholeReleases(ctx, b.Repository(""), true); err != nil {
				return s.fail(env, err)
			}
			if !s.dryRun {
				if err := targets.SaveSeries(env, b); err != nil {
					return err
				}
			}
			return s.deliver(ctx, env, steps)
		},
	}
	s.source.Bind(cmd.Flags())
	s.source.BindSeries(cmd.Flags())
	s.bind(cmd.Flags())
	return cmd
}

// config is the configuration of finished releases, and the folder that it lies in: the
// one that is named, lies with them, or is the nearest above them.
func (s *shipment) config(env *cli.Env, dir string) (c *config.Config, from string, err error) {
	if s.source.Config != "" {
		c, _, err = transform.LoadConfig("", env.Short(s.source.Config))
		return c, dir, err
	}
	c, file, err := transform.LoadConfig(env.Short(env.Path(dir)), "")
	if err == nil && file == "" {
		c, file, err = transform.ConfigAbove(env.Short(env.Path(dir)))
	}
	return c, filepath.Dir(cmp.Or(file, filepath.Join(dir, config.FileName))), err
}

// origin finds out the remote repository of a folder and the commit that it is at, as far as
// git knows.
func (d *delivery) origin(ctx context.Context, env *cli.Env, dir string) {
	if info, err := os.Stat(env.Path(dir)); err != nil || !info.IsDir() {
		return
	}
	r, err := git.Open(ctx, env.Path(dir))
	if err == nil {
		d.Commit, _ = r.Commit(ctx, "HEAD") // none before the first commit
		d.Remote, err = r.Remote(ctx)
	}
	if err != nil && d.Target == "" && !errors.Is(err, git.ErrNoRepository) {
		env.Say("info: git does not tell the commit of %s: %v", dir, err)
	}
}

// steps says which releases of the source tree in dir go where.
func (d *delivery) steps(ctx context.Context, env *cli.Env, c *config.Config, releases []*repo.Release, dir string) ([]step, error) {
	destinations := c.Publish
	if len(d.to) > 0 {
		destinations = phrase.List(d.to, func(name string) config.Destination { return config.Destination{To: name} })
	}
	if len(destinations) == 0 {
		return nil, cli.Usagef("missing destination: add --to, or list destinations under publish in %s", config.FileName)
	}
	var out []step
	for _, to := range destinations {
		chosen := selected(slices.Clone(releases), to.Providers)
		if len(chosen) == 0 {
			env.Say("info: %s is skipped: it accepts only %s", to.To, strings.Join(to.Providers, ", "))
			continue
		}
		for i, r := range chosen {
			part, err := onlyFiles(ctx, r, to.Files)
			if err != nil {
				return nil, err
			}
			if part.Components() == nil && part.Artifact(layouts.MetadataFile) == nil {
				return nil, cli.UsageError(to.Errorf("files", "%s would get neither components nor %s of %s, so clusterctl could not use the release; match at least one of them", to.To, layouts.MetadataFile, r.Provider.Label()))
			}
			if d.key.File != "" {
				part = sign.Without(part) // it gets a new one, also as a part of a release
			}
			chosen[i] = part
		}
		name := to.To
		if len(d.to) == 0 && !strings.Contains(name, ":") && !filepath.IsAbs(name) {
			name = filepath.Join(env.Path(dir), name) // the configuration lies there
		}
		site, err := d.site(env, name)
		if err != nil {
			return nil, err
		}
		out = append(out, step{site, chosen})
	}
	if len(out) == 0 {
		labels := phrase.List(releases, func(r *repo.Release) string { return r.Provider.Label() })
		return nil, cli.Usagef("nothing would be published: no destination takes %s", strings.Join(labels, ", "))
	}
	github := func(s step) bool { return s.site.Kind == layouts.GitHub }
	for _, flag := range []struct {
		name  string
		given bool
	}{{"--commit", d.Target != ""}, {"--notes-file", d.notes != ""}, {"--generate-notes", d.GenerateNotes}} {
		if flag.given && !slices.ContainsFunc(out, github) {
			env.Say("info: %s has no effect: no destination is on GitHub", flag.name)
		}
	}
	return out, nil
}

// onlyFiles leaves the files of a release that match one of the patterns, or
// all if there is no pattern. The checksums are rewritten for what is left.
func onlyFiles(ctx context.Context, r *repo.Release, patterns []string) (*repo.Release, error) {
	if len(patterns) == 0 {
		return r, nil
	}
	out := *r
	out.Artifacts = slices.DeleteFunc(slices.Clone(r.Artifacts), func(f *repo.Artifact) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool { return config.Match(p, f.Name) })
	})
	return publish.WithChecksums(ctx, &out)
}
