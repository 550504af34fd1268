package fault

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// Always as Rule.Times makes every match from Nth on suffer.
const Always = -1

// Rule says which requests suffer which fault.
type Rule struct {
	// Step is the name that the server gives to the operation; if it is empty, every
	// request matches.
	Step string

	// Nth is the first of the matching requests that suffers, counted from 1. 0
	// is 1.
	Nth int
	// Times is how many of them suffer from there on. 0 is 1.
	Times int

	Fault Fault
}

// suffers reports whether the nth matching request suffers.
func (r Rule) suffers(nth int) bool {
	first := cmp.Or(r.Nth, 1)
	return nth >= first && (r.Times < 0 || nth < first+cmp.Or(r.Times, 1))
}

// Fault is what happens to a request. Reset, Stall, Status and Redirect put
// something in the place of the server's answer; at most one of them is set. The
// other fields leave it the answer and change it. The zero Fault does nothing.
type Fault struct {
	// Name is for messages and for the log.
	Name string

	// Reset ends the connection with a TCP reset.
	Reset bool
	// Stall sends nothing more until the client leaves or the injector closes.
	Stall bool
	// Status is answered with Header, Epoch and Body.
	Status int
	// Redirect is the start of a URL, for example http://localhost:80; the
	// client is sent there for the same path and query, with Status or 307.
	Redirect string

	// Handled says that the server handles the request before its answer is
	// replaced. Otherwise the server never sees the request.
	Handled bool
	// Bytes is how much still passes before Reset or Stall strike: of the body
	// of the server's answer if Handled, else of the body of the request.
	Bytes int64

	Header map[string]string
	// Epoch adds headers with a moment in seconds since 1970, given as the
	// distance from the server's clock.
	Epoch map[string]time.Duration
	Body  string

	// Twice lets the server handle the request two times; the client gets the
	// second answer.
	Twice bool
	// Shorten takes bytes off the end of the answer's body, and off its
	// Content-Length, so that the client cannot notice.
	Shorten int64
	// Corrupt changes the first byte of the answer's body.
	Corrupt bool
	// Chunk and Pause let the bodies of request and answer trickle: a pause
	// after each chunk.
	Chunk int
	Pause time.Duration
	// Skew is how far the server's clock is ahead: in the Date header, in Epoch
	// and in what the server reads from Now.
	Skew time.Duration
	// Effect is for the server's state.
	Effect Effect
	// Call is run before the request is handled or answered. It is how a test
	// lets someone else act at a step, or ends the client.
	Call func()
}

// replaces reports whether the client gets something else than the server's
// answer.
func (f Fault) replaces() bool {
	return f.Reset || f.Stall || f.Status != 0 || f.Redirect != ""
}

// onlySkews reports whether the fault leaves room for another one.
func (f Fault) onlySkews() bool {
	return f.Skew != 0 && !f.replaces() && !f.Twice && f.Shorten == 0 && !f.Corrupt && f.Chunk == 0 && f.Effect == "" && f.Call == nil
}

// Effect is a fault in the state of the server. The server says which ones it
// honours.
type Effect string

const (
	// Starter leaves an upload unfinished under its name and answers 502.
	Starter Effect = "starter"
	// WrongDigest stores other bytes than those that came, of the same size.
	WrongDigest Effect = "wrong digest"
	// ExpireToken lets the token of the request expire, before it is looked at.
	ExpireToken Effect = "expire token"
)

// Common returns the faults that make sense for every request to every server.
// Waits are short; a client that honours Retry-After need not wait at all.
func Common() []Fault {
	faults := []Fault{
		{Name: "reset before", Reset: true},
		{Name: "reset after", Reset: true, Handled: true},
		{Name: "reset within request", Reset: true, Bytes: 1},
		{Name: "reset within answer", Reset: true, Handled: true, Bytes: 1},
		{Name: "slow", Chunk: 4096, Pause: time.Millisecond},
		{Name: "clock an hour ahead", Skew: time.Hour},
		{Name: "clock an hour behind", Skew: -time.Hour},
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable} {
		faults = append(faults,
			Fault{Name: http.StatusText(status) + " before", Status: status},
			Fault{Name: http.StatusText(status) + " after", Status: status, Handled: true},
		)
	}
	return faults
}

// Stalls returns the faults that only end when the client loses patience, for
// clients whose patience a test can set.
func Stalls() []Fault {
	return []Fault{
		{Name: "stall before", Stall: true},
		{Name: "stall after", Stall: true, Handled: true},
		{Name: "stall within answer", Stall: true, Handled: true, Bytes: 1},
	}
}

// Random returns n rules, each with one of the faults at one of the steps, on one
// of the first three requests there. The same source gives the same rules.
func Random(source *rand.Rand, n int, steps []string, faults []Fault) []Rule {
	rules := make([]Rule, 0, n)
	for range n {
		rules = append(rules, Rule{
			Step:  steps[source.IntN(len(steps))],
			Nth:   1 + source.IntN(3),
			Times: 1 + source.IntN(2),
			Fault: faults[source.IntN(len(faults))],
		})
	}
	return rules
}

type contextKey struct{}

// with returns a context that carries the skew and the effect of a fault.
func with(ctx context.Context, f Fault) context.Context {
	return context.WithValue(ctx, contextKey{}, f)
}

// Now returns the time by the server's clock for the request of that context.
func Now(ctx context.Context) time.Time {
	f, _ := ctx.Value(contextKey{}).(Fault)
	return time.Now().Add(f.Skew)
}

// Has reports whether the request of that context suffers the effect.
func Has(ctx context.Context, e Effect) bool {
	f, _ := ctx.Value(contextKey{}).(Fault)
	return f.Effect == e
}
