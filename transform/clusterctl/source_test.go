package clusterctl

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// However a text comes in parts, its documents are those of the text in one piece,
// and so is what is wrong with their separators.
func TestBlocksHaveTheDocumentsOfTheText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tokens := []string{"---\n", "\n---\n", "---", "--", "-", "\n", "a: b\n", "--- # c\n", "---\r\n", " ", "\n---\nc: d\n---\n"}
	several, uncopied, refused := 0, 0, 0
	for range 50_000 {
		var parts []string
		for range 1 + random.IntN(4) {
			var part []byte
			for range random.IntN(8) {
				part = append(part, tokens[random.IntN(len(tokens))]...)
			}
			if random.IntN(20) == 0 {
				part = append(part, "\n--- wrong\n"...)
			}
			parts = append(parts, string(part))
		}
		text := strings.Join(parts, "")
		list := blocks(parts, 1)
		var joined []byte
		for _, b := range list {
			if b.start != len(joined) {
				t.Fatalf("%q: a block begins at %d instead of %d", parts, b.start, len(joined))
			}
			joined = append(joined, b.text...)
		}
		if string(joined) != text {
			t.Fatalf("%q: the blocks are %q", parts, joined)
		}
		f := yamldoc.NewFile("c.yaml", text)
		got, gotErr := newSource(f, list, func() (string, func(int) int) { return text, nil }).chunks()
		want, wantErr := rawSource(f).splitWhole()
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotErr, wantErr) {
			t.Fatalf("%q: %v %v, want %v %v", parts, got, gotErr, want, wantErr)
		}
		if len(list) > 1 {
			several++
		}
		if len(list) > 2 {
			uncopied++
		}
		if wantErr != nil {
			refused++
		}
	}
	if several == 0 || uncopied == 0 || refused == 0 {
		t.Errorf("%d texts of several blocks, %d of more than two, %d refused", several, uncopied, refused)
	}
}
