package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
)

// Download opens the content at a URL, which has size bytes, or an unknown
// number if size is negative. Header may add what the server needs to know. A
// connection that breaks off is taken up again where it ended, as long as the server
// says that the content is still the same. The error wraps fs.ErrNotExist for status
// 404.
func Download(ctx context.Context, client *http.Client, at string, header http.Header, size int64) (io.ReadCloser, error) {
	d := &download{ctx: ctx, client: client, url: at, header: header, size: size, policy: policyOf(client), opened: time.Now(), since: time.Now()}
	if err := d.connect(); err != nil {
		return nil, err
	}
	return d, nil
}

type download struct {
	ctx    context.Context
	client *http.Client
	url    string
	header http.Header
	policy Policy
	opened time.Time
	// broken counts the breaks since the last progress, which began at since
	// with from bytes.
	broken int
	since  time.Time
	from   int64

	body io.ReadCloser
	etag string
	at   int64
	// skip is how much of body was read before, from a server that does not
	// know ranges.
	skip int64
	size int64
}

// errClosed is the error of a read after Close.
var errClosed = errors.New("read after the download was closed")

// connect asks for what is missing.
func (d *download) connect() error {
	req, err := http.NewRequestWithContext(d.ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return Clean(err)
	}
	maps.Copy(req.Header, d.header)
	// Otherwise the client asks for compression, and positions mean nothing.
	req.Header.Set("Accept-Encoding", "identity")
	if d.at > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
		if strings.HasPrefix(d.etag, `"`) { // a weak one does not stand for every byte
			req.Header.Set("If-Range", d.etag)
		}
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return Clean(err)
	}
	if err := d.accept(resp); err != nil {
		drain(resp.Body)
		return err
	}
	d.body = resp.Body
	return nil
}

// accept checks whether the answer continues where the last one ended.
func (d *download) accept(resp *http.Response) error {
	from, size := int64(0), resp.ContentLength
	switch {
	case resp.StatusCode == http.StatusOK:
	case resp.StatusCode == http.StatusPartialContent && d.at > 0:
		said := resp.Header.Get("Content-Range")
		if _, err := fmt.Sscanf(said, "bytes %d-", &from); err != nil || from != d.at {
			return fmt.Errorf("GET %s: asked for the bytes from %d on, the server sent %q", bare(resp.Request.URL), d.at, said)
		}
		_, total, _ := strings.Cut(said, "/")
		var err error
		if size, err = strconv.ParseInt(total, 10, 64); err != nil {
			size = -1 // the server need not know
		}
	default:
		return StatusError(resp)
	}
	if d.size >= 0 && size >= 0 && size != d.size {
		return fmt.Errorf("GET %s: the server offers %d bytes of a file that should have %d", bare(resp.Request.URL), size, d.size)
	}
	etag := resp.Header.Get("Etag")
	if d.at > 0 && d.etag != "" && etag != "" && etag != d.etag {
		return fmt.Errorf("GET %s: the file was changed while it was read; start again", bare(resp.Request.URL))
	}
	if d.size < 0 && resp.ContentLength < 0 && resp.ProtoMajor < 2 && len(resp.TransferEncoding) == 0 {
		// HTTP/1.0 ends such an answer by closing the connection.
		return fmt.Errorf("GET %s: the server states neither the length of the file nor where it ends, so a truncated file would look complete", bare(resp.Request.URL))
	}
	if d.size < 0 {
		d.size = size
	}
	d.etag = cmp.Or(d.etag, etag)
	d.skip = d.at - from
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
		n, err := d.read(p)
		d.at += int64(n)
		switch {
		case d.size < 0 && (d.at > maxFile || time.Since(d.opened) > answerTimeouts*d.policy.Timeout):
			return n, &ExcessError{d.host(), "a file that does not end"}
		case d.size >= 0 && d.at > d.size:
			return n, &ExcessError{d.host(), fmt.Sprintf("more than the %d bytes of a file", d.size)}
		}
		short := d.size >= 0 && d.at < d.size
		if err == nil || err == io.EOF && !short || err == errClosed {
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
		if err := d.retry(err); err != nil {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

// retry waits before the next connection. Only breaks without progress count:
// those between which less was read than MinRate demands.
func (d *download) retry(err error) error {
	const least = MinRate / 4
	if got := d.at - d.from; got >= least && float64(got) >= MinRate*time.Since(d.since).Seconds() {
		d.broken, d.since, d.from = 0, time.Now(), d.at
	}
	if d.broken++; d.broken >= d.policy.Attempts {
		return &publish.Temporary{Err: fmt.Errorf("the download from %s was interrupted %d times without progress, after %d bytes: %w", d.host(), d.broken, d.at, err)}
	}
	return d.policy.Sleep(d.ctx, d.policy.backoff(d.broken))
}

func (d *download) host() string {
	u, err := url.Parse(d.url)
	if err != nil {
		return "the server"
	}
	return u.Host
}

// read reads from the connection, after what was there before.
func (d *download) read(p []byte) (int, error) {
	for d.skip > 0 {
		n, err := io.CopyN(io.Discard, d.body, d.skip)
		if d.skip -= n; err != nil {
			return 0, err
		}
	}
	return d.body.Read(p)
}

func (d *download) Close() error {
	body := d.body
	d.body = closed{}
	if body == nil {
		return nil
	}
	return body.Close()
}

type closed struct{}

func (closed) Read([]byte) (int, error) { return 0, errClosed }
func (closed) Close() error             { return nil }

// Status is an answer that is not a success.
type Status struct {
	Code   int
	Method string
	// URL has no query and no credentials.
	URL string
}

func (e *Status) Error() string {
	return fmt.Sprintf("%s %s: %d %s", e.Method, e.URL, e.Code, http.StatusText(e.Code))
}

// Is makes a missing file fs.ErrNotExist.
func (e *Status) Is(target error) bool {
	return target == fs.ErrNotExist && (e.Code == http.StatusNotFound || e.Code == http.StatusGone)
}

// Failing reports whether a status is a failure of the server that may not happen again;
// what it has not implemented, 501, always fails.
func Failing(status int) bool {
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// StatusError returns the *Status of a response, as *publish.Temporary if the
// server may answer otherwise next time. The body can still be read.
func StatusError(resp *http.Response) error {
	err := &Status{Code: resp.StatusCode, Method: resp.Request.Method, URL: bare(resp.Request.URL)}
	if _, limited := limit(resp); limited || Failing(resp.StatusCode) {
		return &publish.Temporary{Err: err}
	}
	return err
}

// IsTemporary reports whether another attempt makes sense.
func IsTemporary(err error) bool {
	_, ok := errors.AsType[*publish.Temporary](err)
	return ok
}

// Worst returns the error that decides among those of requests side by side: one that
// another attempt does not help, but not one that is only the consequence of it.
func Worst(errs []error) (out error) {
	rank := func(err error) int {
		switch {
		case err == nil:
			return 0
		case IsTemporary(err), errors.Is(err, context.Canceled):
			return 1
		}
		return 2
	}
	for _, err := range errs {
		if rank(err) > rank(out) {
			out = err
		}
	}
	return out
}
