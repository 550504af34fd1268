package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/memory"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

const destHelp = `
DEST is a folder or file:/// with its path, static:DIR for a web server,
https://github.com/OWNER/REPO, https://gitlab.HOST/GROUP/PROJECT, or
oci://HOST/REPO. {provider} in the name of
a repository stands for the label of each provider. Tokens come from GH_TOKEN or
GITHUB_TOKEN, GITLAB_TOKEN or CI_JOB_TOKEN, and the store of docker login.`

func (a *app) publishCommand() *cobra.Command {
	var d delivery
	var labels []string
	cmd := &cobra.Command{
		Use:   "publish TARGET --to DEST",
		Short: "Publish built releases, whole or not at all",
		Long: `Publishes every release of TARGET, and reads back what readers see. They see a
release when all its files are there and checked, not before. A version that is
already published with equal content is left alone; with other content it is
refused. What one run did not finish the next one does.
` + targetHelp + "\n" + destHelp,
		Example: `  # Publish what build wrote
  clusterctl-repo publish out --to /srv/repository

  # A GitHub release with its tag; what would happen?
  clusterctl-repo publish out --to https://github.com/acme/cluster-api-provider-acme --dry-run

  # One OCI artifact for each provider
  clusterctl-repo publish out --to 'oci://registry.example.com/capi/{provider}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(d.to) == 0 {
				return usagef("there is no destination: say --to, such as --to /srv/repository")
			}
			defer memory.CollectOften()()
			var sites []publish.Site
			for _, to := range d.to {
				site, err := a.site(to, &d)
				if err != nil {
					return err
				}
				sites = append(sites, site)
			}
			t, err := a.open(cmd.Context(), args[0], nil)
			if err != nil {
				return err
			}
			var releases []*repo.Release
			var all []string
			for _, p := range t.repository.Providers {
				releases = append(releases, p.Releases...)
				all = append(all, p.Label())
			}
			if err := known(labels, all, t.repository.Path); err != nil {
				return err
			}
			if releases = selected(releases, labels); len(releases) == 0 {
				return usagef("%s holds no release to publish", args[0])
			}
			var steps []step
			for _, site := range sites {
				steps = append(steps, step{site, releases})
			}
			return a.deliver(cmd.Context(), &d, steps)
		},
	}
	d.flags(cmd)
	cmd.Flags().StringSliceVar(&labels, "provider", nil, "publish only the provider with this `label`; may be repeated")
	return cmd
}

// step is what goes to one site.
type step struct {
	site     publish.Site
	releases []*repo.Release
}

// deliver publishes releases and reads them back. All are checked before the
// first one is written.
func (a *app) deliver(ctx context.Context, d *delivery, steps []step) error {
	if err := d.attestation.load(a); err != nil {
		return err
	}
	if err := d.checkRecord(a); err != nil {
		return err
	}
	var parcels []publish.Parcel
	for _, s := range steps {
		for _, r := range s.releases {
			if r.Components() == nil && r.Artifact(layouts.MetadataFile) == nil {
				return usagef("%s %s has neither components nor %s, so clusterctl could not use it; nothing was published", r.Provider.Label(), r.Version, layouts.MetadataFile)
			}
			if !strings.HasPrefix(r.Version, "v") {
				return usagef("%s %s: clusterctl would take this for the latest version, and then not find v%[2]s; publish it as v%[2]s", r.Provider.Label(), r.Version)
			}
		}
		add, err := a.decorated(s.site, d).Parcels(ctx, s.releases)
		if err != nil {
			return err
		}
		for i := range add {
			if add[i].Release, err = d.attestation.add(ctx, add[i].Release, add[i].From); err != nil {
				return err
			}
		}
		parcels = append(parcels, add...)
	}
	if err := a.checkLatest(ctx, d, parcels); err != nil {
		return err
	}
	for i, p := range parcels {
		result, err := p.Publish(ctx)
		a.progress.Done()
		if err != nil {
			failures := []error{err}
			left := len(parcels) - i - 1
			if left > 0 {
				failures = append(failures, fmt.Errorf("%d further releases were not begun", left))
			}
			if left > 0 && ctx.Err() == nil {
				a.say("%d further releases were not begun; the same command goes on from here", left)
			}
			return errors.Join(err, d.writeRecord(a, failures...))
		}
		for _, r := range p.From {
			if last := len(d.receipts) - 1; last >= 0 && !d.dryRun {
				d.receipts[last].Providers = append(d.receipts[last].Providers, r.Provider.Label())
			}
			switch name := r.Provider.Label() + " " + r.Version; {
			case d.dryRun && result.Unchanged:
				a.say("would leave alone %s in %s", name, p.To)
			case d.dryRun:
				a.say("would publish %s in %s", name, p.To)
			case result.Unchanged:
				a.say("already published: %s at %s", name, result.Where)
			default:
				a.say("%s %s at %s", a.style.Green("published"), name, result.Where)
			}
		}
		for _, step := range result.Steps {
			a.say("  %s", step)
		}
		for _, note := range result.Notes {
			a.say("%s %s", a.style.Yellow("note:"), note)
		}
	}
	return d.writeRecord(a)
}

// checkLatest refuses what would leave a repository in which clusterctl can no
// longer resolve "latest".
func (a *app) checkLatest(ctx context.Context, d *delivery, parcels []publish.Parcel) error {
	broken, err := publish.CheckLatest(ctx, parcels)
	if err != nil {
		return err
	}
	for _, b := range broken {
		if !b.Before && !d.brokenLatest {
			hint := "correct metadata.yaml, or allow it with --allow-broken-latest"
			if errors.Is(b, metadata.ErrNoVersion) {
				hint = "metadata.yaml lists a release series that has no release: publish that release first, remove the series, or allow it with --allow-broken-latest"
			}
			return fmt.Errorf("%w; nothing was published.\n%s", b, hint)
		}
		a.say("%s %v", a.style.Yellow("warning:"), b)
	}
	return nil
}

func (a *app) releaseCommand() *cobra.Command {
	var s source
	var d delivery
	var fail failOn
	var statement bool
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

  # From a workflow, with contents: write
  clusterctl-repo release --version "$GITHUB_REF_NAME" --to "https://github.com/$GITHUB_REPOSITORY"

  # The image of this release, and the series of a new minor version
  clusterctl-repo release --version v1.3.0 --add-series --to /srv/repository \
      --image ghcr.io/acme/cluster-api-provider-acme=ghcr.io/acme/cluster-api-provider-acme:v1.3.0`,
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
			var inputs func() []string
			if statement {
				s.input, inputs = gather()
			}
			b, err := a.build(ctx, &s, sourceArg(args))
			if err != nil {
				return err
			}
			releases, c := b.Releases, b.Config
			d.Remote, d.Commit = a.origin(ctx, sourceArg(args))
			steps, err := a.steps(ctx, c, &d, releases, sourceArg(args))
			if err != nil {
				return err
			}
			checked, err := check.Build(ctx, b, check.Options{})
			if err != nil {
				return err
			}
			r := checked.Report
			if len(r.Findings) > 0 || len(r.Failures) > 0 || len(out.values) > 0 {
				if err := a.judge(r, outs, level, report.Options{}, checked.Repository); err != nil {
					a.say("nothing was published")
					return err
				}
			}
			if statement {
				if d.build, err = a.describe(ctx, &s, sourceArg(args), inputs()); err != nil {
					return err
				}
			}
			if err := a.saveSeries(b, d.dryRun); err != nil {
				return err
			}
			d.brokenLatest = d.brokenLatest || level > lint.Error // --fail-on never
			return a.deliver(ctx, &d, steps)
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&statement, "provenance", true, "add "+layouts.ProvenanceFile+", which says how the files were made (in-toto, SLSA v1)")
	d.flags(cmd)
	fail.flag(cmd)
	out.flag(cmd)
	return cmd
}

// gather returns a function that takes names from several goroutines, and one
// that returns them.
func gather() (take func(string), taken func() []string) {
	var mu sync.Mutex
	all := map[string]bool{}
	return func(name string) {
			mu.Lock()
			defer mu.Unlock()
			all[name] = true
		}, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Sorted(maps.Keys(all))
		}
}

// steps says which releases of the source tree in dir go where.
func (a *app) steps(ctx context.Context, c *config.Config, d *delivery, releases []*repo.Release, dir string) ([]step, error) {
	destinations := c.Publish
	if len(d.to) > 0 {
		destinations = nil
		for _, name := range d.to {
			destinations = append(destinations, config.Destination{To: name})
		}
	}
	if len(destinations) == 0 {
		return nil, usagef("no destination: say --to, or list destinations under publish in %s", config.FileName)
	}
	var out []step
	for _, to := range destinations {
		chosen := selected(slices.Clone(releases), to.Providers)
		if len(chosen) == 0 {
			a.say("note: %s is skipped: it takes only %s", to.To, strings.Join(to.Providers, ", "))
			continue
		}
		for i, r := range chosen {
			part, err := onlyFiles(ctx, r, to.Files)
			if err != nil {
				return nil, err
			}
			if part.Components() == nil && part.Artifact(layouts.MetadataFile) == nil {
				return nil, usage(to.Errorf("files", "%s would get neither components nor %s of %s, so clusterctl could not use the release; match at least one of them", to.To, layouts.MetadataFile, r.Provider.Label()))
			}
			chosen[i] = part
		}
		name := to.To
		if len(d.to) == 0 && !strings.Contains(name, ":") && !filepath.IsAbs(name) {
			name = filepath.Join(a.path(dir), name) // the configuration lies there
		}
		site, err := a.site(name, d)
		if err != nil {
			return nil, err
		}
		out = append(out, step{site, chosen})
	}
	if len(out) == 0 {
		return nil, usagef("nothing would be published: no destination takes %s", strings.Join(labelsOf(releases), ", "))
	}
	return out, nil
}

func labelsOf(releases []*repo.Release) []string {
	var out []string
	for _, r := range releases {
		out = append(out, r.Provider.Label())
	}
	return out
}

// saveSeries writes the release series that were added into the source tree.
func (a *app) saveSeries(b *sourcetree.Build, dryRun bool) error {
	if dryRun {
		return nil
	}
	changed, err := b.SaveSeries()
	for _, name := range changed {
		a.say("added the release series to %s; commit the change", a.short(name))
	}
	return err
}

// onlyFiles leaves the files of a release that match one of the patterns, or
// all if there is no pattern. The checksums are made anew for what is left.
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
