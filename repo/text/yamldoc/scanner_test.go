package yamldoc

import (
	"bytes"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// sameNodes reports whether two values are the same to the last position.
func sameNodes(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.Style != b.Style || a.Text() != b.Text() || a.line != b.line || a.col != b.col ||
		len(a.Fields()) != len(b.Fields()) || len(a.List()) != len(b.List()) {
		return false
	}
	for i, f := range a.Fields() {
		if g := b.Fields()[i]; f.Name != g.Name || f.Merged != g.Merged || !sameNodes(f.Key(), g.Key()) || !sameNodes(f.Value, g.Value) {
			return false
		}
	}
	return slices.EqualFunc(a.List(), b.List(), sameNodes)
}

// scanned compares the scanner with what the parsers of others make of a document,
// and reports whether the scanner read it.
func scanned(t *testing.T, data string) bool {
	t.Helper()
	data = normalize(data)
	n := scan(data)
	if n == nil {
		return false
	}
	f := NewFile("f.yaml", data)
	d := &Document{File: f, text: f, len: len(data)}
	d.parseOther(data)
	if d.Err != nil || !sameNodes(n, d.Root) {
		t.Errorf("%.2000q:\nthe scanner reads %s\nothers %s, %v", data, describe(n), describe(d.Root), d.Err)
	}
	sameJSON(t, []byte(data))
	return true
}

// sameJSON compares ToJSON with the function that it stands for.
func sameJSON(t *testing.T, data []byte) {
	t.Helper()
	if _, ok := jsonValue(scan(string(data))); !ok {
		return // of two equal keys the other takes any
	}
	got, err := ToJSON(data)
	want, wantErr := yaml.YAMLToJSON(data)
	if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
		t.Errorf("JSON of %.2000q:\n got %.2000s, %v\nwant %.2000s, %v", data, got, err, want, wantErr)
	}
}

// describe shows where two trees differ, in a test's message.
func describe(n *Node) string {
	var out []byte
	n.Walk(func(path Path, n *Node) bool {
		if len(out) < 2000 {
			out = append(out, path.String()+"="...)
			out = append(out, n.Kind.String()+" "+n.Text()...)
			out = append(out, " @"+(&Error{Pos: Pos{int(n.line), int(n.col)}, Err: os.ErrInvalid}).Error()[:6]+"; "...)
		}
		return true
	})
	return string(out)
}

// usual is YAML as people and programs write it, with its corners.
var usual = []string{
	"a: b\n", "a:\n  b: c\n", "a:\n- b\n- c: d\n  e: f\n", "- a\n- - b\n  - c\n-\n  d\n-\n", "---\na: b\n", "# c\na: b # d\n# e\n",
	"a: b\n  c\n\n  d\ne: f\n", "a:\n  long text\n  goes on\nb: c\n", "a: |\n  x\n    y\n\n  z\nb: |-\n  x\n\nc: |+\n  x\n\nd: >\n  x\n  y\n\n  z\n   w\n  v\n",
	"a: |2\n   x\n  y\n", "a:\n- |\n x\n- >-\n\n  y\n  z\n", "a: \"x y\\n\\\n  z\\\"\"\nb: 'it''s\n  so'\nc: \"a  \n  b\n\n  c\"\n", "\"a\": b\n'c': d\n",
	"a: {}\nb: []\nc: [x, \"y\", 1]\nd: {e: f, g: [h, {i: j}]}\n", "a: http://x:80/y#z\nb: -1\nc: --flag=x\nd: a:b\n", "yes: 1\n1: 2\n1.5: 3\ntrue: 4\n",
	"é: ü # ä\nb: é\n", "a: ~\nb: null\nc:\nd: 0x1F\ne: 1e3\nf: 2001-01-01\n", "a:\n\n  # c\n  b: c\n # d\n  e: f\n", "a: b\n  - c\n  * d\n",
	"a: |\n\n\n", "a: |+\n\n\n", "a: >+\n\n", "a: |\nb: c\n", "a: |-\n# x\nb: c\n", "- a: b\n  c:\n  - d\n- e\n", "a: \"\\x41\\u00e9\\U0001F600\"\n",
	"é: [ä, \"ü\", {ö: ß, b: [c]}]\nb: {ä: é}\n", "# c\n", "a: ::1/0\nb: ?c\n", "a : b\n",
	`{"a":1,"b":[{"c":"d\u003c\n"},true,[],1.5],"e":{},"f":null}` + "\n", "a: {\"b\":c, \"d\": e}\n", "a: {\"b\":\"c:d\",\"e\":xy}\n",
}

// odd is what the scanner leaves to others.
var odd = []string{
	"a: - b\n", "a: b: c\n", "a: 'b': c\n", "a: &b c\n", "a: !!str b\n", "? a\n: b\n", "a:\tb\n", "a: [\n", "a: {b}\n", "%YAML 1.1\n---\na: b\n", "a\n", "a: b\n...\n", "<<: {}\n", "---\n", "a: \"\\/\"\n", "a: {b:c}\n", "a: {'b':c}\n",
}

func TestScannerReadsWhatOthersRead(t *testing.T) {
	for _, s := range usual {
		if !scanned(t, s) {
			t.Errorf("the scanner gives up at %q", s)
		}
	}
	for _, s := range odd {
		if scan(s) != nil {
			t.Errorf("the scanner reads %q", s)
		}
	}
}

// TestScannerOnChangedText changes documents by chance: lines are moved, indented,
// cut and joined.
func TestScannerOnChangedText(t *testing.T) {
	share.SkipInRace(t)
	random := rand.New(rand.NewPCG(3, 4))
	read := 0
	const rounds = 60000
	for range rounds {
		if scanned(t, string(changed(random))) {
			read++
		}
	}
	if read < rounds/10 {
		t.Errorf("the scanner read only %d of %d documents", read, rounds)
	}
}

func changed(random *rand.Rand) []byte {
	pick := func() string {
		if random.IntN(20) == 0 {
			return odd[random.IntN(len(odd))]
		}
		return usual[random.IntN(len(usual))]
	}
	text := []byte(pick() + pick())
	const pieces = "::- \n\n  #'\"|>{}[],\\abc1~?&*!%@.\t-+2"
	for range 1 + random.IntN(4) {
		i := random.IntN(len(text) + 1)
		switch random.IntN(3) {
		case 0:
			text = slices.Insert(text, i, pieces[random.IntN(len(pieces))])
		case 1:
			text = slices.Delete(text, i, min(i+1+random.IntN(3), len(text)))
		case 2:
			text = slices.Insert(text, i, []byte(pick())...)
		}
	}
	return text
}

func FuzzScanner(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, s := range usual {
		f.Add([]byte(s))
	}
	for range 200 {
		f.Add(changed(random))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			t.Skip()
		}
		scanned(t, string(data))
	})
}

// PlainKind must say what the parser says, or nothing.
func TestPlainKind(t *testing.T) {
	known := 0
	for _, text := range []string{
		"a", "value 5", "true", "True", "yes", "Off", "null", "n", "y", "0", "007", "0x1F", "0b11", "0b+1", "0b-1", "0b", "0b+", "-0b+1", "0o+1", "0x+1", "0o17", "1_000", "1e3", "1e999", "1.5", "1.", "12e", "2020-01-01",
		"2020-1-1", "a b", "a  b", "a-b", "a/b.c_d", "1-2", "9 - 8", "nan", "inf", "Infinity", "x ", "a:b", "a: b", "", "-1", "~", "é", "a #b", "18446744073709551615", "18446744073709551616",
	} {
		kind, ok := PlainKind(text)
		if !ok {
			continue
		}
		known++
		var want Kind
		if docs := Parse(NewFile("", []byte(text))).Docs; len(docs) == 1 && docs[0].Err == nil {
			want = docs[0].Root.Kind
		}
		if kind != want {
			t.Errorf("%q is %s, and %s for the parser", text, kind, want)
		}
	}
	if known < 25 {
		t.Errorf("only %d texts were known", known)
	}
}

func TestLongBlockScalars(t *testing.T) {
	for _, head := range []string{"|", "|-", "|+", ">", "|2"} {
		for _, lines := range []int{200, 2000} {
			text := "a:\n  b: " + head + "\n" + strings.Repeat("    line of a long text\n\n     deeper\n", lines) + "  c: |\n    short\nd: " + head + "\n" + strings.Repeat("   x\n", lines) + "e: 1\n"
			got := scan(text)
			if got == nil {
				t.Fatalf("%s: the scanner gave up", head)
			}
			want, _, err := read(text)
			given.NoError(t, err)
			if !reflect.DeepEqual(got.Value(), want.Value()) {
				t.Errorf("%s with %d lines: the values differ", head, lines)
			}
		}
	}
}
