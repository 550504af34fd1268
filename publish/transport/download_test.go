package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// source is a server that breaks off in the middle of a file.
type source struct {
	content []byte
	// cut says where each connection breaks, counted from where it began; none
	// are left means never.
	cut []int
	// ranges, etag and length say what the server is capable of.
	ranges bool
	etag   func(request int) string
	length bool
	// change is called before each request but the first.
	change func(*source)

	ranged, ifRange []string
}

func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := len(s.ranged)
	s.ranged = append(s.ranged, r.Header.Get("Range"))
	s.ifRange = append(s.ifRange, r.Header.Get("If-Range"))
	if request > 0 && s.change != nil {
		s.change(s)
	}
	etag := ""
	if s.etag != nil {
		etag = s.etag(request)
		w.Header().Set("Etag", etag)
	}
	from := 0
	status := http.StatusOK
	if said := r.Header.Get("Range"); s.ranges && said != "" && (r.Header.Get("If-Range") == "" || r.Header.Get("If-Range") == etag) {
		fmt.Sscanf(said, "bytes=%d-", &from)
		status = http.StatusPartialContent
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.content)-1, len(s.content)))
	}
	body := s.content[from:]
	if s.length {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	cut := len(body)
	if len(s.cut) > 0 {
		cut, s.cut = min(cut, s.cut[0]), s.cut[1:]
	}
	w.Write(body[:cut])
	w.(http.Flusher).Flush()
	if cut < len(body) {
		panic(http.ErrAbortHandler)
	}
}

func always(etag string) func(int) string { return func(int) string { return etag } }

func TestDownload(t *testing.T) {
	content := make([]byte, 300<<10)
	for i := range content {
		content[i] = byte(rand.N(256))
	}
	size := int64(len(content))
	shorter := func(s *source) { s.content = s.content[:len(content)-1] }
	tests := []struct {
		name   string
		server source
		size   int64
		// want is a part of the error; empty for success.
		want      string
		temporary bool
		requests  int
		ifRange   string
	}{
		{name: "at once", server: source{length: true}, size: size, requests: 1},
		{name: "unknown size", server: source{length: true}, size: -1, requests: 1},
		{name: "chunked", server: source{}, size: size, requests: 1},
		{name: "chunked, unknown size", server: source{}, size: -1, requests: 1},
		{name: "resumed", server: source{length: true, ranges: true, etag: always(`"a"`), cut: []int{100 << 10, 7, 1}}, size: size, requests: 4, ifRange: `"a"`},
		{name: "resumed without a tag", server: source{length: true, ranges: true, cut: []int{100 << 10}}, size: size, requests: 2},
		{name: "resumed with a weak tag", server: source{length: true, ranges: true, etag: always(`W/"a"`), cut: []int{100 << 10}}, size: size, requests: 2},
		{name: "chunked and resumed", server: source{ranges: true, etag: always(`"a"`), cut: []int{100 << 10}}, size: -1, requests: 2, ifRange: `"a"`},
		{name: "server knows no ranges", server: source{length: true, cut: []int{100 << 10}}, size: size, requests: 2},
		{name: "server knows no ranges and breaks again, earlier", server: source{length: true, cut: []int{100 << 10, 10 << 10, 110 << 10}}, size: size, requests: 4},
		{name: "changed, says the tag", server: source{length: true, ranges: true, etag: func(n int) string { return fmt.Sprintf(`"%d"`, n) }, cut: []int{100 << 10}}, size: size, requests: 2, want: "was changed while it was read", ifRange: `"0"`},
		{name: "changed, says the weak tag", server: source{length: true, ranges: true, etag: func(n int) string { return fmt.Sprintf(`W/"%d"`, n) }, cut: []int{100 << 10}}, size: size, requests: 2, want: "was changed while it was read"},
		{name: "changed, says the length", server: source{length: true, ranges: true, cut: []int{100 << 10}, change: shorter}, size: size, requests: 2, want: "bytes of a file that should have"},
		{name: "changed, no ranges, says the length", server: source{length: true, cut: []int{100 << 10}, change: shorter}, size: -1, requests: 2, want: "bytes of a file that should have"},
		{name: "other size", server: source{length: true}, size: 5, requests: 1, want: "offers 307200 bytes of a file that should have 5"},
		{name: "breaks ten times with progress", server: source{length: true, ranges: true, cut: []int{1000, 300, 5000, 300, 400, 500, 600, 700, 800, 900}}, size: size, requests: 11},
		{name: "too short for ever", server: source{}, size: size + 1, requests: 5, want: "was interrupted 5 times without progress", temporary: true},
		{name: "breaks for ever", server: source{length: true, ranges: true, cut: []int{1, 1, 1, 1, 1, 1, 1}}, size: size, requests: 5, want: "was interrupted 5 times without progress, after 5 bytes", temporary: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := &tt.server
			server.content = content
			s := serve(t, server.ServeHTTP)
			var w waits
			client := New(nil, w.policy())
			var got []byte
			body, err := Download(t.Context(), client, s.URL+"/f?sig="+secret, nil, tt.size)
			if err == nil {
				got, err = io.ReadAll(body)
				body.Close()
			}
			if len(server.ranged) != tt.requests {
				t.Errorf("%d requests, want %d", len(server.ranged), tt.requests)
			}
			if len(server.ifRange) > 1 && server.ifRange[1] != tt.ifRange {
				t.Errorf("If-Range %q", server.ifRange)
			}
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) || IsTemporary(err) != tt.temporary {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

// A server that answers another part than it was asked for is not believed.
func TestDownloadWrongRange(t *testing.T) {
	for _, said := range []string{"bytes 0-9/10", "nonsense", ""} {
		n := 0
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if n++; n == 1 {
				w.Header().Set("Content-Length", "10")
				io.WriteString(w, "01234")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Range", said)
			w.WriteHeader(http.StatusPartialContent)
			io.WriteString(w, "56789")
		})
		var w waits
		body := given.Value(Download(t.Context(), New(nil, w.policy()), s.URL, nil, 10))(t)
		if got, err := io.ReadAll(body); err == nil || !strings.Contains(err.Error(), "asked for the bytes from 5 on") || string(got) != "01234" {
			t.Errorf("%q: %q, %v", said, got, err)
		}
		body.Close()
	}
}

func TestDownloadRefused(t *testing.T) {
	for status, missing := range map[int]bool{404: true, 410: true, 401: false, 403: false, 500: false, 206: false} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
		var w waits
		_, err := Download(t.Context(), New(nil, w.policy()), s.URL+"/f?sig="+secret, nil, -1)
		said, ok := errors.AsType[*Status](err)
		if !ok || said.Code != status || errors.Is(err, fs.ErrNotExist) != missing || IsTemporary(err) != (status == 500) || strings.Contains(err.Error(), secret) {
			t.Errorf("%d: %v", status, err)
		}
	}
	if _, err := Download(t.Context(), New(nil, Policy{}), "https://h/%zz?sig="+secret, nil, -1); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("no URL: %v", err)
	}
}

// The header of the caller goes with every request, and the content arrives as
// it is stored.
func TestDownloadHeader(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "application/octet-stream" || r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("header %v", r.Header)
		}
		w.Header().Set("Content-Length", "10")
		if r.Header.Get("Range") != "" {
			w.Header().Set("Content-Length", "5")
			w.Header().Set("Content-Range", "bytes 5-9/*")
			w.WriteHeader(206)
			io.WriteString(w, "56789")
			return
		}
		io.WriteString(w, "01234")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	header := http.Header{"Accept": {"application/octet-stream"}}
	var w waits
	body := given.Value(Download(t.Context(), New(nil, w.policy()), s.URL, header, 10))(t)
	if got, err := io.ReadAll(body); err != nil || string(got) != "0123456789" {
		t.Errorf("%q, %v", got, err)
	}
	if len(header) != 1 {
		t.Errorf("the header of the caller is now %v", header)
	}
	body.Close()
	if n, err := body.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
		t.Errorf("after Close: %d, %v", n, err)
	}
}

func TestDownloadCancel(t *testing.T) {
	stopped := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "01234")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	policy := Policy{Sleep: func(ctx context.Context, _ time.Duration) error {
		cancel(stopped)
		return context.Cause(ctx)
	}}
	body := given.Value(Download(ctx, New(nil, policy), s.URL, nil, 10))(t)
	defer body.Close()
	_, err := io.ReadAll(body)
	if _, temporary := errors.AsType[*publish.Temporary](err); !errors.Is(err, stopped) || temporary {
		t.Error(err)
	}
}

// What a URL redirects to gets the header, but no secret.
func TestRedirectedDownload(t *testing.T) {
	store := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if secrets := secretsOf(r); secrets != nil || r.Header.Get("Accept") != "a/b" || r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("leaked in %v, header %v", secrets, r.Header)
		}
		io.WriteString(w, "content")
	})
	home := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Private-Token") != secret {
			t.Errorf("header %v", r.Header)
		}
		http.Redirect(w, r, store.URL, http.StatusFound)
	})
	client := New(nil, Policy{}, Credential{Hosts: []string{host(home)}, Header: "Private-Token", Value: secret})
	body := given.Value(Download(t.Context(), client, home.URL, http.Header{"Accept": {"a/b"}}, 7))(t)
	defer body.Close()
	if got, err := io.ReadAll(body); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestDownloadWithoutAnEnd: where only the end of the connection ends a file, half
// of it looks like all of it.
func TestDownloadWithoutAnEnd(t *testing.T) {
	const content = "kind: Namespace\n"
	for answer, want := range map[string]bool{
		"HTTP/1.0 200 OK\r\n\r\n" + content:                                                                   false,
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + content:                                              false,
		"HTTP/1.0 200 OK\r\nContent-Length: 16\r\n\r\n" + content:                                             true,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n" + content + "\r\n0\r\n\r\n":             true,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n10\r\n" + content + "\r\n": false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			io.WriteString(conn, answer)
			conn.Close()
		}))
		client := New(nil, Policy{Sleep: func(context.Context, time.Duration) error { return nil }})
		var got []byte
		body, err := Download(t.Context(), client, server.URL, nil, -1)
		if err == nil {
			got, err = io.ReadAll(body)
			body.Close()
		}
		if (err == nil) != want || want && string(got) != content {
			t.Errorf("%q: %q, %v", answer, got, err)
		}
		server.Close()
	}
}
