package behaviour

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
)

// recording opens a real recording, or skips the test.
func recording(t testing.TB) *os.File {
	t.Helper()
	corpus := os.Getenv("CORPUS")
	if corpus == "" {
		corpus = "../../../shared/corpus"
	}
	f, err := os.Open(filepath.Join(corpus, "recordings", "life-1.jsonl.gz"))
	if err != nil {
		t.Skipf("no recording: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestRecording judges a life of real controllers: what they did wrong is found, and
// nothing else.
func TestRecording(t *testing.T) {
	want := map[string]int{
		"BEH001 DevMachine":      1, // the provider whose pause check was taken out
		"BEH005 DevMachinePool":  1,
		"BEH104 DevCluster":      1, // info
		"BEH208 DevMachine":      1,
		"BEH603 IPAddressClaim":  3,
		"BEH612 IPAddressClaim":  1,
		"BEH701 Machine":         4,
		"BEH702 FakeMachinePool": 1,
	}
	got := map[string]int{}
	j := New(DefaultOptions())
	faults, err := record.Read(context.Background(), "life", recording(t), j.Add)
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	for _, f := range j.finish() {
		kind, _, _ := strings.Cut(f.Object, " ")
		got[f.Check.ID+" "+kind]++
		if len(f.Evidence()) < 2 || f.New.Line == 0 {
			t.Errorf("%s %s: no proof", f.Check.ID, f.Object)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if len(j.world.Problems) > 0 {
		t.Error(j.world.Problems)
	}
}

// TestShuffled wants the same verdict of a recording whose lines are out of order, as
// far as they are within what is put into order.
func TestShuffled(t *testing.T) {
	var events []*record.Event
	if _, err := record.Read(context.Background(), "life", recording(t), func(e *record.Event) { events = append(events, e) }); err != nil {
		t.Fatal(err)
	}
	count := func(j *Judge) map[string]int {
		out := map[string]int{}
		for _, f := range j.finish() {
			out[f.Check.ID]++
		}
		return out
	}
	straight, shuffled := New(DefaultOptions()), New(DefaultOptions())
	for _, e := range events {
		straight.Add(e)
	}
	random := rand.New(rand.NewPCG(1, 2))
	order := record.Order{Most: 1 << 20}
	for _, i := range random.Perm(len(events)) {
		order.Add(events[i], shuffled.Add)
	}
	order.Flush(shuffled.Add)
	if a, b := count(straight), count(shuffled); !maps.Equal(a, b) {
		t.Errorf("in order %v, shuffled %v", a, b)
	}
}
