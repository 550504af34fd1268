package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// sarifSchema compiles the JSON schema of SARIF 2.1.0. A library for SARIF has
// it as a constant that it does not export, so it is taken from its source.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3").Output()
	given.NoError(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "pkg/report/v210/sarif/schema.go"), nil, 0)
	given.NoError(t, err)
	var text string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err = strconv.Unquote(lit.Value)
		}
		return err == nil
	})
	given.NoError(t, err)
	schema := given.Value(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const name = "sarif-2.1.0.json"
	given.NoError(t, c.AddResource(name, schema))
	return given.Value(c.Compile(name))(t)
}

// sarifReports are reports with everything that can be in one.
func sarifReports() map[string]*lint.Report {
	all := map[string]*lint.Report{"clean": {Files: 1, Releases: 1}}

	rule := &lint.Rule{ID: "TEST001", Name: "test", Title: "é <b>", Severity: lint.Warning, Proof: lint.Practice, Source: "[a](b)", Why: "`why`", Fix: "\x00\xff"}
	hostile := &lint.Report{Failures: []error{errors.New("rule TEST001 failed:\n\x1b\xff")}}
	for i, file := range []string{"a b/c,d:e%f#g?h.yaml", "/srv/\xff/é.yaml", "../x.yaml", "https://example.org/a b?c#d", "https://[::1", ":", "", "."} {
		hostile.Findings = append(hostile.Findings, lint.Finding{
			Rule: rule, Severity: lint.Severity(1 + i%3), File: file, Message: "{0} [a](1) \x00\u2028", Object: "\xff", Way: "spec.\x1b", Fingerprint: strconv.Itoa(i),
			Pos: yamldoc.Pos{Line: i % 4, Column: 1 + i}, End: yamldoc.Pos{Line: 2, Column: i},
		})
	}
	hostile.Suppressed = []lint.Suppressed{{Finding: hostile.Findings[0], Reason: "\x00\xff"}}
	all["hostile"] = hostile

	every := &lint.Report{} // so that each rule is described
	for _, rule := range rules.All {
		every.Findings = append(every.Findings, lint.Finding{Rule: rule, Severity: rule.Severity, File: "a.yaml", Message: rule.Title})
	}
	all["every rule"] = every
	return all
}

// TestSARIFSchema holds what lint writes against the schema of the standard, and
// lets another program read it.
func TestSARIFSchema(t *testing.T) {
	t.Parallel()
	schema := sarifSchema(t)
	for name, r := range sarifReports() {
		var b bytes.Buffer
		given.NoError(t, report.WriteFindings(&b, "sarif", r, report.Options{Version: "v1.2.3-rc.1"}))
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		read, err := sarif.FromBytes(b.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := len(read.Runs[0].Results), len(r.Findings)+len(r.Suppressed); got != want {
			t.Errorf("%s: %d results are read, %d findings were written", name, got, want)
		}
	}
}

// TestSARIFSchemaRefuses makes sure that the schema is one.
func TestSARIFSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := sarifSchema(t)
	var b bytes.Buffer
	rule := &lint.Rule{ID: "TEST001", Severity: lint.Error}
	finding := lint.Finding{Rule: rule, Severity: lint.Error, File: "a.yaml", Pos: yamldoc.Pos{Line: 1, Column: 1}}
	given.NoError(t, report.WriteFindings(&b, "sarif", &lint.Report{Findings: []lint.Finding{finding}}, report.Options{}))
	for old, wrong := range map[string]string{
		`"level": "error"`: `"level": "fatal"`, `"startLine": 1`: `"startLine": 0`, `"ruleIndex": 0`: `"ruleIndex": "0"`,
		`"version": "2.1.0"`: `"version": "2.2.0"`, `"uri": "a.yaml"`: `"uri": "a b%"`, `"columnKind"`: `"columnSort"`,
	} {
		text := strings.Replace(b.String(), old, wrong, 1)
		if text == b.String() {
			t.Fatalf("no %s in %s", old, text)
		}
		var value any
		given.NoError(t, json.Unmarshal([]byte(text), &value))
		if schema.Validate(value) == nil {
			t.Errorf("%s is valid", wrong)
		}
	}
}
