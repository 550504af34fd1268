package extension

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// skew is how many minor versions workers may leave out at once.
const skew = 3

// Upgrade is what a GenerateUpgradePlan request asks for. Workers is empty if there
// are none.
type Upgrade struct{ ControlPlane, Workers, To string }

// Check returns why Cluster API refuses a plan for the upgrade (cluster-api
// exp/topology/desiredstate, DefaultAndValidateUpgradePlans), or nil.
func (u Upgrade) Check(p *PlanResponse) error {
	to, err := semver.ParseTolerant(u.To)
	if err != nil {
		return fmt.Errorf("the version to upgrade to: %w", err)
	}
	from, err := semver.ParseTolerant(u.ControlPlane)
	if err != nil {
		return fmt.Errorf("the version of the control plane: %w", err)
	}
	controlPlane, workers := versions(p.ControlPlaneUpgrades), versions(p.WorkersUpgrades)
	if err := u.controlPlane(from, to, controlPlane); err != nil {
		return err
	}
	if u.Workers == "" {
		if len(workers) > 0 {
			return fmt.Errorf("workersUpgrades has steps, but there are no workers")
		}
		return nil
	}
	worker, err := semver.ParseTolerant(u.Workers)
	if err != nil {
		return fmt.Errorf("the version of the workers: %w", err)
	}
	if clusterclass.CompareVersions(worker, to) == 0 {
		if len(workers) > 0 {
			return fmt.Errorf("workersUpgrades has steps, but the workers already have version %s", u.To)
		}
		return nil
	}
	return u.workers(worker, to, controlPlane, workers)
}

func versions(steps []Step) []string {
	return phrase.List(steps, func(s Step) string { return s.Version })
}

func (u Upgrade) controlPlane(from, to semver.Version, steps []string) error {
	if clusterclass.CompareVersions(from, to) == 0 {
		if len(steps) > 0 {
			return fmt.Errorf("controlPlaneUpgrades has steps, but the control plane already has version %s", u.To)
		}
		return nil
	}
	current := from
	for i, step := range steps {
		v, err := semver.ParseTolerant(step)
		if err != nil {
			return fmt.Errorf("controlPlaneUpgrades[%d]: version %q: %w", i, step, err)
		}
		if clusterclass.CompareVersions(v, current) <= 0 {
			return fmt.Errorf("controlPlaneUpgrades[%d]: version %s is not greater than v%s", i, step, current)
		}
		if v.Minor != current.Minor && v.Minor != current.Minor+1 {
			return fmt.Errorf("controlPlaneUpgrades[%d]: version %s skips minor versions after v%s", i, step, current)
		}
		current = v
	}
	if clusterclass.CompareVersions(current, to) != 0 {
		return fmt.Errorf("controlPlaneUpgrades ends with v%s instead of %s", current, u.To)
	}
	return nil
}

func (u Upgrade) workers(from, to semver.Version, controlPlane, steps []string) error {
	if len(steps) == 0 {
		var ok bool
		if steps, ok = u.defaulted(from, to, controlPlane); !ok {
			return nil
		}
	} else if len(controlPlane) > 0 {
		for i, step := range steps {
			if step != u.ControlPlane && !slices.Contains(controlPlane, step) {
				return fmt.Errorf("workersUpgrades[%d]: version %s is not one of the control plane's", i, step)
			}
		}
	}
	// Of versions that differ only behind the + the control plane tells the order.
	order := map[string]int{u.ControlPlane: -1}
	for i, step := range controlPlane {
		order[step] = i
	}
	current := from
	for i, step := range steps {
		v, err := semver.ParseTolerant(step)
		if err != nil {
			return fmt.Errorf("workersUpgrades[%d]: version %q: %w", i, step, err)
		}
		switch c := clusterclass.CompareVersions(v, current); {
		case c <= 0:
			return fmt.Errorf("workersUpgrades[%d]: version %s is not greater than v%s", i, step, current)
		case c > 1:
			next, ok := order[step]
			before, known := order["v"+current.String()]
			if !ok || !known || next < before {
				return fmt.Errorf("workersUpgrades[%d]: version %s is in a different order than for the control plane", i, step)
			}
		}
		if v.Minor-current.Minor > skew {
			return fmt.Errorf("workersUpgrades[%d]: version %s is more than %d minor versions after v%s", i, step, skew, current)
		}
		current = v
	}
	if clusterclass.CompareVersions(current, to) != 0 {
		return fmt.Errorf("workersUpgrades ends with v%s instead of %s", current, u.To)
	}
	return nil
}

// defaulted are the steps that Cluster API takes if a plan has none for workers: one
// after each skew, and the last. Without a version for one of them it continues with
// none at all.
func (u Upgrade) defaulted(from, to semver.Version, controlPlane []string) (steps []string, ok bool) {
	byMinor := map[uint64]string{}
	for _, step := range append([]string{u.ControlPlane}, controlPlane...) {
		if v, err := semver.ParseTolerant(step); err == nil {
			byMinor[v.Minor] = step
		}
	}
	for i := uint64(skew); i < to.Minor-from.Minor; i += skew {
		step, ok := byMinor[from.Minor+i]
		if !ok {
			return nil, false
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 || steps[len(steps)-1] != u.To {
		steps = append(steps, u.To)
	}
	return steps, true
}
