package layouts_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var versions = []string{
	"v1.2.3", "1.2.3", "v1.2.3-rc.0", "v1.2.3+a", "v1.2.3-a.b+c.d", "v0.0.0", "v1.2", "v1", "V1.2.3", "vv1.2.3", "v01.0.0", "v1.0.00",
	"v1.2.3.4", "v1.0.0-", "v1.0.0+", "v1.0.0-rc.01", "v1.0.0-x_y", "v1.0.0-0", "v1.0.0--", "latest", "", "v", " v1.2.3", "v1.2.3 ",
	"v1.2.3-é", "v99999999999999999999.0.0", "v1.2.3-rc..1", "v1.2.3-a+b+c", "v-1.0.0", "v1.2.3\n", "v18446744073709551615.0.0",
}

// sameVersion compares with what clusterctl uses to parse versions.
func sameVersion(t *testing.T, s string) {
	t.Helper()
	want, wantErr := version.ParseSemantic(s)
	got, err := layouts.ParseVersion(s)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%q: %v, apimachinery: %v", s, err, wantErr)
		return
	}
	if err == nil && (got.Major() != uint64(want.Major()) || got.Minor() != uint64(want.Minor()) || got.Prerelease() != want.PreRelease() || got.Build() != want.BuildMetadata()) {
		t.Errorf("%q: %d.%d %q %q, apimachinery: %v", s, got.Major(), got.Minor(), got.Prerelease(), got.Build(), want)
	}
}

func TestVersionsAreThoseOfClusterctl(t *testing.T) {
	for _, s := range versions {
		sameVersion(t, s)
	}
}

func FuzzVersion(f *testing.F) {
	for _, s := range versions {
		f.Add(s)
	}
	f.Fuzz(sameVersion)
}

func TestCompareVersions(t *testing.T) {
	order := []layouts.Version{{}}
	for _, text := range []string{"v0.9.0", "v1.0.0-alpha.9", "v1.0.0-alpha.10", "v1.0.0-rc.0", "v1.0.0", "v1.0.1", "v1.10.0", "v2.0.0"} {
		v := given.Value(layouts.ParseVersion(text))(t)
		order = append(order, v)
	}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%q against %q: %d", a, b, got)
			}
		}
	}
}

func TestTags(t *testing.T) {
	for tag, want := range map[string]bool{
		"v1.2.3": true, "1.2.3": true, "v1.2.3-build.7": true, "v1.2.3_amd64": true,
		"v1.2.30": false, "v1.2.3-rc.1": false, "v1.2.2": false, "latest": false, "": false,
	} {
		v := given.Value(layouts.ParseVersion("v1.2.3"))(t)
		if got := v.Tags(tag); got != want {
			t.Errorf("v1.2.3 and the tag %q: %v, want %v", tag, got, want)
		}
	}
}
