package lint_test

import (
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

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
