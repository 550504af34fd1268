package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestWriteHooks(t *testing.T) {
	for core, afterUpgrade := range map[int]bool{11: false, 14: true} {
		var b bytes.Buffer
		given.NoError(t, report.WriteHooks(&b, "json", core))
		var got struct {
			SchemaVersion int
			Hooks         []struct {
				Name, Path    string
				Blocking      bool
				RequestFields []extension.Field
			}
		}
		given.NoError(t, json.Unmarshal(b.Bytes(), &got))
		if got.SchemaVersion != 1 || len(got.Hooks) != len(extension.Hooks(core)) {
			t.Errorf("v1.%d: %d hooks", core, len(got.Hooks))
		}
		for _, h := range got.Hooks {
			if h.Name == "AfterClusterUpgrade" && (h.Blocking != afterUpgrade || len(h.RequestFields) != 2 || !strings.HasSuffix(h.Path, "/afterclusterupgrade/{name}")) {
				t.Errorf("v1.%d: %+v", core, h)
			}
			if h.Name == "Discovery" && strings.Contains(h.Path, "{") {
				t.Errorf("discovery is at %s", h.Path)
			}
		}
		b.Reset()
		if err := report.WriteHooks(&b, "text", core); err != nil || strings.Count(b.String(), "\n") != len(got.Hooks)+1 {
			t.Errorf("v1.%d: %v\n%s", core, err, &b)
		}
	}
}

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
