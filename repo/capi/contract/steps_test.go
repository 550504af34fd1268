package contract

import (
	"strings"
	"testing"
)

// A kind that lacks fields gets steps; with the types of the steps it lacks none.
func TestPlan(t *testing.T) {
	p := Profile{Core: NewestCore, Contract: V1Beta2}
	steps := Plan(definitions(t, definition("infrastructure.cluster.x-k8s.io", "FooMachine", "", "providerID: {type: string}", "ready: {type: boolean}")), p)
	if len(steps) != 1 || steps[0].Ready() || steps[0].Label != "v1" || steps[0].Declared != "" {
		t.Fatalf("steps are %+v", steps)
	}
	var moved bool
	for _, g := range steps[0].Gaps {
		moved = moved || g.Path == "status.initialization.provisioned" && g.Verdict == Moved
	}
	if !moved {
		t.Errorf("gaps are %+v", steps[0].Gaps)
	}
	want := "type FooMachineStatusInitialization struct {\n\t// provisioned: initialization completed (MUST).\n\t// +optional\n\tProvisioned *bool `json:\"provisioned,omitempty\"`\n}"
	if got := steps[0].GoTypes(p.Core); !strings.Contains(got, want) {
		t.Errorf("types are\n%s\nwant in it\n%s", got, want)
	}
}
