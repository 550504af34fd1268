package checks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
)

func TestCatalogue(t *testing.T) {
	names := map[string]bool{}
	for i, c := range checks.All {
		if c.ID != fmt.Sprintf("%s%03d", checks.Family.Prefix, i+1) {
			t.Errorf("%s is number %d", c.ID, i+1)
		}
		if names[c.Name] {
			t.Errorf("%s: the name %s is taken", c.ID, c.Name)
		}
		names[c.Name] = true
		for what, text := range map[string]string{"title": c.Title, "source": c.Source, "reason": c.Why, "advice": c.Fix, "example": c.Example} {
			if len(text) < 8 {
				t.Errorf("%s: the %s is %q", c.ID, what, text)
			}
		}
		if strings.HasSuffix(c.Title, ".") || !strings.HasSuffix(c.Why, ".") || !strings.HasSuffix(c.Fix, ".") {
			t.Errorf("%s: full stops", c.ID)
		}
		if checks.ByID("liv-"+c.ID[3:]) != c {
			t.Errorf("%s is not found", c.ID)
		}
	}
	if checks.ByID("META001") != nil || len(checks.Family.Rules) != len(checks.All) {
		t.Error("what is no check is found")
	}
}
