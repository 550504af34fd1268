package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// looked are the pages that a browser opens: of each kind that the site has, and
// the report that lint writes.
var looked = []string{
	"/", "/getting-started/", "/using/", "/publishing/", "/commands/lint/", "/rules/META006/", "/faq/", "/ci/", "/move/",
	"/report.html",
}

// The page that opens them, one after the other, as wide as a phone and as a screen.
//
//go:embed axe.html
var opener string

// policy of a report forbids every script that is not its own, also the one of axe.
var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// fault is a serious or critical violation that axe sees.
type fault struct{ Page, Width, Rule, Impact, Help, Where string }

// TestAccessible opens pages of out/site and a report in Chromium, in light and dark
// colors, and lets axe judge them. A page that asks for anything of another host fails.
func TestAccessible(t *testing.T) {
	built := filepath.Join(root, "out/site")
	axe := filepath.Join(root, "out/axe/package/axe.min.js")
	for _, needed := range []string{filepath.Join(built, "index.html"), axe} {
		if _, err := os.Stat(needed); err != nil {
			t.Skipf("skipped: %s is not there; run make site", needed)
		}
	}
	program := "chromium"
	if _, err := exec.LookPath(program); err != nil {
		program = "google-chrome"
	}
	for name, scheme := range map[string]string{"dark": "0", "light": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lock sync.Mutex
			var elsewhere []string
			judged := map[string]bool{}
			done := make(chan struct{})
			mux := http.NewServeMux()
			mux.Handle("/", http.FileServer(http.Dir(built)))
			mux.HandleFunc("/report.html", func(w http.ResponseWriter, _ *http.Request) {
				data, err := os.ReadFile(filepath.Join(root, "repo/report/testdata/findings.html"))
				if err != nil {
					t.Error(err)
				}
				w.Write(policy.ReplaceAll(data, nil))
			})
			mux.HandleFunc("/axe.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, axe) })
			mux.HandleFunc("/axe.html", func(w http.ResponseWriter, _ *http.Request) {
				pages, err := json.Marshal(looked)
				if err != nil {
					t.Error(err)
				}
				fmt.Fprintf(w, "<!doctype html><script>const pages = %s, scheme = %q</script>\n%s", pages, name, opener)
			})
			mux.HandleFunc("/judged", func(_ http.ResponseWriter, r *http.Request) {
				var result struct {
					Page   string
					Error  string
					Faults []fault
				}
				if err := json.NewDecoder(r.Body).Decode(&result); err != nil || result.Error != "" {
					t.Errorf("%s: %s %v", result.Page, result.Error, err)
				}
				for _, f := range result.Faults {
					t.Errorf("%s at %s: %s (%s): %s\n\t%s", f.Page, f.Width, f.Rule, f.Impact, f.Help, f.Where)
				}
				lock.Lock()
				defer lock.Unlock()
				judged[result.Page] = true
			})
			mux.HandleFunc("/elsewhere", func(_ http.ResponseWriter, r *http.Request) {
				var report struct {
					Violation struct {
						Page string `json:"document-uri"`
						What string `json:"blocked-uri"`
					} `json:"csp-report"`
				}
				if err := json.NewDecoder(r.Body).Decode(&report); err != nil {
					t.Error(err)
				}
				lock.Lock()
				defer lock.Unlock()
				elsewhere = append(elsewhere, report.Violation.Page+" asks for "+report.Violation.What)
			})
			mux.HandleFunc("/done", func(http.ResponseWriter, *http.Request) { close(done) })
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Security-Policy", "default-src 'self' 'unsafe-inline' data:; report-uri /elsewhere")
				mux.ServeHTTP(w, r)
			}))
			defer server.Close()
			// The pages are ours, so that root of a container needs no sandbox around them.
			browser := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
				"--disable-background-networking", "--user-data-dir="+t.TempDir(), "--window-size=1400,1000",
				"--blink-settings=preferredColorScheme="+scheme, "--remote-debugging-port=0", server.URL+"/axe.html")
			var said bytes.Buffer
			browser.Stderr = &said
			given.NoError(t, browser.Start())
			select {
			case <-done:
			case <-time.After(5 * time.Minute):
				t.Error("the browser did not end")
			}
			browser.Process.Kill()
			browser.Wait()
			lock.Lock()
			defer lock.Unlock()
			if len(judged) != 2*len(looked) {
				t.Errorf("axe judged %d of %d pages\n%s", len(judged), 2*len(looked), &said)
			}
			if len(elsewhere) > 0 {
				t.Errorf("pages ask other hosts: %s", strings.Join(elsewhere, "; "))
			}
		})
	}
}
