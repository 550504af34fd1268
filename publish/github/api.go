package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/google/go-github/v60/github"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// What the API says, as far as it counts here (GitHub's OpenAPI description).
// The types of go-github v60 lack the digests and what is immutable.
type (
	home struct {
		FullName    transport.Line `json:"full_name"`
		Private     bool           `json:"private"`
		Archived    bool           `json:"archived"`
		Disabled    bool           `json:"disabled"`
		Branch      transport.Line `json:"default_branch"`
		Permissions *struct {
			Push bool `json:"push"`
		} `json:"permissions"`
	}
	release struct {
		ID         int64          `json:"id"`
		Tag        string         `json:"tag_name"`
		Target     string         `json:"target_commitish"`
		Name       string         `json:"name"`
		Body       string         `json:"body"`
		Draft      bool           `json:"draft"`
		Prerelease bool           `json:"prerelease"`
		Immutable  bool           `json:"immutable"`
		Page       transport.Line `json:"html_url"`
		UploadURL  string         `json:"upload_url"`
		// The list inside a release is not to be relied on above 100.
		assets []asset
	}
	asset struct {
		ID     int64  `json:"id"`
		Name   string `json:"name"`
		State  string `json:"state"`
		Size   int64  `json:"size"`
		Digest string `json:"digest"`
	}
	gitObject struct {
		Object struct {
			SHA  string `json:"sha"`
			Type string `json:"type"`
		} `json:"object"`
	}
)

// uploaded is the state of an asset that is all there. One whose upload broke
// off stays in the state "starter".
const uploaded = "uploaded"

// sum returns the checksum that GitHub states; older assets and servers have
// none.
func (a asset) sum() (repo.Sum, bool) {
	digits, ok := strings.CutPrefix(a.Digest, "sha256:")
	if !ok {
		return repo.Sum{}, false
	}
	return repo.ParseSum(digits)
}

// refusal is an answer of the API that is not a success.
type refusal struct {
	*transport.Status
	message string
	// codes are those of the single errors, such as already_exists.
	codes  []string
	advice string
}

func (e *refusal) Error() string {
	text := e.Status.Error()
	for _, more := range []string{e.message, e.advice} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

func (e *refusal) Unwrap() error { return e.Status }

// refused reports whether GitHub answered with one of these statuses.
func refused(err error, statuses ...int) bool {
	e, ok := errors.AsType[*refusal](err)
	return ok && slices.Contains(statuses, e.Code)
}

// overtaken reports whether an error says that the server is no longer in the
// state that the request was made for.
func overtaken(err error) bool {
	e, ok := errors.AsType[*refusal](err)
	exists := ok && e.Code == http.StatusUnprocessableEntity && slices.Contains(e.codes, "already_exists")
	return exists || refused(err, http.StatusNotFound, http.StatusConflict)
}

// again makes an error of a request that changes something one after which it
// is worth to look what is there, if that is so.
func again(err error) error {
	if overtaken(err) {
		return converge.Overtaken(err)
	}
	return err
}

func (d *Repository) refuse(resp *http.Response) error {
	err := transport.StatusError(resp)
	var said sdk.ErrorResponse
	if data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)); err == nil {
		_ = json.Unmarshal(data, &said) // a proxy may say it in HTML
	}
	status, _ := errors.AsType[*transport.Status](err)
	r := &refusal{Status: status, message: d.secrets.Quote(said.Message), advice: d.advice(resp)}
	for _, e := range said.Errors {
		r.codes = append(r.codes, e.Code)
		text := e.Message
		if text == "" {
			text = strings.TrimSpace(e.Field + " " + strings.ReplaceAll(e.Code, "_", " "))
		}
		r.message += ", " + d.secrets.Quote(text)
	}
	if transport.IsTemporary(err) {
		r.advice = "" // it is about rights, and a rate limit may come as 403, too
		return &publish.Temporary{Err: r}
	}
	return r
}

// advice says what to do about an answer, in words that follow it.
func (d *Repository) advice(resp *http.Response) string {
	reading := resp.Request.Method == http.MethodGet
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized && d.opt.Token == "":
		return "set " + d.opt.TokenName + " to a token"
	case code == http.StatusUnauthorized:
		return "the token in " + d.opt.TokenName + " is wrong or has expired; use a new one"
	case (code == http.StatusForbidden || code == http.StatusNotFound) && !reading:
		advice := d.needsWrite()
		if strings.HasSuffix(resp.Request.URL.Path, "/releases") {
			advice += `, and "Workflows" if the commit of the release changes .github/workflows, which the token of a workflow run never has`
		}
		return advice
	case code == http.StatusForbidden:
		return "the token in " + d.opt.TokenName + ` needs the right "Contents: read"`
	}
	return ""
}

func (d *Repository) needsWrite() string {
	return "the token in " + d.opt.TokenName + ` needs the right "Contents: read and write" (classic tokens: the scope repo; in a workflow: permissions: contents: write)`
}

var errCut = errors.New("the answer is truncated or does not come from GitHub")

// send makes one request, and reads the answer into out.
func (d *Repository) send(ctx context.Context, req *http.Request, out any) (next int, err error) {
	resp, err := d.api().BareDo(ctx, req)
	if resp != nil {
		defer resp.Body.Close()
	}
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case resp == nil:
		return 0, transport.Clean(err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return 0, d.refuse(resp.Response)
	}
	if err = errors.Join(err, decode(resp.Body, out)); err == nil {
		return resp.NextPage, nil
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if transport.IsExcess(err) {
		return 0, err
	}
	at := *req.URL
	at.RawQuery = ""
	return 0, &publish.Temporary{Err: fmt.Errorf("%s %s: %w: %w", req.Method, at.Redacted(), errCut, err)}
}

// decode reads an answer into out: nothing for nil, a *string with all of it,
// what a function makes of it, anything else from JSON.
func decode(body io.Reader, out any) error {
	const longest = 4 << 10 // of what is no JSON
	switch out := out.(type) {
	case nil:
		_, err := io.Copy(io.Discard, body)
		return err
	case *string:
		data, err := io.ReadAll(io.LimitReader(body, longest))
		*out = strings.TrimSpace(string(data))
		return err
	case func(*json.Decoder) error:
		return out(json.NewDecoder(body))
	}
	var raw json.RawMessage
	if err := json.NewDecoder(body).Decode(&raw); err != nil {
		return err
	}
	if string(raw) == "null" {
		return errors.New("null")
	}
	return json.Unmarshal(raw, out)
}

// call makes a request to the API; path begins below the repository. Only what
// is read is repeated.
func (d *Repository) call(ctx context.Context, method, path string, in, out any, options ...sdk.RequestOption) (next int, err error) {
	again := func(err error) bool { return method == http.MethodGet && errors.Is(err, errCut) }
	err = d.opt.Policy.Repeat(ctx, again, func() error {
		req, err := d.api().NewRequest(method, strings.TrimSuffix("repos/"+d.full()+"/"+path, "/"), in, options...)
		if err == nil {
			next, err = d.send(ctx, req, out)
		}
		return err
	})
	return next, err
}

func (d *Repository) get(ctx context.Context, path string, out any) error {
	_, err := d.call(ctx, http.MethodGet, path, nil, out)
	return err
}

// list reads all pages, entry by entry, and returns those to keep.
func list[T any](ctx context.Context, d *Repository, path string, keep func(*T) bool) (all []T, err error) {
	err = transport.Pages(ctx, d.opt.Policy, d.base.Host, func(ctx context.Context, page int, add func(int) error) (int, error) {
		before := len(all)
		return d.call(ctx, http.MethodGet, fmt.Sprintf("%s?per_page=100&page=%d", path, page), nil, func(in *json.Decoder) error {
			all = all[:before] // the answer may be read again
			if start, err := in.Token(); err != nil || start != json.Delim('[') {
				return errors.Join(err, errors.New("not a list"))
			}
			for in.More() {
				var one T
				if err := in.Decode(&one); err != nil {
					return err
				}
				if keep(&one) {
					all = append(all, one)
					if err := add(1); err != nil {
						return err
					}
				}
			}
			_, err := in.Token()
			return err
		})
	})
	return all, err
}

// escape makes a ref fit for a path.
func escape(ref string) string {
	return strings.TrimPrefix((&url.URL{Path: "/" + ref}).EscapedPath(), "/")
}

// repository reads what the repository is, and keeps it for Fetch.
func (d *Repository) repository(ctx context.Context) (*home, error) {
	h := new(home)
	err := d.get(ctx, "", h)
	if refused(err, http.StatusNotFound) {
		if d.opt.Token == "" {
			return nil, fmt.Errorf("%s does not exist or is private; for a private one set %s to a token: %w", d, d.opt.TokenName, err)
		}
		return nil, fmt.Errorf("%s does not exist, or the token in %s may not see it: %w", d, d.opt.TokenName, err)
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.home = h
	d.mu.Unlock()
	return h, nil
}

// public reports whether readers need no token.
func (d *Repository) public(ctx context.Context) (bool, error) {
	if d.opt.Token == "" {
		return true, nil
	}
	d.mu.Lock()
	h := d.home
	d.mu.Unlock()
	if h == nil {
		var err error
		if h, err = d.repository(ctx); err != nil {
			return false, err
		}
	}
	return !h.Private, nil
}

func (d *Repository) load(ctx context.Context, r *release) (err error) {
	r.assets, err = list(ctx, d, fmt.Sprintf("releases/%d/assets", r.ID), func(a *asset) bool { return len(a.Name) <= maxName })
	return err
}

// commitOf returns the commit that a tag is at; nothing if there is no such
// tag.
func (d *Repository) commitOf(ctx context.Context, tag string) (string, error) {
	var ref gitObject
	err := d.get(ctx, "git/ref/tags/"+escape(tag), &ref)
	if refused(err, http.StatusNotFound, http.StatusConflict) { // 409: no commits yet
		return "", nil
	}
	// An annotated tag has an object of its own, which may be of another one.
	const deepest = 5
	for range deepest {
		if err != nil || ref.Object.Type != "tag" {
			break
		}
		sha := ref.Object.SHA
		ref = gitObject{}
		err = d.get(ctx, "git/tags/"+escape(sha), &ref)
	}
	return ref.Object.SHA, err
}

// resolve returns the full SHA of a commit, branch or tag.
func (d *Repository) resolve(ctx context.Context, name string) (sha string, err error) {
	_, err = d.call(ctx, http.MethodGet, "commits/"+escape(name), nil, &sha, func(req *http.Request) {
		req.Header.Set("Accept", "application/vnd.github.sha")
	})
	switch {
	case refused(err, http.StatusConflict):
		return "", fmt.Errorf("%s has no commits, so GitHub cannot create a tag; push one first", d)
	case refused(err, http.StatusNotFound, http.StatusUnprocessableEntity):
		return "", fmt.Errorf("%s has no commit %s; push it first", d, name)
	}
	return sha, err
}
