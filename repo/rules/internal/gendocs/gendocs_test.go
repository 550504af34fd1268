package gendocs_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/repo/rules/internal/gendocs"
)

var update = flag.Bool("update", false, "write docs/rules.md")

// TestPage demands that docs/rules.md says what the tables say.
func TestPage(t *testing.T) {
	page, err := gendocs.Markdown(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "..", "..", "docs", "rules.md")
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(old), page); diff != "" {
		t.Errorf("docs/rules.md is out of date; run go test ./repo/rules/internal/gendocs -update (-file +tables):\n%s", diff)
	}
}
