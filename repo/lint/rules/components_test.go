package rules_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const fooNamespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: foo-system}\n---\n" // 4 lines

// running is a Deployment with one container, in flow style after its image.
func running(image, rest string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template: {spec: {containers: [{name: manager, image: " + image + rest + "}]}}\n"
}

// TestComponents is about what examples do not show: values from variables, nulls,
// and the order of things.
func TestComponents(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  annotations:\n"
	const certificate = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a, namespace: foo-system}\n"
	const identity = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: fooidentities.infrastructure.cluster.x-k8s.io}\nspec: {group: infrastructure.cluster.x-k8s.io, scope: Cluster, names: {kind: FooIdentity, plural: fooidentities}, versions: [{name: v1, served: true, storage: true}]}\n"
	const oldDefinition = "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\nspec: {group: x.io, names: {kind: Foo, plural: foos}, conversion: {strategy: Webhook, webhookClientConfig: {service: {name: a, namespace: b}}}, versions: [{name: v1, served: true, storage: true}]}\n"
	for name, c := range map[string]struct {
		text, families string   // text is of the components, or an archive with headers
		want           []string // rule:line
	}{
		"no objects":                           {"# nothing\n", "COMP", []string{"COMP039:0"}},
		"a Namespace of another group":         {"apiVersion: foo.com/v1\nkind: Namespace\nmetadata: {name: foo-system}\n", "COMP001", nil},
		"unnamed before named":                 {"kind: Namespace\n---\n" + fooNamespace, "COMP001", nil},
		"unnamed after named":                  {fooNamespace + "kind: Namespace\n", "COMP001", []string{"COMP001:5"}},
		"three":                                {fooNamespace + fooNamespace + fooNamespace, "COMP001", []string{"COMP001:6"}},
		"readable with some values only":       {"${X}\n  b: c\napiVersion: v1\nkind: Role\nmetadata: {name: a}\n", "COMP001", []string{"COMP001:0"}},
		"unreadable":                           {"a: [\n", "COMP001", nil},
		"name from a default":                  {"kind: Namespace\nmetadata: {name: '${N:=Foo}'}\n", "COMP002", []string{"COMP002:2"}},
		"name from the user":                   {"kind: Namespace\nmetadata: {name: '${N}_x'}\n", "COMP002", nil},
		"namespace from a default":             {fooNamespace + "kind: Role\nmetadata: {name: a, namespace: '${N:=bar}'}\n", "COMP003", []string{"COMP003:6"}},
		"namespace from the user":              {fooNamespace + "kind: Role\nmetadata: {name: a, namespace: '${N:-bar}${M}'}\n", "COMP003", nil},
		"target from the user":                 {"kind: Namespace\nmetadata: {name: '${N}'}\n---\nkind: Role\nmetadata: {name: a, namespace: bar}\n", "COMP003", nil},
		"the same default":                     {"kind: Namespace\nmetadata: {name: '${N:=a}'}\n---\nkind: Role\nmetadata: {name: a, namespace: '${N:=a}'}\n", "COMP003", nil},
		"injection from the user":              {fooNamespace + crd + "    cert-manager.io/inject-ca-from: ${CERT}\n", "COMP009", nil},
		"injection is null":                    {fooNamespace + crd + "    cert-manager.io/inject-ca-from:\n", "COMP009", []string{"COMP009:9"}},
		"injection with two slashes":           {fooNamespace + crd + "    cert-manager.io/inject-ca-from: a/b/c\n", "COMP009", []string{"COMP009:9"}},
		"injection that nobody sees":           {fooNamespace + crd + "    cert-manager.io/inject-ca-from: a\n    other: 1\n", "COMP009", nil},
		"a word of the namespace":              {fooNamespace + running("ghcr.io/x/y:v1", ", args: [--a=foo-system-x, --b=my-foo-system, --c=x.foo-system.svc]"), "COMP010", []string{"COMP010:9"}},
		"dnsNames is null":                     {fooNamespace + certificate + "spec:\n  dnsNames:\n", "COMP011", []string{"COMP011:9"}},
		"dnsNames with a number":               {fooNamespace + certificate + "spec: {dnsNames: [a.foo-system.svc, 1]}\n", "COMP011", []string{"COMP011:8"}},
		"spec of a Certificate is a list":      {fooNamespace + certificate + "spec: []\n", "COMP011", []string{"COMP011:8"}},
		"a short name besides a full one":      {fooNamespace + certificate + "spec: {dnsNames: [a.foo-system, a.foo-system.svc]}\n", "COMP011", nil},
		"image from a default":                 {fooNamespace + running("'${I:=nginx}'", ""), "COMP015", []string{"COMP015:9"}},
		"image from the user":                  {fooNamespace + running("'${I}'", ""), "COMP015", nil},
		"tag from the user":                    {fooNamespace + running("'nginx:${T}'", ""), "COMP015", nil},
		"image is null":                        {fooNamespace + running("null", ""), "COMP015", []string{"COMP015:9"}},
		"image with upper case":                {fooNamespace + running("ghcr.io/X/y:v1.0.0", ""), "COMP015", []string{"COMP015:9"}},
		"image with port":                      {fooNamespace + running("'localhost:5000/x:v1.0.0'", ""), "COMP015", nil},
		"digest with a moving tag":             {fooNamespace + running("'ghcr.io/x/y:latest@sha256:"+strings.Repeat("a", 64)+"'", ""), "COMP016", nil},
		"tag of the version with a suffix":     {fooNamespace + running("ghcr.io/x/y:v1.0.0-build.7", ""), "COMP016", nil},
		"containers is no list":                {fooNamespace + "kind: Deployment\nspec: {template: {spec: {containers: {a: b}}}}\n", "COMP015", nil},
		"selector of another workload":         {fooNamespace + running("ghcr.io/x/y:v1", "") + "---\nkind: Service\napiVersion: v1\nmetadata: {name: s}\nspec: {selector: {a: b}}\n", "WH002", []string{"WH002:14"}},
		"namespace as two arguments":           {fooNamespace + running("ghcr.io/x/y:v1", ", command: [/manager, --namespace], args: [a]"), "COMP014", []string{"COMP014:9"}},
		"namespace with one dash":              {fooNamespace + running("ghcr.io/x/y:v1", ", args: [-namespace=a]"), "COMP014", []string{"COMP014:9"}},
		"the last namespace counts":            {fooNamespace + running("ghcr.io/x/y:v1", ", args: [--namespace=a, '--namespace=']"), "COMP014", nil},
		"namespace is empty":                   {fooNamespace + running("ghcr.io/x/y:v1", ", args: [--namespace, '']"), "COMP014", nil},
		"namespace without a value":            {fooNamespace + running("ghcr.io/x/y:v1", ", args: [--namespace]"), "COMP014", nil},
		"namespace from a variable":            {fooNamespace + running("ghcr.io/x/y:v1", ", args: ['--namespace=${N:=a}']"), "COMP014", nil},
		"namespace from the environment":       {fooNamespace + running("ghcr.io/x/y:v1", ", args: [--namespace=$(N)]"), "COMP014", nil},
		"a flag with a longer name":            {fooNamespace + running("ghcr.io/x/y:v1", ", args: [--namespace-selector=a, namespace=b]"), "COMP014", nil},
		"unknown fields of an extension":       {fooNamespace + "apiVersion: runtime.cluster.x-k8s.io/v1beta2\nkind: ExtensionConfig\nmetadata: {name: a}\nsepc: {}\nspec:\n  objectSelector: {}\n  clientConfig:\n    caBundel: a\n", "TOP001", []string{"TOP001:8", "TOP001:10", "TOP001:12"}},
		"optional secret":                      {fooNamespace + running("ghcr.io/x/y:v1", ", envFrom: [{secretRef: {name: a, optional: true}}, {secretRef: {name: b}}]"), "DEP004", []string{"DEP004:9"}},
		"entries of the same name":             {"-- cluster-template.yaml --\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a}\nspec:\n  topology:\n    classRef: {name: b}\n    version: v1.34.0\n    workers:\n      machineDeployments:\n      - {class: c, name: d, replicas: '${N}'}\n      - {class: c, name: d, replicas: '${N}'}\n      - {class: c, name: '${D}'}\n      - {class: c, name: '${D}'}\n", "TOP001", []string{"TOP001:11"}},
		"a key that no Secret has":             {fooNamespace + running("ghcr.io/x/y:v1", ", env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: b}}}, {name: B, valueFrom: {secretKeyRef: {name: s, key: a}}}]") + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: foo-system}\nstringData: {a: b}\n", "DEP004", []string{"DEP004:9"}},
		"objects that others need":             {fooNamespace + running("ghcr.io/x/y:v1", "}], priorityClassName: a, initContainers: [{name: b, image: ghcr.io/x/y:v1") + "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a, namespace: foo-system}\nspec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: b}}\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a, namespace: foo-system}\nspec:\n  defaultBackend: {service: {name: a, port: {number: 80}}}\n  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: b, port: {number: 80}}}}]}}]\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: a}\nspec: {policyName: a, validationActions: [Deny]}\n", "DEP004", []string{"DEP004:9", "DEP004:14", "DEP004:20", "DEP004:21", "DEP004:26"}},
		"scripts that call commands":           {"-- cluster-template.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: '${FOO_NAME:1:1}'}\ndata:\n  a: echo $$(hostname -I) $$(date)\n  b: $$(POD_IP)\n", "VAR014", []string{"VAR014:6"}},
		"a part of a variable as the name":     {"-- cluster-template.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: '${FOO_NAME:1:1}'}\n", "YAML007", nil},
		"left by the file that has it":         {"-- cluster-template.yaml --\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a}\nspec: {topology: {classRef: {name: b}, version: v1.34.0}}\n-- clusterclass-b.yaml --\napiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: b}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: c}\n", "MOVE003", []string{"MOVE003:7"}},
		"a CRD in an old version":              {oldDefinition, "COMP008", nil},
		"a CRD in an old version, by its rule": {oldDefinition, "CRD005", []string{"CRD005:1"}},
		"an identity of another file":          {"-- infrastructure-components.yaml --\n" + identity + "-- infrastructure-components-dev.yaml --\n" + fooNamespace, "MOVE011", []string{"MOVE011:3"}},
		"a range of a class that ends early":   {"-- clusterclass-b.yaml --\napiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: b}\nspec:\n  workers:\n    machineDeployments:\n    - {class: a, healthCheck: {remediation: {triggerIf: {unhealthyInRange: \"[3-3]\"}}}}\n    - {class: b, healthCheck: {remediation: {triggerIf: {unhealthyInRange: \"[10-9]\"}}}}\n", "CC012", []string{"CC012:8"}},
		"columns that kubectl cannot parse":    {fooNamespace + "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.a.io}\nspec:\n  group: a.io\n  names: {kind: Foo, plural: foos}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: array, items: {type: string}}}}}}}\n    additionalPrinterColumns:\n    - {name: A, type: string, jsonPath: \".spec.a[0]\"}\n    - {name: B, type: string, jsonPath: \".spec.a[0\"}\n", "CRD028", []string{"CRD028:19"}},
		"rules that grant nothing":             {fooNamespace + "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: foo-system}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules:\n- {apiGroups: [core], resources: [pods], verbs: [get, manage, \"*\"]}\n- {apiGroups: [\"\"], resources: [pods], verbs: [wacth]}\n- {apiGroups: [\"\"], resources: [pods], resourceNames: [a], verbs: [create]}\n- {apiGroups: [\"\"], resources: [pods], resourceNames: [a], verbs: [create, get]}\n- {nonResourceURLs: [metrics, /a/*, \"*\", \"/a*b\"], verbs: [get]}\n", "RBAC005", []string{"RBAC005:13", "RBAC005:14", "RBAC005:15", "RBAC005:17", "RBAC005:17"}},
		"issuers that are not there":           {fooNamespace + "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a, namespace: foo-system}\nspec: {secretName: a, dnsNames: [a.b.svc], issuerRef: {name: a}}\n---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: b, namespace: foo-system}\nspec: {secretName: b, dnsNames: [a.b.svc], issuerRef: {name: a, kind: ClusterIssuer}}\n", "WH01", []string{"WH017:8"}},
		"the group of an issuer":               {fooNamespace + "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: a, namespace: foo-system}\n---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a, namespace: foo-system}\nspec: {issuerRef: {name: a, group: certmanager.io}}\n", "WH017", []string{"WH017:12"}},
		"accounts that are not there":          {fooNamespace + "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: foo-system}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules:\n- {apiGroups: [core], resources: [pods], verbs: [get, manage, \"*\"]}\n- {apiGroups: [\"\"], resources: [pods], verbs: [wacth]}\n- {apiGroups: [\"\"], resources: [pods], resourceNames: [a], verbs: [create]}\n- {apiGroups: [\"\"], resources: [pods], resourceNames: [a], verbs: [create, get]}\n- {nonResourceURLs: [metrics, /a/*, \"*\", \"/a*b\"], verbs: [get]}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}\nsubjects:\n- {kind: ServiceAccount, name: a, namespace: foo-system}\n- {kind: ServiceAccount, name: b, namespace: foo-system}\n- {kind: ServiceAccount, name: default, namespace: foo-system}\n- {kind: ServiceAccount, name: b, namespace: elsewhere}\n", "RBAC009", []string{"RBAC009:25"}},
		"review versions in a text": {fooNamespace + "apiVersion: admissionregistration.k8s.io/v1\n" +
			"kind: ValidatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks:\n" +
			"- {name: a.b.c, admissionReviewVersions: v1}\n" +
			"- {name: a.b.d, admissionReviewVersions: null}\n", "WH008", []string{"WH008:10"}},
		"a Certificate without a namespace": {fooNamespace + strings.Replace(certificate, ", namespace: foo-system", "", 1) +
			"spec: {dnsNames: [a.foo-system.svc]}\n", "COMP011", []string{"COMP011:8"}},
		"a name that no shell exports": {"-- cluster-template.yaml --\napiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: a}\ndata: {a: \"${1a}\"}\n", "VAR010", nil},
		"a range of 33 characters": {"-- clusterclass-b.yaml --\napiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\n" +
			"metadata: {name: b}\nspec:\n  workers:\n    machineDeployments:\n" +
			"    - {class: a, healthCheck: {remediation: {triggerIf: {unhealthyInRange: \"[1-" + strings.Repeat("2", 28) + "]\"}}}}\n" +
			"    - {class: b, healthCheck: {remediation: {triggerIf: {unhealthyInRange: \"[1-" + strings.Repeat("2", 29) + "]\"}}}}\n",
			"CC012", []string{"CC012:8"}},
		"a plural that is not in the name":                   {fooNamespace + "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.a.io}\nspec:\n  group: a.io\n  names: {kind: Foo, plural: foo}\n  scope: Namespaced\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n", "CRD001", []string{"CRD001:10"}},
		"the same without the check of the name":             {fooNamespace + "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.a.io, annotations: {clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check: \"\"}}\nspec:\n  group: a.io\n  names: {kind: Foo, plural: foo}\n  scope: Namespaced\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n", "CRD001", []string{"CRD001:10"}},
		"a CRD without a plural":                             {fooNamespace + "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.a.io}\nspec:\n  group: a.io\n  names: {kind: Foo}\n  scope: Namespaced\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n", "CRD001", []string{"CRD001:10"}},
		"components under no name, next to a list of users":  {"-- images.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "REPO004", []string{"REPO004:0"}},
		"components under no name, next to objects of users": {"-- quickstart.yaml --\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata: {name: a}\n", "REPO004", []string{"REPO004:0"}},
		"one tag for two images":                             {twoImages("v1.0.0", "a", "b") + "images:\n  infrastructure-foo: {tag: v2}\n", "REPO026", []string{"REPO026:2"}},
		"a tag for each of two":                              {twoImages("v1.0.0", "a", "b") + "images:\n  infrastructure-foo: {tag: v2}\n  infrastructure-foo/b: {tag: v1}\n", "REPO026", nil},
		"one image in each version":                          {twoImages("v0.9.0", "a") + "{}\n" + twoImages("v1.0.0", "b") + "images:\n  infrastructure-foo: {tag: v2}\n", "REPO026", nil},
		"a fork at a download link": {"-- ../../clusterctl.yaml --\nproviders:\n- name: aws\n  type: InfrastructureProvider\n" +
			"  url: https://github.com/foo/foo/releases/download/v1.0.0/infrastructure-components.yaml\n", "NAME006", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			files := txtar.Parse([]byte(c.text))
			if files.Files == nil {
				files.Files = []txtar.File{{Name: "infrastructure-components.yaml", Data: []byte(c.text)}}
			}
			for _, f := range lintFiles(t, release(files)) {
				if strings.HasPrefix(f.Rule.ID, c.families) && f.Severity > lint.Info || f.Rule.ID == c.families {
					got = append(got, fmt.Sprintf("%s:%d", f.Rule.ID, f.Pos.Line))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// twoImages are components of a version with images, and the head of clusterctl.yaml.
func twoImages(version string, names ...string) string {
	out := "-- ../" + version + "/infrastructure-components.yaml --\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: foo-system}\nspec:\n"
	for _, name := range names {
		out += "  - image: ghcr.io/x/" + name + ":v1.0.0\n"
	}
	return out + "-- ../../clusterctl.yaml --\n"
}

// TestJudgedOnce demands that an object is compared with its definition once,
// whether a class refers to it or not, and as an API server receives it: without
// nulls and with defaults.
func TestJudgedOnce(t *testing.T) {
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fooclustertemplates.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: FooClusterTemplate, plural: fooclustertemplates}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [zone]
            oneOf: [{required: [zone]}, {required: [zones]}]
            properties: {region: {type: string}, zone: {type: string, default: a}, zones: {type: integer}}
---
`
	class := func(name string) string {
		return "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: a}\nspec:\n  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooClusterTemplate, name: " + name + "}}\n---\n"
	}
	object := func(rest string) string {
		return "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: FooClusterTemplate\nmetadata: {name: a}\n" + rest + "\n---\n"
	}
	for _, tc := range []struct{ spec, want string }{
		{"spec: {region: null, zone: null}", ""},
		{"spec: {}", ""},
		{"spec: {regoin: b}", "spec.regoin is not a known field"},
		{"spec: {zones: 1}", "spec is a mapping, which 2 of the alternatives in oneOf allow instead of one"},
		{"spec: {}\nsepc: {}", "sepc is not a known field"},
		{"spce: {}", "spce is not a known field; the FooClusterTemplate lacks spec"},
		{"spec: {}\nstatus: {a: b}", ""},
	} {
		for _, file := range []string{"infrastructure-components.yaml", "cluster-template.yaml", "clusterclass-a.yaml"} {
			for _, referred := range []string{"a", "b"} {
				text := map[string]string{"infrastructure-components.yaml": fooNamespace + definition}
				text[file] += class(referred) + object(tc.spec)
				rule := "TPL015"
				if referred == "a" {
					rule = "CC007"
				}
				found := inRelease(t, text, "TPL015", "CC007")
				for _, f := range found {
					if f.Rule.ID != rule || f.Severity != lint.Error {
						t.Errorf("%s in %s: %s from %s, want %s", tc.spec, file, f.Severity, f.Rule.ID, rule)
					}
				}
				if got := said(found); got != tc.want {
					t.Errorf("%s in %s, class of %s: %q, want %q", tc.spec, file, referred, got, tc.want)
				}
			}
		}
	}
}

// TestNoTemplate is about releases without any template for clusters.
func TestNoTemplate(t *testing.T) {
	for _, tc := range []struct {
		label, components, other string
		want                     int
	}{
		{"infrastructure-foo", "infrastructure-components.yaml", "README.md", 1},
		{"infrastructure-foo", "infrastructure-components.yaml", "clusterclass-a.yaml", 1},
		{"infrastructure-foo", "infrastructure-components.yaml", "cluster-template-a.yaml", 1},
		{"infrastructure-foo", "infrastructure-components.yaml", "cluster-template.yaml", 0},
		{"infrastructure-foo", "infrastructure-components.yaml", "cluster_template.yaml", 0}, // TPL001
		{"bootstrap-foo", "bootstrap-components.yaml", "README.md", 0},
	} {
		dir := tc.label + "/v1.0.0/"
		got := 0
		for _, f := range lintFiles(t, examples.Files{Text: map[string]string{
			dir + tc.components:   fooNamespace,
			dir + "metadata.yaml": series,
			dir + tc.other:        "kind: A\n",
		}}) {
			if f.Rule.ID == "TPL002" {
				got++
			}
		}
		if got != tc.want {
			t.Errorf("%s with %s: %d findings, want %d", tc.label, tc.other, got, tc.want)
		}
	}
}

// TestRights is about the rights of controllers in a provider with pools.
func TestRights(t *testing.T) {
	const (
		binding = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: %s}\nsubjects: [{kind: ServiceAccount, name: a, namespace: foo-system}]\n"
		role    = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s, labels: {l: v}}\nrules: [%s]\n"
		about   = "{apiGroups: [%s], resources: [%s], verbs: [%s]}"
		pool    = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foomachinepools.infrastructure.cluster.x-k8s.io, labels: {cluster.x-k8s.io/v1beta2: v1}}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {kind: FooMachinePool, plural: foomachinepools}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {infrastructureMachineKind: {type: string}}}}}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foomachines.infrastructure.cluster.x-k8s.io, labels: {cluster.x-k8s.io/v1beta2: v1}}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {kind: FooMachine, plural: foomachines}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`
	)
	clusters := fmt.Sprintf(about, "cluster.x-k8s.io", "clusters", "get, list")
	reads := fmt.Sprintf(about, "cluster.x-k8s.io", "machines, machinepools", "get") + ", " + fmt.Sprintf(about, `""`, "secrets", "get")
	machines := fmt.Sprintf(about, "infrastructure.cluster.x-k8s.io", "foomachinepools, foomachines", "get, create, delete") + ", " + reads
	bound := fmt.Sprintf(binding, "m")
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"all":                           {bound + fmt.Sprintf(role, "m", clusters+", "+machines), nil},
		"everything":                    {bound + fmt.Sprintf(role, "m", fmt.Sprintf(about, "'*'", "'*'", "'*'")), nil},
		"no clusters":                   {bound + fmt.Sprintf(role, "m", machines), []string{"RBAC013"}},
		"no pools":                      {bound + fmt.Sprintf(role, "m", clusters+", "+strings.Replace(machines, ", machinepools", "", 1)), []string{"RBAC013"}},
		"clusters in a role of nobody":  {bound + fmt.Sprintf(role, "m", machines) + fmt.Sprintf(role, "other", clusters), []string{"RBAC013"}},
		"one cluster":                   {bound + fmt.Sprintf(role, "m", machines+", {apiGroups: [cluster.x-k8s.io], resources: [clusters], resourceNames: [a], verbs: [get]}"), []string{"RBAC013"}},
		"nobody has a role":             {fmt.Sprintf(role, "m", machines), nil},
		"a role of others":              {bound + fmt.Sprintf(role, "m", machines) + fmt.Sprintf(binding, "elsewhere"), nil},
		"a role that collects":          {bound + fmt.Sprintf(role, "m", machines) + fmt.Sprintf(binding, "other") + fmt.Sprintf(role, "other", "") + "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\n", nil},
		"machines are not made":         {bound + fmt.Sprintf(role, "m", clusters+", "+strings.Replace(machines, "create, ", "", 1)), []string{"RBAC011"}},
		"two roles for machines":        {bound + fmt.Sprintf(binding, "other") + fmt.Sprintf(role, "m", clusters+", "+strings.Replace(machines, "create, ", "", 1)) + fmt.Sprintf(role, "other", strings.Replace(machines, ", delete", "", 1)), nil},
		"another machine has rights":    {strings.Replace(bound, "---\n", strings.ReplaceAll(strings.ReplaceAll(pool[strings.LastIndex(pool, "---\n"):], "foomachines", "barmachines"), "FooMachine", "BarMachine")+"---\n", 1) + fmt.Sprintf(role, "m", clusters+", "+strings.Replace(machines, "create, ", "", 1)+", "+fmt.Sprintf(about, "infrastructure.cluster.x-k8s.io", "barmachines", "'*'")), []string{"RBAC011"}},
		"only people have a role":       {bound + fmt.Sprintf(role, "m", clusters+", "+strings.Replace(machines, ", foomachines", "", 1)) + fmt.Sprintf(role, "people", machines), []string{"RBAC011"}},
		"machines are not known at all": {bound + fmt.Sprintf(role, "m", clusters+", "+strings.Replace(machines, ", foomachines", "", 1)), []string{"RBAC011"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range inRelease(t, map[string]string{"infrastructure-components.yaml": fooNamespace + strings.TrimPrefix(pool, "---\n") + c.text}, "RBAC011", "RBAC013") {
				got = append(got, f.Rule.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	foreign := strings.NewReplacer("infrastructure.cluster.x-k8s.io", "infrastructure.foo.com",
		"l: v", "cluster.x-k8s.io/aggregate-to-manager: 'true'")
	for verbs, want := range map[string]string{
		"get, watch":         "Cluster API may not list, patch, update, create and delete foomachinepools",
		"create, get, watch": "Cluster API may not list, patch, update and delete foomachinepools",
		"create, delete, get, list, patch, update, watch": "",
		"'*'": "",
	} {
		text := strings.TrimPrefix(pool, "---\n") +
			fmt.Sprintf(role, "r", fmt.Sprintf(about, "infrastructure.cluster.x-k8s.io", "foomachinepools", verbs))
		got := ""
		for _, f := range inRelease(t, map[string]string{
			"infrastructure-components.yaml": fooNamespace + foreign.Replace(text)}, "RBAC001", "RBAC003") {
			got += f.Message
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", verbs, got, want)
		}
	}
}

// TestTerminalFailures is about fields whose weight depends on the role.
func TestTerminalFailures(t *testing.T) {
	for kind, want := range map[string]lint.Severity{"FooCluster": lint.Warning, "FooMachinePool": lint.Info} {
		text := fooNamespace + `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: x, labels: {cluster.x-k8s.io/v1beta2: v1}}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: ` + kind + `}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {failureMessage: {type: string}}}}}}}]
`
		var got []lint.Severity
		for _, f := range inRelease(t, map[string]string{"infrastructure-components.yaml": text}, "CRD029") {
			got = append(got, f.Severity)
		}
		if !slices.Equal(got, []lint.Severity{want}) {
			t.Errorf("%s: %v, want %s", kind, got, want)
		}
	}
}

// TestVariablePrefix is about what stands for a provider in the names of variables.
func TestVariablePrefix(t *testing.T) {
	const kind = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x, labels: {cluster.x-k8s.io/v1beta2: v1}}\nspec:\n  group: infrastructure.cluster.x-k8s.io\n  names: {kind: DOCluster}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n---\n"
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: capdo-system}\n---\n"
	for variable, want := range map[string]bool{
		"DO_REGION": false, "DOMAIN": true, "REGION": true, "REGION_OF_DO": false, "DIGITALOCEAN_TOKEN": false, "CAPDO_LEVEL": false, "EXP_X": false, "KUBERNETES_VERSION": false,
	} {
		got := 0
		for _, f := range lintFiles(t, examples.Files{Text: map[string]string{
			"infrastructure-digitalocean/v1.0.0/infrastructure-components.yaml": namespace + kind + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '${" + variable + "}'}\n",
			"infrastructure-digitalocean/v1.0.0/metadata.yaml":                  series,
		}}) {
			if f.Rule.ID == "VAR013" {
				got++
			}
		}
		if (got > 0) != want {
			t.Errorf("%s: %d findings", variable, got)
		}
	}
}

// TestTemplateNames is about the ways to miss the name of a template or a class.
func TestTemplateNames(t *testing.T) {
	for name, want := range map[string]string{
		"clustertemplate.yaml":         "clusterctl requests cluster-template.yaml, which the release has, and never clustertemplate.yaml",
		"clustertemplate-ha.yaml":      "clusterctl requests cluster-template-ha.yaml and does not find clustertemplate-ha.yaml",
		"cluster_template_ha.yml":      "clusterctl requests cluster-template-ha.yaml and does not find cluster_template_ha.yml",
		"ha-cluster-template.yaml":     "clusterctl requests cluster-template-ha.yaml and does not find ha-cluster-template.yaml",
		"template-ha.yaml":             "clusterctl requests cluster-template-ha.yaml and does not find template-ha.yaml",
		"templates.yaml":               "",
		"template.yaml":                "clusterctl requests cluster-template.yaml, which the release has, and never template.yaml",
		"clusterclassfoo.yaml":         "clusterctl requests clusterclass-foo.yaml and does not find clusterclassfoo.yaml",
		"cluster-class-foo.yaml":       "clusterctl requests clusterclass-foo.yaml and does not find cluster-class-foo.yaml",
		"clusterclass.yaml":            "clusterctl does not find a ClusterClass in this file; it requests clusterclass-NAME.yaml",
		"cluster-template.yaml.sha256": "",
		"clusters.yaml":                "",
		"infrastructure-template.txt":  "",
	} {
		if got := said(inRelease(t, map[string]string{"cluster-template.yaml": "kind: A\n", name: "kind: A\n"}, "TPL001")); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestShapes is about ways to write a fault that the examples do not show.
func TestShapes(t *testing.T) {
	definition := func(kind, labels, spec string) string {
		plural := strings.ToLower(kind) + "s"
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural + ".infrastructure.cluster.x-k8s.io, labels: {" + labels + "}}\nspec:\n  group: infrastructure.cluster.x-k8s.io\n  scope: Namespaced\n  names: {kind: " + kind + ", plural: " + plural + "}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {" + spec + "}}}}}}]\n---\n"
	}
	const contractLabel, components = "cluster.x-k8s.io/v1beta2: v1", "infrastructure-components.yaml"
	webhook := func(resources string) string {
		return definition("FooMachineTemplate", contractLabel, "") + "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [{name: a.b.c, rules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [" + resources + "]}]}]\n"
	}
	cluster := func(worker, version string) string {
		return "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: '${CLUSTER_NAME}'}\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata: {name: '${CLUSTER_NAME}-md'}\nspec:\n  replicas: " + worker + "\n  template: {spec: {version: '${KUBERNETES_VERSION}'}}\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachinePool\nmetadata: {name: '${CLUSTER_NAME}-mp'}\nspec:\n  template: {spec: {version: '" + version + "'}}\n"
	}
	for name, tc := range map[string]struct{ file, text, rule, want string }{
		"capability":            {components, running("ghcr.io/x/y:v1", ", securityContext: {capabilities: {add: [NET_BIND_SERVICE, SYS_ADMIN]}}"), "DEP003", "has capabilities that the baseline standard forbids"},
		"capability with CAP_":  {components, running("ghcr.io/x/y:v1", ", securityContext: {capabilities: {add: [CAP_NET_ADMIN]}}"), "DEP003", "has capabilities that the baseline standard forbids"},
		"harmless capability":   {components, running("ghcr.io/x/y:v1", ", securityContext: {capabilities: {add: [CHOWN]}}"), "DEP003", "no runAsNonRoot"},
		"unconfined":            {components, running("ghcr.io/x/y:v1", ", securityContext: {seccompProfile: {type: Unconfined}}"), "DEP003", "runs without seccomp"},
		"port of the node":      {components, running("ghcr.io/x/y:v1", ", ports: [{containerPort: 80, hostPort: 80}]"), "DEP003", "uses ports of the node"},
		"all resources":         {components, webhook("'*'"), "WH010", "fooMachineTemplates"},
		"all with subresources": {components, webhook("'*/*'"), "WH010", "fooMachineTemplates"},
		"only machines":         {components, webhook("foomachines"), "WH010", ""},
		"count by another name": {"cluster-template.yaml", cluster("${NODE_MACHINE_COUNT}", "${KUBERNETES_VERSION}"), "TPL003", "spec.replicas comes from ${NODE_MACHINE_COUNT}, so --worker-machine-count of clusterctl has no effect"},
		"fixed in one place":    {"cluster-template.yaml", cluster("${WORKER_MACHINE_COUNT}", "v1.31.0"), "TPL003", "spec.template.spec.version is always v1.31.0, although the template uses ${KUBERNETES_VERSION} elsewhere"},
		"count without a part":  {"cluster-template.yaml", cluster("${NODE_MACHINE_COUNT#v}", "${KUBERNETES_VERSION#v}"), "TPL003", "spec.replicas comes from ${NODE_MACHINE_COUNT}, so --worker-machine-count of clusterctl has no effect"},
		"all common":            {"cluster-template.yaml", cluster("${WORKER_MACHINE_COUNT}", "${KUBERNETES_VERSION}"), "TPL003", ""},
		"internal machine":      {components, definition("FooMachine", contractLabel, "providerID: {type: string}") + definition("FooMachineTemplate", contractLabel, "") + definition("FooVirtualMachine", contractLabel, "providerID: {type: string}"), "IM006", ""},
		"machine alone":         {components, definition("FooMachine", contractLabel, "providerID: {type: string}"), "IM006", "the kind FooMachineTemplate is missing"},
		"internal cluster":      {components, definition("FooCluster", contractLabel, "") + definition("FooClusterTemplate", contractLabel, "") + definition("FooSubCluster", contractLabel, ""), "IC006", ""},
		"another cluster":       {components, definition("FooCluster", contractLabel, "") + definition("FooClusterTemplate", contractLabel, "") + definition("BarCluster", contractLabel, "controlPlaneEndpoint: {type: object}"), "IC006", "the kind BarClusterTemplate is missing"},
	} {
		if tc.file == components {
			tc.text = fooNamespace + tc.text
		}
		got := said(inRelease(t, map[string]string{tc.file: tc.text}, tc.rule))
		if want := strings.ToLower(tc.want); want == "" && got != "" || !strings.Contains(strings.ToLower(got), want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestGone is about APIs and registries that are gone.
func TestGone(t *testing.T) {
	object := func(apiVersion, kind string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: a}\n"
	}
	for text, want := range map[string]string{
		object("policy/v1beta1", "PodSecurityPolicy"):                       "COMP035 PodSecurityPolicy of policy/v1beta1 was removed in Kubernetes v1.25; management clusters have at least v1.33",
		object("policy/v1", "PodDisruptionBudget"):                          "",
		object("cert-manager.io/v1alpha2", "Certificate"):                   "COMP035 Certificate of cert-manager.io/v1alpha2 was removed from cert-manager, which clusterctl installs in a newer version",
		object("cert-manager.io/v1", "Issuer"):                              "",
		object("extensions/v1beta1", "Ingress"):                             "COMP035 Ingress of extensions/v1beta1 was removed in Kubernetes v1.22; management clusters have at least v1.33",
		object("batch/v1beta1", "CronJob"):                                  "COMP035 CronJob of batch/v1beta1 was removed in Kubernetes v1.25; management clusters have at least v1.33",
		running("gcr.io/kubebuilder/kube-rbac-proxy:v0.13.1", ""):           "COMP036 image gcr.io/kubebuilder/kube-rbac-proxy is no longer available",
		running("k8s.gcr.io/pause:3.2", ""):                                 "COMP036 image k8s.gcr.io/pause is in a registry that was frozen in April 2023",
		running("ghcr.io/org-v0.10.1/manager:v0.10.1", ""):                  "COMP036 image ghcr.io/org-v0.10.1/manager has a version inside its path, which probably belongs in the tag",
		running("'staging.registry.x.io:5000/a/b:v1'", ""):                  "COMP036 image staging.registry.x.io:5000/a/b is in a registry that is not meant for releases",
		running("registry-rc.x.io/a/b:v1", ""):                              "COMP036 image registry-rc.x.io/a/b is in a registry that is not meant for releases",
		running("us-central1-docker.pkg.dev/k8s-staging-images/a/b:v1", ""): "COMP036 image us-central1-docker.pkg.dev/k8s-staging-images/a/b is in a staging registry, which deletes images after some weeks",
		running("'localhost:5000/a:v1'", ""):                                "COMP036 image localhost:5000/a is in a registry that only its author's machine can reach",
		running("registry.k8s.io/cluster-api/manager:v1.2.3", ""):           "",
		running("ghcr.io/acme/arch-1.2/b:v1", ""):                           "",
		running("arcregistry.x.io/a/rc:v1", ""):                             "",
		running("docker.io/library/nginx:1.29", ""):                         "",
	} {
		got := ""
		for _, f := range inRelease(t, map[string]string{"infrastructure-components.yaml": fooNamespace + text}, "COMP035", "COMP036") {
			got += f.Rule.ID + " " + f.Message
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestCRD014 accepts a version in the labels of two contracts if it has the fields of both.
func TestCRD014(t *testing.T) {
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: fooclusters.infrastructure.cluster.x-k8s.io
  labels: {cluster.x-k8s.io/v1beta1: v1, cluster.x-k8s.io/v1beta2: v1}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {plural: fooclusters, kind: FooCluster, categories: [cluster-api]}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {%s}}}}}}
`
	for fields, want := range map[string]bool{
		`ready: {type: boolean}, initialization: {type: object, properties: {provisioned: {type: boolean}}}`: false,
		`initialization: {type: object, properties: {provisioned: {type: boolean}}}`:                         true,
		`ready: {type: boolean}`: true,
	} {
		findings, err := examples.Findings(context.Background(), examples.Files{Text: map[string]string{"infrastructure-foo/v1.0.0/infrastructure-components.yaml": fmt.Sprintf(definition, fields)}})
		given.NoError(t, err)
		if got := slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Rule.ID == "CRD014" }); got != want {
			t.Errorf("%s: %v, want %v", fields, got, want)
		}
	}
}
