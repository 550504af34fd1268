package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestSubjectIsShown looks for what was looked at, if that is no release.
func TestSubjectIsShown(t *testing.T) {
	r := &lint.Report{Subject: "2 handlers of https://localhost:9443"}
	for format, wants := range map[string][]string{
		"text":     {"in 2 handlers of https://localhost:9443"},
		"json":     {`"subject": "2 handlers of https://localhost:9443"`},
		"markdown": {"### clusterctl-repo extension check: 0 errors", "Looked at 2 handlers of https"},
		"html":     {"looked at 2 handlers of https://localhost:9443"},
		"junit":    {`name="clusterctl-repo extension check"`, "everything in 2 handlers of https://localhost:9443 was checked"},
		"github":   {"0 errors, 0 warnings, 0 infos in 2 handlers of https://localhost:9443"},
	} {
		var b bytes.Buffer
		given.NoError(t, report.WriteFindings(&b, format, r, report.Options{Paint: plain{}}))
		for _, want := range wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", format, want, b.String())
			}
		}
	}
}
