package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
	rendering "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

var fooRelease = real.Release{Type: string(foo.Type), Name: foo.Name}

const namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: foo-system}\n"

// cert is a cert-manager object; their order is a trap.
func cert(kind, name string) string {
	return fmt.Sprintf("---\napiVersion: cert-manager.io/v1\nkind: %s\nmetadata: {name: %s, namespace: foo-system}\n", kind, name)
}

func many(n int, one func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(one(i))
	}
	return b.String()
}

// deployment has the given lines in its pod spec, indented by six.
func deployment(pod string) string {
	return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: m, namespace: foo-system}\nspec:\n  replicas: 1\n  template:\n    spec:\n" + pod
}

func container(image string) string {
	return deployment("      containers:\n      - {name: manager, image: '" + image + "'}\n")
}

// manifests are texts that were chosen because something happens to them.
func manifests() map[string]string {
	m := map[string]string{
		"empty":                          "",
		"namespace":                      namespace,
		"comment only":                   "# nothing\n",
		"two namespaces":                 namespace + namespace,
		"namespace of another group":     namespace + "---\napiVersion: x.io/v1\nkind: Namespace\nmetadata: {name: y}\n",
		"unnamed and named namespace":    "---\napiVersion: v1\nkind: Namespace\n" + namespace,
		"namespace with numeric name":    "apiVersion: v1\nkind: Namespace\nmetadata: {name: 1}\n",
		"no namespace":                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n",
		"cluster-scoped kinds":           namespace + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\n---\napiVersion: cert-manager.io/v1\nkind: ClusterIssuer\nmetadata: {name: a}\n---\napiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: a}\n",
		"list":                           namespace + "---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: x}\n",
		"no kind":                        namespace + "---\nfoo: bar\n",
		"empty object":                   namespace + "---\n{}\n",
		"numeric kind":                   namespace + "---\nkind: 1\nmetadata: {labels: {a: b}}\n",
		"kind in lower case":             namespace + "---\nkind: deployment\nmetadata: {}\n",
		"label a number":                 namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: 1, y: z}}\n",
		"label y":                        namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {y: z, n: z}}\n",
		"labels null":                    namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: }\n",
		"labels a list":                  namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: [a]}\n",
		"metadata a list":                namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: []\n",
		"metadata a text":                namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: x\n",
		"metadata null":                  namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n",
		"own labels":                     namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {cluster.x-k8s.io/provider: other, clusterctl.cluster.x-k8s.io: x}}\n",
		"subject elsewhere":              namespace + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\nsubjects:\n- {kind: ServiceAccount, name: m, namespace: kube-system}\n- {kind: ServiceAccount, name: m}\n- {kind: User, name: u}\n",
		"role binding":                   namespace + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a, namespace: kube-system, foo: bar}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}\nsubjects:\n- {kind: ServiceAccount, name: m, namespace: kube-system}\n",
		"role binding of another group":  namespace + "---\napiVersion: authorization.openshift.io/v1\nkind: RoleBinding\nmetadata: {name: a}\n",
		"role binding without version":   namespace + "---\nkind: RoleBinding\nmetadata: {name: a}\n",
		"role binding subjects a map":    namespace + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a}\nsubjects: {}\n",
		"mutating webhook":               namespace + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: a\n  annotations: {cert-manager.io/inject-ca-from: foo-system/cert}\nwebhooks:\n- {name: x, clientConfig: {service: {name: s, namespace: other, path: /p}}}\n- {name: y, clientConfig: {url: 'https://x'}}\n",
		"mutating webhook v1beta1":       namespace + "---\napiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks:\n- {name: x, clientConfig: {service: {name: s, namespace: other}}}\n",
		"mutating webhook v2":            namespace + "---\napiVersion: admissionregistration.k8s.io/v2\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\n",
		"validating webhook":             namespace + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks:\n- {name: x, clientConfig: {service: {name: s, namespace: other}}, sideEffects: None, admissionReviewVersions: [v1]}\n",
		"validating webhook v1beta1":     namespace + "---\napiVersion: admissionregistration.k8s.io/v1beta1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks:\n- {name: x, clientConfig: {service: {name: s, namespace: other}}}\n",
		"validating webhook wrong group": namespace + "---\napiVersion: example.com/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\n",
		"validating webhook v1alpha1":    namespace + "---\napiVersion: admissionregistration.k8s.io/v1alpha1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\n",
		"injection without namespace":    namespace + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a, annotations: {cert-manager.io/inject-ca-from: cert}}\n",
		"injection with two slashes":     namespace + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a, annotations: {cert-manager.io/inject-ca-from: a/b/c}}\n",
		"injection empty":                namespace + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a, annotations: {cert-manager.io/inject-ca-from: ''}}\n",
		"injection next to a number":     namespace + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a, annotations: {cert-manager.io/inject-ca-from: cert, x: 1}}\n",
		"crd":                            namespace + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec:\n  group: x.io\n  names: {kind: A, plural: as}\n  scope: Namespaced\n  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: s, namespace: x}}}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    foo: dropped\n    schema: {openAPIV3Schema: {type: object, properties: {a: {type: integer, default: 9007199254740993, maximum: 12345678901234567890}, b: {type: number, default: 1.10}, c: {x-unknown: 1, default: {z: [1, null, yes]}}}}}\n",
		"crd v1beta1":                    namespace + "---\napiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {group: x.io, names: {kind: A, plural: as}, conversion: {strategy: Webhook, webhookClientConfig: {service: {name: s, namespace: x}}}}\n",
		"crd v2":                         namespace + "---\napiVersion: apiextensions.k8s.io/v2\nkind: CustomResourceDefinition\nmetadata: {name: a}\n",
		"crd with wrong type":            namespace + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {versions: [{name: v1, served: 'yes'}]}\n",
		"certificate":                    namespace + "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a, namespace: foo-system}\nspec: {dnsNames: [s.foo-system.svc, s.foo-system.svc.foo-system.svc, s.foo-system, other]}\n",
		"certificate without namespace":  namespace + "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\nspec: {dnsNames: [s..svc, s.foo-system.svc]}\n",
		"certificate with numbers":       namespace + "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\nspec: {dnsNames: [a, 1]}\n",
		"certificate with a text":        namespace + "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\nspec: {dnsNames: a}\n",
		"certificate with spec a text":   namespace + "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\nspec: x\n",
		"certificate of another group":   namespace + "---\napiVersion: networking.gke.io/v1\nkind: Certificate\nmetadata: {name: a, namespace: foo-system}\nspec: {dnsNames: [s.foo-system.svc]}\n",
		"order of 3":                     cert("Issuer", "a") + "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n" + cert("Certificate", "b") + namespace + cert("Issuer", "c"),
		"order of 50":                    many(50, func(i int) string { return cert("Issuer", fmt.Sprint("i", i)) }) + namespace,
		"order mixed": many(60, func(i int) string {
			if i%3 == 0 {
				return cert("Issuer", fmt.Sprint("i", i))
			}
			return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
		}) + namespace,
		"acme is another group": namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: acme.cert-manager.io/v1\nkind: Order\nmetadata: {name: a}\n",

		"daemon set":                    namespace + strings.Replace(container("ghcr.io/x/y:v1"), "Deployment", "DaemonSet", 1),
		"daemon set refused":            namespace + strings.Replace(container("y"), "Deployment", "DaemonSet", 1),
		"stateful set is not looked at": namespace + strings.Replace(container("y"), "Deployment", "StatefulSet", 1),
		"init containers":               namespace + deployment("      initContainers:\n      - {name: i, image: 'ghcr.io/x/init:v1'}\n      containers:\n      - {name: c, image: 'ghcr.io/x/y:v1'}\n      - {name: d, image: 'ghcr.io/x/y:v1'}\n"),
		"init container refused":        namespace + deployment("      initContainers:\n      - {name: i, image: 'ghcr.io/x/init:v1'}\n      - {name: j, image: 'init:v1'}\n"),
		"image missing":                 namespace + deployment("      containers:\n      - {name: c}\n"),
		"quantities":                    namespace + deployment("      containers:\n      - name: c\n        image: ghcr.io/x/y\n        resources: {limits: {cpu: 1, memory: 1.5Gi}, requests: {cpu: 1000m, memory: '1e3'}}\n        foo: dropped\n"),
		"quantity refused":              namespace + deployment("      containers:\n      - name: c\n        image: ghcr.io/x/y\n        resources: {limits: {cpu: one}}\n"),
		"env a number":                  namespace + deployment("      containers:\n      - {name: b, image: ghcr.io/x/y, env: [{name: A, value: a}]}\n      - name: c\n        image: ghcr.io/x/y\n        env:\n        - {name: A, value: x}\n        - {name: B, value: 1}\n"),
		"env a bool":                    namespace + deployment("      containers:\n      - {name: b, image: ghcr.io/x/y, env: [{name: A, value: yes}]}\n"),
		"args a text":                   namespace + deployment("      containers:\n      - {name: b, image: ghcr.io/x/y, args: x}\n"),
		"port by name":                  namespace + deployment("      containers:\n      - {name: b, image: ghcr.io/x/y, livenessProbe: {httpGet: {port: healthz}}, ports: [{containerPort: 1}]}\n"),
		"port a bool":                   namespace + deployment("      containers:\n      - {name: b, image: ghcr.io/x/y, livenessProbe: {httpGet: {port: true}}}\n"),
		"replicas a text":               namespace + strings.Replace(container("ghcr.io/x/y:v1"), "replicas: 1", "replicas: '1'", 1),
		"replicas a fraction":           namespace + strings.Replace(container("ghcr.io/x/y:v1"), "replicas: 1", "replicas: 1.5", 1),
		"replicas wrap around":          namespace + strings.Replace(container("ghcr.io/x/y:v1"), "replicas: 1", "replicas: 3000000000", 1),
		"replicas null":                 namespace + strings.Replace(container("ghcr.io/x/y:v1"), "replicas: 1", "replicas:", 1),
		"replicas a variable":           namespace + strings.Replace(container("ghcr.io/x/y:v1"), "replicas: 1", "replicas: ${REPLICAS:=1}", 1),
		"image a variable":              namespace + container("${IMAGE:=ghcr.io/x/y:v1}"),
		"deployment of another group":   namespace + strings.Replace(container("ghcr.io/x/y:v1"), "apps/v1", "example.com/v1", 1),
		"deployment without spec":       namespace + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
		"deployment with numeric name":  namespace + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: 1}\n",
		"creation timestamp":            namespace + strings.Replace(container("ghcr.io/x/y:v1"), "{name: m,", "{name: m, creationTimestamp: null,", 1),
		"creation timestamp wrong":      namespace + strings.Replace(container("ghcr.io/x/y:v1"), "{name: m,", "{name: m, creationTimestamp: x,", 1),

		"separator with text":      namespace + "--- {a: 1}\n",
		"separator with comment":   namespace + "--- # x\nfoo: bar\n",
		"separator and more":       namespace + "---foo\n",
		"separator in a quote":     namespace + "---\na: 'x\n---\n  y'\n",
		"separator indented":       namespace + "---\na: |\n  ---\n  b\n",
		"separator at the end":     namespace + "---",
		"separators only":          "---\n---\n---\n",
		"error before separator":   "a: [\n--- x\n",
		"end marker":               namespace + "...\n",
		"end marker and more":      namespace + "...\nfoo: bar\n",
		"scalar document":          namespace + "---\nhello\n",
		"list document":            namespace + "---\n- a\n",
		"the 11th document":        many(11, func(i int) string { return fmt.Sprintf("---\na: %d\n", i) }) + "---\n- x\n",
		"the 12th of many":         many(2, func(i int) string { return "---\n# x\n" }) + many(11, func(i int) string { return fmt.Sprintf("---\na: %d\n", i) }) + "---\n- x\n",
		"duplicate keys":           namespace + "---\na: 1\na: 2\nb: {c: 1, c: 2}\n",
		"anchor":                   namespace + "---\na: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n",
		"alias of another doc":     namespace + "---\na: &x 1\n---\nb: *x\n",
		"tab":                      namespace + "---\na:\n\tb: 1\n",
		"crlf":                     strings.ReplaceAll(namespace+"---\na: |\n  b\n  c\n", "\n", "\r\n"),
		"bom":                      "\ufeff" + namespace,
		"bom later":                namespace + "---\n\ufeffa: b\n",
		"invalid utf-8":            namespace + "---\na: \xff\n",
		"yaml directive":           "%YAML 1.2\n" + namespace,
		"tag directive":            "%TAG ! x\n" + namespace,
		"booleans":                 namespace + "---\na: [yes, no, on, off, y, n, Yes, TRUE, ~, null]\nyes: 1\n",
		"numbers":                  namespace + "---\na: [0777, 0o777, 0xff, 0b11, 1_000, 1.0, 1.10, 1e21, 1e3, 9007199254740993, 12345678901234567890, 123456789012345678901234567890, -0, .5, 1:30, +1]\n",
		"infinity":                 namespace + "---\na: .inf\n",
		"not a number":             namespace + "---\na: .NaN\n",
		"null key":                 namespace + "---\n~: a\n",
		"number keys":              namespace + "---\n1: a\n1.5: b\n",
		"map key":                  namespace + "---\n{a: b}: c\n",
		"dates":                    namespace + "---\na: [2020-01-01, 2020-01-01T00:00:00Z]\n",
		"binary":                   namespace + "---\na: !!binary aGVsbG8=\n",
		"tags":                     namespace + "---\na: !!str 1\nb: !!int '1'\nc: !foo x\n",
		"block scalars":            namespace + "---\na: |+\n  x\n\n\nb: >-\n  x\n  y\nc: |2\n    x\n",
		"no final newline":         namespace + "---\na: |\n  x",
		"quotes":                   namespace + "---\na: ['1', \"yes\", 'null', \"\\u00e9\\x41\", '  x', 'a: b', '# x', '', '-', '=', '~', '1e3', '0x1', '2020-01-01', \"a\\nb\", \"\\t\"]\n",
		"long line":                namespace + "---\na: " + strings.Repeat("word ", 60) + "\n",
		"control character":        namespace + "---\na: \x01\n",
		"delete character":         namespace + "---\na: \x7f\n",
		"next line character":      namespace + "---\na: b\u0085c\n",
		"nul ends the file":        namespace + "\x00---\n- x\n",
		"question mark":            namespace + "---\n? a\n: b\n",
		"question mark in a flow":  namespace + "---\na: {url: http://x/?b=c}\n",
		"text and a variable":      namespace + "---\na:${A:=b}\n",
		"list around a variable":   "- a\n- b:\n  ${CLUSTER_NAME}1\n",
		"option in a wrong place":  "a: ${CLUSTER_NAME}\n    b: ${A}\n",
		"separator by a variable":  namespace + "-${ A }-- x\n\xae: b\n",
		"label null":               namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: , b: c}}\n",
		"list with null metadata":  namespace + "---\napiVersion: v1\nkind: List\nmetadata:\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n",
		"deep":                     namespace + "---\na: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n",
		"html":                     namespace + "---\na: <b>&\n",
		"line separator":           namespace + "---\na: \u2028\n",
		"slash escape":             namespace + "---\na: \"https:\\/\\/x\"\n",
		"slash escape in a key":    namespace + "---\n\"a\\/b\": c\n",
		"escaped delete":           namespace + "---\na: \"\\x7f\"\n",
		"escaped delete in a key":  namespace + "---\n\"\\x7f\": a\n",
		"escaped control":          namespace + "---\na: [\"\\x80\"]\n",
		"escaped noncharacter":     namespace + "---\na: \"\\uFFFE\"\n",
		"escaped BOM":              namespace + "---\na: \"\\uFEFF\\N\\L\\_\"\n",
		"escaped by a default":     namespace + "---\na: ${B:=\"\\x7f\"}\n",
		"escape that is dropped":   namespace + "---\na: \"\\x7f\"\na: b\n",
		"delete in binary":         namespace + "---\na: !!binary fw==\n",
		"key of 1022":              namespace + "---\n" + strings.Repeat("k", 1022) + ": a\n",
		"key of 1023":              namespace + "---\n" + strings.Repeat("k", 1023) + ": a\n",
		"key of 1024":              namespace + "---\n" + strings.Repeat("k", 1024) + ": a\n",
		"key of 1025":              namespace + "---\n" + strings.Repeat("k", 1025) + ": a\n",
		"key of 170 <":             namespace + "---\n" + strings.Repeat("<", 170) + ": a\n",
		"key of 172 <":             namespace + "---\n" + strings.Repeat("<", 172) + ": a\n",
		"long explicit key":        namespace + "---\n? " + strings.Repeat("k", 2000) + "\n: a\n",
		"break behind a version":   namespace + "---\na: ${KUBERNETES_VERSION}\n    b: c\n",
		"break behind a variable":  namespace + "---\na: ${A}\n    b: c\n",
		"supplementary characters": namespace + "---\na: \U0001F600\n",
	}
	// The variable language, in the places where it matters.
	for _, expr := range []string{
		"${A}", "${ A }", "${A }", "${ A:=x }", "${A:=x}", "${A:-x}", "${A=x}", "${A-x}", "${A:+x}", "${A:?x}", "${A:=}", "${A:-}", `${A:=""}`, `${A:=''}`,
		"${#A}", "${A^}", "${A^^}", "${A,,}", "${A^^b}", "${A:1}", "${A:1:1}", "${A: -1}", "${A::2}", "${A#v}", "${A##*v}", "${A%e}", "${A%%e*}", "${A%e*",
		"${A/a/b}", "${A//a/b}", "${A/b}", "${A/b/}", "${A:-${B:-z}}", "${A:-x${B}y}", "${A:-${B}}", "${A:-{\"a\":\"b\"}}", "$$", "$$$", "$${A}", "$$${A}", `\${A}`,
		"$A", "$(A)", "$1", "${}", "${", "${.x}", "${{ x }}", "${!A}", "${A.B}", "${A-B}", "${A[0]}", "${A", "# ${C}", "# ${", "${é}", "${1}", "${a}${A}", "${A}${A:=d}", "${A:=d}${A}", "${EMPTY}", "${EMPTY:=d}", "${MULTI}", "${DOLLAR}",
	} {
		m["variable "+expr] = namespace + "---\na: " + expr + "\n"
		m["quoted variable "+expr] = namespace + "---\na: \"" + expr + "\"\n"
	}
	return m
}

// inputs are the variables that the manifests are rendered with.
func inputs() []values {
	return []values{
		{},
		{"A": "value", "EMPTY": "", "MULTI": "x\n  y: z\nw", "DOLLAR": "${A} $$", "REPLICAS": "3", "IMAGE": "ghcr.io/z/image:v2", "é": "e", "1": "one"},
		{"A": "", "B": "b", "C": "c"},
	}
}

// TestManifests compares the rendering of the manifests with the library.
func TestManifests(t *testing.T) {
	t.Parallel()
	n := 0
	for _, name := range slices.Sorted(maps.Keys(manifests())) {
		t.Run(name, func(t *testing.T) {
			for _, v := range inputs() {
				n += compareManifest(t, []byte(manifests()[name]), v)
			}
		})
	}
	t.Logf("%d renderings compared", n)
}

// compareManifest renders a text in all ways and returns how many.
func compareManifest(t testing.TB, data []byte, v values) (n int) {
	t.Helper()
	f := yamldoc.NewFile("c.yaml", data)
	for _, target := range []string{"", "other"} {
		for _, raw := range []bool{false, true} {
			n++
			what := fmt.Sprintf("provider, namespace %q, raw %t, variables %q", target, raw, v)
			c, wantErr := components(fooRelease, data, v, nil, target, raw)
			var want []byte
			if wantErr == nil {
				want, wantErr = c.Yaml()
				want = append(want, '\n')
			}
			out, err := rendering.RenderProvider(background, rendering.ProviderInput{Provider: foo, File: f, TargetNamespace: target, Raw: raw, Variables: v.Get})
			var got []byte
			if err == nil {
				got, err = out.YAML()
			}
			compare(t, what, want, wantErr, got, err)
			printed, printErr := printProvider(rendering.ProviderInput{Provider: foo, File: f, TargetNamespace: target, Raw: raw, Variables: v.Get})
			if !bytes.Equal(printed, got) || fmt.Sprint(printErr) != fmt.Sprint(err) {
				t.Errorf("%s: printed %q, %v; rendered %q, %v", what, printed, printErr, got, err)
			}
			if wantErr != nil || err != nil {
				continue
			}
			if !slices.Equal(c.Images(), images(out.Images)) || !slices.Equal(c.Variables(), names(out.Variables)) || c.TargetNamespace() != out.TargetNamespace {
				t.Errorf("%s\nclusterctl: %v %v %v\nthe tool:   %v %v %v", what, c.Images(), c.Variables(), c.TargetNamespace(), out.Images, out.Variables, out.TargetNamespace)
			}
		}
	}
	for _, list := range []bool{false, true} {
		n++
		what := fmt.Sprintf("template, list %t, variables %q", list, v)
		all := maps.Clone(v)
		// The reader of the library's tests tells case, that of the program and
		// the tool do not.
		maps.Copy(all, values{"namespace": "other", "cluster_name": "c", "control_plane_machine_count": "1", "worker_machine_count": "0"})
		maps.Copy(all, values{"NAMESPACE": "other", "CLUSTER_NAME": "c", "CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "0"})
		tmpl, wantErr := template(data, all, "other", list)
		var want []byte
		if wantErr == nil {
			want, wantErr = tmpl.Yaml()
			want = append(want, '\n')
		}
		out, err := rendering.RenderCluster(background, rendering.ClusterInput{Template: f, Name: "c", Namespace: "other", Variables: v.Get, ListVariablesOnly: list})
		var got []byte
		if err == nil {
			got, err = out.YAML()
		}
		compare(t, what, want, wantErr, got, err)
		if wantErr != nil || err != nil {
			continue
		}
		for _, variable := range out.Variables {
			if d, ok := tmpl.VariableMap()[variable.Name]; !ok || (d == nil) != (variable.Default == nil) || d != nil && *d != *variable.Default {
				t.Errorf("%s: variable %s differs", what, variable.Name)
			}
		}
		if !slices.Equal(tmpl.Variables(), names(out.Variables)) {
			t.Errorf("%s: variables %v and %v", what, tmpl.Variables(), names(out.Variables))
		}
	}
	return n
}

// images makes no difference between nil and empty.
func images(list []string) []string { return append([]string{}, list...) }

func printProvider(in rendering.ProviderInput) ([]byte, error) {
	text, err := rendering.PrintProvider(background, in)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = text.WriteTo(&out)
	return out.Bytes(), err
}

// compare is same, but for the crash that only clusterctl has.
func compare(t testing.TB, what string, want []byte, wantErr error, got []byte, err error) {
	t.Helper()
	if wantErr != nil && strings.HasPrefix(wantErr.Error(), "clusterctl crashes: ") {
		if err == nil {
			t.Errorf("%s: %v, the tool accepts it", what, wantErr)
		}
		return
	}
	same(t, what, want, wantErr, got, err)
	var at *yamldoc.Error
	if err != nil && !errors.As(err, &at) {
		t.Errorf("%s: no position: %v", what, err)
	}
}

// TestVersions renders the kinds that clusterctl works on in every version of
// Kubernetes' own types, and in versions that are none.
func TestVersions(t *testing.T) {
	t.Parallel()
	kinds := []string{"Deployment", "DaemonSet", "RoleBinding", "ClusterRoleBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition", "Cluster"}
	known := 0
	check := func(gvk schema.GroupVersionKind) {
		for _, rest := range []string{"", "spec: {template: {spec: {containers: [{name: m, image: registry.example.com/m:v1}]}}}\nsubjects: [{kind: ServiceAccount, name: m, namespace: x}]\n", "spec: []\nsubjects: {}\n"} {
			text := fmt.Sprintf("%s---\napiVersion: %s\nkind: %s\nmetadata: {name: a}\n%s", namespace, gvk.GroupVersion(), gvk.Kind, rest)
			compareManifest(t, []byte(text), values{})
		}
	}
	for gvk := range clientscheme.Scheme.AllKnownTypes() {
		if slices.Contains(kinds, gvk.Kind) {
			known++
			check(gvk)
		}
	}
	for _, kind := range kinds {
		for _, gv := range []schema.GroupVersion{{Group: "example.com", Version: "v1"}, {Group: "apps", Version: "v2"}, {Group: "rbac.authorization.k8s.io", Version: "v1beta2"}, {Version: "v1"}, {Group: "extensions", Version: "v1"}} {
			check(gv.WithKind(kind))
		}
	}
	if known == 0 {
		t.Error("none of the kinds is known")
	}
}
