package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Rarity and Chance are the defaults of the options of the same names.
const (
	Rarity = 12
	Chance = 0.9999
)

// repetitions is how many calls it takes to see a fault that one call of some has,
// with a given chance. Calls are taken to be independent of each other.
func repetitions(rarity int, chance float64) int {
	if rarity <= 1 {
		return 1
	}
	chance = min(max(chance, 0.5), 0.999999)
	return int(math.Ceil(math.Log(1-chance) / math.Log(1-1/float64(rarity))))
}

// Budgets of time for each handler. What does not fit in is left out, and the
// report says so.
const (
	repeatBudget = 15 * time.Second
	// RetryBudget is how long retries are followed if the options do not tell.
	RetryBudget = 25 * time.Second
)

// together4 is how many repeated calls are under way at once.
const together4 = 4

// repeat makes calls one after the other and at once, with pauses of different
// lengths, and hands out the answers one by one, until all are made, the budget is
// used up, or done says that enough was seen.
func (p *probe) repeat(ctx context.Context, w place, in call, done func(reply) bool) {
	n := p.repetitions()
	limited, cancel := context.WithTimeout(ctx, repeatBudget)
	defer cancel()
	var (
		mu      sync.Mutex
		enough  bool
		made    int
		workers sync.WaitGroup
		calls   atomic.Int64
	)
	one := func() bool {
		client := p.client
		if calls.Add(1)%2 == 0 && p.older != nil {
			client = p.older
		}
		r := client.do(limited, in)
		if limited.Err() != nil {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		made++
		enough = enough || done(r)
		return !enough
	}
	// Some in a row, because state may build up; the rest at once.
	for range min(n/4, 16) {
		if !one() {
			break
		}
		time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
	}
	mu.Lock()
	left := n - made
	mu.Unlock()
	for i := range together4 {
		workers.Go(func() {
			for k := i; k < left; k += together4 {
				mu.Lock()
				stop := enough
				mu.Unlock()
				if stop || limited.Err() != nil || !one() {
					return
				}
				if k%8 == i {
					time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
				}
			}
		})
	}
	workers.Wait()
	if !enough && made < n && ctx.Err() == nil {
		p.short(w, made)
	}
}

func (p *probe) repetitions() int { return repetitions(p.o.Rarity, p.o.Chance) }

// short remembers that a handler was called less often than it takes.
func (p *probe) short(w place, made int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fewer = append(p.fewer, fmt.Sprintf("%s was only called %d times", strings.TrimSpace(w.hook+" "+w.handler), made))
}

// scope says what was checked.
func (p *probe) scope(handlers int) string {
	what := fmt.Sprintf("%d handlers of %s", handlers, p.o.URL)
	if handlers == 1 {
		what = fmt.Sprintf("1 handler of %s", p.o.URL)
	}
	if len(p.fewer) == 0 {
		return what
	}
	slices.Sort(p.fewer)
	return fmt.Sprintf("%s (too slow to repeat calls %d times, which is needed to see a fault of 1 call in %d with a chance of %v %%: %s)",
		what, p.repetitions(), p.o.Rarity, 100*p.o.Chance, strings.Join(p.fewer, ", "))
}

// unsteady calls a pure hook again and again and compares the answers with the
// first one.
func (h *handler) unsteady(ctx context.Context) {
	if h.older != nil {
		r := h.older.do(ctx, h.in)
		if status, _ := h.outcome(r); (!r.ok() || h.kind(r) != h.kind(h.first)) &&
			ctx.Err() == nil && h.older.alike(ctx, h, r) && !h.client.alike(ctx, h, r) {
			h.add("LIV055", h.place, "in HTTP/1.1: %s", short(status))
			return
		}
	}
	h.repeat(ctx, h.place, h.in, h.strays)
}

// unsteady are the checks of answers that differ.
var unsteady = []string{"LIV035", "LIV036", "LIV039", "LIV071", "LIV072"}

// strays reports an answer to the complete request that is another one than the first,
// once, and whether there was one.
func (h *handler) strays(r reply) bool {
	if h.found("LIV035", "LIV039", "LIV071", "LIV072") {
		return true
	}
	if r.tooLarge {
		h.add("LIV061", h.place, "a repeated call: %s", r.String())
		return true
	}
	if !r.ok() || h.kind(r) != h.kind(h.first) {
		first, _ := h.outcome(h.first)
		status, _ := h.outcome(r)
		h.add("LIV072", h.place, "the same request is answered with %s, and then: %s", short(first), short(status))
		return true
	}
	difference := h.differ(h.in.body, h.first, r)
	if difference == "" {
		return false
	}
	id := "LIV071"
	switch h.hook.Name {
	case "GeneratePatches":
		id = "LIV035"
	case "DiscoverVariables":
		id = "LIV039"
	}
	h.add(id, h.place, "the same request gets a different answer: %s", difference)
	return true
}

// found tells whether one of some checks has found something at the handler.
func (h *handler) found(ids ...string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return h.reported(id, h.place) })
}

// alike reports whether a call of this client ends as another one did.
func (c *client) alike(ctx context.Context, h *handler, r reply) bool {
	again := c.do(ctx, h.in)
	return again.ok() == r.ok() && h.kind(again) == h.kind(r)
}

// kind is the status of an answer, or that there is none.
func (h *handler) kind(r reply) string {
	answer, err := h.hook.Decode(r.body)
	if !r.ok() || err != nil {
		return ""
	}
	return answer.Common().Status
}

// mostText is how much of a text of the server a message has, in characters.
const mostText = 200

// short cuts a text that is only a part of a message.
func short(s string) string { return cut(s, 80) }

func cut(s string, most int) string {
	s = s[:min(len(s), 4*(most+1))] // a character has four bytes at most
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// differ says in which way an answer to a request is another one than the first, which can
// be read, apart from its message. It is empty if it is not.
func (h *handler) differ(request []byte, before, r reply) string {
	if bytes.Equal(r.body, before.body) {
		return "" // most are; to apply large patches each time takes long
	}
	answer, err := h.hook.Decode(r.body)
	if err != nil {
		return extension.Explain(err)
	}
	decoded, _ := h.hook.Decode(before.body)
	switch first := decoded.(type) {
	case *extension.VariablesResponse:
		a, b := canonical(first.Variables), canonical(answer.(*extension.VariablesResponse).Variables)
		if !slices.Equal(a, b) {
			return short(difference(a, b))
		}
		return ""
	case *extension.PatchesResponse:
		items := itemsOf(request)
		before, _ := h.after(items, first, nil)
		after, _ := h.after(items, answer.(*extension.PatchesResponse), nil)
		for _, i := range items {
			if paths, err := extension.Changed(before[i.UID], after[i.UID]); err != nil || len(paths) > 0 {
				return describe(items, i.UID)
			}
		}
		return ""
	case *extension.MachineResponse, *extension.MachineSetResponse:
		var sent struct{ Current map[string]json.RawMessage }
		_ = json.Unmarshal(request, &sent) // our own
		before, after := updated(sent.Current, decoded), updated(sent.Current, answer)
		for _, of := range slices.Sorted(maps.Keys(before)) {
			if len(changes(before[of], after[of])) > 0 {
				return of + "Patch"
			}
		}
		return ""
	}
	if !bytes.Equal(payload(before.body), payload(r.body)) {
		return excerpt(r.body)[len(" with "):]
	}
	return ""
}

// updated are the objects of an update in place after the patches that apply.
func updated(objects map[string]json.RawMessage, r extension.Response) map[string]json.RawMessage {
	out := maps.Clone(objects)
	for _, p := range inPlacePatches(r) {
		if after, err := p.Apply(out[p.of]); err == nil {
			out[p.of] = after
		}
	}
	return out
}

// payload is an answer without its message, with the fields in a fixed order.
func payload(body []byte) []byte {
	var v map[string]any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	delete(v, "message")
	text, err := json.Marshal(v)
	if err != nil {
		return body
	}
	return text
}

// Limits of retryAfterSeconds that makes sense.
const longestRetry = 24 * 60 * 60

// longestMessage is what a condition of a Cluster holds.
const longestMessage = 32768

// blocking judges an answer that makes Cluster API wait.
func (h *handler) blocking(r *extension.RetryResponse) {
	switch n := len(r.Message); {
	case n == 0:
		h.add("LIV073", h.place, "retryAfterSeconds is %d, without a message", r.RetryAfterSeconds)
	case n > longestMessage:
		h.as(lint.Error, "LIV073", h.place,
			"the message has %d bytes, but a condition of the Cluster holds only %d", n, longestMessage)
	}
	if r.RetryAfterSeconds > longestRetry {
		h.add("LIV074", h.place,
			"retryAfterSeconds is %d, which is %d days", r.RetryAfterSeconds, r.RetryAfterSeconds/longestRetry)
	}
}

// later judges an answer to another call, unless the same was found before.
func (h *handler) later(r reply) {
	if answer, err := h.hook.Decode(r.body); err == nil && !h.found("LIV024", "LIV025", "LIV026", "LIV044", "LIV073", "LIV074") {
		h.semantics(answer, r.body)
	}
}

// leastRounds is how often a hook must have been called when it wanted to be,
// before it is taken to block forever.
const leastRounds = 3

// follow calls a hook that makes Cluster API wait until it does no longer: early,
// as other extensions may cause it, when it is due, and late.
func (h *handler) follow(ctx context.Context) {
	r, can := h.answer.(*extension.RetryResponse)
	if !can || !h.succeeded() || r.RetryAfterSeconds <= 0 ||
		!h.hook.Blocks(h.o.Core) && h.hook.Name != "UpdateMachine" {
		return
	}
	budget := h.o.RetryBudget
	if budget < 0 {
		return
	}
	start, due := time.Now(), 0
	// A few early calls: another extension may have been shorter. Nothing has changed meanwhile.
	told := map[string]bool{}
	for range 3 {
		if !h.again(ctx, "before retryAfterSeconds are over") {
			return
		}
		if h.latest.RetryAfterSeconds > 0 {
			told[h.latest.Message] = true
		}
	}
	if len(told) == 3 && !h.found("LIV046") {
		h.add("LIV046", h.place, "each call gets another message, last %q", short(h.latest.Message))
	}
	for round := 0; ; round++ {
		wait := time.Duration(r.RetryAfterSeconds) * time.Second
		when := "after retryAfterSeconds"
		if round%3 == 2 {
			wait += wait / 2
			when = "some time after retryAfterSeconds"
		}
		if time.Since(start)+wait > budget {
			break
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		if !h.again(ctx, when) {
			return
		}
		due++
		if r = h.latest; r.RetryAfterSeconds > 0 {
			continue
		}
		if before := h.latest; h.again(ctx, "once more after the work is done") {
			h.resumes(before, h.latest)
		}
		return
	}
	say := h.note // it may have a reason
	if h.hook.Name == "BeforeClusterDelete" {
		say = h.add
	}
	switch spent := time.Since(start).Round(time.Second); {
	case due > 0 && r.RetryAfterSeconds >= 2*h.answer.(*extension.RetryResponse).RetryAfterSeconds:
		say("LIV075", h.place,
			"it still blocks after %s and %d calls that were due, and asks for more time with each: %d s, and now %d s",
			spent, due, h.answer.(*extension.RetryResponse).RetryAfterSeconds, r.RetryAfterSeconds)
	case due >= leastRounds:
		say("LIV075", h.place, "it still blocks after %s and %d calls that were due", spent, due)
	default:
		h.note("LIV075", h.place, "whether it stops blocking is not known: it was called only %d times when it was due, because it asks to wait for %d s; raise --retry-budget",
			due, r.RetryAfterSeconds)
	}
}

// again calls the hook once more and reports whether it may continue.
func (h *handler) again(ctx context.Context, when string) bool {
	r := h.send(ctx, h.in.body)
	if ctx.Err() != nil {
		return false
	}
	status, ok := h.outcome(r)
	if !ok {
		h.add("LIV076", h.place, "called %s, the answer is: %s", when, short(status))
		return false
	}
	h.later(r)
	answer, _ := h.hook.Decode(r.body)
	h.latest = answer.(*extension.RetryResponse)
	return true
}

// marker is what requests hold that must not come back.
const marker = "clusterctl-repo-marker-5b1d7c02e94f"

// mostEcho is how much of a request a message may repeat, in bytes.
const mostEcho = 200

// secret matches the names of settings whose values must not be told. Others, such as secretName
// and passwordKey, only name something.
var secret = phrase.Pattern(`(?i)(token|password|passwd|passphrase|` +
	`(api|client|app|application|access|consumer|session|shared)[-_.]?secret|` +
	`(api|access|account|auth|encryption|hmac|join|license|master|private|sas|service|signing|subscription)[-_.]?key)$`)

// either matches the names of settings that have secrets or the names of Secrets, which aName matches.
var (
	either = phrase.Pattern(`(?i)(secret|secret[-_.]?key|credentials?)$`)
	aName  = phrase.Pattern(`^[a-z]([-a-z0-9./]*[a-z0-9])?$`)
)

func isSecret(setting, value string) bool {
	return len(value) >= leastSecret && (secret().MatchString(setting) || either().MatchString(setting) && !aName().MatchString(value))
}

// leastSecret is how long the value of such a setting is at least, in bytes.
const leastSecret = 6

// echoes reports a message that repeats the request.
func (p *probe) echoes(w place, message string, request []byte) {
	if p.reported("LIV077", w) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.o.Settings)) {
		value := p.o.Settings[name]
		if isSecret(name, value) && strings.Contains(message, value) {
			p.add("LIV077", w, "the message has the value of the setting %s", name)
			return
		}
	}
	if strings.Contains(message, marker) {
		p.add("LIV077", w, "the message repeats a value of the request: %q", short(message))
		return
	}
	for from := 0; from+mostEcho <= len(message); from += mostEcho / 2 {
		if bytes.Contains(request, []byte(message[from:from+mostEcho])) {
			p.add("LIV077", w, "the message repeats more than %d bytes of the request: %q", mostEcho, short(message))
			return
		}
	}
}

// departures are when clients go away, before or while the server answers.
var departures = [...]time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}

// remains calls the pure hooks again after everything else, for other Clusters and then
// for the first one: what they answer must not depend on the calls before.
func (p *probe) remains(ctx context.Context) {
	for _, h := range p.pure {
		if h.succeeded() {
			h.large(ctx)
		}
		if h.found(unsteady...) {
			continue // that it differs is known
		}
		h.other = h.in
		leaked, texts := "", append(h.o.Topology.Own(), extension.NamesakeText)
		for _, v := range []extension.Variant{extension.Namesake, extension.Another} {
			body := extension.RequestJSON(h.maker.For(v).Make(h.hook))
			r := h.send(ctx, body)
			if r.ok() {
				h.other.body = body
			}
			leaked = cmp.Or(leaked, leak(r.body, body, texts...)) // what a request has may be in its answer
		}
		for _, wait := range departures {
			gone, cancel := context.WithTimeout(ctx, wait)
			h.client.do(gone, h.in)
			cancel()
		}
		r, early := h.send(ctx, h.in.body), h.client.do(ctx, h.earliest)
		if ctx.Err() != nil {
			return
		}
		what := h.changed(h.in.body, h.first, r)
		if what == "" && h.early.err == nil { // a server that just started may have been slow
			what = h.changed(h.earliest.body, h.early, early)
		}
		leaked = cmp.Or(leaked, leak(r.body, h.in.body, extension.OtherName, extension.OtherText))
		switch {
		case what != "":
			p.add("LIV078", h.place, "after other calls the same request gets a different answer: %s", short(what))
		case leaked != "" && len(h.hook.Request) > 0:
			p.add("LIV078", h.place, "the answer for a Cluster has %q of another one", leaked)
		}
	}
}

// changed says what the answer to a request has become; it is empty if it is the same.
func (h *handler) changed(request []byte, before, r reply) (what string) {
	if h.kind(r) != h.kind(before) {
		what, _ = h.outcome(r)
	} else if r.ok() {
		what = h.differ(request, before, r)
	}
	return what
}

// leak returns one of some texts that an answer has and its request does not.
func leak(answer, request []byte, texts ...string) string {
	var v any
	_ = json.Unmarshal(answer, &v)
	var out strings.Builder
	tell(&out, v)
	all := out.String()
	i := slices.IndexFunc(texts, func(t string) bool { return strings.Contains(all, t) && !bytes.Contains(request, []byte(t)) })
	if i < 0 {
		return ""
	}
	return texts[i]
}

// tell writes the texts of an answer, and those of its patches.
func tell(out *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		patch, _ := base64.StdEncoding.DecodeString(v)
		fmt.Fprintln(out, v, string(patch))
	case []any:
		for _, e := range v {
			tell(out, e)
		}
	case map[string]any:
		for _, e := range v {
			tell(out, e)
		}
	}
}
