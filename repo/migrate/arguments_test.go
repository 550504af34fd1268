package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const (
	argumentsTemplate = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlaneTemplate\nmetadata:\n  name: cp\nspec:\n  template:\n    spec:\n      rolloutStrategy:\n        type: RollingUpdate\n      kubeadmConfigSpec:\n        clusterConfiguration:\n          apiServer:\n            extraArgs:\n              v: \"2\"\n              audit: \"1\"\n"
	argumentsPath     = "/spec/template/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs"
)

// A patch of one argument that the template has writes the whole list, where it is
// known.
func TestPatchedArguments(t *testing.T) {
	type op struct{ op, arg, want string }
	for name, row := range map[string]struct {
		lists [][]op // each in a patch of its own
		says  string
	}{
		"there already":         {lists: [][]op{{{"add", "v", "replace  [audit 1 v 9]"}, {"replace", "audit", "replace  [audit 9 v 9]"}}}},
		"not there":             {lists: [][]op{{{"add", "new", "add -"}}}},
		"just added":            {lists: [][]op{{{"add", "new", "add -"}, {"add", "new", "replace  [audit 1 v 2 new 9]"}, {"remove", "new", "replace  [audit 1 v 2]"}}}},
		"removed":               {lists: [][]op{{{"remove", "audit", "replace  [v 2]"}, {"replace", "v", "replace  [v 9]"}}}},
		"added by another":      {lists: [][]op{{{"add", "new", "add -"}}, {{"add", "new", "add new"}}}, says: "manual the arguments at " + argumentsPath + " are a list now, and the place of new in it depends"},
		"place by another":      {lists: [][]op{{{"add", "a", "add -"}}, {{"add", "b", "add -"}, {"replace", "b", "replace b"}}}, says: "the place of b"},
		"moved by another":      {lists: [][]op{{{"remove", "audit", "replace  [v 2]"}}, {{"replace", "v", "replace v"}, {"add", "new", "add -"}}}, says: "the place of v"},
		"missing":               {lists: [][]op{{{"replace", "x", "replace x"}}}, says: "no known template has the argument x"},
		"replaced by another":   {lists: [][]op{{{"replace", "", "replace  [b 1]"}, {"add", "b", "replace  [b 9]"}}, {{"add", "v", "add v"}}}, says: "the place of v"},
		"a template":            {lists: [][]op{{{"add", "new='{{ .x }}'", "add -"}}}},
		"a long template":       {lists: [][]op{{{"add", "new=|\n            {{ .x }}\n            b", "add new"}}}, says: "the template has several lines"},
		"a template that trims": {lists: [][]op{{{"add", "new='{{- .x }}'", "add new"}}}, says: "or trims the text around it"},
	} {
		text := "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nspec:\n  controlPlane:\n    ref: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, name: cp}\n  patches:\n"
		var want []string
		for _, list := range row.lists {
			text += "  - definitions:\n    - selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, matchResources: {controlPlane: true}}\n      jsonPatches:\n"
			for _, o := range list {
				arg, template, ok := strings.Cut(o.arg, "=")
				path, value := argumentsPath+"/"+arg, "        value: \"9\"\n"
				switch {
				case arg == "":
					path, value = argumentsPath, "        value: {b: \"1\"}\n"
				case ok:
					value = "        valueFrom:\n          template: " + template + "\n"
				}
				if o.op == "remove" {
					value = ""
				}
				text += "      - op: " + o.op + "\n        path: " + path + "\n" + value
				want = append(want, o.want)
			}
		}
		got := Text("x", []byte(text+"---\n"+argumentsTemplate), options())
		var ops []string
		var class struct {
			Spec struct {
				Patches []struct {
					Definitions []struct {
						JSONPatches []struct {
							Op, Path string
							Value    any
						} `json:"jsonPatches"`
					}
				}
			}
		}
		head, _, _ := strings.Cut(string(got.New), "---\n")
		given.NoError(t, yaml.Unmarshal([]byte(head), &class))
		for _, p := range class.Spec.Patches {
			for _, o := range p.Definitions[0].JSONPatches {
				text := o.Op + " " + strings.TrimPrefix(strings.TrimPrefix(o.Path, argumentsPath), "/")
				if list, ok := o.Value.([]any); ok {
					var args []string
					for _, a := range list {
						args = append(args, fmt.Sprint(a.(map[string]any)["name"], " ", a.(map[string]any)["value"]))
					}
					text += fmt.Sprint(" ", args)
				}
				ops = append(ops, text)
			}
		}
		if d := cmp.Diff(want, ops); d != "" {
			t.Errorf("%s: (-want +got)\n%s%s", name, d, got.New)
		}
		if s := said(got); !strings.Contains(s, row.says) || row.says == "" && strings.Contains(s, "manual") {
			t.Errorf("%s: findings are\n%swant %q", name, s, row.says)
		}
	}
}

// In a kustomization, places are counted in what the layers before make of the list.
func TestPlacesInLayers(t *testing.T) {
	dir := t.TempDir()
	const head = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: cp\nspec:\n  kubeadmConfigSpec:\n    clusterConfiguration:\n"
	const at = "/spec/kubeadmConfigSpec/clusterConfiguration/"
	given.Files(t, dir, map[string]string{
		"base/kcp.yaml":             head + "      apiServer:\n        extraArgs:\n          v: \"2\"\n          audit: \"1\"\n",
		"base/kustomization.yaml":   "resources:\n- kcp.yaml\n",
		"middle/merge.yaml":         head + "      apiServer:\n        extraArgs:\n          cloud: external\n",
		"middle/ops.yaml":           "- op: add\n  path: " + at + "apiServer/extraArgs/added\n  value: \"1\"\n- op: add\n  path: " + at + "scheduler\n  value:\n    extraArgs: {}\n- op: add\n  path: " + at + "scheduler/extraArgs/gates\n  value: a=true\n",
		"middle/kustomization.yaml": "resources:\n- ../base\npatches:\n- path: merge.yaml\n- path: ops.yaml\n  target: {kind: KubeadmControlPlane}\n",
		"top/kustomization.yaml":    "resources:\n- ../middle\npatches:\n- target: {kind: KubeadmControlPlane}\n  patch: |-\n    - op: test\n      path: " + at + "apiServer/extraArgs/v\n      value: \"2\"\n    - op: replace\n      path: " + at + "apiServer/extraArgs/added\n      value: \"3\"\n    - op: add\n      path: " + at + "apiServer/extraArgs/cloud\n      value: none\n    - op: replace\n      path: " + at + "scheduler/extraArgs/gates\n      value: a=false\n",
	})
	r := given.Value(Folder(t.Context(), dir, "", options()))(t)
	for _, f := range r.Findings() {
		if f.Level == Manual {
			t.Errorf("%s:%d: %s", f.File, f.Line, f.Message)
		}
	}
	want := "resources:\n- ../middle\npatches:\n- target: {kind: KubeadmControlPlane}\n  patch: |-\n    - op: test\n      path: " + at + "apiServer/extraArgs/2/value\n      value: \"2\"\n    - op: replace\n      path: " + at + "apiServer/extraArgs/3/value\n      value: \"3\"\n    - op: replace\n      path: " + at + "apiServer/extraArgs/1/value\n      value: none\n    - op: replace\n      path: " + at + "scheduler/extraArgs/0/value\n      value: a=false\n"
	for _, f := range r.Files {
		if f.Name == "top/kustomization.yaml" {
			if d := cmp.Diff(want, string(f.New)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			return
		}
	}
	t.Error("the top kustomization did not change")
}

// A merged patch repeats an argument of the objects it is for, as the layers before left it.
func TestRepeatedArguments(t *testing.T) {
	named := func(name, v string) string {
		return strings.NewReplacer("cp\n", name+"\n", `"2"`, strconv.Quote(v)).Replace(argumentsTemplate)
	}
	const audit = "              audit: \"1\"\n"
	const scheduler = "          scheduler:\n            extraArgs:\n              v: \"8\"\n"
	replaced := "\n  patch: |-\n    - op: replace\n      path: " + argumentsPath + "/v\n      value: \"5\"\n"
	placed := func(ops ...string) string { // op, place in the list, value
		out := "target: {kind: KubeadmControlPlaneTemplate}\n  patch: |-\n"
		for _, o := range ops {
			f := strings.SplitN(o, " ", 3)
			out += "    - {op: " + f[0] + ", path: " + argumentsPath + "/" + f[1] + ", value: " + f[2] + "}\n"
		}
		return out
	}
	emptied := "\n  patch: |-\n    - op: replace\n      path: /spec/template\n      value: {}\n"
	for name, row := range map[string]struct{ base, target, want string }{
		"replaced":               {base: "target: {kind: KubeadmControlPlaneTemplate}" + replaced, want: "5"},
		"of another name":        {base: "target: {name: other}" + replaced, want: "2"},
		"of another kind":        {base: "target: {kind: MachineDeployment}" + emptied, want: "2"},
		"merged into the target": {base: "target: {name: cp}\n  path: merge.yaml\n", want: "9"},
		"merged by its name":     {base: "path: merge.yaml\n", want: "2"},
		"put at the end":         {base: placed("remove 1 0", "add 1 {name: v, value: \"5\"}"), want: "5"},
		"moved back":             {base: placed("add 0 {name: x, value: '1'}", "add 2/value \"5\""), want: "5"},
		"beyond the list":        {base: placed("remove 2 0", "add 3 {name: v, value: \"5\"}"), want: "2"},
		"of the target":          {base: "path: merge.yaml\n", target: ", target: {name: other}", want: "9"},
	} {
		dir := t.TempDir()
		given.Files(t, dir, map[string]string{
			"base/kcp.yaml":           argumentsTemplate + scheduler + "---\n" + named("other", "7"),
			"base/merge.yaml":         named("other", "9"),
			"base/kustomization.yaml": "resources: [kcp.yaml]\npatches:\n- " + row.base,
			"top/merge.yaml":          strings.NewReplacer("v:", "cloud:", audit, "").Replace(argumentsTemplate),
			"top/kustomization.yaml":  "resources: [../base]\npatches: [{path: merge.yaml" + row.target + "}]\n",
		})
		r := given.Value(Folder(t.Context(), dir, "", options()))(t)
		i := slices.IndexFunc(r.Files, func(f *File) bool { return f.Name == "top/merge.yaml" })
		if i < 0 || !strings.Contains(string(r.Files[i].New), "- name: v\n                value: \""+row.want+"\"\n") {
			t.Errorf("%s: v is not repeated in %+v", name, r)
		}
	}
}
