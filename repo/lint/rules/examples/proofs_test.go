package examples

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestProofs demands a sentence for every verdict that an example has.
func TestProofs(t *testing.T) {
	for _, rule := range rules.All {
		e := given.Value(Load(rule.ID))(t)
		if v := e.Oracle.Verdict; v != "" && strings.Count(proofs[v], "%s") != 1 {
			t.Errorf("%s: no sentence for the verdict %s that shows its pattern", rule.ID, v)
		}
	}
}
