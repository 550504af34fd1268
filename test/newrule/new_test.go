package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const project = "../.."

// copyRules copies what New reads and writes.
func copyRules(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	files := given.Value(filepath.Glob(filepath.Join(project, rulesDir, "*", "*.go")))(t)
	for _, file := range files {
		rel := given.Value(filepath.Rel(project, file))(t)
		data := given.Read(t, file)
		to := filepath.Join(root, rel)
		given.File(t, to, string(data))
	}
	return root
}

// TestNewRule starts a rule in a copy and demands that it compiles, is found by
// the catalogue, and that its example and its test pass as they are.
func TestNewRule(t *testing.T) {
	root := copyRules(t)
	w := given.Value(New(root, "CV900", "new-rule-test"))(t)
	here := given.Value(filepath.Abs(project))(t)
	replace := map[string]string{}
	for _, file := range []string{w.Row, w.Example, w.Test} {
		rel := given.Value(filepath.Rel(root, file))(t)
		replace[filepath.Join(here, rel)] = file
	}
	data := given.Value(json.Marshal(map[string]any{"Replace": replace}))(t)
	overlay := filepath.Join(root, "overlay.json")
	given.NoError(t, os.WriteFile(overlay, data, 0o644))
	cmd := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-v", "-run", "^TestExamples$/^CV900$|^TestCV900$", "./"+rulesDir, "./"+rulesDir+"/classes")
	cmd.Dir = project
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"--- PASS: TestExamples/CV900", "--- PASS: TestCV900"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if _, err := New(root, "CV900", "another-name"); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("the same ID again: %v", err)
	}
	if _, err := New(root, "CV901", "new-rule-test"); err == nil || !strings.Contains(err.Error(), "CV900") {
		t.Errorf("the same name again: %v", err)
	}
}

func TestNewRuleRefuses(t *testing.T) {
	for _, c := range [][3]string{
		{"cc001", "new-rule", "three digits"}, {"CC01", "new-rule", "three digits"}, {"ZZ001", "new-rule", "unknown family ZZ: want one of BC, CC"},
		{"CC900", "New_Rule", "lower-case words"}, {"CC900", "", "lower-case words"}, {"CC001", "new-rule", "already"}, {"CC900", "class-decodes", "CC001"},
	} {
		if w, err := New(project, c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("New(%s, %s) = %v, %v; want %q", c[0], c[1], w, err, c[2])
		}
	}
}

// TestGuide demands that docs/writing-rules.md shows what the command prints.
func TestGuide(t *testing.T) {
	data := given.Read(t, filepath.Join(project, "docs", "writing-rules.md"))
	w := written{Row: rulesDir + "/classes/variables.go", Example: rulesDir + "/examples/CV014.txtar", Test: rulesDir + "/classes/cv014_test.go"}
	if want := w.walkthrough("CV014"); !strings.Contains(string(data), want) {
		t.Errorf("docs/writing-rules.md lacks\n%s", want)
	}
}
