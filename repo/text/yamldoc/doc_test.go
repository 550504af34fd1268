package yamldoc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	apiyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// traps are documents whose reading by clusterctl is easy to get wrong.
var traps = []string{
	"a: 1\n", "a: 1", "a: |\n  x", "a: |\n  x\n", "a: |+\n  x\n\n", "a: >-\n  x\n  y\n",
	"a: yes\nb: No\nc: on\ny: z\nn: 1\n", "a: 'yes'\n", "a: !!str yes\n", "a: !!int \"3\"\n", "a: !!int x\n", "a: !!float 3\n", "a: !!bool yes\n", "a: !!null ''\n",
	"a: 0777\nb: 0o777\nc: 0x1F\nd: 0b11\ne: 1_000\nf: -0b11\ng: +5\nh: 0b-11\n0b+1: 0b_+1\ni: -0b+1\nj: 0x+1\n", "a: 1.0\nb: 1.10\nc: 1e3\nd: .5\ne: 5.\nf: 1e21\ng: -.5\n",
	"a: 9007199254740993\nb: 12345678901234567890\nc: 123456789012345678901234567890\n",
	"a: .inf\n", "a: .nan\n", ".inf: a\n", "1.5: a\n1: b\ntrue: c\n", "~: a\n", "? [a]\n: b\n", "? {a: b}\n: c\n",
	"a: 2001-01-01\nb: 2001-01-01T00:00:00Z\nc: 1:30\nd: 2001-99-99\n", "a: !!timestamp 2001-01-01\n", "a: !!binary aGk=\n", "a: !!binary x!\n", "a: !foo bar\n", "a: ! 5\n",
	"a: 1\na: 2\n", "a: {b: 1, b: 2}\n", "x: &a {k: 1}\ny: *a\n", "x: &a {k: 1}\ny: {<<: *a, k: 2}\n", "x: &a {k: 1}\ny: {k: 2, <<: *a}\n",
	"x: &a {k: 1}\nz: &b {k: 2, m: 3}\ny: {<<: [*a, *b]}\n", "y: {<<: 1}\n", "y: {'<<': 1}\n", "y: *nope\n", "x: &a [*a]\n", "&k a: b\n*k : c\n",
	strings.Repeat("k", 1024) + ": v\n", strings.Repeat("k", 1025) + ": v\n", strings.Repeat("k", 1025) + ":\n  a: b\n", "a: {" + strings.Repeat("k", 1025) + ": v}\n", "k" + strings.Repeat(" ", 1025) + ":\n- a\n", "\"" + strings.Repeat(`\U0001F600`, 110) + "\": v\n",
	"- a\n", "foo\n", "", "\n", "# c\n", "null\n", "~\n", "[]\n", "{}\n", "a:\n", "a: [\n", "a: b: c\n", "\ta: 1\n", "a:\n\tb: 1\n", "a: \"\\q\"\n", "%YAML 1.1\n---\na: 1\n",
	"---\na: 1\n---\nb: 2\n", "--- \na: 1\n", "--- # c\na: 1\n", "--- {a: 1}\n", "---foo\n", "a: 1\n---", "a: 1\n--- x", "a: 1\n...\nb: 2\n", "a: 1\n---\n---\nb: 2\n", "a: |\n  x\n  ---\n  y\n", "a: \"x\n---\ny\"\n",
	"\ufeffa: 1\n", "\ufeff---\na: 1\n", "a: 1\n---\n\ufeffb: 2\n", "a: 1\r\nb: |\r\n  x\r\n  y\r\n---\r\nc: 1\r\n", "a: \xff\n", "a: \x00b\n", "a: \x01\n", "a: '\u0085'\n", "a: \u2028b\n",
	"a: ${X}\n", "a: [${X}]\n", "a: {${X}}\n", "a: @x\n", "a: `x\n", "a: %x\n", "a: *\n", "a: &\n", "a: !\n", "a: |x\n", "a: 'it''s'\n", "a: \"\\u00e9\\n\\x41\"\n",
	"{name: s,:- x}\n", "a: [s,:- x]\n", "a: {b: ::1}\n", "a: {:b: c}\n", "a: [-]\n", "a: [- x]\n", "a: {b: c\u2028\t\n}\n", "a: [b:,c]\n", "a: [\"b\":c]\n", "a: {\"b\":c}\n",
	"\r...\na: 1\n", "\u0085...\u0085a: b\n", "a: \"b\r\r\n  c\"\n", "a:\n-\t\n", "a:\n? \t\n  b\n", "a: 1\n: \tb\n", "a:\tb\n", "- a:\tb\n",
	"...\na: 1\n", "a: 1\n... \nb: 2\n", "...", "a: ...\n", "...a: 1\n",
	"a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n",
	"a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n",
	"a: &a {k: 1}\nb: &b {<<: [*a,*a,*a,*a,*a,*a,*a,*a,*a]}\nc: &c {<<: [*b,*b,*b,*b,*b,*b,*b,*b,*b]}\nd: &d {<<: [*c,*c,*c,*c,*c,*c,*c,*c,*c]}\ne: &e {<<: [*d,*d,*d,*d,*d,*d,*d,*d,*d]}\nf: {<<: [*e,*e,*e,*e,*e,*e,*e,*e,*e]}\n",
}

// reference reads a file as clusterctl's util/yaml.ToUnstructured does.
func reference(t *testing.T, data []byte) ([]map[string]any, error) {
	r := apiyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var out []map[string]any
	for {
		b, err := r.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if len(b) == 0 {
			return out, nil
		}
		var m map[string]any
		err = yaml.Unmarshal(b, &m)
		fast, fastErr := ToMap(string(b))
		twice := bytes.Contains(b, []byte("\r\n")) // the reader has changed line ends, and ToMap does
		if !twice && (fmt.Sprint(err) != fmt.Sprint(fastErr) || err == nil && !reflect.DeepEqual(m, fast)) {
			t.Errorf("ToMap of %.300q: %.2000v, %v; want %.2000v, %v", b, fast, fastErr, m, err)
		}
		if err != nil {
			return out, fmt.Errorf("document %d: %w", len(out)+1, err)
		}
		if m != nil {
			out = append(out, m)
		}
	}
}

// ours reads the same file through Parse.
func ours(data []byte) ([]map[string]any, error) {
	s := Parse(NewFile("f.yaml", data))
	var out []map[string]any
	for _, d := range s.Docs {
		if d.Err != nil {
			return out, d.Err
		}
		locate(d, d.Root)
		m, ok := d.Root.Value().(map[string]any)
		if !ok {
			return out, fmt.Errorf("document %d is a %s", len(out)+1, d.Root.Kind)
		}
		out = append(out, m)
	}
	if s.Err != nil {
		return out, s.Err
	}
	return out, nil
}

// locate asks for the position of every value: none must crash. Values behind
// aliases are asked for once.
func locate(d *Document, n *Node) {
	seen := map[*Node]bool{}
	var walk func(n *Node)
	walk = func(n *Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		d.Pos(n)
		d.End(n)
		d.Offsets(n)
		for _, f := range n.Fields() {
			walk(f.Key())
			walk(f.Value)
		}
		for _, item := range n.List() {
			walk(item)
		}
	}
	walk(n)
}

func compare(t *testing.T, data []byte) {
	t.Helper()
	want, wantErr := reference(t, data)
	got, gotErr := ours(data)
	if (wantErr == nil) != (gotErr == nil) {
		t.Errorf("%.300q:\n clusterctl's reading: %v\n ours: %v", data, wantErr, gotErr)
		return
	}
	// DeepEqual, because a diff of deeply nested lists takes for ever.
	if wantErr == nil && !reflect.DeepEqual(want, got) {
		t.Errorf("%.300q: values differ:\n clusterctl %.2000v\n ours       %.2000v", data, want, got)
	}
}

func TestReadsWhatClusterctlReads(t *testing.T) {
	for _, s := range traps {
		compare(t, []byte(s))
	}
}

// flowPieces and blockPieces are what the made-up documents of TestPieces consist
// of: all that a YAML scanner looks at, where the parsers differ.
var (
	flowPieces = []string{
		"{", "}", "[", "]", ",", ":", "?", "-", "a", "'b'", `"c"`, " ", "\n", "\n ", "#", "!", "&x", "*x", "|", ">", "%", "@", ".", "\t", "~", "<<", "1", "`", "\r", "\ufeff", `\`, "\u0085", "\u2028", "\u2029", "!!str", "---", "...", "b: ", "- ", ", ", ": ",
	}
	blockPieces = []string{
		"a:", "b: ", "- ", "-", "? ", ": ", "c", "'d'", `"e"`, "\n", "\n ", "\n  ", "\n    ", " ", "|", ">", "#", " # x", "[", "]", "{", "}", ",", "&x ", "*x", "!", "<<: ", "\t", "|2", "|-", "%", "@", ":", "\r", "\u0085", "\n\n", "...", "--- ", "'", `"`, `\`, "e: f", "- g: h", "1", "~",
	}
	around = []struct {
		before, after string
		pieces        []string
	}{
		{"a: {", "}\n", flowPieces}, {"a: [", "]\n", flowPieces}, {"a: {b: ", "}\n", flowPieces}, {"{", "}\n", flowPieces}, {"- {", "}\n", flowPieces},
		{"a:\n  b: {c: d", "}\n", flowPieces}, {"a: {x: [s", ", t]}\n", flowPieces},
		{"", "\n", blockPieces}, {"a: ", "\n", blockPieces}, {"a:\n  b: c", "\n", blockPieces}, {"a:\n- b: c\n  d:", "\n", blockPieces}, {"a: |", "\n", blockPieces},
	}
)

// TestPieces compares the readings of all documents of two pieces, and of longer
// ones by chance.
func TestPieces(t *testing.T) {
	for _, w := range around {
		for i, first := range w.pieces {
			for j, second := range w.pieces {
				if (i+j)%share.Of(3, 1) == 0 {
					compare(t, []byte(w.before+first+second+w.after))
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range documents {
		w := around[random.IntN(len(around))]
		text := w.before
		for range 3 + random.IntN(10) {
			text += w.pieces[random.IntN(len(w.pieces))]
		}
		compare(t, []byte(text+w.after))
	}
}

// documents is how many documents TestPieces makes up and compares.
var documents = share.Of(2000, 100_000)

func FuzzReadsWhatClusterctlReads(f *testing.F) {
	for _, s := range traps {
		f.Add([]byte(s))
	}
	for _, w := range around {
		for _, piece := range w.pieces {
			f.Add([]byte(w.before + piece + w.after))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			t.Skip()
		}
		compare(t, data)
	})
}

// TestCorpus compares the files of real providers, and what the scanner reads of them.
func TestCorpus(t *testing.T) {
	share.SkipInRace(t)
	files, compared, docs, left := 0, 0, 0, 0
	err := filepath.WalkDir(share.Corpus(t, ""), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" {
			return err
		}
		if files++; files%share.Of(12, 1) != 0 {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		compared++
		compare(t, data)
		chunks, _ := Split(string(data))
		for _, chunk := range chunks {
			if docs++; !scanned(t, chunk.Data) {
				left++
			}
		}
		return nil
	})
	given.NoError(t, err)
	t.Logf("%d of %d files; of %d documents %d are left to other parsers than the scanner", compared, files, docs, left)
}

func TestPositions(t *testing.T) {
	const text = "# é\na: 1\n---\nmetadata:\n  name: \"x y\"   # c\n  é: {k: [v, w]}\nscript: |\n  one\n\n  two\nlast: z\n"
	s := Parse(NewFile("f.yaml", []byte(text)))
	if len(s.Docs) != 2 {
		t.Fatalf("%d documents", len(s.Docs))
	}
	d := s.Docs[1]
	for _, tc := range []struct {
		path       []string
		line, col  int
		sourceText string
	}{
		{[]string{"metadata", "name"}, 5, 9, `"x y"`},
		{[]string{"metadata", "é", "k"}, 6, 10, ""},
		{[]string{"script"}, 7, 9, "|\n  one\n\n  two"},
		{[]string{"last"}, 11, 7, "z"},
	} {
		n := d.Root.Get(tc.path...)
		if n == nil {
			t.Fatalf("%v: not found", tc.path)
		}
		if got := d.Pos(n); got != (Pos{Line: tc.line, Column: tc.col}) {
			t.Errorf("%v: at %v", tc.path, got)
		}
		if start, end := d.Offsets(n); tc.sourceText != "" && text[start:end] != tc.sourceText {
			t.Errorf("%v: source %q", tc.path, text[start:end])
		}
	}
	if got := d.Pos(nil); got != (Pos{Line: 4, Column: 1}) {
		t.Errorf("document at %v", got)
	}
}

// TestOtherLineBreaks looks for values behind line breaks of YAML that end no line
// of a file.
func TestOtherLineBreaks(t *testing.T) {
	for _, lineBreak := range []string{"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029"} {
		text := "---\nx: y\n---\na: é" + lineBreak + "b: [" + lineBreak + "  here ]" + lineBreak + "c: 1\n"
		f := NewFile("f.yaml", []byte(text))
		s := Parse(f)
		if s.Err != nil || len(s.Docs) != 2 || s.Docs[1].Err != nil {
			t.Errorf("%q: %v", text, s)
			continue
		}
		d := s.Docs[1]
		n := d.Root.Get("b").List()[0]
		start, end := d.Offsets(n)
		if text[start:end] != "here" || f.Offset(d.Pos(n)) != start || f.Offset(d.End(n)) != end {
			t.Errorf("%q: %q at %v to %v", text, text[start:end], d.Pos(n), d.End(n))
		}
		bad := text + "d: [" + lineBreak
		if d := Parse(NewFile("f.yaml", []byte(bad))).Docs[1]; d.Err == nil || f.Offset(d.Err.Pos) < start {
			t.Errorf("%q: %v", bad, d.Err)
		}
	}
}

func TestErrorsHavePositions(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"a: 1\n---\nb: [\n", "f.yaml:"},
		{"a: 1\n---foo\n", "f.yaml:2:4: invalid Yaml document separator: foo"},
		{"a: 1\n---\nb:\n  c: .inf\n", "f.yaml:4:6: not YAML: .inf is not a number"},
		{"a: 1\n---\nb: *x\n", "f.yaml:3:"},
	} {
		_, err := ours([]byte(tc.text))
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %s", tc.text, err, tc.want)
		}
	}
}

func TestFilePosIsInverseOfOffset(t *testing.T) {
	f := NewFile("f", []byte("ab\n\nécd\r\nx"))
	for off := range len(f.Data) {
		if off > 0 && f.Data[off]&0xC0 == 0x80 {
			continue // inside é
		}
		if got := f.Offset(f.Pos(off)); got != off {
			t.Errorf("offset %d → %v → %d", off, f.Pos(off), got)
		}
	}
}

func TestLongLines(t *testing.T) {
	line := strings.Repeat("aé日x", 5000)
	f := NewFile("f", []byte("short\n"+line+"\n"+line))
	for off := 0; off <= len(f.Data); off += 7 {
		if off < len(f.Data) && f.Data[off]&0xC0 == 0x80 {
			continue
		}
		start := strings.LastIndexByte(f.Data[:off], '\n') + 1
		p := f.Pos(off)
		if want := len([]rune(string(f.Data[start:off]))) + 1; p.Column != want {
			t.Fatalf("offset %d: column %d, want %d", off, p.Column, want)
		}
		if got := f.Offset(p); got != off {
			t.Fatalf("offset %d → %v → %d", off, p, got)
		}
	}
	if got, want := f.Offset(Pos{Line: 2, Column: 1 << 20}), 6+len(line); got != want {
		t.Errorf("past the end of a long line: %d, want %d", got, want)
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("é", 5000)
	f := NewFile("f", []byte("short é\r\n"+long+"X"+long+"\n"))
	if text, column := f.Excerpt(Pos{Line: 1, Column: 7}); text != "short é" || column != 1 {
		t.Errorf("%q at %d", text, column)
	}
	text, column := f.Excerpt(Pos{Line: 2, Column: 5001})
	if got := []rune(text)[5001-column]; got != 'X' || len(text) > 200 {
		t.Errorf("%c in %q at %d", got, text, column)
	}
	if text, _ := f.Excerpt(Pos{}); text != "" {
		t.Errorf("no position: %q", text)
	}
}

func TestTooManyDocuments(t *testing.T) {
	const one = "a\n---\n"
	full := strings.Repeat(one, MaxDocuments)
	chunks, err := Split(full)
	if len(chunks) != MaxDocuments || err != nil || CheckCount(full) != nil {
		t.Errorf("%d documents: %v", len(chunks), err)
	}
	over := full + "a"
	s := Parse(NewFile("x.yaml", over))
	if len(s.Docs) != 0 || !errors.Is(s.Err, errTooMany) || s.Err.Pos.Line != 2*MaxDocuments+1 {
		t.Errorf("one more: %d documents, %v", len(s.Docs), s.Err)
	}
	if err := CheckCount(over); !errors.Is(err, errTooMany) {
		t.Error(err)
	}
	// A separator before which there is nothing belongs to its document.
	given.NoError(t, CheckCount([]byte(strings.Repeat("---\n", 2*MaxDocuments))))
}

// TestMisfit finds the value that a decoder complains about without its index.
func TestMisfit(t *testing.T) {
	for want, text := range map[int]string{
		2: "a:\n- b: 1\n- b: {c: 2}\n",             // none is a string: the first at the path
		4: "x: s\na:\n- b: 1\n- b: {c: s, d: t}\n", // inside a map, whose keys are no fields
		3: "a:\n- b: 1\n- b: s\n- b: t\n",
		1: "x: s\n", // nothing at the path
	} {
		d := Parse(NewFile("f.yaml", text)).Docs[0]
		if n := d.Root.Misfit(&json.UnmarshalTypeError{Value: "string", Field: "a.b"}); d.Pos(n).Line != want {
			t.Errorf("%s: line %d, want %d", text, d.Pos(n).Line, want)
		}
	}
}

func TestWideMaps(t *testing.T) {
	for _, names := range []int{3, wide, 2 * wide} {
		var text strings.Builder
		for i := range 2 * names { // each occurs twice
			fmt.Fprintf(&text, "k%d: %d\n", i%names, i)
		}
		root, _, err := read(text.String())
		given.NoError(t, err)
		n := names
		for f := range root.Entries() {
			if f.Name != fmt.Sprintf("k%d", n-names) || f.Value.Text() != fmt.Sprint(n) {
				t.Errorf("of %d names, entry %d is %s: %s", names, n-names, f.Name, f.Value.Text())
			}
			n++
		}
		if n != 2*names || root.Get("k") != nil {
			t.Errorf("of %d names, %d are found; a missing one is %v", names, n-names, root.Get("k"))
		}
	}
}

func TestAgainAndWithout(t *testing.T) {
	text := "a: &x {b: [1, c]}\nd: *x\ne:\n  f: text\n---\ng: 1\n"
	f := NewFile("f.yaml", text)
	s := ParseEach(f, text, nil, func(d *Document) {
		dropped := d.Root.Get("e")
		d.Root = d.Root.Without(func(n *Node) bool { return n == dropped })
	})
	d := s.Docs[0]
	b := map[string]any{"b": []any{1.0, "c"}}
	if got, want := d.Root.Value(), any(map[string]any{"a": b, "d": b, "e": map[string]any{}}); !reflect.DeepEqual(got, want) {
		t.Errorf("without e: %v, not %v", got, want)
	}
	if got, want := d.Pos(d.Root.Get("e")), (Pos{Line: 4, Column: 3}); got != want {
		t.Errorf("the empty value is at %v, not %v", got, want)
	}
	if d.Root.Get("a") != d.Root.Get("d") {
		t.Error("an alias became a value of its own")
	}
	again := d.Again()
	if got := again.Pos(again.Root.Get("e", "f")); got != (Pos{Line: 4, Column: 6}) || again.Root.Get("e", "f").Str() != "text" {
		t.Errorf("parsed again it has %v at %v", again.Root.Value(), got)
	}
	if d := s.Docs[1].Again(); d.Root.Get("g").Text() != "1" || d.Index != 2 {
		t.Errorf("the second document is %v, %d", d.Root.Value(), d.Index)
	}
}
