package clusterctl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// What is rendered is compared with the real clusterctl in test/oracle; the
// tests here are about what clusterctl does not have: places.

var foo = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}

type values map[string]string

func (v values) Get(name string) (string, bool) {
	value, ok := v[name]
	return value, ok
}

const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: foo-system}\n---\n" // 4 lines

func TestProviderErrorsHavePlaces(t *testing.T) {
	for name, c := range map[string]struct{ manifest, want string }{
		"expression":          {"# x\na: ${B:=c} ${.}\n", "f.yaml:2:12: unable to parse variable name"},
		"missing variable":    {"a: ${B:=c}\nd: ${E} ${E}\n", "f.yaml:2:4: failed to perform variable substitution: value for variables [E]"},
		"syntax":              {"a: ${LONG}\n---\nb: ${LONG}${LONG}\nc: ]\n", "f.yaml:4:4: failed to parse yaml: failed to unmarshal the 2nd yaml document"},
		"separator":           {"a: ${LONG}\n--- b\n", "f.yaml:2:5: failed to parse yaml: failed to read yaml: invalid Yaml document separator: b"},
		"no mapping":          {namespace + "# x\n- a\n", "f.yaml:6:1: failed to parse yaml"},
		"second namespace":    {namespace + namespace, "f.yaml:5:1: failed to detect default target namespace"},
		"no namespace":        {"a: b\n", "f.yaml: target namespace can't be defaulted"},
		"image":               {namespace + "kind: Deployment\napiVersion: apps/v1\nspec:\n  template:\n    spec:\n      containers:\n      - image: ghcr.io/x/y\n      - name: ${LONG}\n        image: nginx\n", "f.yaml:13:16: failed to apply image overrides: failed to fix containers in deployment : failed to fix containers: failed to fix image for container value of a variable"},
		"init image":          {namespace + "kind: DaemonSet\napiVersion: apps/v1\nspec: {template: {spec: {initContainers: [{image: nginx}]}}}\n", "f.yaml:7:51: failed to apply"},
		"image missing":       {namespace + "kind: Deployment\napiVersion: apps/v1\nspec: {template: {spec: {containers: [{name: x}]}}}\n", "f.yaml:7:39: failed to apply"},
		"field":               {namespace + "kind: Deployment\napiVersion: apps/v1\nspec:\n  template: {spec: {containers: [{image: a, env: [{value: b}, {value: 1}]}]}}\n", "f.yaml:8:71: failed to apply image overrides: unable to convert"},
		"group":               {namespace + "kind: Deployment\napiVersion: x/v1\n", `f.yaml:5:1: failed to apply image overrides: no kind "Deployment" is registered for version "x/v1"`},
		"binding":             {namespace + "kind: RoleBinding\napiVersion: rbac.authorization.k8s.io/v1\nsubjects: [{namespace: 1}]\n", "f.yaml:7:24: failed to set the TargetNamespace on the components: unable to convert"},
		"injection":           {namespace + "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata:\n  annotations:\n    cert-manager.io/inject-ca-from: cert\n", "f.yaml:9:37: failed to set the TargetNamespace on the components: object CustomResourceDefinition"},
		"webhook version":     {namespace + "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v2\n", "f.yaml:6:13: failed to set the TargetNamespace on the components: failed to patch v2 CustomResourceDefinition"},
		"certificate":         {namespace + "kind: Certificate\napiVersion: cert-manager.io/v1\nspec:\n  dnsNames:\n  - a\n  - 1\n", "f.yaml:10:5: failed to set the TargetNamespace on the components: failed to get .spec.dnsNames"},
		"legacy expression":   {"a: ${ LONG }\nb: ]\n", "f.yaml:2:4: failed to parse yaml"},
		"value breaks syntax": {"a: ok\nb: ${COLON}\n", "f.yaml:2:4: failed to parse yaml"},
		"old deployment":      {namespace + "kind: Deployment\napiVersion: apps/v1beta1\n", "f.yaml:5:1: failed to apply image overrides: converting (v1beta1.Deployment) to (v1.Deployment): unknown conversion"},
		"older daemon set":    {namespace + "kind: DaemonSet\napiVersion: apps/v1beta1\n", `f.yaml:5:1: failed to apply image overrides: no kind "DaemonSet" is registered for version "apps/v1beta1"`},
		"old daemon set":      {namespace + "kind: DaemonSet\napiVersion: extensions/v1beta1\n", "f.yaml:5:1: failed to apply image overrides: converting (v1beta1.DaemonSet) to (v1.DaemonSet): unknown conversion"},
		"old field":           {namespace + "kind: Deployment\napiVersion: apps/v1beta2\nspec: [a]\n", "f.yaml:7:7: failed to apply image overrides: unable to convert unstructured object to apps/v1beta2, Kind=Deployment: cannot restore struct from: slice (spec is an array)"},
		"old binding":         {namespace + "kind: RoleBinding\napiVersion: rbac.authorization.k8s.io/v1beta1\n", "f.yaml:5:1: failed to set the TargetNamespace on the components: converting (v1beta1.RoleBinding) to (v1.RoleBinding): unknown conversion"},
		"separator at once":   {"a: ]\n--- b\n", "f.yaml:2:5: failed to parse yaml: failed to read yaml: invalid Yaml document separator: b"},
		"separator later":     {"a: ]\n---\n--- b\n", "f.yaml:1:4: failed to parse yaml: failed to unmarshal the 1st yaml document"},
		"tenth":               {strings.Repeat("a: b\n---\n", 9) + "]\n", "f.yaml:19:1: failed to parse yaml: failed to unmarshal the 10th yaml document"},
		"eleventh":            {strings.Repeat("a: b\n---\n", 10) + "]\n", "f.yaml:21:1: failed to parse yaml: failed to unmarshal the 11st yaml document"},
		"fourteenth":          {strings.Repeat("a: b\n---\n", 13) + "]\n", "f.yaml:27:1: failed to parse yaml: failed to unmarshal the 14th yaml document"},
		"hidden namespace":    {namespace + "kind: \"Name\\x73pace\"\nmetadata: {name: b}\n", "f.yaml:5:1: failed to detect default target namespace"},
		"image first":         {namespace + namespace + "kind: Deployment\napiVersion: x/v1\n", "f.yaml:9:1: failed"},
		"image before binding": {namespace + "kind: RoleBinding\napiVersion: x/v1\n---\n" +
			"kind: Deployment\napiVersion: x/v1\n", "f.yaml:8:1: failed to apply image overrides"},
	} {
		t.Run(name, func(t *testing.T) {
			in := ProviderInput{
				Provider: foo, File: yamldoc.NewFile("f.yaml", []byte(c.manifest)),
				Variables: values{"LONG": "value of a variable", "COLON": "a: b: c"}.Get,
			}
			_, err := RenderProvider(context.Background(), in)
			_, printErr := PrintProvider(context.Background(), in)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || fmt.Sprint(printErr) != err.Error() {
				t.Errorf("got  %v\nand  %v\nwant %s", err, printErr, c.want)
			}
			var at *yamldoc.Error
			if !errors.As(err, &at) {
				t.Error("this is not a *yamldoc.Error")
			}
		})
	}
}

// TestRendered is a short form of what test/oracle compares with clusterctl.
func TestRendered(t *testing.T) {
	const pod = "spec: {template: {spec: {containers: [{name: a, image: 'ghcr.io/x/a:v1'}], initContainers: [{name: b, image: 'ghcr.io/x/b:v1'}]}}}\n---\n"
	const text = "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: a}\n---\napiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: b}\n---\n" +
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c}\n" + pod + "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\n" + pod +
		"# only a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: e, labels: {x: 'y'}}\ndata: {a: '${A:=1}', b: '${ B }', c: Namespaced}\n---\n" + namespace
	in := ProviderInput{
		Provider: foo, Version: "v1.0.0", File: yamldoc.NewFile("f.yaml", []byte(text)), Variables: values{"B": "2"}.Get,
		Images: Images{"all": {Tag: "v2"}, "infrastructure-foo/b": {Repository: "own.io/"}},
	}
	c := given.Value(RenderProvider(t.Context(), in))(t)
	var got []string
	for _, o := range c.Objects {
		got = append(got, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()+fmt.Sprint(o.GetLabels()))
	}
	const labels = "map[cluster.x-k8s.io/provider:infrastructure-foo clusterctl.cluster.x-k8s.io:"
	want := "Namespace /foo-system" + labels + "]\nIssuer foo-system/b" + labels + "]\nIssuer foo-system/a" + labels + "]\nDeployment foo-system/c" + labels +
		"]\nDaemonSet foo-system/d" + labels + "]\nConfigMap foo-system/e" + labels + " x:y]"
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := []string{"ghcr.io/x/a:v2", "own.io/b:v2", "ghcr.io/x/a:v2", "own.io/b:v2"}; !slices.Equal(c.Images, want) {
		t.Errorf("images %v", c.Images)
	}
	out := string(given.Value(c.YAML())(t))
	for part, n := range map[string]int{"---\n": 5, "image: own.io/b:v2": 2, "image: ghcr.io/x/a:v2": 2, "a: \"1\"\n  b: \"2\"\n": 1} {
		if strings.Count(out, part) != n || strings.HasPrefix(out, "---") {
			t.Errorf("%q is not there %d times:\n%s", part, n, out)
		}
	}
	var printed strings.Builder
	if n, err := given.Value(PrintProvider(t.Context(), in))(t).WriteTo(&printed); err != nil || printed.String() != out || int(n) != len(out) {
		t.Errorf("%d bytes, %v:\n%s", n, err, printed.String())
	}
	bare := ProviderInput{Provider: foo, File: yamldoc.NewFile("f.yaml", []byte("kind: A\napiVersion: v1\n")), TargetNamespace: "ns", Variables: values{}.Get}
	const namespaced = "apiVersion: v1\nkind: Namespace\nmetadata:\n  labels:\n    cluster.x-k8s.io/provider: infrastructure-foo\n    clusterctl.cluster.x-k8s.io: \"\"\n  name: ns\n---\n"
	if out := string(given.Value(given.Value(RenderProvider(t.Context(), bare))(t).YAML())(t)); !strings.HasPrefix(out, namespaced) {
		t.Errorf("without a Namespace:\n%s", out)
	}
	in.Raw = true
	c = given.Value(RenderProvider(t.Context(), in))(t)
	const described = `Name:               foo
Type:               InfrastructureProvider
URL:                https://x/releases/
Version:            v1.0.0
File:               f.yaml
TargetNamespace:    foo-system
Variables:
  - A
  - B
Images:
  - ghcr.io/x/a:v2
  - own.io/b:v2
  - ghcr.io/x/a:v2
  - own.io/b:v2

`
	if got := c.Describe("https://x/releases/v1.0.0/f.yaml"); got != described {
		t.Errorf("got\n%s", got)
	}
}

// TestRenderedCluster is the same for cluster templates.
func TestRenderedCluster(t *testing.T) {
	const template = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: '${CLUSTER_NAME}'}\nspec: {topology: {classRef: {name: q}}}\n---\n" +
		"apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: '${A:=y}-${B}'}\nspec: {topology: {class: r}}\n---\n" +
		"apiVersion: other.io/v1beta2\nkind: Cluster\nspec: {topology: {classRef: {name: s}}}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\ndata: {a: '${namespace} ${KUBERNETES_VERSION} ${CONTROL_PLANE_MACHINE_COUNT} ${WORKER_MACHINE_COUNT}'}\n"
	two, zero := int64(2), int64(0)
	in := ClusterInput{
		Provider: foo, Template: yamldoc.NewFile("t.yaml", []byte(template)), Name: "c", Namespace: "ns", KubernetesVersion: "v1.36.0",
		Variables: values{"B": "2", "WORKER_MACHINE_COUNT": "3"}.Get,
		Class: func(name string) (*yamldoc.File, error) {
			return yamldoc.NewFile(layouts.ClusterClassFile(name), []byte("kind: ClusterClass\nmetadata: {name: "+name+", namespace: other}\nspec: '${A:=x}${C:=z}'\n")), nil
		},
	}
	out := given.Value(RenderCluster(t.Context(), in))(t)
	var got []string
	for _, o := range out.Objects {
		data, _, _ := unstructured.NestedString(o.Object, "data", "a")
		got = append(got, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()+" "+data)
	}
	if got, want := strings.Join(got, "\n"), "ClusterClass ns/q \nClusterClass ns/r \nCluster ns/c \nCluster ns/y-2 \nCluster ns/ \nConfigMap ns/ ns v1.36.0 1 3"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = nil
	for _, v := range out.Variables {
		got = append(got, v.Name)
		if v.Default != nil {
			got = append(got, *v.Default)
		}
	}
	if got, want := strings.Join(got, " "), "A x B C z CLUSTER_NAME CONTROL_PLANE_MACHINE_COUNT KUBERNETES_VERSION WORKER_MACHINE_COUNT namespace"; got != want {
		t.Errorf("variables %s", got)
	}
	if text := string(given.Value(out.YAML())(t)); strings.Count(text, "---\n") != 5 || !strings.Contains(text, "spec: xz\n") {
		t.Errorf("printed:\n%s", text)
	}

	from := in
	from.Class = nil // as with --from
	if out := given.Value(RenderCluster(t.Context(), from))(t); len(out.Objects) != 4 {
		t.Errorf("%d objects", len(out.Objects))
	}

	in.Template = yamldoc.NewFile("t.yaml", []byte(template+"# ${NAMESPACE} ${D:=d}\n"))
	in.ListVariablesOnly, in.ControlPlaneMachineCount = true, &two
	const listed = `Required Variables:
  - B
  - namespace

Optional Variables:
  - A                            (defaults to "y")
  - CLUSTER_NAME                 (defaults to c)
  - CONTROL_PLANE_MACHINE_COUNT  (defaults to 2)
  - D                            (defaults to "d")
  - KUBERNETES_VERSION           (defaults to v1.36.0)
  - NAMESPACE                    (defaults to ns)
  - WORKER_MACHINE_COUNT         (defaults to %s)

`
	for _, environment := range []values{{}, {"WORKER_MACHINE_COUNT": "7"}} {
		workers, ok := environment["WORKER_MACHINE_COUNT"]
		if !ok {
			workers = "0"
		}
		got := in.ListVariables(given.Value(RenderCluster(t.Context(), in))(t), environment.Get)
		if want := fmt.Sprintf(listed, workers); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	for want, change := range map[string]func(in *ClusterInput){
		"invalid target-namespace: ": func(in *ClusterInput) { in.Namespace = "a.b" },
		"invalid cluster name: ":     func(in *ClusterInput) { in.Name = "A" },
		"invalid KubernetesVersion. Please use a semantic version number":                  func(in *ClusterInput) { in.KubernetesVersion = "1" },
		"invalid value for WORKER_MACHINE_COUNT set":                                       func(in *ClusterInput) { in.Variables = values{"WORKER_MACHINE_COUNT": "x"}.Get },
		"invalid ControlPlaneMachineCount. Please use a number greater than or equal to 1": func(in *ClusterInput) { in.ControlPlaneMachineCount = &zero },
		"invalid WorkerMachineCount. Please use a number greater than or equal to 0":       func(in *ClusterInput) { in.Variables = values{"WORKER_MACHINE_COUNT": "-1"}.Get },
	} {
		wrong := in
		change(&wrong)
		if _, err := RenderCluster(t.Context(), wrong); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestReferencesMoveToTheNamespace shows that make test has what test/oracle compares.
func TestReferencesMoveToTheNamespace(t *testing.T) {
	render := func(object, rest string) (string, error) {
		kind, version, _ := strings.Cut(object, " ")
		out, err := RenderProvider(context.Background(), ProviderInput{
			Provider: foo, TargetNamespace: "other", Variables: values{}.Get,
			File: yamldoc.NewFile("f.yaml", []byte(namespace+"kind: "+kind+"\napiVersion: "+version+"\n"+rest+"\n")),
		})
		if err != nil {
			return "", err
		}
		text, err := out.YAML()
		return string(text), err
	}
	for object, references := range map[string]string{
		"MutatingWebhookConfiguration admissionregistration.k8s.io/v1":        "webhooks: [{clientConfig: {url: u}}, {clientConfig: {service: {namespace: foo-system}}}]",
		"MutatingWebhookConfiguration admissionregistration.k8s.io/v1beta1":   "webhooks: [{clientConfig: {url: u}}, {clientConfig: {service: {namespace: foo-system}}}]",
		"ValidatingWebhookConfiguration admissionregistration.k8s.io/v1":      "webhooks: [{clientConfig: {url: u}}, {clientConfig: {service: {namespace: foo-system}}}]",
		"ValidatingWebhookConfiguration admissionregistration.k8s.io/v1beta1": "webhooks: [{clientConfig: {url: u}}, {clientConfig: {service: {namespace: foo-system}}}]",
		"CustomResourceDefinition apiextensions.k8s.io/v1":                    "spec: {conversion: {webhook: {clientConfig: {service: {namespace: foo-system}}}}}",
		"CustomResourceDefinition apiextensions.k8s.io/v1beta1":               "spec: {conversion: {webhookClientConfig: {service: {namespace: foo-system}}}}",
		"ClusterRoleBinding rbac.authorization.k8s.io/v1":                     "subjects: [{namespace: foo-system}]",
		"RoleBinding rbac.authorization.k8s.io/v1":                            "subjects: [{namespace: foo-system}]",
	} {
		if text, err := render(object, references); err != nil || strings.Contains(text, "foo-system") || !strings.Contains(text, " namespace: other\n") {
			t.Errorf("%s: %v\n%s", object, err, text)
		}
	}
	text, err := render("Certificate cert-manager.io/v1", "metadata: {namespace: foo-system}\nspec: {dnsNames: [a.foo-system.svc, b.foo-system.c.foo-system.d, foo-system.e]}")
	if err != nil || !strings.Contains(text, "  - a.other.svc\n  - b.other.c.foo-system.d\n  - foo-system.e\n") {
		t.Errorf("Certificate: %v\n%s", err, text)
	}
}

const cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nspec:\n  topology:\n    version: v1.36.0\n    classRef: {name: %}\n"

func TestClassErrorsHavePlaces(t *testing.T) {
	classes := map[string]string{"bad": "a: b\nc: ${D}\n"}
	for class, want := range map[string]string{
		"bad":  `clusterclass-bad.yaml:2:4: failed to get the cluster class template for "ns/bad": value for variables [D] is not set`,
		"none": `t.yaml:6:22: failed to get the cluster class template for "ns/none": failed to read "clusterclass-none.yaml" from provider's repository "infrastructure-foo": file does not exist`,
		"1":    `t.yaml:6:22: failed to convert object to Cluster`,
	} {
		_, err := RenderCluster(context.Background(), ClusterInput{
			Provider: foo, Template: yamldoc.NewFile("t.yaml", []byte(strings.Replace(cluster, "%", class, 1))), Name: "c", Namespace: "ns", Variables: values{}.Get,
			Class: func(name string) (*yamldoc.File, error) {
				data, ok := classes[name]
				if !ok {
					return nil, fs.ErrNotExist
				}
				return yamldoc.NewFile(layouts.ClusterClassFile(name), []byte(data)), nil
			},
		})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := RenderProvider(ctx, ProviderInput{Provider: foo, File: yamldoc.NewFile("f.yaml", []byte(namespace)), Variables: values{}.Get}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func BenchmarkRenderProvider(b *testing.B) {
	manifest := []byte(namespace + strings.Repeat("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  script: |\n    echo $$HOME ${A:=b}\n", 3000))
	b.SetBytes(int64(len(manifest)))
	for b.Loop() {
		c, err := RenderProvider(context.Background(), ProviderInput{Provider: foo, File: yamldoc.NewFile("f.yaml", manifest), Variables: values{}.Get})
		given.NoError(b, err)
		given.Value(c.YAML())(b)
	}
}
