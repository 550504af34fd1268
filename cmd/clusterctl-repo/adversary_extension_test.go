package main

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestExtensionCheckIsAttacked has a runtime extension behave like the servers of
// TestAdversaries: the check ends, keeps its memory, and prints nothing raw.
func TestExtensionCheckIsAttacked(t *testing.T) {
	most := highWater()
	const kinds = `{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"DiscoveryResponse","status":"Success","handlers":[` +
		`{"name":"a","requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"GeneratePatches"}}]}`
	honest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/discovery") {
			_, _ = io.WriteString(w, kinds)
			return
		}
		_, _ = io.WriteString(w, `{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"GeneratePatchesResponse","status":"Success"}`)
	})
	names := slices.Sorted(maps.Keys(evils))
	for i, name := range names {
		if i%share.Of(8, 1) != 0 {
			continue // some wait for the time limits of Cluster API
		}
		t.Run(name, func(t *testing.T) {
			var elsewhere safeBuffer
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.Host, "127.0.0.1:") {
					_, _ = io.WriteString(&elsewhere, r.Host+" ")
				}
				evils[name](w, r, honest)
			}))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			dir := t.TempDir()
			ca := filepath.Join(dir, "ca.crt")
			given.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			var printed safeBuffer
			began := time.Now()
			code := program.Main(ctx, []string{"extension", "check", s.URL, "--ca-file", ca, "--level", "discover"}, cli.IO{
				In: strings.NewReader(""), Out: &printed, Err: &printed, Dir: dir, LookupEnv: func(string) (string, bool) { return "", false },
			})
			text := printed.String()
			t.Logf("exit code %d after %s, %d bytes", code, time.Since(began).Round(time.Millisecond), len(text))
			if ctx.Err() != nil {
				t.Errorf("it does not end:\n%.1000s", text)
			}
			if strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") || transport.Printable(text) != text || len(text) > 100<<10 {
				t.Errorf("it prints\n%.3000q", text)
			}
			if hosts := elsewhere.String(); hosts != "" {
				t.Errorf("it asks for %s", hosts)
			}
		})
	}
	used := most()
	t.Logf("%d MB were in use", used>>20)
	if used > 150<<20 {
		t.Errorf("%d MB were in use", used>>20)
	}
}
