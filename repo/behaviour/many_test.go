package behaviour

import (
	"fmt"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestManyMachines judges a Cluster with a thousand Machines that are paused, resumed
// and deleted together. A judge that looks at all of them for each would take minutes.
func TestManyMachines(t *testing.T) {
	n := share.Of(200, 1000)
	l := newLife()
	l.tick = 50 * time.Microsecond // the bounds of time are those of a small Cluster
	l.skip("claim", "claim finalizer", "address", "claim answered", "delete claim")
	l.after("node w1", func(l *life) {
		for i := range n {
			name := fmt.Sprintf("x%d", i)
			l.makeMachine(name, false)
			l.bootstrap(name)
			l.start(name)
			l.identify(name)
			l.status("AcmeMachine", name, "status.initialization.provisioned", true, "status.conditions", conditions(true, false))
			l.status("Machine", name, "status.nodeRef", m{"name": name})
		}
	})
	l.before("delete w1", func(l *life) {
		for i := range n {
			l.deleteMachine(fmt.Sprintf("x%d", i))
		}
	})
	events := l.run()
	begin := time.Now()
	j := New(DefaultOptions())
	for _, e := range events {
		j.Add(e)
	}
	t.Logf("%d events in %s", len(events), time.Since(begin))
	for _, f := range j.finish() {
		t.Errorf("%s %s: %s", f.Check.ID, f.Object, f.Message)
	}
	deleted := 0
	for _, e := range events {
		if e.Type != record.Deleted || e.Kind() != "Machine" && e.Kind() != "AcmeMachine" {
			continue
		}
		deleted++
		if o := j.world.Object(e.Object.Get("metadata", "uid").Str()); o != nil {
			t.Fatalf("%s is kept half an hour after it was deleted", o)
		}
	}
	if deleted <= 2*n {
		t.Errorf("%d Machines and InfraMachines were deleted; want more than %d", deleted, 2*n)
	}
}
