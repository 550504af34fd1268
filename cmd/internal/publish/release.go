package publish

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// ReleaseCommand is the verb release.
func ReleaseCommand(env *cli.Env) *cobra.Command {
	var s targets.Source
	var d delivery
	var f cli.Findings
	cmd := &cobra.Command{
		Use:   "release [SOURCE] --version VERSION --to DEST",
		Short: "Build, lint, publish and read back: the release target of a Makefile",
		Long: `Builds the releases of a source tree, checks them, publishes them and reads
back what readers see. Nothing is published if there are findings at or above
--fail-on. A second run finishes what a first one did not.

Nothing is published either if
` + refused() + `
Without --to, the destinations of the configuration are used.
` + targets.DestHelp,
		Example: `  clusterctl-repo release --version v1.2.3 --to /srv/repository

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
			b, err := s.Build(ctx, env, dir)
			if err != nil {
				return err
			}
			releases, c := b.Releases, b.Config
			d.Remote, d.Commit = origin(ctx, env, dir)
			steps, err := d.steps(ctx, env, c, releases, dir)
			if err != nil {
				return err
			}
			checked, err := check.Build(ctx, b, check.Options{})
			if err != nil {
				return err
			}
			r := checked.Report
			if len(r.Findings) > 0 || len(r.Failures) > 0 || f.Chosen() {
				if err := f.Judge(env, r, report.Options{}, checked.Repository); err != nil {
					env.Say("nothing was published")
					return err
				}
			}
			if refusals := check.Refusals(b, r); len(refusals) > 0 {
				problems := phrase.List(refusals, func(r check.Refusal) error { return r })
				return fmt.Errorf("%w\nnothing was published", errors.Join(problems...))
			}
			if !d.dryRun {
				if err := targets.SaveSeries(env, b); err != nil {
					return err
				}
			}
			d.brokenLatest = d.brokenLatest || f.Level > lint.Error // --fail-on never
			return d.deliver(ctx, env, steps)
		},
	}
	s.Bind(cmd.Flags())
	s.BindSeries(cmd.Flags())
	d.bind(cmd.Flags())
	f.Bind(cmd.Flags())
	return cmd
}

// refused lists the gates for the help.
func refused() string {
	var out strings.Builder
	for _, g := range check.Gates {
		fmt.Fprintln(&out, term.Wrap("- ", fmt.Sprintf("%s: %s; to release it, %s", g.Name, g.Refuses, g.Override), 80, 2))
	}
	return out.String()
}

// origin returns the remote repository of a source tree and the commit that it
// is at, as far as git knows.
func origin(ctx context.Context, env *cli.Env, dir string) (remote, commit string) {
	r, err := git.Open(ctx, env.Path(dir))
	if err != nil {
		return "", ""
	}
	commit, _ = r.Commit(ctx, "HEAD") // none before the first commit
	return r.Remote(ctx), commit
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
