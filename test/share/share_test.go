package share

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var update = flag.Bool("update", false, "write the table into docs/testing.md")

var use = regexp.MustCompile(`share\.Of\(([0-9_]+|[a-zA-Z]+), ([0-9_]+)\)`)

// TestTable compares the table in docs/testing.md with the numbers in the tests.
func TestTable(t *testing.T) {
	const root, begin, end = "../..", "<!-- shares -->\n", "<!-- end of shares -->\n"
	table := "\n| test | cases with make test | cases with make test-all |\n|---|---|---|\n"
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../../test/share/") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range use.FindAllStringSubmatch(string(text), -1) {
			table += fmt.Sprintf("| `%s` | %s | %s |\n", strings.TrimPrefix(path, "../../"), m[1], m[2])
		}
		return err
	})
	given.NoError(t, err)
	page := filepath.Join(root, "docs/testing.md")
	text := given.Read(t, page)
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/testing.md has no place for the table")
	}
	want := before + begin + table + "\n" + end + after
	if *update {
		err = os.WriteFile(page, []byte(want), 0o644)
	} else if string(text) != want {
		t.Error("the table of shares is stale; run go test ./test/share -update")
	}
	if err != nil {
		t.Error(err)
	}
}
