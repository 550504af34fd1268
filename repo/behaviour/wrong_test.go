package behaviour

import (
	"maps"
	"slices"
	"testing"
)

func judge(l *life) *Judge {
	j := New(DefaultOptions())
	for _, e := range l.run() {
		j.Add(e)
	}
	return j
}

func TestHealthy(t *testing.T) {
	j := judge(newLife())
	for _, f := range j.Finish() {
		t.Errorf("%s %s: %s %q", f.Check.ID, f.Object, f.Message, f.Evidence())
	}
	if len(j.Problems()) > 0 {
		t.Error(j.Problems())
	}
}

// TestWrongDoers lets one thing go wrong for each check, and wants exactly that check.
func TestWrongDoers(t *testing.T) {
	for _, c := range All {
		edit, ok := wrong[c.ID]
		if !ok {
			t.Errorf("%s has no wrong-doer", c.ID)
			continue
		}
		l := newLife()
		edit(l)
		found := map[string]bool{}
		j := judge(l)
		for _, f := range j.Finish() {
			found[f.Check.ID] = true
		}
		if !found[c.ID] || len(found) != 1 {
			t.Errorf("%s: found %v", c.ID, slices.Sorted(maps.Keys(found)))
			for _, f := range j.Finish() {
				t.Logf("  %s %s: %s %q", f.Check.ID, f.Object, f.Message, f.Evidence())
			}
		}
	}
	for id := range wrong {
		if ByID(id) == nil {
			t.Errorf("%s is unknown", id)
		}
	}
}
