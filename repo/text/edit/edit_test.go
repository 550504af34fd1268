package edit

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func TestReplace(t *testing.T) {
	for _, tc := range []struct {
		text, old, new, want string
	}{
		{"a: 1 # c\nb: 2\n", "1", "3", "a: 3 # c\nb: 2\n"},
		{"a: ${ B }\nc: ${ B }x\n", "${ B }", "${B}", "a: ${B}\nc: ${B}x\n"},
		{"a: [\n---\nb: ${ B }\n", "${ B }", "${B}", "a: [\n---\nb: ${B}\n"},
		{"a: [${ B }\n", "${ B }", "${C}", "the document cannot be read without its variables"},
		{"a: ${ B }\n", "${ B }", "${C}", "a: ${C}\n"},
		{"a: 1\nb: 2\n", "1\nb", "1\nc", "would also change"},
		{"a: 1\n", "1", "[", "the file would no longer be valid YAML"},
		{"a: 1\n", "1", "1\n---\nb: 1", "the file would have a different number of documents"},
		{"a: &x {b: 1}\nc: *x\n", "1", "2", "the value is used in 2 places"},
		{"a: \"1\"\n", "\"1\"", "1", "a: 1\n"},
	} {
		var splices []Splice
		for at := 0; ; {
			i := strings.Index(tc.text[at:], tc.old)
			if i < 0 {
				break
			}
			splices = append(splices, Splice{at + i, at + i + len(tc.old), tc.new})
			at += i + len(tc.old)
		}
		got, err := Replace(tc.text, splices)
		if err != nil {
			got = err.Error()
		}
		if got != tc.want && (err == nil || !strings.Contains(got, tc.want)) {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestInsert(t *testing.T) {
	with := func(names ...string) *yamldoc.Node {
		var fields []yamldoc.Field
		for _, name := range names {
			fields = append(fields, yamldoc.Field{Name: name, Value: Scalar("1")})
		}
		return yamldoc.NewMap(fields)
	}
	for _, c := range []struct {
		text string
		at   int
		want string
	}{
		{"b: 1\n", 5, "b: 1\nnew: 1\n"},
		{"b: 1", 4, "b: 1\nnew: 1"},
		{"b: 1\r\n", 6, "b: 1\r\nnew: 1\r\n"},
		{"b: 1\r\n# c\n", 6, "the file mixes line endings"},
		{"b: 1\n...\n", 9, "would also change"},
		{"b: 1\nc: 1\n", 5, "would also change c"},
		{"b: [\n", 5, "no longer be valid YAML"},
	} {
		got, err := Insert(c.text, c.at, []string{"new: 1"}, with("b", "new"))
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestDiff(t *testing.T) {
	lines := func(n int, change map[int]string) string {
		var out strings.Builder
		for i := range n {
			if text, ok := change[i]; ok {
				out.WriteString(text)
				continue
			}
			out.WriteString("line " + string(rune('a'+i%26)) + "\n")
		}
		return out.String()
	}
	if got := Diff("f", []byte("a\n"), []byte("a\n")); got != "" {
		t.Errorf("equal: %q", got)
	}
	const oneLine = "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n"
	if got := Diff("f", []byte("a"), []byte("b\n")); got != oneLine {
		t.Errorf("without a line break: %q", got)
	}
	got := Diff("dir/f.yaml", []byte(lines(30, nil)), []byte(lines(30, map[int]string{1: "new\n", 20: "", 29: "line d\nmore"})))
	want := `--- a/dir/f.yaml
+++ b/dir/f.yaml
@@ -1,5 +1,5 @@
 line a
-line b
+new
 line c
 line d
 line e
@@ -18,7 +18,6 @@
 line r
 line s
 line t
-line u
 line v
 line w
 line x
@@ -28,3 +27,4 @@
 line b
 line c
 line d
+more
\ No newline at end of file
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
