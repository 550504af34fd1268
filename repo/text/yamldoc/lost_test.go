package yamldoc

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// TestLost compares Lost with the parser that clusterctl uses: it reads one document
// of each chunk, and a decoder of the same parser tells whether more follow.
func TestLost(t *testing.T) {
	pieces := []string{"---", "...", "--- ", "a: b", "- c", "a: |", "'", " ", "# d", "\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\n---\n", "\r---\n", "\n...\n", "\u2028--- # e\n", "...x", "---\t", " e: f\n", "{g: h}\n", "i: j\n", "%YAML 1.1", "\ufeff", "'k': l", "m: n\n  o", "[p]"}
	random := rand.New(rand.NewPCG(3, 4))
	lost := 0
	for range 2 * documents {
		var b strings.Builder
		for range 2 + random.IntN(10) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		text := b.String()
		chunks, err := Split(text)
		if err != nil {
			continue
		}
		want, end := 0, 0
		for _, c := range append(chunks, Chunk{Start: len(text)}) {
			if strings.ContainsAny(text[end:c.Start], "\r\u0085\u2028\u2029") {
				want = -1 // a separator line may hold text, see the oracle
				break
			}
			end = c.Start + len(c.Data)
			var m map[string]any
			data := strings.ReplaceAll(c.Data, "\r\n", "\n")
			if data != "" && !strings.HasSuffix(data, "\n") {
				data += "\n"
			}
			if yaml.Unmarshal([]byte(data), &m) != nil {
				continue
			}
			var v any
			d := yamlv2.NewDecoder(strings.NewReader(data))
			if err := d.Decode(&v); err != nil {
				if !errors.Is(err, io.EOF) { // it looks ahead
					want++
				}
				continue
			}
			for {
				v = nil
				if err := d.Decode(&v); err != nil && !errors.Is(err, io.EOF) || v != nil {
					want++
				} else if err == nil {
					continue // empty
				}
				break
			}
		}
		if want < 0 {
			continue
		}
		got := Parse(NewFile("a.yaml", text)).Lost
		if len(got) != want {
			t.Fatalf("%q: %d parts are lost, not %v", text, want, got)
		}
		lost += want
	}
	if lost < documents/100 {
		t.Errorf("only %d of the texts lose something", lost)
	}
}
