package rules_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// related are good objects whose values depend on each other, by file.
var related = map[string]string{
	"infrastructure-components.yaml": fooNamespace + `apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: foo-system, labels: {x: y}}
spec:
  minReadySeconds: 700
  progressDeadlineSeconds: 701
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {x: y}, matchExpressions: [{key: x, operator: In, values: [y]}, {key: x, operator: Exists}]}
  template:
    metadata: {labels: {x: y}}
    spec:
      tolerations:
      - {key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 3}
      - {operator: Exists, effect: NoSchedule, tolerationSeconds: null}
      securityContext: {seccompProfile: {type: Localhost, localhostProfile: a.json}}
      volumes: [{name: data, emptyDir: {}}, {name: cert, secret: {secretName: a, defaultMode: 420}}]
      initContainers:
      - {name: first, image: ghcr.io/x/y:v1.0.0, restartPolicy: Always, startupProbe: {tcpSocket: {port: 80}, successThreshold: 1}}
      containers:
      - name: manager
        image: ghcr.io/x/y:v1.0.0
        resources: {limits: {cpu: 2, memory: 2Gi, foo.com/gpu: 1}, requests: {cpu: 1, memory: 1Gi, foo.com/gpu: 1}}
        securityContext: {allowPrivilegeEscalation: false, privileged: false, capabilities: {add: [CHOWN]}}
        env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: B, value: "", valueFrom: {secretKeyRef: {name: a, key: b}}}]
        ports: [{name: a, containerPort: 80}, {name: b, containerPort: 81, protocol: UDP}]
        volumeMounts: [{name: data, mountPath: /a, subPath: a}, {name: cert, mountPath: /b, subPathExpr: b}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: a, namespace: foo-system}
spec:
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {x: y}}
  template: {metadata: {labels: {x: y}}, spec: {containers: [{name: a, image: ghcr.io/x/y:v1.0.0}]}}
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: foo-system}
spec: {type: ExternalName, externalName: foo.com}
---
apiVersion: v1
kind: Service
metadata: {name: b, namespace: foo-system}
spec: {clusterIP: None, selector: {x: y}}
---
apiVersion: v1
kind: Service
metadata: {name: c, namespace: foo-system}
spec: {selector: {x: y}, ports: [{name: a, port: 80}, {name: b, port: 80, protocol: UDP}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}, {nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}
subjects: [{kind: ServiceAccount, name: a, namespace: foo-system}, {kind: Group, apiGroup: rbac.authorization.k8s.io, name: A_b}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: a}
webhooks:
- name: a.foo.com
  admissionReviewVersions: [v1, v1beta1]
  sideEffects: None
  reinvocationPolicy: Never
  clientConfig: {service: {name: c, namespace: foo-system, path: /a, port: 80}}
  namespaceSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}
  rules: [{operations: [CREATE, UPDATE], apiGroups: [foo.com], apiVersions: [v1], resources: [a, b/status], scope: Namespaced}]
`,
	"cluster-template.yaml": `apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: a}
spec:
  replicas: 3
  version: v1.34.0
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}}
  machineTemplate: {spec: {infrastructureRef: {apiGroup: a.b, kind: C, name: d}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: a}
spec:
  clusterName: a
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}}
  selector: {matchLabels: {x: z}}
  template: {metadata: {labels: {x: z}}, spec: {clusterName: a, version: v1.34.0, bootstrap: {dataSecretName: a}, infrastructureRef: {apiGroup: a.b, kind: C, name: d}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: a}
spec:
  clusterName: a
  selector: {matchLabels: {cluster.x-k8s.io/cluster-name: a}}
  checks: {nodeStartupTimeoutSeconds: 30}
  remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 40%}}
`,
}

// TestOpenValues puts a variable in the place of each value of good objects. The value
// may be the one that stood there, so no rule about what the API server and Cluster API
// refuse may call it an error; and a variable with the wrong default is at most a
// warning, since users may set it.
func TestOpenValues(t *testing.T) {
	share.SkipInRace(t)
	own := phrase.Only(rules.All, func(r *lint.Rule) bool { return r.Proof == lint.APIServer })
	errors := func(name, text string) (out []string) {
		for _, f := range lintRelease(t, lint.Options{Rules: own}, map[string]string{name: text}) {
			if f.Severity == lint.Error {
				out = append(out, show(f))
			}
		}
		return out
	}
	for name, text := range related {
		if list := errors(name, text); list != nil {
			t.Fatalf("as they are: %v", list)
		}
		file := manifest.New(repo.BytesArtifact(name, []byte(text)), layouts.KindOfFile(name), text)
		for _, d := range file.Docs().Docs {
			eachScalar(d.Root, func(n *yamldoc.Node) {
				from, to := d.Offsets(n)
				was := text[from:to]
				for _, expression := range []string{"${V}", "${V:=99999}", "${V:=Wrong_}"} {
					if n.Is(yamldoc.String) {
						expression = `"` + expression + `"`
					}
					if strings.Contains(expression, "W") && !n.Is(yamldoc.String) {
						continue
					}
					for _, f := range errors(name, text[:from]+expression+text[to:]) {
						t.Errorf("%s in the place of %q: %s", expression, was, f)
					}
				}
			})
		}
	}
}

// TestOpenExamples puts a variable in the place of each value of a bad example that is
// another one in the good example. Where the good value would do, the rule may not call
// the bad one an error if users set it, or can and clusterctl lets them.
func TestOpenExamples(t *testing.T) {
	share.SkipInRace(t)
	errors := func(r *lint.Rule, text map[string]string) (out []string) {
		dir := t.TempDir()
		given.NoError(t, (examples.Files{Text: text}).Write(dir))
		repository := given.Value(folder.Open(t.Context(), dir))(t)
		report, err := lint.Run(t.Context(), repository, lint.Options{Rules: []*lint.Rule{r}})
		given.NoError(t, err)
		for _, f := range report.Findings {
			if f.Severity == lint.Error {
				out = append(out, show(f))
			}
		}
		return out
	}
	tried := 0
	for _, r := range rules.All {
		e := given.Value(examples.Load(r.ID))(t)
		if e.Source || len(e.Bad.Links) > 0 || r.ID == "PA020" || rules.FamilyOf(r.ID) == "VAR" { // about op, and variables
			continue
		}
		bad := errors(r, e.Bad.Text)
		for name, text := range e.Bad.Text {
			if kind := layouts.KindOfFile(path.Base(name)); len(bad) == 0 || !slices.Contains(view.Substituted, kind) {
				continue
			}
			right := scalars(name, e.Good.Text[name])
			for at, n := range scalars(name, text) {
				good, ok := right[at]
				if !ok || good.text == n.text || strings.ContainsAny(good.text+n.text, "\n${}") {
					continue
				}
				with := func(value string) []string {
					changed := maps.Clone(e.Bad.Text)
					changed[name] = text[:n.from] + value + text[n.to:]
					return errors(r, changed)
				}
				left := len(with(good.text))
				if left >= len(bad) {
					continue
				}
				tried++
				bare := strings.Trim(n.text, `"`)
				if n.text != bare && !strings.HasPrefix(good.text, `"`) { // no string can be right
					bare = n.text
				}
				values := []string{"${V}"}
				if r.Proof != lint.Clusterctl { // which refuses the default
					values = append(values, "${V:="+bare+"}")
				}
				for _, value := range values {
					if list := with(strings.Replace(n.text, bare, value, 1)); len(list) > left {
						t.Errorf("%s in the place of %s: %s", value, n.text, list)
					}
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d values", tried)
	}
}

// span is a value in a text.
type span struct {
	from, to int
	text     string
}

// scalars are the values of a file by kind and path, but for those of several lines and
// those that variables are a part of.
func scalars(name, text string) map[string]span {
	out := map[string]span{}
	f := manifest.New(repo.BytesArtifact(name, []byte(text)), layouts.KindOfFile(path.Base(name)), text)
	if f.Docs() == nil {
		return out
	}
	for _, d := range f.Docs().Docs {
		var walk func(n *yamldoc.Node, at string)
		walk = func(n *yamldoc.Node, at string) {
			for _, f := range n.Fields() {
				walk(f.Value, at+"."+f.Name)
			}
			for i, item := range n.List() {
				walk(item, fmt.Sprintf("%s[%d]", at, i))
			}
			if n.Is(yamldoc.Map) || n.Is(yamldoc.List) || at == ".apiVersion" || at == ".kind" {
				return
			}
			from, to := d.Offsets(n)
			if f.Text() != nil {
				from, to = f.Text().RawOffset(from), f.Text().RawOffset(to)
			}
			out[d.Root.Get("kind").Str()+at] = span{from, to, text[from:to]}
		}
		if !d.Derived() {
			walk(d.Root, "")
		}
	}
	return out
}

// TestSpelledValues is about messages on values that are wrong for all users: they have
// the value as the file writes it, once, and in its place.
func TestSpelledValues(t *testing.T) {
	const template = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "${CLUSTER_NAME}", %s}
spec: {topology: {classRef: {name: a}, version: v1.34.0, controlPlane: {metadata: {%s}}}}
`
	for text, want := range map[string]string{
		"labels: {foo1: ${WORKER_MACHINE_COUNT}}": "YAML009 the value of label foo1 is an integer, not a string",
		`labels: {foo: "${A}_"}`:                  `TOP021 "${A}_" is not a valid label value`,
		`labels: {foo: "${A:=x}_"}`:               `TOP021 "${A:=x}_" is not a valid label value`,
		`labels: {foo: "${A:=x_}"}`:               `TOP021 "x_" is not a valid label value`,
	} {
		rule, message, _ := strings.Cut(want, " ")
		got := inRelease(t, map[string]string{"cluster-template.yaml": fmt.Sprintf(template, text, text)}, "YAML009", "TOP021")
		if len(got) != 1 || got[0].Rule.ID != rule || !strings.HasPrefix(got[0].Message, message) {
			t.Errorf("%s: %q, want %q", text, said(got), want)
		}
	}
}

// TestQuotedVariable is about a text where a number belongs: no value of the variable
// makes it one, so it stays an error also with a default.
func TestQuotedVariable(t *testing.T) {
	for _, f := range lintFiles(t, examples.Files{Text: map[string]string{
		"infrastructure-foo/v1.0.0/cluster-template.yaml": "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata: {name: a}\n" +
			"spec: {clusterName: a, replicas: \"${N:=3}\", template: {spec: {clusterName: a}}}\n",
	}}) {
		if strings.HasPrefix(f.Fix, "Remove the quotes") {
			if f.Severity != lint.Error {
				t.Errorf("%s %s: %s", f.Rule.ID, f.Message, f.Severity)
			}
			return
		}
	}
	t.Error("nothing says that the quotes are wrong")
}

// TestUnplacedVariable is about a document that only clusterctl's parser reads: values have no
// places there, but still come from variables.
func TestUnplacedVariable(t *testing.T) {
	const template = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: a, labels: {n: "${CONTROL_PLANE_MACHINE_COUNT}"}}
spec:
  clusterNetwork:
    pods:
      cidrBlocks: [192.168.0.0/16]#x
  controlPlaneEndpoint: {host: a, port: PORT}
`
	for port, want := range map[string]bool{"${FOO_PORT}": false, "text1": true} {
		got := slices.ContainsFunc(lintRelease(t, lint.Options{Rules: []*lint.Rule{rules.ByID("TPL012")}},
			map[string]string{"cluster-template.yaml": strings.Replace(template, "PORT", port, 1)}),
			func(f lint.Finding) bool { return f.Rule.ID == "TPL012" })
		if got != want {
			t.Errorf("port %s: found is %v, want %v", port, got, want)
		}
	}
}

// eachScalar visits the values of a document, but for those that say which object it is.
func eachScalar(n *yamldoc.Node, visit func(*yamldoc.Node)) {
	for _, f := range n.Fields() {
		if f.Name != "apiVersion" && f.Name != "kind" || n.Get("metadata") == nil {
			eachScalar(f.Value, visit)
		}
	}
	for _, item := range n.List() {
		eachScalar(item, visit)
	}
	if n.Kind != yamldoc.Map && n.Kind != yamldoc.List {
		visit(n)
	}
}
