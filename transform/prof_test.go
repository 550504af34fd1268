package transform_test

import (
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

func BenchmarkBuildAWS(b *testing.B) {
	dir := corpus(b)
	for b.Loop() {
		build(b, filepath.Join(dir, "sources", "cluster-api-provider-aws"), "v2.11.0", transform.Options{AsIs: true})
	}
}
