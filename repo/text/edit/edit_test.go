package edit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// roots are the folders of real manifests, if they are there.
func corpus(t *testing.T) []string {
	var out []string
	filepath.WalkDir(share.Corpus(t, ""), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && (strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")) {
			out = append(out, path)
		}
		return nil
	})
	return out
}

func TestTextStaysTheSame(t *testing.T) {
	for name, text := range map[string]string{
		"empty":      "",
		"comments":   "# a\n\n# b\n",
		"mapping":    "# head\na: 1 # one\n\n# two\nb:\n  c: 'x: y' # q\n  # tail of b\n# before d\nd: {e: f, g: [1, 2]}\n",
		"lists":      "a:\n- b: 1\n  c: 2\n- # note\n  d: 3\n-\n  e: 4\nf:\n  - - 1\n    - 2\n  - g\n",
		"blocks":     "a: |\n  x: 1\n\n    # no comment\n  y\n\nb: >-\n  text\nc: |+\n  kept\n\n\n",
		"last":       "a: |\n  x",
		"vars":       "a: ${A:=1}\nb: \"${B}\"\n${C:-}\nd:\n  ${D}\n  e: ${E:='x: y'}\n",
		"goes on":    "a: one\n  two\n  three # c\nb: \"x\n  y\" # d\nc: {a: 1,\n  b: 2}\nd: 1\n",
		"below":      "a:\n  # c\n  text\nb:\n  {a: 1}\n",
		"props":      "a: &x\n  b: 1\nc: *x\nd: !!str 1\n",
		"json":       "{\"a\": [1, {\"b\": null}]}\n",
		"go":         "a:\n  {{- if .x }}\n  b: {{ .y }}\n  {{- end }}\n",
		"null":       "a:\nb: ~\nc:\n  - \n  -\n",
		"over lines": "a: 1\n${B:=x\n\ny}\nb: &c   !!str d\ne: 0{{ 9 }}\n",
		"windows":    "---\na: 1\n...\n",
	} {
		d, err := Parse(text, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d.Root.Walk(func(e *Entry) bool { e.Value.IsMap(); return true })
		if got := d.String(); got != text {
			t.Errorf("%s:\n%q, want\n%q", name, got, text)
		}
	}
}

// The text of every real file comes out as it went in.
func TestCorpusStaysTheSame(t *testing.T) {
	read, refused := 0, 0
	for _, name := range corpus(t) {
		data, err := os.ReadFile(name)
		if err != nil || len(data) > 1<<20 || strings.Contains(string(data), "\r") {
			continue
		}
		for _, text := range Split(string(data)) {
			d, err := Parse(text, 0)
			if err != nil {
				refused++
				t.Logf("%s: %v", name, err)
				continue
			}
			read++
			d.Root.Walk(func(e *Entry) bool { e.Value.IsMap(); return true })
			if d.String() != text {
				t.Errorf("%s changes", name)
				break
			}
		}
	}
	t.Logf("%d documents read, %d refused", read, refused)
	if refused*50 > read {
		t.Errorf("%d of %d documents are refused", refused, read)
	}
}

// everything has each form in which values are written.
const everything = `# head
---
# about
kind: K # c
metadata: {name: a, labels: {x: "1", z: 'b c'}, l: [a, "*b", {c: d!}]}
spec: # c0
  # first
  strategy: {type: T, more: {n: 1}}
  text: one
    two

    three # end
  q: "a
    b"

  # about files
  files:
  - path: /a
    # inside
    append: false
    content: |
      x: y

      # no comment
    # deeper
  - # note
    path: ${P:=/b}
  - - 1
    - {a: b}
  -
    e: >-
      folded

  list:
    - a
    # in between
    - "b"
  timeout: ${D:=10m} # d
  ${LINES}
  empty:
  nil: ~
  below:
    text
  flow: [a,
    b]
# last
`

// Whatever is edited, the text means what it meant but for that, and keeps its
// comments. The values are followed here without the tree.
func TestNothingElseChanges(t *testing.T) {
	type place struct {
		e    *Entry
		path []any
	}
	var below func(n *Node, path []any, out *[]place)
	below = func(n *Node, path []any, out *[]place) {
		if !n.IsMap() && !n.IsList() {
			return
		}
		for i, e := range n.Entries {
			here := append(path[:len(path):len(path)], any(e.Name))
			if n.Kind == List {
				here[len(path)] = i
			}
			*out = append(*out, place{e, here})
			below(e.Value, here, out)
		}
	}
	value := func(text string) any {
		s := yamldoc.Parse(yamldoc.NewFile("", mask(text)))
		if len(s.Docs) != 1 || s.Docs[0].Err != nil {
			t.Fatalf("not one document:\n%s", text)
		}
		return s.Docs[0].Root.Value()
	}
	// replaced is a value with something else at a path: nothing, or under another name.
	var replaced func(v any, path []any, with func(old any) (name string, value any, there bool)) any
	replaced = func(v any, path []any, with func(old any) (string, any, bool)) any {
		switch v := v.(type) {
		case map[string]any:
			key := path[0].(string)
			if len(path) > 1 {
				v[key] = replaced(v[key], path[1:], with)
				return v
			}
			name, now, there := with(v[key])
			delete(v, key)
			if there {
				v[cmp.Or(name, key)] = now
			}
			return v
		case []any:
			i := path[0].(int)
			if len(path) > 1 {
				v[i] = replaced(v[i], path[1:], with)
			} else if _, now, there := with(v[i]); there {
				v[i] = now
			} else {
				v = slices.Delete(v, i, i+1)
			}
			return v
		}
		t.Fatalf("nothing at %v", path)
		return nil
	}
	scalars := map[string]any{"5": 5., `"5"`: "5", "plain": "plain", "true": true, "|\n          two\n          lines": "two\nlines\n", "{a: 1}": map[string]any{"a": 1.}}
	for seed := range share.Of(150, 3_000) {
		r := rand.New(rand.NewSource(int64(seed)))
		text := everything
		for step := range 3 {
			d, err := Parse(text, 0)
			if err != nil {
				t.Fatalf("seed %d: %v in\n%s", seed, err, text)
			}
			var all []place
			below(d.Root, nil, &all)
			p := all[r.Intn(len(all))]
			want, what := value(text), ""
			named := p.e.Owner().Kind == Map
			switch op := r.Intn(3); {
			case op == 0 && named:
				name := fmt.Sprintf("new%d", step)
				want, what = replaced(want, p.path, func(old any) (string, any, bool) { return name, old, true }), "rename"
				p.e.Rename(name)
			case op == 1 && len(p.e.Owner().Entries) > 1:
				want, what = replaced(want, p.path, func(any) (string, any, bool) { return "", nil, false }), "remove"
				p.e.Owner().Remove(p.e)
			default:
				raw := slices.Sorted(maps.Keys(scalars))[r.Intn(len(scalars))]
				if inFlow := p.e.Owner().Flow; inFlow && strings.Contains(raw, "\n") || p.e.Value.Kind != Leaf && !p.e.Value.Flow {
					continue
				}
				want, what = replaced(want, p.path, func(any) (string, any, bool) { return "", scalars[raw], true }), "set "+raw
				p.e.Value.SetRaw(raw)
			}
			out, err := d.Result()
			if err != nil {
				t.Fatalf("seed %d: %s of %v: %v in\n%s", seed, what, p.path, err, text)
			}
			if got := value(out); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %s of %v: (-want +got)\n%s\nfrom\n%s", seed, what, p.path, gocmp.Diff(want, got), text)
			}
			for _, c := range []string{"# head", "# about\n", "# c\n", "# c0", "# first", "# about files", "# note", "# in between", "# last", "# d\n"} {
				if strings.Count(out, c) != 1 {
					t.Fatalf("seed %d: %s of %v loses %q:\n%s", seed, what, p.path, c, out)
				}
			}
			text = out
		}
	}
}

func TestRemoveKeepsComments(t *testing.T) {
	for _, text := range []string{"a: b # why\nc: d\n", "a: | # why\n  # b\nc: d\n", "a: >- # why\n  b\nc: d\n", "a:\n  # why\n  b: c\nc: d\n"} {
		d := given.Value(Parse(text, 0))(t)
		d.Root.Remove(d.Root.Get("a"))
		if got := strings.TrimSpace(d.String()); got != "# why\nc: d" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// The last entry of a map leaves its comments to what holds the map.
func TestRemoveTheLastEntry(t *testing.T) {
	d := given.Value(Parse("x:\n  # why\n  a: b\nc: d\n", 0))(t)
	x := d.Root.Get("x").Value
	x.Remove(x.Get("a"))
	if got := d.String(); got != "x: {}\n  # why\nc: d\n" {
		t.Errorf("%q", got)
	}
}

func TestNewValuesHaveTheStyleOfTheirOwner(t *testing.T) {
	for text, want := range map[string]string{
		"x: {a: b}\n":  "x: {a: b, m: {c: d}, l: [e]}\n",
		"x:\n  a: b\n": "x:\n  a: b\n  m:\n    c: d\n  l:\n  - e\n",
	} {
		doc := given.Value(Parse(text, 0))(t)
		x := doc.Root.Get("x").Value
		if !x.IsMap() {
			t.Fatalf("%q holds no map", text)
		}
		m, l := NewMap(x), NewList(x, 0)
		for _, e := range []*Entry{NewEntry("m", m), NewEntry("l", l)} {
			x.Insert(len(x.Entries), e)
		}
		m.Insert(0, NewEntry("c", NewLeaf("d")))
		l.Insert(0, NewItem(NewLeaf("e")))
		if got := doc.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What was not meant does not get through.
func TestResult(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		edit func(root *Node)
		want string
	}{
		"another value":  {"a: 1\nb: 2\n", func(n *Node) { n.Get("a").Value.SetRaw("1\nc: 2") }, "would also change"},
		"not a value":    {"a: 1\n", func(n *Node) { n.Get("a").Value.SetRaw("[") }, "could not be edited again"},
		"through alias":  {"a: &x 1\nb: *x\n", func(n *Node) { n.Get("a").Value.SetRaw("&x 2") }, "would also change b"},
		"through merge":  {"a: &x\n  c: 1\nb:\n  <<: *x\n", func(n *Node) { n.At("a", "c").Value.SetRaw("2") }, "would also change b.c"},
		"an old key":     {"a: 1\nb: 2\n", func(n *Node) { n.Get("a").Rename("b") }, "occurs twice"},
		"lost by indent": {"a:\n  b: |2\n     x\nc: 1\n", func(n *Node) { n.At("a", "b").Value.Shift(2) }, "would also change a.b"},
	} {
		d, err := Parse(tc.text, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tc.edit(d.Root)
		if out, err := d.Result(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q:\n%s", name, err, tc.want, out)
		}
	}
}

func TestOperations(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		edit func(root *Node)
		want string
	}{
		"shift": {
			"a:\n  # b\n  b:\n  - c: |\n      d\n\n      e\n  # f\ng: h\n",
			func(n *Node) { n.Get("a").Value.Indented(4) },
			"a:\n    # b\n    b:\n    - c: |\n        d\n\n        e\n    # f\ng: h\n",
		},
		"shift back": {
			"a:\n    # b\n    b:\n  # c\n      d: e\nf: g\n", func(n *Node) { n.Get("a").Value.Indented(1) },
			"a:\n # b\n b:\n# c\n   d: e\nf: g\n",
		},
		"note": {
			"a: {b: [{c: d}]}\ne:\n  f: g\n", func(n *Node) {
				for range 2 {
					n.At("a", "b").Value.Entries[0].Value.Get("c").Note("x")
					n.At("e", "f").Note("y")
				}
			}, "# x\na: {b: [{c: d}]}\ne:\n  # y\n  f: g\n",
		},
		"unflow": {
			"a: {b: {c: d}, e: 1}\n", func(n *Node) {
				n.At("a", "b", "c")
				n.At("a", "b").Value.Unflow()
				n.Get("a").Value.Get("e").Value.Unflow()
			}, "a:\n  b:\n    c: d\n  e: 1\n",
		},
		"rename": {
			"\"a\": 1\n'b': {\"c\": d}\ne: f\n", func(n *Node) {
				for _, e := range []*Entry{n.At("b", "c"), n.Get("a"), n.Get("b"), n.Get("e")} {
					e.Rename(e.Name + "z")
				}
			}, "\"az\": 1\n'bz': {\"cz\": d}\nez: f\n",
		},
		"clone": {
			"a:\n  # x\n  b: [1]\nc: d\n", func(n *Node) {
				c := n.Get("a").Value.Clone()
				c.Get("b").Lead[0] = "  # y"
				c.Get("b").Value.SetRaw("2")
				n.Insert(1, NewEntry("z", c))
				n.Add("e", "f")
			}, "a:\n  # x\n  b: [1]\nz:\n  # y\n  b: 2\nc: d\ne: f\n",
		},
		"remove": {
			"a: {b: 1, c: [2, 3]}\nd:\n- e # x\n- f\n# y\ng: h\n", func(n *Node) {
				a, l := n.Get("a").Value, n.Get("d").Value
				a.Remove(a.Get("b"))
				a.Get("c").Value.IsList()
				a.Get("c").Value.Remove(a.Get("c").Value.Entries[1])
				l.Remove(l.Entries[0])
				n.Remove(n.Get("g"))
			}, "a: {c: [2]}\nd:\n# x\n- f\n# y\n",
		},
	} {
		d := given.Value(Parse(tc.text, 0))(t)
		tc.edit(d.Root)
		if got := d.String(); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tc.want)
		}
	}
}

// TestAsked is about what callers ask of values.
func TestAsked(t *testing.T) {
	n := given.Value(Parse("a: {}\nb: []\nc: ~\nd: null\ne: 'it''s'\nf: \"a\\\"\\tb\"\ng: x\nh: [1]\n"+
		"i:\n  # c\n  ${X}\n  j: 1\nk:\n  l: 1\n", 0))(t).Root
	got := ""
	for _, e := range n.Entries {
		v := e.Value
		asked := fmt.Sprint(v.IsMap(), v.IsList(), v.Empty(), v.BlockVariables())
		got += fmt.Sprintf("%s %s %q\n", e.Name, asked, n.Text(e.Name))
	}
	const want = `a true false true false ""
b false true true false ""
c false false true false "~"
d false false true false "null"
e false false false false "it's"
f false false false false "a\"\tb"
g false false false false "x"
h false true false false ""
i true false false true ""
k true false false false ""
`
	for text, want := range map[string]bool{"a: &x 1\n": true, "a: &x 1\nb: *x\n": true, "a: x\n": false} {
		if d := given.Value(Parse(text, 0))(t); d.Anchors != want {
			t.Errorf("%q: anchors %v", text, d.Anchors)
		}
	}
	var none *Node
	if got != want || none.IsMap() || none.IsList() || n.Text("x") != "" || n.At("a", "b") != nil || n.Parent() != nil {
		t.Errorf("got\n%s", got)
	}
}

// TestRefused names the line of what cannot be edited.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [\n":      "9",
		"a: 1\n---\nb: 2\n": "7", "a: 1\n? b\n: c\n": "8", "? [a]\n: b\n": "7",
	} {
		d, err := Parse(text, 6)
		var e *Error
		if !errors.As(err, &e) || fmt.Sprint(e.Line) != want {
			t.Errorf("%q: %v, %+v, want line %s", text, d, e, want)
		}
	}
}

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

func TestRewrite(t *testing.T) {
	for text, want := range map[string]string{
		"# a\n---\nb:\n  c: 1\n  # d\n# e\n---\nf: 1\n": "# a\n---\nb:\n  c: 1\n  # d\nnew: x\n# e\n---\nf: 1\n",
		"b: 1\r\nc: 2":      "b: 1\r\nc: 2\r\nnew: x",
		"b: 1\r\nc: 2\n":    "the file mixes line endings",
		"b: [\n---\nc: 1\n": "line 2: not YAML: while parsing a flow node: did not find expected node content",
		"# nothing\n":       "# nothing\n",
	} {
		got, err := Rewrite(text, func(d *Document) error {
			d.Root.Add("new", "x")
			return nil
		})
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
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
