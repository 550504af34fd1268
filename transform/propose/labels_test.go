package propose

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestLabelled(t *testing.T) {
	wanted := map[string]string{"foos.x.io": "v1", "bars.x.io": "v2"}
	for name, tt := range map[string]struct {
		text, want string
		line       int
	}{
		"labels of a kustomization": {
			"labels:\n- pairs:\n    a: b\n    cluster.x-k8s.io/v1beta1: v1 # old\n    c: d\n",
			"labels:\n- pairs:\n    a: b\n    cluster.x-k8s.io/v1beta1: v1 # old\n    cluster.x-k8s.io/v1beta2: v1\n    c: d\n", 4,
		},
		"quotes and flow style": {
			"commonLabels: {\"cluster.x-k8s.io/v1beta1\": 'v1alpha1'}\n",
			"commonLabels: {\"cluster.x-k8s.io/v1beta1\": 'v1alpha1', \"cluster.x-k8s.io/v1beta2\": 'v1'}\n", 1,
		},
		"patches of definitions, of which one is wanted with the value": {
			"kind: CustomResourceDefinition\nmetadata:\n  name: bars.x.io\n  labels:\n    cluster.x-k8s.io/v1beta1: v1\n---\nkind: CustomResourceDefinition\nmetadata:\n  name: foos.x.io\n  labels:\n    cluster.x-k8s.io/v1beta1: v1\n",
			"kind: CustomResourceDefinition\nmetadata:\n  name: bars.x.io\n  labels:\n    cluster.x-k8s.io/v1beta1: v1\n---\nkind: CustomResourceDefinition\nmetadata:\n  name: foos.x.io\n  labels:\n    cluster.x-k8s.io/v1beta1: v1\n    cluster.x-k8s.io/v1beta2: v1\n", 11,
		},
		"what is generated":     {"kind: CustomResourceDefinition\nmetadata:\n  annotations:\n    controller-gen.kubebuilder.io/version: v0.17.0\n  name: foos.x.io\n  labels:\n    cluster.x-k8s.io/v1beta1: v1\n", "", 0},
		"what has it already":   {"commonLabels:\n  cluster.x-k8s.io/v1beta1: v1\n  cluster.x-k8s.io/v1beta2: v1\n", "", 0},
		"anchors":               {"commonLabels: &a\n  cluster.x-k8s.io/v1beta1: v1\nx: *a\n", "", 0},
		"labels somewhere else": {"spec:\n  labels:\n    cluster.x-k8s.io/v1beta1: v1\n", "", 0},
		"text that is no YAML":  {"commonLabels:\n\tcluster.x-k8s.io/v1beta1: v1\n", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.text
			}
			o := Migration{From: "v1beta1", To: "v1beta2"}
			got, line := labelled(tt.text, o, wanted, "v1")
			if got != tt.want || line != tt.line {
				t.Errorf("line %d:\n%s", line, got)
			}
			if again, line := labelled(got, o, wanted, "v1"); again != got || line != 0 {
				t.Errorf("the second time, line %d:\n%s", line, again)
			}
		})
	}
}

func TestLacking(t *testing.T) {
	r := released{Release: &repo.Release{Provider: layouts.Provider{Type: layouts.ControlPlane, Name: "foo"}}}
	for rule, want := range map[string]string{
		`{"apiGroups": ["a.io"], "resources": ["bs", "cs"], "verbs": ["get", "list"]}`: "watch",
		`{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}`:                     "",
		`{"apiGroups": ["b.io"], "resources": ["cs"], "verbs": ["*"]}`:                 "get list watch",
		`{"apiGroups": ["a.io"], "resources": ["cs/status"], "verbs": ["*"]}`:          "get list watch",
	} {
		for place, want := range map[string]string{"control-plane-foo/ClusterRole": want, "control-plane-foobar/ClusterRole": "get list watch", "control-plane-foo/Other": "get list watch"} {
			s := &side{now: &look{objects: map[string]any{}}}
			var object any
			given.NoError(t, json.Unmarshal([]byte(`{"kind": "`+path.Base(place)+`", "rules": [`+rule+`]}`), &object))
			s.now.objects[place] = object
			if got := strings.Join(s.lacking(r, "a.io", "cs", []string{"get", "list", "watch"}), " "); got != want {
				t.Errorf("%s in %s: lacks %q, want %q", rule, place, got, want)
			}
		}
	}
}
