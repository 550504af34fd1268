package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/pattern"
)

// site opens a DEST.
func (a *app) site(name string, d *delivery) (publish.Site, error) {
	o := d.Options
	if d.notes != "" {
		data, err := a.readFile(d.notes)
		if err != nil {
			return publish.Site{}, usagef("--notes-file: %w", err)
		}
		o.Notes = string(data)
	}
	site, err := a.places(&d.waiting).Site(name, o)
	return site, usage(err)
}

// destinationAt opens the place of a release on a server, for reading.
func (a *app) destinationAt(l layouts.Location) (publish.Destination, error) {
	dest, err := a.places(nil).Location(l)
	return dest, usage(err)
}

func (a *app) servers() layouts.Servers { return a.places(nil).Servers() }

// places opens what URLs name. The first caller says how long to wait.
func (a *app) places(w *waiting) *open.Places {
	if a.opened == nil {
		a.opened = &open.Places{Env: a.Env, Dir: a.Dir, Base: a.Transport, Tool: "clusterctl-repo/" + programVersion()}
		a.opened.Policy = a.policy()
	}
	if w != nil {
		a.opened.Policy.MaxWait = w.maxWait
	}
	return a.opened
}

// policy is how long to wait for servers.
func (a *app) policy() transport.Policy {
	return transport.Policy{
		Timeout: a.patience.timeout, Attempts: a.patience.retries + 1, Sleep: a.Sleep,
		Waiting: func(reason string, wait time.Duration) {
			a.say("waiting %s because of %s", wait.Round(time.Second), reason)
		},
	}
}

// patience is how the program deals with slow and failing servers.
type patience struct {
	timeout time.Duration
	retries int
}

func (p *patience) flags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.DurationVar(&p.timeout, "timeout", time.Minute, "how long a server may make no progress before a request counts as failed")
	f.IntVar(&p.retries, "retries", 4, "how often to repeat a failed request; pauses double from 0.5s to 32s, so 12 outlast five minutes")
}

func (p *patience) check() error {
	if p.timeout <= 0 || p.retries < 0 {
		return errors.New("--timeout must be positive, and --retries not negative")
	}
	return nil
}

// waiting is the flag that says how long to obey rate limits.
type waiting struct{ maxWait time.Duration }

// printable makes a message that may quote a server fit for the terminal. Of
// the control characters only the colours of our own style stay.
func (a *app) printable(text string) string {
	if !a.style.Enabled {
		return a.places(nil).Printable(text)
	}
	parts := colour().Split(text, -1)
	codes := append(colour().FindAllString(text, -1), "")
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(a.places(nil).Printable(part) + codes[i])
	}
	return b.String()
}

var colour = pattern.New(`\x1b[A-Z2-7]*\[[0-9;]*m`)

func isURL(name string) bool { return open.IsURL(name) }

func withoutSecret(raw string) error { return usage(open.WithoutSecret(raw)) }
