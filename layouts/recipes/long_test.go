package recipes_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
)

// Recipes that multiply what they are made of, or are long, take no longer than their
// length allows: each of these stood still for seconds, or took all memory.
func TestLong(t *testing.T) {
	many := func(text string) string { return strings.Repeat(text, 1<<18/len(text)) }
	for name, files := range map[string]map[string]string{
		"doubled variables of make":  {"Makefile": "A := x\n" + strings.Repeat("A := $(A)$(A)\n", 60) + "release:\n\tcp $(A) out/\n"},
		"variables in variables":     {"Makefile": "A = " + strings.Repeat("x", 60000) + "\nB = " + strings.Repeat("$(A)", 1000) + "\nrelease:\n" + strings.Repeat("\tcp $(B) $(B) out\n", 1000)},
		"a variable that grows":      {"Makefile": many("A += b\n")},
		"one long line":              {"Makefile": many("\\\n")},
		"many copies":                {"Makefile": "release:\n" + many("\tcp a b.yaml\n")},
		"many different copies":      {"hack/a.sh": numbered("cp a$ b$.yaml\n", 10000)},
		"doubled variables of shell": {"hack/a.sh": "a=x\n" + strings.Repeat("a=$a$a\n", 60) + "cp $a b.yaml\n"},
		"braces":                     {"hack/a.sh": "cp " + strings.Repeat("{"+strings.Repeat("a,", 100)+"b}", 4) + " out/\n"},
		"a long word":                {"hack/a.sh": "a=" + strings.Repeat("x", 60000) + "\ncp " + strings.Repeat("$a", 50000) + " b\n"},
		"loops in loops":             {"hack/a.sh": strings.Repeat("for i in 1 2 3 4 5 6 7 8 9; do ", 9) + "cp a b; " + strings.Repeat("done; ", 9)},
		"unread lines":               {"Makefile": "release:\n" + many("\t((\n")},
		"many goals":                 {"Makefile": numbered("a$: b$\n\tmake a$ b$\n", 10000)},
	} {
		fsys := fstest.MapFS{"config/default/kustomization.yaml": {Data: []byte("resources: []\n")}}
		for file, text := range files {
			fsys[file] = &fstest.MapFile{Data: []byte(text)}
		}
		start := time.Now()
		recipes.Read(fsys)
		recipes.Follow(fsys, "")
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}

// A line that may be a build is noted, however many details come before it.
func TestManyUnread(t *testing.T) {
	makefile := "all:\n" + strings.Repeat("\t((\n", 5000) + "\tkustomize build ((\n"
	r := recipes.Read(fstest.MapFS{"Makefile": {Data: []byte(makefile)}})
	if n := len(r.Unread); n == 0 || n > 3000 || r.Unread[n-1].Detail {
		t.Errorf("%d lines are noted, or the last one is not", n)
	}
}

// numbered repeats a text with numbers for $.
func numbered(text string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "$", strings.Repeat("x", i%50)+string(rune('a'+i/50%26))+string(rune('a'+i/1300%26))+string(rune('a'+i/33800%26))))
	}
	return b.String()
}
