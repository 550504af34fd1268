package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// Family is a group of rules about one thing.
type Family struct {
	// Prefix begins the IDs.
	Prefix string
	// Title says what the rules are about.
	Title string
	Rules []*lint.Rule
}

// Families are sorted by prefix. They must not be changed.
var Families = []Family{
	{"META", "metadata.yaml", metaRules},
	{"NAME", "Names of providers and files", nameRules},
	{"REPO", "The repository: folders, versions, files and URLs", repoRules},
	{"VAR", "Variables in components, templates and classes", varRules},
	{"YAML", "Documents and objects", yamlRules},
}

// All are the rules, sorted by ID. It must not be changed.
var All = slices.Concat(metaRules, nameRules, repoRules, varRules, yamlRules)

// ByID finds a rule by its ID, in any case and also with a dash after the
// family ("meta-006"), or nil.
func ByID(id string) *lint.Rule {
	id = normalize(id)
	i, found := slices.BinarySearchFunc(All, id, func(r *lint.Rule, id string) int { return cmp.Compare(r.ID, id) })
	if !found {
		return nil
	}
	return All[i]
}

func normalize(id string) string { return strings.ToUpper(strings.ReplaceAll(id, "-", "")) }

// Suggest returns the ID of the rule that was probably meant by an unknown ID or
// by the name of a rule, or "".
func Suggest(id string) string {
	if id == "" {
		return ""
	}
	word := normalize(id)
	best, distance := "", 3 // more typing errors than two are no typing error
	for _, r := range All {
		d := min(layouts.Distance(word, r.ID), layouts.Distance(word, normalize(r.Name)))
		if d < distance {
			best, distance = r.ID, d
		}
	}
	return best
}
