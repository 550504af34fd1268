package behaviour

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// judge judges a life that is recorded by a clock which is ahead by some time.
func judge(l *life, ahead time.Duration) *Judge {
	j := New(DefaultOptions())
	for _, e := range l.run() {
		seen := *e
		seen.At = e.At.Add(ahead)
		j.Add(&seen)
	}
	return j
}

// found are the checks with findings.
func found(j *Judge) []string {
	ids := map[string]bool{}
	for _, f := range j.finish() {
		ids[f.Check.ID] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// TestLateCause has a pool that follows what was done a while after its own last change.
func TestLateCause(t *testing.T) {
	l := newLife()
	l.before("work", func(l *life) {
		l.poolStatus("p1", "p2")
		l.wait(10 * time.Second)
		l.put(user, "MachinePool", "mp", "spec.replicas", 3)
		l.wait(31 * time.Second)
		l.poolMachine("p3")
		l.wait(31 * time.Second) // within the bound and the lag
		l.poolStatus("p1", "p2", "p3")
	})
	if got := found(judge(l, 0)); slices.Contains(got, "BEH308") {
		t.Errorf("found %v", got)
	}
}

// TestAutoscaledPool has an autoscaler take over the replicas.
func TestAutoscaledPool(t *testing.T) {
	l := newLife()
	l.before("work", func(l *life) {
		l.put(user, "MachinePool", "mp", "spec.replicas", 3)
		l.put(user, "MachinePool", "mp", "metadata.annotations|cluster.x-k8s.io/replicas-managed-by", "autoscaler")
	})
	if got := found(judge(l, 0)); slices.Contains(got, "BEH305") {
		t.Errorf("found %v", got)
	}
}

func TestHealthy(t *testing.T) {
	l := newLife()
	l.before("work", func(l *life) { // the user has second thoughts, and nothing follows the first ones
		l.put(user, "MachinePool", "mp", "spec.replicas", 3)
		l.put(user, "MachinePool", "mp", "spec.replicas", 2)
	})
	l.skip("delete claim")
	l.after("delete w1", func(l *life) { // the provider lets go of the claim before garbage collection deletes it
		l.gone("IPAddress", "k")
		l.put(provider, "IPAddressClaim", "k", "metadata.finalizers", nil)
		l.gone("IPAddressClaim", "k")
	})
	l.instead("delete cluster", func(l *life) { // a change of what is being deleted need not be observed
		l.put(user, "AcmeCluster", "c", "spec.extra", "x")
		l.deleting("Cluster", "c")
		l.deleting("AcmeCluster", "c")
		l.wait(5 * time.Minute)
		l.gone("AcmeCluster", "c")
		l.gone("Cluster", "c")
	})
	l.before("work", func(l *life) { // another controller's finalizer goes, and that of the provider is renamed
		l.put("velero", "AcmeMachine", "w1", "metadata.finalizers", []any{"acmemachine.acme.io", "backup.example.com/hold"})
		l.put("velero", "AcmeMachine", "w1", "metadata.finalizers", []any{"acmemachine.acme.io"})
		l.put(provider, "AcmeMachine", "w1", "metadata.finalizers", []any{"acmemachine.acme.io", "acme.io/machine"})
		l.put(provider, "AcmeMachine", "w1", "metadata.finalizers", []any{"acme.io/machine"})
	})
	l.before("work", func(l *life) { // the new name comes after the old one went
		l.put(provider, "AcmeMachine", "m1", "metadata.finalizers", nil)
		l.put(provider, "AcmeMachine", "m1", "metadata.finalizers", []any{"acme.io/machine"})
	})
	l.before("work", func(l *life) { // a finalizer from before the recording, or with which an object was made, is renamed
		for _, o := range [][4]string{
			{"old", provider, "old.acme.io", "2026-11-01T00:00:00Z"},
			{"made", provider, "v1.acme.io"},
			{"group", user, "acmemachine.infrastructure.cluster.x-k8s.io"},
		} {
			l.put(o[1], "AcmeMachine", o[0], "metadata.finalizers", []any{o[2]},
				"metadata.creationTimestamp", cmp.Or(o[3], l.at.Format(time.RFC3339)))
			for _, list := range [][]any{{o[2], "new.acme.io"}, {"new.acme.io"}} {
				l.put(provider, "AcmeMachine", o[0], "metadata.finalizers", list)
			}
		}
	})
	l.before("work", func(l *life) { // core raises the version of a reference, while the watch stays at an older one
		r := l.ownerRef("Machine", "m1", true)
		r["apiVersion"] = "cluster.x-k8s.io/v1"
		l.put(core, "AcmeMachine", "m1", "metadata.ownerReferences", []any{r})
	})
	l.before("work", func(l *life) { // a person replaces Machines, and then stops demanding a version
		l.put(user, "AcmeControlPlane", "c", "spec.version", "v1.35.0", "spec.rollout.strategy.type", "OnDelete")
		l.status("AcmeControlPlane", "c", "status.observedGeneration", 2)
		l.wait(longer)
		l.put(user, "AcmeControlPlane", "c", "spec.version", nil, "spec.rollout", nil)
		l.status("AcmeControlPlane", "c", "status.observedGeneration", 3, "status.version", nil)
	})
	l.before("work", func(l *life) { // claims wait until their Cluster is neither annotated nor paused
		l.put(user, "Cluster", "c", "metadata.annotations|cluster.x-k8s.io/paused", "")
		l.makeClaim("k2", "w1")
		l.wait(minute)
		l.pause(true)
		l.wait(minute)
		l.pause(false)
		l.wait(20 * time.Second)
		l.makeClaim("k3", "w1")
		l.put(user, "Cluster", "c", "metadata.annotations", nil)
		l.wait(20 * time.Second)
		for _, name := range []string{"k2", "k3"} {
			l.put(provider, "IPAddressClaim", name, "metadata.finalizers", []any{"ipam.acme.io/release"})
			l.makeAddress(name, "10.1.0.2")
			l.status("IPAddressClaim", name, "status.addressRef", m{"name": name})
			l.deleteClaim(name)
		}
	})
	l.before("work", func(l *life) { // objects made just before the first list arrive as ADDED
		made := len(l.events)
		l.makeClaim("k4", "w1")
		l.put(provider, "IPAddressClaim", "k4", "metadata.finalizers", []any{"ipam.acme.io/release"})
		l.makeAddress("k4", "10.1.0.4")
		l.status("IPAddressClaim", "k4", "status.addressRef", m{"name": "k4"})
		l.events = slices.Delete(l.events, made, made+2)
		for _, e := range l.events[made:] {
			e.Type, e.Initial = record.Added, true
		}
		l.wait(20 * time.Second)
		l.deleteClaim("k4")
	})
	l.before("plane initialized", sets(provider, "Secret", "c-etcd", "data|tls.key", nil)) // etcd is external
	const block = "metadata.annotations|clusterctl.cluster.x-k8s.io/block-move"
	l.before("pause", sets(provider, "AcmeMachine", "w1", block, ""))
	l.before("resume", func(l *life) {
		l.put(provider, "AcmeMachine", "w1", "metadata.annotations", nil)
		l.put(user, "AcmeMachine", "m1", block, "") // a person blocks the move
		l.wait(longer)
		l.put(user, "AcmeMachine", "m1", "metadata.annotations", nil)
	})
	l.instead("delete m1", func(l *life) { // its disk takes long
		l.put(provider, "AcmeDisk", "m1", "metadata.ownerReferences", []any{l.ownerRef("AcmeMachine", "m1", true)})
		for _, kind := range []string{"Machine", "AcmeMachine", "AcmeDisk"} {
			l.deleting(kind, "m1")
		}
		l.wait(longer)
		l.gone("AcmeDisk", "m1")
		l.deleteMachine("m1")
	})
	j := judge(l, 0)
	for _, f := range j.finish() {
		t.Errorf("%s %s: %s %q", f.Check.ID, f.Object, f.Message, f.Evidence())
	}
	if len(j.world.Problems) > 0 {
		t.Error(j.world.Problems)
	}
}

// checkOf is the ID of the check that finds a wrong-doer.
func checkOf(name string) string {
	id, _, _ := strings.Cut(name, " ")
	return id
}

// TestWrongDoers lets one thing go wrong for each check, and wants exactly that check,
// also if the clock of the recorder differs from that of the server.
func TestWrongDoers(t *testing.T) {
	for _, c := range All {
		if wrong[c.ID] == nil {
			t.Errorf("%s has no wrong-doer", c.ID)
		}
		if len(c.on) == 1 && slices.Contains(providerRoles, c.on[0]) && c.Role == "" {
			t.Errorf("%s is about objects of one role, but belongs to all roles", c.ID)
		}
	}
	for name, edit := range wrong {
		l := newLife()
		edit(l)
		j := judge(l, 0)
		skews := map[time.Duration]*Judge{0: j}
		for _, by := range []time.Duration{-10 * time.Minute, 7 * time.Minute} {
			skews[by] = judge(l, by)
		}
		for by, skewed := range skews {
			if got := found(skewed); !slices.Equal(got, []string{checkOf(name)}) {
				t.Errorf("%s, clock off by %s: found %v", name, by, got)
			}
		}
		for _, f := range j.finish() {
			if !strings.HasPrefix(name, f.Check.ID) || strings.Contains(strings.Join(f.Diff, " "), ".status: (absent)") {
				t.Errorf("  %s %s: %s %q", f.Check.ID, f.Object, f.Message, f.Evidence())
			}
		}
		if len(j.findings) == 0 {
			continue // as told above
		}
		if name == "BEH107 several" && !strings.Contains(j.findings[0].Message, "m1 is in it") {
			t.Errorf("%s: it does not name the first: %s", name, j.findings[0].Message)
		}
		if name == "BEH306" && j.findings[0].Repeated > 0 {
			t.Errorf("%s is found again for an ID that stays", name)
		}
	}
}

// TestFingerprints wants the same ones of a run at another time with other generated
// names, and different ones for different faults.
func TestFingerprints(t *testing.T) {
	prints := func(l *life, by time.Duration, rename string) []string {
		j := judge(l, by)
		var out []string
		for _, f := range j.Findings() {
			f.Object = strings.Replace(f.Object, "t/w1", rename, 1)
		}
		for _, f := range j.Report("x", "y").Findings {
			out = append(out, f.Fingerprint)
		}
		return out
	}
	seen := map[string]string{}
	for id, edit := range wrong {
		l := newLife()
		edit(l)
		a, b := prints(l, 0, "t/w-md-0-x7k2p-9zxcv"), prints(l, time.Hour, "e2e-4711/w-md-0-b8ggq-2kkwp")
		if !slices.Equal(a, b) {
			t.Errorf("%s: %v and %v", id, a, b)
		}
		for _, p := range a {
			if other, ok := seen[p]; ok && other != checkOf(id) {
				t.Errorf("%s and %s have the same fingerprint", id, other)
			}
			seen[p] = checkOf(id)
		}
	}
}

// TestRights says of each check that needs a resource which cannot be read why it stays
// open.
func TestRights(t *testing.T) {
	for resource, want := range map[string][]string{
		"secrets":                                              {"BEH401"},
		"leases.coordination.k8s.io":                           {"BEH024"},
		"machines.cluster.x-k8s.io":                            {"BEH701"},
		"machinepools.cluster.x-k8s.io":                        {"BEH305"},
		"acmemachines.infrastructure.cluster.x-k8s.io":         {"BEH201"},
		"acmemachinetemplates.infrastructure.cluster.x-k8s.io": {"BEH215"},
		"acmemachinepools.infrastructure.cluster.x-k8s.io":     {"BEH303"},
		"acmeclusters.infrastructure.cluster.x-k8s.io":         {"BEH101"},
		"acmeconfigs.bootstrap.cluster.x-k8s.io":               {"BEH003"},
		"acmecontrolplanes.controlplane.cluster.x-k8s.io":      {"BEH501"},
		"ipaddressclaims.ipam.cluster.x-k8s.io":                {"BEH603"},
	} {
		j := New(DefaultOptions())
		e := given.Value(record.Decode(record.DeniedLine(time.Now(), resource, "no rights")))(t)
		j.Add(e)
		open := j.Undecided()
		for _, id := range want {
			if !strings.Contains(open[id], "no rights") {
				t.Errorf("%s: %s is open because of %q", resource, id, open[id])
			}
		}
	}
}

// TestTimelines shows when objects with a finding were paused: by their Cluster (an old
// version of which arrives again later), by their own annotation, or, for a claim, by the
// annotation of its Cluster.
func TestTimelines(t *testing.T) {
	for name, want := range map[string]struct {
		object  string
		moments int
	}{
		"BEH002":               {"AcmeMachine t/w1", 5},
		"BEH601 after a pause": {"IPAddressClaim t/k2", 2},
	} {
		l := newLife()
		wrong[name](l)
		l.after("resume", func(l *life) {
			i := slices.IndexFunc(l.events, func(e *record.Event) bool { return e.Object.Get("spec", "paused").True() })
			late := *l.events[i]
			late.At = l.at
			l.events = append(l.events, &late)
		})
		events := l.run()
		j := New(DefaultOptions())
		for _, e := range events {
			j.Add(e)
		}
		lines := j.Timelines()
		for _, e := range events {
			lines.Add(e)
		}
		all := lines.All()
		if len(all) != 1 || all[0].Object != want.object || len(all[0].Findings) != 1 ||
			len(all[0].Pauses) != 2 || all[0].Pauses[0].End.IsZero() || all[0].Pauses[1].End.IsZero() {
			t.Fatalf("%s: got %+v", name, all)
		}
		first, last := all[0].Moments[0], all[0].Moments[len(all[0].Moments)-1]
		if first.What != record.Added || last.What != record.Deleted || len(all[0].Moments) < want.moments {
			t.Errorf("%s: got %+v", name, all[0].Moments)
		}
	}
}
