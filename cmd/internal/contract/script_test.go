package contract_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/contract"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/lint"
)

// program has the verbs that the scripts of this package use.
var program = clitest.Program(contract.Command, lint.ExplainCommand)

func TestMain(m *testing.M) { clitest.Main(m, program) }

func TestScripts(t *testing.T) {
	clitest.Scripts(t, map[string]clitest.Cmd{"apiserver": apiserver})
}

// apiserver starts a server without Cluster API on which nothing happens, and writes the
// file kubeconfig: apiserver.
func apiserver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: apiserver")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method != http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.URL.Path == "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupList","groups":[]}`)
		case r.URL.Path == "/api/v1/namespaces/kube-system":
			fmt.Fprint(w, `{"metadata":{"uid":"this"}}`)
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			fmt.Fprint(w, `{"kind":"List","metadata":{"resourceVersion":"1"},"items":[]}`)
		}
	}))
	ts.Defer(func() { server.CloseClientConnections(); server.Close() })
	ts.Check(os.WriteFile(ts.MkAbs("kubeconfig"), fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: a,
clusters: [{name: a, cluster: {server: %q}}], contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {}}]}`, server.URL), 0o600))
}
