package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestLatenciesAreShown looks for the times of calls, and what was looked at, in
// each format that has room for them.
func TestLatenciesAreShown(t *testing.T) {
	r := &lint.Report{Subject: "2 handlers of https://localhost:9443"}
	latencies := []extension.Latency{
		{Name: "GeneratePatches patches", Calls: 12, Median: 1234 * time.Microsecond, P95: 2 * time.Second, Max: 2500 * time.Millisecond, Limit: 10 * time.Second},
		{Name: "Discovery", Calls: 1, Median: 90 * time.Nanosecond},
	}
	for format, wants := range map[string][]string{
		"text":     {"GeneratePatches patches  12     1.23ms  2s   2.5s  10s", "Discovery                1      0s      0s   0s    -", "in 2 handlers of https://localhost:9443"},
		"json":     {`"p50Seconds": 0.001234`, `"maxSeconds": 2.5`, `"timeoutSeconds": 10`, `"subject": "2 handlers of https://localhost:9443"`},
		"markdown": {"| GeneratePatches patches | 12 | 1.23ms | 2s | 2.5s | 10s |", "### clusterctl-repo extension check: 0 errors", "Looked at 2 handlers of https"},
		"html":     {"<td>GeneratePatches patches</td>", "<td>1.23ms</td>", "looked at 2 handlers of https://localhost:9443"},
		"junit":    {`name="clusterctl-repo extension check"`, "everything in 2 handlers of https://localhost:9443 was checked"},
		"github":   {"0 errors, 0 warnings, 0 infos in 2 handlers of https://localhost:9443"},
	} {
		var b bytes.Buffer
		given.NoError(t, report.WriteFindings(&b, format, r, report.Options{Paint: plain{}, Latencies: latencies}))
		for _, want := range wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", format, want, b.String())
			}
		}
	}
}
