package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func read(t *testing.T, text string) *Dump {
	t.Helper()
	d := &Dump{}
	given.NoError(t, d.Read(t.Context(), "dump", strings.NewReader(text)))
	return d
}

// TestRead reads the same objects in all forms.
func TestRead(t *testing.T) {
	const a, b = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, `{"apiVersion":"x.io/v2","kind":"Foo","metadata":{"name":"b","namespace":"ns"}}`
	for name, text := range map[string]string{
		"documents": "# first\n---\n" +
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n--- # second\napiVersion: x.io/v2\nkind: Foo\nmetadata:\n  name: b\n  namespace: ns\n---\n",
		"values": a + "\n" + b,
		"a List": `{"apiVersion":"v1","items":[` + a + `,` + b +
			`],"kind":"List","metadata":{"resourceVersion":""}}`,
		"an array":       "[" + a + "," + b + "]",
		"a List in YAML": "apiVersion: v1\nkind: List\nitems:\n- " + a + "\n- " + b + "\n",
		"lists of lists": `{"kind":"List","apiVersion":"v1","items":[{"kind":"SecretList","apiVersion":"v1","items":[` +
			a + `]},` + b + `]}`,
		"items without a kind":  `{"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}` + b,
		"the same in YAML":      "kind: SecretList\napiVersion: v1\nitems: [{metadata: {name: a}}]\n---\n" + b,
		"an empty list as well": `{"kind":"List","apiVersion":"v1","items":null}` + a + b,
	} {
		d := read(t, text)
		want := []Object{
			{Version: "v1", Kind: "Secret", Name: "a", Labels: map[string]string{}, Annotations: map[string]string{}},
			{
				Group: "x.io", Version: "v2", Kind: "Foo", Namespace: "ns", Name: "b", Labels: map[string]string{},
				Annotations: map[string]string{},
			},
		}
		if !reflect.DeepEqual(d.Objects, want) || len(d.Problems) > 0 {
			t.Errorf("%s: %+v, %v", name, d.Objects, d.Problems)
		}
	}
}

// TestProblems demands that nothing is silently left out.
func TestProblems(t *testing.T) {
	const good = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		text, want string
		objects    int
	}{
		"no object":      {"a: b\n---\n" + good, "dump:1: not a Kubernetes object", 1},
		"a list":         {"- a\n", "dump:1: ", 0},
		"broken YAML":    {good + "---\na: [\n---\n" + good, "dump:5: ", 2},
		"no separator":   {good + "--- x\n", "invalid Yaml document separator", 1},
		"broken JSON":    {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}} {"a`, "unexpected EOF", 1},
		"a cut list":     {`{"kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, "unexpected EOF", 1},
		"a value":        {`[] 5`, "not a Kubernetes object", 0},
		"an odd list":    {`[5]`, "cannot unmarshal number", 0},
		"a list's end":   {`[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, "unexpected EOF", 1},
		"one page":       {`{"kind":"SecretList","apiVersion":"v1","metadata":{"continue":"x"},"items":[]}`, "one page of a longer list", 0},
		"an odd item":    {"kind: List\nitems: [a]\n", "not a Kubernetes object", 0},
		"without a name": {`{"kind":"List","items":[{"kind":"Secret","apiVersion":"v1"}]}`, "metadata.name is missing", 0},
	} {
		d := read(t, c.text)
		if text := fmt.Sprint(d.Problems); !strings.Contains(text, c.want) || len(d.Objects) != c.objects {
			t.Errorf("%s: %d objects, %s", name, len(d.Objects), text)
		}
	}
	for problems, want := range map[int]int{mostProblems: mostProblems, mostProblems + 1: mostProblems + 1, 1000: mostProblems + 1} {
		d := read(t, strings.Repeat("a: b\n---\n", problems))
		if last := d.Problems[len(d.Problems)-1].Error(); len(d.Problems) != want ||
			strings.HasPrefix(last, "and more") != (problems > mostProblems) {
			t.Errorf("%d problems are kept of %d: %s", len(d.Problems), problems, last)
		}
	}
}

// TestWhatIsKept reads what a move depends on, and no value of a Secret.
func TestWhatIsKept(t *testing.T) {
	d := read(t, `apiVersion: v1
kind: Secret
metadata:
  name: s
  uid: u
  labels: {a: b, clusterctl.cluster.x-k8s.io/move: "", cluster.x-k8s.io/cluster-name: c}
  annotations: {kubectl.kubernetes.io/last: x, clusterctl.cluster.x-k8s.io/block-move: ""}
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: v}]
data: {secret: hidden}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: old}
spec: {topology: {class: k, classNamespace: ns}, infrastructureRef: {apiVersion: x.io/v1, kind: Foo, name: f, namespace: m}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: new}
spec: {topology: {classRef: {name: k, namespace: ns}}, paused: true}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: k}
spec:
  infrastructure: {templateRef: {apiVersion: x.io/v1, kind: A, name: a}}
  controlPlane: {ref: {apiVersion: x.io/v1, kind: B, name: b}, machineInfrastructure: {templateRef: {apiVersion: x.io/v1, kind: C, name: c}}}
  workers:
    machineDeployments: [{bootstrap: {templateRef: {apiVersion: x.io/v1, kind: D, name: d}}}]
    machinePools: [{template: {infrastructure: {ref: {apiVersion: x.io/v1, kind: E, name: e}}}}]
  patches: [{definitions: []}, {external: {generatePatchesExtension: a.b}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.x.io}
spec: {group: x.io, names: {kind: Foo}, scope: Cluster, versions: [{name: v1, served: true}, {name: v2, served: true, storage: true}, {name: v3, served: false}]}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSetBinding
metadata: {name: b}
spec: {clusterName: c}
---
apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Provider
metadata: {name: control-plane-x}
providerName: x
type: ControlPlaneProvider
version: v1.0.0
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {name: cluster-api}
spec: {version: v1.9.0}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {spec: {containers: [{command: [/manager, --feature-gates, "A=true, B=false"], args: [--x, "--feature-gates=C=1,D", --feature-gates]}]}}}
---
apiVersion: x.io/v1
kind: Foo
metadata: {name: f}
spec: {a: [{secretRef: {name: r}}], credentialsSecretName: c, names: {name: no}, zone: z, configMapRefs: [{kind: ConfigMap, name: m, namespace: ns}]}
`)
	if len(d.Problems) > 0 {
		t.Fatal(d.Problems)
	}
	type m = map[string]string
	want := []any{
		nil, &Cluster{"k", "ns"}, &Cluster{"k", "ns"}, nil,
		&Definition{"x.io", "Foo", "v2", []string{"v1", "v2"}, true}, &Binding{"c"},
		&Provider{"control-plane-x", "v1.0.0", false}, &Provider{"cluster-api", "v1.9.0", true},
		&Manager{map[string]bool{"A": true, "B": false, "C": true, "D": false, "": false}, true}, nil,
	}
	for i := range want {
		if !reflect.DeepEqual(d.Objects[i].Detail, want[i]) {
			t.Errorf("%s: %+v, want %+v", d.Objects[i].Name, d.Objects[i].Detail, want[i])
		}
	}
	secret := Object{
		Version: "v1", Kind: "Secret", Name: "s", UID: "u",
		Labels:      m{"clusterctl.cluster.x-k8s.io/move": "", "cluster.x-k8s.io/cluster-name": "c"},
		Annotations: m{"clusterctl.cluster.x-k8s.io/block-move": ""},
		Owners:      []OwnerReference{{Ref{"cluster.x-k8s.io", "Cluster", "c"}, "v"}},
	}
	if !reflect.DeepEqual(d.Objects[0], secret) || !d.Objects[0].Has("cluster.x-k8s.io/cluster-name") ||
		d.Objects[0].Has("a") {
		t.Errorf("%+v", d.Objects[0])
	}
	names := []Name{
		{Ref{Name: "r"}, "spec.a.secretRef.name", ""}, {Ref{Kind: "ConfigMap", Name: "m"}, "spec.configMapRefs.name", "ns"},
		{Ref{Name: "c"}, "spec.credentialsSecretName", ""},
	}
	if got := d.Objects[9].Names; !reflect.DeepEqual(got, names) {
		t.Errorf("%+v", got)
	}
	if got := d.Objects[1].Names; len(got) != 1 ||
		got[0] != (Name{Ref{"x.io", "Foo", "f"}, "spec.infrastructureRef.name", "m"}) {
		t.Errorf("%+v", got)
	}
}

// TestAdd reads files and folders.
func TestAdd(t *testing.T) {
	t.Chdir(t.TempDir())
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: ns}\n"
	given.File(t, "saved/Secret_ns_a.yaml", secret)
	given.File(t, "saved/README.md", "hello")
	given.File(t, "saved/below/x.json", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}`)
	given.File(t, "saved/below/y.yml", "a: [")
	given.File(t, "nothing/x.txt", secret)
	links := 1
	if os.Symlink("nowhere", "saved/z.yaml") != nil { // not everywhere
		links = 0
	}
	d := &Dump{}
	given.NoError(t, d.Add(t.Context(), "saved"))
	given.NoError(t, d.Add(t.Context(), "nothing/x.txt"))
	if len(d.Objects) != 3 || d.Saved != 1 || len(d.Problems) != 1+links ||
		!strings.Contains(d.Problems[0].Error(), filepath.Join("saved", "below", "y.yml")) {
		t.Errorf("%+v, %d saved, %v", d.Objects, d.Saved, d.Problems)
	}
	if err := d.Add(t.Context(), "nothing"); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
	if err := d.Add(t.Context(), "gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Add(ctx, "saved"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	given.NoError(t, os.Remove("saved/below/y.yml"))
}

// endless is a JSON list that never ends; it gives up after so many bytes.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	const item = `{"apiVersion":"v1","kind":"Secret","metadata":{"continue":""},"items":[]},`
	n := copy(p, strings.Repeat(item, len(p)/len(item)))
	if e.left -= n; e.left < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

// TestItemsAreReadOneByOne reads a list that is larger than what is kept of it.
func TestItemsAreReadOneByOne(t *testing.T) {
	d := &Dump{}
	given.NoError(t, d.Read(t.Context(), "big", io.MultiReader(strings.NewReader(`{"kind":"List","items":[`), &endless{8 << 20})))
	if len(d.Objects) != 0 || len(d.Problems) != mostProblems+1 {
		t.Errorf("%d objects, %d problems", len(d.Objects), len(d.Problems))
	}
}

// TestNoList: a list whose items are none is reported, and nothing of it counts as read.
func TestNoList(t *testing.T) {
	for _, text := range []string{`{"kind":"List","items":5}`, "kind: List\nitems: {a: b}\n", "[null]", `{"kind":"List","items":[null]}`} {
		if d := read(t, text); len(d.Objects) != 0 || len(d.Problems) == 0 {
			t.Errorf("%s: %d objects, problems %v", text, len(d.Objects), d.Problems)
		}
	}
}

// FuzzRead makes sure that no text makes it panic, and that what it reads has a kind and a name.
func FuzzRead(f *testing.F) {
	f.Add("apiVersion: v1\nkind: List\nitems: [{kind: A}]\n")
	f.Add(`{"items":[{"items":[5]}],"kind":"List"}`)
	f.Add("[null]")
	f.Add(`{"kind":"List","items":[null]}`)
	f.Add(`[{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"x"},"spec":{"versions":[5,{"name":6}]}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		d := read(t, text)
		for _, o := range d.Objects {
			if o.Kind == "" || o.Name == "" {
				data, _ := json.Marshal(o)
				t.Errorf("%s", data)
			}
		}
	})
}
