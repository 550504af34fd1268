package fakes_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const text = "the answer of the server"

type server struct {
	*httptest.Server
	faults *fault.Injector
	// handled counts the requests that the server saw.
	handled atomic.Int64
	// received counts the bytes of their bodies.
	received atomic.Int64
}

func startServer(t *testing.T, rules ...fault.Rule) *server {
	t.Helper()
	s := &server{faults: fault.New(rules...)}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handled.Add(1)
		n, _ := io.Copy(io.Discard, r.Body)
		s.received.Add(n)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.Header().Set("X-Now", strconv.FormatInt(fault.Now(r.Context()).Unix(), 10))
		_, _ = io.WriteString(w, text)
	})
	s.Server = httptest.NewServer(s.faults.Wrap(h, func(r *http.Request) string { return strings.Trim(r.URL.Path, "/") }))
	t.Cleanup(func() {
		s.faults.Close()
		s.Server.CloseClientConnections()
		s.Server.Close()
	})
	return s
}

// send sends a body and reads the answer to its end.
func send(t *testing.T, s *server, path, body string) (*http.Response, string, error) {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: 300 * time.Millisecond}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req := given.Value(http.NewRequestWithContext(ctx, "POST", s.URL+path, strings.NewReader(body)))(t)
	c := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp, string(raw), err
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// TestFaults is the table of what a client and the server see.
func TestFaults(t *testing.T) {
	timeout := func(err error) bool {
		var n net.Error
		return errors.As(err, &n) && n.Timeout()
	}
	for _, tt := range []struct {
		name    string
		fault   fault.Fault
		status  int
		body    string
		err     func(error) bool
		handled int64
	}{
		{"nothing", fault.Fault{}, 200, text, nil, 1},
		{"reset before", fault.Fault{Reset: true}, 0, "", isReset, 0},
		{"reset within request", fault.Fault{Reset: true, Bytes: 2}, 0, "", isReset, 0},
		{"reset after", fault.Fault{Reset: true, Handled: true}, 0, "", isReset, 1},
		{"reset within answer", fault.Fault{Reset: true, Handled: true, Bytes: 3}, 200, text[:3], isReset, 1},
		{"status before", fault.Fault{Status: 503, Body: "later"}, 503, "later", nil, 0},
		{"status after", fault.Fault{Status: 502, Handled: true}, 502, "", nil, 1},
		{"stall before", fault.Fault{Stall: true}, 0, "", timeout, 0},
		{"stall after", fault.Fault{Stall: true, Handled: true}, 0, "", timeout, 1},
		{"redirect", fault.Fault{Redirect: "http://elsewhere.test"}, 307, "", nil, 0},
		{"twice", fault.Fault{Twice: true}, 200, text, nil, 2},
		{"shorter", fault.Fault{Shorten: 4}, 200, text[:len(text)-4], nil, 1},
		{"corrupt", fault.Fault{Corrupt: true}, 200, "u" + text[1:], nil, 1},
		{"slow", fault.Fault{Chunk: 5, Pause: time.Microsecond}, 200, text, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startServer(t, fault.Rule{Fault: tt.fault})
			resp, body, err := send(t, s, "/step?q=1", "hello")
			if (err != nil) != (tt.err != nil) || tt.err != nil && !tt.err(err) {
				t.Errorf("error %v", err)
			}
			status := 0
			if resp != nil {
				status = resp.StatusCode
			}
			if status != tt.status || body != tt.body {
				t.Errorf("%d %q, want %d %q", status, body, tt.status, tt.body)
			}
			if n := s.handled.Load(); n != tt.handled {
				t.Errorf("handled %d times, want %d", n, tt.handled)
			}
			if got := s.received.Load(); got != 5*tt.handled {
				t.Errorf("the server got %d bytes", got)
			}
			if tt.fault.Redirect != "" && resp.Header.Get("Location") != "http://elsewhere.test/step?q=1" {
				t.Errorf("to %s", resp.Header.Get("Location"))
			}
			// Another request is not touched.
			if _, body, err := send(t, s, "/step", ""); err != nil || body != text {
				t.Errorf("the next one: %q %v", body, err)
			}
			log := s.faults.Log()
			if e := log[0]; e.Method != "POST" || e.Step != "step" || e.Path != "/step" || e.Query != "q=1" || e.Status != tt.status || e.Out != int64(len(tt.body)) || e.ContentLength != 5 {
				t.Errorf("log %+v", e)
			}
		})
	}
}

func TestStallWithinAnswer(t *testing.T) {
	s := startServer(t, fault.Rule{Fault: fault.Fault{Stall: true, Handled: true, Bytes: 3}})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	resp := given.Value(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	got := make([]byte, 3)
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != text[:3] {
		t.Errorf("%q %v", got, err)
	}
	// Closing the injector ends the stall.
	s.faults.Close()
	if rest, err := io.ReadAll(resp.Body); err == nil || len(rest) > 0 {
		t.Errorf("then %q %v", rest, err)
	}
}

func TestClock(t *testing.T) {
	f := fault.Fault{Status: 429, Epoch: map[string]time.Duration{"X-Reset": 10 * time.Second}}
	s := startServer(t, fault.Rule{Times: fault.Always, Fault: fault.Fault{Skew: time.Hour}}, fault.Rule{Nth: 2, Fault: f})
	later := time.Now().Add(time.Hour)
	near := func(what string, got time.Time, distance time.Duration) {
		t.Helper()
		if d := got.Sub(later.Add(distance)); d < -2*time.Second || d > 5*time.Second {
			t.Errorf("%s is %v off", what, d)
		}
	}
	for n, name := range []string{"X-Now", "X-Reset"} {
		resp, _, err := send(t, s, "/", "")
		given.NoError(t, err)
		date := given.Value(http.ParseTime(resp.Header.Get("Date")))(t)
		near("Date", date, 0)
		seconds := given.Value(strconv.ParseInt(resp.Header.Get(name), 10, 64))(t)
		near(name, time.Unix(seconds, 0), []time.Duration{0, 10 * time.Second}[n])
	}
}

func TestRules(t *testing.T) {
	const struck = http.StatusTeapot
	f := fault.Fault{Status: struck}
	for _, tt := range []struct {
		name string
		rule fault.Rule
		want []int
	}{
		{"first", fault.Rule{}, []int{1, 0, 0, 0}},
		{"second", fault.Rule{Nth: 2}, []int{0, 1, 0, 0}},
		{"second and third", fault.Rule{Nth: 2, Times: 2}, []int{0, 1, 1, 0}},
		{"all from the third", fault.Rule{Nth: 3, Times: fault.Always}, []int{0, 0, 1, 1}},
		{"step", fault.Rule{Step: "even", Times: fault.Always}, []int{1, 0, 1, 0}},
		{"second of a step", fault.Rule{Step: "odd", Nth: 2}, []int{0, 0, 0, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.rule.Fault = f
			s := startServer(t, tt.rule)
			var got []int
			for n := range 4 {
				resp, _, err := send(t, s, []string{"/even", "/odd"}[n%2], "")
				given.NoError(t, err)
				got = append(got, map[bool]int{true: 1}[resp.StatusCode == struck])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("struck %v, want %v", got, tt.want)
			}
		})
	}
}

// TestCredentials is the table of the ways in which secrets come. None of them is
// in the log.
func TestCredentials(t *testing.T) {
	for _, tt := range []struct {
		header, value, query string
		want                 []string
	}{
		{"Authorization", "Bearer s3cret", "", []string{"Bearer"}},
		{"Authorization", "token s3cret", "", []string{"token"}},
		{"Authorization", "Basic czNjcmV0", "", []string{"Basic"}},
		{"Authorization", "s3cret", "", []string{"Authorization"}},
		{"Private-Token", "s3cret", "", []string{"PRIVATE-TOKEN"}},
		{"Job-Token", "s3cret", "", []string{"JOB-TOKEN"}},
		{"Deploy-Token", "s3cret", "", []string{"DEPLOY-TOKEN"}},
		{"X-Nothing", "", "a=b&private_token=s3cret", []string{"?private_token"}},
		{"X-Nothing", "", "a=b&X-Amz-Signature=s3cret", nil},
	} {
		s := startServer(t)
		req, _ := http.NewRequest("GET", s.URL+"?"+tt.query, nil)
		req.Header.Set(tt.header, tt.value)
		resp := given.Value(http.DefaultClient.Do(req))(t)
		resp.Body.Close()
		if e := s.faults.Log()[0]; !slices.Equal(e.Credentials, tt.want) || strings.Contains(e.String(), "s3cret") {
			t.Errorf("%s: %+v", tt.value, e)
		}
	}
}

func TestPeak(t *testing.T) {
	s := startServer(t, fault.Rule{Times: fault.Always, Fault: fault.Fault{Chunk: 4, Pause: 20 * time.Millisecond}})
	done := make(chan error)
	for range 3 {
		go func() {
			resp, err := http.Get(s.URL)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			done <- err
		}()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := s.faults.Peak(); got != 3 {
		t.Errorf("peak %d", got)
	}
}
