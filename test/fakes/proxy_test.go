package fakes_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/proxy"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func proxyClient(t *testing.T, p *proxy.Proxy) *http.Client {
	t.Helper()
	raw := given.Read(t, p.CAFile)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		t.Fatal("no certificate")
	}
	at := given.Value(url.Parse(p.URL()))(t)
	tr := &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func fetch(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	resp := given.Value(c.Get(address))(t)
	defer resp.Body.Close()
	raw := given.Value(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(raw)
}

func TestProxyHosts(t *testing.T) {
	says := func(what string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s %s %s tls=%v", what, r.Host, r.URL, r.TLS != nil)
		})
	}
	p := proxy.Start(t, proxy.Hosts{"one.test": says("one"), ".two.test": says("two")})
	c := proxyClient(t, p)
	for _, tt := range []struct {
		address string
		status  int
		body    string
	}{
		{"https://one.test/a?b", 200, "one one.test /a?b tls=true"},
		{"http://one.test/a", 200, "one one.test /a tls=false"},
		{"https://x.y.two.test:8443/", 200, "two x.y.two.test:8443 / tls=true"},
		{"http://three.test/", 502, "no server for three.test\n"},
	} {
		if status, body := fetch(t, c, tt.address); status != tt.status || body != tt.body {
			t.Errorf("%s: %d %q", tt.address, status, body)
		}
	}
	if _, err := c.Get("https://three.test/"); err == nil || !strings.Contains(err.Error(), "Bad Gateway") {
		t.Errorf("%v", err)
	}
	if got := p.Seen(); !slices.Equal(got, []string{"one.test", "one.test:443", "three.test", "three.test:443", "x.y.two.test:8443"}) {
		t.Errorf("seen %q", got)
	}
	if _, err := http.DefaultTransport.RoundTrip(&http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: strings.TrimPrefix(p.URL(), "http://"), Path: "/"}, Header: http.Header{}}); err != nil {
		t.Error(err)
	}
}

// TestProxyGitHub reads a release by the names that the world knows, through all
// redirects, and has connections reset on the way.
func TestProxyGitHub(t *testing.T) {
	s := github.New(github.Options{})
	defer s.Close()
	s.AddRepository(github.Repository{Owner: "acme", Name: "provider"})
	if _, err := s.AddRelease("acme/provider", github.Release{Tag: "v1.0.0", Assets: []github.Asset{{Name: "metadata.yaml", Data: []byte("hello")}}}); err != nil {
		t.Fatal(err)
	}
	p := proxy.Start(t, proxy.Hosts{}.Add(s, github.Hosts("github.com")...))
	c := proxyClient(t, p)
	const at = "https://github.com/acme/provider/releases/download/v1.0.0/metadata.yaml"
	if status, body := fetch(t, c, at); status != 200 || body != "hello" {
		t.Errorf("%d %s", status, body)
	}
	s.Faults.Add(fault.Rule{Step: "get-repository", Times: fault.Always, Fault: fault.Fault{Reset: true}})
	if _, err := c.Get("https://api.github.com/repos/acme/provider"); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if got := p.Seen(); !slices.Equal(got, []string{"api.github.com:443", "github.com:443", "objects.githubusercontent.com:443"}) {
		t.Errorf("seen %q", got)
	}
}
