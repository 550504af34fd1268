package phrase_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

func TestWords(t *testing.T) {
	abc := strings.Split("abcdefgh", "")
	for got, want := range map[string]string{
		phrase.Count(1, "file"):           "1 file",
		phrase.Count(0, "file"):           "0 files",
		phrase.Count(int64(2), "entry"):   "2 entries",
		phrase.And(nil):                   "",
		phrase.And(abc[:1]):               "a",
		phrase.And(abc[:3]):               "a, b and c",
		phrase.Or(abc[:2]):                "a or b",
		phrase.Few(abc, 3):                "a, b, c and 5 more",
		phrase.Few(abc[:4], 3):            "a, b, c and d",
		phrase.FewOf(abc[:2], 3, 9):       "a, b and 7 more",
		phrase.FewOf(abc[:5], 3, 9):       "a, b, c and 6 more",
		phrase.Visible("a\x1b[1mb\xff\n"): `a\x1b[1mb\xff\n`,
		phrase.Visible("plain é"):         "plain é",
		phrase.DidYouMean("E", abc):       `; did you mean "e"?`,
		phrase.DidYouMean("x", abc):       "",
		phrase.Unknown("command", "lnit", []string{"diff", "init", "lint"}):     `unknown command "lnit"; did you mean "lint"? (known: lint, init and diff)`,
		phrase.Unknown("flag", "fxi", []string{"diff", "fix"}):                  `unknown flag "--fxi"; did you mean "--fix"? (known: --fix and --diff)`,
		phrase.Unknown("file", "a", nil):                                        `unknown file "a": there are none`,
		phrase.DidYouMean("word", abc):                                          "",
		phrase.Cut("äöü", 3):                                                    "äöü",
		phrase.Cut("äöüß", 3):                                                   "äöü…",
		phrase.Cut(strings.Repeat("€", 99), 2):                                  "€€…",
		phrase.And(phrase.Some([]string{" a", "b", " "}, strings.TrimSpace)):    "a and b",
		phrase.And(phrase.Flat([]string{"a b", "", "c"}, strings.Fields)):       "a, b and c",
		phrase.And(phrase.Distinct([]string{"b", "a", "b"})):                    "b and a",
		phrase.And(phrase.DistinctBy([]string{"b", "a", "B"}, strings.ToLower)): "b and a",
		phrase.First(abc, func(s string) bool { return s > "c" }):               "d",
		phrase.First(abc, func(s string) bool { return s > "x" }):               "",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if strings.Join(abc, "") != "abcdefgh" {
		t.Error("a list was changed")
	}
}

func TestNearest(t *testing.T) {
	known := []string{"templates", "metadata", "clusterClasses", "init", "lint", "infrastructure-aws"}
	for word, want := range map[string]string{
		"templats": "templates", "TEMPLATE": "templates", "clusterclass": "clusterClasses", "data": "", "": "", "lnit": "lint", "tint": "lint", "nope": "", "aws": "infrastructure-aws", "ast": "",
		strings.Repeat("m", 100): "",
	} {
		if got := phrase.Nearest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"META006", "META006", 0}, {"META06", "META006", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"lnit", "lint", 1}, {"lnit", "init", 1}, {"abc", "cab", 2}} {
		if got, back := phrase.Distance(tc.a, tc.b), phrase.Distance(tc.b, tc.a); got != tc.want || back != tc.want {
			t.Errorf("%q and %q: %d and %d, want %d", tc.a, tc.b, got, back, tc.want)
		}
	}
	if phrase.Distance(strings.Repeat("a", 1000), "a") < 10 {
		t.Error("a long word is near")
	}
}
