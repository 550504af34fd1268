package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
)

// Download opens the content at a URL, which has size bytes, or an unknown
// number if size is negative. A connection that breaks off is taken up again where it
// ended, as long as the server says that the content is still the same. The error
// wraps fs.ErrNotExist for status 404.
func Download(ctx context.Context, client *http.Client, at string, size int64) (io.ReadCloser, error) {
	return NewLink(client, at, nil).Open(ctx, size)
}

// Link is the URL of a file, which usually redirects to the content. It is safe for
// concurrent use.
type Link struct {
	client *http.Client
	url    string
	header http.Header

	mu    sync.Mutex
	found found
}

// found is what the server of a link answered before the content was needed.
type found struct {
	// next asks for the content where the link redirects to. It is nil if the
	// server did not redirect; resp is its answer then, or err says why there is
	// none.
	next *http.Request
	resp *http.Response
	err  error
}

// NewLink returns the link that is at a URL. Header may add what the server needs
// to know.
func NewLink(client *http.Client, at string, header http.Header) *Link {
	return &Link{client: client, url: at, header: header}
}

// Locate asks where the link leads to, so that the next Open need not: that takes
// a round trip, and no bandwidth. A server that answers with the content itself
// waits until it is read. Errors are left to Open, which has to follow before ctx is
// done.
func (l *Link) Locate(ctx context.Context) {
	req, err := l.request(ctx)
	if err != nil {
		return
	}
	var f found
	client := *l.client
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if l.client.CheckRedirect != nil {
			if err := l.client.CheckRedirect(req, via); err != nil {
				return err
			}
		}
		f.next = req
		return http.ErrUseLastResponse
	}
	f.resp, f.err = client.Do(req)
	if f.next != nil {
		drain(f.resp.Body)
		f.resp = nil
		f.next.Response = nil // which holds on to the connection
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = f
}

func (l *Link) Open(ctx context.Context, size int64) (io.ReadCloser, error) {
	d := &download{ctx: ctx, link: l, size: size, policy: policyOf(l.client), opened: time.Now(), since: time.Now()}
	l.mu.Lock()
	f := l.found
	l.found = found{} // a redirect need not be good for long
	l.mu.Unlock()
	if err := d.begin(f); err != nil {
		return nil, err
	}
	return d, nil
}

func (l *Link) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, nil)
	if err != nil {
		return nil, Clean(err)
	}
	for name, values := range l.header {
		req.Header[name] = values
	}
	// Otherwise the client asks for compression, and positions mean nothing.
	req.Header.Set("Accept-Encoding", "identity")
	return req, nil
}

type download struct {
	ctx    context.Context
	link   *Link
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

// begin connects with what was found before.
func (d *download) begin(f found) error {
	switch {
	case f.err != nil:
		return Clean(f.err)
	case f.resp != nil:
		return d.take(f.resp)
	case f.next != nil:
		resp, err := d.link.client.Do(f.next.WithContext(d.ctx))
		if err != nil {
			return Clean(err)
		}
		err = d.take(resp)
		if _, refused := errors.AsType[*Status](err); !refused || IsTemporary(err) {
			return err
		}
		// The redirect may have expired before anything was read.
	}
	return d.connect()
}

// connect asks for what is missing.
func (d *download) connect() error {
	req, err := d.link.request(d.ctx)
	if err != nil {
		return err
	}
	if d.at > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
		if strings.HasPrefix(d.etag, `"`) { // a weak one does not stand for every byte
			req.Header.Set("If-Range", d.etag)
		}
	}
	resp, err := d.link.client.Do(req)
	if err != nil {
		return Clean(err)
	}
	return d.take(resp)
}

// take reads on from an answer, if that continues where the last one ended.
func (d *download) take(resp *http.Response) error {
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
	if d.etag == "" {
		d.etag = etag
	}
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
	u, err := url.Parse(d.link.url)
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
