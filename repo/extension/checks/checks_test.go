package checks_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
)

func TestCatalogue(t *testing.T) {
	names := map[string]bool{}
	form, before := regexp.MustCompile(`^LIV[0-9]{3}$`), ""
	for _, c := range checks.All {
		if !form.MatchString(c.ID) || c.ID <= before {
			t.Errorf("%s after %s", c.ID, before)
		}
		before = c.ID
		if names[c.Name] || rules.Named(c.Name) != nil {
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
		if checks.ByID("liv-"+c.ID[3:]) != c || checks.ByID(c.Name) != c {
			t.Errorf("%s is not found", c.ID)
		}
	}
	if checks.ByID("META001") != nil || len(checks.Family.Rules) != len(checks.All) {
		t.Error("what is no check is found")
	}
}
