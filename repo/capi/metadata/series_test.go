package metadata_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func TestWithSeries(t *testing.T) {
	for name, tc := range map[string]struct{ series, want string }{
		"newest last":    {"- major: 1\n  minor: 0\n  contract: v1beta1 # old\n- major: 1\n  minor: 1\n  contract: v1beta2\n# the end\n", "- major: 1\n  minor: 0\n  contract: v1beta1 # old\n- major: 1\n  minor: 1\n  contract: v1beta2\n- major: 1\n  minor: 2\n  contract: v1beta2\n# the end\n"},
		"newest first":   {"  - major: 1\n    minor: 1\n    contract: v1beta2\n  - major: 1\n    minor: 0\n    contract: v1beta1\n", "  - major: 1\n    minor: 2\n    contract: v1beta2\n  - major: 1\n    minor: 1\n    contract: v1beta2\n  - major: 1\n    minor: 0\n    contract: v1beta1\n"},
		"no line end":    {"- {major: 1, minor: 0, contract: v1beta1}", "- {major: 1, minor: 0, contract: v1beta1}\n- major: 1\n  minor: 2\n  contract: v1beta1\n"},
		"contract first": {"- contract: v1beta1\n  major: 1\n  minor: 0\n\nx: y\n", "- contract: v1beta1\n  major: 1\n  minor: 0\n- major: 1\n  minor: 2\n  contract: v1beta1\n\nx: y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := layouts.ParseVersion("v1.2.0")
			if err != nil {
				t.Fatal(err)
			}
			const head = "# c\napiVersion: x\nreleaseSeries:\n"
			got, err := metadata.WithSeries(yamldoc.NewFile("metadata.yaml", []byte(head+tc.series)), v, true)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != head+tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, head+tc.want)
			}
		})
	}
	v, _ := layouts.ParseVersion("v1.2.0")
	for _, bad := range []string{"releaseSeries: [{major: 1, minor: 0, contract: v1beta1}]\n", "releaseSeries:\n- major: 1\n  minor: 0\n"} {
		if out, err := metadata.WithSeries(yamldoc.NewFile("metadata.yaml", []byte(bad)), v, true); err == nil {
			t.Errorf("%q: became %q", bad, out)
		}
	}
}
