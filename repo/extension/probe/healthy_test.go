package probe_test

import (
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
)

// TestHealthyServer passes all checks, at every level and for every Cluster API.
func TestHealthyServer(t *testing.T) {
	ca := newAuthority(t)
	u := healthy().start(t, ca)
	for level := extension.Discover; level <= extension.All; level++ {
		for core := 12; core <= contract.NewestCore; core++ {
			o := options(t, u, ca)
			o.Level, o.Core = level, core
			start := time.Now()
			r := probe.Run(limited(t, 30*time.Second), o)
			for _, f := range r.Findings {
				t.Errorf("%s, v1.%d: %s %s %s: %s", level, core, f.Rule.ID, f.Severity, f.Object, f.Message)
			}
			for _, err := range r.Failures {
				t.Errorf("%s, v1.%d: %v", level, core, err)
			}
			t.Logf("%s, v1.%d: %s, %d things measured", level, core, time.Since(start), len(r.Measured))
		}
	}
}
