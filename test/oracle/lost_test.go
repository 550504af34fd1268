package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/util/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestLostDocuments lets clusterctl read files whose objects are separated in many ways:
// where it reads fewer than there are, the tool says which text is lost, or why the file
// is refused, and nowhere else.
func TestLostDocuments(t *testing.T) {
	t.Parallel()
	breaks := []string{"\n", "\n", "\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029"}
	separators := []string{"---", "---", "--- # next", "...", "...\n---", "---\n# comment", "--- ", "---\t", "# comment\n---", ""}
	random := rand.New(rand.NewPCG(*seed, 5))
	lost, whole := 0, 0
	for range share.Of(3000, 100_000) {
		end := func() string { return breaks[random.IntN(len(breaks))] }
		objects := 2 + random.IntN(3)
		var b strings.Builder
		for i := range objects {
			if i > 0 {
				b.WriteString(separators[random.IntN(len(separators))] + end())
			}
			indent := ""
			if random.IntN(8) == 0 {
				indent = "  "
			}
			lines := []string{"apiVersion: v1", "kind: ConfigMap", fmt.Sprintf("metadata: {name: a%d}", i)}
			if random.IntN(8) == 0 {
				lines = []string{"{" + strings.Join(lines, ", ") + "}"}
			}
			for _, line := range lines {
				b.WriteString(indent + line + end())
			}
		}
		text := b.String()
		f := manifest.New(repo.BytesArtifact("cluster-template.yaml", []byte(text)), layouts.ClusterTemplate, text)
		real, err := yaml.ToUnstructured([]byte(text))
		var names []string
		for _, o := range real {
			if o.GetAPIVersion() != "" && o.GetKind() != "" {
				names = append(names, o.GetName())
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		if err != nil {
			if f.Healthy() {
				t.Fatalf("-seed %d: %q: clusterctl: %v", *seed, text, err)
			}
			continue
		}
		repeated := false // without a separator, keys of one object overwrite those of another
		for _, d := range f.Docs().Docs {
			repeated = repeated || len(d.Root.Fields()) > 3
		}
		switch missing := len(names) < objects; {
		case repeated:
		case missing != (len(f.Docs().Lost) > 0):
			t.Fatalf("-seed %d: %q: clusterctl reads %q, and lost is %v", *seed, text, names, f.Docs().Lost)
		case missing:
			lost++
		default:
			whole++
		}
	}
	t.Logf("%d files lose objects, %d are whole", lost, whole)
	if lost == 0 || whole == 0 {
		t.Error("one of the two directions was not tried")
	}
}
