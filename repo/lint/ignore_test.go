package lint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func TestIgnores(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"behind a value":       {"a: 1 # clusterctl-repo:ignore X001 why not\nb: 2\n", "X001 1-1 why not"},
		"above a value":        {"a: 1\n# clusterctl-repo:ignore X001,X-002 why\nb: 2\nc: 3\n", "X001,X-002 3-3 why"},
		"above a block":        {"a: 1\n#clusterctl-repo:ignore X001 why\n# more\nb:\n  c: 2\n\n  d: 3\ne: 4\n", "X001 4-7 why"},
		"above a list":         {"a: 1\n# clusterctl-repo:ignore X001 why\nb:\n- 1\n- 2\nc: 3\n", "X001 3-5 why"},
		"above an element":     {"a:\n# clusterctl-repo:ignore X001 why\n- b: 1\n  c: 2\n- d: 3\n", "X001 3-4 why"},
		"behind a key":         {"a: # clusterctl-repo:ignore X001 why\n  b: 1\nc: 2\n", "X001 1-2 why"},
		"above a document":     {"---\n# about it\n# clusterctl-repo:ignore X001 why\na: 1\nb:\n  c: 2\n---\nd: 3\n", "X001 4-6 why"},
		"with line ends of CR": {"a: 1 # clusterctl-repo:ignore X001 why\r\nb: 2\r\n", "X001 1-1 why"},
		"without a reason":     {"a: 1 # clusterctl-repo:ignore X001\n", "X001 1-1 "},
		"without a rule":       {"a: 1 # clusterctl-repo:ignore\n", " 1-1 "},
		"above nothing":        {"a: 1\n# clusterctl-repo:ignore X001 why\n", "X001 2-2 why"},
		"inside a text":        {"a: \"x#clusterctl-repo:ignore X001 why\"\n", ""},
		"inside quotes":        {"a: \"x # clusterctl-repo:ignore X001 why\"\n", ""},
		"inside single quotes": {"- {a: 'it''s # clusterctl-repo:ignore X001 why'}\n", ""},
		"behind quotes":        {"a: \"x # y\" # clusterctl-repo:ignore X001 why\n", "X001 1-1 why"},
		"behind an apostrophe": {"a: it's # clusterctl-repo:ignore X001 why\n", "X001 1-1 why"},
		"behind an escape":     {"a: \"\\\"\" # clusterctl-repo:ignore X001 why\n", "X001 1-1 why"},
		"behind no escape":     {"a: 'x\\' # clusterctl-repo:ignore X001 why\n", "X001 1-1 why"},
		"behind two comments":  {"a: 1\t# it's 'x # clusterctl-repo:ignore X001 why\n", "X001 1-1 why"},
		"in a comment":         {"# say 'x # clusterctl-repo:ignore X001 why\na: 1\nb: 2\n", "X001 1-1 why"},
		"above the first":      {"# clusterctl-repo:ignore X001 why\na: 1\nb: 2\n", "X001 2-4 why"},
		"behind a sharp":       {"a#b: 'x # clusterctl-repo:ignore X001 why'\n", ""},
		"without a blank":      {"x# clusterctl-repo:ignore X001 why\n", ""},
		"inside escapes":       {"a: \"\\\" # clusterctl-repo:ignore X001 why\"\n", ""},
		"behind a word":        {"k 'x # clusterctl-repo:ignore X001 why'\n", ""},
		"above blanks":         {"a: 1\n# clusterctl-repo:ignore X001 why\n  \n  # x\nb: 2\n", "X001 5-5 why"},
		"without a sharp":      {"a: clusterctl-repo:ignore X001\n", ""},
	} {
		var got []string
		for _, i := range lint.Ignores(yamldoc.NewFile("x.yaml", []byte(tc.text))) {
			got = append(got, fmt.Sprintf("%s %d-%d %s", strings.Join(i.Rules, ","), i.First, i.Last, i.Reason))
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func FuzzIgnores(f *testing.F) {
	f.Add("---\n# clusterctl-repo:ignore X001 why\na:\n- b # clusterctl-repo:ignore Y\n")
	f.Add("#clusterctl-repo:ignore")
	f.Fuzz(func(t *testing.T, text string) {
		file := yamldoc.NewFile("x", []byte(text))
		for _, i := range lint.Ignores(file) {
			if i.First < 1 || i.Last < i.First || i.Last > strings.Count(text, "\n")+1 {
				t.Errorf("lines %d to %d", i.First, i.Last)
			}
		}
	})
}

func TestSuppressedFindings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			"kind: A # clusterctl-repo:ignore TEST001 it is known\n---\nkind: B # clusterctl-repo:ignore TEST001\n",
			"3 [1 it is known]",
		},
		{
			"x: y\n# clusterctl-repo:ignore TEST001 a\nb:\n  c: 1\n  # clusterctl-repo:ignore TEST001 d\n  e: 2\n" +
				"  f: 3\ng: h\n",
			"1 8 [4 a] [6 a] [7 a]",
		},
	} {
		files := map[string]string{"cluster-template.yaml": c.text}
		r := run(t, repository(files), lint.Options{Rules: []*lint.Rule{everyNode}})
		got := ""
		for _, f := range r.Findings {
			got += fmt.Sprint(f.Pos.Line, " ")
		}
		for _, s := range r.Suppressed {
			got += fmt.Sprintf("[%d %s] ", s.Pos.Line, s.Reason)
			if s.Fingerprint == "" {
				t.Errorf("%+v has no fingerprint", s)
			}
		}
		if got = strings.TrimSpace(got); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestFingerprintsSurviveLineNumbersInMessages(t *testing.T) {
	at := func(line int) string {
		rule := &lint.Rule{ID: "TEST003", Severity: lint.Info, Scope: lint.ScopeRepository, Check: func(p *lint.Pass) {
			p.Path("x", "stands already on line %d, and again", line)
		}}
		return run(t, repository(nil), lint.Options{Rules: []*lint.Rule{rule}}).Findings[0].Fingerprint
	}
	if at(7) != at(123) {
		t.Error("the fingerprint depends on the number of a line")
	}
}

func TestIgnoreNamesSeveralRules(t *testing.T) {
	for text, want := range map[string]string{
		"A1,B2 reason":       "A1 B2|reason",
		"A1, B2 reason":      "A1 B2|reason",
		"A1 , B2 ,C3 a, b":   "A1 B2 C3|a, b",
		"A1":                 "A1|",
		"A1 it is, well, ok": "A1|it is, well, ok",
		"":                   "|",
		", A1 why":           "A1|why",
	} {
		ignores := lint.Ignores(yamldoc.NewFile("x.yaml", []byte("# clusterctl-repo:ignore "+text+"\na: 1\n")))
		if len(ignores) != 1 {
			t.Fatalf("%q: %d comments", text, len(ignores))
		}
		if got := strings.Join(ignores[0].Rules, " ") + "|" + ignores[0].Reason; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Very many comments, all about one value or each about its own, take time that
// grows with their number only: 100,000 are read in far less than two seconds.
func TestManyIgnores(t *testing.T) {
	const n = 100_000
	comment := "# clusterctl-repo:ignore A1 reason\n"
	for name, text := range map[string]string{
		"before one value":  "a: 1\n" + strings.Repeat(comment, n) + "b: 1\n",
		"before a document": strings.Repeat(comment, n) + strings.Repeat("b: 1\n", 1000),
		"behind values":     strings.Repeat("a: 1 "+comment, n),
	} {
		start := time.Now()
		if got := len(lint.Ignores(yamldoc.NewFile("x.yaml", []byte(text)))); got != n {
			t.Errorf("%s: %d comments", name, got)
		}
		if took := time.Since(start); took > 20*time.Second { // quadratic work takes minutes
			t.Errorf("%s: %s", name, took)
		}
	}
}
