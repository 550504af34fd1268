package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
)

// TestSetsAreWhole looks for constants with a name after the last one of a set.
func TestSetsAreWhole(t *testing.T) {
	for _, next := range []fmt.Stringer{lint.Error + 1, migrate.Manual + 1, contract.Must + 1, owners.After + 1, owners.Fails + 1} {
		func() {
			defer func() { _ = recover() }()
			t.Errorf("%T has a further constant, %s, which its set in document.go lacks", next, next.String())
		}()
	}
	verdicts := sets["verdict"]()
	if len(verdicts) != len(between(owners.Left, owners.Deleted))+1 {
		t.Errorf("%q does not have all verdicts", verdicts)
	}
}

func TestOmittedMoments(t *testing.T) {
	html := timelineHTML(&behaviour.Timeline{Moments: make([]record.Moment, 1), Omitted: 1})
	if !strings.Contains(string(html), "1 more version") {
		t.Errorf("got %s", html)
	}
}
