package crd_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestAsTheAPIServer compares verdicts on random metadata with the validation of
// objects in apimachinery.
func TestAsTheAPIServer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "B", "1", "-", "_", ".", "/", " ", "é", ":", "kustomize-(devel)", "example.com/", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"}
	word := func() string {
		out := pieces[0]
		if random.IntN(4) == 0 {
			out += pieces[random.IntN(len(pieces))] + pieces[random.IntN(len(pieces))]
		}
		return out
	}
	refused := 0
	for range 20000 {
		meta := metav1.ObjectMeta{Name: word()}
		switch random.IntN(3) {
		case 0:
			meta.Labels = map[string]string{word(): word()}
		case 1:
			meta.Annotations = map[string]string{word(): word()}
		}
		doc := document(t, meta)
		want := apivalidation.ValidateObjectMeta(&meta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
		got := len(crd.Problems(doc.Get("metadata"))) > 0
		if meta.Name == "" || crd.NameProblem("", "ConfigMap", meta.Name) != "" {
			got = true
		}
		if got != (len(want) > 0) {
			t.Fatalf("%+v: refused %v, but the API server says %v", meta, got, want)
		}
		if got {
			refused++
		}
	}
	if refused < 2000 || refused > 18000 {
		t.Errorf("%d of 20000 are refused, so the test compares one side only", refused)
	}
	if why := crd.NameProblem("rbac.authorization.k8s.io", "ClusterRole", "foo:Manager"); why != "" {
		t.Errorf("name of a ClusterRole: %s", why)
	}
	if crd.NameProblem("", "Service", "a.b") == "" {
		t.Error("a Service may not have dots in its name")
	}
	large := document(t, metav1.ObjectMeta{Annotations: map[string]string{"a": strings.Repeat("x", 256*1024)}})
	if len(crd.Problems(large.Get("metadata"))) != 1 {
		t.Error("annotations of more than 256 KiB are accepted")
	}
}

func document(t *testing.T, meta metav1.ObjectMeta) *yamldoc.Node {
	t.Helper()
	data := given.Value(json.Marshal(map[string]any{"metadata": meta}))(t)
	stream := yamldoc.Parse(yamldoc.NewFile("object.json", data))
	if stream.Err != nil || len(stream.Docs) != 1 {
		t.Fatal(fmt.Errorf("%d documents: %w", len(stream.Docs), stream.Err))
	}
	return stream.Docs[0].Root
}
