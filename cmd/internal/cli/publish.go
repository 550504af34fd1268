package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/rules"
)

const destHelp = `
DEST is a folder, or file:/// with its path.`

// destination opens a DEST.
func (a *app) destination(name string) (publish.Destination, error) {
	if scheme, rest, ok := strings.Cut(name, "://"); ok {
		if scheme != "file" {
			return nil, usagef("publishing to %s is not possible yet; publish to a folder and copy from there", name)
		}
		if !strings.HasPrefix(rest, "/") {
			return nil, usagef("%s is not absolute; write file:/// and the path", name)
		}
		name = filepath.FromSlash(rest)
	}
	d, err := local.New(a.path(name))
	return d, usage(err)
}

func (a *app) publishCommand() *cobra.Command {
	var to string
	var dryRun bool
	var labels []string
	cmd := &cobra.Command{
		Use:   "publish TARGET --to DEST",
		Short: "Publish built releases, whole or not at all",
		Long: `Publishes every release of TARGET. Readers see a release when all its files are
there and checked, not before. A version that is already published with equal
content is left alone; with other content it is refused.
` + targetHelp + "\n" + destHelp,
		Example: `  # Publish what build wrote
  clusterctl-repo publish out --to /srv/repository

  # What would happen?
  clusterctl-repo publish out --to /srv/repository --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return usagef("there is no destination: say --to, such as --to /srv/repository")
			}
			dest, err := a.destination(to)
			if err != nil {
				return err
			}
			t, err := a.open(cmd.Context(), args[0], nil)
			if err != nil {
				return err
			}
			var releases []*repo.Release
			for _, p := range t.repository.Providers {
				releases = append(releases, p.Releases...)
			}
			var all []string
			for _, p := range t.repository.Providers {
				all = append(all, p.Label())
			}
			if err := known(labels, all, t.repository.Path); err != nil {
				return err
			}
			if releases = selected(releases, labels); len(releases) == 0 {
				return usagef("%s holds no release to publish", args[0])
			}
			return a.publish(cmd.Context(), dest, releases, dryRun)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "where to publish")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would happen")
	cmd.Flags().StringSliceVar(&labels, "provider", nil, "publish only the provider with this `label`; may be repeated")
	return cmd
}

// publish puts releases into a destination. All are checked before the first
// one is written.
func (a *app) publish(ctx context.Context, dest publish.Destination, releases []*repo.Release, dryRun bool) error {
	for _, r := range releases {
		if err := publish.Check(r); err != nil {
			return err
		}
	}
	for _, r := range releases {
		if dryRun {
			word, err := preview(ctx, dest, r)
			if err != nil {
				return err
			}
			a.say("%s %s %s in %s", word, r.Provider.Label(), r.Version, dest)
			continue
		}
		result, err := dest.Put(ctx, r)
		if err != nil {
			return err
		}
		word := a.style.Green("published")
		if result.Unchanged {
			word = "already published:"
		}
		a.say("%s %s %s at %s", word, r.Provider.Label(), r.Version, result.Where)
	}
	return nil
}

// preview says what Put would do.
func preview(ctx context.Context, dest publish.Destination, r *repo.Release) (string, error) {
	versions, err := dest.Versions(ctx, r.Provider)
	if err != nil {
		return "", err
	}
	for _, v := range versions {
		if v != r.Version {
			continue
		}
		old, err := dest.Fetch(ctx, r.Provider, v)
		if err != nil {
			return "", err
		}
		diff, err := publish.Compare(ctx, old, r)
		if err != nil {
			return "", err
		}
		if !diff.IsZero() {
			return "", &publish.ConflictError{Release: publish.Name(r), Where: old.Path, Difference: diff}
		}
		return "would leave alone", nil
	}
	return "would publish", nil
}

func (a *app) releaseCommand() *cobra.Command {
	var s source
	var to []string
	var dryRun bool
	var fail failOn
	out := outputs{formats: report.FindingsFormats}
	cmd := &cobra.Command{
		Use:   "release [SOURCE] --version VERSION --to DEST",
		Short: "Build, lint, publish and read back: the release target of a Makefile",
		Long: `Builds the releases of a source tree, checks them, publishes them and reads
back what readers see. Nothing is published if there are findings at or above
--fail-on. A second run finishes what a first one did not.

Without --to, the destinations of the configuration are used.
` + destHelp,
		Example: `  clusterctl-repo release --version v1.2.3 --to /srv/repository

  # The image of this release, and the series of a new minor version
  clusterctl-repo release --version v1.3.0 --add-series --to /srv/repository \
      --image controller=ghcr.io/acme/controller:v1.3.0`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			level, err := fail.level()
			if err != nil {
				return err
			}
			outs, err := out.parse()
			if err != nil {
				return err
			}
			b, err := a.build(ctx, &s, sourceArg(args), false)
			if err != nil {
				return err
			}
			releases, c := b.releases, b.config
			steps, err := a.destinations(ctx, c, to, releases)
			if err != nil {
				return err
			}
			severity, err := severities(c)
			if err != nil {
				return err
			}
			profile := contract.DefaultProfile()
			if profile.Roles, err = rolesOf(c); err != nil {
				return err
			}
			r, err := lint.Run(ctx, asRepository(releases), traced(b.tracer, lint.Options{Rules: rules.All, Severity: severity, Partial: true, Profile: profile}))
			if err != nil {
				return err
			}
			if len(r.Findings) > 0 || len(r.Failures) > 0 || len(out.values) > 0 {
				if err := a.judge(r, outs, level, asRepository(releases)); err != nil {
					a.say("nothing was published")
					return err
				}
			}
			for _, step := range steps {
				if err := a.publish(ctx, step.dest, step.releases, dryRun); err != nil {
					return err
				}
				if !dryRun {
					if err := a.readBack(ctx, step.dest, step.releases); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	s.flags(cmd)
	cmd.Flags().StringSliceVar(&to, "to", nil, "where to publish; may be repeated")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "build and lint, and only say what would be published")
	fail.flag(cmd)
	out.flag(cmd)
	return cmd
}

// step is what goes to one destination.
type step struct {
	dest     publish.Destination
	releases []*repo.Release
}

func (a *app) destinations(ctx context.Context, c *config.Config, to []string, releases []*repo.Release) ([]step, error) {
	if len(to) > 0 {
		c = &config.Config{}
		for _, name := range to {
			c.Publish = append(c.Publish, config.Destination{To: name})
		}
	}
	if len(c.Publish) == 0 {
		return nil, usagef("there is no destination: say --to, or list destinations under publish in %s", config.FileName)
	}
	var out []step
	for _, d := range c.Publish {
		dest, err := a.destination(d.To)
		if err != nil {
			return nil, err
		}
		var chosen []*repo.Release
		for _, r := range selected(append([]*repo.Release{}, releases...), d.Providers) {
			part, err := onlyFiles(ctx, r, d.Files)
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, part)
		}
		out = append(out, step{dest, chosen})
	}
	return out, nil
}

// onlyFiles leaves the files of a release that match one of the patterns, or
// all if there is no pattern. The checksums are made anew for what is left.
func onlyFiles(ctx context.Context, r *repo.Release, patterns []string) (*repo.Release, error) {
	if len(patterns) == 0 {
		return r, nil
	}
	out := *r
	out.Artifacts = nil
	for _, f := range r.Artifacts {
		if f.Kind() != layouts.Checksums && slices.ContainsFunc(patterns, func(p string) bool { return config.Match(p, f.Name) }) {
			out.Artifacts = append(out.Artifacts, f)
		}
	}
	sums, err := repo.Checksums(ctx, &out)
	if err != nil {
		return nil, err
	}
	out.Artifacts = append(out.Artifacts, repo.BytesArtifact(layouts.ChecksumFile, sums))
	out.Sort()
	return &out, nil
}

// readBack reads the published releases the way a user of clusterctl does.
func (a *app) readBack(ctx context.Context, dest publish.Destination, releases []*repo.Release) error {
	for _, r := range releases {
		got, err := dest.Fetch(ctx, r.Provider, r.Version)
		if err != nil {
			return fmt.Errorf("read back %s: %w", publish.Name(r), err)
		}
		diff, err := publish.Compare(ctx, got, r)
		if err != nil {
			return fmt.Errorf("read back %s: %w", publish.Name(r), err)
		}
		if !diff.IsZero() {
			return fmt.Errorf("read back %s: what readers see differs: %s", publish.Name(r), diff)
		}
		if r.Artifact(layouts.ChecksumFile) != nil {
			if err := repo.VerifyChecksums(ctx, got); err != nil {
				return fmt.Errorf("read back %s: %w", publish.Name(r), err)
			}
		}
	}
	return nil
}
