package oracle

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// exampleVersion is what the examples are built as.
const exampleVersion = "v0.1.0"

// exampleSources are the source trees.
func exampleSources(t testing.TB) []string {
	t.Helper()
	sources := given.Value(filepath.Glob(filepath.Join("..", "..", "examples", "*", "")))(t)
	var out []string
	for _, dir := range sources {
		// Not everything there is a provider.
		if _, err := os.Stat(filepath.Join(dir, "metadata.yaml")); err == nil {
			out = append(out, dir)
		}
	}
	if len(out) == 0 {
		t.Fatal("no examples")
	}
	return out
}

// builtExamples builds all of them into a new folder, from which clusterctl reads.
func builtExamples(t testing.TB) string {
	t.Helper()
	root := newFolder(t)
	to := given.Value(local.New(root))(t)
	for _, dir := range exampleSources(t) {
		tree := given.Value(transform.Open(dir, transform.Options{Version: transform.Versions{All: exampleVersion}}))(t)
		b := given.Value(tree.Build(background))(t)
		for _, r := range b.Releases {
			given.Value(to.Put(background, r))(t)
		}
	}
	return root
}
