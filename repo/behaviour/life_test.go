package behaviour

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
)

// life makes the stream of a small management cluster in which everybody behaves, unless
// a test changes a step.
type life struct {
	at      time.Time
	version int
	objects map[string]map[string]any
	events  []*record.Event
	steps   []*step
	tick    time.Duration // between two writes
}

type step struct {
	name string
	do   func(*life)
}

// The writers.
const (
	provider = "acme"
	core     = "core"
	user     = "kubectl-edit"
)

const (
	infraAPI = "infrastructure.cluster.x-k8s.io/v1beta2"
	bootAPI  = "bootstrap.cluster.x-k8s.io/v1beta2"
	planeAPI = "controlplane.cluster.x-k8s.io/v1beta2"
	coreAPI  = "cluster.x-k8s.io/v1beta2"
	ipamAPI  = "ipam.cluster.x-k8s.io/v1beta2"
)

var apiOf = map[string]string{
	"Cluster": coreAPI, "Machine": coreAPI, "MachinePool": coreAPI, "AcmeCluster": infraAPI, "AcmeMachine": infraAPI,
	"AcmeMachinePool": infraAPI, "AcmeMachineTemplate": infraAPI, "AcmeGadgetMachine": infraAPI, "AcmeDisk": infraAPI,
	"AcmeIdentity": infraAPI, "AcmeConfig": bootAPI, "AcmeControlPlane": planeAPI, "IPAddressClaim": ipamAPI,
	"IPAddress": ipamAPI, "Secret": "v1", "Lease": "coordination.k8s.io/v1", "Event": "v1",
}

func newLife() *life {
	l := &life{tick: 50 * time.Millisecond, at: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), version: 100, objects: map[string]map[string]any{}}
	l.steps = []*step{
		{"cluster", (*life).makeCluster},
		{"cluster owned", (*life).ownCluster},
		{"cluster finalizer", func(l *life) { l.adopt("AcmeCluster", "c") }},
		{"cluster provisioned", func(l *life) {
			l.put(provider, "AcmeCluster", "c", "spec.controlPlaneEndpoint", m{"host": "10.0.0.1", "port": 6443})
			l.status("AcmeCluster", "c", "status.observedGeneration", 2, "status.initialization.provisioned", true, "status.failureDomains", []any{m{"name": "a", "controlPlane": true}, m{"name": "b", "controlPlane": false}})
		}},
		{"cluster ready", func(l *life) {
			l.put(core, "Cluster", "c", "spec.controlPlaneEndpoint", m{"host": "10.0.0.1", "port": 6443})
			l.status("Cluster", "c", "status.initialization.infrastructureProvisioned", true, "status.failureDomains", []any{m{"name": "a", "controlPlane": true}, m{"name": "b", "controlPlane": false}})
		}},
		{"plane", (*life).makePlane},
		{"machine m1", func(l *life) { l.makeMachine("m1", true) }},
		{"config m1", func(l *life) { l.bootstrap("m1") }},
		{"start m1", func(l *life) { l.start("m1") }},
		{"id m1", func(l *life) { l.identify("m1") }},
		{"provisioned m1", func(l *life) { l.provision("m1") }},
		{"plane initialized", (*life).initPlane},
		{"node m1", func(l *life) { l.status("Machine", "m1", "status.nodeRef", m{"name": "m1"}) }},
		{"machine w1", func(l *life) { l.makeMachine("w1", false) }},
		{"config w1", func(l *life) { l.bootstrap("w1") }},
		{"start w1", func(l *life) { l.start("w1") }},
		{"id w1", func(l *life) { l.identify("w1") }},
		{"provisioned w1", func(l *life) { l.provision("w1") }},
		{"node w1", func(l *life) { l.status("Machine", "w1", "status.nodeRef", m{"name": "w1"}) }},
		{"pool", (*life).makePool},
		{"pool filled", (*life).fillPool},
		{"claim", func(l *life) { l.makeClaim("k", "w1") }},
		{"claim finalizer", func(l *life) {
			l.put(provider, "IPAddressClaim", "k", "metadata.finalizers", []any{"ipam.acme.io/release"})
		}},
		{"address", func(l *life) { l.makeAddress("k", "10.1.0.1") }},
		{"claim answered", func(l *life) { l.status("IPAddressClaim", "k", "status.addressRef", m{"name": "k"}) }},
		{"rest", func(l *life) { l.wait(2 * time.Minute) }},
		{"pause", func(l *life) { l.pause(true) }},
		{"paused", func(l *life) { l.wait(20 * time.Second) }},
		{"resume", func(l *life) { l.pause(false) }},
		{"resumed", func(l *life) { l.wait(2 * time.Minute) }},
		{"restart", func(l *life) {
			l.put(provider, "Lease", "controller", "spec.holderIdentity", "a")
			l.put(provider, "Lease", "controller", "spec.holderIdentity", "b")
		}},
		{"restarted", func(l *life) { l.wait(40 * time.Second) }},
		{"work", func(*life) {}},
		{"long", func(l *life) { l.wait(15 * time.Minute) }},
		{"delete claim", func(l *life) { l.deleteClaim("k") }},
		{"delete w1", func(l *life) { l.deleteMachine("w1") }},
		{"delete pool", (*life).deletePool},
		{"delete m1", func(l *life) { l.deleteMachine("m1") }},
		{"delete plane", func(l *life) { l.deleting("AcmeControlPlane", "c"); l.gone("AcmeControlPlane", "c") }},
		{"delete cluster", func(l *life) {
			l.deleting("Cluster", "c")
			l.deleting("AcmeCluster", "c")
			l.gone("AcmeCluster", "c")
			l.gone("Cluster", "c")
		}},
		{"end", func(l *life) { l.wait(30 * time.Minute) }},
	}
	return l
}

type m = map[string]any

func (l *life) run() []*record.Event {
	for _, s := range l.steps {
		s.do(l)
		l.wait(3 * time.Second)
	}
	l.steps = nil // it is over
	return l.events
}

func (l *life) find(name string) int {
	i := slices.IndexFunc(l.steps, func(s *step) bool { return s.name == name })
	if i < 0 {
		panic("no step " + name)
	}
	return i
}

func (l *life) instead(name string, do func(*life)) { l.steps[l.find(name)].do = do }
func (l *life) before(name string, do func(*life)) {
	l.steps = slices.Insert(l.steps, l.find(name), &step{"", do})
}
func (l *life) after(name string, do func(*life)) {
	l.steps = slices.Insert(l.steps, l.find(name)+1, &step{"", do})
}
func (l *life) skip(names ...string) {
	for _, name := range names {
		l.instead(name, func(*life) {})
	}
}

func (l *life) wait(d time.Duration) {
	l.at = l.at.Add(d)
	// Time passes in a stream because something happens elsewhere.
	l.line(m{"at": stampAt(l.at), "type": record.Resource, "resource": "secrets"})
	l.line(m{"at": stampAt(l.at), "type": record.Resource, "resource": "leases"})
}

func stampAt(t time.Time) string { return t.Format(time.RFC3339Nano) }

func (l *life) line(v m) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	e, err := record.Decode(data)
	if err != nil {
		panic(err)
	}
	e.File, e.Line = "life", len(l.events)+1
	l.events = append(l.events, e)
}

// put writes values at paths of an object, which it makes if need be; nil removes one.
func (l *life) put(writer, kind, name string, pairs ...any) {
	l.write(writer, "", kind, name, pairs...)
}

// status is put by the controller of the kind.
func (l *life) status(kind, name string, pairs ...any) {
	writer := provider
	if apiOf[kind] == coreAPI {
		writer = core
	}
	l.write(writer, "status", kind, name, pairs...)
}

func (l *life) write(writer, sub, kind, name string, pairs ...any) {
	l.at = l.at.Add(l.tick)
	l.version++
	key := kind + "/" + name
	o := l.objects[key]
	event := record.Modified
	if o == nil {
		event = record.Added
		o = m{"apiVersion": apiOf[kind], "kind": kind, "metadata": m{
			"name": name, "namespace": "t", "uid": fmt.Sprintf("%s-%d", key, l.version), "generation": 1, "creationTimestamp": l.at.Format(time.RFC3339)}}
		l.objects[key] = o
	}
	spec := o["spec"]
	before, _ := json.Marshal(spec)
	for i := 0; i < len(pairs); i += 2 {
		set(o, pairs[i].(string), pairs[i+1])
	}
	meta := o["metadata"].(m)
	if after, _ := json.Marshal(o["spec"]); event == record.Modified && string(after) != string(before) {
		meta["generation"] = meta["generation"].(int) + 1
	}
	meta["resourceVersion"] = fmt.Sprint(l.version)
	writers, _ := meta["managedFields"].([]any)
	writers = slices.DeleteFunc(slices.Clone(writers), func(w any) bool { return w.(m)["manager"] == writer && w.(m)["subresource"] == sub })
	if writer != "" {
		meta["managedFields"] = append(writers, m{"manager": writer, "operation": "Update", "subresource": sub, "time": stampAt(l.at), "fieldsV1": m{"f:x": len(l.events)}})
	}
	l.line(m{"at": stampAt(l.at), "type": event, "obj": o})
}

func set(o m, path string, value any) {
	keys := strings.Split(path, ".")
	if before, rest, ok := strings.Cut(path, "|"); ok { // a key with dots
		keys = append(strings.Split(before, "."), rest)
	}
	for _, k := range keys[:len(keys)-1] {
		next, ok := o[k].(m)
		if !ok {
			next = m{}
			o[k] = next
		}
		o = next
	}
	if value == nil {
		delete(o, keys[len(keys)-1])
		return
	}
	// A copy, so that two objects do not share it.
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var fresh any
	if json.Unmarshal(data, &fresh) != nil {
		panic("no JSON")
	}
	o[keys[len(keys)-1]] = fresh
}

func (l *life) uid(kind, name string) string {
	return l.objects[kind+"/"+name]["metadata"].(m)["uid"].(string)
}

func (l *life) ownerRef(kind, name string, controller bool) m {
	return m{"apiVersion": apiOf[kind], "kind": kind, "name": name, "uid": l.uid(kind, name), "controller": controller, "blockOwnerDeletion": true}
}

// conditions sets Ready and Paused of an object.
func conditions(ready, paused bool) []any {
	word := map[bool]string{true: "True", false: "False"}
	when := map[bool]string{true: "2026-11-22T09:30:00Z", false: "2026-11-22T09:00:00Z"}
	return []any{
		m{"type": "Ready", "status": word[ready], "reason": "R", "lastTransitionTime": when[ready], "observedGeneration": 1},
		m{"type": "Paused", "status": word[paused], "reason": "P", "lastTransitionTime": when[paused], "observedGeneration": 1},
	}
}

// adopt sets the finalizer and the first conditions.
func (l *life) adopt(kind, name string) {
	l.put(provider, kind, name, "metadata.finalizers", []any{strings.ToLower(kind) + ".acme.io"})
	l.status(kind, name, "status.conditions", conditions(false, false), "status.observedGeneration", 1)
}

func (l *life) makeCluster() {
	l.put(user, "Cluster", "c", "spec.infrastructureRef", m{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeCluster", "name": "c"},
		"spec.controlPlaneRef", m{"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "AcmeControlPlane", "name": "c"})
	l.put(user, "AcmeCluster", "c", "spec.region", "x")
}

func (l *life) ownCluster() {
	l.put(core, "AcmeCluster", "c", "metadata.ownerReferences", []any{l.ownerRef("Cluster", "c", true)}, "metadata.labels|cluster.x-k8s.io/cluster-name", "c")
}

func (l *life) makePlane() {
	l.put(user, "AcmeControlPlane", "c", "spec.replicas", 1, "spec.version", "v1.34.0")
	l.put(core, "AcmeControlPlane", "c", "metadata.ownerReferences", []any{l.ownerRef("Cluster", "c", true)}, "metadata.labels|cluster.x-k8s.io/cluster-name", "c")
	l.adopt("AcmeControlPlane", "c")
	for _, s := range []string{"ca", "etcd", "sa", "proxy"} {
		l.secret("c-"+s, "AcmeControlPlane", "c")
	}
}

func (l *life) secret(name, ownerKind, ownerName string) {
	l.put(provider, "Secret", name, "type", "cluster.x-k8s.io/secret", "data.value", 100, "data|tls.crt", 100, "data|tls.key", 100,
		"metadata.labels|cluster.x-k8s.io/cluster-name", "c", "metadata.ownerReferences", []any{l.ownerRef(ownerKind, ownerName, true)})
}

func (l *life) makeMachine(name string, plane bool) {
	pairs := []any{"metadata.labels|cluster.x-k8s.io/cluster-name", "c", "spec.clusterName", "c", "spec.version", "v1.34.0", "metadata.finalizers", []any{"machine.cluster.x-k8s.io"},
		"spec.bootstrap.configRef", m{"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "AcmeConfig", "name": name},
		"spec.infrastructureRef", m{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeMachine", "name": name}}
	writer := core
	if plane {
		writer = provider
		pairs = append(pairs, "metadata.labels|cluster.x-k8s.io/control-plane", "", "metadata.ownerReferences", []any{l.ownerRef("AcmeControlPlane", "c", true)}, "spec.failureDomain", "a")
	} else {
		pairs = append(pairs, "metadata.ownerReferences", []any{l.ownerRef("Cluster", "c", false)})
	}
	l.put(writer, "Machine", name, pairs...)
	list := conditions(true, false)
	if plane {
		list = append(list, m{"type": "UpToDate", "status": "True", "reason": "U"})
	}
	l.status("Machine", name, "status.conditions", list)
	for _, kind := range []string{"AcmeConfig", "AcmeMachine"} {
		l.put(writer, kind, name, "spec.size", "big", "metadata.labels|cluster.x-k8s.io/cluster-name", "c")
		l.put(core, kind, name, "metadata.ownerReferences", []any{l.ownerRef("Machine", name, true)})
	}
	l.status("AcmeConfig", name, "status.conditions", conditions(false, false), "status.observedGeneration", 1)
}

func (l *life) bootstrap(name string) {
	l.secret(name, "AcmeConfig", name)
	l.status("AcmeConfig", name, "status.dataSecretName", name, "status.initialization.dataSecretCreated", true)
	l.put(core, "Machine", name, "spec.bootstrap.dataSecretName", name)
}

func (l *life) start(name string) { l.adopt("AcmeMachine", name) }

func (l *life) identify(name string) {
	l.put(provider, "AcmeMachine", name, "spec.providerID", "acme://"+name)
	l.status("AcmeMachine", name, "status.observedGeneration", 2)
}

func (l *life) provision(name string) {
	l.status("AcmeMachine", name, "status.initialization.provisioned", true, "status.conditions", conditions(true, false),
		"status.addresses", []any{m{"type": "InternalIP", "address": "10.0.1." + fmt.Sprint(len(name))}}, "status.failureDomain", l.objects["Machine/"+name]["spec"].(m)["failureDomain"])
}

func (l *life) initPlane() {
	l.secret("c-kubeconfig", "AcmeControlPlane", "c")
	l.status("AcmeControlPlane", "c", "status.initialization.controlPlaneInitialized", true, "status.replicas", 1, "status.readyReplicas", 1, "status.availableReplicas", 1, "status.upToDateReplicas", 1,
		"status.selector", "cluster.x-k8s.io/cluster-name=c,cluster.x-k8s.io/control-plane", "status.version", "v1.34.0", "status.versions", []any{m{"version": "v1.34.0", "replicas": 1}},
		"status.conditions", conditions(true, false))
	l.status("Cluster", "c", "status.initialization.controlPlaneInitialized", true)
}

func (l *life) makePool() {
	l.put(user, "MachinePool", "mp", "metadata.labels|cluster.x-k8s.io/cluster-name", "c", "spec.clusterName", "c", "spec.replicas", 2,
		"spec.template.spec.infrastructureRef", m{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeMachinePool", "name": "mp"})
	l.put(user, "AcmeMachinePool", "mp", "spec.size", "big")
	l.put(core, "AcmeMachinePool", "mp", "metadata.ownerReferences", []any{l.ownerRef("MachinePool", "mp", true)}, "metadata.labels|cluster.x-k8s.io/cluster-name", "c")
	l.adopt("AcmeMachinePool", "mp")
	l.status("AcmeMachinePool", "mp", "status.infrastructureMachineKind", "AcmeMachine")
	l.status("MachinePool", "mp", "status.conditions", conditions(false, false))
}

func (l *life) poolMachine(name string) {
	l.put(provider, "AcmeMachine", name, "metadata.labels", m{"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/pool-name": "mp"},
		"metadata.ownerReferences", []any{l.ownerRef("AcmeMachinePool", "mp", false)}, "metadata.finalizers", []any{"acmemachine.acme.io"})
	l.put(core, "Machine", name, "metadata.labels", m{"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/pool-name": "mp"}, "spec.clusterName", "c",
		"metadata.ownerReferences", []any{l.ownerRef("MachinePool", "mp", true)}, "spec.bootstrap.dataSecretName", "",
		"spec.infrastructureRef", m{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeMachine", "name": name})
	l.put(core, "AcmeMachine", name, "metadata.ownerReferences", []any{l.ownerRef("AcmeMachinePool", "mp", false), l.ownerRef("Machine", name, true)})
	l.put(provider, "AcmeMachine", name, "spec.providerID", "acme://"+name)
	l.status("AcmeMachine", name, "status.initialization.provisioned", true, "status.conditions", conditions(true, false), "status.observedGeneration", 2)
	l.status("Machine", name, "status.nodeRef", m{"name": name}, "status.conditions", conditions(true, false))
}

func (l *life) poolStatus(names ...string) {
	var ids, instances []any
	for _, n := range names {
		ids = append(ids, "acme://"+n)
		instances = append(instances, m{"providerID": "acme://" + n})
	}
	l.put(provider, "AcmeMachinePool", "mp", "spec.providerIDList", ids)
	l.status("AcmeMachinePool", "mp", "status.replicas", len(names), "status.instances", instances, "status.ready", true, "status.initialization.provisioned", true,
		"status.observedGeneration", l.objects["AcmeMachinePool/mp"]["metadata"].(m)["generation"])
}

func (l *life) fillPool() {
	l.poolMachine("p1")
	l.poolMachine("p2")
	l.poolStatus("p1", "p2")
	l.status("MachinePool", "mp", "status.initialization.infrastructureProvisioned", true)
}

func (l *life) makeClaim(name, machine string) {
	l.put(provider, "IPAddressClaim", name, "spec.clusterName", "c", "metadata.labels|cluster.x-k8s.io/cluster-name", "c",
		"spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"}, "metadata.ownerReferences", []any{l.ownerRef("AcmeMachine", machine, true)})
}

func (l *life) makeAddress(name, ip string, more ...any) {
	l.put(provider, "IPAddress", name, append(more, "spec.address", ip, "spec.claimRef.name", name, "spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"},
		"metadata.finalizers", []any{"ipam.acme.io/protect"}, "metadata.ownerReferences", []any{
			l.ownerRef("IPAddressClaim", name, true), m{"apiVersion": "ipam.acme.io/v1", "kind": "AcmePool", "name": "pool", "uid": "pool", "controller": false, "blockOwnerDeletion": true}})...)
}

// showing are the kinds that show the pause.
func (l *life) showing() []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(l.objects)) {
		switch kind, _, _ := strings.Cut(key, "/"); kind {
		case "AcmeCluster", "AcmeMachine", "AcmeMachinePool", "AcmeConfig", "AcmeControlPlane", "Machine", "MachinePool":
			out = append(out, key)
		}
	}
	return out
}

func (l *life) pause(on bool, but ...string) {
	l.put(user, "Cluster", "c", "spec.paused", on)
	l.show(on, but...)
}

// show lets the controllers show the pause.
func (l *life) show(on bool, but ...string) {
	for _, key := range l.showing() {
		kind, name, _ := strings.Cut(key, "/")
		status, _ := l.objects[key]["status"].(m)
		if slices.Contains(but, key) || status == nil {
			continue
		}
		list := conditions(isTrue(status, "Ready"), on)
		for _, c := range status["conditions"].([]any) {
			if t := c.(m)["type"]; t != "Ready" && t != "Paused" {
				list = append(list, c)
			}
		}
		l.status(kind, name, "status.conditions", list)
	}
}

func isTrue(status m, kind string) bool {
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if c.(m)["type"] == kind {
			return c.(m)["status"] == "True"
		}
	}
	return false
}

func (l *life) deleting(kind, name string) {
	l.put("", kind, name, "metadata.deletionTimestamp", l.at.Format(time.RFC3339))
}

func (l *life) gone(kind, name string) {
	l.at = l.at.Add(l.tick)
	l.version++
	key := kind + "/" + name
	o := l.objects[key]
	o["metadata"].(m)["resourceVersion"] = fmt.Sprint(l.version)
	l.line(m{"at": stampAt(l.at), "type": record.Deleted, "obj": o})
	delete(l.objects, key)
}

func (l *life) deleteClaim(name string) {
	l.deleting("IPAddressClaim", name)
	l.gone("IPAddress", name)
	l.gone("IPAddressClaim", name)
}

func (l *life) deleteMachine(name string) {
	l.deleting("Machine", name)
	l.deleting("AcmeMachine", name)
	l.gone("AcmeMachine", name)
	l.gone("AcmeConfig", name)
	l.gone("Machine", name)
}

func (l *life) deletePool() {
	l.deleting("MachinePool", "mp")
	l.deleting("AcmeMachinePool", "mp")
	for _, name := range []string{"p1", "p2"} {
		if l.objects["Machine/"+name] != nil {
			l.deleting("Machine", name)
			l.deleting("AcmeMachine", name)
			l.gone("AcmeMachine", name)
			l.gone("Machine", name)
		}
	}
	l.gone("AcmeMachinePool", "mp")
	l.gone("MachinePool", "mp")
}
