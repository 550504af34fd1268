package inventory_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

const (
	componentsFile = "infrastructure-components.yaml"
	templateFile   = "cluster-template.yaml"
)

// release makes a release of an infrastructure provider from names and texts.
func release(files ...string) *repo.Release {
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Path: "foo"}
	for i := 0; i < len(files); i += 2 {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(files[i], []byte(files[i+1])))
	}
	r.Sort()
	return r
}

func variables(t *testing.T, r *repo.Release) map[string]inventory.Variable {
	t.Helper()
	list := given.Value(inventory.Variables(t.Context(), r))(t)
	out := map[string]inventory.Variable{}
	for _, v := range list {
		out[v.Name] = v
	}
	return out
}

func TestTypes(t *testing.T) {
	const crd = `kind: CustomResourceDefinition
spec:
  group: foo.io
  names: {kind: Box}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              size: {type: integer}
              name: {type: string}
              fast: {type: boolean}
              zones: {type: array, items: {type: integer}}
              tags: {type: object, additionalProperties: {type: boolean}}
              surge: {x-kubernetes-int-or-string: true, type: string}
              weight: {type: number}
`
	const box = "apiVersion: foo.io/v1\nkind: Box\nspec:\n  "
	for _, tt := range []struct {
		name, text string
		want       inventory.Type
	}{
		{"quoted", `a: "${V}"`, "string"},
		{"single quotes", `a: '${V}'`, "string"},
		{"quoted with a number", `a: "${V:=6443}"`, "string"},
		{"plain", `a: ${V}`, "unknown"},
		{"plain with a number", `a: ${V:=6443}`, "integer"},
		{"plain with a boolean", `a: ${V:-false}`, "boolean"},
		{"plain with a text", `a: ${V:=x}`, "string"},
		{"plain with a fraction", `a: ${V:=1.10}`, "unknown"},
		{"quotes in the default", `a: ${V:="12"}`, "string"},
		{"list in the default", `a: ${V:=["x"]}`, "list"},
		{"map in the default", `a: ${V:={x: 1}}`, "unknown"},
		{"defaults that differ in type", "a: ${V:=1}\nb: ${V:=x}", "unknown"},
		{"default with an expression", `a: ${V:=${W}}`, "unknown"},
		{"brackets", `a: [ ${V} ]`, "list"},
		{"one of two items", `a: [${V}, b]`, "unknown"},
		{"quoted in brackets", `a: ["${V}"]`, "string"},
		{"in a text", `a: x-${V}`, "string"},
		{"in a text with a number", `a: --v=${V:=0}`, "integer"},
		{"in a quoted text with a boolean", `a: "--v=${V:=false}"`, "boolean"},
		{"key", `${V}: x`, "string"},
		{"lines", "a: b\n${V}\nc: d", "block"},
		{"indented lines", "a:\n  b: c\n  ${V}\n", "block"},
		{"lines alone under a key", "a:\n  ${V}\n", "block"},
		{"block scalar", "a: |\n  ${V}\n", "string"},
		{"in a block scalar", "a: |\n  x ${V}\n  y\n", "string"},
		{"comment", "a: b # ${V}", "unknown"},
		{"comment before the rest", "# ${V}\na: ${V:=1}", "integer"},
		{"function", "a: ${V/x/y}", "unknown"},
		{"known field", "spec:\n  replicas: ${V}", "integer"},
		{"known field, quoted elsewhere", "a: \"${V}\"\nspec:\n  replicas: ${V}", "integer"},
		{"known field against a default", "spec:\n  replicas: ${V:=many}", "unknown"},
		{"known field, quoted number elsewhere", "spec:\n  replicas: ${V:=1}\na: ${V:=\"1\"}", "integer"},
		{"known fields that differ", "port: ${V}\npaused: ${V}", "unknown"},
		{"known field against brackets", "port: ${V}\na: [${V}]", "unknown"},
		{"label", "metadata:\n  labels:\n    x: ${V}", "string"},
		{"items of a known field", "cidrBlocks:\n- ${V}", "string"},
		{"name of an option", "a: ${CLUSTER_NAME}", "string"},
		{"schema: integer", box + "size: ${V}", "integer"},
		{"schema: string", box + "name: ${V:=5}", "string"},
		{"schema: boolean", box + "fast: ${V}", "boolean"},
		{"schema: array", box + "zones: ${V}", "list"},
		{"schema: items", box + "zones: [1, ${V}]", "integer"},
		{"schema: any key", box + "tags: {x: ${V}}", "boolean"},
		{"schema: either", box + "surge: ${V}", "unknown"},
		{"schema: number", box + "weight: ${V}", "unknown"},
		{"schema: not there", box + "other: ${V}", "unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := variables(t, release(componentsFile, crd, templateFile, tt.text))
			v, ok := all["V"]
			if !ok {
				v = all["CLUSTER_NAME"]
			}
			if v.Type != tt.want {
				t.Errorf("%q: type %q, want %q", tt.text, v.Type, tt.want)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		want             []string // kind and expressions of V
		required         bool
	}{
		{"nothing", templateFile, "a: ${V:=x}\nb: ${V:=x}", nil, false},
		{"required", templateFile, "a: ${V}\nb: ${V}", nil, true},
		{"nested", templateFile, "a: ${A:=${V}}", []string{"nested ${V}"}, false},
		{"nested and listed", templateFile, "a: ${A:=${V}}\nb: ${V}", nil, true},
		{"default first", templateFile, "a: ${V:=x}\nb: ${V}\nc: ${V^^}\n", []string{"bare-use ${V} ${V^^}"}, false},
		{"default first, nested later", templateFile, "a: ${V:=x}\nb: ${A:=${V}}", []string{"bare-use ${V}"}, false},
		{"explicitly empty later", templateFile, "a: ${V:=x}\nb: ${V:=}", nil, false},
		{"bare first", templateFile, "a: ${V}\nb: ${V:=x}", []string{"unused-default ${V:=x}"}, true},
		{"empty default", templateFile, "a: ${V:-}", []string{"empty-default ${V:-}"}, true},
		{"function", templateFile, "a: ${V/x/y}", []string{"fake-default ${V/x/y}"}, false},
		{"message", templateFile, "a: ${V:?no V}", []string{"fake-default ${V:?no V}"}, false},
		{"upper case", templateFile, "a: ${V^^}", nil, true},
		{"comment", templateFile, "a: b # ${V}", []string{"comment ${V}"}, true},
		{"no comment", templateFile, "a: b#${V}\nc: '# ${V}'\nd: |\n  # ${V}", nil, true},
		{"nested in a comment", templateFile, "# ${A:=${V}}\na: b", []string{"nested ${V}", "comment ${V}"}, false},
		{"defaults", templateFile, "a: ${V:=x}\nb: ${V:-x}\nc: ${V=y}", []string{"defaults-differ ${V:=x} ${V=y}"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := variables(t, release(tt.file, tt.text))["V"]
			if diff := cmp.Diff(tt.want, notes(v)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if v.Required != tt.required {
				t.Errorf("required is %v", v.Required)
			}
		})
	}
}

// notes returns the kinds of the notes of a variable with their expressions.
func notes(v inventory.Variable) (out []string) {
	for _, n := range v.Notes {
		s := string(n.Kind)
		for _, p := range n.Places {
			s += " " + p.Expression
		}
		out = append(out, s)
	}
	return out
}

func TestOptions(t *testing.T) {
	all := variables(t, release(
		componentsFile, "a: ${NAMESPACE}",
		templateFile, "a: ${CONTROL_PLANE_MACHINE_COUNT:=3}\nb: ${WORKER_MACHINE_COUNT}\nc: ${KUBERNETES_VERSION}\nd: ${CLUSTER_NAME}\ne: ${NAMESPACE}\nf: ${FOO:=x}",
	))
	type view struct {
		Option   string
		Required bool
		Notes    []string
	}
	got := map[string]view{}
	for name, v := range all {
		got[name] = view{v.Option, v.Required, notes(v)}
	}
	want := map[string]view{
		"CONTROL_PLANE_MACHINE_COUNT": {"--control-plane-machine-count", false, []string{"option-default ${CONTROL_PLANE_MACHINE_COUNT:=3}"}},
		"WORKER_MACHINE_COUNT":        {"--worker-machine-count", false, nil},
		"KUBERNETES_VERSION":          {"--kubernetes-version", true, nil},
		"CLUSTER_NAME":                {"NAME", false, nil},
		"NAMESPACE":                   {"--target-namespace", true, nil}, // nobody sets it in components
		"FOO":                         {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFilesAndUses(t *testing.T) {
	v := variables(t, release(
		componentsFile, "a: é ${V:=x}\n",
		"cluster-template-ha.yaml", "a: ${V}\nb: ${V:=y}\n",
		"clusterclass-q.yaml", "a: ${V:=x}\n",
	))["V"]
	x := "x"
	place := func(file string, line, column int, text string) inventory.Place {
		return inventory.Place{File: file, Line: line, Column: column, Expression: text}
	}
	want := inventory.Variable{
		Name: "V", Type: "string", Required: true, Default: &x, Meaning: "a",
		Files: []inventory.InFile{{componentsFile, &x}, {"cluster-template-ha.yaml", nil}, {"clusterclass-q.yaml", &x}},
		Uses: []inventory.Use{
			{Place: place(componentsFile, 1, 6, "${V:=x}"), Default: "x"},
			{Place: place("cluster-template-ha.yaml", 1, 4, "${V}")},
			{Place: place("cluster-template-ha.yaml", 2, 4, "${V:=y}"), Default: "y"},
			{Place: place("clusterclass-q.yaml", 1, 4, "${V:=x}"), Default: "x", Hidden: "class"},
		},
	}
	if diff := cmp.Diff([]string{"unused-default ${V:=y}", "defaults-differ ${V:=x} ${V:=y}", "sometimes-needed ${V}"}, notes(v)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	v.Notes = nil
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestClasses(t *testing.T) {
	cluster := func(version, topology string) string {
		return "apiVersion: cluster.x-k8s.io/" + version + "\nkind: Cluster\nspec:\n  topology: " + topology + "\n"
	}
	const class = "a: ${IN_CLASS}\nb: ${WITH_DEFAULT:=x}\nc: ${CLUSTER_NAME}\nd: ${BOTH}\n"
	for _, tt := range []struct {
		name, text string
		pulled     bool
		named      bool // by a variable
	}{
		{"v1beta1", cluster("v1beta1", "{class: quick}"), true, false},
		{"v1beta2", cluster("v1beta2", "{classRef: {name: quick}}"), true, false},
		{"v1beta2 with the old field", cluster("v1beta2", "{class: quick}"), false, false},
		{"v1alpha4", cluster("v1alpha4", "{class: quick}"), false, false},
		{"another class", cluster("v1beta1", "{class: slow}"), false, false},
		{"other kind", strings.Replace(cluster("v1beta1", "{class: quick}"), "Cluster", "Custer", 1), false, false},
		{"no topology", cluster("v1beta1", "null"), false, false},
		{"default", cluster("v1beta1", "{class: \"${CLASS:=quick}\"}"), true, true},
		{"part", cluster("v1beta1", "{class: \"qu${CLASS:=ick}\"}"), true, true},
		{"no default", cluster("v1beta1", "{class: \"${CLASS}\"}"), false, true},
		{"name of the cluster", cluster("v1beta1", "{class: \"${CLUSTER_NAME:=quick}\"}"), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := release("cluster-template-ha.yaml", tt.text+"x: ${BOTH}\n", "clusterclass-quick.yaml", class)
			all := variables(t, r)
			for _, name := range []string{"IN_CLASS", "WITH_DEFAULT"} {
				var want []string
				if tt.pulled {
					want = []string{"class " + all[name].Uses[0].Expression}
				}
				if diff := cmp.Diff(want, notes(all[name])); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if n := notes(all["BOTH"]); n != nil {
				t.Errorf("BOTH is listed for the template, but has notes %q", n)
			}
			if tt.named && !slices.ContainsFunc(all["CLASS"].Notes, func(n inventory.Note) bool { return n.Kind == "class-name" }) {
				t.Errorf("CLASS names the class, but has notes %q", notes(all["CLASS"]))
			}
		})
	}
}

// A file that cannot be read must not hide the others, and what is wrong has its place.
func TestBrokenFile(t *testing.T) {
	unreadable := errors.New("unreadable")
	r := release(componentsFile, "a: ${A}\nkind: Pod\nspec: {containers: [{image: x}]}", "cluster-template-a.yaml", "a: ${", templateFile, "a: ${B}\n---\na: [\n")
	r.Artifacts = append(r.Artifacts, repo.NewArtifact("clusterclass-x.yaml", "foo/clusterclass-x.yaml", 1, func() (io.ReadCloser, error) { return nil, unreadable }))
	list, err := inventory.Variables(t.Context(), r)
	if !errors.Is(err, unreadable) || !strings.Contains(err.Error(), "cluster-template-a.yaml:1:4") {
		t.Errorf("error %v", err)
	}
	if len(list) != 2 {
		t.Errorf("%d variables, want A and B", len(list))
	}
	images, err := inventory.Images(t.Context(), r)
	if !errors.Is(err, unreadable) || !strings.Contains(err.Error(), "cluster-template.yaml:4") {
		t.Errorf("error %v", err)
	}
	if len(images) != 1 {
		t.Errorf("%d images, want 1", len(images))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inventory.Variables(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancelling", err)
	}
	if _, err := inventory.Images(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancelling", err)
	}
}

func TestWorkloads(t *testing.T) {
	const template = "\nmetadata: {name: m, namespace: n}\nspec:\n  template:\n    spec:\n      "
	const all = "{containers: [{name: a, image: docker.io/x/a:1}], initContainers: [{name: b, image: docker.io/x/b:1}], ephemeralContainers: [{name: c, image: docker.io/x/c:1}]}"
	for _, tt := range []struct {
		kind, text string
		file       string
		seen       bool
	}{
		{"Deployment", "kind: Deployment" + template + all, componentsFile, true},
		{"DaemonSet", "kind: DaemonSet" + template + all, componentsFile, true},
		{"StatefulSet", "kind: StatefulSet" + template + all, componentsFile, false},
		{"ReplicaSet", "kind: ReplicaSet" + template + all, componentsFile, false},
		{"Job", "kind: Job" + template + all, componentsFile, false},
		{"CronJob", "kind: CronJob\nmetadata: {name: m, namespace: n}\nspec: {jobTemplate: {spec: {template: {spec: " + all + "}}}}", componentsFile, false},
		{"Pod", "kind: Pod\nmetadata: {name: m, namespace: n}\nspec: " + all, componentsFile, false},
		{"Deployment", "kind: List\nitems:\n- kind: Deployment\n  metadata: {name: m, namespace: n}\n  spec: {template: {spec: " + all + "}}", componentsFile, false},
		{"Deployment", "kind: Deployment" + template + all, templateFile, false},
		{"Deployment", "kind: Deployment" + template + all, "clusterclass-x.yaml", false},
	} {
		t.Run(tt.kind+" in "+tt.file, func(t *testing.T) {
			images := given.Value(inventory.Images(t.Context(), release(tt.file, tt.text)))(t)
			var got []string
			for _, img := range images {
				seen := ""
				if img.SeenByClusterctl {
					seen = " seen"
				}
				got = append(got, img.Object+" "+img.Field+" "+img.Container+" "+img.Ref+seen)
			}
			seen := ""
			if tt.seen {
				seen = " seen"
			}
			want := []string{
				tt.kind + " n/m containers a docker.io/x/a:1" + seen,
				tt.kind + " n/m initContainers b docker.io/x/b:1" + seen,
				tt.kind + " n/m ephemeralContainers c docker.io/x/c:1",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	images, err := inventory.Images(t.Context(), release(componentsFile, "kind: ConfigMap\nspec: "+all+"\n---\nkind: Pod\nspec: {containers: [{name: a}, {image: [x]}, 5]}"))
	if err != nil || len(images) != 0 {
		t.Errorf("images %v, error %v where there are none", images, err)
	}
}

func TestImageNames(t *testing.T) {
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, tt := range []struct {
		text string
		want inventory.Image
	}{
		{"ghcr.io/a/b/c:v1", inventory.Image{Ref: "ghcr.io/a/b/c:v1", Canonical: true, Repository: "ghcr.io/a/b", Name: "c", Tag: "v1"}},
		{"localhost:5000/c@" + digest, inventory.Image{Ref: "localhost:5000/c@" + digest, Canonical: true, Repository: "localhost:5000", Name: "c", Digest: digest}},
		{"ghcr.io/a/c", inventory.Image{Ref: "ghcr.io/a/c", Canonical: true, Repository: "ghcr.io/a", Name: "c"}},
		{"nginx:1.29", inventory.Image{Ref: "nginx:1.29", Repository: "docker.io/library", Name: "nginx", Tag: "1.29"}},
		{"docker.io/nginx", inventory.Image{Ref: "docker.io/nginx", Repository: "docker.io/library", Name: "nginx"}},
		{"Foo/Bar", inventory.Image{Ref: "Foo/Bar"}},
		{`""`, inventory.Image{}},
		{"~", inventory.Image{}},
		{`"${I:=ghcr.io/a/c:v1}"`, inventory.Image{Ref: "ghcr.io/a/c:v1", Expression: "${I:=ghcr.io/a/c:v1}", Canonical: true, Repository: "ghcr.io/a", Name: "c", Tag: "v1"}},
		{"ghcr.io/a/c:${T:=v1}", inventory.Image{Ref: "ghcr.io/a/c:v1", Expression: "ghcr.io/a/c:${T:=v1}", Canonical: true, Repository: "ghcr.io/a", Name: "c", Tag: "v1"}},
		{"ghcr.io/a/c:${T:=v1}-${U}", inventory.Image{Ref: "ghcr.io/a/c:${T:=v1}-${U}", Variable: "U"}},
		{"${I}", inventory.Image{Ref: "${I}", Variable: "I"}},
		{"ghcr.io/a/c:${T#v}", inventory.Image{Ref: "ghcr.io/a/c:${T#v}", Variable: "T"}}, // v is an argument
		{"ghcr.io/a/c:${T/+/_}", inventory.Image{Ref: "ghcr.io/a/c:${T/+/_}", Variable: "T"}},
	} {
		images, err := inventory.Images(t.Context(), release(componentsFile, "kind: Pod\nmetadata:\n  name: ${N}-x\nspec:\n  containers:\n  - image: "+tt.text+"\n"))
		if err != nil || len(images) != 1 {
			t.Fatalf("%s: images %v, error %v", tt.text, images, err)
		}
		want := tt.want
		want.Object, want.Field, want.File, want.Line, want.Column = "Pod ${N}-x", "containers", componentsFile, 6, 12
		if diff := cmp.Diff(want, images[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// check compares the inventory of a release with the files themselves, and
// returns the variables.
func check(t *testing.T, r *repo.Release) []inventory.Variable {
	t.Helper()
	list := given.Value(inventory.Variables(t.Context(), r))(t)
	files := map[string]map[string]*string{}
	uses := map[string]int{}
	for _, v := range list {
		if len(v.Uses) == 0 || v.Type == "" {
			t.Errorf("%s: %s has %d uses and type %q", r.Path, v.Name, len(v.Uses), v.Type)
		}
		required := false
		for _, f := range v.Files {
			if files[f.File] == nil {
				files[f.File] = map[string]*string{}
			}
			files[f.File][v.Name] = f.Default
			required = required || f.Default == nil
		}
		if v.Required && !required {
			t.Errorf("%s: %s is required, but by no file", r.Path, v.Name)
		}
		for _, u := range v.Uses {
			uses[u.File]++
		}
	}
	for _, a := range r.Artifacts {
		switch a.Kind() {
		case layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass:
		default:
			continue
		}
		data := given.Value(a.Bytes())(t)
		template := given.Value(vars.Parse(data))(t)
		var want map[string]*string
		for _, v := range template.Variables() {
			if want == nil {
				want = map[string]*string{}
			}
			want[v.Name] = v.Default
		}
		if diff := cmp.Diff(want, files[a.Name]); diff != "" {
			t.Errorf("%s: variables (-want +got):\n%s", a.Path, diff)
		}
		if n := len(template.Refs()); uses[a.Name] != n {
			t.Errorf("%s: %d uses, want %d", a.Path, uses[a.Name], n)
		}
		raw := yamldoc.NewFile(a.Name, data)
		for _, v := range list {
			for _, u := range v.Uses {
				if u.File == a.Name && !strings.HasPrefix(string(data[raw.Offset(yamldoc.Pos{Line: u.Line, Column: u.Column}):]), u.Expression) {
					t.Errorf("%s:%d:%d is not %s", a.Path, u.Line, u.Column, u.Expression)
				}
			}
		}
	}
	images, _ := inventory.Images(t.Context(), r)
	references, _ := inventory.References(t.Context(), r)
	for _, img := range references {
		if img.Line < 1 || img.Column < 1 || img.File == "" || img.Field == "" {
			t.Errorf("%s: %+v has no place", r.Path, img)
		}
	}
	if len(references) < len(images) {
		t.Errorf("%s: %d references, but %d images", r.Path, len(references), len(images))
	}
	for _, format := range report.InventoryFormats {
		if err := report.WriteVariables(io.Discard, format, []report.Inventory[inventory.Variable]{{Release: r, Items: list}}); err != nil {
			t.Error(err)
		}
		if err := report.WriteImages(io.Discard, format, []report.Inventory[inventory.Image]{{Release: r, Items: images}}); err != nil {
			t.Error(err)
		}
	}
	return list
}

func TestCorpus(t *testing.T) {
	r := given.Value(folder.Open(t.Context(), share.Corpus(t, "releases")))(t)
	types := map[inventory.Type]int{}
	total := 0
	for _, p := range r.Providers {
		for _, rel := range p.Releases {
			list := check(t, rel)
			total += len(list)
			for _, v := range list {
				types[v.Type]++
			}
			images, err := inventory.Images(t.Context(), rel)
			if err != nil {
				t.Error(err)
			}
			for _, img := range images {
				if img.SeenByClusterctl && !img.Canonical {
					t.Errorf("%s:%d: clusterctl refuses %s", img.File, img.Line, img.Ref)
				}
			}
		}
	}
	t.Logf("%d variables: %v", total, types)
	if types["unknown"]*20 > total {
		t.Errorf("the type of %d of %d variables is unknown", types["unknown"], total)
	}
}

func FuzzInventory(f *testing.F) {
	for _, text := range []string{
		"a: ${V:=x} # ${W}\n---\nkind: Pod\nspec: {containers: [{image: \"${I:=nginx}\"}]}",
		"apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nspec: {topology: {class: ${C:=x}}}",
		"a: &a [${V}]\nb: *a\n${ BLOCK }\n",
		"? ${K}\n: |\n  ${V}\n- $${E}${A:=${B:-${C}}}",
		"{a: ${A}, \"b\": \"${B}\"}", "a: !!str ${A}\r\n\t${B}", "\ufeff${A/b/c}\x00${D}", "a: '${A}\n\n ${B}'\n--- x",
		"kind: CustomResourceDefinition\nspec: {group: a, names: {kind: b}, versions: [{name: v1, schema: {openAPIV3Schema: {}}}]}",
	} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		class := a + b + "${X}"
		for _, s := range []string{a, b, class} {
			if _, err := vars.Parse([]byte(s)); err != nil {
				t.Skip()
			}
		}
		check(t, release(componentsFile, a, templateFile, b, "clusterclass-x.yaml", class))
	})
}

// TestMeaning takes a comment for what a variable means only if it speaks about it.
func TestMeaning(t *testing.T) {
	for text, want := range map[string]string{
		"a: ${V} # The zone. More.":                               "The zone",
		"a: '${V}' # Zones, hosts etc. of the cloud":              "Zones, hosts etc. of the cloud",
		"a: \"${V} #5 of ${W}\"":                                  "a",
		"a: '${V} it''s #5' # The zone":                           "The zone",
		"a: ${V} # TODO fix this":                                 "a",
		"b:\n  # Where the machines\n  # are. Or not.\n  a: ${V}": "Where the machines are",
		"b:\n# End of the section\na: ${V}":                       "a",
		"b:\n  # About b only\na: ${V}":                           "a",
		"# About all of it\n\na: ${V}":                            "a",
	} {
		if got := variables(t, release(templateFile, text))["V"].Meaning; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
