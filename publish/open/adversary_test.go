package open

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// adversary is a server that means harm. All hosts of the test lead to it.
type adversary func(w http.ResponseWriter, r *http.Request)

// stream writes text again and again until the client leaves, or the limit is
// reached, which no client should let happen.
func stream(w io.Writer, start, again string, limit int) {
	block := []byte(strings.Repeat(again, 1+(64<<10)/len(again)))
	if _, err := io.WriteString(w, start); err != nil {
		return
	}
	for n := 0; n < limit; n += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

const (
	terminal = "\x1b]0;owned\x07\x1b[2J\u202e\u009b31m"
	huge     = 3 << 30
)

// hugeHeader is longer than any client takes; it is made once, as the servers are in
// the process whose memory is measured.
var hugeHeader = strings.Repeat("x", 20<<20)

var adversaries = map[string]adversary{
	"a huge text in JSON": func(w http.ResponseWriter, r *http.Request) { stream(w, `[{"tag_name":"`, "v", huge) },
	"a huge list": func(w http.ResponseWriter, r *http.Request) {
		stream(w, `[`, `{"tag_name":"v1.0.0","version":"v1.0.0"},`, huge)
	},
	"many tiny objects":        func(w http.ResponseWriter, r *http.Request) { stream(w, `[`, `{},`, huge) },
	"a huge object":            func(w http.ResponseWriter, r *http.Request) { stream(w, `{"tags":[`, `"v1.0.0",`, huge) },
	"a deep object":            func(w http.ResponseWriter, r *http.Request) { stream(w, ``, `{"a":`, huge) },
	"a huge header":            func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X", hugeHeader) },
	"huge refusals":            func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400); stream(w, `{"message":"`, "m", huge) },
	"huge failures":            func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); stream(w, `{"message":"`, "m", huge) },
	"no such thing, at length": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404); stream(w, ``, "m", huge) },
	"pages without end": func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscan(r.URL.Query().Get("page"), &n)
		w.Header().Set("X-Next-Page", fmt.Sprint(n+1))
		last := r.URL.Query().Get("last")
		if strings.HasSuffix(r.URL.Path, "/tags/list") {
			w.Header().Set("Link", fmt.Sprintf(`<%s?last=%sx>; rel="next"`, r.URL.Path, last))
			io.WriteString(w, `{"tags":["v1.0.0"]}`)
			return
		}
		w.Header().Set("Link", fmt.Sprintf(`<https://%s%s?page=%d>; rel="next"`, r.Host, r.URL.Path, n+1))
		fmt.Fprintf(w, `[{"tag_name":"v1.%d.0","name":"infrastructure-foo","version":"v1.%[1]d.0","file_name":"%[1]d.yaml","id":%[1]d,"status":"default"}]`, n)
	},
	"a byte from time to time": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 300 {
			if _, err := io.WriteString(w, " "); err != nil || r.Context().Err() != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	},
	"silence": func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(3 * time.Second):
		}
	},
	"an echo of the credentials in a refusal": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(422)
		text := fmt.Sprint(r.Header) + r.Header.Get("Authorization")
		fmt.Fprintf(w, `{"message":%q,"errors":[{"code":%[1]q,"message":%[1]q}],"error":%[1]q}`, terminal+text)
	},
	"terminal codes everywhere": func(w http.ResponseWriter, r *http.Request) {
		evil := strings.ReplaceAll(fmt.Sprintf("%q", terminal), `\x`, `\u00`)
		evil = strings.ReplaceAll(evil, `\a`, `\u0007`)
		one := fmt.Sprintf(`{"id":1,"tag_name":"v1.0.0","html_url":%s,"name":%[1]s,"full_name":%[1]s,"body":%[1]s,"file_name":%[1]s,"message":%[1]s,"draft":true,"upload_url":%[1]s,
			"assets":[{"id":1,"name":%[1]s,"state":"uploaded"}],"_links":{"web_path":"/%[2]s"}}`, evil, strings.Trim(evil, `"`))
		if strings.HasSuffix(r.URL.Path, "/releases") || strings.Contains(r.URL.Path, "/assets") || strings.Contains(r.URL.Path, "package") {
			one = "[" + one + "]"
		}
		io.WriteString(w, one)
	},
	"redirects to another host": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.test"+r.URL.Path, http.StatusTemporaryRedirect)
	},
	"redirects in a circle": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) },
	"a redirect to the code": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/%1b%5b2J")
		w.WriteHeader(301)
	},
	"patience for ever": func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Retry-After", "600"); w.WriteHeader(429) },
	"failures for ever": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) },
	"a wish for other secrets": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Www-Authenticate", `Bearer realm="https://elsewhere.test/token"`)
		w.WriteHeader(401)
	},
	"nonsense": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>"+terminal) },
	"null":     func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "null") },
	"nothing":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusOK) },
	"half":     func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "[") },
	"a word":   func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"message":"hi"}`) },
}

// TestAdversaries does everything that can be done with a place at servers
// that mean harm. It must end, in little memory, with an error that can be
// shown, and no other host may see a credential.
func TestAdversaries(t *testing.T) {
	for i, what := range slices.Sorted(maps.Keys(adversaries)) {
		for j, place := range []string{hub + "/o/r", labA + "/g/p", "oci://registry.test/acme/foo"} {
			if (i+j)%share.Of(3, 1) == 0 {
				t.Run(what+" at "+place, func(t *testing.T) { attack(t, what, place) })
			}
		}
	}
}

func attack(t *testing.T, what, name string) {
	server := httptest.NewServer(http.HandlerFunc(adversaries[what]))
	defer server.Close()
	defer server.CloseClientConnections()
	usual, ok := transport.Usual().(*http.Transport) // with its limits
	if !ok {
		t.Fatal("the usual transport is another one")
	}
	base := &divert{to: strings.TrimPrefix(server.URL, "http://"), next: usual.Clone()}
	defer base.next.CloseIdleConnections()
	p := &Places{Env: func(n string) (string, bool) { v, ok := every[n]; return v, ok }, Base: base}
	var slept atomic.Int64
	p.Policy = transport.Policy{Timeout: 60 * time.Millisecond, Attempts: 2, Sleep: func(ctx context.Context, d time.Duration) error {
		if slept.Add(int64(d)) > int64(10*time.Hour) {
			return errors.New("the test slept for ten hours")
		}
		return context.Cause(ctx)
	}}
	site := given.Value(p.Site(name, Options{}))(t)
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Artifacts: []*repo.Artifact{repo.BytesArtifact("a.yaml", []byte("a"))}}
	d := given.Value(site.Of(r.Provider))(t)
	peak := watchMemory()
	for verb, do := range map[string]func(context.Context, publish.Destination) error{
		"Versions": func(ctx context.Context, d publish.Destination) error { _, err := d.Versions(ctx); return err },
		"Fetch": func(ctx context.Context, d publish.Destination) error {
			got, err := d.Fetch(ctx, r.Version)
			if err == nil {
				for _, a := range got.Artifacts {
					_, err = a.Bytes()
				}
			}
			return err
		},
		"Plan":   func(ctx context.Context, d publish.Destination) error { _, err := d.Plan(ctx, r); return err },
		"Put":    func(ctx context.Context, d publish.Destination) error { _, err := d.Put(ctx, r); return err },
		"Verify": func(ctx context.Context, d publish.Destination) error { return d.Verify(ctx, r) },
	} {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := do(ctx, d)
		cancel()
		if took := time.Since(began); took > 50*time.Second {
			t.Errorf("%s took %s: %v", verb, took, err)
		}
		if err != nil {
			checkText(t, verb, err.Error())
		} else if verb == "Put" || verb == "Verify" || slices.Contains([]string{"nonsense", "null", "nothing", "half", "a word"}, what) {
			t.Errorf("%s succeeds", verb)
		}
	}
	if mb := peak() >> 20; mb > 100 {
		t.Errorf("%d MB of memory", mb)
	}
	if base.leaks.Load() > 0 {
		t.Errorf("%d requests with a credential to another host", base.leaks.Load())
	}
	if n := base.requests.Load(); n > 1500 {
		t.Errorf("%d requests", n)
	}
}

// checkText fails for a text that must not be shown.
func checkText(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range every {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows a credential: %q", where, text)
		}
	}
	if transport.Printable(text) != text {
		t.Errorf("%s shows control characters: %q", where, text)
	}
	if len(text) > 4000 {
		t.Errorf("%s says %d bytes: %.300q", where, len(text), text)
	}
}

// divert leads all requests to one server.
type divert struct {
	to              string
	next            *http.Transport
	leaks, requests atomic.Int64
}

func (d *divert) RoundTrip(req *http.Request) (*http.Response, error) {
	d.requests.Add(1)
	if req.URL.Host == "elsewhere.test" && strings.Contains(fmt.Sprint(req.Header), "secret-") {
		d.leaks.Add(1)
	}
	out := req.Clone(req.Context())
	out.Host = req.URL.Host
	out.URL.Scheme, out.URL.Host = "http", d.to
	resp, err := d.next.RoundTrip(out)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}

// watchMemory returns a function that ends watching and returns the most memory that
// was alive after a collection; the heap grows to twice that between two. Garbage does
// not count: how much of it waits depends on how busy the machine is.
func watchMemory() func() uint64 {
	runtime.GC() // what earlier tests left does not count
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var most uint64
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			metrics.Read(live)
			most = max(most, live[0].Value.Uint64())
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return func() uint64 { close(stop); done.Wait(); return most }
}
