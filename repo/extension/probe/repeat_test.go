package probe_test

import (
	"math"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// TestRepetitions gives the chance that is asked for, and not much more.
func TestRepetitions(t *testing.T) {
	for _, rarity := range []int{2, 3, 12, 100} {
		for _, chance := range []float64{0.9, 0.99, probe.Chance} {
			n := probe.Repetitions(rarity, chance)
			missed := func(n int) float64 { return math.Pow(1-1/float64(rarity), float64(n)) }
			if missed(n) > 1-chance+1e-9 || missed(n-1) < 1-chance-1e-9 {
				t.Errorf("1 in %d, %v: %d calls", rarity, chance, n)
			}
		}
	}
	if probe.Repetitions(0, 2) != 1 || probe.Repetitions(2, 2) < 10 {
		t.Error("odd options")
	}
}

// TestRetriesAreFollowed lets hooks wait a while and then go on, as healthy ones do,
// also when they are called early.
func TestRetriesAreFollowed(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	s := healthy()
	start := time.Now()
	for _, hook := range []string{"BeforeClusterDelete", "BeforeClusterCreate"} {
		s.answers[hook] = func(object) object {
			if time.Since(start) < 2500*time.Millisecond {
				return object{"status": "Success", "retryAfterSeconds": 1, "message": "still cleaning up"}
			}
			return object{"status": "Success", "retryAfterSeconds": 0}
		}
	}
	o := options(t, s.start(t, ca), ca)
	o.RetryBudget = 10 * time.Second
	o.Severity = map[string]lint.Severity{"LIV060": lint.Off}
	r := probe.Run(limited(t, 5*time.Minute), o)
	for _, f := range r.Findings {
		t.Errorf("%s %s: %s", f.Rule.ID, f.Object, f.Message)
	}
}
