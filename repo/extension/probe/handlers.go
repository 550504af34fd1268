package probe

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// handler is one under check.
type handler struct {
	*probe
	place
	hook    *extension.Hook
	timeout time.Duration
	// request is the complete one, first what came of it, and answer that, decoded.
	request []byte
	first   reply
	answer  extension.Response
}

// handlers calls all handlers that may be called, at first those whose variables the
// requests to others have.
func (p *probe) handlers(ctx context.Context, found *extension.DiscoveryResponse) {
	bad := map[int]bool{} // have no path that could be called
	for _, problem := range found.Problems(p.o.Core) {
		if problem.Fault != extension.BadTimeout && problem.Fault != extension.BadPolicy {
			bad[problem.Handler] = true
		}
	}
	for _, defining := range []bool{true, false} {
		for i := range found.Handlers {
			h := &found.Handlers[i]
			hook := extension.Find(h.RequestHook.Hook)
			if bad[i] || hook.IsDiscovery() || slices.Contains(p.o.Skip, h.Name) || defining != (hook.Name == "DiscoverVariables") {
				continue
			} else if hook.Level > p.o.Level {
				p.above++
				continue
			}
			timeout := time.Duration(h.Timeout()) * time.Second
			(&handler{probe: p, place: place{hook.Name, h.Name}, hook: hook, timeout: timeout}).check(ctx)
		}
	}
}

func (h *handler) send(ctx context.Context, body []byte) reply {
	return h.client.do(ctx, h.hook.Path(h.handler), body, h.timeout)
}

// check calls the handler with a complete request, twice, and then with one of each other
// shape, in the end one that cannot be read.
func (h *handler) check(ctx context.Context) {
	h.request = extension.RequestJSON(h.maker.Make(h.hook))
	h.first = h.send(ctx, h.request)
	if ctx.Err() != nil {
		return
	}
	h.record(h.place, h.request, h.first)
	if !h.first.ok() {
		h.add("LIV020", h.place, "%s", h.first.String())
		return
	}
	var ok bool
	if h.answer, ok = h.decode(h.first.body); !ok {
		return
	}
	h.strict(h.place, h.hook, h.first, h.answer)
	if !h.semantics() {
		return
	}
	if h.again(ctx) && h.answer.Common().Status == extension.Success {
		if special := specials[h.hook.Name]; special != nil {
			special(h)
		}
		h.cases(ctx)
	}
	h.malformed(ctx)
}

// decode reads an answer, and reports why it cannot be read with the check of the
// field.
func (h *handler) decode(body []byte) (extension.Response, bool) {
	answer, err := h.hook.Decode(body)
	if err == nil {
		return answer, true
	}
	id, field := "LIV020", extension.Misfit(err)
	var encoding base64.CorruptInputError
	switch {
	case field == "retryAfterSeconds":
		id = "LIV024"
	case field == "status":
		id = "LIV021"
	case errors.As(err, &encoding) || strings.HasSuffix(strings.ToLower(strings.TrimSuffix(field, "Type")), "patch"):
		id = "LIV030"
		if h.hook.Name != "GeneratePatches" {
			id = "LIV042"
		}
	}
	h.add(id, h.place, "the answer%s cannot be read: %s", excerpt(body), extension.Explain(err))
	return nil, false
}

// strict reports what Cluster API does not look at, if it is not what it should be. Servers of
// the SDK of Cluster API leave out kind and apiVersion, and say that their answers are plain text.
func (p *probe) strict(w place, hook *extension.Hook, r reply, answer extension.Response) {
	if field := hook.UnknownField(r.body); field != "" {
		p.add("LIV063", w, "the answer has the field %s, which %sResponse does not have", field, hook.Name)
	}
	c, form := answer.Common(), r.form
	if form == "text/plain" || strings.HasSuffix(form, "json") {
		form = ""
	}
	for _, part := range [...]struct{ name, have, want string }{
		{"kind", c.Kind, hook.Name + "Response"}, {"apiVersion", c.APIVersion, extension.APIVersion}, {"Content-Type", form, "application/json"},
	} {
		if part.have != "" && part.have != part.want {
			p.as(lint.Warning, "LIV063", w, "the %s of the answer is %s; want %s", part.name, part.have, part.want)
		}
	}
}

// longestMessage is what a condition of a Cluster holds, in bytes.
const longestMessage = 32768

// semantics judges what all answers have. It reports whether Cluster API can use
// the answer.
func (h *handler) semantics() bool {
	c := h.answer.Common()
	switch c.Status {
	case "":
		h.add("LIV021", h.place, "the answer has no status; want %s or %s", extension.Success, extension.Failure)
		return false
	case extension.Success, extension.Failure:
	default:
		h.add("LIV021", h.place, "the status is %q; want %s or %s", c.Status, extension.Success, extension.Failure)
		return false
	}
	failed, blocks := c.Status == extension.Failure, false
	if raw := extension.RetryAfter(h.first.body); raw != nil && strings.Trim(string(raw), `0."`) != "" {
		seconds := string(raw)
		switch r, can := h.answer.(*extension.RetryResponse); {
		case !can:
			h.add("LIV025", h.place, "retryAfterSeconds is %s, but %s does not wait", seconds, h.hook.Name)
		case r.RetryAfterSeconds < 0:
			h.add("LIV024", h.place, "retryAfterSeconds is %s", seconds)
		case failed:
			h.add("LIV025", h.place, "retryAfterSeconds is %s, with the status %s", seconds, extension.Failure)
		case !h.hook.Blocks(h.o.Core):
			h.add("LIV025", h.place, "retryAfterSeconds is %s, but v1.%d of Cluster API does not wait for %s",
				seconds, h.o.Core, h.hook.Name)
		default:
			blocks = true
		}
	}
	switch n := len(strings.TrimSpace(c.Message)); {
	case n > longestMessage && (failed || blocks):
		h.as(lint.Error, "LIV022", h.place,
			"the message has %d bytes, but a condition of the Cluster holds only %d", n, longestMessage)
	case failed && n == 0:
		h.add("LIV022", h.place, "the status is %s, without a message", extension.Failure)
	case failed:
		h.add("LIV023", h.place, "the answer to a complete request is %s: %q", extension.Failure, c.Message)
	case blocks && n == 0:
		h.add("LIV022", h.place, "the handler blocks, without a message")
	}
	return true
}

// outcome is how a call ended: the status of the answer, or what came instead.
func (h *handler) outcome(r reply) (status, message string) {
	if !r.ok() {
		return "", r.String()
	}
	answer, err := h.hook.Decode(r.body)
	if err != nil {
		return "", extension.Explain(err)
	}
	switch c := answer.Common(); c.Status {
	case extension.Success:
		return c.Status, c.Status
	case extension.Failure:
		return c.Status, extension.Failure + ": " + c.Message
	case "":
		return "", "an answer without a status"
	default:
		return "", fmt.Sprintf("the status %q", c.Status)
	}
}

// again sends the request once more, with other uids of its items, which Cluster API makes
// for each call, and reports whether the answer is the same.
func (h *handler) again(ctx context.Context) bool {
	body := bytes.ReplaceAll(h.request, []byte(`"uid":"0000`), []byte(`"uid":"f000`))
	r := h.send(ctx, body)
	if ctx.Err() != nil {
		return false
	}
	h.late(h.place, min(h.first.took, r.took))
	before, first := h.outcome(h.first)
	after, second := h.outcome(r)
	pure := h.hook.Level == extension.Pure
	switch {
	case before != after && pure:
		h.vary("the same request is answered with %s, and then: %s", short(first), short(second))
		return false
	case before != after:
		h.add("LIV045", h.place, "the first answer is %s, a later one %s", first, second)
		return false
	case first != second:
		h.add("LIV046", h.place, "the same error is %q and then %q", first, second)
		return false
	case before == extension.Failure:
		return true
	}
	answer, _ := h.hook.Decode(r.body)
	if one, can := h.answer.(*extension.RetryResponse); can {
		two := answer.(*extension.RetryResponse)
		switch {
		case one.RetryAfterSeconds == 0 && two.RetryAfterSeconds > 0:
			h.add("LIV045", h.place, "after an answer that lets Cluster API continue, retryAfterSeconds is %d",
				two.RetryAfterSeconds)
			return false
		case one.RetryAfterSeconds > 0 && two.RetryAfterSeconds > 0 && one.Message != two.Message:
			h.add("LIV046", h.place, "the reason to wait is %q and then %q", one.Message, two.Message)
		}
	}
	if difference := h.differ(body, answer); pure && difference != "" {
		h.vary("the same request gets a different answer: %s", difference)
		return false
	}
	return true
}

// vary reports answers that differ. What others only should not do changes Clusters, if
// Cluster API makes them from the answer.
func (h *handler) vary(format string, args ...any) {
	severity := lint.Warning
	if h.hook.Needed {
		severity = lint.Error
	}
	h.as(severity, "LIV071", h.place, format, args...)
}

// late reports a hook that needs long.
func (p *probe) late(w place, took time.Duration) {
	if took >= time.Second {
		p.add("LIV060", w, "it needs %s", took.Round(10*time.Millisecond))
	}
}

// unknown is a name that nothing in a request has.
const unknown = "clusterctlRepoProbe"

// cases sends requests of other shapes: with what the handler need not know, which it must
// ignore, and without what may be missing, which it may refuse.
func (h *handler) cases(ctx context.Context) {
	for _, c := range []struct {
		id, what string
		change   func(request map[string]any)
	}{
		{"LIV052", "unknown fields", func(r map[string]any) { extension.Graft(r, unknown, "x") }},
		{"LIV052", "an unknown variable", func(r map[string]any) {
			if list, ok := r["variables"].([]any); ok {
				r["variables"] = append(list, map[string]any{"name": unknown, "value": "x"})
			}
		}},
		{"LIV052", "an unknown setting", func(r map[string]any) {
			settings := map[string]any{unknown: "x"}
			if own, ok := r["settings"].(map[string]any); ok {
				maps.Copy(settings, own)
			}
			r["settings"] = settings
		}},
		{"LIV020", "no settings, and none of the fields that may be missing", func(r map[string]any) {
			delete(r, "settings")
			for _, f := range h.hook.Request {
				if !f.Required {
					delete(r, f.Name)
				}
			}
		}},
	} {
		request := h.maker.Make(h.hook)
		c.change(request)
		body := extension.RequestJSON(request)
		if bytes.Equal(body, h.request) {
			continue
		}
		status, message := h.outcome(h.send(ctx, body))
		if ctx.Err() == nil && status != extension.Success && (status == "" || c.id == "LIV052") {
			h.add(c.id, h.place, "with %s: %s", c.what, message)
		}
	}
}

// malformed sends what is no request.
func (h *handler) malformed(ctx context.Context) {
	const body = "{"
	r := h.send(ctx, []byte(body))
	switch status, _ := h.outcome(r); {
	case ctx.Err() != nil:
	case r.err != nil || r.status >= 500:
		h.add("LIV050", h.place, "for the request %q: %s", body, r.String())
	case status == extension.Success:
		h.add("LIV050", h.place, "for the request %q the status is %s", body, status)
	}
}
