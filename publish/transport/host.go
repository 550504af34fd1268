package transport

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
)

// Loopback reports whether a host, with or without a port, is the machine that
// the program runs on: a loopback address, localhost, or a name below localhost
// (RFC 6761, section 6.3). Secrets may go there without encryption. That is only
// right because the client of Usual agrees: it reaches these hosts without a
// proxy, and asks no name server where they are.
func Loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return localName(host)
}

// localName reports whether a host is localhost or a name below it.
func localName(host string) bool {
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Protected reports whether secrets may go to a URL: it is encrypted, or does not
// leave this machine.
func Protected(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && Loopback(u.Host)
}

// ParseServer reads the URL of a server, without what does not belong there. The
// error shows the form of such URLs.
func ParseServer(raw, form string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the address of the server must have the form %s, without user, password, query and fragment; pass a token separately", form)
	}
	return u, nil
}

// keptConnections is how many connections to a host are kept for further requests.
// It is more than the usual number of requests at a time.
const keptConnections = 16

// maxHeader is the size in bytes at which the header of an answer is refused. Go
// accepts ten times as much, of which there are copies.
const maxHeader = 1 << 20

// Usual makes connections as http.DefaultTransport does, and keeps more of them.
// That one keeps two for each host, so that with HTTP/1.1 nearly all of several
// downloads at a time begin with a new handshake.
var Usual = sync.OnceValue(func() http.RoundTripper {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return usual(t)
	}
	return http.DefaultTransport
})

func usual(t *http.Transport) *http.Transport {
	t = t.Clone()
	t.MaxIdleConnsPerHost = keptConnections
	t.MaxResponseHeaderBytes = maxHeader
	if proxy := t.Proxy; proxy != nil {
		t.Proxy = func(req *http.Request) (*url.URL, error) {
			if Loopback(req.URL.Host) {
				return nil, nil
			}
			return proxy(req)
		}
	}
	dial := t.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil || !localName(host) {
			return dial(ctx, network, address)
		}
		conn, err := dial(ctx, network, net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			if six, failed := dial(ctx, network, net.JoinHostPort("::1", port)); failed == nil {
				return six, nil
			}
		}
		return conn, err
	}
	return t
}
