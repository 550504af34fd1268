package extension_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const (
	service = `apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: acme-system}
spec:
  selector: {app: acme}
  ports: [{port: 443, targetPort: server}]
---
`
	other = `apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: acme-system}
spec: {ports: [{port: 8443}]}
---
`
	certificate = `apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: cert, namespace: acme-system}
spec: {dnsNames: [webhook.acme-system.svc], secretName: acme-cert}
---
`
	deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: acme-system}
spec: {template: {metadata: {labels: {app: acme, more: "1"}}, spec: {containers: [{name: manager, ports: [{name: server, containerPort: 9443}]}]}}}
---
`
	config = `apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata: {name: acme, annotations: {runtime.cluster.x-k8s.io/inject-ca-from-secret: acme-system/by-hand}}
spec:
  clientConfig: {service: {name: metrics, namespace: acme-system, port: 8443, path: /ext}}
  namespaceSelector: {matchLabels: {a: b}}
  settings: {color: red, size: small}
---
`
)

func objects(text string) []*manifest.Object {
	return manifest.New(repo.BytesArtifact("runtime-extension-components.yaml", []byte(text)), layouts.Components, []byte(text)).Objects()
}

func TestFind(t *testing.T) {
	for name, tc := range map[string]struct{ text, service, want string }{
		"by its certificate":     {other + service + certificate + deployment, "", "webhook.acme-system.svc 443 [9443] acme-cert"},
		"the only one":           {service, "", "webhook.acme-system.svc 443 [] "},
		"by the ExtensionConfig": {other + service + certificate + config, "", "metrics.acme-system.svc 8443 [8443] by-hand"},
		"by its name":            {other + service, "acme-system/metrics", "metrics.acme-system.svc 8443 [8443] "},
		"not clear":              {other + service, "", "error: several Services may belong to the extension: acme-system/metrics, acme-system/webhook"},
		"none":                   {deployment, "", "error: the components have no Service"},
		"no such":                {service, "acme-system/x", `error: unknown Service "acme-system/x" (known: acme-system/webhook)`},
		"elsewhere":              {service, "other/webhook", `error: unknown Service "other/webhook" (known: acme-system/webhook)`},
		"two ports":              {strings.Replace(service, "ports: [", "ports: [{port: 80, targetPort: 8080}, ", 1) + deployment, "", "webhook.acme-system.svc 443 [9443] "},
		"two certificates":       {other + service + certificate + strings.ReplaceAll(certificate, "webhook", "metrics"), "", "error: certificates are for several Services: acme-system/metrics and acme-system/webhook"},
	} {
		s, err := extension.FindServer(objects(tc.text), tc.service)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = s.Name() + " " + itoa(s.Port) + " [" + strings.Join(s.Targets, " ") + "] " + s.Secret
		}
		if got != tc.want {
			t.Errorf("%s: %s instead of %s", name, got, tc.want)
		}
	}
}

func itoa(n int64) string { return map[int64]string{443: "443", 8443: "8443"}[n] }

// TestWrite compares what is written with the schema of Cluster API.
func TestWrite(t *testing.T) {
	api, ok := contract.CoreSchema("runtime.cluster.x-k8s.io", extension.ConfigKind, "v1beta2")
	if !ok {
		t.Fatal("no schema")
	}
	for name, tc := range map[string]struct {
		text   string
		config extension.Config
		want   []string
	}{
		"from a certificate": {service + certificate, extension.Config{Name: "acme"}, []string{
			"runtime.cluster.x-k8s.io/inject-ca-from-secret: acme-system/acme-cert", "port: 443", "name: webhook",
		}},
		"elsewhere": {service + certificate, extension.Config{Name: "acme", Namespace: "prod", Settings: map[string]string{"key": "1"}}, []string{
			"inject-ca-from-secret: prod/acme-cert", "namespace: prod", `key: "1"`,
		}},
		"with a CA": {service, extension.Config{Name: "acme", CA: []byte("PEM")}, []string{"caBundle: UEVN"}},
		"like the one there is": {service + other + config, extension.Config{Name: "acme", Settings: map[string]string{"size": "large"}}, []string{
			"path: /ext", "a: b", "color: red", "size: large", "port: 8443",
		}},
	} {
		s := given.Value(extension.FindServer(objects(tc.text), ""))(t)
		made, err := s.Write(tc.config)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := given.Value(yamldoc.Marshal(made))(t)
		for _, v := range new(crd.Checker).CheckObject(api, yamldoc.Parse(yamldoc.NewFile("x", text)).Docs[0].Root) {
			t.Errorf("%s: %s %s", name, v.Path, v.Message)
		}
		for _, want := range tc.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
	}
	s := given.Value(extension.FindServer(objects(service), ""))(t)
	for want, c := range map[string]extension.Config{"no Certificate": {Name: "acme"}, "not a valid name": {Name: "a.b", CA: []byte("x")}, "no valid namespace": {Name: "a", Namespace: "A", CA: []byte("x")}} {
		if _, err := s.Write(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v instead of %q", err, want)
		}
	}
}
