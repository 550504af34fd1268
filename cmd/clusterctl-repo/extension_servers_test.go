package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// extensions are the servers that scripts may start.
var extensions = map[string]http.HandlerFunc{
	"good":     answering(`{"name":"create","requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"BeforeClusterCreate"}},{"name":"validate","requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"ValidateTopology"}}`),
	"bad-name": answering(`{"name":"Create_It","requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"BeforeClusterCreate"}}`),
	"html": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html><body>hello</body></html>")
	},
	"panic": func(http.ResponseWriter, *http.Request) { panic("oops") },
	"hang": func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	},
	"large": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(21<<20))
		_, _ = io.WriteString(w, "{")
	},
}

// answering answers discovery with handlers, and their hooks with Success.
func answering(handlers string) http.HandlerFunc {
	const base = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/"
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var object map[string]any
		switch path := strings.TrimPrefix(r.URL.Path, base); {
		case path != "discovery" && path != "beforeclustercreate/create" && path != "validatetopology/validate":
			http.NotFound(w, r)
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case json.Unmarshal(body, &object) != nil || object == nil:
			_, _ = io.WriteString(w, `{"status":"Failure","message":"this is no request"}`)
		case path == "discovery":
			_, _ = io.WriteString(w, `{"status":"Success","handlers":[`+handlers+`]}`)
		default:
			_, _ = io.WriteString(w, `{"status":"Success","message":"","retryAfterSeconds":0}`)
		}
	}
}

// serve starts a server until the script ends, and sets URL and the file ca.crt; with
// the first request it makes the file asked: serve NAME.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || extensions[args[0]] == nil {
		ts.Fatalf("usage: serve NAME")
	}
	asked := ts.MkAbs("asked")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = os.WriteFile(asked, nil, 0o644)
		extensions[args[0]](w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ts.Check(os.WriteFile(ts.MkAbs("ca.crt"), ca, 0o644))
	ts.Setenv("URL", server.URL)
	ts.Setenv("HOST", fmt.Sprint(server.Listener.Addr()))
}
