package manifest_test

import (
	"reflect"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func TestForget(t *testing.T) {
	text := []byte("kind: Cluster\nmetadata:\n  name: ${CLUSTER_NAME}\n  labels: {a: \"${B:=x}\"}\n")
	f := manifest.New(repo.BytesArtifact("cluster-template.yaml", text), layouts.ClusterTemplate, text)
	type key struct{}
	computed := 0
	memo := func() { f.Memo(key{}, func() any { computed++; return nil }) }
	type view struct {
		Value     any
		Pos       yamldoc.Pos
		Variables int
	}
	look := func() view {
		o := f.Objects()[0]
		template, _ := f.Template()
		return view{o.Doc.Root.Value(), o.Doc.Pos(o.Get("metadata", "labels", "a")), len(template.Variables())}
	}
	before, object := look(), f.Objects()[0]
	memo()
	memo()
	f.Forget()
	memo()
	if again := look(); !reflect.DeepEqual(again, before) {
		t.Errorf("made anew: %+v, before: %+v", again, before)
	}
	if f.Objects()[0] == object || computed != 2 {
		t.Errorf("the file did not forget: computed %d times", computed)
	}
	if pos := object.Doc.Pos(object.Get("metadata", "labels", "a")); pos != before.Pos {
		t.Errorf("a document from before stands at %v, not %v", pos, before.Pos)
	}
}

// TestWritten: samples become the variables that they stand for, and nothing else does.
func TestWritten(t *testing.T) {
	data := "a: ${FOO}\nb: ${FOO_BAR}\nc: ${SEEN}\nd: x-seen\ne: ${D:=1}\nf: ${CLUSTER_NAME}\n"
	f := manifest.New(repo.BytesArtifact("cluster-template.yaml", []byte(data)), layouts.ClusterTemplate, data)
	got := f.Written("x-foo-bar, x-foo and y-x-foo-1, but not max-foo, x-seen, x-d or my-cluster")
	if want := "${FOO_BAR}, ${FOO} and y-${FOO}-1, but not max-foo, x-seen, x-d or my-cluster"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
