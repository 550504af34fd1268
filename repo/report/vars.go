package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
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
	if format != "json" {
		return inventoryPage(format, releases, (*page).variables).print(w)
	}
	return documentOf("vars").Write(w, failures, variablesBody{entriesOf(releases, func(n ofRelease, v inventory.Variable) variableEntry { return variableEntry{n, v} })})
}

// entriesOf are the items of all releases, each with its release.
func entriesOf[T, E any](releases []Inventory[T], entry func(ofRelease, T) E) entries[E] {
	return func(yield func(E) bool) {
		for _, r := range releases {
			for _, item := range r.Items {
				if !yield(entry(nameOf(r.Release), item)) {
					return
				}
			}
		}
	}
}

type variablesBody struct {
	Variables entries[variableEntry] `json:"variables" doc:"an entry for each variable of each release"`
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

// inventoryPage has a part for each release; in Markdown with a heading if there are
// several.
func inventoryPage[T any](format string, releases []Inventory[T], add func(p *page, r *repo.Release, items []T)) *page {
	p := &page{format: format}
	for i, r := range releases {
		if i > 0 {
			p.gap()
		}
		if !p.isText() && len(releases) > 1 {
			p.heading(3, r.Release.Provider.Label()+" "+r.Release.Version)
		}
		add(p, r.Release, r.Items)
	}
	return p
}

// shownPlaces is how many places of one thing are shown to people.
const shownPlaces = 3

// variables adds the variables of a release.
func (p *page) variables(r *repo.Release, variables []inventory.Variable) {
	variables = byNeed(variables)
	if !p.isText() {
		p.table("Variables", "Variable", "Type", "Default", "Used in")
		for i := range variables {
			v := &variables[i]
			var files []string
			for _, u := range v.Uses {
				files = append(files, u.File)
			}
			p.row(code(v.Name), raw(v.Type), defaultOf(v), few(slices.Compact(files)))
		}
		return
	}
	required := 0
	for i := range variables {
		if variables[i].Required {
			required++
		}
	}
	p.para(code(r.Provider.Label()), " ", code(r.Version), ": ", phrase.Count(len(variables), "variable"), ", ", strconv.Itoa(required), " required")
	if len(variables) > 0 {
		p.gap()
		p.table("Variables", "VARIABLE", "TYPE", "DEFAULT", "USED AT")
	}
	for i := range variables {
		v := &variables[i]
		used := []any{code(v.Uses[0].File), ":", strconv.Itoa(v.Uses[0].Line)}
		if n := len(v.Uses) - 1; n > 0 {
			used = append(used, fmt.Sprintf(" and %d more", n))
		}
		p.row(v.Name, raw(v.Type), shorten(textOf(defaultOf(v))), used)
	}
	noted := false
	for i := range variables {
		for _, n := range variables[i].Notes {
			if !noted {
				p.gap()
				p.para("notes:")
			}
			noted = true
			p.at(2).para(variables[i].Name, ": ", code(n.Message), " [", raw(n.Kind), "]")
			for _, at := range n.Places[:min(len(n.Places), shownPlaces)] {
				p.at(4).para(code(at.File), fmt.Sprintf(":%d:%d  ", at.Line, at.Column), raw(shorten(printable(at.Expression))))
			}
			if n := len(n.Places) - shownPlaces; n > 0 {
				p.at(4).para(fmt.Sprintf("and %d more", n))
			}
		}
	}
}

// byNeed returns the variables with those first that a user must set, then
// those with a default, and last those that clusterctl sets.
func byNeed(variables []inventory.Variable) []inventory.Variable {
	rank := func(v inventory.Variable) int {
		switch {
		case v.Required:
			return 0
		case v.Option == "":
			return 1
		}
		return 2
	}
	return slices.SortedStableFunc(slices.Values(variables), func(a, b inventory.Variable) int { return cmp.Compare(rank(a), rank(b)) })
}

// defaultOf says what the value is if the user gives none, or where it comes from.
func defaultOf(v *inventory.Variable) []any {
	var parts []any
	switch {
	case v.Required:
		parts = []any{"(required)"}
	case v.Option != "": // what clusterctl always sets has no other default
	case v.Default != nil:
		parts = []any{code(*v.Default)}
	default:
		parts = []any{"(empty)"}
	}
	if v.Option == "" {
		return parts
	}
	if parts != nil {
		parts = append(parts, ", ")
	}
	if strings.HasPrefix(v.Option, "--") {
		return append(parts, "option ", code(v.Option))
	}
	return append(parts, "argument ", code(v.Option))
}

// few are the first few of some names.
func few(names []string) []any {
	var parts []any
	for i, n := range names[:min(len(names), shownPlaces)] {
		if i > 0 {
			parts = append(parts, ", ")
		}
		parts = append(parts, code(n))
	}
	if n := len(names) - shownPlaces; n > 0 {
		parts = append(parts, fmt.Sprintf(" and %d more", n))
	}
	return parts
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
func shorten(s string) string { return phrase.Fit(s, 100) }

// codeSpan makes a code span for a cell of a Markdown table. The fence is longer
// than any row of backticks in the text.
func codeSpan(s string) string {
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
