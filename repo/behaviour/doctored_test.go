package behaviour

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// tape is a recording that can be edited: its lines as they are.
type tape struct {
	lines  []m
	random *rand.Rand
}

// tapeTime is the format of times, which sort as texts.
const tapeTime = "2006-01-02T15:04:05.000000Z"

func newTape(t *testing.T) []m {
	z := given.Value(gzip.NewReader(recording(t)))(t)
	var out []m
	in := bufio.NewScanner(z)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var line m
		given.NoError(t, json.Unmarshal(in.Bytes(), &line))
		e := decodeLine(line, 0)
		line["at"], line["decoded"] = e.At.Format(tapeTime), e
		out = append(out, line)
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return out
}

// decodeLine makes the event of a line. There is room between the resourceVersions: extra
// is added to that of the line.
func decodeLine(line m, extra int) *record.Event {
	line = deepCopy(line)
	if o, _ := line["obj"].(m); o != nil {
		o["metadata"].(m)["resourceVersion"] = fmt.Sprint(1000*versionOf(line) + extra)
	}
	data, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	e, err := record.Decode(data)
	if err != nil {
		panic(err)
	}
	return e
}

func versionOf(line m) (n int) {
	_, _ = fmt.Sscan(fmt.Sprint(look(line, "obj.metadata.resourceVersion")), &n)
	return n
}

// deepCopy copies a line for an edit.
func deepCopy(line m) m {
	line = maps.Clone(line)
	delete(line, "decoded")
	data, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	var out m
	if json.Unmarshal(data, &out) != nil {
		panic("no JSON")
	}
	return out
}

func look(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		o, _ := v.(m)
		v = o[key]
	}
	return v
}

// versions are the places of the versions of an object of a kind, chosen by chance, which
// some version of satisfies a condition. The first of them is the first that does.
func (t *tape) versions(kind string, is func(o m) bool) []int {
	byUID := map[string][]int{}
	for i, line := range t.lines {
		o, _ := line["obj"].(m)
		if o == nil || o["kind"] != kind || line["type"] == record.Deleted {
			continue
		}
		uid, _ := look(o, "metadata.uid").(string)
		if len(byUID[uid]) > 0 || is(o) {
			byUID[uid] = append(byUID[uid], i)
		}
	}
	uids := slices.DeleteFunc(slices.Sorted(maps.Keys(byUID)), func(uid string) bool { return len(byUID[uid]) < 2 })
	if len(uids) == 0 {
		return nil
	}
	return byUID[uids[t.random.IntN(len(uids))]]
}

// edit changes the versions at places; the tape of others stays as it is.
func (t *tape) edit(at []int, do func(o m)) bool {
	for _, i := range at {
		line := deepCopy(t.lines[i])
		do(line["obj"].(m))
		t.lines[i] = line
	}
	return len(at) > 0
}

// from are the places after the first one, from a random one on.
func (t *tape) from(at []int) []int {
	if len(at) < 2 {
		return nil
	}
	return at[1+t.random.IntN(min(len(at)-1, 4)):]
}

func has(path string) func(m) bool {
	return func(o m) bool { v := look(o, path); return v != nil && v != "" }
}

func quietly(is func(m) bool) func(m) bool {
	return func(o m) bool { return is(o) && look(o, "metadata.deletionTimestamp") == nil }
}

func conditionsOf(o m) []any {
	list, _ := look(o, "status.conditions").([]any)
	return list
}

// first edits the first condition, if there is one.
func first(do func(c m)) func(m) {
	return func(o m) {
		if list := conditionsOf(o); len(list) > 0 {
			do(list[0].(m))
		}
	}
}

// dropOwner takes the reference to an owner away.
func dropOwner(kind string) func(m) {
	return func(o m) {
		list, _ := look(o, "metadata.ownerReferences").([]any)
		o["metadata"].(m)["ownerReferences"] = slices.DeleteFunc(slices.Clone(list), func(r any) bool { return r.(m)["kind"] == kind })
	}
}

func owned(kind string) func(m) bool {
	return func(o m) bool {
		list, _ := look(o, "metadata.ownerReferences").([]any)
		return slices.ContainsFunc(list, func(r any) bool { return r.(m)["kind"] == kind })
	}
}

func setting(path string, value any) func(m) { return func(o m) { set(o, path, value) } }

// changed edits the versions of an object from a random one on.
func changed(kind string, is func(m) bool, do func(m)) func(*tape) bool {
	return func(t *tape) bool { return t.edit(t.from(t.versions(kind, quietly(is))), do) }
}

// always edits all versions from the first that satisfies a condition.
func always(kind string, is func(m) bool, do func(m)) func(*tape) bool {
	return func(t *tape) bool { return t.edit(t.versions(kind, is), do) }
}

// more puts versions after a random one, each with an edit.
func more(kind string, is func(m) bool, n int, do func(o m, i int)) func(*tape) bool {
	return func(t *tape) bool {
		at := t.versions(kind, quietly(is))
		if len(at) < 2 {
			return false
		}
		base := t.lines[at[t.random.IntN(len(at)-1)]]
		when, _ := time.Parse(time.RFC3339Nano, base["at"].(string))
		for k := range n {
			t.add(base, when.Add(time.Duration(k+1)*100*time.Millisecond), k+1, func(o m) { do(o, k) })
		}
		return true
	}
}

// add adds a version of an object at a time, after all that happened before it.
func (t *tape) add(base m, when time.Time, extra int, do func(m)) {
	line := deepCopy(base)
	at := when.Format(tapeTime)
	newest := 0
	for _, l := range t.lines {
		if l["decoded"] != nil && l["at"].(string) <= at {
			newest = max(newest, versionOf(l))
		}
	}
	meta := line["obj"].(m)["metadata"].(m)
	meta["resourceVersion"], meta["now"] = fmt.Sprint(newest), when.Format(time.RFC3339)
	line["at"], line["type"] = at, record.Modified
	do(line["obj"].(m))
	delete(meta, "now")
	line["decoded"] = decodeLine(line, extra)
	t.lines = append(t.lines, line)
}

// events are the lines in the order of their times.
func (t *tape) events() []*record.Event {
	var out []*record.Event
	for i, line := range t.lines {
		e, ok := line["decoded"].(*record.Event)
		if !ok {
			e = decodeLine(line, 0)
		}
		e.File, e.Line = "tape", i+1
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b *record.Event) int { return a.At.Compare(b.At) })
	return out
}

// doctored are gaps of real providers, each with the checks that may find it.
var doctored = map[string]struct {
	want string
	do   func(*tape) bool
}{
	"provider ID changes": {"BEH202", changed("DevMachine", has("spec.providerID"), setting("spec.providerID", "in-memory:///other"))},
	"provider ID removed": {"BEH202", changed("DevMachine", has("spec.providerID"), setting("spec.providerID", nil))},
	"provider ID missing": {"BEH201 BEH202", always("DevMachine", has("spec.providerID"), setting("spec.providerID", nil))},
	"provider ID twice": {"BEH203", func(t *tape) bool {
		a, b := t.versions("DevMachine", has("spec.providerID")), t.versions("DevMachine", has("spec.providerID"))
		if len(a) == 0 || len(b) == 0 || a[0] == b[0] || look(t.lines[a[len(a)-1]], "at").(string) < look(t.lines[b[0]], "at").(string) || look(t.lines[b[len(b)-1]], "at").(string) < look(t.lines[a[0]], "at").(string) {
			return false
		}
		return t.edit(a, setting("spec.providerID", look(t.lines[b[0]], "obj.spec.providerID")))
	}},
	"endpoint changes": {"BEH103", changed("DevCluster", has("spec.controlPlaneEndpoint.host"), setting("spec.controlPlaneEndpoint.host", "10.9.9.9"))},
	"endpoint removed": {"BEH103", changed("DevCluster", has("spec.controlPlaneEndpoint.host"), setting("spec.controlPlaneEndpoint", nil))},
	"half an endpoint": {"BEH105", changed("DevCluster", has("spec.controlPlaneEndpoint.host"), setting("spec.controlPlaneEndpoint.port", nil))},
	"endpoint never comes": {"BEH102 BEH105", func(t *tape) bool {
		at := t.versions("DevCluster", func(m) bool { return true })
		if len(at) == 0 {
			return false
		}
		name := look(t.lines[at[0]], "obj.metadata.name")
		for i, line := range t.lines {
			if kind := look(line, "obj.kind"); kind != nil && kind != "DevCluster" && look(line, "obj.metadata.name") == name && look(line, "obj.spec.controlPlaneEndpoint") != nil {
				at = append(at, i)
			}
		}
		return t.edit(at, setting("spec.controlPlaneEndpoint", nil))
	}},
	"secret name changes":     {"BEH403", changed("KubeadmConfig", has("status.dataSecretName"), setting("status.dataSecretName", "other"))},
	"secret name removed":     {"BEH403", changed("KubeadmConfig", has("status.dataSecretName"), setting("status.dataSecretName", nil))},
	"secret name missing":     {"BEH402 BEH403", always("KubeadmConfig", has("status.dataSecretName"), setting("status.dataSecretName", nil))},
	"unprovisioned machine":   {"BEH205", changed("DevMachine", has("status.initialization.provisioned"), setting("status.initialization", nil))},
	"unprovisioned cluster":   {"BEH101", changed("DevCluster", has("status.initialization.provisioned"), setting("status.initialization", m{"provisioned": false}))},
	"data uncreated":          {"BEH406", changed("KubeadmConfig", has("status.initialization.dataSecretCreated"), setting("status.initialization", nil))},
	"plane uninitialized":     {"BEH501", changed("KubeadmControlPlane", has("status.initialization.controlPlaneInitialized"), setting("status.initialization", nil))},
	"machine loses its owner": {"BEH021", changed("DevMachine", owned("Machine"), dropOwner("Machine"))},
	"cluster loses its owner": {"BEH021", changed("DevCluster", owned("Cluster"), dropOwner("Cluster"))},
	"plane loses its owner":   {"BEH021", changed("KubeadmControlPlane", owned("Cluster"), dropOwner("Cluster"))},
	"config loses its owner":  {"BEH021", changed("KubeadmConfig", owned("Machine"), dropOwner("Machine"))},
	"finalizer lost":          {"BEH009", changed("DevMachine", has("metadata.finalizers"), setting("metadata.finalizers", nil))},
	"no finalizer":            {"BEH008 BEH009", always("DevMachine", func(m) bool { return true }, setting("metadata.finalizers", nil))},
	"no reason":               {"BEH016", changed("DevMachine", has("status.conditions"), first(func(c m) { delete(c, "reason") }))},
	"bad status":              {"BEH016", changed("DevCluster", has("status.conditions"), first(func(c m) { c["status"] = "Yes" }))},
	"no Ready": {"BEH019", changed("DevMachine", has("status.conditions"), func(o m) {
		set(o, "status.conditions", slices.DeleteFunc(slices.Clone(conditionsOf(o)), func(c any) bool { return c.(m)["type"] == "Ready" }))
	})},
	"condition without a time":  {"BEH016", changed("DevCluster", has("status.conditions"), first(func(c m) { delete(c, "lastTransitionTime") }))},
	"claim loses its finalizer": {"BEH009", always("IPAddressClaim", has("status.addressRef.name"), setting("metadata.finalizers", nil))},
	"condition flaps": {"BEH014", more("DevMachine", func(o m) bool { return shows(o, "Ready", "True") }, 40, func(o m, i int) {
		for _, c := range conditionsOf(o) {
			if c.(m)["type"] == "Ready" {
				c.(m)["status"] = []string{"True", "False"}[i%2]
			}
		}
	})},
	"generation of tomorrow":    {"BEH017", changed("KubeadmControlPlane", has("status.observedGeneration"), setting("status.observedGeneration", 99))},
	"time without status":       {"BEH015", changed("DevCluster", has("status.conditions"), first(func(c m) { c["lastTransitionTime"] = "2026-11-22T01:02:03Z" }))},
	"secret without value":      {"BEH404", always("Secret", owned("KubeadmConfig"), setting("data", m{"data": 4}))},
	"secret of another cluster": {"BEH405", always("Secret", owned("KubeadmConfig"), func(o m) { o["metadata"].(m)["labels"] = m{clusterLabel: "another"} })},
	"secret not controlled":     {"BEH405", always("Secret", owned("KubeadmConfig"), func(o m) { look(o, "metadata.ownerReferences").([]any)[0].(m)["controller"] = false })},
	"too many ready":            {"BEH505", changed("KubeadmControlPlane", has("status.replicas"), setting("status.readyReplicas", 99))},
	"machine without label":     {"BEH504", always("Machine", owned("KubeadmControlPlane"), func(o m) { delete(look(o, "metadata.labels").(m), controlPlaneLabel) })},
	"address without finalizer": {"BEH608", always("IPAddress", func(m) bool { return true }, setting("metadata.finalizers", nil))},
	"address without claim":     {"BEH607", always("IPAddress", func(m) bool { return true }, dropOwner("IPAddressClaim"))},
	"address of another name":   {"BEH602", always("IPAddress", func(m) bool { return true }, setting("spec.claimRef.name", "else"))},
	"address of a bad type":     {"BEH210", changed("DevMachine", has("spec.providerID"), setting("status.addresses", []any{m{"type": "Public", "address": "1.2.3.4"}}))},
	"address in no family":      {"BEH616", always("IPAddress", func(m) bool { return true }, setting("spec.address", "10.1.0.300"))},
	"too few ready":             {"BEH506", changed("KubeadmControlPlane", has("status.initialization.controlPlaneInitialized"), setting("status.readyReplicas", 0))},
	"Machine without a version": {"BEH522", always("Machine", owned("KubeadmControlPlane"), setting("spec.version", nil))},
	"failureReason":             {"BEH214", changed("DevMachine", has("status.initialization"), setting("status.failureReason", "Broken"))},
	"heartbeat in the spec": {"BEH013", more("DevMachine", has("spec.providerID"), 30, func(o m, i int) {
		set(o, "spec.beat", i)
		o["metadata"].(m)["generation"] = 10 + i
	})},
	"fight": {"BEH014", more("DevCluster", has("spec.controlPlaneEndpoint.host"), 12, func(o m, i int) {
		set(o, "spec.zone", fmt.Sprint(i%2))
		o["metadata"].(m)["generation"] = 10 + i
	})},
	"works under pause": {"BEH001 BEH002", paused(func(o m) { set(o, "status.addresses", []any{m{"type": "InternalIP", "address": "10.1.2.3"}}) })},
	"spec under pause":  {"BEH001 BEH002", paused(func(o m) { set(o, "spec.size", "larger"); wrote(o, "capd") })},
	"label under pause": {"BEH001 BEH002", paused(func(o m) { set(o, "metadata.labels|acme.io/zone", "z"); wrote(o, "capd") })},
	"pause not shown": {"BEH003", func(t *tape) bool {
		at := t.versions("DevCluster", func(o m) bool { return shows(o, "Paused", "True") })
		return t.edit(at, func(o m) {
			for _, c := range conditionsOf(o) {
				if c.(m)["type"] == "Paused" {
					c.(m)["status"] = "False"
				}
			}
		})
	}},
}

func shows(o m, kind, status string) bool {
	return slices.ContainsFunc(conditionsOf(o), func(c any) bool { return c.(m)["type"] == kind && c.(m)["status"] == status })
}

func wrote(o m, manager string) {
	list, _ := look(o, "metadata.managedFields").([]any)
	o["metadata"].(m)["managedFields"] = append(slices.Clone(list), m{"manager": manager, "operation": "Update", "time": look(o, "metadata.now"), "fieldsV1": m{"f:new": m{}}})
}

// paused puts a version into the middle of the longest pause of an object that shows it.
func paused(do func(o m)) func(*tape) bool {
	return func(t *tape) bool {
		at := t.versions("DevMachine", func(o m) bool { return shows(o, "Paused", "True") && look(o, "metadata.deletionTimestamp") == nil })
		if len(at) < 2 {
			return false
		}
		first, _ := time.Parse(time.RFC3339Nano, t.lines[at[0]]["at"].(string))
		when := first.Add(5 * time.Second)
		last := at[0]
		for _, i := range at {
			if t.lines[i]["at"].(string) < when.Format(tapeTime) {
				last = i
			}
		}
		if !shows(t.lines[last]["obj"].(m), "Paused", "True") {
			return false
		}
		t.add(t.lines[last], when, 1, do)
		return true
	}
}

// TestDoctored puts gaps of providers into a recording of real controllers, at random
// objects and times, and counts how many are found.
func TestDoctored(t *testing.T) {
	lines := newTape(t)
	right := verdicts(t, (&tape{lines: lines}).events())
	found, tried, nowhere := 0, 0, 0
	missed := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(doctored)) {
		one := doctored[name]
		made := 0
		for seed := uint64(0); made < share.Of(1, 5) && seed < 60; seed++ {
			tape := &tape{lines: slices.Clone(lines), random: rand.New(rand.NewPCG(seed, uint64(len(name))))}
			if !one.do(tape) {
				continue
			}
			made++
			tried++
			hit := false
			for key := range verdicts(t, tape.events()) {
				id, _, _ := strings.Cut(key, " ")
				hit = hit || right[key] == "" && strings.Contains(one.want, id)
			}
			if hit {
				found++
			} else {
				missed[name]++
			}
		}
		if made == 0 {
			t.Logf("the recording has no place for %s", name)
			nowhere++
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(missed), func(a, b string) int { return cmp.Or(missed[b]-missed[a], strings.Compare(a, b)) }) {
		t.Logf("missed %d × %s", missed[name], name)
	}
	t.Logf("%d of %d gaps found", found, tried)
	// One try of each kind tells less than five.
	if 10*found < share.Of(8, 9)*tried || nowhere > 3 {
		t.Errorf("%d of %d gaps found, and no place for %d of %d kinds", found, tried, nowhere, len(doctored))
	}
}
