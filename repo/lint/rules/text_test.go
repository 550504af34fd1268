package rules_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// forbidden are phrasings that readers stumble over, each with what to write
// instead.
var forbidden = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(is|are) no ([^l]|$)`), `"is not a …"`},
	{regexp.MustCompile(`(?i)\bthere (is|are)( no)?\b`), "name what is missing, and where"},
	{regexp.MustCompile(`(?i)\b(some|no|any|every)body\b`), "users, attackers, or who it is"},
	{regexp.MustCompile(`(?i)\bwhoever\b`), "users who …"},
	{regexp.MustCompile(`(^|\. )Who `), "users who …"},
	{regexp.MustCompile(`(?i)\bwithout a word\b`), "silently"},
	{regexp.MustCompile(`(?i)\bin vain\b`), "needlessly, or what happens"},
	{regexp.MustCompile(`(?i)\b(goes|go|went) on\b`), "continues"},
	{regexp.MustCompile(`(?i)\bmend`), "fix"},
	{regexp.MustCompile(`(?i)\bsaid\b`), "listed, named, reported"},
	{regexp.MustCompile(`(?i)\b(is|are|counts?|puts?|stands?) behind\b|\bbehind (a|an|the|it|them)\b`), "after"},
	{regexp.MustCompile(`(?i)\bleads? to\b`), "refers to, names, causes"},
	{regexp.MustCompile(`(?i)\bof its own([.,;]|$)`), "its own …"},
	{regexp.MustCompile(`(?i)\bstands? already\b|\balready stands\b`), "is already"},
	{regexp.MustCompile(`(?i)\bwas probably meant\b`), "did you mean …?"},
	{regexp.MustCompile(`(?i)\bfrom now on\b`), "later"},
	{regexp.MustCompile(`\b(Clusterctl|Kubectl|Cert-manager)\b`), "lower case, also at the beginning of a sentence"},
	{regexp.MustCompile(`(?i)\btakes .* for (a|an|the|no|none)\b`), "treats … as"},
	{regexp.MustCompile(`(?i)\ba (note|notice)\b`), "an info"},
	{regexp.MustCompile(`\bTODO\b`), "the text itself"},
}

// phrasing returns what is wrong with the wording of a text, or "".
func phrasing(text string) string {
	for _, f := range forbidden {
		if found := f.pattern.FindString(text); found != "" {
			return "says " + strings.TrimSpace(found) + "; write " + f.instead
		}
	}
	return ""
}

func TestPhrasing(t *testing.T) {
	for _, bad := range []string{"%s is no name", "there is no rule X", "Clusterctl fails.", "dropped without a word", "Nobody sees it.", "a v behind it", "TODO: a title"} {
		if phrasing(bad) == "" {
			t.Errorf("%q passes", bad)
		}
	}
	for _, good := range []string{"clusterctl move leaves it behind", "the name is not valid", "refused by clusterctl"} {
		if why := phrasing(good); why != "" {
			t.Errorf("%q %s", good, why)
		}
	}
}

var (
	demands = regexp.MustCompile(`\bmust\b`)
	advises = regexp.MustCompile(`\bshould\b`)
)

// TestText holds the texts of the catalogue to its style: titles of errors say
// must, those of warnings should, those of infos neither.
func TestText(t *testing.T) {
	share.SkipInRace(t)
	for _, r := range slices.Concat(rules.Catalogue, checks.Family.Rules) {
		for field, text := range map[string]string{"Title": r.Title, "Why": r.Why, "Fix": r.Fix, "Example": r.Example} {
			if why := phrasing(text); why != "" {
				t.Errorf("%s: %s %s: %q", r.ID, field, why, text)
			}
		}
		must, should := demands.MatchString(r.Title), advises.MatchString(r.Title)
		if must != (r.Severity == lint.Error) || should != (r.Severity == lint.Warning) {
			t.Errorf("%s: the title of an %s: must for errors, should for warnings, neither for infos: %q", r.ID, r.Severity, r.Title)
		}
		if len(r.Title) > 100 {
			t.Errorf("%s: the title has %d characters", r.ID, len(r.Title))
		}
	}
}
