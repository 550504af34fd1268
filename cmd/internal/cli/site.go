package cli

import (
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
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
		a.opened.Policy.Waiting = func(reason string, wait time.Duration) {
			a.say("waiting %s because of %s", wait.Round(time.Second), reason)
		}
	}
	if w != nil {
		w.apply(&a.opened.Policy)
	}
	return a.opened
}

// waiting are the flags that say how patient the program is with servers.
type waiting struct {
	maxWait time.Duration
}

func (w *waiting) apply(p *transport.Policy) { p.MaxWait = w.maxWait }

func isURL(name string) bool { return open.IsURL(name) }

func withoutSecret(raw string) error { return usage(open.WithoutSecret(raw)) }
