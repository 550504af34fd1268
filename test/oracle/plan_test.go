package oracle

import (
	"math/rand/v2"
	"testing"

	"sigs.k8s.io/cluster-api/exp/topology/desiredstate"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
)

// TestUpgradePlans compares the verdict on plans with that of Cluster API.
func TestUpgradePlans(t *testing.T) {
	const plans = 200000
	versions := []string{
		"v1.30.0", "v1.31.0", "v1.31.2", "v1.31.2+a", "v1.31.2+b", "v1.32.0", "v1.32.0-rc.1", "v1.33.0", "v1.33.0+1", "v1.33.0+1.2.3", "v1.33.0+2",
		"v1.34.0", "1.34.0", "v1.35.1", "v1.36.0", "v2.0.0", "v1.33", "latest", "", "v1.31.2+a.b.c",
	}
	r := rand.New(rand.NewPCG(1, 2))
	any := func() string { return versions[r.IntN(len(versions))] }
	// path goes up in steps that are mostly right.
	path := func(from, to int) []string {
		var out []string
		for i := from + 1; i < to; i++ {
			if r.IntN(3) > 0 {
				out = append(out, versions[i])
			}
		}
		if r.IntN(8) > 0 && to < len(versions) {
			out = append(out, versions[to])
		}
		if len(out) > 1 && r.IntN(20) == 0 {
			out[r.IntN(len(out))] = any()
		}
		return out
	}
	accepted := 0
	for range plans {
		from, to := r.IntN(12), 0
		to = from + r.IntN(15-from)
		up := extension.Upgrade{ControlPlane: versions[from], To: versions[to]}
		start := max(0, from-r.IntN(3))
		if r.IntN(3) > 0 {
			up.Workers = versions[start]
		}
		controlPlane := path(from, to)
		var workers []string
		if r.IntN(2) == 0 {
			for _, v := range controlPlane {
				if r.IntN(2) == 0 {
					workers = append(workers, v)
				}
			}
			if r.IntN(3) == 0 {
				workers = path(start, to)
			}
		}
		_, want := desiredstate.DefaultAndValidateUpgradePlans(up.To, up.ControlPlane, up.Workers, controlPlane, workers)
		var plan extension.PlanResponse
		for _, v := range controlPlane {
			plan.ControlPlaneUpgrades = append(plan.ControlPlaneUpgrades, extension.Step{Version: v})
		}
		for _, v := range workers {
			plan.WorkersUpgrades = append(plan.WorkersUpgrades, extension.Step{Version: v})
		}
		if want == nil {
			accepted++
		}
		if got := up.Check(&plan); (got == nil) != (want == nil) {
			t.Fatalf("%+v: control plane %q, workers %q\nCluster API: %v\nthe tool: %v", up, controlPlane, workers, want, got)
		}
	}
	t.Logf("Cluster API accepts %d of %d plans", accepted, plans)
	if accepted < plans/20 {
		t.Error("too few plans are accepted")
	}
}
