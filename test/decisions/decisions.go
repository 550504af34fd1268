// Package decisions keeps tables of decisions in docs/publishing.md. It must not
// know any destination.
package decisions

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
)

var update = flag.Bool("update", false, "write the tables of decisions into docs/publishing.md")

const file = "../../docs/publishing.md"

// Documented fails if a table is not in docs/publishing.md under the name of its
// destination, or is no table that a person can read: every row needs words, a
// situation is named once, and only the last row has none to test.
func Documented[S any](t *testing.T, name string, table converge.Table[S]) {
	t.Helper()
	seen, goals := map[string]bool{}, 0
	for i, row := range table {
		if row.When == "" || row.Step == "" || row.Why == "" || seen[row.When] || (row.Is == nil) != (i == len(table)-1) || row.Do != nil && row.Refuse != nil {
			t.Errorf("row %d is not complete: %+v", i, row)
		}
		if row.Do == nil && row.Refuse == nil {
			goals++
		}
		seen[row.When] = true
	}
	if goals != 1 {
		t.Errorf("%d rows are goals", goals)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	start, end := fmt.Sprintf("<!-- decisions of %s: generated from its table -->\n", name), fmt.Sprintf("<!-- decisions of %s: end -->\n", name)
	head, rest, ok := strings.Cut(string(data), start)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no lines %q and %q", file, start, end)
	}
	want := head + start + "\n" + markdown(table) + "\n" + end + tail
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the table of %s; run make generate", file, name)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func markdown[S any](table converge.Table[S]) string {
	var b strings.Builder
	b.WriteString("| situation | step | reason |\n|---|---|---|\n")
	for _, row := range table {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.When, row.Step, row.Why)
	}
	return b.String()
}
