package probe

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// endless is a server that sends without end, and without a Content-Length.
type endless struct{}

func (endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.NopCloser(endless{})}, nil
}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestEndless(t *testing.T) {
	t.Parallel()
	c := &client{base: &url.URL{Scheme: "https", Host: "localhost"}, http: &http.Client{Transport: endless{}}}
	if r := c.do(t.Context(), "discovery", nil, time.Hour); !errors.Is(r.err, errTooLarge) || r.body != nil {
		t.Errorf("%d bytes and error %v, want none and %v", len(r.body), r.err, errTooLarge)
	}
}
