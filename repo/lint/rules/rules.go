package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/classes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/components"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/definitions"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/extensions"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/objects"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/repository"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/templates"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/text"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Families are all rules, sorted by the prefix of their IDs. They must not be
// changed.
var Families = slices.SortedFunc(slices.Values(slices.Concat(
	classes.Families, components.Families, definitions.Families,
	extensions.Families, objects.Families, repository.Families, templates.Families, text.Families,
)), func(a, b *lint.Family) int { return cmp.Compare(a.Prefix, b.Prefix) })

// All are the rules that lint.Run applies, sorted by ID, and Catalogue those without a
// check in addition. They must not be changed.
var All, Catalogue = list()

func list() (all, catalogue []*lint.Rule) {
	catalogue = phrase.Flat(Families, func(f *lint.Family) []*lint.Rule { return f.Rules })
	slices.SortFunc(catalogue, func(a, b *lint.Rule) int { return cmp.Compare(a.ID, b.ID) })
	all = phrase.Only(catalogue, func(r *lint.Rule) bool { return r.Check != nil })
	return all, catalogue
}

// FamilyOf returns the prefix of an ID.
func FamilyOf(id string) string { return strings.TrimRight(id, "0123456789") }

// ByID finds a rule by its ID, in any case and also with a dash after the
// family ("meta-006"), or nil.
func ByID(id string) *lint.Rule {
	id = lint.NormalizeID(id)
	i, found := slices.BinarySearchFunc(Catalogue, id, func(r *lint.Rule, id string) int { return cmp.Compare(r.ID, id) })
	if !found {
		return nil
	}
	return Catalogue[i]
}

// Named finds a rule by its ID as ByID does, or by its name, or returns nil.
func Named(word string) *lint.Rule {
	if r := ByID(word); r != nil {
		return r
	}
	i := slices.IndexFunc(Catalogue, func(r *lint.Rule) bool { return strings.EqualFold(r.Name, word) })
	if i < 0 {
		return nil
	}
	return Catalogue[i]
}

// Matching returns the rules of a list that one of the words means: an ID, a name
// or a family such as COMP. The error names the first word that means none.
func Matching(list []*lint.Rule, words []string) ([]*lint.Rule, error) {
	chosen := map[*lint.Rule]bool{}
	for _, word := range words {
		family := strings.ToUpper(strings.TrimRight(strings.TrimSuffix(word, "*"), "-"))
		one, some := Named(word), false
		for _, r := range list {
			if r == one || one == nil && FamilyOf(r.ID) == family {
				chosen[r], some = true, true
			}
		}
		switch {
		case some:
		case one != nil:
			return nil, fmt.Errorf("rule %s does not apply here", one.ID)
		default:
			return nil, Unknown(word)
		}
	}
	return phrase.Only(list, func(r *lint.Rule) bool { return chosen[r] }), nil
}

// Unknown is the error for a word that is neither a rule nor a family. It names the rule
// that was probably meant, and the families.
func Unknown(word string) error {
	families := phrase.List(Families, func(f *lint.Family) string { return f.Prefix })
	return fmt.Errorf("unknown rule or family %q%s (families: %s)", word, DidYouMean(word), strings.Join(families, ", "))
}

// DidYouMean is the end of a message about an unknown rule: the ID of the one that
// was probably meant, by its ID or by its name, or "".
func DidYouMean(word string) string {
	var known []string
	byName := make(map[string]string)
	for _, r := range Catalogue {
		name := lint.NormalizeID(r.Name)
		known, byName[name] = append(known, r.ID, name), r.ID
	}
	near := phrase.Nearest(lint.NormalizeID(word), known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", cmp.Or(byName[near], near))
}
