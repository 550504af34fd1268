package publish

import (
	"context"
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

// finished opens and checks releases that are there: a folder, whose files are read as
// they are, or a URL. Plan is given them before they are checked.
func (s *shipment) finished(ctx context.Context, env *cli.Env, name string, plan func([]*repo.Release) ([]step, error)) ([]step, error) {
	o := check.Options{Partial: true} // the destination may have other versions
	var steps []step
	o.Last = func(ctx context.Context, releases []*repo.Release) (out []check.Succession, err error) {
		_, flat := transform.IsFinished(ctx, env.Path(name))
		if flat {
			if releases, err = summed(ctx, releases); err != nil {
				return nil, err
			}
		}
		if steps, err = plan(releases); err != nil {
			return nil, err
		}
		return s.last(ctx, env, steps, flat)
	}
	var checked *check.Result
	var err error
	if open.IsURL(name) || targets.Named(env, name) {
		var t *targets.Target
		if t, err = targets.Open(ctx, env, name, nil); err == nil {
			o.Foreign = t.Remote
			err = wholeReleases(ctx, t.Repository, !t.Remote, t.Wholes...)
		}
		if err == nil {
			checked, err = check.Repository(ctx, t.Repository, t.Partial, o)
		}
	} else {
		o.Approve = func(ctx context.Context, r *repo.Repository) error {
			if _, _, err := targets.Recorded(r, nil); err != nil {
				return err
			}
			return wholeReleases(ctx, r, true)
		}
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

// wholeReleases puts pinned releases in the place of all in a repository, or refuses what must
// not go anywhere; before they were taken apart by provider they were the others.
func wholeReleases(ctx context.Context, r *repo.Repository, near bool, before ...*repo.Release) (err error) {
	for _, release := range before {
		whole, err := publish.Whole(ctx, release, near)
		if err != nil {
			return fmt.Errorf("%w; nothing was published", err)
		}
		for _, p := range r.Providers {
			for _, part := range p.Releases {
				for i, a := range part.Artifacts {
					if same := whole.Artifact(a.Name); same != nil && part.Path == whole.Path {
						sum, _ := same.Stated() // so it need not be read again
						part.Artifacts[i] = a.Stating(sum)
					}
				}
			}
		}
	}
	for _, p := range r.Providers {
		for i, release := range p.Releases {
			if p.Releases[i], err = publish.Whole(ctx, release, near); err != nil {
				return fmt.Errorf("%w; nothing was published", err)
			}
		}
	}
	return nil
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

// last returns with what the releases of steps are compared: those of a version with the
// version before them, at the destination or among the releases themselves.
func (s *shipment) last(ctx context.Context, env *cli.Env, steps []step, siblings bool) (out []check.Succession, err error) {
	if s.removal {
		return nil, nil
	}
	var previous []*repo.Release
	if s.previous != "" {
		if previous, err = targets.Last(ctx, env, s.previous); err != nil {
			return nil, err
		}
		if labels := s.source.Providers; len(labels) > 0 {
			previous = phrase.Only(previous, func(r *repo.Release) bool { return slices.Contains(labels, r.Provider.Label()) })
		}
	}
	for _, st := range steps {
		parcels, err := st.site.Parcels(ctx, st.releases)
		if err != nil {
			return nil, err
		}
		var before []*repo.Release      // of the same step
		for i := 0; i < len(parcels); { // from the oldest version on
			version := parcels[i].Release.Version
			last, own := previous, before
			before = nil
			for ; i < len(parcels) && parcels[i].Release.Version == version; i++ {
				before = append(before, parcels[i].From...)
				if s.previous == "" && own == nil {
					there, err := s.lastAt(ctx, parcels[i], siblings)
					if err != nil {
						return nil, err
					}
					last = append(last, there...)
				}
			}
			if own != nil {
				last = own
			}
			out = append(out, check.Succession{Last: phrase.DistinctBy(last, func(r *repo.Release) layouts.Provider { return r.Provider }), Next: before})
		}
	}
	return out, nil
}

// lastAt is the last release at the destination of a parcel.
func (s *shipment) lastAt(ctx context.Context, p publish.Parcel, siblings bool) ([]*repo.Release, error) {
	last, err := publish.Last(ctx, p, siblings && len(s.source.Providers) == 0)
	if err == nil || ctx.Err() != nil {
		return last, err
	}
	if _, refused := p.To.Plan(ctx, p.Release); refused != nil {
		return nil, fmt.Errorf("%w; nothing was published", refused) // why it cannot be published at all
	}
	return nil, fmt.Errorf("cannot read the last release, which %s is compared with: %w; pass --previous TARGET, or --previous none", p.Release.Version, err)
}
