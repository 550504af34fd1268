package extension

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Fault says what is wrong with a handler.
type Fault int

// The faults for which Cluster API refuses a discovery as a whole.
const (
	DuplicateName Fault = iota
	BadName
	BadTimeout
	BadPolicy
	BadVersion
	UnknownHook
)

// problem is a fault of a handler.
type problem struct {
	Fault Fault
	// Handler is its index.
	Handler int
	Message string
}

// Problems returns why Cluster API of a minor version refuses the handlers
// (internal/runtime/client, defaultAndValidateDiscoveryResponse). With any of them
// none of the handlers is registered.
func (d *DiscoveryResponse) Problems(core int) []problem {
	var out []problem
	seen := map[string]bool{}
	for i, h := range d.Handlers {
		add := func(f Fault, format string, args ...any) {
			out = append(out, problem{f, i, fmt.Sprintf(format, args...)})
		}
		if seen[h.Name] {
			add(DuplicateName, "the name %q is taken by another handler", h.Name)
		}
		seen[h.Name] = true
		if reasons := validation.IsDNS1123Label(h.Name); len(reasons) > 0 {
			add(BadName, "%q is not a valid name for a handler: %s", h.Name, reasons[0])
		}
		if t := h.TimeoutSeconds; t != nil && (*t < 0 || *t > MaxTimeout) {
			add(BadTimeout, "timeoutSeconds is %d; it must be between 0 and %d", *t, MaxTimeout)
		}
		if p := h.FailurePolicy; p != nil && *p != "Fail" && *p != "Ignore" {
			add(BadPolicy, "failurePolicy is %q; it must be Fail or Ignore", *p)
		}
		known := Find(h.RequestHook.Hook)
		switch {
		case h.RequestHook.APIVersion != APIVersion:
			add(BadVersion, "the apiVersion of its hook is %q instead of %s", h.RequestHook.APIVersion, APIVersion)
		case known == nil:
			add(UnknownHook, "unknown hook %q%s", h.RequestHook.Hook, meant(h.RequestHook.Hook))
		case known.Since > core:
			add(UnknownHook, "the hook %s exists since v1.%d of Cluster API, but not in v1.%d", known.Name, known.Since, core)
		}
	}
	return out
}

// meant names the hook that differs only in its case.
func meant(name string) string {
	if h := phrase.First(hooks[:], func(h *Hook) bool { return strings.EqualFold(h.Name, name) }); h != nil {
		return "; it is written " + h.Name
	}
	return ""
}

// Timeout is how long Cluster API waits for the handler, in seconds.
func (h *Handler) Timeout() int {
	if h.TimeoutSeconds == nil || *h.TimeoutSeconds <= 0 || *h.TimeoutSeconds > MaxTimeout {
		return DefaultTimeout
	}
	return int(*h.TimeoutSeconds)
}
