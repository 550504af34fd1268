package look_test

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestMovePlanLive asks an API server that gives fixed answers.
func TestMovePlanLive(t *testing.T) {
	const token = "do-not-tell"
	definition := func(kind string) string {
		return fmt.Sprintf(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"x","labels":{"clusterctl.cluster.x-k8s.io":""}},"spec":{"group":"cluster.x-k8s.io","scope":"Namespaced","names":{"kind":%q,"plural":%q},"versions":[{"name":"v1beta2","storage":true}]}}`,
			kind, strings.ToLower(kind)+"s")
	}
	cluster := `{"kind":"Cluster","apiVersion":"cluster.x-k8s.io/v1beta2","metadata":{"name":"c","namespace":"prod","uid":"u"},"status":{"initialization":{"infrastructureProvisioned":true,"controlPlaneInitialized":true},"conditions":[{"type":"ControlPlaneInitialized","status":"True"}]}}`
	answers := map[string]string{
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions":           definition("Cluster") + "," + definition("MachineDeployment"),
		"/apis/cluster.x-k8s.io/v1beta2/clusters":                           cluster,
		"/apis/cluster.x-k8s.io/v1beta2/namespaces/prod/machinedeployments": "",
		"/api/v1/namespaces/prod/secrets":                                   "",
		"/api/v1/namespaces/prod/configmaps":                                "",
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case !ok:
			http.NotFound(w, r)
		case answer == "forbidden":
			http.Error(w, "no", http.StatusForbidden)
		default:
			fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","metadata":{},"items":[%s]}`, answer)
		}
	}))
	t.Cleanup(s.Close)
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	kubeconfig := func(token string) string {
		name := filepath.Join(t.TempDir(), "kubeconfig")
		text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: k, user: u, namespace: prod}}, {name: b, context: {cluster: k, user: u, namespace: other}}],
			clusters: [{name: k, cluster: {server: %q, certificate-authority-data: %s}}], users: [{name: u, user: {token: %q}}]}`, s.URL, authority, token)
		given.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	run := func(want int, contains string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code := program.Main(t.Context(), append([]string{"move-plan"}, args...), cli.IO{In: strings.NewReader(""), Out: &stdout, Err: &stderr, LookupEnv: func(string) (string, bool) { return "", false }, Dir: t.TempDir()})
		out := stdout.String() + stderr.String()
		if code != want || !strings.Contains(out, contains) || strings.Contains(out, token) {
			t.Errorf("%q: exit code %d\n%s", args, code, out)
		}
	}
	good := kubeconfig(token)
	run(cli.ExitOK, "namespace prod of "+s.URL+": 1 moved", "--kubeconfig", good)
	run(cli.ExitOK, "namespace other of "+s.URL+": no objects", "--kubeconfig", good, "--kubeconfig-context", "b")
	run(cli.ExitUsage, `unknown context "none" (known: a and b)`, "--kubeconfig", good, "--kubeconfig-context", "none")
	run(cli.ExitFailed, "cannot be read", "--kubeconfig", kubeconfig("wrong"))
	answers["/apis/cluster.x-k8s.io/v1beta2/namespaces/prod/machinedeployments"] = "forbidden"
	run(cli.ExitFailed, "machinedeployments.cluster.x-k8s.io in namespace prod cannot be read", "--kubeconfig", good)
	answers["/apis/cluster.x-k8s.io/v1beta2/namespaces/prod/machinedeployments"] = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"md","namespace":"prod","uid":"v"}}`
	run(cli.ExitFindings, "left behind MachineDeployment prod/md", "--kubeconfig", good)
}
