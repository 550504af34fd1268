package documents

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
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
	{`(^|[^A-Za-z])([A-Za-su-z%"][^ ]*|t[a-gi-z][^ ]*) (is|are|was|were) no ([a-km-z]|l[a-np-z])`, `"is not a …"`},
	{`\bfor ever\b`, `"forever", "never recovers"`},
	{`\b(made|written|writes [a-z]+|built|adds [a-z]+|read) anew\b|\banew[,.;]`, `"rewritten", "rebuilt", "again"`},
	{`\bpassed over\b|\bpass(es)? over\b`, `"skipped"`},
	{`\bas everywhere\b`, `"as in the other commands"`},
	{`\bset(s|ting)? (it|them|[a-zA-Z.]+Ini[a-z]+|[a-z.]+) back\b`, `"reset"`},
	{`\bsilences? (nothing|no|a|an|the|it|this|what|errors|warnings)\b|\bsilenced\b|\bcan be silenced\b`, `"suppress"`},
	{`\bbeside (the|a|an|it|them|its|what|that|running|other)\b`, `"next to", "alongside", "besides"`},
	{`\b(is|are|was|were) told by\b|\bcalls its\b|\bhas against\b`, `"recognised by", or say it directly`},
	{`\b(is|are|was|were) no part of\b`, `"is not in", "does not belong to"`},
	{`\bany more\b`, `"no longer", "anymore"`},
	{`\b(in|out)side of\b`, `"inside", "outside"`},
	{`\banother [a-z]+ than\b`, `"a different … than"`},
	{`\btyping error\b`, `"typo", "is misspelled"`},
	{`\b(has|have|is|are) not begun\b`, `"has not started"`},
	{`\blinks? that leads? nowhere\b|\bthe link leads nowhere\b`, `"is a broken link"`},
	{`\bmatter of chance\b`, `"depends on chance"`},
	{`^(note|notice): `, `"info: "`},
}

var code = regexp.MustCompile("(?s)<!--.*?-->|`[^`\n]*`")

var patterns = sync.OnceValue(func() (all []*regexp.Regexp) {
	for _, f := range forbidden {
		all = append(all, regexp.MustCompile(f.pattern))
	}
	return all
})

// anyOf matches what one of the patterns matches, which few lines do.
var anyOf = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for _, f := range forbidden {
		all = append(all, "(?:"+f.pattern+")")
	}
	return regexp.MustCompile(strings.Join(all, "|"))
})

func TestPhrases(t *testing.T) {
	for _, page := range pages(t) {
		name := filepath.ToSlash(strings.TrimPrefix(page, root+"/"))
		text := given.Read(t, page)
		for _, p := range phrases(string(text)) {
			t.Errorf("%s:%d: %q reads badly; write %s\n\t%s", name, p.number, p.match, p.instead, p.line)
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
		if !anyOf().MatchString(line) {
			continue
		}
		for k, f := range forbidden {
			if m := patterns()[k].FindString(line); m != "" {
				found = append(found, phrase{i + 1, m, f.instead, strings.TrimSpace(line)})
			}
		}
	}
	return found
}

// TestPhrasesOfCode reads what people meet outside the pages: the strings of the program,
// the comments of exported names, and the expected outputs of tests.
func TestPhrasesOfCode(t *testing.T) {
	strs, comments := 0, 0
	check := func(at, text string) {
		for _, p := range phrases(text) {
			t.Errorf("%s: %q reads badly; write %s\n\t%s", at, p.match, p.instead, p.line)
		}
	}
	for _, top := range []string{"cmd", "repo", "publish", "layouts", "transform"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
				return err
			}
			golden := strings.Contains(name, "/testdata/") && strings.Contains(filepath.Base(name), "findings.")
			if golden || strings.Contains(name, "/rules/examples/") && filepath.Ext(name) == ".txtar" {
				text, err := os.ReadFile(name)
				prose, _, _ := strings.Cut(string(text), "\n-- ")
				check(name, prose)
				return err
			}
			if filepath.Ext(name) != ".go" || strings.Contains(name, "/testdata/") {
				return nil
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			documented := func(at token.Pos, c *ast.CommentGroup, exported bool) {
				if c != nil && exported {
					comments++
					check(set.Position(at).String(), c.Text())
				}
			}
			documented(f.Package, f.Doc, true)
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.Contains(text, " ") {
						strs++
						check(set.Position(n.Pos()).String(), text)
					}
				case *ast.FuncDecl:
					documented(n.Pos(), n.Doc, n.Name.IsExported())
				case *ast.GenDecl:
					documented(n.Pos(), n.Doc, true)
				case *ast.TypeSpec:
					documented(n.Pos(), n.Doc, n.Name.IsExported())
				}
				return true
			})
			return nil
		})
		given.NoError(t, err)
	}
	if strs < 5000 || comments < 2000 {
		t.Errorf("read only %d strings and %d comments", strs, comments)
	}
}

func TestPhrasesAreFound(t *testing.T) {
	for _, bad := range []string{
		"is %s, which is no %s", "there is no version that fits", "somebody else has to create it", "is dropped without a word",
		"and a second run goes on", "mend what can be mended", "is built from, said once", "takes an empty default for no default",
		"Clusterctl refuses it", "whoever breaks the rule", "it is no part of it", "it is not used any more", "inside of a value", "work has not begun", "a matter of chance", "is a link that leads nowhere", "stays outside of the tree", "another text than was read", "Who exports nothing\n\nWho runs it is told",
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
