package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
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
	// Offers are for the Markdown of variables; nil for anything else.
	Offers *inventory.Offers
}

// WriteVariables prints the variables of releases in a format of
// InventoryFormats. Text and Markdown show what a user must set first; Markdown
// is for the documentation of a provider: it has no notes, but the flavors and
// ClusterClasses with their variables. JSON is one
// object with one list, of which every entry names its release; failures
// say what it lacks.
func WriteVariables(w io.Writer, format string, releases []Inventory[inventory.Variable], failures ...error) error {
	if format != "json" {
		return inventoryPage(format, releases, addVariables).Print(w)
	}
	return documentOf("vars").Write(w, failures, variablesBody{entriesOf(releases, func(n ofRelease, v inventory.Variable) variableEntry { return variableEntry{n, v} })})
}

// entriesOf are the items of all releases, each with its release.
func entriesOf[T, E any](releases []Inventory[T], entry func(ofRelease, T) E) (out []E) {
	for _, r := range releases {
		for _, item := range r.Items {
			out = append(out, entry(ofRelease{r.Release.Provider.Label(), r.Release.Version}, item))
		}
	}
	return out
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

// inventoryPage has a part for each release; in Markdown with a heading if there are
// several.
func inventoryPage[T any](format string, releases []Inventory[T], add func(p *Page, r *repo.Release, items []T)) *Page {
	p := &Page{Format: format}
	for i, r := range releases {
		if i > 0 {
			p.Gap()
		}
		if !p.IsText() && len(releases) > 1 {
			p.Heading(3, Plain(titleOf(r.Release)...))
		}
		add(p, r.Release, r.Items)
		if r.Offers != nil && !p.IsText() {
			addOffers(p, r.Release, r.Offers)
		}
	}
	return p
}

func titleOf(r *repo.Release) []any {
	if r.Own {
		return []any{Code(r.Path)}
	}
	return []any{Code(r.Provider.Label()), " ", Code(r.Version)}
}

// shownPlaces is how many places of one thing are shown to people.
const shownPlaces = 3

func addVariables(p *Page, r *repo.Release, variables []inventory.Variable) {
	variables = byNeed(variables)
	if !p.IsText() {
		p.Table("Variable", "Type", "Default", "Meaning", "Used in")
		for i := range variables {
			v := &variables[i]
			files := phrase.List(v.Uses, func(u inventory.Use) string { return u.File })
			p.Row(Code(v.Name), Raw(v.Type), defaultOf(v), shorten(v.Meaning), few(slices.Compact(files)))
		}
		return
	}
	required := 0
	for i := range variables {
		if variables[i].Required {
			required++
		}
	}
	p.Para(titleOf(r), ": ", phrase.Count(len(variables), "variable"), ", ", strconv.Itoa(required), " required")
	if len(variables) > 0 {
		p.Gap()
		p.Table("VARIABLE", "TYPE", "DEFAULT", "USED AT")
	}
	for i := range variables {
		v := &variables[i]
		used := []any{Code(v.Uses[0].File), ":", strconv.Itoa(v.Uses[0].Line)}
		if n := len(v.Uses) - 1; n > 0 {
			used = append(used, fmt.Sprintf(" and %d more", n))
		}
		p.Row(v.Name, Raw(v.Type), shorten(Plain(defaultOf(v))), used)
	}
	noted := false
	for i := range variables {
		for _, n := range variables[i].Notes {
			if !noted {
				p.Gap()
				p.Para("notes:")
			}
			noted = true
			p.At(2).Para(variables[i].Name, ": ", Code(n.Message), " [", Raw(n.Kind), "]")
			for _, at := range n.Places[:min(len(n.Places), shownPlaces)] {
				p.At(4).Para(Code(at.File), fmt.Sprintf(":%d:%d  ", at.Line, at.Column), Raw(shorten(Printable(at.Expression))))
			}
			if n := len(n.Places) - shownPlaces; n > 0 {
				p.At(4).Para(fmt.Sprintf("and %d more", n))
			}
		}
	}
}

// addOffers adds the flavors and the classes of a release.
func addOffers(p *Page, r *repo.Release, offers *inventory.Offers) {
	if len(offers.Flavors) > 0 {
		p.Heading(4, "Cluster templates")
		p.Table("Flavor", "Command", "ClusterClass", "Must be set", "May be set")
		for _, f := range offers.Flavors {
			command, name := "clusterctl generate cluster NAME --infrastructure "+r.Provider.Name, any("(default)")
			if f.Name != "" {
				command, name = command+" --flavor "+f.Name, Code(f.Name)
			}
			if r.Provider.Type != layouts.Infrastructure { // clusterctl looks for flavors in no other provider
				command = "clusterctl generate cluster NAME --from " + f.File
			}
			p.Row(name, Code(command), codes(f.Classes), codes(f.Required), codes(f.Optional))
		}
	}
	for _, c := range offers.Classes {
		p.Heading(4, "ClusterClass ", Code(c.Name))
		uses := phrase.Only(offers.Flavors, func(f inventory.Flavor) bool { return slices.Contains(f.Classes, c.Name) })
		used := codes(phrase.List(uses, func(f inventory.Flavor) string { return f.File }))
		if len(uses) == 0 {
			used = []any{"no template"}
		}
		p.Para("File: ", Code(c.File), ". Used by: ", used, ".")
		if len(c.Variables) > 0 {
			p.Table("Variable", "Required", "Type", "Default", "Meaning")
		}
		for _, v := range c.Variables {
			required, value := "no", any("")
			if v.Required {
				required = "yes"
			}
			if v.Default != "" {
				value = Code(shorten(v.Default))
			}
			p.Row(Code(v.Name), required, v.Type, value, shorten(v.Meaning))
		}
	}
}

// codes are names with commas between them.
func codes(names []string) []any {
	var out []any
	for i, name := range names {
		if i > 0 {
			out = append(out, ", ")
		}
		out = append(out, Code(name))
	}
	return out
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
		parts = []any{Code(*v.Default)}
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
		return append(parts, "option ", Code(v.Option))
	}
	return append(parts, "argument ", Code(v.Option))
}

// few are the first few of some names.
func few(names []string) []any {
	parts := codes(names[:min(len(names), shownPlaces)])
	if n := len(names) - shownPlaces; n > 0 {
		parts = append(parts, fmt.Sprintf(" and %d more", n))
	}
	return parts
}

// shorten cuts a text that is too long for a line.
func shorten(s string) string { return phrase.Fit(s, 100) }
