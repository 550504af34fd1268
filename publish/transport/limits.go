package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// The limits of what a server may send. They leave room for the largest real
// answers: a page of a hundred releases with notes and files has 10 MB.
const (
	// MinRate is how many bytes a second must move while the server is waited
	// for, once Policy.Timeout has passed.
	MinRate = 1 << 10
	// maxAnswer is the size of one answer of an API, in bytes.
	maxAnswer = 16 << 20
	// maxRefusal is how much is read of an answer that is not a success.
	maxRefusal = 64 << 10
	// maxObjects is how many JSON objects one answer may hold. Small ones take
	// a hundred times their size in memory.
	maxObjects = 100_000
	// MaxPages and maxEntries end a list. GitHub itself shows 10,000 releases.
	MaxPages   = 200
	maxEntries = 20_000
	// maxFile is the size of a file whose size is not stated, which is as much as
	// is read into memory.
	maxFile = 64 << 20
	// answerTimeouts is how many times Policy.Timeout one answer may take, a file
	// whose size is not stated, and a list with all its pages.
	answerTimeouts = 15
)

// ExcessError says that a server sends more than maxAnswer and the like allow.
// Asking again does not help.
type ExcessError struct{ Host, What string }

func (e *ExcessError) Error() string {
	return fmt.Sprintf("%s sends %s; it may not be the intended server", e.Host, e.What)
}

// Bounded returns a client like one that New made, for an API: an answer that
// exceeds the limits fails with a *ExcessError while it is read.
func Bounded(client *http.Client) *http.Client {
	out := *client
	next, timeout := client.Transport, policyOf(client).Timeout
	out.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		switch {
		case err != nil:
		case resp.StatusCode >= http.StatusBadRequest:
			resp.Body = struct {
				io.Reader
				io.Closer
			}{io.LimitReader(resp.Body, maxRefusal), resp.Body}
		default:
			resp.Body = &bounded{ReadCloser: resp.Body, host: req.URL.Host, bytes: maxAnswer, objects: maxObjects, end: time.Now().Add(answerTimeouts * timeout)}
		}
		return resp, err
	})
	return &out
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// bounded is the body of an answer of an API.
type bounded struct {
	io.ReadCloser
	host           string
	bytes, objects int
	end            time.Time
	err            error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p)
	b.bytes -= n
	for _, c := range p[:n] {
		if c == '{' {
			b.objects--
		}
	}
	switch {
	case b.bytes < 0:
		b.err = &ExcessError{b.host, fmt.Sprintf("an answer of more than %d MiB", maxAnswer>>20)}
	case b.objects < 0:
		b.err = &ExcessError{b.host, fmt.Sprintf("an answer with more than %d entries", maxObjects)}
	case time.Now().After(b.end):
		b.err = &ExcessError{b.host, "an answer that does not end"}
	default:
		return n, err
	}
	return 0, b.err
}

// Pages calls page for each page of a list, beginning with 1, until it returns
// no later one. Add takes the entries that are worth keeping and counts them.
// The error is a *ExcessError for a list that does not end.
func Pages(ctx context.Context, policy Policy, host string, page func(ctx context.Context, n int, add func(entries int) error) (next int, err error)) error {
	endless := &ExcessError{host, "a list that does not end"}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeouts*policy.withDefaults().Timeout, endless)
	defer cancel()
	kept := 0
	add := func(entries int) error {
		if kept += entries; kept > maxEntries {
			return endless
		}
		return nil
	}
	for n, pages := 1, 0; ; pages++ {
		if pages == MaxPages {
			return endless
		}
		next, err := page(ctx, n, add)
		if err != nil || next <= n {
			return err
		}
		n = next
	}
}

func IsExcess(err error) bool {
	_, ok := errors.AsType[*ExcessError](err)
	return ok
}
