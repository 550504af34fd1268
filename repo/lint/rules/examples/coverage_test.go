package examples_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// table is one of docs/coverage.md; rows have no head.
type table struct {
	title string
	rows  [][]string
}

// catalogue reports whether the table is one of checks, not of statements.
func (t *table) catalogue() bool { return strings.HasPrefix(t.title, "Catalogue") }

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
	for _, m := range regexp.MustCompile("planned: `([^`]*)`").FindAllStringSubmatch(cell, -1) {
		if commands[m[1]] != "" {
			return m[1] + " is no longer planned: there is such a command"
		}
		covered = true
	}
	for _, reason := range []string{"not in a manifest: ", "no rule on purpose: ", "no rule of its own: "} {
		if _, why, ok := strings.Cut(cell, reason); ok {
			covered = covered || strings.Contains(why, " ")
		}
	}
	if !covered {
		return "neither a rule nor a command nor a reason"
	}
	return ""
}

// TestCoverage demands that docs/coverage.md leaves nothing out and names what
// exists.
func TestCoverage(t *testing.T) {
	commands := headings(page(t, "commands.md"))
	counted := map[string]int{}
	statements := 0
	for _, table := range tables(page(t, "coverage.md")) {
		if !table.catalogue() {
			statements++
		}
		for i, row := range table.rows {
			at := fmt.Sprintf("%s, %s", table.title, row[0])
			columns, number, next := 5, row[0], i+1
			if table.catalogue() {
				columns = 3
				family, n, _ := strings.Cut(row[0], "-")
				key := table.title + family
				counted[key]++
				number, next = strings.TrimLeft(n, "0"), counted[key]
			}
			if len(row) != columns || slices.Contains(row, "") {
				t.Errorf("%s: a cell is empty or missing: %q", at, row)
				continue
			}
			if number != strconv.Itoa(next) {
				t.Errorf("%s: expected number %d", at, next)
			}
			if p := problem(row[columns-1], commands); p != "" {
				t.Errorf("%s: %s", at, p)
			}
		}
	}
	if statements != 5 {
		t.Errorf("statements of %d documents instead of 5", statements)
	}
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
		if table.catalogue() {
			continue
		}
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
		{"planned: `extension check`", ""},
		{"not in a manifest: behaviour of a controller", ""},
		{"[CRD999](rules.md#crd999)", "no rule CRD999"},
		{"[CRD008](rules.md#crd009)", "leads elsewhere"},
		{"[CRD008](rules.md#crd008), CRD010", "no link on CRD010"},
		{"[dance](commands.md#clusterctl-repo-dance)", "no command dance"},
		{"planned: `vars`", "no longer planned"},
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
