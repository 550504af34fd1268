package gitlab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// wire corrects what the library does to requests and answers.
type wire struct {
	next    http.RoundTripper
	secrets *transport.Secrets
}

// RoundTrip makes the request. A refusal is an error already here, because the
// library forgets the text of some and reads that of others without bound.
func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("Private-Token") // the library sends it empty
	resp, err := w.next.RoundTrip(req)
	if err != nil || resp.StatusCode < 400 {
		return resp, err
	}
	defer resp.Body.Close()
	temporary := transport.IsTemporary(transport.StatusError(resp))
	err = &refusal{resp.StatusCode, w.secrets.Redact(message(resp.Body))}
	if temporary {
		err = &publish.Temporary{Err: err}
	}
	return nil, err
}

// refusal is an answer that is not a success.
type refusal struct {
	code    int
	message string
}

// Error has the words of GitLab, which mostly begin with the status.
func (e *refusal) Error() string {
	status := fmt.Sprintf("%d %s", e.code, http.StatusText(e.code))
	if e.message == "" || strings.HasPrefix(e.message, status) {
		return cmp.Or(e.message, status)
	}
	return status + ": " + e.message
}

// Is makes a missing thing fs.ErrNotExist.
func (e *refusal) Is(target error) bool {
	return target == fs.ErrNotExist && e.code == http.StatusNotFound
}

// refused reports whether err is a refusal with one of these codes.
func refused(err error, codes ...int) bool {
	e, ok := errors.AsType[*refusal](err)
	return ok && slices.Contains(codes, e.code)
}

// message finds the words for people in a refusal: {"message": …} or {"error":
// …, "error_description": …}, where … may be a text, a list, or one of them for
// every wrong field.
func message(body io.Reader) string {
	const enough = 64 << 10
	data, _ := io.ReadAll(io.LimitReader(body, enough))
	var fields struct {
		Message     any    `json:"message"`
		Error       any    `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(data, &fields) != nil {
		return "" // the page of a proxy
	}
	words := phrase.Some([]any{fields.Message, fields.Error, fields.Description}, flat)
	return transport.Quote(strings.Join(words, ": "))
}

func flat(v any) string {
	var parts []string
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts = phrase.List(v, flat)
	case map[string]any:
		for name, x := range v {
			parts = append(parts, name+" "+flat(x))
		}
		slices.Sort(parts)
	}
	return strings.Join(parts, ", ")
}

// advice says what to do about refusals. {token} stands for the kind of the token
// and its place, {rights} for what it needs. The first row that matches counts.
var advice = []struct {
	code       int
	says, help string
}{
	{http.StatusBadRequest, "Duplicate package", "the group does not allow duplicates (Settings > Packages and registries), and an unfinished upload left another file of that name; delete this version of the package, or allow duplicates for it"},
	{http.StatusBadRequest, "too large", "ask the administrator for a higher limit for generic packages"},
	{http.StatusRequestEntityTooLarge, "", "GitLab or a proxy in front of it limits uploads; ask the administrator for a higher one"},
	{http.StatusUnauthorized, "", "the {token} is unknown, expired or revoked, or of another kind; make a new one"},
	{http.StatusForbidden, "insufficient_scope", "the {token} needs {rights}"},
	{http.StatusForbidden, "protected", "a protection rule reserves this package for higher roles (Settings > Packages and registries)"},
	{http.StatusForbidden, "", "the {token} needs {rights}, and the package registry of the project must be on"},
	{http.StatusNotFound, "", "the project does not exist, or the {token} may not see it; it needs {rights}"},
}

// explain makes an error of the library, or of the transport, fit to be shown,
// with advice. It is *publish.Temporary if nobody knows what the server did.
func (p *Package) explain(err error) error {
	if err == nil {
		return nil
	}
	if source, ok := errors.AsType[*publish.SourceError](err); ok {
		return source.Unwrap()
	}
	if excess, ok := errors.AsType[*transport.ExcessError](err); ok {
		return excess
	}
	if _, ok := errors.AsType[*url.Error](err); !ok {
		// The library could not read the answer.
		return &publish.Temporary{Err: &garbled{fmt.Errorf("the answer of %s is truncated or does not come from GitLab: %w", p.server, err)}}
	}
	err = transport.Clean(err)
	said, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	if said.code == http.StatusUnauthorized && p.o.Token == "" {
		return fmt.Errorf("%w; set %s to a token", err, p.o.TokenName)
	}
	for _, row := range advice {
		if row.code == said.code && strings.Contains(strings.ToLower(said.message), strings.ToLower(row.says)) {
			kind := tokenKinds[p.o.TokenKind]
			help := strings.NewReplacer("{token}", kind.word+" in "+p.o.TokenName, "{rights}", kind.rights).Replace(row.help)
			return fmt.Errorf("%w; %s", err, help)
		}
	}
	return err
}
