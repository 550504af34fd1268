package behaviour

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
)

// recording opens a real recording, or skips the test.
func recording(t testing.TB) *os.File {
	t.Helper()
	corpus := os.Getenv("CORPUS")
	if corpus == "" {
		corpus = "../../../shared/corpus"
	}
	f, err := os.Open(filepath.Join(corpus, "recordings", "life-1.jsonl.gz"))
	if err != nil {
		t.Skipf("no recording: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestRecording judges a life of real controllers.
func TestRecording(t *testing.T) {
	j := New(DefaultOptions())
	faults, err := record.Read(context.Background(), "life", recording(t), j.Add)
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	for _, f := range j.Finish() {
		t.Logf("%d %s %s %s: %s", f.New.Line, f.Check.ID, f.Severity, f.Object, f.Message)
		for _, line := range f.Evidence() {
			t.Logf("      %s", line)
		}
	}
	for _, c := range All {
		t.Logf("%s %+v", c.ID, j.Verdict(c.ID))
	}
}
