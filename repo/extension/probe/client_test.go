package probe

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestCutOffIsNoAnswer: a call that is cut off when the repetitions end is not judged.
func TestCutOffIsNoAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := &probe{o: &Options{Rarity: 2, Chance: 0.9}, client: &client{base: &url.URL{Scheme: "http", Host: "localhost"},
		http: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			cancel()
			return nil, r.Context().Err()
		})}}}
	p.repeat(ctx, place{}, call{path: "/", timeout: time.Hour}, func(r reply) bool {
		t.Errorf("judged %v", r.err)
		return true
	})
}

// TestCallsEnd demands that nothing of a call goes on until its timeout.
func TestCallsEnd(t *testing.T) {
	var during context.Context
	c := &client{base: &url.URL{Scheme: "http", Host: "localhost"}, http: &http.Client{Transport: transport(
		func(r *http.Request) (*http.Response, error) {
			during = r.Context()
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})}}
	if r := c.do(t.Context(), call{path: "/", timeout: time.Hour}); r.err != nil || during.Err() == nil {
		t.Errorf("%v; the timer of the call goes on", r.err)
	}
}
