package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// plain is a value as encoding/json has it.
func plain(v Value) any {
	switch v.Kind() {
	case Map:
		out := map[string]any{}
		for c := range v.Items() {
			out[c.Key()] = plain(c)
		}
		return out
	case List:
		out := []any{}
		for c := range v.Items() {
			out = append(out, plain(c))
		}
		return out
	case text:
		return v.Str()
	case Bool:
		return v.True()
	case number:
		return json.Number(v.scalar())
	}
	return nil
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0,true,null,"x\u00e9\ud83d\ude00\n"],"b":{}}`, `[]`, `"`, `{"a":}`, `{"metadata":{"managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}],"name":"n"}}`, `01`, `[1 2]`, `{"a":1,}`, "[\"\x01\"]", `{"metadata":{"managedFields":3}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var p parser
		doc, err := p.parse(in)
		for _, left := range []string{"managedFields", "fieldsV1", "last-applied"} {
			if bytes.Contains(in, []byte(left)) || bytes.Contains(in, []byte(`\u`)) {
				return
			}
		}
		d := json.NewDecoder(bytes.NewReader(in))
		d.UseNumber()
		var want any
		wantErr := d.Decode(&want)
		if wantErr == nil && d.More() {
			wantErr = errors.New("more")
		}
		if err == nil && !json.Valid(in) || err != nil && json.Valid(in) && !strings.Contains(err.Error(), "levels") {
			t.Fatalf("%q: %v, encoding/json: %v", in, err, wantErr)
		}
		if err == nil && json.Valid(in) && bytes.ContainsAny(in, "{[\"") && validUTF8(in) {
			if got := plain(Value{doc, 0}); !reflect.DeepEqual(got, want) && !duplicate(in) {
				t.Fatalf("%q: %v, want %v", in, got, want)
			}
		}
	})
}

// Only what is inside something else is deeper.
func TestDepth(t *testing.T) {
	for text, deep := range map[string]bool{
		"[" + strings.Repeat(`[],{},`, maxDepth) + "[]]":                  false,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth):     false,
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1): true,
	} {
		var p parser
		if _, err := p.parse([]byte(text)); (err != nil) != deep {
			t.Errorf("%.10s...: %v", text, err)
		}
	}
}

func validUTF8(in []byte) bool { return strings.ToValidUTF8(string(in), "") == string(in) }

// duplicate reports whether an object has a key twice, where the last one counts.
func duplicate(in []byte) bool {
	var p parser
	doc, err := p.parse(in)
	if err != nil {
		return false
	}
	for i := range doc.nodes {
		v := Value{doc, uint32(i)}
		if v.Kind() == Map {
			seen := map[string]bool{}
			for c := range v.Items() {
				if seen[c.Key()] {
					return true
				}
				seen[c.Key()] = true
			}
		}
	}
	return false
}

const two = `{"at":"2026-11-22T08:56:07.264","type":"ADDED","obj":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","managedFields":[{"manager":"m","operation":"Update","subresource":"status","time":"t","fieldsV1":{"f:a":{}}}]}}}
{"at":"2026-11-22T08:56:08.264Z","type":"MODIFIED","obj":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","b":"c"}}}}
`

func read(t *testing.T, data []byte) ([]*Event, []*Fault) {
	t.Helper()
	var events []*Event
	faults, err := Read(context.Background(), "f", bytes.NewReader(data), func(e *Event) { events = append(events, e) })
	given.NoError(t, err)
	return events, faults
}

func TestRead(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(two))
	z.Close()
	for name, data := range map[string][]byte{"plain": []byte(two), "gzip": zipped.Bytes(), "no end": []byte(strings.TrimSpace(two))} {
		events, faults := read(t, data)
		if len(events) != 2 || len(faults) != 0 {
			t.Fatalf("%s: %d events, %v", name, len(events), faults)
		}
		if w := events[0].Writers; len(w) != 1 || w[0].Manager != "m" || w[0].Subresource != "status" || w[0].Fields == 0 {
			t.Errorf("%s: writers %+v", name, w)
		}
		if a := events[1].Object.Get("metadata", "annotations"); a.Len() != 1 || a.Get("b").Str() != "c" {
			t.Errorf("%s: annotations %s", name, a.Text())
		}
		if events[1].Line != 2 || events[1].At.Sub(events[0].At).Seconds() != 1 {
			t.Errorf("%s: line %d, at %s", name, events[1].Line, events[1].At)
		}
	}
	for name, data := range map[string][]byte{"line": []byte(two[:len(two)-30]), "gzip": zipped.Bytes()[:zipped.Len()-12]} {
		events, faults := read(t, data)
		if len(faults) != 1 || !errors.Is(faults[0], ErrCut) {
			t.Errorf("cut %s: %d events, %v", name, len(events), faults)
		}
	}
	events, faults := read(t, []byte("{}\n\nnull\n[\n"+two+"{\"at\":\"x\"}\n"))
	if len(events) != 2 || len(faults) != 4 || faults[0].Line != 1 || faults[1].Line != 3 || events[0].Line != 5 {
		t.Errorf("%d events, %v", len(events), faults)
	}
}

func TestOrder(t *testing.T) {
	events, _ := read(t, []byte(two))
	o := Order{Most: 10}
	var got []*Event
	for _, e := range []*Event{events[1], events[0]} {
		o.Add(e, func(e *Event) { got = append(got, e) })
	}
	o.Flush(func(e *Event) { got = append(got, e) })
	if len(got) != 2 || got[0] != events[0] {
		t.Errorf("wrong order")
	}
	var waiting arrivals
	for range mostWaiting + 1 {
		waiting.add(events[0])
	}
	handed := 0
	waiting.until(events[0].At.Add(-1), func(*Event) { handed++ })
	if handed != 1 {
		t.Errorf("%d events of one too many are handed over", handed)
	}
	slow := ""
	for i, part := range []string{`"MODIFIED","obj":{"apiVersion":"v1","kind":"B","metadata":{"name":"b","uid":"b","resourceVersion":"9"`, `"ADDED","initial":true,"obj":{"apiVersion":"v1","kind":"A","metadata":{"name":"a","uid":"a","resourceVersion":"3"`, `"MODIFIED","obj":{"apiVersion":"v1","kind":"A","metadata":{"name":"a","uid":"a","resourceVersion":"5"`} {
		slow += fmt.Sprintf("{\"at\":\"2026-11-22T08:56:0%d.000\",\"type\":%s}}}\n", i, part)
	}
	events, faults := read(t, []byte(slow))
	var lists arrivals
	for _, e := range events {
		lists.add(e)
	}
	var order []string
	lists.until(events[2].At, func(e *Event) { order = append(order, e.Object.Get("metadata", "resourceVersion").Str()) })
	if strings.Join(order, " ") != "3 5 9" || len(faults) > 0 {
		t.Errorf("a list that came late: %v, %v", order, faults)
	}
}

func TestDiff(t *testing.T) {
	parse := func(s string) Value {
		var p parser
		doc := given.Value(p.parse([]byte(s)))(t)
		return Value{doc, 0}
	}
	var got []string
	for _, c := range Diff(parse(`{"a":1,"b":{"c":"x","d":[1]},"conditions":[{"type":"A","status":"True"},{"type":"B","status":"True"}]}`),
		parse(`{"b":{"c":"y","d":[1]},"conditions":[{"type":"B","status":"False"},{"type":"A","status":"True"}],"n":{}}`)) {
		got = append(got, c.String())
	}
	want := []string{`b.c: "x" → "y"`, `conditions[B].status: "True" → "False"`, `n: (absent) → {}`, `a: 1 → (absent)`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestTimers: what is due at the same time is done in the order in which it was set.
func TestTimers(t *testing.T) {
	w := NewWorld[int](0)
	var done []int
	for i, after := range []time.Duration{2, 1, 1, 1, 2} {
		w.After(after, func() { done = append(done, i) })
	}
	w.Advance(time.Time{}.Add(3), nil)
	if !slices.Equal(done, []int{1, 2, 3, 0, 4}) {
		t.Error(done)
	}
}

// TestPauses changes the annotation of a Cluster and its spec.paused: both pause claims.
func TestPauses(t *testing.T) {
	w := NewWorld[int](0)
	version := 0
	change := func(group, kind, meta, spec string) (begun, ended string) {
		version++
		e := given.Value(Decode(fmt.Appendf(nil, `{"at":"2026-11-22T08:56:%02[3]dZ","type":"MODIFIED","obj":{
			"apiVersion":"%[1]scluster.x-k8s.io/v1beta2","kind":%[2]q,"metadata":{"namespace":"t","name":"c",
			"uid":%[2]q,"resourceVersion":"%[3]d",%[4]s},"spec":{%[5]s}}}`, group, kind, version, meta, spec)))(t)
		o := w.Find(e)
		w.Update(o, e)
		names := func(list []*Object[int]) (out string) {
			for _, o := range list {
				out += o.Kind + " "
			}
			return out
		}
		first, last := w.Pauses(o, e.At, false)
		return names(first), names(last)
	}
	change("", "Machine", `"labels":{}`, `"clusterName":"c"`)
	change("ipam.", "IPAddressClaim", `"labels":{}`, `"clusterName":"c"`)
	for i, step := range []struct {
		annotated, paused bool
		begun, ended      string
		since             int // version that paused the claim
	}{
		{true, false, "Cluster IPAddressClaim ", "", 3},
		{true, true, "Machine ", "", 3},
		{true, false, "", "Machine ", 3},
		{false, false, "", "Cluster IPAddressClaim ", 0},
		{false, true, "Cluster IPAddressClaim Machine ", "", 7},
		{true, true, "", "", 7},
		{true, false, "", "Machine ", 8},
		{false, true, "Cluster IPAddressClaim Machine ", "Cluster IPAddressClaim ", 10},
	} {
		meta := `"labels":{}`
		if step.annotated {
			meta = `"annotations":{"cluster.x-k8s.io/paused":""}`
		}
		begun, ended := change("", "Cluster", meta, fmt.Sprintf(`"paused":%t`, step.paused))
		if begun != step.begun || ended != step.ended {
			t.Errorf("step %d: pauses begin for %q and end for %q", i+1, begun, ended)
		}
		since := w.PausedSince(w.Object("IPAddressClaim"))
		if !since.IsZero() && since.Second() != step.since || since.IsZero() != (step.since == 0) {
			t.Errorf("step %d: the claim is paused since %s", i+1, since)
		}
	}
}

// TestSkew takes the smallest of the last differences of the clocks.
func TestSkew(t *testing.T) {
	var s Skew
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, late := range []time.Duration{3, 1, 2} {
		wrote := start.Add(time.Duration(i) * time.Minute)
		s.Learn(wrote.Add(late*time.Second), nil, []Writer{{Manager: "a", Time: wrote.Format(time.RFC3339)}})
	}
	if got := s.Best(); got != time.Second {
		t.Errorf("%s, want 1s", got)
	}
}
