package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestNever compares the verdict on texts with variables with that of apimachinery on
// all short values: neverValid is right if none of them is accepted, and only then.
func TestNever(t *testing.T) {
	demands := map[string]func(string) bool{
		"subdomain": func(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 },
		"label":     func(s string) bool { return len(validation.IsValidLabelValue(s)) == 0 },
		"key":       func(s string) bool { return len(validation.IsQualifiedName(s)) == 0 },
	}
	literals := []string{"", "", "a", "-", "_", ".", "a-", "-a", "B", "/", "x_y", "a.b", "_md_0", "é", "a/"}
	expressions := []string{"${A}", "${A}", "${A^^}", "${A,,}", "${A:=x}", "${A:=X_}", "${CLUSTER_NAME}", "${NAMESPACE}", "${#A}", "${A}${A}", "${A:=}", "${A:=}${A:=}", "${WORKER_MACHINE_COUNT}"}
	var values []string
	for _, c := range []string{"", "a", "Z", "0", "-", "_", ".", "/"} {
		for _, d := range []string{"", "b", "1", "Y", "-", "_", "."} {
			for _, e := range []string{"", "c", "2"} {
				values = append(values, c+d+e)
			}
		}
	}
	names := []string{"a", "my-cluster", "a.b", "c1"} // that clusterctl accepts
	random := rand.New(rand.NewPCG(5, 6))
	never := 0
	for range share.Of(200, 20_000) {
		pick := func(of []string) string { return of[random.IntN(len(of))] }
		text := pick(literals) + pick(expressions) + pick(literals)
		if random.IntN(3) == 0 {
			text += pick(expressions) + pick(literals)
		}
		form := pick([]string{"v: %q", "v: %s"})
		data := fmt.Sprintf(form, text)
		f := manifest.New(repo.BytesArtifact("cluster-template.yaml", []byte(data)), layouts.ClusterTemplate, data)
		template, _ := f.Template()
		n := f.Docs().Docs[0].Root.Get("v")
		if n == nil || template == nil {
			continue // the sample makes something other than a scalar of it
		}
		var readings []string // of the value, for each value of the variables
		for i, value := range values {
			out, err := template.Execute(func(name string) (string, bool) {
				switch name {
				case "CLUSTER_NAME":
					return names[i%len(names)], true
				case "NAMESPACE":
					return names[i%2], true
				case "WORKER_MACHINE_COUNT":
					return fmt.Sprint(i % 3), true
				}
				return value, true
			})
			given.NoError(t, err)
			if s := yamldoc.Parse(yamldoc.NewFile("", out.Data)); len(s.Docs) == 1 && s.Docs[0].Err == nil {
				readings = append(readings, s.Docs[0].Root.Get("v").Text())
			}
		}
		for what, valid := range demands {
			possible := slices.ContainsFunc(readings, valid)
			got := neverValid(f, f.Docs().Docs[0], n, func(n *yamldoc.Node) bool { return valid(n.Text()) })
			if got != (len(readings) > 0 && !possible) {
				t.Fatalf("%s %s: never is %t, although a value makes it valid: %t", what, data, got, possible)
			}
			if got {
				never++
			}
		}
	}
	if never == 0 {
		t.Error("no text is invalid for all values")
	}
}
