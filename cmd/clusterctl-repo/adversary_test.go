package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// The places of the test, by kind: a release, and where one can be published.
// Every kind that is not local is here.
var attackedPlaces = map[layouts.LocationKind]struct{ release, latest, dest, file string }{
	layouts.GitHub: {
		"https://github.com/acme/provider/releases/v1.0.0/infrastructure-components.yaml",
		"https://github.com/acme/provider/releases/latest/infrastructure-components.yaml",
		"https://github.com/acme/provider",
		"https://github.com/acme/provider/releases/download/v1.0.0/infrastructure-components.yaml",
	},
	layouts.GitLab: {
		"https://gitlab.example.com/api/v4/projects/acme%2Fprovider/packages/generic/infrastructure-foo/v1.0.0/infrastructure-components.yaml",
		"https://gitlab.example.com/api/v4/projects/acme%2Fprovider/packages/generic/infrastructure-foo/latest/infrastructure-components.yaml",
		"https://gitlab.example.com/acme/provider",
		"https://gitlab.example.com/api/v4/projects/acme%2Fprovider/packages/generic/infrastructure-foo/v1.0.0/infrastructure-components.yaml",
	},
	layouts.OCI: {"oci://registry.test/acme/foo:v1.0.0", "oci://registry.test/acme/foo", "oci://registry.test/acme/foo", ""},
}

// attackedVerbs are the command lines of every command that can be led to a
// server, with RELEASE, LATEST and DEST for the place, and of all others, which
// get RELEASE as argument and must not make a request. A + in front says that
// the line publishes, - that it is about images, which are in the registry only, ~ that
// it reads single files by URL, which a registry does not have.
var attackedVerbs = map[string][]string{
	"lint":            {"lint RELEASE --fail-on never", "lint LATEST --fail-on never", "-lint ../in/repo --check-images --fail-on never"},
	"render provider": {"render provider RELEASE"},
	"render cluster":  {"render cluster RELEASE mine --kubernetes-version v1.34.0 --target-namespace x"},
	"render topology": {"render topology RELEASE mine --flavor topology"},
	"vars":            {"vars LATEST"},
	"images":          {"images RELEASE", "-images ../in/repo --check-images"},
	"diff":            {"diff RELEASE ../in/repo", "diff ../in/repo/infrastructure-foo/v1.0.0 LATEST"},
	"move-plan":       {"move-plan RELEASE"},
	"config":          {"config RELEASE --pin"},
	"extension check": {"extension check https://127.0.0.1:1 RELEASE --for 1s"},
	"extension config": {
		"extension config RELEASE",
	},
	"publish": {"+publish ../in/repo --to DEST --fail-on never", "publish RELEASE --to out/repository --fail-on never", "publish RELEASE --to DEST --dry-run --fail-on never"},
	"release": {"+release ../in/src --version v1.0.0 --to DEST --fail-on never"},
	"mirror": {
		"mirror RELEASE --to out/mirror", "mirror LATEST --to out/bundle.tar", "mirror ../in/clusterctl.yaml --to out/mirror",
		"+mirror ../in/repo --to DEST --out out/beside", "-mirror ../in/repo --images --to out/mirror",
		"-mirror ../in/pictures.tar --to out/mirror --image-registry registry.test/site --push-images",
	},
	"build":         {"~build ../in/remote-KIND --version v1.0.0 --allow remote --out out/built"},
	"mirror repair": {"mirror repair out/broken", "mirror repair out/broken --from RELEASE"},
	"mirror verify": {"mirror verify out/broken"},
	"mirror prune":  {"mirror prune out/broken --keep 1"},

	"init": nil, "version": nil, "man": nil, "schema": nil, "rules": nil, "explain": nil, "help": nil,
	"completion bash": nil, "completion fish": nil, "completion powershell": nil, "completion zsh": nil,
	"contract check": nil, "contract list": nil, "contract show": nil,
	"extension hooks": nil, "extension openapi": nil,
}

// attackedOwners says which hosts may see which secret.
var attackedOwners = map[string][]string{
	"secret-hub-0123456789":      {"github.com", "api.github.com", "uploads.github.com"},
	"secret-lab-0123456789":      {"gitlab.example.com"},
	"secret-registry-0123456789": {"registry.test", "registry.test:8443"}, // tokens may come from another port
	"secret-bearer-0123456789":   {"registry.test"},
	"secret-far-0123456789":      {},
}

// elsewhere is the domain of an attacker, whose hosts show what the host whose
// name is in front of it shows.
const elsewhere = ".elsewhere.test"

const (
	terminalCodes = "\x1b]0;owned\x07\x1b[2J\u202e\u009b31m"
	escapedCodes  = `\u001b]0;owned\u0007\u001b[2J\u202e\u009b31m` // in JSON
)

// evil answers a request. Honest is the server that it replaces.
type evil func(w http.ResponseWriter, r *http.Request, honest http.Handler)

// flood writes a text again and again until the client leaves.
func flood(w io.Writer, start, again string) {
	const enough = 400 << 20
	block := []byte(strings.Repeat(again, 1+(64<<10)/len(again)))
	if _, err := io.WriteString(w, start); err != nil {
		return
	}
	for n := 0; n < enough; n += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// spoil changes what the honest server says.
func spoil(change func(r *http.Request, status int, h http.Header, body []byte) (int, []byte)) evil {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		rec := httptest.NewRecorder()
		honest.ServeHTTP(rec, r)
		status, body := change(r, rec.Code, rec.Header(), rec.Body.Bytes())
		if r.Method != http.MethodHead {
			rec.Header().Del("Content-Length")
		}
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(status)
		w.Write(body)
	}
}

// moved leads the addresses in an answer to other ones.
func moved(to func(host string) string) evil {
	return spoil(func(r *http.Request, status int, h http.Header, body []byte) (int, []byte) {
		replace := func(s string) string {
			for _, host := range []string{"api.github.com", "uploads.github.com", "objects.github.com", "gitlab.example.com", "registry.test"} {
				s = strings.ReplaceAll(s, "https://"+host, to(host))
			}
			return strings.ReplaceAll(s, "https://github.com", to("github.com"))
		}
		for _, name := range []string{"Location", "Link", "Www-Authenticate"} {
			for i, v := range h[name] {
				if name == "Location" && strings.HasPrefix(v, "/") {
					v = "https://" + r.Host + v
				}
				h[name][i] = replace(v)
			}
		}
		return status, []byte(replace(string(body)))
	})
}

// wires takes over the connection of HTTP/1.1 and writes an answer by hand: its start,
// and the rest again and again.
func wires(start, again string) evil {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		hijacker, ok := w.(http.Hijacker)
		if !ok {
			panic(http.ErrAbortHandler) // HTTP/2 knows only the end of a stream
		}
		c, _, err := hijacker.Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		if again == "" {
			io.WriteString(c, start)
		} else {
			flood(c, start, again)
		}
	}
}

// floods answers with a status and a text without end.
func floods(status int, start, again string) evil {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.WriteHeader(status)
		flood(w, start, again)
	}
}

// answers has a status, and headers: pairs of a name and a value.
func answers(status int, headers ...string) evil {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
	}
}

// replaced puts other texts into the body; see strings.NewReplacer.
func replaced(pairs ...string) evil {
	return spoil(func(r *http.Request, status int, h http.Header, body []byte) (int, []byte) {
		return status, []byte(strings.NewReplacer(pairs...).Replace(string(body)))
	})
}

// away redirects to the same path at another host.
func away(status int) evil {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, "https://"+r.Host+elsewhere+r.URL.RequestURI(), status)
	}
}

func says(text string) evil {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) { io.WriteString(w, text) }
}

// repeats says a text and another one many times. It does so when it is asked: the
// table is made at each start of the test program, also as the program of scripts.
func repeats(start, text string, times int) evil {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		io.WriteString(w, start+strings.Repeat(text, times))
	}
}

var evils = map[string]evil{
	"a flood of text in JSON":  floods(http.StatusOK, `[{"tag_name":"`, "v"),
	"a flood of releases":      floods(http.StatusOK, `[`, `{"tag_name":"v1.0.0","version":"v1.0.0"},`),
	"a flood of tiny objects":  floods(http.StatusOK, `[`, `{},`),
	"a flood of tiny lists":    floods(http.StatusOK, `[{"assets":[`, `[],`),
	"a flood of numbers":       floods(http.StatusOK, `{"id":`, `9`),
	"a flood of tags":          floods(http.StatusOK, `{"tags":[`, `"v1.0.0",`),
	"a flood of manifests":     floods(http.StatusOK, `{"manifests":[`, `{"digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0},`),
	"a flood of spaces":        floods(http.StatusOK, ``, ` `),
	"a flood of YAML":          floods(http.StatusOK, ``, "- a: b\n"),
	"a million levels of JSON": repeats(``, `{"assets":[`, 1e6),
	"many lists in a thousand": repeats(strings.Repeat(`[`, 1000), `[]`, 1e6),
	"a bomb in gzip": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(gzipBomb())
	},
	"a huge header": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("X", strings.Repeat("x", 11<<20))
	},
	"a huge link": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Link", strings.Repeat("<https://", 50_000))
		io.WriteString(w, "[]")
	},
	"many headers":                    wires("HTTP/1.1 200 OK\r\n", "A: b\r\n"),
	"a header line that does not end": wires("HTTP/1.1 200 OK\r\nA: ", "b"),
	"an endless wait with 100":        wires("", "HTTP/1.1 102 Processing\r\n\r\n"),
	"chunks without end":              wires("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"),
	"extensions of a chunk":           wires("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "a"),
	"trailers without end":            wires("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n2\r\n[]\r\n0\r\n", "A: b\r\n"),
	"a length that is a lie":          wires("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n[]", ""),
	"two lengths":                     wires("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n[]x", ""),
	"no status":                       wires(terminalCodes+"\r\n\r\n", ""),
	"a status with codes":             wires("HTTP/1.1 400 "+terminalCodes+"\r\n\r\n", ""),
	"a closed connection":             wires("", ""),
	"refusals that flood":             floods(400, `{"message":"`, "m"),
	"failures that flood":             floods(500, `{"message":"`, "m"),
	"absence that floods":             floods(404, ``, "m"),
	"pages without end": spoil(func(r *http.Request, status int, h http.Header, body []byte) (int, []byte) {
		var n int
		fmt.Sscan(r.URL.Query().Get("page"), &n)
		h.Set("X-Next-Page", fmt.Sprint(n+1))
		query := r.URL.Query()
		query.Set("page", fmt.Sprint(n+1))
		query.Set("last", query.Get("last")+"x")
		h.Set("Link", fmt.Sprintf(`<https://%s%s?%s>; rel="next"`, r.Host, r.URL.EscapedPath(), query.Encode()))
		return status, body
	}),
	"one page for ever": spoil(func(r *http.Request, status int, h http.Header, body []byte) (int, []byte) {
		h.Set("X-Next-Page", "1")
		h.Set("Link", fmt.Sprintf(`<https://%s%s>; rel="next"`, r.Host, r.URL.RequestURI()))
		return status, body
	}),
	"a byte from time to time": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		for range 400 {
			if _, err := io.WriteString(w, " "); err != nil || r.Context().Err() != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	},
	"silence": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		select {
		case <-r.Context().Done():
		case <-time.After(3 * time.Second):
		}
	},
	"an echo in a refusal": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.WriteHeader(422)
		text := terminalCodes + fmt.Sprint(r.Header) + r.URL.String()
		fmt.Fprintf(w, `{"message":%q,"errors":[{"code":%[1]q,"message":%[1]q}],"error":%[1]q}`, text)
	},
	"an echo as HTML": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.WriteHeader(403)
		fmt.Fprintf(w, "<html>%s%v", terminalCodes, r.Header)
	},
	"an echo in a redirect": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Location", "https://"+r.Host+"/"+strings.ReplaceAll(fmt.Sprint(r.Header["Authorization"], r.Header["Private-Token"]), " ", "+"))
		w.WriteHeader(http.StatusFound)
	},
	"codes in every name":  replaced(`"name":"`, `"name":"`+escapedCodes, `"title":"`, `"title":"`+escapedCodes),
	"codes in the files":   replaced("foo", "\x1b[2J\x9b31m"),
	"names that climb":     replaced("metadata.yaml", "../../../evil.yaml"),
	"names that are paths": replaced("metadata.yaml", `/tmp/evil.yaml`),
	"versions that climb":  replaced("v1.0.0", "v1.0.0/../../../evil"),
	"half of every answer": spoil(func(r *http.Request, status int, h http.Header, body []byte) (int, []byte) {
		return status, body[:len(body)/2]
	}),
	"other bytes of the same length":   replaced("1", "7"),
	"texts for numbers":                replaced(`"id":`, `"id":1e99,"x":`, `"size":`, `"size":-1,"x":`),
	"sizes that overflow":              replaced(`"size":`, `"size":9223372036854775807,"x":`),
	"links to another host":            moved(func(host string) string { return "https://" + host + elsewhere }),
	"links without encryption":         moved(func(host string) string { return "http://" + host }),
	"links with a user":                moved(func(host string) string { return "https://" + host + "@" + host + elsewhere }),
	"links with a password":            moved(func(host string) string { return "https://me:secret-far-0123456789@" + host }),
	"links to another port":            moved(func(host string) string { return "https://" + host + ":8443" }),
	"links with a dot":                 moved(func(host string) string { return "https://" + host + "." }),
	"links in capitals":                moved(func(host string) string { return "https://X" + strings.ToUpper(host) }),
	"links to a zone":                  moved(func(host string) string { return "https://[fe80::1%25" + host + "]" }),
	"links to this machine":            moved(func(host string) string { return "http://127.0.0.1:1" }),
	"links with a backslash":           moved(func(host string) string { return `https://x` + elsewhere + `\\@` + host }),
	"links with codes":                 moved(func(host string) string { return "https://" + host + "/%1b[2J%0d%0a" }),
	"links to a file":                  moved(func(host string) string { return "file:///etc" }),
	"redirects to another host":        away(http.StatusTemporaryRedirect),
	"redirects by 302 to another host": away(http.StatusFound),
	"redirects there and back": func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if strings.HasSuffix(r.Host, elsewhere) {
			http.Redirect(w, r, "https://github.com"+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			return
		}
		http.Redirect(w, r, "https://"+r.Host+elsewhere+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	},
	"redirects to a user": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Location", "https://"+r.Host+":x@"+r.Host+elsewhere+"/")
		w.WriteHeader(307)
	},
	"redirects in a circle": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
	},
	"redirects to the code":    answers(301, "Location", "/%1b%5b2J"),
	"redirects to nowhere":     answers(302),
	"redirects to other words": answers(302, "Location", "javascript:alert(1)"),
	"patience":                 answers(429, "Retry-After", "600"),
	"patience for centuries":   answers(429, "Retry-After", "1000000000"),
	"patience beyond numbers":  answers(503, "Retry-After", "99999999999999999999"),
	"patience in years":        answers(429, "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"),
	"limits in the far future": answers(403, "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "9223372036854775807"),
	"failures for ever":        answers(503),
	"success without a word":   answers(http.StatusCreated),
	"a question by another host": func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		w.Header().Set("Www-Authenticate", `Bearer realm="https://`+r.Host+elsewhere+`/token",service="registry.test"`)
		w.WriteHeader(401)
	},
	"a question without encryption": func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		w.Header().Set("Www-Authenticate", `Bearer realm="http://registry.test/token",service="registry.test"`)
		w.WriteHeader(401)
	},
	"questions without end": func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			fmt.Fprintf(w, `{"token":"%d"}`, time.Now().UnixNano())
			return
		}
		w.Header()["Www-Authenticate"] = slices.Repeat([]string{`Bearer realm="https://registry.test/token",scope="` + strings.Repeat("a ", 1000) + `"`, `Basic realm=x`}, 20)
		w.WriteHeader(401)
	},
	"tokens with line ends": func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			io.WriteString(w, `{"token":"a\r\nX-Evil: \u001b[2J"}`)
			return
		}
		w.Header().Set("Www-Authenticate", `Bearer realm="https://registry.test/token"`)
		w.WriteHeader(401)
	},
	"nonsense":     says("<html>" + terminalCodes),
	"null":         says("null"),
	"a list":       says("[null]"),
	"a bare text":  repeats(`"`, `x`, 1<<20),
	"an empty one": says(""),
}

var gzipBomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	flood(z, `[{"tag_name":"`, "v")
	z.Close()
	return b.Bytes()
})

// attackedWorld is a GitHub, a GitLab and a registry with one release each.
type attackedWorld struct {
	hub      *github.Server
	lab      *gitlab.Server
	registry http.Handler
	hosts    map[string]http.Handler
	// seeded says that each has a release.
	seeded bool

	mu sync.Mutex
	// evil replaces the servers from the request of this number on.
	evil     evil
	from     int
	requests int
	leaks    []string
	waited   time.Duration
	base     *http.Transport
	// older speaks HTTP/1.1, newest HTTP/2.
	older, newest *httptest.Server
	newer         bool
}

func newAttackedWorld(t *testing.T) *attackedWorld {
	t.Helper()
	w := &attackedWorld{}
	w.forget(t)
	for _, s := range []**httptest.Server{&w.older, &w.newest} {
		*s = httptest.NewUnstartedServer(w)
		(*s).EnableHTTP2 = s == &w.newest
		(*s).Config.ErrorLog = log.New(io.Discard, "", 0)
		(*s).StartTLS()
	}
	w.base = transport.Usual().(*http.Transport).Clone()
	w.base.TLSClientConfig, w.base.Proxy = &tls.Config{InsecureSkipVerify: true}, nil
	t.Cleanup(func() {
		w.base.CloseIdleConnections()
		for _, s := range []*httptest.Server{w.older, w.newest} {
			s.CloseClientConnections()
			s.Close()
		}
	})
	return w
}

// forget begins with servers that hold nothing but the images.
func (w *attackedWorld) forget(t *testing.T) {
	t.Helper()
	if w.hub != nil {
		w.hub.Close()
		w.lab.Close()
	}
	// A request of the last run may still be under way.
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hub, w.lab = github.New(github.Options{}), gitlab.New(gitlab.Options{DirectDownload: true})
	w.hub.AddToken(github.Token{Secret: "secret-hub-0123456789", Right: github.Admin})
	w.hub.AddRepository(github.Repository{Owner: "acme", Name: "provider"})
	w.lab.AddToken(gitlab.Token{Secret: "secret-lab-0123456789", User: "publisher"})
	w.lab.AddProject(gitlab.Project{Path: "acme/provider", Members: map[string]gitlab.Role{"publisher": gitlab.Maintainer}})
	w.registry = registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	w.hosts = map[string]http.Handler{"registry.test": guard(w.registry), "blobs.test": w.registry}
	for _, h := range github.Hosts("github.com") {
		w.hosts[h] = w.hub
	}
	for _, h := range gitlab.Hosts("gitlab.example.com") {
		w.hosts[h] = w.lab
	}
	w.addImage(t)
}

// addImage puts an image for two platforms into the registry.
func (w *attackedWorld) addImage(t *testing.T) {
	t.Helper()
	put := func(kind, data, method, at string) string {
		t.Helper()
		sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(data)))
		rec, req := httptest.NewRecorder(), httptest.NewRequest(method, "/v2/acme/manager/"+strings.ReplaceAll(at, "DIGEST", sum), strings.NewReader(data))
		req.Header.Set("Content-Type", kind)
		if w.registry.ServeHTTP(rec, req); rec.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", at, rec.Code, rec.Body)
		}
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d`, kind, sum, len(data))
	}
	const image = "application/vnd.oci.image."
	var manifests []string
	for _, arch := range []string{"amd64", "arm64"} {
		config := put(image+"config.v1+json", `{"os":"linux","architecture":"`+arch+`","rootfs":{"type":"layers","diff_ids":[]}}`, http.MethodPost, "blobs/uploads/?digest=DIGEST")
		layer := put(image+"layer.v1.tar", strings.Repeat(arch, 100), http.MethodPost, "blobs/uploads/?digest=DIGEST")
		manifest := put(image+"manifest.v1+json", `{"schemaVersion":2,"mediaType":"`+image+`manifest.v1+json","config":`+config+`},"layers":[`+layer+`}]}`, http.MethodPut, "manifests/DIGEST")
		manifests = append(manifests, manifest+`,"platform":{"os":"linux","architecture":"`+arch+`"}}`)
	}
	put(image+"index.v1+json", `{"schemaVersion":2,"mediaType":"`+image+`index.v1+json","manifests":[`+strings.Join(manifests, ",")+`]}`, http.MethodPut, "manifests/v1.0.0")
}

// guard is the registry behind its questions, with the blobs on another host.
func guard(registry http.Handler) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/token" && user == "me" && password == "secret-registry-0123456789":
			io.WriteString(rw, `{"token":"secret-bearer-0123456789"}`)
		case r.Header.Get("Authorization") != "Bearer secret-bearer-0123456789":
			rw.Header().Set("Www-Authenticate", `Bearer realm="https://registry.test/token",service="registry.test"`)
			rw.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/sha256:"):
			http.Redirect(rw, r, "https://blobs.test"+r.URL.Path, http.StatusTemporaryRedirect)
		default:
			registry.ServeHTTP(rw, r)
		}
	}
}

// ServeHTTP is all hosts of the test.
func (w *attackedWorld) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests++
	attack := w.evil
	if w.requests <= w.from {
		attack = nil
	}
	host, _, _ := strings.Cut(strings.TrimSuffix(r.Host, elsewhere), ":")
	honest := w.hosts[strings.TrimSuffix(strings.ToLower(host), ".")]
	w.mu.Unlock()
	if honest == nil {
		honest = http.NotFoundHandler()
	}
	inner := r.Clone(r.Context())
	inner.Host = host
	if attack == nil {
		honest.ServeHTTP(rw, inner)
		return
	}
	attack(rw, r, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { honest.ServeHTTP(rw, inner) }))
}

// RoundTrip leads every host to the servers, and remembers who sees a secret that
// is not theirs.
func (w *attackedWorld) RoundTrip(req *http.Request) (*http.Response, error) {
	seen := req.URL.String() + fmt.Sprint(req.Header)
	if _, password, ok := req.BasicAuth(); ok {
		seen += password
	}
	if _, encoded, ok := strings.Cut(req.Header.Get("Authorization"), "Basic "); ok {
		if plain, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			seen += string(plain)
		}
	}
	if req.GetBody != nil && req.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		if body, err := req.GetBody(); err == nil {
			form, _ := io.ReadAll(body)
			seen += string(form)
		}
	}
	w.mu.Lock()
	for secret, owners := range attackedOwners {
		if strings.Contains(seen, secret) && (req.URL.Scheme != "https" || !slices.Contains(owners, req.URL.Host)) {
			w.leaks = append(w.leaks, secret+" to "+req.URL.Scheme+"://"+req.URL.Host)
		}
	}
	newer := w.newer
	w.mu.Unlock()
	out := req.Clone(req.Context())
	out.Host = req.URL.Host
	out.URL.User = nil
	server := w.older
	if newer {
		server = w.newest
	}
	out.URL.Scheme, out.URL.Host = "https", strings.TrimPrefix(server.URL, "https://")
	resp, err := w.base.RoundTrip(out)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}

// sleep counts the time that the program would wait.
func (w *attackedWorld) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waited += d; w.waited > 24*time.Hour {
		return errors.New("the test waited for a day")
	}
	return context.Cause(ctx)
}

// behave begins a run.
func (w *attackedWorld) behave(e evil, from int, newer bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.evil, w.from, w.newer, w.requests, w.leaks, w.waited = e, from, newer, 0, nil, 0
}

// attackedRun is what a run did.
type attackedRun struct {
	code     int
	printed  string
	requests int
	took     time.Duration
}

// run runs one line in the working directory.
func (w *attackedWorld) run(t *testing.T, dir string, args ...string) attackedRun {
	t.Helper()
	var printed safeBuffer
	env := map[string]string{
		"GH_TOKEN": "secret-hub-0123456789", "GITLAB_TOKEN": "secret-lab-0123456789", "CI_SERVER_URL": "https://gitlab.example.com",
		"DOCKER_CONFIG": filepath.Join(dir, "home"), "HOME": filepath.Join(dir, "home"), "XDG_CACHE_HOME": filepath.Join(dir, "cache"),
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	timeout := "100ms"
	if w.evil == nil {
		timeout = "30s" // nobody is in a hurry on a loaded machine
	}
	code := program.Main(ctx, append([]string{"--timeout", timeout, "--retries", "1", "--verbose"}, args...), cli.IO{
		In: strings.NewReader(""), Out: &printed, Err: &printed, Dir: filepath.Join(dir, "work"), Transport: w, Sleep: w.sleep,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return attackedRun{code, printed.String(), w.requests, time.Since(began)}
}

// attackedFolder makes the inputs: in, home and an empty work.
func attackedFolder(t *testing.T, w *attackedWorld) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		given.File(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	put("home/config.json", `{"auths":{"registry.test":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("me:secret-registry-0123456789"))+`"}}}`)
	put("in/src/clusterctl-repo.yaml", `apiVersion: clusterctl-repo.dev/v1alpha1
kind: Config
discovery: {disabled: true}
providers:
- type: infrastructure
  name: foo
  components: {path: config}
  metadata: metadata.yaml
  templates: [{files: "templates/cluster-template*.yaml"}]
`)
	put("in/src/metadata.yaml", "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n")
	put("in/src/config/kustomization.yaml", "resources: [all.yaml]\nlabels:\n- pairs: {cluster.x-k8s.io/provider: infrastructure-foo}\n")
	put("in/src/config/all.yaml", `apiVersion: v1
kind: Namespace
metadata: {name: foo-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: foo, namespace: foo-system}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: manager, image: "registry.test/acme/manager:v1.0.0"}]
`)
	put("in/src/templates/cluster-template.yaml", clusterTemplate)
	put("in/src/templates/clusterclass-foo.yaml", `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: foo}
spec:
  infrastructure: {templateRef: {apiVersion: a.x/v1, kind: FooClusterTemplate, name: foo}}
  controlPlane: {templateRef: {apiVersion: a.x/v1, kind: FooControlPlaneTemplate, name: foo}}
---
apiVersion: a.x/v1
kind: FooClusterTemplate
metadata: {name: foo}
---
apiVersion: a.x/v1
kind: FooControlPlaneTemplate
metadata: {name: foo}
`)
	put("in/src/templates/cluster-template-topology.yaml", `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "${CLUSTER_NAME}", namespace: "${NAMESPACE}"}
spec: {topology: {classRef: {name: foo}, version: v1.34.0}}
`)
	for kind, at := range attackedPlaces {
		for _, name := range []string{"clusterctl-repo.yaml", "metadata.yaml"} {
			data := given.Read(t, filepath.Join(dir, "in/src", name))
			put("in/remote-"+kind.String()+"/"+name, strings.NewReplacer("kind: Config\n", "kind: Config\nremoteBases: true\n", "  templates: [{files: \"templates/cluster-template*.yaml\"}]\n", "").Replace(string(data)))
		}
		put("in/remote-"+kind.String()+"/config/kustomization.yaml", "resources:\n- "+at.file+"\nlabels:\n- pairs: {cluster.x-k8s.io/provider: infrastructure-foo}\n")
	}
	put("work/.keep", "")
	t.Chdir(filepath.Join(dir, "work"))
	must := func(args ...string) {
		t.Helper()
		if r := w.run(t, dir, args...); r.code != 0 {
			t.Fatalf("%q exits with %d:\n%s", args, r.code, r.printed)
		}
	}
	must("build", "../in/src", "--version", "v1.0.0", "--out", "../in/repo")
	var fleet, config strings.Builder
	config.WriteString("providers:\n")
	for i, kind := range attackedKinds() {
		at := attackedPlaces[kind]
		must("publish", "../in/repo", "--to", at.dest, "--fail-on", "never")
		fleet.WriteString(at.latest + "\n")
		if kind != layouts.OCI { // clusterctl knows no registries
			fmt.Fprintf(&config, "- {name: foo%d, type: InfrastructureProvider, url: %q}\n", i, at.release)
		}
		must("mirror", at.release, "--to", "../in/broken-"+kind.String())
		given.NoError(t, os.Remove(filepath.Join(dir, "in/broken-"+kind.String(), "infrastructure-foo/v1.0.0/metadata.yaml")))
	}
	put("in/fleet.txt", fleet.String())
	put("in/clusterctl.yaml", config.String())
	must("mirror", "../in/repo", "--images", "--to", "../in/pictures.tar")
	return dir
}

func attackedKinds() []layouts.LocationKind { return slices.Sorted(maps.Keys(attackedPlaces)) }

// attackedLine is one command line about one kind of place.
type attackedLine struct {
	line      string
	kind      layouts.LocationKind
	publishes bool
}

func (l attackedLine) String() string { return l.line }

// args are the words of the line.
func (l attackedLine) args() []string { return strings.Fields(l.line) }

// attackedLines are all lines of all verbs that can be led to a server, for all
// kinds of places.
func attackedLines() (all []attackedLine) {
	for _, verb := range slices.Sorted(maps.Keys(attackedVerbs)) {
		for _, line := range attackedVerbs[verb] {
			line, publishes := strings.CutPrefix(line, "+")
			line, images := strings.CutPrefix(line, "-")
			line, files := strings.CutPrefix(line, "~")
			for _, kind := range attackedKinds() {
				if images && kind != layouts.OCI || files && kind == layouts.OCI {
					continue
				}
				at := attackedPlaces[kind]
				all = append(all, attackedLine{strings.NewReplacer("RELEASE", at.release, "LATEST", at.latest, "DEST", at.dest, "KIND", kind.String()).Replace(line), kind, publishes})
			}
		}
	}
	// Those that publish come last, since they empty the servers.
	slices.SortStableFunc(all, func(a, b attackedLine) int {
		switch {
		case a.publishes == b.publishes:
			return 0
		case a.publishes:
			return 1
		}
		return -1
	})
	return all
}

// prepare makes an empty place to work in, and servers that hold nothing if the
// line publishes, otherwise a release each.
func (l attackedLine) prepare(t *testing.T, w *attackedWorld, dir string) {
	t.Helper()
	out := filepath.Join(dir, "work", "out")
	given.NoError(t, errors.Join(os.RemoveAll(out), os.RemoveAll(filepath.Join(dir, "cache")), os.MkdirAll(out, 0o755)))
	if strings.Contains(l.line, "out/broken") {
		given.NoError(t, os.CopyFS(filepath.Join(out, "broken"), os.DirFS(filepath.Join(dir, "in/broken-"+l.kind.String()))))
	}
	w.behave(nil, 0, false)
	if !l.publishes && w.seeded {
		return
	}
	w.forget(t)
	if w.seeded = !l.publishes; w.seeded {
		w.seed(t, dir)
	}
}

// seed publishes a release everywhere, as far as it is not there.
func (w *attackedWorld) seed(t *testing.T, dir string) {
	t.Helper()
	for _, kind := range attackedKinds() {
		if r := w.run(t, dir, "publish", "../in/repo", "--to", attackedPlaces[kind].dest, "--fail-on", "never"); r.code != 0 {
			t.Fatalf("publish exits with %d:\n%s", r.code, r.printed)
		}
	}
}

// contents are all files below a folder, but for those that a run may write.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		switch {
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case rel == filepath.Join("work", "out") || rel == "cache":
			return filepath.SkipDir
		case e.IsDir():
			out[rel] = "folder"
			return nil
		}
		data, err := os.ReadFile(path)
		out[rel] = string(data)
		return err
	})
	given.NoError(t, err)
	return out
}

// judge fails for what no server may bring about.
func (w *attackedWorld) judge(t *testing.T, dir string, before map[string]string, line string, r attackedRun) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.leaks) > 0 {
		t.Errorf("%s: %v", line, slices.Compact(w.leaks))
	}
	if r.took > 30*time.Second {
		t.Errorf("%s takes %s", line, r.took)
	}
	if w.waited > 6*time.Hour {
		t.Errorf("%s waits %s", line, w.waited)
	}
	if r.requests > 3000 {
		t.Errorf("%s makes %d requests", line, r.requests)
	}
	if strings.Contains(r.printed, "panic") || strings.Contains(r.printed, "goroutine ") {
		t.Errorf("%s panics:\n%s", line, r.printed)
	}
	for secret := range attackedOwners {
		if strings.Contains(r.printed, secret) || strings.Contains(r.printed, base64.StdEncoding.EncodeToString([]byte("me:"+secret))) {
			t.Errorf("%s shows a secret:\n%s", line, r.printed)
		}
	}
	if transport.Printable(r.printed) != r.printed {
		t.Errorf("%s shows control characters:\n%q", line, r.printed)
	}
	if len(r.printed) > 100<<10 {
		t.Errorf("%s prints %d bytes: %.300q", line, len(r.printed), r.printed)
	}
	after := contents(t, dir)
	for name, text := range after {
		if was, ok := before[name]; !ok || was != text {
			t.Errorf("%s writes %s", line, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			t.Errorf("%s removes %s", line, name)
		}
	}
	err := filepath.WalkDir(filepath.Join(dir, "work", "out"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !e.Type().IsRegular() {
			t.Errorf("%s makes %s, which is %s", line, path, e.Type())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// highWater returns a function that ends watching and returns how much memory
// was in use at most, as the collector found it: how much garbage waits for the
// collector depends on how busy the machine is. Up to about
// 30 MB may be left from earlier tests; more is collected first.
func highWater() func() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(live); live[0].Value.Uint64() > 30<<20 {
		runtime.GC()
	}
	var most atomic.Uint64
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			metrics.Read(live)
			most.Store(max(most.Load(), live[0].Value.Uint64()))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return func() uint64 { close(stop); done.Wait(); return most.Load() }
}

// TestEveryVerbIsAttacked compares the table with the commands and kinds there
// are.
func TestEveryVerbIsAttacked(t *testing.T) {
	var have []string
	eachCommand(func(name string, c *cobra.Command) {
		if acts(c) {
			have = append(have, name)
		}
	})
	known := func(kind layouts.LocationKind) (ok bool) {
		defer func() { ok = recover() == nil }() // later ones have no name
		return kind.String() != ""
	}
	slices.Sort(have)
	if want := slices.Sorted(maps.Keys(attackedVerbs)); !slices.Equal(have, want) {
		t.Errorf("there are the commands\n%q, the table has\n%q", have, want)
	}
	for kind := layouts.Local + 1; known(kind); kind++ {
		if _, ok := attackedPlaces[kind]; !ok {
			t.Errorf("%s is not attacked", kind)
		}
	}
}

// TestAdversaries runs every verb that takes a URL with servers of all kinds that
// mean harm, from some request on, when the server gained trust. Each kind of harm
// meets a part of the lines.
func TestAdversaries(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // TestRemoteGit has git, which kustomize tries next
	w := newAttackedWorld(t)
	dir := attackedFolder(t, w)
	before := contents(t, dir)
	lines := attackedLines()
	requests := map[attackedLine]int{}
	t.Run("nobody", func(t *testing.T) {
		for _, l := range lines {
			l.prepare(t, w, dir)
			w.behave(nil, 0, false)
			r := w.run(t, dir, l.args()...)
			requests[l] = r.requests
			w.judge(t, dir, before, l.line, r)
			// The release holds no extension, which shows only when it was read.
			if r.code != 0 && r.code != cli.ExitFindings && !strings.HasPrefix(l.line, "extension") {
				t.Errorf("%s exits with %d:\n%s", l, r.code, r.printed)
			}
			if asks := !strings.HasPrefix(l.line, "mirror verify") && !strings.HasPrefix(l.line, "mirror prune"); asks != (r.requests > 0) {
				t.Errorf("%s makes %d requests", l, r.requests)
			}
		}
		for verb, lines := range attackedVerbs {
			for _, kind := range attackedKinds() {
				if lines != nil {
					break
				}
				w.behave(nil, 0, false)
				r := w.run(t, dir, append(strings.Fields(verb), attackedPlaces[kind].release)...)
				w.judge(t, dir, before, verb, r)
				if r.requests > 0 {
					t.Errorf("%s can be led to a server, and has no line", verb)
				}
			}
		}
	})
	for i, what := range slices.Sorted(maps.Keys(evils)) {
		t.Run(what, func(t *testing.T) {
			for j, l := range lines {
				// Of no more parts than there are evils, so that each line meets one.
				if part := min(share.Of(40, 4), len(evils)); i%part != j%part {
					continue
				}
				for _, from := range attackedSteps(what, l, requests[l]) {
					l.prepare(t, w, dir)
					w.behave(evils[what], from, from%2 == 1)
					peak := highWater()
					r := w.run(t, dir, l.args()...)
					if mb := peak() >> 20; mb > memory(150) {
						t.Errorf("%s uses %d MB", l, mb)
					}
					w.judge(t, dir, before, fmt.Sprintf("%s, from request %d on", l, from), r)
				}
			}
		})
	}
}

// memory is how many MB a run may use: the race detector keeps what was freed.
func memory(mb uint64) uint64 {
	if share.Race {
		return 2 * mb
	}
	return mb
}

// attackedSteps are the requests from which on a server does harm.
func attackedSteps(what string, l attackedLine, requests int) []int {
	h := fnv.New32a()
	io.WriteString(h, what+l.line)
	if requests == 0 {
		return nil
	}
	return []int{int(h.Sum32()) % requests}
}

// clusterTemplate is the smallest with which lint is content.
const clusterTemplate = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "${CLUSTER_NAME}", namespace: "${NAMESPACE}"}
spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: XControlPlane, name: "${CLUSTER_NAME}"}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1
kind: XControlPlane
metadata: {name: "${CLUSTER_NAME}", namespace: "${NAMESPACE}"}
`
