package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func read(t testing.TB, text string) *snapshot.Snapshot {
	t.Helper()
	s := &snapshot.Snapshot{}
	given.NoError(t, s.Read(t.Context(), "dump", strings.NewReader(text)))
	return s
}

// names lists the objects, with their API version unless it is v1, and the lines of the
// problems.
func names(s *snapshot.Snapshot) []string {
	var out []string
	for i := range s.Objects {
		o := &s.Objects[i]
		out = append(out, strings.TrimPrefix(path.Join(o.Group, o.Version, o.String()), "v1/"))
	}
	for _, err := range s.Problems {
		e, ok := errors.AsType[*yamldoc.Error](err)
		if !ok {
			out = append(out, err.Error())
			continue
		}
		out = append(out, fmt.Sprintf("line %d", e.Pos.Line))
	}
	return out
}

func TestRead(t *testing.T) {
	yaml := func(kind, name string) string {
		return "apiVersion: v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n"
	}
	json := func(name string) string { return `{"apiVersion":"v1","kind":"A","metadata":{"name":"` + name + `"}}` }
	item := func(name string) string { return `{"metadata":{"name":"` + name + `"}}` }
	const list = "apiVersion: v1\nkind: List\nitems:\n- "
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":              {"", nil},
		"blanks":               {" \n\n\t\n", nil},
		"a document":           {yaml("A", "a"), []string{"A a"}},
		"documents":            {"---\n" + yaml("A", "a") + "---\n# only this\n---\n" + yaml("B", "b") + "...\n", []string{"A a", "B b"}},
		"a mark and more":      {yaml("A", "a") + "--- # and\n" + yaml("B", "b") + "--- " + json("c") + "\n", []string{"A a", "B b", "A c"}},
		"a mark and a brace":   {yaml("A", "a") + "--- {\n" + json("b")[1:] + "\n", []string{"A a", "A b"}},
		"Windows":              {strings.ReplaceAll(yaml("A", "a")+"---\n"+yaml("B", "b"), "\n", "\r\n"), []string{"A a", "B b"}},
		"a mark of order":      {"\xef\xbb\xbf" + yaml("A", "a"), []string{"A a"}},
		"JSON after the same":  {"\xef\xbb\xbf" + json("a") + json("b"), []string{"A a", "A b"}},
		"JSON after a comment": {"--- #\n" + json("a") + json("b"), []string{"A a", "A b"}},
		"JSON, other values":   {`{"n":12,"x":null ,"list":[` + json("b") + `],` + json("a")[1:], []string{"A a"}},
		"flow, a quoted key":   {`{"x", apiVersion: v1, kind: A, metadata: {name: a}}`, []string{"A a"}},
		"JSON after blanks": {
			" \t" + json("a") + json("b") + " \n" + json("c") + json("d"), []string{"A a", "A b", "A c", "A d"},
		},
		"more after a mark": {
			"--- kind: A\napiVersion: v1\nmetadata: {name: a}\n---\n" + yaml("B", "b"), []string{"A a", "B b"},
		},
		"JSON with blanks": {
			"[{ \"apiVersion\"\t: \"v1\" ,\r\n\"kind\" :\t\"A\", \"metadata\"\r\n:{\"name\":\"a\"}\t}\t, " +
				json("b") + " ]\t" + json("c"),
			[]string{"A a", "A b", "A c"},
		},
		"JSON, long": {
			`{"x":"` + strings.Repeat("x", 1<<17) + `",` + json("a")[1:] + json("b"), []string{"A a", "A b"},
		},
		"an indented document": {"  apiVersion: v1\n  kind: A\n  metadata: {name: a}\n", []string{"A a"}},
		"flow":                 {"{apiVersion: v1, kind: A, metadata: {name: 'a'}}\n---\n" + yaml("B", "b"), []string{"A a", "B b"}},
		"flow, a List":         {"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A, metadata: {name: a}}]}\n", []string{"A a"}},
		"JSON":                 {json("a"), []string{"A a"}},
		"JSON after a mark":    {"---\n" + json("a") + "\n---\n\n " + json("b"), []string{"A a", "A b"}},
		"JSON, one a line":     {json("a") + "\n" + json("b") + json("c"), []string{"A a", "A b", "A c"}},
		"JSON, an array":       {"[" + json("a") + ",\n" + json("b") + "]\n", []string{"A a", "A b"}},
		"JSON, a List":         {`{"apiVersion":"v1","items":[` + json("a") + "," + json("b") + `],"kind":"List","metadata":{"resourceVersion":""}}`, []string{"A a", "A b"}},
		"JSON, an empty List":  {`{"apiVersion":"v1","items":[],"kind":"List"}`, nil},
		"JSON, a typed List":   {`{"kind":"SecretList","apiVersion":"v1","metadata":{"continue":""},"items":[` + item("a") + "," + item("b") + `]}`, []string{"Secret a", "Secret b"}},
		"JSON, Lists in Lists": {`{"kind":"List","apiVersion":"v1","items":[{"kind":"List","apiVersion":"v1","items":[` + json("a") + `]}]}`, []string{"A a"}},
		"JSON, odd strings":    {`{"apiVersion":"v1","kind":"A","metadata":{"name":"a","annotations":{"x":"}]\"\\"}},"items2":"]"}` + json("b"), []string{"A a", "A b"}},
		"YAML, a List": {
			"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n  data:\n    x: |\n      - b\n      kind: C\n\n- apiVersion: v1\n  kind: B\n  metadata:\n    name: b\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
			[]string{"A a", "B b"},
		},
		"YAML, an indented List": {
			"apiVersion: v1\nkind: List\nitems:\n  # first\n  - apiVersion: v1\n    kind: A\n    metadata:\n      name: a\n  -\n    apiVersion: v1\n    kind: B\n    metadata:\n      name: b\n---\n" + yaml("C", "c"),
			[]string{"A a", "B b", "C c"},
		},
		"YAML, another list": {list + json("a") + "\nother:\n- " + json("b") + "\n", []string{"A a"}},
		"YAML, a typed List": {
			"apiVersion: 'g/v2'\nkind: \"FooList\"\nitems:\n- metadata: {name: a}\n", []string{"g/v2/Foo a"},
		},
		"YAML, a flow of List": {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: A, metadata: {name: a}}]\n", []string{"A a"}},
		"YAML, an empty List":  {"apiVersion: v1\nitems: []\nkind: List\n", nil},
		"a kind that is called List": {
			yaml("AllowList", "a"), []string{"AllowList a"},
		},

		// What is wrong hides nothing else.
		"broken YAML":             {yaml("A", "a") + "---\na: [\n---\n" + yaml("B", "b"), []string{"A a", "B b", "line 6"}},
		"no object":               {yaml("A", "a") + "---\na: b\n---\nsome text\n---\n" + yaml("B", "b"), []string{"A a", "B b", "line 6", "line 8"}},
		"no name":                 {"apiVersion: v1\nkind: A\n", []string{"line 1"}},
		"a broken item":           {"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n- kind: \"B\n  x\n- apiVersion: v1\n  kind: C\n  metadata: {name: c}\nkind: List\n", []string{"A a", "C c", "line 7"}},
		"a broken element":        {"[" + json("a") + ",\n{\"kind\": nothing},\n" + json("b") + "]", []string{"A a", "A b", "line 2"}},
		"items twice":             {list + json("a") + "\nitems:\n- " + json("b") + "\n", []string{"A a", "A b"}},
		"no item":                 {strings.TrimSpace(list) + "b\n", []string{"line 4"}},
		"an item of nothing":      {strings.TrimSpace(list), []string{"line 4"}},
		"a letter after items":    {list + json("a") + "\ny\n", []string{"A a", "line 5"}},
		"an end after items":      {list + json("a") + "\n# kind\nkind: [\n", []string{"A a", "line 6"}},
		"lines before":            {"\n\na: b\n--- a: b\n--- c: d\n\n", []string{"line 3", "line 4", "line 5"}},
		"lines in JSON":           {"{\n\"a\":{\n\n}}\n{}[1,2]", []string{"line 1", "line 5", "line 5", "line 5"}},
		"an end too early":        {"[" + json("a") + ",\n{\"kind\": \"x\"", []string{"A a", "line 2"}},
		"an end in a List":        {`{"apiVersion":"v1","items":[` + json("a") + ",\n" + json("b"), []string{"A a", "A b", "line 1"}},
		"a label that is no text": {"apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {clusterctl.cluster.x-k8s.io/move: 1}}\n---\n" + yaml("B", "b"), []string{"B b", "line 1"}},
		"items of something else": {"apiVersion: v1\nkind: A\nmetadata: {name: a}\nitems:\n- apiVersion: v1\n  kind: B\n  metadata: {name: b}\n", []string{"B b", "line 1"}},
		"half an item": {
			`{"kind":"AList","apiVersion":"v1","items":[{"kind":"A","metadata":{"name":"a"}}]}`, []string{"line 1"},
		},
		"two broken items": {
			"a: [\n---\n{apiVersion: v1, kind: List, items: [{a: 1}, 2, " + json("a") + "]}\n",
			[]string{"A a", "line 1", "line 3"},
		},
		"JSON, no List": {
			`{"kind":"A","apiVersion":"v1","metadata":{"name":"a"},"items":[` + json("b") + `]}`,
			[]string{"A b", "line 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, c.text)
			if got := names(s); !slices.Equal(got, c.want) || s.Incomplete() != strings.Contains(strings.Join(c.want, " "), "line ") {
				t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
			}
		})
	}
}

// TestFields reads what a move depends on.
func TestFields(t *testing.T) {
	s := read(t, `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: c
  namespace: ns
  uid: u1
  labels: {clusterctl.cluster.x-k8s.io/move: "", clusterctl.cluster.x-k8s.io/move-hierarchy: "false", clusterctl.cluster.x-k8s.io: "", cluster.x-k8s.io/cluster-name: c}
  annotations: {clusterctl.cluster.x-k8s.io/block-move: "", cluster.x-k8s.io/paused: ""}
  ownerReferences:
  - {apiVersion: example.com/v1, kind: Foo, name: f, uid: u2}
spec:
  paused: true
  infrastructureRef: {apiGroup: example.com, kind: FooCluster, name: i}
  controlPlaneRef: {apiGroup: example.com, kind: FooControlPlane, name: p}
  topology: {classRef: {name: cc, namespace: other}}
status:
  initialization: {infrastructureProvisioned: true, controlPlaneInitialized: true}
  conditions: [{type: Other, status: "False"}, {type: ControlPlaneInitialized, status: "True"}, {type: ScalingUp, status: "True"}, {type: Remediating, status: "False"}]
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: old}
spec:
  infrastructureRef: {apiVersion: example.com/v1, kind: FooCluster, name: i}
  topology: {class: cc, classNamespace: other}
status:
  infrastructureReady: true
  controlPlaneReady: true
  v1beta2: {conditions: [{type: ControlPlaneInitialized, status: "True"}]}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: cc}
spec:
  infrastructure: {templateRef: {apiVersion: e/v1}}
  controlPlane: {templateRef: {kind: B}, machineInfrastructure: {templateRef: {name: c}}}
  workers: {machineDeployments: [{infrastructure: {templateRef: {apiGroup: d}}, bootstrap: {ref: {}, templateRef: {name: e}}}]}
  patches: [{external: {generateExtension: g, validateExtension: v}}, {external: {validateExtension: g}}]
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {name: old}
spec:
  infrastructure: {ref: {apiVersion: e/v1, kind: A, name: a}}
  controlPlane: {ref: {apiVersion: e/v1, kind: B, name: b}, machineInfrastructure: {ref: {apiVersion: e/v1, kind: C, name: c}}}
  workers: {machinePools: [{template: {infrastructure: {ref: {apiVersion: e/v1, kind: D, name: d}}, bootstrap: {ref: {apiVersion: e/v1, kind: E, name: e}}}}]}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: m}
spec: {bootstrap: {configRef: {apiVersion: a/v1, apiGroup: b, kind: Config, name: c}}, infrastructureRef: {apiGroup: i, kind: FooMachine, name: m}}
status: {nodeRef: {name: node}}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSetBinding
metadata: {name: b}
spec: {clusterName: c}
---
apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Provider
metadata: {name: infrastructure-foo}
type: InfrastructureProvider
providerName: foo
version: v1.2.3
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec: {group: example.com, names: {kind: Foo, plural: foos}, scope: Cluster, versions: [{name: v1, storage: false}, {name: v2, storage: true, served: false}]}
---
apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata: {name: e}
status: {handlers: [{name: a}, {name: b}], conditions: [{type: Other}, {type: Discovered, status: "True", message: m}], v1beta2: {conditions: [{type: Discovered, message: last}]}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {password: c2VjcmV0}
`)
	if len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	ref := func(group, version, kind, name string) snapshot.Ref {
		return snapshot.Ref{Group: group, Version: version, Kind: kind, Name: name}
	}
	templates := []snapshot.Ref{ref("e", "v1", "A", "a"), ref("e", "v1", "B", "b"), ref("e", "v1", "C", "c"), ref("e", "v1", "D", "d"), ref("e", "v1", "E", "e")}
	for i, want := range []any{
		&snapshot.Cluster{
			Class: "cc", ClassNamespace: "other", Paused: true, Provisioned: true, ControlPlaneInitialized: true, Initialized: true, HasControlPlane: true,
			Busy: []string{"ScalingUp"},
			Refs: []snapshot.Ref{ref("example.com", "", "FooCluster", "i"), ref("example.com", "", "FooControlPlane", "p")},
		},
		&snapshot.Cluster{
			Class: "cc", ClassNamespace: "other", Provisioned: true, ControlPlaneInitialized: true, Initialized: true,
			Refs: []snapshot.Ref{ref("example.com", "v1", "FooCluster", "i")},
		},
		&snapshot.Class{Templates: []snapshot.Ref{
			ref("e", "v1", "", ""), ref("", "", "B", ""), ref("", "", "", "c"), ref("d", "", "", ""), ref("", "", "", "e"),
		}, Extensions: []string{"g", "v"}},
		&snapshot.Class{Templates: templates},
		&snapshot.Machine{HasNode: true, Refs: []snapshot.Ref{ref("b", "v1", "Config", "c"), ref("i", "", "FooMachine", "m")}},
		&snapshot.Binding{Cluster: "c"},
		&snapshot.Provider{Type: "InfrastructureProvider", Name: "foo", Version: "v1.2.3"},
		&snapshot.Definition{Group: "example.com", Kind: "Foo", Plural: "foos", Storage: "v2", Unserved: true, Served: []string{"v1"}, Global: true},
		&snapshot.Extension{Discovered: true, Message: "last", Handlers: []string{"a", "b"}},
		nil,
	} {
		if class, ok := s.Objects[i].Detail.(*snapshot.Class); ok {
			class.Digest = 0 // see TestDigest
		}
		if got := s.Objects[i].Detail; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%v: %+v, want %+v", &s.Objects[i], got, want)
		}
	}
	for group, want := range map[string]bool{"a.x-k8s.io": true, "a.io": true, "a.k8s.io": false, "apps": false, "": false} {
		if snapshot.NeedsSpec(group, "Foo") != want {
			t.Errorf("group %q: want %v", group, want)
		}
	}
	o := s.Objects[0]
	o.Detail, o.Names = nil, nil
	want := snapshot.Object{
		Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster", Namespace: "ns", Name: "c", UID: "u1", Cluster: "c",
		Marks:  snapshot.Clusterctl | snapshot.Move | snapshot.MoveHierarchy | snapshot.BlockMove | snapshot.Paused,
		Owners: []snapshot.Owner{{Group: "example.com", Version: "v1", Kind: "Foo", Name: "f", UID: "u2"}},
	}
	if fmt.Sprintf("%+v", o) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v, want %+v", o, want)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	object := func(name string) string {
		return `{"apiVersion":"v1","kind":"A","metadata":{"name":"` + name + `","namespace":"ns"}}`
	}
	given.Files(t, dir, map[string]string{
		"A_ns_a.yaml": object("a"), "deep/b.json": object("b"), "c.yml": "apiVersion: v1\nkind: A\nmetadata: {name: c}\n", "README.md": "not read", "bad.yaml": "[",
		"A_ns_two.yaml": object("two") + object("more"),
	})
	want := []string{"A ns/a", "A ns/two", "A ns/more", "A c", "A ns/b", "line 1"}
	if os.Symlink("../out.yaml", filepath.Join(dir, "link.yaml")) == nil {
		want = append(want, "line 0")
	}
	s := &snapshot.Snapshot{}
	given.NoError(t, s.ReadFile(t.Context(), dir))
	if got := names(s); !slices.Equal(got, want) || s.Saved != 1 {
		t.Error(got, s.Saved)
	}
	if err := s.ReadFile(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := s.ReadFile(t.Context(), t.TempDir()); !errors.Is(err, snapshot.ErrNothing) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{dir, filepath.Join(dir, "c.yml")} {
		if err := s.ReadFile(ctx, name); !errors.Is(err, context.Canceled) {
			t.Error(name, err)
		}
	}
	if _, err := s.ReadList(ctx, snapshot.Source{}, strings.NewReader("")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestReadList follows a list over pages.
func TestReadList(t *testing.T) {
	s := &snapshot.Snapshot{}
	from := snapshot.Source{Name: "the server", APIVersion: "example.com/v1", Kind: "Foo"}
	for text, want := range map[string]string{
		`{"kind":"SecretList","apiVersion":"v1","metadata":{"continue":"more"},"items":[{"metadata":{"name":"a"}}]}`:                                                                        "more",
		`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}]}`: "",
	} {
		next, err := s.ReadList(t.Context(), from, strings.NewReader(text))
		if err != nil || next != want || len(s.Problems) > 0 {
			t.Error(next, err, s.Problems)
		}
	}
	if len(s.Objects) != 2 || s.Objects[0].Kind != "Foo" || s.Objects[1].Kind != "Foo" || s.Objects[0].Group != "example.com" {
		t.Error(s.Objects)
	}
}

func TestManyProblems(t *testing.T) {
	s := read(t, strings.Repeat("a: b\n---\n", 1500))
	if len(s.Problems) != 100 || s.MoreProblems != 1400 {
		t.Error(len(s.Problems), s.MoreProblems)
	}
}

// TestNames finds what may name other objects. A star follows a reference.
func TestNames(t *testing.T) {
	deep := func(start, end string, n int) string {
		return strings.Repeat(start, n) + `"x"` + strings.Repeat(end, n)
	}
	for _, c := range []struct{ text, want string }{
		{
			`"spec" : { "name" : "n", "kind": "K","namespace" :"ns" , "replicas": 3, "apiVersion": "v",
				"clusterName":"c","a":{"kind":1,"name":["b"]}}`,
			"spec.a.name.*=b spec.name=n(K,ns)*",
		},
		{
			`"l":[["a"],"b",[{"name":"c"},{"name":"d"},true,null,"e"]],"a":"f"`,
			"l.*.*=a l.*=b l.*.*.name=c* l.*.*.name=d* l.*.*=e a=f",
		},
		{
			`"x":"\\","v":"w","y":"\"","z":"a\\\"b","userData":"u","kubeConfigs":["k"],"data":{"a":"b"},
				"stringData":{"a":"b"},"status":{"b":["x]}"]},"none":-1.5,"last":"l"`,
			"v=w userData=u* kubeConfigs.*=k* last=l",
		},
		{
			`"l":["a","z","0a","9a","a-b","a.b","A","a_","a/","a:","a{","12",""` + strings.Repeat(`,"x"`, 70) + "]",
			"l.*=a l.*=z l.*=0a l.*=9a l.*=a-b l.*=a.b" + strings.Repeat(" l.*=x", 58),
		},
		{`"l":["` + strings.Repeat("b", 253) + `","` + strings.Repeat("c", 254) + `"]`, "l.*=bbb"},
		{`"a":` + deep("[", "]", 64) + `,"b":` + deep("[", "]", 65), "a" + strings.Repeat(".*", 64) + "=x"},
		{`"a":` + deep(`{"a":`, "}", 64) + `,"b":` + deep(`{"b":`, "}", 65), "a" + strings.Repeat(".a", 64) + "=x"},
	} {
		s := read(t, `{"apiVersion":"example.com/v1","kind":"A","metadata":{"name":"a"},`+c.text+"}")
		texts := map[uint64]string{}
		for part := range strings.SplitSeq(c.text, `"`) {
			texts[snapshot.Key(part)] = part[:min(3, len(part))]
		}
		var got []string
		for _, n := range s.Objects[0].Names {
			f := s.Field(n)
			next := strings.ReplaceAll("("+f.Kind+","+f.Namespace+")", "(,)", "")
			if f.Reference {
				next += "*"
			}
			got = append(got, f.Path+"="+texts[n.Key()]+next)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestBroken reads streams that break off or fail after each of their bytes.
func TestBroken(t *testing.T) {
	const end = "x:1:1: the file ends before the object"
	for text, want := range map[string]string{
		`{ "apiVersion" : "v1","n":12,"items":[ {"a":1} , 2]}`: end,
		`[ "a", {"b" : [3]}]`:                       end,
		`{"a", b: {c: d}}`:                          end,
		"a: b\n---\nitems:\n- a\n- b\n--- c\n  d\n": "",
	} {
		for i := 1; i < len(text); i++ {
			for err, want := range map[error]string{errors.New("broken"): "broken", io.EOF: want} {
				s := &snapshot.Snapshot{}
				in := io.MultiReader(strings.NewReader(text[:i]), iotest.ErrReader(err))
				given.NoError(t, s.Read(t.Context(), "x", in))
				if got := fmt.Sprint(s.Problems); !strings.Contains(got, want) {
					t.Errorf("%q: %s, want %q", text[:i], got, want)
				}
			}
		}
	}
}

// TestStopped demands that reading stops after one batch, of 1024 objects or 1 MiB.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const buffer = 1 << 16
	long := strings.Repeat("x", 3*buffer)
	for name, c := range map[string]struct {
		start, more string
		buffers     int
	}{
		"documents":      {"", "a: " + long[:96] + "\n---\n", 2},
		"long documents": {"", "a: " + long + "\n---\n", 20},
		"items":          {"items:\n", "- " + long[:98] + "\n", 2},
		"lists":          {"a: b\n", "---\nitems:\n- " + long[:180] + "\nkind: List\n", 2},
		"JSON":           {"", `{"x":"` + long[:96] + `"}`, 2},
		"JSON items":     {`{"items":[`, `{"x":"` + long[:96] + `"}`, 2},
	} {
		in := strings.NewReader(c.start + strings.Repeat(c.more, (c.buffers+2)*buffer/len(c.more)))
		size := in.Len()
		s := &snapshot.Snapshot{}
		err := s.Read(ctx, "x", in)
		if read := size - in.Len(); !errors.Is(err, context.Canceled) || (read+buffer-1)/buffer != c.buffers {
			t.Errorf("%s: %v after %d bytes", name, err, read)
		}
	}
}

// FuzzRead demands that no text makes the reader panic or hang, and that JSON that
// is valid is read as a whole.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "a", "---\n--- a\n...\n", "items:\n- a\n-\n - b\n", "{", "[[", `{"items":[1,"]",{}],"kind":"List"}`, "{a: 'b}'}", "items:\n  - a: |\n      x\n  -b\n c", "\xef\xbb\xbf{}", `{"a":"\`, "- \t{\n",
		" {\"items\":[\n{}] , \"items\": []}", "--- {\n}\n---",
		`{"apiVersion":"a.b/v1","kind":"A","metadata":{"name":"a"},"spec":{"a":[{"name":"b\""},1,null]},"status":{}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := &snapshot.Snapshot{}
		given.NoError(t, s.Read(context.Background(), "fuzz", strings.NewReader(text)))
		object := `{"apiVersion":"v1","kind":"A","metadata":{"name":"last"}}`
		if len(s.Problems) > 0 {
			return
		}
		after := &snapshot.Snapshot{}
		if err := after.Read(context.Background(), "fuzz", strings.NewReader(object+"\n---\n"+text)); err != nil || len(after.Objects) != len(s.Objects)+1 {
			t.Errorf("%d objects, with one more %d; %v %v", len(s.Objects), len(after.Objects), err, after.Problems)
		}
	})
}

// machines writes objects as kubectl does, in a List of JSON or as YAML documents.
func machines(n int, yaml bool) string {
	var b strings.Builder
	if !yaml {
		b.WriteString(`{"apiVersion":"v1","items":[`)
	}
	for i := range n {
		switch {
		case yaml:
			fmt.Fprintf(&b, "---\napiVersion: foo.cluster.x-k8s.io/v1\nkind: FooMachine\nmetadata:\n  labels:\n    cluster.x-k8s.io/cluster-name: c\n  name: m%d\n  namespace: ns\n  ownerReferences:\n  - apiVersion: cluster.x-k8s.io/v1beta2\n    kind: Machine\n    name: m%d\n    uid: 11111111-2222-3333-4444-%012d\n  uid: 11111111-2222-3333-5555-%012d\nspec:\n  image: %s\n", i, i, i, i, strings.Repeat("x", 200))
		default:
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"apiVersion":"foo.cluster.x-k8s.io/v1","kind":"FooMachine","metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"c"},"name":"m%d","namespace":"ns","ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","name":"m%d","uid":"11111111-2222-3333-4444-%012d"}],"uid":"11111111-2222-3333-5555-%012d"},"spec":{"image":%q}}`, i, i, i, i, strings.Repeat("x", 200))
		}
	}
	if !yaml {
		b.WriteString(`],"kind":"List"}`)
	}
	return b.String()
}

// TestReadIsLinear demands that ten times the objects take no more than ten times
// the work, measured in bytes, which do not depend on the machine.
func TestReadIsLinear(t *testing.T) {
	for _, yaml := range []bool{false, true} {
		work := func(n int) uint64 {
			text := machines(n, yaml)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if s := read(t, text); len(s.Objects) != n || len(s.Problems) > 0 {
				t.Fatal(len(s.Objects), s.Problems)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if small, large := work(500), work(5000); large > 13*small {
			t.Errorf("YAML %v: %d bytes for 500 objects, %d for 5,000", yaml, small, large)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, yaml := range []bool{false, true} {
		for _, n := range []int{1000, 10000, 100000} {
			b.Run(fmt.Sprintf("yaml=%v/%d", yaml, n), func(b *testing.B) {
				text := machines(n, yaml)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if s := read(b, text); len(s.Objects) != n {
						b.Fatal(len(s.Objects))
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
			})
		}
	}
}

// TestPart: one page of a list, and a text that was cut, are not all that there is.
func TestPart(t *testing.T) {
	const one = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"
	for text, want := range map[string]string{
		`{"kind":"SecretList","apiVersion":"v1","metadata":{"continue":"more"},"items":[]}{}`: "one page of a longer list",
		one + "---\n" + strings.TrimSuffix(one, "}\n") + "}":                                  "the file ends in the middle of a line",
		one + "---\n" + one:           "",
		strings.TrimSuffix(one, "\n"): "",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n  metadata:\n    name: abc": "x:7:1: the file ends in the middle of a line",
		one + "---\nx":     "[x:5:1: not a Kubernetes object: this is a string x:5:1: the file ends",
		"- a\n":            "x:1:1: not a Kubernetes object: this is a list",
		`{"apiVersion":1}`: "not a Kubernetes object: apiVersion is a number",
		"{\"apiVersion\":\"v1\",\n\"kind\": nothing}": "x:1:1: not a Kubernetes object: apiVersion, kind or",
		"[}": "x:1:1: a closing brace has no matching opening brace",
		"{kind: Machine, apiVersion: cluster.x-k8s.io/v1, metadata: {name: c}, spec: 1}": "x:1:1: Machine c: json: ",
	} {
		s := &snapshot.Snapshot{}
		given.NoError(t, s.Read(t.Context(), "x", strings.NewReader(text)))
		if got := fmt.Sprint(s.Problems); want == "" && len(s.Problems) > 0 || !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %q", text, got, want)
		}
	}
}
