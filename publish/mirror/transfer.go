package mirror

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// copier copies what the planner found.
type copier struct {
	*run
	// tokens are held while files are read from a source.
	tokens chan struct{}
	// parsing is held while images are looked for.
	parsing chan struct{}
}

// unit is releases that become visible together.
type unit []*cargo

// done reports whether nothing has to be copied.
func (u unit) done() bool {
	return !slices.ContainsFunc(u, func(c *cargo) bool { return c.known == nil })
}

// copy copies releases. Those of one source follow each other, oldest first,
// so that what is the latest only moves forward; so do all if they share one
// place, where those of one version are one release.
func (m *copier) copy(ctx context.Context, cargos []*cargo) error {
	chains := m.chains(cargos)
	// What cannot share a place is found before anything is copied.
	for _, u := range slices.Concat(chains...) {
		if u.done() {
			continue
		}
		if err := publish.Unmixed(phrase.List(u, func(c *cargo) *repo.Release { return c.listed })); err != nil {
			return err
		}
	}
	limit := m.Jobs // downloads go on while others are written to the disk
	if m.Folder == nil {
		limit = (m.Jobs + 1) / 2
	}
	var failed atomic.Bool
	return each(ctx, len(chains), limit, func(ctx context.Context, i int) error {
		for at, u := range chains[i] {
			if failed.Load() {
				return nil
			}
			chains[i][at] = nil // it is large
			if err := m.unit(ctx, u); err != nil {
				failed.Store(true)
				return err
			}
		}
		return nil
	})
}

// chains returns the units that follow each other.
func (m *copier) chains(cargos []*cargo) (chains [][]unit) {
	slices.SortStableFunc(cargos, func(a, b *cargo) int { return CompareVersions(a.version, b.version) })
	index := map[string]int{}
	for _, c := range cargos {
		key := c.from.String()
		if m.To.Shared {
			key = ""
		}
		i, known := index[key]
		if !known {
			i = len(chains)
			index[key], chains = i, append(chains, nil)
		}
		if last := len(chains[i]) - 1; m.To.Shared && last >= 0 && chains[i][last][0].version == c.version {
			chains[i][last] = append(chains[i][last], c)
		} else {
			chains[i] = append(chains[i], unit{c})
		}
	}
	return chains
}

// unit copies releases that become visible together.
func (m *copier) unit(ctx context.Context, cargos unit) error {
	if cargos.done() {
		for _, c := range cargos {
			for _, l := range c.known {
				if err := m.done(c.outcome(l, true), nil); err != nil {
					return err
				}
			}
		}
		return nil
	}
	defer func() {
		for _, c := range cargos {
			if c.spool != nil {
				c.spool.close()
			}
		}
	}()
	var releases []*repo.Release
	for _, c := range cargos {
		if err := m.open(ctx, c); err != nil {
			return err
		}
		if err := m.fill(ctx, c); err != nil {
			return err
		}
		releases = append(releases, c.releases...)
	}
	for _, r := range releases {
		m.mu.Lock()
		l := m.book.Release(r.Provider.Label(), r.Version)
		m.mu.Unlock()
		if l != nil && l.Differences(r, nil).IsZero() {
			continue
		}
		if err := m.mayChange("this run would copy " + publish.Name(r)); err != nil {
			return err
		}
	}
	if m.DryRun {
		unchanged, err := m.put(ctx, releases)
		if err == nil {
			err = m.preview(cargos, unchanged)
		}
		return err
	}
	// What is in the files is found out while the disk or the network works, but
	// not while the place that they are read from is replaced.
	entries := make([][]entry, len(cargos))
	var reading sync.WaitGroup
	var unread error
	reading.Go(func() { unread = m.describeAll(ctx, cargos, entries) })
	if m.AcceptChanged || m.Repair {
		if reading.Wait(); unread != nil {
			return unread
		}
	}
	unchanged, err := m.put(ctx, releases)
	reading.Wait()
	if err == nil {
		err = unread
	}
	if err != nil {
		return err
	}
	for n, c := range cargos {
		for i, r := range c.releases {
			e := entries[n][i]
			// What is restored, or was in another mirror, came from where it came from.
			if l, listing := m.record(c, r); l != nil {
				e.Release, e.Listing = *l, listing
			}
			if err := m.done(c.outcome(&e.Release, unchanged[r]), &e); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeAll makes the entries of releases that are copied. What it parses is
// large, so that there are no more at a time than processors.
func (m *copier) describeAll(ctx context.Context, cargos []*cargo, entries [][]entry) error {
	if err := take(ctx, m.parsing); err != nil {
		return err
	}
	defer func() { <-m.parsing }()
	for n, c := range cargos {
		for i := range c.releases {
			e, err := m.describe(ctx, c, i)
			if err != nil {
				return err
			}
			entries[n] = append(entries[n], e)
		}
	}
	return nil
}

func (c *cargo) outcome(l *Locked, unchanged bool) Outcome {
	o := Outcome{Provider: l.Identity(), Version: l.Version, From: c.from.String(), Unchanged: unchanged, Files: len(l.Files)}
	for _, f := range l.Files {
		o.Bytes += f.Size
	}
	return o
}

// put publishes releases that become visible together, and returns which were there.
func (m *copier) put(ctx context.Context, releases []*repo.Release) (unchanged map[*repo.Release]bool, err error) {
	parcels, err := m.To.Parcels(ctx, releases)
	if err != nil {
		return nil, err
	}
	broken, err := publish.CheckLatest(ctx, parcels)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	for _, b := range broken {
		if b.Before && b.Refused {
			continue // the contracts say so
		}
		m.result.Warnings = append(m.result.Warnings, b.Error()+"; users of the mirror must name a version")
	}
	m.mu.Unlock()
	unchanged = map[*repo.Release]bool{}
	for _, p := range parcels {
		result, err := m.publish(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, note := range result.Notes {
			m.note("%s: %s", publish.Name(p.Release), note)
		}
		for _, r := range p.From {
			unchanged[r] = result.Unchanged
		}
	}
	return unchanged, nil
}

func (m *copier) publish(ctx context.Context, p publish.Parcel) (publish.Result, error) {
	if slices.ContainsFunc(p.Release.Artifacts, func(a *repo.Artifact) bool { return m.passes(a) }) {
		if err := take(ctx, m.tokens); err != nil {
			return publish.Result{}, err
		}
		defer m.release()
	}
	result, err := p.Publish(ctx, m.DryRun)
	if _, conflict := errors.AsType[*publish.ConflictError](err); !conflict || m.Folder == nil ||
		!m.AcceptChanged && !m.Repair {
		return result, err
	}
	if m.DryRun {
		return publish.Result{}, nil
	}
	return m.Folder.Replace(ctx, p.Release)
}

// preview tells what would become of releases.
func (m *copier) preview(cargos []*cargo, unchanged map[*repo.Release]bool) error {
	for _, c := range cargos {
		for i, r := range c.releases {
			l := LockOf(r, c.from.String(), c.components[i], c.listed)
			if err := m.done(c.outcome(&l, unchanged[r]), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// record is what an earlier record says about a release that is copied again: that
// of the mirror it was in, or the lock that is repaired; else nil.
func (m *copier) record(c *cargo, r *repo.Release) (l *Locked, listing Listing) {
	if from, ok := c.from.(recorded); ok {
		return from.record(r.Version)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Repair {
		l = m.book.Release(r.Provider.Label(), r.Version)
	}
	if l != nil {
		listing = m.book.Listings[[2]string{l.Source, l.Version}]
	}
	return l, listing
}

// take waits for a place among those that a channel limits.
func take(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *copier) release() { <-m.tokens }
