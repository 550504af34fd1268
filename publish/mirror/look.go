package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// planner finds out what is to be copied.
type planner struct {
	*run
	// listed releases were fetched to find the latest version, by source and
	// version.
	listed map[[2]string]*repo.Release
}

// lookAll looks at all releases before anything is copied, so that what cannot be
// listed stops the run at its beginning.
func (m *planner) lookAll(ctx context.Context, tasks []*task) ([]*cargo, error) {
	cargos := make([]*cargo, len(tasks))
	err := each(ctx, len(tasks), m.Jobs, func(ctx context.Context, i int) (err error) {
		cargos[i], err = m.look(ctx, tasks[i])
		return err
	})
	return cargos, err
}

// look lists a release at its source, and finds out whether there is anything
// to do.
func (m *planner) look(ctx context.Context, t *task) (*cargo, error) {
	whole, err := m.fetch(ctx, t.from, t.version)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no release %s: %w", t.from, t.version, err)
	}
	if err != nil {
		return nil, err
	}
	if len(t.parts) == 1 && t.parts[0].provider == layouts.CertManager { // of which one file is wanted
		if whole, err = onlyManifest(whole, t.parts[0].file); err != nil {
			return nil, err
		}
	}
	c := &cargo{task: t, listed: whole, here: map[*repo.Artifact]bool{}}
	if c.digest, c.sums, err = ListingOf(ctx, whole, t.near); err != nil {
		return nil, err
	}
	origin := t.from.String()
	if from, ok := t.from.(recorded); ok {
		l, listing := from.record(t.version) // it was fetched, so it is there
		origin, c.digest = l.Source, listing.SHA256
	}
	m.mu.Lock()
	locked := c.lockedIn(m.book)
	listed, ok := m.book.Listings[[2]string{origin, t.version}]
	m.mu.Unlock()
	for _, l := range locked {
		d := l.Differences(c.listed, c.sums)
		d.Extra = nil // files of others that share the release
		if err := m.unchanged(l, d, c); err != nil {
			return nil, err
		}
	}
	if m.Verify != nil && !t.trusted || m.Refuses {
		return c, nil // what is there may never have been verified
	}
	if !ok || listed.SHA256 != c.digest || !complete(t.parts, locked, listed.Providers) {
		return c, nil
	}
	for _, l := range locked {
		if there, err := m.present(ctx, l); !there || err != nil {
			return c, err
		}
	}
	c.known = locked
	return c, nil
}

// fetch lists a release, unless that was done to find the latest version.
func (m *planner) fetch(ctx context.Context, from Source, version string) (*repo.Release, error) {
	key := [2]string{from.String(), version}
	m.mu.Lock()
	r := m.listed[key]
	delete(m.listed, key)
	m.mu.Unlock()
	if r == nil {
		var err error
		if r, err = from.Fetch(ctx, version); err != nil {
			return nil, err
		}
	}
	if r.Version != version {
		return nil, fmt.Errorf("%s answers the question for %s with the release %s", from, version, r.Version)
	}
	return r, nil
}

// onlyManifest leaves of a release of cert-manager what clusterctl reads.
func onlyManifest(whole *repo.Release, file string) (*repo.Release, error) {
	a := whole.Artifact(cmp.Or(file, layouts.CertManagerFile))
	if a == nil {
		return nil, fmt.Errorf("%s has no file %s", whole.Path, cmp.Or(file, layouts.CertManagerFile))
	}
	out := *whole
	one := *a
	one.Name = layouts.CertManagerFile
	out.Provider, out.Artifacts, out.Oddities, out.Incomplete = layouts.CertManager, []*repo.Artifact{&one}, nil, ""
	return &out, nil
}

// lockedIn returns what a lock holds of what is wanted of a release.
func (c *cargo) lockedIn(b *Book) (out []*Locked) {
	from := b.From(c.from.String(), c.version)
	sharing := b.Listings[[2]string{c.from.String(), c.version}].Providers
	for _, p := range c.parts {
		if p.provider != (layouts.Provider{}) {
			if l := b.Release(p.provider.Label(), c.version); l != nil {
				out = append(out, l)
			}
			continue
		}
		for _, l := range from {
			// Others have got a name of their own from the user.
			if slices.Contains(sharing, l.Provider) && (p.file == "" || l.Components == p.file) {
				out = append(out, l)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Locked) int { return strings.Compare(a.Provider, b.Provider) })
	return slices.CompactFunc(out, func(a, b *Locked) bool { return a.Provider == b.Provider })
}

// complete reports whether nothing that is wanted is missing in the lock.
func complete(parts []part, locked []*Locked, labels []string) bool {
	has := func(label string) bool {
		return slices.ContainsFunc(locked, func(l *Locked) bool { return l.Provider == label })
	}
	return !slices.ContainsFunc(parts, func(p part) (lacks bool) {
		switch {
		case p.provider != (layouts.Provider{}):
			return !has(p.provider.Label())
		case p.file != "":
			return !slices.ContainsFunc(locked, func(l *Locked) bool { return l.Components == p.file })
		}
		return slices.ContainsFunc(labels, func(label string) bool { return !has(label) })
	})
}

// unchanged refuses a difference from the lock, unless it is accepted.
func (m *run) unchanged(l *Locked, d publish.Difference, c *cargo) error {
	if d.IsZero() || m.AcceptChanged {
		return nil
	}
	return &ChangedError{Release: l.Provider + " " + l.Version, From: c.from.String(), Locked: l.Source, Difference: d}
}

// present reports whether the mirror has a locked release, by what it states
// and, if it is near, by content.
func (m *planner) present(ctx context.Context, l *Locked) (bool, error) {
	got, err := m.at(ctx, l)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range l.Files {
		f := &l.Files[i]
		a := got.Artifact(f.Name)
		if a == nil && m.To.Shared && layouts.KindOfFile(f.Name).Attests() {
			continue // the place has checksums of all that share it
		}
		if a == nil || f.Differs(a) {
			return false, nil
		}
		if _, stated := a.Stated(); m.Folder != nil && !stated {
			sum, err := a.Sum(ctx)
			if err != nil {
				return false, err
			}
			if sum != f.Sum() {
				return false, nil
			}
		}
	}
	if !m.To.Shared && (len(got.Artifacts) != len(l.Files) || slices.ContainsFunc(got.Oddities, func(o repo.Oddity) bool { return o.Kind != repo.OddHidden })) {
		return false, nil // then it is no longer what was put there
	}
	return true, nil
}
