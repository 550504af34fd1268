package oracle

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// exampleVersion is what the examples are built as.
const exampleVersion = "v0.1.0"

// exampleSources are the source trees.
func exampleSources(t testing.TB) []string {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", ""))
	if err != nil {
		t.Fatal(err)
	}
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
	to, err := local.New(root)
	if err != nil {
		t.Fatal(err)
	}
	version, err := layouts.ParseVersion(exampleVersion)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range exampleSources(t) {
		c := &config.Config{}
		if file := filepath.Join(dir, config.FileName); exists(file) {
			if c, err = config.Decode(file, bytesOf(file)); err != nil {
				t.Fatal(err)
			}
		}
		c, _, err := detect.Complete(os.DirFS(dir), c, detect.Hints{Folder: dir})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := config.Resolve(os.DirFS(dir), c, exampleVersion)
		if err != nil {
			t.Fatal(err)
		}
		releases, err := transform.Build(background, dir, plan, transform.Options{Version: version})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range releases {
			if _, err := to.Put(background, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
