package metadata_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestWithSeries(t *testing.T) {
	for name, tc := range map[string]struct{ version, contract, series, want string }{
		"newest last":           {"v1.2.0", "", "- major: 1\n  minor: 0\n  contract: v1beta1 # old\n- major: 1\n  minor: 1\n  contract: v1beta2\n# the end\n", "- major: 1\n  minor: 0\n  contract: v1beta1 # old\n- major: 1\n  minor: 1\n  contract: v1beta2\n- major: 1\n  minor: 2\n  contract: v1beta2\n# the end\n"},
		"newest first":          {"v1.2.0", "", "  - major: 1\n    minor: 1\n    contract: v1beta2\n  - major: 1\n    minor: 0\n    contract: v1beta1\n", "  - major: 1\n    minor: 2\n    contract: v1beta2\n  - major: 1\n    minor: 1\n    contract: v1beta2\n  - major: 1\n    minor: 0\n    contract: v1beta1\n"},
		"no line end":           {"v1.2.0", "", "- {major: 1, minor: 0, contract: v1beta1}", "- {major: 1, minor: 0, contract: v1beta1}\n- major: 1\n  minor: 2\n  contract: v1beta1"},
		"flow over lines":       {"v1.2.0", "", "- {major: 1,\nminor: 0, contract: v1beta1}\n", "- {major: 1,\nminor: 0, contract: v1beta1}\n- major: 1\n  minor: 2\n  contract: v1beta1\n"},
		"contract first":        {"v1.2.0", "", "- contract: v1beta1\n  major: 1\n  minor: 0\n\nx: y\n", "- contract: v1beta1\n  major: 1\n  minor: 0\n- major: 1\n  minor: 2\n  contract: v1beta1\n\nx: y\n"},
		"between":               {"v1.1.0", "", "- major: 1\n  minor: 0\n  contract: v1beta1\n- major: 2\n  minor: 0\n  contract: v1beta2\n", "- major: 1\n  minor: 0\n  contract: v1beta1\n- major: 1\n  minor: 1\n  contract: v1beta1\n- major: 2\n  minor: 0\n  contract: v1beta2\n"},
		"between, newest first": {"v1.1.0", "", "- major: 2\n  minor: 0\n  contract: v1beta2\n- major: 1\n  minor: 0\n  contract: v1beta1\n", "- major: 2\n  minor: 0\n  contract: v1beta2\n- major: 1\n  minor: 1\n  contract: v1beta1\n- major: 1\n  minor: 0\n  contract: v1beta1\n"},
		"lowest":                {"v0.9.0", "v1beta1", "- major: 1\n  minor: 0\n  contract: v1beta2\n", "- major: 0\n  minor: 9\n  contract: v1beta1\n- major: 1\n  minor: 0\n  contract: v1beta2\n"},
		"contract of CRDs":      {"v1.1.0", "v1beta2", "- major: 1\n  minor: 0\n  contract: v1beta1\n", "- major: 1\n  minor: 0\n  contract: v1beta1\n- major: 1\n  minor: 1\n  contract: v1beta2\n"},
		"alias":                 {"v2.1.0", "", "- major: 1\n  minor: 0\n  contract: &c v1beta1\n- major: 2\n  minor: 0\n  contract: *c\n", "- major: 1\n  minor: 0\n  contract: &c v1beta1\n- major: 2\n  minor: 0\n  contract: *c\n- major: 2\n  minor: 1\n  contract: v1beta1\n"},
		"CRLF":                  {"v1.1.0", "", "- major: 1\r\n  minor: 0\r\n  contract: v1beta1\r\n", "- major: 1\r\n  minor: 0\r\n  contract: v1beta1\r\n- major: 1\r\n  minor: 1\r\n  contract: v1beta1\r\n"},
		"comments inside":       {"v1.1.0", "", "- major: 1\n  # the first\n  minor: 0\n\n  contract: v1beta1\n\n  # of the entry\n# of the file\n", "- major: 1\n  # the first\n  minor: 0\n\n  contract: v1beta1\n\n  # of the entry\n- major: 1\n  minor: 1\n  contract: v1beta1\n# of the file\n"},
	} {
		t.Run(name, func(t *testing.T) {
			head := "# c\napiVersion: x\nreleaseSeries:\n"
			if strings.Contains(tc.series, "\r") {
				head = strings.ReplaceAll(head, "\n", "\r\n")
			}
			got, err := metadata.WithSeries(yamldoc.NewFile("metadata.yaml", []byte(head+tc.series)), metadata.NewSeries{Version: version(t, tc.version), Contract: tc.contract})
			given.NoError(t, err)
			if string(got) != head+tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, head+tc.want)
			}
			again, err := metadata.WithSeries(yamldoc.NewFile("metadata.yaml", got), metadata.NewSeries{Version: version(t, tc.version)})
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time: %v\n%s", err, again)
			}
		})
	}
	for name, bad := range map[string]string{
		"flow list":         "releaseSeries: [{major: 1, minor: 0, contract: v1beta1}]\n",
		"no contract":       "releaseSeries:\n- major: 1\n  minor: 0\n",
		"only higher":       "releaseSeries:\n- major: 2\n  minor: 0\n  contract: v1beta2\n",
		"line ends":         "releaseSeries:\r\n- major: 1\n  minor: 0\n  contract: v1beta1\n",
		"empty":             "",
		"list of something": "releaseSeries:\n- x\n",
		"alias of the list": "a: &a\n- major: 1\n  minor: 0\n  contract: v1beta1\nreleaseSeries: *a\n",
	} {
		if out, err := metadata.WithSeries(yamldoc.NewFile("metadata.yaml", []byte(bad)), metadata.NewSeries{Version: version(t, "v1.2.0")}); err == nil && name != "alias of the list" {
			t.Errorf("%s: became %q", name, out)
		}
	}
}

func version(t *testing.T, text string) layouts.Version {
	t.Helper()
	v := given.Value(layouts.ParseVersion(text))(t)
	return v
}

// TestCheckSeries refuses a version that no series lists.
func TestCheckSeries(t *testing.T) {
	f := yamldoc.NewFile("metadata.yaml", []byte("releaseSeries:\n- {major: 1, minor: 0, contract: v1beta1}\n"))
	given.NoError(t, metadata.CheckSeries(f, version(t, "v1.0.3")))
	if err := metadata.CheckSeries(f, version(t, "v1.1.0")); err == nil || !strings.Contains(err.Error(), "belongs to series 1.1, but metadata lists only 1.0") {
		t.Error(err)
	}
}
