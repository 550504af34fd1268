package record

import (
	"slices"
	"strings"
	"time"
)

// Skew is how far the clock of the recorder is ahead of that of the server, from the
// times of the last writes. The times of writers have whole seconds.
type Skew struct {
	last [64]time.Duration
	n    int
}

// Learn takes the time at which writes were seen, and returns those of the oldest and the
// newest of them; both are zero if no manager wrote.
func (s *Skew) Learn(at time.Time, old, new []Writer) (first, newest time.Time) {
	for _, w := range Wrote(old, new) {
		t, err := time.Parse(time.RFC3339, w.Time)
		if err != nil {
			continue
		}
		if first.IsZero() || t.Before(first) {
			first = t
		}
		if t.After(newest) {
			newest = t
		}
	}
	if !newest.IsZero() {
		s.last[s.n%len(s.last)] = at.Sub(newest)
		s.n++
	}
	return first, newest
}

// Best is the smallest of the last ones: seeing a write late makes it larger.
func (s *Skew) Best() time.Duration {
	if s.n == 0 {
		return 0
	}
	return slices.Min(s.last[:min(s.n, len(s.last))])
}

// people are the names under which people and tools of people write. Those that begin with
// kubectl- are its commands. The default names of generated clients, as OpenAPI-Generator,
// are not among them: controllers have them too.
var people = []string{
	"kubectl", "clusterctl", "k9s", "Mozilla", "helm", "helm-controller", "kustomize-controller", "argocd", "argocd-controller", "argocd-application-controller", "argocd-server",
}

// ByPeople reports whether the managers that wrote between two versions are all tools of
// people. Removals carry no name.
func ByPeople(old, new []Writer) bool {
	wrote := Over(old, new)
	return len(wrote) > 0 && !slices.ContainsFunc(wrote, func(w Writer) bool {
		return !slices.Contains(people, w.Manager) && !strings.HasPrefix(w.Manager, "kubectl-")
	})
}

// Over are the writers of the new version that the old one does not have, with all
// their fields. If there are none, something was removed between the two.
func Over(old, new []Writer) []Writer {
	return slices.DeleteFunc(slices.Clone(new), func(w Writer) bool { return slices.Contains(old, w) })
}

// Wrote are those that wrote between two versions: what others take from a manager
// changes its fields, but not its time.
func Wrote(old, new []Writer) []Writer {
	return slices.DeleteFunc(slices.Clone(new), func(w Writer) bool {
		return slices.ContainsFunc(old, func(o Writer) bool { o.Fields = w.Fields; return o == w })
	})
}
