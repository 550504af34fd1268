package table

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/migrate.md")

const (
	guideFile = "../../../docs/migrate.md"
	marker    = "<!-- The tables: generated from repo/migrate/table by make generate -->\n"
)

// TestGuide keeps the tables of the migration guide up to date.
func TestGuide(t *testing.T) {
	data := given.Read(t, guideFile)
	head, _, ok := strings.Cut(string(data), marker)
	if !ok {
		t.Fatalf("%s has no line %q", guideFile, marker)
	}
	var b strings.Builder
	b.WriteString(head + marker)
	for _, c := range Contracts() {
		fmt.Fprintf(&b, "\n## From %s to %s\n\n%s.\n", c.From, c.To, c.Unserved)
		for i := range c.Kinds {
			b.WriteString("\n" + c.Kinds[i].Guide("###"))
		}
	}
	if b.String() == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the tables; run make generate\n%s", guideFile, cmp.Diff(string(data), b.String()))
	}
	given.NoError(t, os.WriteFile(guideFile, []byte(b.String()), 0o644))
}

// Rows can only be carried out if both paths go through the same lists.
func TestRowsKeepTheirLists(t *testing.T) {
	for _, c := range Contracts() {
		for _, k := range c.Kinds {
			seen := map[string]bool{}
			for _, r := range k.Rows {
				for _, to := range []string{r.To, r.Also} {
					if to != "" && strings.Count(to, "[]") != strings.Count(r.Path, "[]") {
						t.Errorf("%s: %s and %s go through different lists", k.Kind, r.Path, to)
					}
				}
				if r.Dropped() && r.Why == "" {
					t.Errorf("%s: %s is dropped without a reason", k.Kind, r.Path)
				}
				if key := r.Path + " " + r.Default; seen[key] {
					t.Errorf("%s: %s has two rows", k.Kind, r.Path)
				} else {
					seen[key] = true
				}
			}
		}
	}
}
