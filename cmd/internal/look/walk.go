package look

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// subject is a provider to survey.
type subject struct {
	// Name is what the source calls it: a URL, or the label in a folder.
	Name string
	// Provider is who it is; zero if only its releases tell.
	Provider layouts.Provider
	// File is the components file, if the source names it.
	File string
	// From opens the place of its releases.
	From func() (publish.Destination, error)
	// Local places are cheap to read: the content of their files tells whether a
	// release changed.
	Local bool
	// Identify names the provider of a release whose files do not; it may be nil.
	Identify func(*repo.Release)
}

// walkOptions say what to survey and how.
type walkOptions struct {
	// Newest is how many versions of each provider to check; at least 1.
	Newest int
	// Workers is how many providers are surveyed side by side.
	Workers int
	// Shard is the part to survey; nil is the whole.
	Shard *inventory.Shard
	// Program is the version of the program, Identity tells builds of it apart: what
	// another one judged is judged again.
	Program, Identity string
	// Judge checks one release.
	Judge func(ctx context.Context, r *repo.Release) (inventory.Release, error)
	// State keeps what was judged.
	State *verdicts
	// Done is told of each surveyed provider; it may be nil.
	Done func(p *inventory.Provider, done, all int)
}

// walk surveys the newest releases of many providers, or of a shard of them. What was
// judged is kept as soon as it is, so that an interrupted run continues. A provider that cannot be read is in the result with
// its failure. The error is that of the context, or of the state.
func walk(ctx context.Context, subjects []subject, o walkOptions) (*inventory.Survey, error) {
	subjects = slices.Clone(subjects)
	slices.SortStableFunc(subjects, func(a, b subject) int { return cmp.Compare(a.Name, b.Name) })
	out := &inventory.Survey{Program: o.Program, Newest: o.Newest, Subjects: len(subjects), Source: digest(subjects), Shard: o.Shard, Providers: []inventory.Provider{}}
	var mine []subject
	for i, s := range subjects {
		if o.Shard == nil || o.Shard.Has(i) {
			mine = append(mine, s)
		}
	}
	var mu sync.Mutex
	parallel.Limited(o.Workers, len(mine), func(i int) {
		if ctx.Err() != nil {
			return
		}
		p := o.provider(ctx, &mine[i])
		if ctx.Err() != nil {
			return // what was cut short is not a result
		}
		mu.Lock()
		defer mu.Unlock()
		out.Providers = append(out.Providers, p)
		if o.Done != nil {
			o.Done(&p, len(out.Providers), len(mine))
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out.Sort()
	return out, o.State.err
}

// digest is what shards of one run agree in.
func digest(subjects []subject) string {
	h := sha256.New()
	for _, s := range subjects {
		fmt.Fprintf(h, "%s\x00%s\x00", s.Name, s.File)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// provider surveys one provider.
func (o *walkOptions) provider(ctx context.Context, s *subject) inventory.Provider {
	p := inventory.Provider{Subject: s.Name, WithoutRelease: []string{}, Releases: []inventory.Release{}}
	if s.Provider.Type != "" {
		p.Label = s.Provider.Label()
	}
	if err := o.fill(ctx, s, &p); err != nil {
		p.Failure = err.Error()
	}
	return p
}

func (o *walkOptions) fill(ctx context.Context, s *subject, p *inventory.Provider) error {
	from, err := s.From()
	if err != nil {
		return err
	}
	listed, err := from.Versions(ctx)
	if err != nil {
		return err
	}
	versions := newestFirst(listed)
	p.Versions = len(versions)
	if len(versions) == 0 {
		return errors.New("clusterctl reads no version of this place")
	}
	series := map[string]*metadata.Metadata{}
	for _, v := range versions {
		if len(p.Releases) == o.Newest {
			break
		}
		r, err := fetch(ctx, from, s, v.String())
		if errors.Is(err, fs.ErrNotExist) {
			p.WithoutRelease = append(p.WithoutRelease, v.String())
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
		if p.Label == "" {
			p.Label = r.Provider.Label()
		}
		judged, err := o.judge(ctx, s, r)
		if err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
		p.Releases = append(p.Releases, judged)
		if m := r.Artifact(layouts.MetadataFile); m != nil {
			data, err := m.Bytes()
			if err != nil {
				return fmt.Errorf("%s: %w", v, err)
			}
			if read, err := metadata.ReadValid(yamldoc.NewFile(m.Name, data), p.Label); err == nil {
				series[v.String()] = read
			}
		}
	}
	p.Upgrade = upgrade(p, series)
	return nil
}

// newestFirst are the versions that clusterctl reads.
func newestFirst(listed []string) []layouts.Version {
	var out []layouts.Version
	for _, text := range listed {
		if v, err := layouts.ParseVersion(text); err == nil {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b layouts.Version) int { return b.Compare(a) })
	return out
}

// fetch reads a version and finds the provider in it.
func fetch(ctx context.Context, from publish.Destination, s *subject, version string) (*repo.Release, error) {
	whole, err := from.Fetch(ctx, version)
	if err != nil {
		return nil, err
	}
	if s.Provider.Type != "" && whole.Provider == s.Provider {
		return whole, nil
	}
	parts, err := publish.Split(ctx, whole, s.File)
	if err != nil {
		return nil, err
	}
	for _, r := range parts {
		switch {
		case s.File != "" && r.Artifact(s.File) == nil:
			continue
		case s.File == "" && s.Provider.Type != "" && r.Provider.Type != s.Provider.Type:
			continue
		case s.Provider.Type != "":
			r.Provider = s.Provider // the name that users give it
		case s.Identify != nil:
			s.Identify(r)
		}
		return r, nil
	}
	return nil, repo.Missing("no provider has the components file %s", s.File)
}

// judge checks a release, or takes what is known of it.
func (o *walkOptions) judge(ctx context.Context, s *subject, r *repo.Release) (inventory.Release, error) {
	key, err := stamp(ctx, o.Identity, s, r)
	if err != nil {
		return inventory.Release{}, err
	}
	if kept, ok := o.State.get(key); ok {
		return kept, nil
	}
	judged, err := o.Judge(ctx, r)
	if err != nil {
		return judged, err
	}
	judged.Version = r.Version
	if judged.Unread == "" {
		o.State.put(key, judged)
	}
	return judged, nil
}

// stamp identifies what is judged: the files by their digests where the place
// states them or they are cheap to read, and else by name, because published
// releases do not change.
func stamp(ctx context.Context, identity string, s *subject, r *repo.Release) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x00", identity, s.Name, r.Provider.Label(), r.Version)
	for _, a := range r.Artifacts {
		sum, ok := a.Stated()
		if !ok && s.Local {
			var err error
			if sum, err = a.Sum(ctx); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(h, "%s\x00%v\x00", a.Name, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// upgrade is what clusterctl would say to those who run the oldest checked
// version.
func upgrade(p *inventory.Provider, series map[string]*metadata.Metadata) *inventory.Upgrade {
	if len(p.Releases) < 2 {
		return nil
	}
	out := &inventory.Upgrade{From: p.Releases[len(p.Releases)-1].Version}
	there := phrase.List(p.Releases, func(r inventory.Release) string { return r.Version })
	plan, err := metadata.PlanUpgrade(p.Label, out.From, there, func(version string) (*metadata.Metadata, error) {
		if m := series[version]; m != nil {
			return m, nil
		}
		return nil, fmt.Errorf("%s has no valid %s", version, layouts.MetadataFile)
	})
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	out.To = plan.Next(plan.Contract)
	return out
}
