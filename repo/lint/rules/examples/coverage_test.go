package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// table is one of docs/coverage.md; rows have no head.
type table struct {
	title string
	rows  [][]string
}

// documents are those whose statements have cases, by the heading of their table.
var documents = map[string]string{
	"Contract of InfraMachinePool": "pool", "Runtime SDK proposal": "sdk", "Lifecycle hooks": "hooks", "clusterctl provider contract": "clusterctl",
}

// page returns a file of the folder docs.
func page(t *testing.T, name string) string {
	t.Helper()
	return string(given.Read(t, filepath.Join("..", "..", "..", "..", "docs", name)))
}

// tables returns the tables of a page with their headings.
func tables(text string) []table {
	var out []table
	title, head := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			title = heading
		}
		if !strings.HasPrefix(line, "|") {
			head = 2 // the names of the columns and the line below
			continue
		}
		if head == 2 {
			out = append(out, table{title: title})
		}
		if head--; head >= 0 {
			continue
		}
		t := &out[len(out)-1]
		t.rows = append(t.rows, cells(line))
	}
	return out
}

// cells splits a row of a table.
func cells(line string) []string {
	const bar = "\x00" // stands for one that is text
	line = strings.ReplaceAll(strings.Trim(line, "|"), `\|`, bar)
	var out []string
	for cell := range strings.SplitSeq(line, "|") {
		out = append(out, strings.TrimSpace(strings.ReplaceAll(cell, bar, "|")))
	}
	return out
}

// headings returns the anchors of a page of commands by command.
func headings(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "## clusterctl-repo "); ok {
			out[name] = "clusterctl-repo-" + strings.ReplaceAll(name, " ", "-")
		}
	}
	return out
}

// problem says what is wrong with a cell that says what covers a statement, or "".
func problem(cell string, commands map[string]string) string {
	covered := false
	for _, m := range regexp.MustCompile(`\[([^\]]*)\]\(([^)#]*)#([^)]*)\)`).FindAllStringSubmatch(cell, -1) {
		text, file, anchor := m[1], m[2], m[3]
		rule := rules.ByID(text)
		if check := checks.ByID(text); check != nil {
			rule = &check.Rule
		}
		switch {
		case file == "rules.md" && (rule == nil || rule.ID != text):
			return "there is no rule " + text
		case file == "rules.md" && anchor != strings.ToLower(text):
			return "the link of " + text + " leads elsewhere"
		case file == "commands.md" && (commands[text] == "" || commands[text] != anchor):
			return "docs/commands.md has no command " + text
		case file != "rules.md" && file != "commands.md":
			return "a link leads to " + file
		}
		covered = true
		cell = strings.Replace(cell, m[0], "", 1)
	}
	if id := regexp.MustCompile(`\b[A-Z]+[0-9]{3}\b`).FindString(cell); id != "" {
		return "no link on " + id
	}
	for _, reason := range []string{"not in a manifest: ", "no rule on purpose: "} {
		if _, why, ok := strings.Cut(cell, reason); ok {
			covered = covered || strings.Contains(why, " ")
		}
	}
	if !covered {
		return "neither a rule nor a command nor a reason"
	}
	return ""
}

// TestCoverage demands that docs/coverage.md names what exists, and that every statement
// with rules has a case that shows it, with the severity that the page says and the
// level asks for.
func TestCoverage(t *testing.T) {
	commands := headings(page(t, "commands.md"))
	text := page(t, "coverage.md")
	cases := map[string]bool{}
	for _, entry := range given.Value(os.ReadDir("statements"))(t) {
		cases[strings.TrimSuffix(entry.Name(), ".txtar")] = true
	}
	seen := map[string]bool{}
	for _, table := range tables(text) {
		key, before := documents[table.title], ""
		seen[key] = true
		for _, row := range table.rows {
			at := fmt.Sprintf("%s, %s", table.title, row[0])
			if len(row) != 5 || slices.Contains(row, "") {
				t.Errorf("%s: a cell is empty or missing: %q", at, row)
				continue
			}
			number := regexp.MustCompile(`^([0-9]+)([a-z]?)$`).FindStringSubmatch(row[0])
			if number == nil || fmt.Sprintf("%4s%s", number[1], number[2]) <= before {
				t.Errorf("%s: not a number, or out of order", at)
				continue
			}
			before = fmt.Sprintf("%4s%s", number[1], number[2])
			level, cell := row[3], row[4]
			if p := problem(cell, commands); p != "" {
				t.Errorf("%s: %s", at, p)
			}
			cited := phrase.Only(phrase.List(regexp.MustCompile(`\[([A-Z]+[0-9]{3})\]`).FindAllStringSubmatch(cell, -1),
				func(m []string) string { return m[1] }), func(id string) bool { return slices.Contains(rules.All, rules.ByID(id)) })
			id := key + "-" + row[0]
			if key == "" || !cases[id] {
				if key != "" && len(cited) > 0 && !strings.Contains(cell, "no case: ") {
					t.Errorf("%s: no statements/%s.txtar", at, id)
				}
				continue
			}
			delete(cases, id)
			severity := judge(t, id, cited)
			if p := fits(level, severity, cell); p != "" {
				t.Errorf("%s: %s", at, p)
			}
			if now := severity.String() + ": " + plain(cell); now != cell {
				if !*update {
					t.Errorf("%s: the page does not say that the case is reported as %s; make generate writes it", at, severity)
				}
				text = strings.Replace(text, "| "+level+" | "+escaped(cell)+" |", "| "+level+" | "+escaped(now)+" |", 1)
			}
		}
	}
	for id := range cases {
		t.Errorf("statements/%s.txtar belongs to no row", id)
	}
	for title, key := range documents {
		if !seen[key] {
			t.Errorf("no table %s", title)
		}
	}
	if *update {
		given.File(t, filepath.Join("..", "..", "..", "..", "docs", "coverage.md"), text)
	}
}

// plain is a cell without the severity at its beginning.
func plain(cell string) string {
	if word, rest, ok := strings.Cut(cell, ": "); ok && slices.Contains([]string{lint.Error.String(), lint.Warning.String(), lint.Info.String()}, word) {
		return rest
	}
	return cell
}

func escaped(cell string) string { return strings.ReplaceAll(cell, "|", `\|`) }

// judge demands that the case of a statement is found by rules that its row cites, that
// lint has no other error or warning about it, and none at all about the good half. It
// returns the severity of the worst finding.
func judge(t *testing.T, id string, cited []string) lint.Severity {
	t.Helper()
	e := given.Value(parse(id, given.Read(t, filepath.Join("statements", id+".txtar")), embedded))(t)
	if e.Prose == "" || len(e.Wants) == 0 {
		t.Errorf("%s: without prose, or nothing is expected", id)
	}
	found := func(files Files) []lint.Finding {
		return given.Value(Findings(t.Context(), files))(t)
	}
	missing, rest, worst := e.Compare(found(e.Bad))
	for _, w := range missing {
		t.Errorf("%s: bad: missing %s:%d %s %q", id, w.Path, w.Line, w.Rule, w.Message)
	}
	for _, w := range e.Wants {
		if !slices.Contains(cited, w.Rule) {
			t.Errorf("%s: the row does not cite %s", id, w.Rule)
		}
	}
	for side, findings := range map[string][]lint.Finding{"bad": rest, "good": found(e.Good)} {
		for _, f := range findings {
			if f.Severity >= lint.Warning {
				t.Errorf("%s: %s: unexpected %s:%d: %s: %s %s", id, side, f.File, f.Pos.Line, f.Severity, f.Rule.ID, f.Message)
			}
		}
	}
	return worst
}

// fits says why a severity is not what a level asks for, or "". A cell may state a reason
// for another one: "as warning: clusterctl accepts it".
func fits(level string, severity lint.Severity, cell string) string {
	if _, reason, ok := strings.Cut(cell, "as "+severity.String()+": "); ok && strings.Contains(reason, " ") {
		return ""
	}
	switch level {
	case "MUST", "MUST NOT", "required", "not allowed", "Mandatory: yes":
		if severity != lint.Error {
			return fmt.Sprintf("%s is reported as %s, without a reason", level, severity)
		}
	case "SHOULD", "SHOULD NOT", "recommended", "expected", "strongly recommended":
		if severity != lint.Warning {
			return fmt.Sprintf("%s is reported as %s, without a reason", level, severity)
		}
	default:
		if severity == lint.Error {
			return fmt.Sprintf("%s is reported as error, without a reason", level)
		}
	}
	return ""
}

// TestCoverageFamilies demands that every family of rules is asked for by a
// statement, or named as one that is not.
func TestCoverageFamilies(t *testing.T) {
	text := page(t, "coverage.md")
	m := regexp.MustCompile(`(?m)^Families that no statement asks for: (.*)\.$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("docs/coverage.md has no sentence about families that no statement asks for")
	}
	others := strings.Split(m[1], ", ")
	cited := map[string]bool{}
	for _, table := range tables(text) {
		for _, row := range table.rows {
			for _, m := range regexp.MustCompile(`\[([A-Z]+[0-9]{3})\]`).FindAllStringSubmatch(row[len(row)-1], -1) {
				cited[rules.FamilyOf(m[1])] = true
			}
		}
	}
	for _, f := range rules.Families {
		if listed := slices.Contains(others, f.Prefix); listed == cited[f.Prefix] {
			t.Errorf("family %s: a statement asks for it: %t, and it is listed as one that none asks for: %t", f.Prefix, cited[f.Prefix], listed)
		}
		others = slices.DeleteFunc(others, func(prefix string) bool { return prefix == f.Prefix })
	}
	if len(others) > 0 {
		t.Errorf("there are no families %s", strings.Join(others, ", "))
	}
}

// TestCoverageProblem shows that the other tests can fail.
func TestCoverageProblem(t *testing.T) {
	commands := headings("## clusterctl-repo vars\n## clusterctl-repo render provider\n")
	for _, row := range []struct{ cell, want string }{
		{"[CRD008](rules.md#crd008)", ""},
		{"[render provider](commands.md#clusterctl-repo-render-provider)", ""},
		{"not in a manifest: behaviour of a controller", ""},
		{"[CRD999](rules.md#crd999)", "no rule CRD999"},
		{"[CRD008](rules.md#crd009)", "leads elsewhere"},
		{"[CRD008](rules.md#crd008), CRD010", "no link on CRD010"},
		{"[dance](commands.md#clusterctl-repo-dance)", "no command dance"},
		{"not in a manifest: ", "neither"},
		{"sometimes", "neither"},
		{"", "neither"},
	} {
		if got := problem(row.cell, commands); (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
			t.Errorf("%q: %q instead of %q", row.cell, got, row.want)
		}
	}
	got := tables("## A\n\n| x | y |\n|---|---|\n| 1 | a \\| b |\n| 2 | |\n")
	if len(got) != 1 || len(got[0].rows) != 2 || got[0].rows[0][1] != "a | b" || got[0].rows[1][1] != "" {
		t.Errorf("tables: %q", got)
	}
}
