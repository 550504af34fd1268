package fault

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Entry is one request in the log. It holds no secret.
type Entry struct {
	Method string
	Host   string
	// Path is escaped as the client sent it.
	Path  string
	Query string
	// Step is the server's name of the operation.
	Step string
	// Status is what the client was told; 0 if it was told nothing.
	Status int
	// Fault is the name of the fault that the request suffered.
	Fault string
	// Credentials names the ways in which secrets came, for example "Bearer" or
	// "PRIVATE-TOKEN".
	Credentials []string
	// ContentLength is what the request announced, -1 if it announced nothing.
	ContentLength int64
	ContentType   string
	UserAgent     string
	// In and Out count the bytes of the bodies that went over the wire.
	In, Out int64
}

// String shows the entry in one line.
func (e Entry) String() string {
	s := fmt.Sprintf("%s %s%s", e.Method, e.Host, e.Path)
	if e.Query != "" {
		s += "?" + e.Query
	}
	s += fmt.Sprintf(" -> %d", e.Status)
	if e.Fault != "" {
		s += " (" + e.Fault + ")"
	}
	return s
}

// secretHeaders are the headers in which a client proves who it is, apart from
// Authorization.
func secretHeaders() []string {
	return []string{"Private-Token", "Job-Token", "Deploy-Token", "Cookie", "Proxy-Authorization"}
}

// secretParameters are the query parameters in which a secret may come.
func secretParameters() []string { return []string{"private_token", "job_token", "access_token"} }

// query returns the query of an address without the secrets in it.
func query(u *url.URL) string {
	values := u.Query()
	secret := false
	// Who knows the signature of an address can use it.
	for _, name := range append(secretParameters(), "X-Amz-Signature") {
		if values.Has(name) {
			values.Set(name, "hidden")
			secret = true
		}
	}
	if !secret {
		return u.RawQuery
	}
	return values.Encode()
}

// Credentials names the ways in which secrets come with a request: the scheme of
// the Authorization header, other headers in upper case, and query parameters
// after a question mark.
func Credentials(r *http.Request) []string {
	var names []string
	for _, v := range r.Header.Values("Authorization") {
		scheme, _, _ := strings.Cut(v, " ")
		if !slices.Contains([]string{"bearer", "token", "basic"}, strings.ToLower(scheme)) {
			// This may be a piece of the secret.
			scheme = "Authorization"
		}
		names = append(names, scheme)
	}
	for _, h := range secretHeaders() {
		if r.Header.Get(h) != "" {
			names = append(names, strings.ToUpper(h))
		}
	}
	for _, q := range secretParameters() {
		if r.URL.Query().Has(q) {
			names = append(names, "?"+q)
		}
	}
	return names
}

// Secret returns the secret in the Authorization header of a request with the
// user name of Basic authentication, and whether there is one.
func Secret(r *http.Request) (user, secret string, ok bool) {
	if user, secret, ok = r.BasicAuth(); ok {
		return user, secret, true
	}
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return "", strings.TrimSpace(value), slices.Contains([]string{"bearer", "token"}, strings.ToLower(scheme))
}

// Log returns the requests so far, in the order in which they came.
func (i *Injector) Log() []Entry {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]Entry, len(i.log))
	for n, e := range i.log {
		out[n] = *e
		out[n].Credentials = slices.Clone(e.Credentials)
	}
	return out
}

// ClearLog forgets the requests so far.
func (i *Injector) ClearLog() { i.update(func() { i.log, i.peak = nil, i.busy }) }

// Peak returns how many requests were in work at the same time at most.
func (i *Injector) Peak() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.peak
}
