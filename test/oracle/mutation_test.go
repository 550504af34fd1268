package oracle

import (
	"bytes"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// The fuzzer of Go is slow here, because it watches all of clusterctl. Blind
// mutations of the tables are a hundred times as many in the same time.
var (
	mutations = share.Of(400, 4000) // mutated files to compare
	seed      = flag.Uint64("seed", 1, "of the mutations")
)

// tokens are inserted by mutations: what has a meaning to some stage.
func tokens() []string {
	return []string{
		"${A}", "${A:=x}", "${ A }", "$$", "$", "${", "}", ":-", "#", "---\n", "\n---\n", "\n", "\r\n", "\t", " ", "  ", ": ", "- ", "'", `"`, "|", ">", "&a ", "*a", "<<: ", "!!str ", "? ", "[", "]", "{", "}", ",",
		"1", "1.5", "-1", "yes", "null", "~", "x", "é", "\x00", "\xff", "\ufeff", "...\n", "%", "`", "@",
		"kind: Deployment\n", "kind: Namespace\n", "kind: Certificate\n", "metadata: {name: a}\n", "labels: {a: 1}\n", "namespace: foo\n", "apiVersion: cert-manager.io/v1\n", "apiVersion: apps/v1\n", "replicas: '1'\n", "image: nginx\n", "ghcr.io/x/y",
	}
}

// mutate changes a text a few times; other is another text to take pieces from.
func mutate(random *rand.Rand, text, other []byte) []byte {
	text = slices.Clone(text)
	all := tokens()
	for range 1 + random.IntN(4) {
		at := random.IntN(len(text) + 1)
		switch random.IntN(6) {
		case 0:
			text = slices.Insert(text, at, []byte(all[random.IntN(len(all))])...)
		case 1: // drop a few bytes
			text = slices.Delete(text, at, min(len(text), at+1+random.IntN(8)))
		case 2: // repeat a piece
			end := min(len(text), at+random.IntN(40))
			text = slices.Insert(text, at, slices.Clone(text[at:end])...)
		case 3: // replace a byte
			if at < len(text) {
				text[at] = byte(random.IntN(256))
			}
		case 4: // drop or double a line
			lines := bytes.SplitAfter(text, []byte("\n"))
			i := random.IntN(len(lines))
			if random.IntN(2) == 0 {
				lines = slices.Delete(lines, i, i+1)
			} else {
				lines = slices.Insert(lines, i, lines[i])
			}
			text = bytes.Join(lines, nil)
		case 5: // take a line from the other text
			lines := bytes.SplitAfter(text, []byte("\n"))
			others := bytes.SplitAfter(other, []byte("\n"))
			text = bytes.Join(slices.Insert(lines, random.IntN(len(lines)+1), others[random.IntN(len(others))]), nil)
		}
	}
	return text
}

// pool returns the texts of a table in a fixed order.
func pool(table map[string]string) [][]byte {
	var out [][]byte
	for _, name := range slices.Sorted(maps.Keys(table)) {
		out = append(out, []byte(table[name]))
	}
	return out
}

func TestMutatedManifests(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*seed, 1))
	texts := pool(manifests())
	for range mutations {
		data := mutate(random, texts[random.IntN(len(texts))], texts[random.IntN(len(texts))])
		compareManifest(t, data, inputs()[random.IntN(len(inputs()))])
		if t.Failed() {
			t.Fatalf("-seed %d: %q", *seed, data)
		}
	}
}

func TestMutatedMetadata(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*seed, 2))
	texts := pool(metadataCases())
	for range mutations {
		data := mutate(random, texts[random.IntN(len(texts))], texts[random.IntN(len(texts))])
		r := release(t, map[string]string{"v1.2.3": string(data)}, "v1.2.3")
		_, want := generate(t, r, "foo:v1.2.3")
		got := metadata.Check(yamldoc.NewFile("metadata.yaml", data), foo, "v1.2.3")
		if (want == nil) != (got == nil) {
			t.Fatalf("-seed %d: %q\nclusterctl: %v\nthe tool:   %v", *seed, data, want, got)
		}
	}
}

// TestMutatedLint compares the verdicts of lint with those of clusterctl on
// mutated documents, variables, metadata and version folders.
func TestMutatedLint(t *testing.T) {
	t.Parallel()
	a := newAgreement(t)
	random := rand.New(rand.NewPCG(*seed, 3))
	documents, metadata := pool(manifests()), pool(metadataCases())
	for _, rule := range rules.All {
		e := given.Value(examples.Load(rule.ID))(t)
		for _, tree := range []examples.Files{e.Bad, e.Good} {
			for _, name := range slices.Sorted(maps.Keys(tree.Text)) {
				switch text := []byte(tree.Text[name]); {
				case name == "clusterctl.yaml":
				case path.Base(name) == layouts.MetadataFile:
					metadata = append(metadata, text)
				default:
					documents = append(documents, text)
				}
			}
		}
	}
	mutated := func(texts [][]byte) string {
		return string(mutate(random, texts[random.IntN(len(texts))], texts[random.IntN(len(texts))]))
	}
	for n := range mutations {
		var tree map[string]string
		switch n % 4 {
		case 0:
			tree = withMetadata(mutated(metadata))
		case 1:
			tree = versions(randomRepository(random))
		default:
			tree = withManifest(mutated(documents))
		}
		root := write(t, tree)
		if a.agree(t, root, root); t.Failed() {
			t.Fatalf("-seed %d, number %d: %q", *seed, n, tree)
		}
		given.NoError(t, os.RemoveAll(root))
	}
}
