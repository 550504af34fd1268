package layouts_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"META006", "META006", 0}, {"META06", "META006", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got, back := layouts.Distance(tc.a, tc.b), layouts.Distance(tc.b, tc.a); got != tc.want || back != tc.want {
			t.Errorf("%q and %q: %d and %d, want %d", tc.a, tc.b, got, back, tc.want)
		}
	}
	if layouts.Distance(strings.Repeat("a", 1000), "a") < 10 {
		t.Error("a long word is near")
	}
}
