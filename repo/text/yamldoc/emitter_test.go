package yamldoc

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// emitted compares the emitter with sigs.k8s.io/yaml and reports whether it wrote
// the value.
func emitted(t *testing.T, v any) bool {
	t.Helper()
	got := emit(v)
	if got == nil {
		return false
	}
	want, err := yaml.Marshal(v)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%#v:\n got %q\nwant %q, %v", v, got, want, err)
	}
	return true
}

// texts are what the made-up values of the tests consist of.
var texts = []string{
	"", "a", "yes", "Off", "~", "null", "<<", "=", "1", "-1", "+1", "1.5", ".5", "1e3", "0x1F", "0b1", "0b+1", "0b-0", "0o7", "1_000", "1:30", "-1:30:00", "2001-01-01", "2001-01-01T00:00:00Z", "2001-99-99",
	"10.0.0.0/8", "127.0.0.1:80", "12:30", "-", "- a", "-a", "?", "? a", "?a", ":", ": a", ":a", "a:", "a: b", "a:b", "a #b", "a#b", "#", "#a", "---", "--- a", "----", "...", "...a", ".", ".a",
	"'", "it's", `"`, `\`, "&a", "*a", "!a", "|", ">", "%", "@", "`", ",", "[a]", "{a}", "{{ .a }}", " a", "a ", "a  b", "a\tb", "\ta", "é", "ü: ä", "日本", "😀", "\u00a0", "\u0085", "\u2028", "\ufeff", "\x00", "\x7f",
	"a\nb", "a\nb\n", "a\n\nb\n", "a\n\n", "\na", "\n", "\n\n", " a\nb\n", "a \nb", "a\n b\n", "a\n  \nb", "a\nb ", "a: b\nc: 'd'\n", "# a\nb", "a\tb\nc", "é\nü\n", "it's\n",
	strings.Repeat("word ", 30) + "end", strings.Repeat("a", 100) + " b", strings.Repeat("it's: a ", 20) + "end", strings.Repeat("word  two ", 20), strings.Repeat("é日 ", 40) + "x", " " + strings.Repeat("word ", 30), strings.Repeat("\"x\": ", 30) + "\ny z ",
	strings.Repeat("k", 128), strings.Repeat("k", 129), "a.b/c", "a-b", "a10", "a9", "a09", "a1b", "a10b", "A", "_", "x-kubernetes-list-type", "$ref", "${A}", "${A:=b}", "\u0660", "a\u0663",
}

func TestEmitterWritesWhatSigsYAMLWrites(t *testing.T) {
	share.SkipInRace(t)
	wrote := 0
	for _, a := range texts {
		for _, v := range []any{
			map[string]any{a: 1.0}, map[string]any{"k": a}, []any{a}, map[string]any{"k": []any{a, a}, "l": a}, []any{[]any{a, map[string]any{"k": a}}},
			map[string]any{"k": map[string]any{"l": map[string]any{"mmmmmmmmmmmmmmmmmmmmmmmmmm": a, a: a}}},
		} {
			if emitted(t, v) {
				wrote++
			}
		}
		for _, b := range texts {
			emitted(t, map[string]any{a: "x", b: "y"})
			emitted(t, map[string]any{"k": a + b, "l": a + " " + b})
		}
	}
	if wrote < 4*len(texts) {
		t.Errorf("the emitter wrote only %d values", wrote)
	}
	random := rand.New(rand.NewPCG(7, 8))
	for range 20000 {
		emitted(t, madeUp(random, 4))
	}
}

func madeUp(random *rand.Rand, depth int) any {
	kind := random.IntN(12)
	if depth == 0 {
		kind %= 8
	}
	text := func() string {
		s := texts[random.IntN(len(texts))]
		for random.IntN(3) == 0 {
			s += []string{"", " ", "\n", ": "}[random.IntN(4)] + texts[random.IntN(len(texts))]
		}
		return s
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return random.IntN(2) == 0
	case 2:
		return []any{1.0, -0.5, 1e21, 123456789012.0, 1e-7, 9007199254740993.0, int64(-5), uint64(1 << 63), 3}[random.IntN(9)]
	case 8, 9:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, madeUp(random, depth-1))
		}
		return list
	case 10, 11:
		m := map[string]any{}
		for range random.IntN(4) {
			m[text()] = madeUp(random, depth-1)
		}
		return m
	}
	return text()
}

func FuzzEmitter(f *testing.F) {
	for _, s := range texts {
		data, _ := json.Marshal(map[string]any{s: []any{s, 1.5, map[string]any{"k": s}}})
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) == nil {
			emitted(t, v)
		}
	})
}
