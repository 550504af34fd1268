package behaviour

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// watchOf names the watch that tells of an event; what a driver does is in none.
func watchOf(e *record.Event) string {
	if !e.Object.Exists() {
		return ""
	}
	return e.Group() + "/" + e.Kind()
}

// delayed is a stream as it arrives when each watch is behind by up to five seconds: always
// by the same time, or by one that changes. A watch keeps the order of what it tells.
func delayed(random *rand.Rand, events []*record.Event, changing bool) []*record.Event {
	const most = int64(5 * time.Second)
	lags, last := map[string]time.Duration{}, map[string]time.Time{}
	out := make([]*record.Event, 0, len(events))
	for _, e := range events {
		late := *e
		if w := watchOf(e); w != "" {
			if _, ok := lags[w]; !ok || changing && random.IntN(20) == 0 {
				lags[w] = time.Duration(random.Int64N(most))
			}
			if late.At = e.At.Add(lags[w]); late.At.Before(last[w]) {
				late.At = last[w]
			}
			last[w] = late.At
		}
		out = append(out, &late)
	}
	slices.SortStableFunc(out, func(a, b *record.Event) int { return a.At.Compare(b.At) })
	return out
}

// interrupted is a stream in which a watch breaks off for 20 to 73 s. What is different
// after it is told by a list.
func interrupted(random *rand.Rand, events []*record.Event) []*record.Event {
	var watches []string
	seen := map[string]bool{}
	for _, e := range events {
		if w := watchOf(e); w != "" && !seen[w] {
			seen[w] = true
			watches = append(watches, w)
		}
	}
	watch := watches[random.IntN(len(watches))]
	begin := events[random.IntN(len(events))].At
	end := begin.Add(time.Duration(20+random.IntN(54)) * time.Second)
	var out []*record.Event
	missed, added := map[string]*record.Event{}, map[string]bool{}
	list := func() {
		for _, uid := range slices.Sorted(maps.Keys(missed)) {
			e := *missed[uid]
			e.At, e.Initial = end, true
			switch {
			case e.Type == record.Deleted && added[uid]:
				continue
			case added[uid]:
				e.Type = record.Added
			}
			out = append(out, &e)
		}
		missed = nil
	}
	for _, e := range events {
		if missed != nil && e.At.After(end) {
			list()
		}
		if watchOf(e) != watch || e.At.Before(begin) || e.At.After(end) {
			out = append(out, e)
			continue
		}
		uid := e.Object.Get("metadata", "uid").Str()
		added[uid] = added[uid] || e.Type == record.Added
		missed[uid] = e
	}
	if missed != nil { // the watch is there again before the recording ends
		end = events[len(events)-1].At
		list()
	}
	return out
}

// verdicts are the findings by check and object. They are what the counts say.
func verdicts(t testing.TB, events []*record.Event) map[string]string {
	j := New(DefaultOptions())
	for _, e := range events {
		j.Add(e)
	}
	out := map[string]string{}
	count := map[string]int{}
	for _, f := range j.finish() {
		out[f.Check.ID+" "+f.Object] = f.Message
		count[f.Check.ID] += 1 + f.Repeated
	}
	for _, c := range All {
		if got := j.Verdict(c.ID).Violated; got != count[c.ID] {
			t.Errorf("%s: %d violations are counted, %d found", c.ID, got, count[c.ID])
		}
	}
	return out
}

// streams are a recording of real controllers, and lives in which nobody does wrong.
func streams(t testing.TB) map[string][]*record.Event {
	out := map[string][]*record.Event{"quick life": newLife().run()}
	slow := newLife()
	slow.tick = 900 * time.Millisecond
	out["slow life"] = slow.run()
	var events []*record.Event
	if _, err := record.Read(context.Background(), "life", recording(t), func(e *record.Event) { events = append(events, e) }); err != nil {
		t.Fatal(err)
	}
	out["recording"] = events
	return out
}

// TestLag delays the watches of streams, and interrupts them: nothing may be found that is
// not found without.
func TestLag(t *testing.T) {
	for name, events := range streams(t) {
		right := verdicts(t, events)
		lost, wrong, tried := 0, 0, 0
		for seed := range uint64(share.Of(4, 200)) {
			random := rand.New(rand.NewPCG(seed, 7))
			for what, stream := range map[string][]*record.Event{
				"constant lag": delayed(random, events, false), "changing lag": delayed(random, events, true),
				"gap": interrupted(random, events), "lag and gap": delayed(random, interrupted(random, events), true),
			} {
				tried++
				got := verdicts(t, stream)
				for key, message := range got {
					if right[key] == "" {
						wrong++
						t.Errorf("%s, %s, seed %d: %s: %s", name, what, seed, key, message)
					}
				}
				for key := range right {
					if got[key] == "" {
						lost++
					}
				}
			}
		}
		t.Logf("%s: %d streams, %d false alarms, %d of %d findings lost", name, tried, wrong, lost, tried*len(right))
	}
}
