package root

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

const someCommit = "0123456789abcdef0123456789abcdef01234567"

func TestBuildOf(t *testing.T) {
	setting := func(pairs ...string) (s []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			s = append(s, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return s
	}
	for _, test := range []struct {
		name                  string
		version, commit, date string // -ldflags
		info                  *debug.BuildInfo
		want                  build
		text                  string
	}{
		{
			name: "a release", version: "v1.2.3", commit: someCommit, date: "2026-01-02T03:04:05Z",
			info: &debug.BuildInfo{Settings: setting("vcs.revision", "other", "vcs.modified", "true")},
			want: build{Version: "v1.2.3", Commit: someCommit, Date: "2026-01-02T03:04:05Z"}, text: someCommit,
		}, {
			name: "go install of a release", info: &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}},
			want: build{Version: "v1.2.3"}, text: "that of the tag v1.2.3",
		}, {
			name: "go install of a commit", info: &debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20260102030405-0123456789ab"}},
			want: build{Version: "v1.2.4-0.20260102030405-0123456789ab", Commit: "0123456789ab", Date: "2026-01-02T03:04:05Z"}, text: "0123456789ab",
		}, {
			name: "go build in a checkout",
			info: &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260102030405-0123456789ab+dirty"}, Settings: setting("vcs.revision", someCommit, "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "true")},
			want: build{Version: "v0.0.0-20260102030405-0123456789ab+dirty", Commit: someCommit, Date: "2026-01-02T03:04:05Z", Modified: true}, text: "with local changes",
		}, {
			name: "without any information", want: build{Version: "(devel)"}, text: "not recorded in this build",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			version, commit, date = test.version, test.commit, test.date
			t.Cleanup(func() { version, commit, date = "", "", "" })
			got := buildOf(test.info)
			if got.Version != test.want.Version || got.Commit != test.want.Commit || got.Date != test.want.Date || got.Modified != test.want.Modified {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if text := got.text(); !strings.Contains(text, test.text) || !strings.Contains(text, "v1beta2, v1beta1") {
				t.Errorf("text without %q:\n%s", test.text, text)
			}
		})
	}
}

// The clusterctl that --version names is the one that the oracle runs.
func TestReleaseOfClusterctl(t *testing.T) {
	data := given.Read(t, "../../../test/oracle/go.mod")
	if want := "\tsigs.k8s.io/cluster-api " + clusterctl.Release + "\n"; !strings.Contains(string(data), want) {
		t.Errorf("test/oracle/go.mod has no line %q", want)
	}
}
