package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
)

// InventoryFormats are the names of the formats that WriteVariables and
// WriteImages know.
var InventoryFormats = []string{"text", "json", "markdown"}

// Inventory is what a release has of a thing: its variables or its images.
type Inventory[T any] struct {
	Release *repo.Release
	Items   []T
}

// WriteVariables prints the variables of releases in a format of
// InventoryFormats. Text and Markdown show what a user must set first; Markdown
// is a table for the documentation of a provider and has no notes. JSON is one
// object with one list, of which every entry names its release; failures
// say what it lacks.
func WriteVariables(w io.Writer, format string, releases []Inventory[inventory.Variable], failures ...error) error {
	switch format {
	case "json":
		return documentOf("vars").writeList(w, failures, nil, variablesBody{[]variableEntry{}}, "variables", func(yield func(any) bool) {
			for _, r := range releases {
				for i := range r.Items {
					if !yield(variableEntry{nameOf(r.Release), r.Items[i]}) {
						return
					}
				}
			}
		})
	case "markdown":
		return eachRelease(w, "### %s %s\n\n", releases, variablesMarkdown)
	}
	return eachRelease(w, "", releases, variablesText)
}

type variablesBody struct {
	Variables []variableEntry `json:"variables" doc:"an entry for each variable of each release"`
}

type variableEntry struct {
	ofRelease
	inventory.Variable
}

// ofRelease is what the entries of all releases have in common.
type ofRelease struct {
	Provider string `json:"provider" doc:"the provider label, such as infrastructure-aws"`
	Version  string `json:"version" doc:"the version of the release, such as v1.2.3"`
}

func nameOf(r *repo.Release) ofRelease { return ofRelease{r.Provider.Label(), r.Version} }

// eachRelease prints one part for each release, with a title if there are
// several and title is a format for the label and the version.
func eachRelease[T any](w io.Writer, title string, releases []Inventory[T], write func(w io.Writer, r *repo.Release, items []T) error) error {
	for i, r := range releases {
		head := ""
		if i > 0 {
			head = "\n"
		}
		if title != "" && len(releases) > 1 {
			head += fmt.Sprintf(title, prose(r.Release.Provider.Label()), prose(r.Release.Version))
		}
		if _, err := io.WriteString(w, head); err != nil {
			return err
		}
		if err := write(w, r.Release, r.Items); err != nil {
			return err
		}
	}
	return nil
}

// shownPlaces is how many places of one thing are shown to people.
const shownPlaces = 3

func variablesText(w io.Writer, r *repo.Release, variables []inventory.Variable) error {
	variables = byNeed(variables)
	required := 0
	for i := range variables {
		if variables[i].Required {
			required++
		}
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s %s: %s, %d required\n", printable(r.Provider.Label()), printable(r.Version), count(len(variables), "variable"), required)
	rows := [][]string{{"VARIABLE", "TYPE", "DEFAULT", "USED AT"}}
	for i := range variables {
		v := &variables[i]
		first := v.Uses[0]
		used := fmt.Sprintf("%s:%d", printable(first.File), first.Line)
		if n := len(v.Uses) - 1; n > 0 {
			used += fmt.Sprintf(" and %d more", n)
		}
		rows = append(rows, []string{visible(v.Name), string(v.Type), shorten(defaultText(v, printable)), used})
	}
	if len(variables) > 0 {
		b.WriteByte('\n')
		table(b, rows)
	}
	title := "\nnotes:\n"
	for i := range variables {
		for _, n := range variables[i].Notes {
			fmt.Fprintf(b, "%s  %s: %s [%s]\n", title, visible(variables[i].Name), printable(n.Message), n.Kind)
			title = ""
			for _, p := range n.Places[:min(len(n.Places), shownPlaces)] {
				fmt.Fprintf(b, "    %s:%d:%d  %s\n", printable(p.File), p.Line, p.Column, shorten(printable(p.Expression)))
			}
			if n := len(n.Places) - shownPlaces; n > 0 {
				fmt.Fprintf(b, "    and %d more\n", n)
			}
		}
	}
	return b.Flush()
}

func variablesMarkdown(w io.Writer, _ *repo.Release, variables []inventory.Variable) error {
	var b strings.Builder
	b.WriteString("| Variable | Type | Default | Used in |\n|---|---|---|---|\n")
	for _, v := range byNeed(variables) {
		var files []string
		for _, u := range v.Uses {
			if n := len(files); n == 0 || files[n-1] != u.File {
				files = append(files, u.File)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(v.Name), v.Type, defaultText(&v, code), list(files, code))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// byNeed returns the variables with those first that a user must set, then
// those with a default, and last those that clusterctl sets.
func byNeed(variables []inventory.Variable) []inventory.Variable {
	var ranks [3][]inventory.Variable
	for i := range variables {
		rank := 2
		switch v := &variables[i]; {
		case v.Required:
			rank = 0
		case v.Option == "":
			rank = 1
		}
		ranks[rank] = append(ranks[rank], variables[i])
	}
	return slices.Concat(ranks[:]...)
}

// defaultText says what the value is if the user gives none, or where it comes
// from.
func defaultText(v *inventory.Variable, quote func(string) string) string {
	var parts []string
	switch {
	case v.Required:
		parts = append(parts, "(required)")
	case v.Option != "": // what clusterctl always sets has no other default
	case v.Default != nil:
		parts = append(parts, quote(*v.Default))
	default:
		parts = append(parts, "(empty)")
	}
	if v.Option != "" {
		word := "option "
		if !strings.HasPrefix(v.Option, "--") {
			word = "argument "
		}
		parts = append(parts, word+quote(v.Option))
	}
	return strings.Join(parts, ", ")
}

// table aligns rows of cells.
func table(w io.Writer, rows [][]string) {
	columns := 0
	even := true
	for _, row := range rows {
		columns = max(columns, len(row))
		even = even && len(row) == len(rows[0])
		for _, cell := range row {
			even = even && !strings.ContainsAny(cell, "\t\v\n\f") && utf8.ValidString(cell)
		}
	}
	if !even { // what tabwriter has rules for
		t := tabwriter.NewWriter(w, 0, 0, gap, ' ', 0)
		for _, row := range rows {
			fmt.Fprintln(t, strings.Join(row, "\t"))
		}
		t.Flush()
		return
	}
	// Tabwriter needs several times the memory of a long table.
	widths := make([]int, columns)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var line []byte
	for _, row := range rows {
		line = line[:0]
		for i, cell := range row {
			line = append(line, cell...)
			if i < len(row)-1 {
				for range widths[i] + gap - utf8.RuneCountInString(cell) {
					line = append(line, ' ')
				}
			}
		}
		_, _ = w.Write(append(line, '\n'))
	}
}

// gap is how many blanks stand between columns.
const gap = 2

// list joins the first few of some names.
func list(names []string, quote func(string) string) string {
	var shown []string
	for _, n := range names[:min(len(names), shownPlaces)] {
		shown = append(shown, quote(n))
	}
	out := strings.Join(shown, ", ")
	if n := len(names) - shownPlaces; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}

// printable quotes a text that would spoil a line or the terminal. Texts come
// from files that nobody has checked.
func printable(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(s)
	}
	return s
}

// shorten cuts a text that is too long for a line.
func shorten(s string) string {
	const width = 100
	if len(s) <= width {
		return s
	}
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	return string(runes[:width-1]) + "…"
}

// code makes a code span for a cell of a Markdown table. The fence is longer
// than any row of backticks in the text.
func code(s string) string {
	s = printable(s)
	if strings.Contains(s, `\|`) { // which would end the cell, however it is escaped
		return "<code>" + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", `\`, "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "~", "&#126;").Replace(s) + "</code>"
	}
	s = strings.ReplaceAll(s, "|", `\|`)
	longest, run := 0, 0
	for i := range len(s) {
		run++
		if s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	if longest == 0 {
		return "`" + s + "`"
	}
	fence := strings.Repeat("`", longest+1)
	return fence + " " + s + " " + fence
}
