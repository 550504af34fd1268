package oci

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
	"oras.land/oras-go/v2/registry"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

// userAgent is who asks, in the logs of the registry.
const userAgent = "clusterctl-repo"

// session makes the requests to one registry with one credential. It lies under the
// client of package transport, which repeats and waits, so that every request
// has a token that is valid now.
//
// The registry says which kind of credentials it wants, and of which server a
// token can be had (OCI distribution: Token Authentication Specification). That
// server may have a different name than the registry, as with Docker Hub and
// GitLab, and it gets the user name and password. So it has to be of the same
// site, or be named by the user; any other is asked without credentials. It
// has to be reached with encryption, or be on this machine. The client of oras
// refuses such a server in a private network, where those of companies are, so
// the few requests are made here. No other server gets to see anything: files
// may lie on one that the registry redirects to.
type session struct {
	base         http.RoundTripper
	scheme, host string // in URLs
	name         string // of the registry, as the user writes it
	repository   string
	credential   func(ctx context.Context, host string) (Credential, error)
	tokenServer  string // the host that may see the credential besides the site

	mu sync.Mutex
	// granted are the values of the Authorization header, by right.
	granted map[string]string
	// secrets must not appear in any message.
	secrets *transport.Secrets
	// refused says why there is no credential, in words for a message.
	refused string
	// asked is how long the registry wants to be left alone.
	asked time.Duration
}

func newSession(ref registry.Reference, o Options) *session {
	s := &session{base: o.Base, scheme: "https", host: ref.Host(), name: ref.Registry, repository: ref.Repository, credential: o.Credential, tokenServer: o.TokenServer, granted: map[string]string{}}
	if s.secrets = o.Secrets; s.secrets == nil {
		s.secrets = &transport.Secrets{}
	}
	if s.base == nil {
		s.base = transport.Usual()
	}
	if s.credential == nil {
		s.credential = Credentials(Credential{})
	}
	if transport.Loopback(s.host) {
		s.scheme = "http"
	}
	return s
}

// right names what a request needs to be allowed.
func right(req *http.Request) string {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return "pull"
	}
	return "pull,push"
}

// maxQuestions is how often one request is repeated because the registry asks
// who it is. One answer is enough, unless other requests used up the token.
const maxQuestions = 3

// RoundTrip makes the request, and again when the registry asks who it is.
func (s *session) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != s.scheme || !strings.EqualFold(req.URL.Host, s.host) {
		return s.base.RoundTrip(req)
	}
	s.mu.Lock()
	value := s.granted[right(req)]
	s.mu.Unlock()
	body := req.Body
	for questions := 0; ; questions++ {
		resp, err := s.send(req, body, value)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || questions == maxQuestions {
			return resp, err
		}
		value, err = s.authorize(req, resp.Header.Values("Www-Authenticate"), value)
		if err == nil && value == "" {
			return resp, nil
		}
		_, _ = io.CopyN(io.Discard, resp.Body, 8<<10) // lets the connection be used again
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		if req.Body != nil && req.Body != http.NoBody {
			if req.GetBody == nil {
				return nil, errors.New("the token expired while a file was sent")
			}
			if body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

func (s *session) send(req *http.Request, body io.ReadCloser, authorization string) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Body = body
	out.Header.Del("Authorization")
	out.Header.Set("User-Agent", userAgent)
	if authorization != "" {
		out.Header.Set("Authorization", authorization)
	}
	resp, err := s.base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = req // without the credential
	if wait, limited := transport.RateLimit(resp); limited {
		s.mu.Lock()
		s.asked = max(s.asked, wait)
		s.mu.Unlock()
	}
	return resp, nil
}

// pause returns how long the registry wants to be left alone, once.
func (s *session) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.asked = 0 }()
	return s.asked
}

// authorize answers the question of a registry with the value of a header, or
// with none if there is nothing that was not tried. An error is one of the
// network, which may be gone next time.
func (s *session) authorize(req *http.Request, questions []string, tried string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	need := right(req)
	if value := s.granted[need]; value != tried {
		return value, nil // another request was faster
	}
	delete(s.granted, need)
	s.refused = ""
	c, err := s.credential(req.Context(), s.name)
	if err != nil {
		s.refused = err.Error()
		return "", nil
	}
	if c != (Credential{}) && !transport.Protected(req.URL) {
		s.refused = "credentials are not sent to another machine without encryption"
		return "", nil
	}
	s.secrets.Add(c.Password, c.AccessToken, c.RefreshToken, strings.TrimPrefix(basic(c), "Basic "))
	value := ""
	for _, q := range parseChallenges(questions) {
		switch {
		case q.scheme == "basic" && c.Password != "":
			value = basic(c)
		case q.scheme == "bearer" && c.AccessToken != "":
			value = "Bearer " + c.AccessToken
		case q.scheme == "bearer":
			if value, err = s.token(req.Context(), q, c, need); err != nil {
				return "", err
			}
		}
		if value != "" {
			break
		}
	}
	if value == tried {
		value = ""
	}
	if value != "" {
		s.granted[need] = value
	}
	switch { // if the registry refuses what it gets, this is the reason
	case s.refused != "":
	case c == Credential{}:
		s.refused = "there are no credentials for " + s.name
	default:
		s.refused = "the registry does not accept the credentials"
	}
	return value, nil
}

func basic(c Credential) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.UserName+":"+c.Password))
}

// maxToken is more than the answer of a token server can have: tokens go into
// headers.
const maxToken = 1 << 20

// token gets one of the server that the registry names. It is empty if that
// refuses.
func (s *session) token(ctx context.Context, q challenge, c Credential, need string) (string, error) {
	realm, err := url.Parse(q.params["realm"])
	if err != nil || realm.Host == "" || realm.User != nil {
		s.refused = "the registry does not state where to get a token"
		return "", nil
	}
	if !transport.Protected(realm) {
		if s.scheme == "https" || c != (Credential{}) {
			s.refused = fmt.Sprintf("the registry asks for a token from %s://%s, but credentials are not sent there without encryption", realm.Scheme, realm.Host)
			return "", nil
		}
	}
	if c != (Credential{}) && !s.trusts(realm) {
		s.refused = fmt.Sprintf("the registry asks to send the credentials for %s to %s, which they do not belong to; if that is its token server, set %s=%[2]s", s.name, realm.Host, TokenServerVariable)
		c = Credential{}
	}
	scope := cmp.Or(q.params["scope"], "repository:"+s.repository+":"+need)
	var req *http.Request
	if c.RefreshToken != "" {
		form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.RefreshToken}, "service": {q.params["service"]}, "scope": {scope}, "client_id": {userAgent}}
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, realm.String(), strings.NewReader(form.Encode()))
		if err == nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	} else {
		query := realm.Query()
		if service := q.params["service"]; service != "" {
			query.Set("service", service)
		}
		for _, one := range strings.Fields(scope) {
			query.Add("scope", one)
		}
		realm.RawQuery = query.Encode()
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, realm.String(), nil)
		if err == nil && c.Password != "" {
			req.Header.Set("Authorization", basic(c))
		}
	}
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	// Without redirects, which the credentials would follow.
	resp, err := s.base.RoundTrip(req)
	if err != nil {
		return "", fmt.Errorf("get a token from %s: %w", realm.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if err := transport.StatusError(resp); transport.IsTemporary(err) {
			return "", fmt.Errorf("get a token: %w", err)
		}
		s.refused = fmt.Sprintf("%s refuses a token with the status %d", realm.Host, resp.StatusCode)
		return "", nil
	}
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxToken)).Decode(&answer); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", &publish.Temporary{Err: fmt.Errorf("get a token from %s: the answer is not a token, or was cut off", realm.Host)}
	}
	value := cmp.Or(answer.Token, answer.AccessToken)
	if value == "" {
		s.refused = realm.Host + " gives no token"
		return "", nil
	}
	s.secrets.Add(value)
	return "Bearer " + value, nil
}

// trusts reports whether a token server may see the credential of the registry:
// it is on the same host or site, as auth.docker.io is for docker.io, or the user
// named it.
func (s *session) trusts(realm *url.URL) bool {
	if s.tokenServer != "" {
		return strings.EqualFold(s.tokenServer, realm.Host)
	}
	registry := (&url.URL{Host: s.host}).Hostname()
	if strings.EqualFold(registry, realm.Hostname()) {
		return true
	}
	if net.ParseIP(registry) != nil || net.ParseIP(realm.Hostname()) != nil {
		return false
	}
	a, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(registry))
	b, err2 := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(realm.Hostname()))
	return err == nil && err2 == nil && a == b
}

// why returns the reason why there is no credential.
func (s *session) why() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// challenge is one way in which a server wants to know who asks (RFC 9110,
// section 11.6.1).
type challenge struct {
	scheme string // lower case
	params map[string]string
}

// parseChallenges reads WWW-Authenticate headers, of which each may hold
// several challenges. What is not understood is left out.
func parseChallenges(headers []string) (out []challenge) {
	for _, h := range headers {
		for h = strings.TrimLeft(h, " \t,"); h != ""; h = strings.TrimLeft(h, " \t,") {
			word := h
			if end := strings.IndexAny(h, " \t,="); end >= 0 {
				word = h[:end]
			}
			h = strings.TrimLeft(h[len(word):], " \t")
			if !strings.HasPrefix(h, "=") {
				out = append(out, challenge{strings.ToLower(word), map[string]string{}})
				continue
			}
			value := ""
			value, h = parameter(strings.TrimLeft(h[1:], " \t="))
			if len(out) > 0 && word != "" {
				out[len(out)-1].params[strings.ToLower(word)] = value
			}
		}
	}
	return out
}

// parameter reads a value, with or without quotes, and returns the rest.
func parameter(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		if end := strings.IndexAny(s, " \t,"); end >= 0 {
			return s[:end], s[end:]
		}
		return s, ""
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
