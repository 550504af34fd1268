package rules_test

import (
	"maps"
	"regexp"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// literal is advice that says what to write in the place of a finding.
var literal = regexp.MustCompile(`(?s)(?:^Did you mean (\S+)\?$|\bWrite (\S+)\.$|^Put the value in quotes: (".*")\.$)`)

// repaired is the file of a finding after its literal advice; ok is false if it has none.
// Edits are made in TestFixExamples of transform/check.
func repaired(f *lint.Finding, text string) (out string, ok bool) {
	m := literal.FindStringSubmatch(f.Fix)
	if m == nil || f.Pos.IsZero() || f.End.IsZero() {
		return "", false
	}
	file := yamldoc.NewFile(f.File, text)
	return text[:file.Offset(f.Pos)] + m[1] + m[2] + m[3] + text[file.Offset(f.End):], true
}

// TestFixes does in every bad example what each finding says, one at a time: the finding
// is gone, and no other has come.
func TestFixes(t *testing.T) {
	share.SkipInRace(t)
	tried := 0
	for _, r := range rules.All {
		e := given.Value(examples.Load(r.ID))(t)
		if e.Source {
			continue
		}
		before := badFindings(t, e)
		for i := range before {
			f := &before[i]
			text, ok := repaired(f, e.Bad.Text[f.File])
			if !ok {
				continue
			}
			tried++
			files := e.Bad
			files.Text = maps.Clone(files.Text)
			files.Text[f.File] = text
			count := map[string]int{}
			for _, f := range before {
				count[f.Rule.ID]++
			}
			for _, g := range lintFiles(t, files) {
				if count[g.Rule.ID]--; count[g.Rule.ID] < 0 || g.Rule == f.Rule && count[g.Rule.ID] == 0 {
					t.Errorf("%s: %s\nadvice: %s\nafter it: %s", r.ID, show(*f), f.Help(), show(g))
				}
			}
		}
	}
	t.Logf("%d findings fixed", tried)
	if tried < 8 {
		t.Errorf("only %d findings say literally what to write", tried)
	}
}
