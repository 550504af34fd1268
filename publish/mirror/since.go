package mirror

import (
	"fmt"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror/documents"
)

// isAcross reports whether the other side of the gap has a release already, as
// Options.Since says. The release is then one that the mirror needs there. A
// version that changed since is refused like one that the mirror has.
func (m *planner) isAcross(c *cargo) (bool, error) {
	if m.Since == nil {
		return false, nil
	}
	b := documents.NewBook()
	b.Add(m.Since)
	locked := c.lockedIn(b)
	listed := b.Listings[[2]string{c.from.String(), c.version}]
	if len(locked) == 0 || !complete(c.parts, locked, listed.Providers) {
		return false, nil
	}
	same := listed.SHA256 == c.digest
	for _, l := range locked {
		d := c.glance(l)
		if err := m.unchanged(l, d, c); err != nil {
			return false, err
		}
		if !d.IsZero() {
			return false, nil // it was accepted
		}
		for _, f := range l.Files {
			if _, known := c.sums[f.Name]; !known && !same {
				return false, nil // sizes alone prove nothing
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range locked {
		if !slices.Contains(m.book.Requires, l.ReleaseName) {
			m.book.Requires = append(m.book.Requires, l.ReleaseName)
		}
		m.result.Notes = append(m.result.Notes, fmt.Sprintf("%s %s is left out, because the other side has it", l.Provider, l.Version))
	}
	return true, nil
}

// unmet warns of the releases that a carried difference relies on.
func (m *finisher) unmet() {
	for _, n := range m.Needs {
		if m.book.Release(n.Provider, n.Version) == nil {
			m.warn("the bundle relies on %s %s, which is not in this mirror; transfer a bundle that holds it", n.Provider, n.Version)
		}
	}
}
