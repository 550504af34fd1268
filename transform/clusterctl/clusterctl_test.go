package clusterctl

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

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
		"image first":         {namespace + namespace + "kind: Deployment\napiVersion: x/v1\n", "f.yaml:9:1: failed"},
		"image before binding": {namespace + "kind: RoleBinding\napiVersion: x/v1\n---\n" +
			"kind: Deployment\napiVersion: x/v1\n", "f.yaml:8:1: failed to apply image overrides"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := RenderProvider(context.Background(), ProviderInput{
				Provider: foo, File: yamldoc.NewFile("f.yaml", []byte(c.manifest)),
				Variables: values{"LONG": "value of a variable", "COLON": "a: b: c"}.Get,
			})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			var at *yamldoc.Error
			if !errors.As(err, &at) {
				t.Error("this is not a *yamldoc.Error")
			}
		})
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
