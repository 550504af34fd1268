package probe_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

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
	// A hook that does not block is not followed: each request comes at most twice.
	var calls sync.Map // by request
	s.answers["BeforeClusterUpgrade"] = func(r object) object {
		n, _ := calls.LoadOrStore(encode(r), &atomic.Int64{})
		n.(*atomic.Int64).Add(1)
		return object{"status": "Success", "retryAfterSeconds": 0}
	}
	o := options(t, s.start(t, ca), ca)
	o.RetryBudget = 10 * time.Second
	o.Severity = map[string]lint.Severity{"LIV060": lint.Off}
	r := probe.Run(limited(t, 5*time.Minute), o)
	for _, f := range r.Findings {
		t.Errorf("%s %s: %s", f.Rule.ID, f.Object, f.Message)
	}
	called := false
	calls.Range(func(_, n any) bool {
		called = true
		if n := n.(*atomic.Int64).Load(); n > 2 {
			t.Errorf("a hook that does not block is called %d times with the same request", n)
		}
		return true
	})
	if !called {
		t.Error("BeforeClusterUpgrade is never called")
	}
}
