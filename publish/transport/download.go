package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
)

// Download opens the content at a URL, which has size bytes, or an unknown
// number if size is negative. Header may add what the server needs to know. A
// connection that breaks off is taken up again where it ended, as long as the
// server says that the content is still the same. The error wraps
// fs.ErrNotExist for status 404.
func Download(ctx context.Context, client *http.Client, url string, header http.Header, size int64) (io.ReadCloser, error) {
	d := &download{ctx: ctx, client: client, url: url, header: header, size: size, attempts: Policy{}.withDefaults().Attempts, policy: Policy{}.withDefaults()}
	if t, ok := client.Transport.(*tripper); ok {
		d.policy, d.attempts = t.policy, t.policy.Attempts
	}
	if err := d.connect(); err != nil {
		return nil, err
	}
	return d, nil
}

type download struct {
	ctx      context.Context
	client   *http.Client
	url      string
	header   http.Header
	policy   Policy
	attempts int // left

	body io.ReadCloser
	etag string
	at   int64
	size int64
}

// connect asks for what is missing.
func (d *download) connect() error {
	req, err := http.NewRequestWithContext(d.ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return err
	}
	for name, values := range d.header {
		req.Header[name] = values
	}
	// Otherwise the client asks for compression, and positions mean nothing.
	req.Header.Set("Accept-Encoding", "identity")
	if d.at > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
		if d.etag != "" {
			req.Header.Set("If-Range", d.etag)
		}
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return Clean(err)
	}
	fail := func(err error) error {
		drain(resp.Body)
		return err
	}
	switch {
	case resp.StatusCode == http.StatusOK:
		if d.size >= 0 && resp.ContentLength >= 0 && resp.ContentLength != d.size {
			return fail(fmt.Errorf("GET %s: the server offers %d bytes of a file that should have %d", req.URL.Redacted(), resp.ContentLength, d.size))
		}
		if d.size < 0 {
			d.size = resp.ContentLength
		}
		if d.at > 0 {
			// The server does not know ranges, or has other content by now,
			// which then shows in the checksum.
			if _, err := io.CopyN(io.Discard, resp.Body, d.at); err != nil {
				return fail(&publish.Temporary{Err: err})
			}
		}
	case resp.StatusCode == http.StatusPartialContent && d.at > 0:
		var from int64
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &from); err != nil || from != d.at {
			return fail(fmt.Errorf("GET %s: asked for the bytes from %d on, the server sent %q", req.URL.Redacted(), d.at, resp.Header.Get("Content-Range")))
		}
	default:
		return fail(StatusError(resp))
	}
	if d.etag == "" {
		d.etag = resp.Header.Get("Etag")
	}
	d.body = resp.Body
	return nil
}

// Read reads on, over a new connection if the old one breaks.
func (d *download) Read(p []byte) (int, error) {
	for {
		if d.body == nil {
			if err := d.connect(); err != nil {
				return 0, err
			}
		}
		n, err := d.body.Read(p)
		d.at += int64(n)
		short := d.size >= 0 && d.at < d.size
		if err == nil || err == io.EOF && !short {
			return n, err
		}
		if d.ctx.Err() != nil {
			return n, context.Cause(d.ctx)
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		d.body.Close()
		d.body = nil
		if d.attempts--; d.attempts <= 0 {
			return n, &publish.Temporary{Err: fmt.Errorf("the download broke off after %d bytes, again and again: %w", d.at, err)}
		}
		if err := d.policy.Sleep(d.ctx, d.policy.backoff(1)); err != nil {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

// Close ends the download.
func (d *download) Close() error {
	if d.body == nil {
		return nil
	}
	return d.body.Close()
}

// Status is an answer that is no success.
type Status struct {
	Code   int
	Method string
	// URL has no query and no credentials.
	URL string
}

// Error names the request and the answer.
func (e *Status) Error() string {
	return fmt.Sprintf("%s %s: %d %s", e.Method, e.URL, e.Code, http.StatusText(e.Code))
}

// Is makes a missing file fs.ErrNotExist.
func (e *Status) Is(target error) bool {
	return target == fs.ErrNotExist && (e.Code == http.StatusNotFound || e.Code == http.StatusGone)
}

// StatusError returns the *Status of a response, as *publish.Temporary if the
// server may answer otherwise next time.
func StatusError(resp *http.Response) error {
	u := *resp.Request.URL
	u.RawQuery, u.Fragment, u.User = "", "", nil
	err := &Status{Code: resp.StatusCode, Method: resp.Request.Method, URL: u.String()}
	if _, limited := RateLimit(resp); limited || resp.StatusCode >= 500 {
		return &publish.Temporary{Err: err}
	}
	return err
}

// IsTemporary reports whether another attempt makes sense.
func IsTemporary(err error) bool {
	_, ok := errors.AsType[*publish.Temporary](err)
	return ok
}
