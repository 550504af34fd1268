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
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// handler is one under check.
type handler struct {
	*probe
	place
	hook    *extension.Hook
	timeout time.Duration
	// ignored says that its failure policy is Ignore.
	ignored bool
	// in is the complete request in the form that the server takes, and first
	// what came of it.
	in    call
	first reply
	// other is in for another Cluster, if the server answers that with 200.
	other call
	// earliest was sent before all checks, without settings, and early came of it.
	earliest call
	early    reply
	// answer is first, decoded, and latest that of the last retry.
	answer extension.Response
	latest *extension.RetryResponse
}

// samples is how often a pure hook is called to measure it, if it is quick.
const (
	samples = 10
	quick   = 50 * time.Millisecond
)

// handlers calls all handlers that may be called. What one hook answers is needed
// for requests to others, so some go first.
func (p *probe) handlers(ctx context.Context, found *extension.DiscoveryResponse) {
	bad := map[int]bool{} // have no path that could be called
	for _, problem := range found.Problems(p.o.Core) {
		if problem.Fault != extension.BadTimeout && problem.Fault != extension.BadPolicy {
			bad[problem.Handler] = true
		}
	}
	waves := map[int][]*handler{}
	for i := range found.Handlers {
		h := &found.Handlers[i]
		hook := extension.Find(h.RequestHook.Hook)
		if bad[i] || hook.IsDiscovery() || hook.Level > p.o.Level || slices.Contains(p.o.Skip, h.Name) {
			continue
		}
		wave := 2
		switch hook.Name {
		case "DiscoverVariables":
			wave = 0
		case "GeneratePatches", "GenerateUpgradePlan":
			wave = 1
		}
		one := &handler{probe: p, place: place{hook.Name, h.Name}, hook: hook, timeout: time.Duration(h.Timeout()) * time.Second}
		bare := one.request(func(r map[string]any) { delete(r, "settings") })
		one.in = call{path: hook.Path(h.Name), body: bare, timeout: one.timeout}
		one.ignored = h.FailurePolicy != nil && *h.FailurePolicy == "Ignore"
		p.limits[one.place] = one.timeout
		waves[wave] = append(waves[wave], one)
	}
	for _, h := range slices.Concat(waves[1], waves[0], waves[2]) {
		if h.hook.Level == extension.Pure {
			h.earliest = h.in
			h.early = h.client.do(ctx, h.in)
		}
	}
	for wave := range 3 {
		p.together(ctx, phrase.List(waves[wave], func(h *handler) func(context.Context) { return h.check })...)
	}
	p.rounds()
	p.conflicts()
}

// rounds reports hooks whose handlers do not agree when to be called again.
func (p *probe) rounds() {
	for hook, answers := range p.retries {
		handlers := slices.Sorted(maps.Keys(answers))
		var list []*extension.RetryResponse
		var wishes []string
		agree := true
		for _, name := range handlers {
			list = append(list, answers[name])
			wishes = append(wishes, fmt.Sprintf("%s %d", name, answers[name].RetryAfterSeconds))
			agree = agree && answers[name].RetryAfterSeconds == list[0].RetryAfterSeconds
		}
		if !agree {
			p.add("LIV070", place{hook: hook},
				"retryAfterSeconds is %s; Cluster API waits for %d seconds and then calls all of them again",
				strings.Join(wishes, ", "), extension.Together(list).RetryAfterSeconds)
		}
	}
}

// request is the complete request, with what change does to it.
func (h *handler) request(change func(map[string]any)) []byte {
	made := h.maker.Make(h.hook)
	if change != nil {
		change(made)
	}
	return extension.RequestJSON(made)
}

// send makes a call with another body, in the form that the server takes.
func (h *handler) send(ctx context.Context, body []byte) reply {
	in := h.in
	in.body = body
	return h.client.do(ctx, in)
}

// insist makes a call until it ends well, a few times: what fails by chance is LIV072.
func (h *handler) insist(ctx context.Context, body []byte, well func(reply) bool) (r reply) {
	for range 8 {
		if r = h.send(ctx, body); well(r) || errors.Is(r.err, errTimeout) || ctx.Err() != nil {
			break
		}
	}
	return r
}

// refusable sends a request that the handler may refuse, if it answers at all.
func (h *handler) refusable(ctx context.Context, what string, body []byte) reply {
	r := h.insist(ctx, body, func(r reply) bool { return h.kind(r) != "" })
	if status, _ := h.outcome(r); h.kind(r) == "" && ctx.Err() == nil {
		h.add("LIV020", h.place, "with %s: %s", what, short(status))
	}
	h.sameRefusal(ctx, r, body)
	if id, fault := h.unfit(r, body); id != "" {
		if known, _ := h.unfit(h.first, h.in.body); known == "" {
			h.add(id, h.place, "with %s: %s", what, fault)
		}
	}
	return r
}

// sameRefusal sends a request that was refused again, with other uids of its items, which
// Cluster API makes for each call: the message must be the same.
func (h *handler) sameRefusal(ctx context.Context, first reply, body []byte) {
	if h.kind(first) == extension.Failure {
		if n := len(h.message(first)); n > longestMessage && !h.found("LIV022") {
			h.as(lint.Error, "LIV022", h.place,
				"the message has %d bytes, but a condition of the Cluster holds only %d", n, longestMessage)
		}
		h.echoes(h.place, h.message(first), nil)
		h.sameError(first, h.send(ctx, bytes.ReplaceAll(body, []byte(`"uid":"0000`), []byte(`"uid":"f000`))))
	}
}

// sameError reports an error whose message differs the second time, and tells whether it is the same.
func (h *handler) sameError(first, again reply) bool {
	a, b := h.message(first), h.message(again)
	if again.err != nil || a == b || first.status != again.status || h.kind(first) != h.kind(again) {
		return true
	}
	if !h.found("LIV046") {
		h.add("LIV046", h.place, "the same error is %q and then %q", a, b)
	}
	return false
}

// check calls the handler in all ways.
func (h *handler) check(ctx context.Context) {
	h.in.body = h.request(nil)
	first := h.client.do(ctx, h.in)
	if ctx.Err() != nil {
		return
	}
	h.record(h.place, h.in, first)
	var ok bool
	consequence := ""
	if h.ignored {
		consequence = "; with the failure policy Ignore, Cluster API continues as if it had succeeded"
	}
	if h.first, h.in, ok = h.reached(ctx, h.place, h.in, first, "LIV020", consequence); !ok {
		return
	}
	if h.hook.Level != extension.Pure { // see sample
		h.measure(h.place, h.first)
	}
	if h.answer, ok = h.decode(h.first.body); !ok {
		return
	}
	h.strict(h.place, h.hook, h.answer, h.first.body)
	h.echoes(h.place, h.answer.Common().Message, h.in.body)
	if !h.semantics(h.answer, h.first.body) {
		return
	}
	h.sameRefusal(ctx, h.first, h.in.body)
	if r, can := h.answer.(*extension.RetryResponse); can && h.succeeded() && h.hook.Blocks(h.o.Core) &&
		!h.hook.Single {
		h.keep(r)
	}
	work := []func(context.Context){h.robust}
	if h.succeeded() {
		work = append(work, h.tolerant)
		if special := specials[h.hook.Name]; special != nil {
			work = append(work, func(ctx context.Context) { special(h, ctx) })
		}
	}
	if h.hook.Level == extension.All {
		work = append(work, h.twice)
	}
	h.together(ctx, work...)
	switch h.hook.Level {
	case extension.Pure:
		h.unsteady(ctx)
		h.mu.Lock()
		h.pure = append(h.pure, h)
		h.mu.Unlock()
	case extension.All:
		h.follow(ctx)
	}
}

func (h *handler) succeeded() bool { return h.answer.Common().Status == extension.Success }

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
	case h.hook.Name == "UpdateMachine" && (field == "retryAfterSeconds" || field == "status"):
		id = "LIV044"
	case field == "retryAfterSeconds":
		id = "LIV024"
	case field == "status":
		id = "LIV021"
	case errors.As(err, &encoding) || strings.HasSuffix(field, "patch") || strings.HasSuffix(field, "Patch"):
		id = "LIV030"
		if h.hook.Name != "GeneratePatches" {
			id = "LIV042"
		}
	case strings.HasSuffix(field, "patchType"):
		id = "LIV029"
	}
	h.add(id, h.place, "the answer%s cannot be read: %s", excerpt(body), extension.Explain(err))
	return nil, false
}

// waits reports whether an answer asks to wait.
func waits(body []byte) bool {
	raw := extension.RetryAfter(body)
	return raw != nil && strings.Trim(string(raw), `0."`) != ""
}

// strict reports what Cluster API does not look at.
func (p *probe) strict(w place, hook *extension.Hook, answer extension.Response, body []byte) {
	if field := hook.UnknownField(body); field != "" {
		p.add("LIV063", w, "the answer has the field %s, which %sResponse does not have", field, hook.Name)
	}
	c := answer.Common()
	if c.Kind != "" && c.Kind != hook.Name+"Response" {
		p.add("LIV064", w, "the kind of the answer is %q instead of %sResponse", c.Kind, hook.Name)
	}
	if c.APIVersion != "" && c.APIVersion != extension.APIVersion {
		p.add("LIV064", w, "the apiVersion of the answer is %q instead of %s", c.APIVersion, extension.APIVersion)
	}
}

// semantics judges what all answers have. It reports whether Cluster API can use
// the answer.
func (h *handler) semantics(answer extension.Response, body []byte) bool {
	c := answer.Common()
	usable := true
	status, retry := "LIV021", "LIV024"
	if h.hook.Name == "UpdateMachine" {
		status, retry = "LIV044", "LIV044"
	}
	switch {
	case c.Status == extension.Failure && c.Message == "":
		h.add("LIV022", h.place, "the status is %s, without a message", extension.Failure)
	case c.Status == extension.Failure:
		h.add("LIV023", h.place, "the answer to a complete request is %s: %q", extension.Failure, c.Message)
	case c.Status == "":
		h.add(status, h.place, "the answer has no status; want %s or %s", extension.Success, extension.Failure)
		usable = false
	case c.Status != extension.Success:
		h.add(status, h.place, "the status is %q; want %s or %s", c.Status, extension.Success, extension.Failure)
		usable = false
	}
	if !waits(body) {
		return usable
	}
	seconds := extension.RetryAfter(body)
	switch r, can := answer.(*extension.RetryResponse); {
	case !can:
		h.add("LIV025", h.place, "retryAfterSeconds is %s, but %s does not wait", seconds, h.hook.Name)
	case r.RetryAfterSeconds < 0:
		h.add(retry, h.place, "retryAfterSeconds is %s", seconds)
	case c.Status == extension.Failure:
		h.add("LIV027", h.place, "retryAfterSeconds is %s, with the status %s", seconds, extension.Failure)
	case !h.hook.Blocks(h.o.Core):
		h.add("LIV026", h.place,
			"retryAfterSeconds is %s, but v1.%d of Cluster API does not wait for %s", seconds, h.o.Core, h.hook.Name)
	case usable:
		h.blocking(r)
	}
	return usable
}

// keep remembers when the handler wants to be called again.
func (h *handler) keep(r *extension.RetryResponse) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.retries[h.hook.Name] == nil {
		h.retries[h.hook.Name] = map[string]*extension.RetryResponse{}
	}
	h.retries[h.hook.Name][h.place.handler] = r
}

// outcome is how a call ended: the status of the answer, or what came instead.
func (h *handler) outcome(r reply) (status string, ok bool) {
	if !r.ok() {
		return r.String(), false
	}
	answer, err := h.hook.Decode(r.body)
	if err != nil {
		return extension.Explain(err), false
	}
	switch c := answer.Common(); c.Status {
	case extension.Failure:
		return extension.Failure + ": " + c.Message, false
	case extension.Success:
		return extension.Success, true
	case "":
		return "an answer without a status", false
	default:
		return fmt.Sprintf("the status %q", c.Status), false
	}
}

// unknown is a field that no request has.
const unknown = "clusterctlRepoProbe"

// tolerant sends what the handler need not know.
func (h *handler) tolerant(ctx context.Context) {
	var work []func(context.Context)
	succeeds := func(id, what string, request map[string]any) {
		body := extension.RequestJSON(request)
		if bytes.Equal(body, h.in.body) {
			return
		}
		work = append(work, func(ctx context.Context) {
			r := h.send(ctx, body)
			if status, ok := h.outcome(r); !ok {
				if again, ok := h.outcome(h.send(ctx, h.in.body)); ok && ctx.Err() == nil {
					h.add(id, h.place, "with %s: %s", what, status)
				} else if h.hook.Level == extension.All {
					h.repeated(ctx, again)
				}
			}
			h.echoes(h.place, h.message(r), nil)
		})
	}
	for _, part := range extension.Open {
		request := h.maker.Make(h.hook)
		extension.Graft(request, part.Paths, unknown, marker)
		succeeds("LIV052", "an unknown field"+part.What, request)
	}
	request := h.maker.Make(h.hook)
	settings, _ := request["settings"].(map[string]any)
	request["settings"] = map[string]any{"clusterctl-repo-probe": marker}
	maps.Copy(request["settings"].(map[string]any), settings)
	succeeds("LIV056", "an unknown setting", request)
	variants := extension.Variants[:]
	if len(h.hook.Request) == 0 { // nothing of the Cluster is in it, and its handlers change the maker meanwhile
		variants = nil
	}
	for _, v := range variants {
		if body := extension.RequestJSON(h.maker.For(v).Make(h.hook)); !bytes.Equal(body, h.in.body) &&
			(h.hook.Level == extension.Pure || !v.Other) {
			work = append(work, func(ctx context.Context) { h.refusable(ctx, v.What, body) })
		}
	}
	h.mu.Lock()
	plan := h.planned
	h.mu.Unlock()
	for _, t := range extension.Turns {
		if body := h.request(func(r map[string]any) { t.Take(r, plan) }); !bytes.Equal(body, h.in.body) {
			work = append(work, func(ctx context.Context) {
				r := h.refusable(ctx, t.What, body)
				if t.Steps && plan != nil && h.kind(r) == extension.Failure {
					h.add("LIV023", h.place, "the answer to the first step of the extension's own plan is %s: %q",
						extension.Failure, short(h.message(r)))
				}
			})
		}
	}
	h.together(ctx, work...)
	if len(h.o.Settings) == 0 {
		return
	}
	r := h.send(ctx, h.request(func(r map[string]any) { delete(r, "settings") }))
	if r.broken() && ctx.Err() == nil {
		h.add("LIV057", h.place, "without settings: %s", r.String())
	}
}

// malformed are bodies that are not requests.
var malformed = [...]string{"", "{", "7", "[]"}

// robust sends what is no request for the handler.
func (h *handler) robust(ctx context.Context) {
	first, ok := h.breaks(ctx, h.place, h.hook, h.in)
	if !ok {
		return
	}
	body := slices.Concat(bytes.TrimSuffix(bytes.TrimSpace(h.in.body), []byte("}")), []byte(`,"`+unknown+`":"`+marker+`",}`))
	if r := h.send(ctx, body); r.err == nil && ctx.Err() == nil {
		h.echoes(h.place, h.message(r), body)
	}
	for i, body := range malformed {
		if !h.sameError(first[i], h.send(ctx, []byte(body))) {
			return
		}
	}
}

// message is what an answer says of an error.
func (h *handler) message(r reply) string {
	if answer, err := h.hook.Decode(r.body); err == nil {
		return answer.Common().Message
	}
	return string(r.body)
}

// breaks sends malformed requests, one of another kind, and GET. It returns the
// answers to the malformed requests, if nothing broke before.
func (p *probe) breaks(ctx context.Context, w place, hook *extension.Hook, in call) (answers []reply, ok bool) {
	// The work of discovery is done without looking at the request.
	for _, body := range malformed {
		c := in
		c.body = []byte(body)
		r := p.client.do(ctx, c)
		if ctx.Err() != nil {
			return nil, false
		}
		answers = append(answers, r)
		answer, err := hook.Decode(r.body)
		switch {
		case r.broken():
			p.add("LIV050", w, "for the request %q: %s", body, r.String())
			return nil, false
		case r.ok() && err == nil && answer.Common().Status == extension.Success:
			p.add("LIV050", w, "for the request %q the status is %s", body, extension.Success)
			return nil, false
		}
	}
	c := in
	c.body = []byte(strings.Replace(string(in.body), hook.Name+"Request", "Other", 1))
	if r := p.client.do(ctx, c); r.broken() && ctx.Err() == nil {
		p.add("LIV051", w, "for a request of the kind Other: %s", r.String())
	}
	c = in
	c.method, c.body = "GET", nil
	r := p.client.do(ctx, c)
	if answer, err := hook.Decode(r.body); r.ok() && err == nil && answer.Common().Status == extension.Success {
		p.add("LIV058", w, "for GET the status is %s", extension.Success)
	}
	return answers, true
}

// twice calls a hook that acts again.
func (h *handler) twice(ctx context.Context) {
	r := h.send(ctx, h.in.body)
	h.late(h.place, min(h.first.took, r.took))
	again, ok := h.outcome(r)
	if first, _ := h.outcome(h.first); again != first {
		h.repeated(ctx, again)
		return
	}
	if ok {
		h.later(r)
		second, _ := h.hook.Decode(r.body)
		h.resumes(h.answer, second)
	}
}

// repeated reports a call that ends in another way than the first.
func (h *handler) repeated(ctx context.Context, again string) {
	if first, _ := h.outcome(h.first); ctx.Err() == nil && !h.found("LIV045") {
		h.add("LIV045", h.place, "the first answer is %s, a later one %s", first, again)
	}
}

// resumes reports a handler that lets Cluster API continue and then blocks.
func (h *handler) resumes(first, second extension.Response) {
	before, can := first.(*extension.RetryResponse)
	if !can || before.RetryAfterSeconds != 0 {
		return
	}
	if seconds := second.(*extension.RetryResponse).RetryAfterSeconds; seconds > 0 {
		h.add("LIV045", h.place, "after an answer that lets Cluster API continue, retryAfterSeconds is %d", seconds)
	}
}

// late reports a hook that is not pure, and needs long in the best case.
func (p *probe) late(w place, took time.Duration) {
	if took >= time.Second {
		p.note("LIV060", w, "it needs %s", took.Round(10*time.Millisecond))
	}
}

// sample measures the pure hooks, one call after the other: under the load of the other
// checks each call waits for others.
func (p *probe) sample(ctx context.Context) {
	p.late(place{hook: p.discoveryHook.Name}, min(p.took, p.client.do(ctx, p.in).took))
	for _, h := range p.pure {
		for i := range samples {
			r := p.client.do(ctx, h.in)
			if ctx.Err() != nil {
				return
			}
			if r.ok() {
				p.measure(h.place, r)
			}
			if i > 0 && r.took > quick {
				break
			}
		}
		if len(p.times[h.place]) == 0 {
			continue
		}
		if times := p.summary(h.place); times.P95 >= time.Second {
			p.add("LIV060", h.place, "it needs %s (95 of 100 calls)", times.P95.Round(10*time.Millisecond))
		}
	}
}
