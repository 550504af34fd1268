package cli

import (
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Places opens what URLs name.
func (e *Env) Places() *open.Places {
	if e.places == nil {
		e.places = &open.Places{Env: e.LookupEnv, Dir: e.Dir, Base: e.Transport, Tool: "clusterctl-repo/" + e.Version}
		e.places.Policy = e.Policy()
	}
	return e.places
}

// Policy is how the program deals with slow and failing servers.
func (e *Env) Policy() transport.Policy {
	return transport.Policy{
		Timeout: e.timeout, Attempts: e.retries + 1, Sleep: e.Sleep,
		Waiting: func(reason string, wait time.Duration) {
			e.Say("waiting %s because of %s", wait.Round(time.Second), reason)
		},
	}
}

// Printable makes a message that may quote a server fit for the terminal. Of
// the control characters only the colours of our own style stay.
func (e *Env) Printable(text string) string {
	if !e.Style.Enabled {
		return e.Places().Printable(text)
	}
	parts := colour().Split(text, -1)
	codes := append(colour().FindAllString(text, -1), "")
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(e.Places().Printable(part) + codes[i])
	}
	return b.String()
}

var colour = phrase.Pattern(`\x1b[A-Z2-7]*\[[0-9;]*m`)
