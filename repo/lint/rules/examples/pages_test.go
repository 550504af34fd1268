package examples

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

var update = flag.Bool("update", false, "write the pages")

// TestPages demands that docs/rules.md and the pages below docs/rules say what the
// tables say.
func TestPages(t *testing.T) {
	pages := given.Value(pages(context.Background()))(t)
	for name, page := range pages {
		comparePage(t, name, page)
	}
	there := given.Value(filepath.Glob(filepath.Join("..", "..", "..", "..", "docs", "rules", "*")))(t)
	for _, file := range there {
		if name := "rules/" + filepath.Base(file); pages[name] == "" {
			t.Errorf("docs/%s belongs to no family", name)
		}
	}
}

// TestCorpusFindings demands that docs/corpus-findings.md says what the rules
// find in the corpus.
func TestCorpusFindings(t *testing.T) {
	page := given.Value(corpus(context.Background(), share.Corpus(t, "releases")))(t)
	comparePage(t, "corpus-findings.md", page)
}

// compare demands that a page is what the tables say, or writes it.
func comparePage(t *testing.T, name, page string) {
	t.Helper()
	file := filepath.Join("..", "..", "..", "..", "docs", name)
	if *update {
		given.File(t, file, page)
	}
	old := given.Read(t, file)
	if diff := cmp.Diff(strings.Split(string(old), "\n"), strings.Split(page, "\n")); diff != "" {
		t.Errorf("docs/%s is out of date; run make generate (-file +tables):\n%s", name, diff)
	}
}
