package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

// explain makes an error of the registry or of oras fit to be shown: without
// the query of a URL, in which uploads have their key, and with what to do.
func (d *Repository) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return d.explainStatus(answer.Method, answer.URL, answer.StatusCode, answer.Errors)
	}
	if status, ok := errors.AsType[*transport.Status](err); ok && !transport.IsTemporary(err) {
		if u, parseErr := url.Parse(status.URL); parseErr == nil {
			return d.explainStatus(status.Method, u, status.Code, nil)
		}
	}
	if errors.Is(err, errdef.ErrNotFound) {
		return fs.ErrNotExist
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return d.censored(transport.Clean(err))
	}
	return d.censored(err)
}

// explainStatus says what a refusal means.
func (d *Repository) explainStatus(method string, u *url.URL, code int, said errcode.Errors) error {
	status := &transport.Status{Code: code, Method: method}
	if u != nil {
		bare := *u
		bare.RawQuery, bare.Fragment, bare.User = "", "", nil
		status.URL = bare.String()
	}
	if code == http.StatusTooManyRequests || transport.Failing(code) {
		return &publish.Temporary{Err: status}
	}
	host, repository := d.remote.Reference.Registry, d.remote.Reference.Repository
	switch write := method != http.MethodGet && method != http.MethodHead; {
	case code == http.StatusUnauthorized:
		why := cmp.Or(d.session.secrets.Quote(d.session.why()), "the registry does not state how to log in")
		return fmt.Errorf("%w: %s; log in with `docker login %s`, or set %s and %s, or %s", status, why, host, UserVariable, PasswordVariable, AccessTokenVariable)
	case code == http.StatusForbidden:
		right := "pull from"
		if write {
			right = "push to"
		}
		return fmt.Errorf("%w%s; the user or token lacks the right to %s %s; log in as a user who has it with `docker login %s`, or set %s and %s", status, d.quote(said), right, repository, host, UserVariable, PasswordVariable)
	case code == http.StatusNotFound && write:
		return fmt.Errorf("%w%s; create the repository %s in the registry first, or check its name and whether the user may push there", status, d.quote(said), repository)
	case len(said) > 0 && strings.Contains(said[0].Message, "URL on layer"): // as docker-registry says it
		return fmt.Errorf("%w%s; the registry takes no layers that only their vendor distributes: name the other platforms with --platform, such as linux/amd64", status, d.quote(said))
	case code < http.StatusBadRequest:
		return fmt.Errorf("%w, which is not how a registry answers this request", status)
	default:
		return fmt.Errorf("%w%s", status, d.quote(said))
	}
}

// quote repeats what a registry says about its refusal.
func (d *Repository) quote(said errcode.Errors) string {
	if len(said) == 0 {
		return ""
	}
	return " (" + d.session.secrets.Quote(said[0].Code+": "+said[0].Message) + ")"
}

// censored is an error without queries of URLs and without secrets.
func (d *Repository) censored(err error) error {
	text := err.Error()
	clean := d.session.secrets.Redact(transport.Printable(withoutQueries(text)))
	if clean == text {
		return err
	}
	out := errors.New(clean)
	if transport.IsTemporary(err) {
		return &publish.Temporary{Err: out}
	}
	return out
}

// withoutQueries cuts off the query of every URL in a text.
func withoutQueries(text string) string {
	var b strings.Builder
	for _, word := range strings.SplitAfter(text, " ") {
		if strings.Contains(word, "://") {
			if q := strings.IndexByte(word, '?'); q >= 0 {
				rest := ""
				if end := strings.IndexAny(word[q:], "\" "); end >= 0 {
					rest = word[q+end:]
				}
				word = word[:q] + rest
			}
		}
		b.WriteString(word)
	}
	return b.String()
}
