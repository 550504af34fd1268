package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// shipment is what publish and release have in common: one gate that releases pass, and
// how they are delivered then.
type shipment struct {
	source   targets.Source
	findings cli.Findings
	// previous names the release to compare with instead of the last one at the
	// destination, and removal compares with none.
	previous string
	removal  bool
	// terse shows findings only if they refuse.
	terse bool
	delivery
}

func (s *shipment) bind(f *pflag.FlagSet) {
	f.StringVar(&s.previous, "previous", "", "")
	cli.Allow(f, "removal", &s.removal)
	s.delivery.bind(f)
	s.findings.Bind(f)
}

// gateHelp says what both verbs refuse.
const gateHelp = `
Nothing is published if there are findings at or above --fail-on, or if a
release has less than the last one: the highest lower version at the
destination, or --previous. What is gone on purpose is listed under removed in
clusterctl-repo.yaml, or allowed once with --allow removal.
`

// finished opens and checks releases that are there: a folder, whose files are read as
// they are, or a URL. Plan is given them before they are checked.
func (s *shipment) finished(ctx context.Context, env *cli.Env, name string, plan func([]*repo.Release) ([]step, error)) ([]step, error) {
	o := check.Options{Partial: true} // the destination may have other versions
	var steps []step
	o.Last = func(ctx context.Context, releases []*repo.Release) (out []check.Succession, err error) {
		if _, flat := transform.IsFinished(ctx, env.Path(name)); flat {
			if releases, err = summed(ctx, releases); err != nil {
				return nil, err
			}
		}
		if steps, err = plan(releases); err != nil {
			return nil, err
		}
		return s.last(ctx, env, steps)
	}
	var checked *check.Result
	var err error
	if open.IsURL(name) {
		var t *targets.Target
		if t, err = targets.Open(ctx, env, name, nil); err == nil {
			o.Foreign = t.From != nil
			checked, err = check.Repository(ctx, t.Repository, t.Partial, o)
		}
	} else {
		if o.Source, err = s.source.Options(env); err == nil {
			o.Source.Finished = true
			checked, err = check.Folder(ctx, env.Short(env.Path(name)), o)
		}
	}
	if err != nil {
		return nil, err
	}
	if checked.Guessed {
		return nil, cli.Usagef("missing version: pass --version, such as --version %s", checked.Repository.Providers[0].Releases[0].Version)
	}
	return steps, s.judge(env, checked)
}

// summed gives releases of a flat folder the checksums that a build writes.
func summed(ctx context.Context, releases []*repo.Release) (out []*repo.Release, err error) {
	for _, r := range releases {
		if r.Artifact(layouts.ChecksumFile) == nil {
			if r, err = publish.WithChecksums(ctx, r); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// judge refuses findings at or above --fail-on.
func (s *shipment) judge(env *cli.Env, checked *check.Result) error {
	r := checked.Report
	if len(r.Findings) == 0 && len(r.Failures) == 0 && !s.findings.Chosen() {
		return nil
	}
	if s.terse && !s.findings.Chosen() && r.Worst() < s.findings.Level && len(r.Failures) == 0 {
		if n := r.Count(); n.Errors+n.Warnings > 0 {
			env.Say("info: %s, %s; clusterctl-repo lint shows them", phrase.Count(n.Errors, "error"), phrase.Count(n.Warnings, "warning"))
		}
		s.brokenLatest = s.brokenLatest || s.findings.Level > lint.Error
		return nil
	}
	err := s.findings.Judge(env, r, report.Options{}, checked.Repository)
	if err != nil {
		env.Say("nothing was published")
	}
	// With --fail-on never, what breaks "latest" is allowed too.
	s.brokenLatest = s.brokenLatest || s.findings.Level > lint.Error
	return err
}

// last returns with what the releases of steps are compared.
func (s *shipment) last(ctx context.Context, env *cli.Env, steps []step) ([]check.Succession, error) {
	if s.removal {
		return nil, nil
	}
	if s.previous != "" {
		last, err := targets.Last(ctx, env, s.previous)
		return phrase.List(steps, func(st step) check.Succession { return check.Succession{Last: last, Next: st.releases} }), err
	}
	var out []check.Succession
	for _, st := range steps {
		parcels, err := st.site.Parcels(ctx, st.releases)
		if err != nil {
			return nil, err
		}
		for _, version := range versionsOf(st.releases) {
			next := phrase.Only(st.releases, func(r *repo.Release) bool { return r.Version == version })
			var last []*repo.Release
			for _, p := range parcels {
				if p.Release.Version != version {
					continue
				}
				before, err := publish.Last(ctx, p, len(s.source.Providers) == 0)
				if err != nil && ctx.Err() == nil {
					if _, refused := p.To.Plan(ctx, p.Release); refused != nil {
						return nil, fmt.Errorf("%w; nothing was published", refused)
					}
				}
				if err != nil {
					return nil, fmt.Errorf("the last release cannot be read, with which %s is compared: %w\nname another one with --previous, or none with --previous none", version, err)
				}
				last = append(last, before...)
			}
			out = append(out, check.Succession{Last: unique(last), Next: next})
		}
	}
	return out, nil
}

func versionsOf(releases []*repo.Release) []string {
	return slices.Compact(slices.Sorted(slices.Values(phrase.List(releases, func(r *repo.Release) string { return r.Version }))))
}

// unique leaves one release of each provider.
func unique(releases []*repo.Release) (out []*repo.Release) {
	for _, r := range releases {
		if !slices.ContainsFunc(out, func(other *repo.Release) bool { return other.Provider == r.Provider }) {
			out = append(out, r)
		}
	}
	return out
}

// refuse is the error of refusals, or nil.
func refuse(refusals []check.Refusal) error {
	if len(refusals) == 0 {
		return nil
	}
	return fmt.Errorf("%w\nnothing was published", errors.Join(phrase.List(refusals, func(r check.Refusal) error { return r })...))
}
