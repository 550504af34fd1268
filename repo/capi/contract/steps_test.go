package contract_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// A kind that lacks fields gets steps; with the types of the steps it lacks none.
func TestPlan(t *testing.T) {
	p := contract.Profile{Core: contract.NewestCore, Contract: contract.V1Beta2}
	steps := contract.Plan(definitions(t, definition("infrastructure.cluster.x-k8s.io", "FooMachine", "", "providerID: {type: string}", "ready: {type: boolean}")), p)
	if len(steps) != 1 || steps[0].Ready() || steps[0].Label != "v1" || steps[0].Declared != "" {
		t.Fatalf("steps are %+v", steps)
	}
	var moved bool
	for _, g := range steps[0].Gaps {
		moved = moved || g.Path == "status.initialization.provisioned" && g.Verdict == contract.Moved
	}
	if !moved {
		t.Errorf("gaps are %+v", steps[0].Gaps)
	}
	want := "type FooMachineStatusInitialization struct {\n\t// provisioned: initialization completed (MUST).\n\t// +optional\n\tProvisioned *bool `json:\"provisioned,omitempty\"`\n}"
	if got := steps[0].GoTypes(p.Core); !strings.Contains(got, want) {
		t.Errorf("types are\n%s\nwant in it\n%s", got, want)
	}
}
