package rules_test

import (
	"flag"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var update = flag.Bool("update", false, "write the findings into the files of testdata")

// TestExamplesWhole compares everything reported about the bad examples with a golden file;
// the wants in the examples name only a line and a part of the message. A repeated message
// is listed once.
func TestExamplesWhole(t *testing.T) {
	got, shown := "", map[string]bool{}
	for _, r := range rules.All {
		if e := given.Value(examples.Load(r.ID))(t); !e.Source {
			got += whole(badFindings(t, e), shown)
		}
	}
	const file = "testdata/examples.txt"
	if *update {
		given.File(t, file, got)
	}
	compare(t, file, got, string(given.Read(t, file)))
}

// TestFindings does the same for faulty releases: archives in testdata whose comment lists
// the findings.
func TestFindings(t *testing.T) {
	files := given.Value(filepath.Glob("testdata/*.txtar"))(t)
	if len(files) == 0 {
		t.Fatal("no archives in testdata")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			a := txtar.Parse(given.Read(t, file))
			got := whole(lintFiles(t, release(a)), nil)
			if *update {
				a.Comment = []byte(got)
				given.File(t, file, string(txtar.Format(a)))
				return
			}
			compare(t, file, got, string(a.Comment))
		})
	}
}

// release returns the files of infrastructure-foo v1.0.0; a name with ../../ leads to another
// release.
func release(a *txtar.Archive) examples.Files {
	text := map[string]string{"infrastructure-foo/v1.0.0/metadata.yaml": series}
	for _, f := range a.Files {
		text[path.Join("infrastructure-foo/v1.0.0", f.Name)] = string(f.Data)
	}
	return examples.Files{Text: text}
}

func compare(t *testing.T, file, got, want string) {
	t.Helper()
	const end = "(end of file)"
	lines, golden := append(strings.Split(got, "\n"), end), append(strings.Split(want, "\n"), end)
	for i := range max(len(lines), len(golden)) {
		if i >= len(lines) || i >= len(golden) || lines[i] != golden[i] {
			t.Fatalf("%s:%d: got %q, want %q; -update writes it", file, i+1, lines[min(i, len(lines)-1)], golden[min(i, len(golden)-1)])
		}
	}
}

// whole lists findings below the name of their file, and skips those already in shown,
// wherever they are.
func whole(findings []lint.Finding, shown map[string]bool) string {
	var out strings.Builder
	file := ""
	for _, f := range findings {
		text := []string{fmt.Sprintf("%s %s: %.180s", f.Rule.ID, f.Severity, f.Message)}
		if f.Fix != "" {
			text = append(text, f.Fix)
		}
		if e := f.Edit; e != nil {
			text = append(text, strings.TrimSpace(fmt.Sprintf("%d-%d %q %s", e.Start, e.End, e.Text, e.Rename)))
		}
		for _, p := range f.Also {
			text = append(text, fmt.Sprintf("%s:%d:%d", path.Base(p.File), p.Pos.Line, p.Pos.Column))
		}
		line := strings.Join(append(text, f.Evidence...), " | ")
		if name := strings.TrimPrefix(f.File, "infrastructure-foo/v1.0.0/"); !shown[line] && name != file {
			file = name
			fmt.Fprintln(&out, file)
		}
		if !shown[line] {
			fmt.Fprintf(&out, "%d:%d-%d:%d %.6s %s\n", f.Pos.Line, f.Pos.Column, f.End.Line, f.End.Column, f.Fingerprint, line)
		}
		if shown != nil {
			shown[line] = true
		}
	}
	return out.String()
}
