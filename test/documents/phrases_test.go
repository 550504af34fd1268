package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forbidden are phrases that make readers stumble, each with what to write
// instead. The text of a page is searched without code.
var forbidden = []struct{ pattern, instead string }{
	{`(is|are|was|were|has|have) no [a-z-]+ (that|which|who|where)`, `say what is wrong: "missing …", "… has no …", "want …, got …"`},
	{`, which (is|are) no\b`, `"want …, got …"`},
	{`[Tt]here (is|are|was|were) no [a-z -]+ (that|which|who)`, `make the thing itself the subject`},
	{`\b[Ss]omebody\b|\b[Ss]omeone else\b`, `name who it is: the user, the maintainer, another process`},
	{`\b[Nn]obody\b|\b[Ww]hoever\b|\bno one\b`, `name who it is`},
	{`without a word`, `"silently"`},
	{`in vain|nothing in vain`, `say what has no effect`},
	{`\bgo(es)? on\b|\bwent on\b`, `"continues", "resumes"`},
	{`\b[Mm]end(s|ed|ing)?\b`, `"fix", "correct"`},
	{`\b(is|are|be|as) said\b|\bsaid to\b|\bsaid once\b`, `"stated", "given", "listed"`},
	{`\bsuch (a|an) [a-z]+ (that|as)\b`, `describe it directly`},
	{`\bbehind (an?|the) [@:=/]|\bis behind\b|\bstands behind\b`, `"after"`},
	{`\blead(s)? to (the|a) (error|failure|refusal)`, `"causes", "fails"`},
	{`\bof its own accord\b`, `say what starts it`},
	{`\bbe it\b`, `"whether … or …"`},
	{`\btake[sn]? [^.|]{0,40}\bfor no\b|\btake[sn]? (it |them )?for\b`, `"treat as"`},
	{`\bby now\b`, `leave it out`},
	{`\bnotes? (pass|and errors|in \d)`, `"info" everywhere, not note or notice`},
	{`(?m)^Clusterctl\b|[.!?] Clusterctl\b`, `"clusterctl" in lower case, or begin another way`},
	{`\bWho (runs|uses|wants|has|reads|looks|publishes)\b`, `"Users who …", "To …"`},
	{`\bdoes not know of\b|\bdoes not tell the case\b`, `"ignores", "does not distinguish"`},
}

// excused are matches that stay, with the reason.
var excused = []struct{ page, text, why string }{
	{"docs/corpus-findings.md", "", "its messages come from the rules, whose own test checks them"},
	{"docs/coverage.md", "", "its statements are rewritten with the rules"},
	{"docs/rules.md", "", "its titles are rewritten with the rules"},
	{"docs/commands.md", "", "the help is rewritten"},
	{"docs/using.md", "", "it is rewritten with the reports"},
}

var code = regexp.MustCompile("(?s)<!--.*?-->|`[^`\n]*`")

func TestPhrases(t *testing.T) {
	for _, f := range forbidden {
		regexp.MustCompile(f.pattern)
	}
	for _, page := range pages(t) {
		name := filepath.ToSlash(strings.TrimPrefix(page, root+"/"))
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range phrases(string(text)) {
			if !slices.ContainsFunc(excused, func(x struct{ page, text, why string }) bool {
				return x.page == name && strings.Contains(p.line, x.text)
			}) {
				t.Errorf("%s:%d: %q reads badly; write %s\n\t%s", name, p.number, p.match, p.instead, p.line)
			}
		}
	}
}

type phrase struct {
	number               int
	match, instead, line string
}

// phrases finds what is forbidden in the text of a page.
func phrases(text string) []phrase {
	blank := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return 'x'
		}, s)
	}
	text = code.ReplaceAllStringFunc(fence.ReplaceAllStringFunc(text, blank), blank)
	var found []phrase
	for i, line := range strings.Split(text, "\n") {
		for _, f := range forbidden {
			if m := regexp.MustCompile(f.pattern).FindString(line); m != "" {
				found = append(found, phrase{i + 1, m, f.instead, strings.TrimSpace(line)})
			}
		}
	}
	return found
}

func TestPhrasesAreFound(t *testing.T) {
	for _, bad := range []string{
		"is %s, which is no %s", "there is no version that fits", "somebody else has to create it", "is dropped without a word",
		"and a second run goes on", "mend what can be mended", "is built from, said once", "takes an empty default for no default",
		"Clusterctl refuses it", "whoever breaks the rule", "Who exports nothing\n\nWho runs it is told",
	} {
		if len(phrases(bad)) == 0 {
			t.Errorf("%q is not found", bad)
		}
	}
	for _, good := range []string{"`goes on` is code", "```\nsomebody\n```\n", "info findings pass", "The recommendation stays."} {
		if found := phrases(good); len(found) > 0 {
			t.Errorf("%q: found %v", good, found)
		}
	}
}
