package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestLoopback: what counts as this machine is what the client reaches without
// a proxy and without a name server.
func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost":              true,
		"LocalHost":              true,
		"registry.localhost":     true,
		"a.b.localhost":          true,
		"127.0.0.1":              true,
		"127.8.9.10":             true,
		"[::1]":                  true,
		"[::ffff:127.0.0.1]":     true,
		"localhost.":             false,
		"localhost.example.com":  false,
		"notlocalhost":           false,
		".localhost.example.com": false,
		"localhost.localdomain":  false,
		"127.0.0.1.example.com":  false,
		"127.1":                  false,
		"2130706433":             false,
		"0x7f.0.0.1":             false,
		"0.0.0.0":                false,
		"[::]":                   false,
		"10.0.0.1":               false,
		"192.168.1.1":            false,
		"169.254.169.254":        false,
		"[fe80::1]":              false,
		"[::ffff:10.0.0.1]":      false,
		"host.docker.internal":   false,
		"registry.example.com":   false,
	} {
		for _, at := range []string{host, host + ":5000"} {
			if got := Loopback(at); got != want {
				t.Errorf("Loopback(%q) is %v", at, got)
			}
			asked, dialled := false, ""
			client := usual(&http.Transport{
				Proxy: func(*http.Request) (*url.URL, error) { asked = true; return nil, errors.New("a proxy") },
				DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
					dialled, _, _ = net.SplitHostPort(address)
					return nil, errors.New("no network")
				},
			})
			req := given.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/", nil))(t)
			if _, err := client.RoundTrip(req); err == nil {
				t.Fatal("a connection without a network")
			}
			if asked == want || want != (dialled != "" && net.ParseIP(dialled).IsLoopback()) {
				t.Errorf("%s: proxy asked: %v, dialled %q", at, asked, dialled)
			}
			if got := Protected(req.URL); got != want {
				t.Errorf("Protected(%s) is %v", req.URL, got)
			}
		}
	}
	for text, want := range map[string]bool{"https://example.com": true, "ftp://localhost": false, "unix://localhost": false} {
		if u, _ := url.Parse(text); Protected(u) != want {
			t.Errorf("Protected(%s) is not %v", text, want)
		}
	}
}
