package cel_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func BenchmarkCheck(b *testing.B) {
	dir := os.Getenv("CORPUS")
	if dir == "" {
		b.Skip("CORPUS is not set")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "releases", "*", "*", "*-components.yaml"))
	var schemas []*yamldoc.Node
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range manifest.New(repo.BytesArtifact(name, data), layouts.Components, data).Objects() {
			if c := crd.Of(o); c != nil {
				for _, v := range c.Versions {
					schemas = append(schemas, v.Schema.Node)
				}
			}
		}
	}
	b.ResetTimer()
	for b.Loop() {
		for _, s := range schemas {
			if list := cel.Check(s, ""); len(list) > 0 {
				b.Fatal(list[0].Message)
			}
		}
	}
}
