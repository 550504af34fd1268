package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
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
