package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

type m = map[string]any

// fake is an API server with objects, on which a test acts as the controllers.
type fake struct {
	t       *testing.T
	mu      sync.Mutex
	objects map[string]m // by path
	version int
	writes  []string
	// react is called after each write, with the lock held.
	react func(f *fake, method, path string)
	// refuse is a webhook: what it returns is the reason for which a deletion is refused.
	refuse func(path string) string
	// fail makes the server fail to answer a request of an object or a list.
	fail func(method, path string) bool
	// count is how many requests came; before the one of the number die, or after it if
	// done is set, the connection breaks and every later one, as if the driver was killed.
	count, die int
	done       bool
	dead       func()
}

// served are the kinds of the server by the folder of their path.
var served = map[string]string{
	"cluster.x-k8s.io/v1beta2/clusters": "Cluster", "cluster.x-k8s.io/v1beta2/machines": "Machine", "cluster.x-k8s.io/v1beta2/machinedeployments": "MachineDeployment",
	"infrastructure.cluster.x-k8s.io/v1beta2/acmeclusters": "AcmeCluster", "infrastructure.cluster.x-k8s.io/v1beta2/acmemachines": "AcmeMachine",
	"ipam.cluster.x-k8s.io/v1beta2/ipaddressclaims": "IPAddressClaim", "ipam.cluster.x-k8s.io/v1alpha2/acmepools": "AcmePool",
}

func (f *fake) status(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	f.json(w, m{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": message})
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if f.die > 0 && f.count >= f.die {
		if f.dead != nil {
			f.dead()
			f.dead = nil
		}
		if f.count > f.die || !f.done {
			panic(http.ErrAbortHandler)
		}
		f.answer(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	f.answer(w, r)
}

func (f *fake) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
	switch {
	case r.URL.Path == "/api/v1/namespaces/kube-system":
		f.json(w, m{"metadata": m{"uid": "the-server"}})
		return
	case r.URL.Path == "/apis" || strings.Count(path, "/") == 1:
		f.discovery(w, r.URL.Path)
		return
	case !strings.Contains(path, "/namespaces/ns/"):
		f.t.Errorf("%s %s: outside the namespace", r.Method, path)
	}
	if strings.HasPrefix(path, "v1/") && (r.Method != http.MethodGet || !strings.HasPrefix(r.Header.Get("Accept"), "application/json;as=PartialObjectMetadataList")) {
		f.t.Errorf("%s %s: of Secrets only the metadata may be read", r.Method, path)
	}
	if f.fail != nil && f.fail(r.Method, path) {
		if f.count%2 == 0 {
			f.status(w, 429, "TooManyRequests", "the server has too much to do")
		} else {
			f.status(w, 500, "InternalError", "etcd is away")
		}
		return
	}
	if r.Method != http.MethodGet {
		f.writes = append(f.writes, r.Method+" "+path)
	}
	var body m
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			f.t.Errorf("%s %s: %v", r.Method, path, err)
		}
	}
	key := strings.TrimSuffix(path, "/status")
	o, ok := f.objects[key]
	if strings.HasSuffix(path, "s") && !ok { // a list, or what is created in it
		if r.Method == http.MethodGet {
			f.list(w, path)
			return
		}
		key += "/" + body["metadata"].(m)["name"].(string)
		if _, ok := f.objects[key]; ok {
			f.status(w, 409, "AlreadyExists", "it exists")
			return
		}
		o, ok = f.put(path, body), true
	}
	if !ok {
		f.status(w, 404, "NotFound", "not found")
		return
	}
	uid := o["metadata"].(m)["uid"]
	switch r.Method {
	case http.MethodPatch:
		if body["metadata"].(m)["uid"] != uid {
			f.status(w, 422, "Invalid", "metadata.uid: Invalid value: field is immutable")
			return
		}
		merge(o, body)
		f.touch(o)
		f.finish(key)
	case http.MethodDelete:
		if body["preconditions"].(m)["uid"] != uid {
			f.status(w, 409, "Conflict", "the UID in the precondition is another one")
			return
		}
		if f.refuse != nil {
			if why := f.refuse(key); why != "" {
				f.status(w, http.StatusForbidden, "Forbidden", why)
				return
			}
		}
		f.remove(key)
	}
	if f.react != nil && r.Method != http.MethodGet {
		f.react(f, r.Method, key)
	}
	f.json(w, o)
}

func (f *fake) json(w io.Writer, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		f.t.Error(err)
	}
}

func (f *fake) discovery(w io.Writer, path string) {
	versions := map[string][]any{}
	var resources []any
	for _, key := range slices.Sorted(maps.Keys(served)) {
		parts := strings.Split(key, "/")
		versions[parts[0]] = append(versions[parts[0]], m{"groupVersion": parts[0] + "/" + parts[1], "version": parts[1]})
		if path == "/apis/"+parts[0]+"/"+parts[1] {
			resources = append(resources, m{"name": parts[2], "kind": served[key], "namespaced": true, "verbs": []any{"list", "watch"}}, m{"name": parts[2] + "/status", "kind": served[key], "namespaced": true})
		}
	}
	if path != "/apis" {
		f.json(w, m{"kind": "APIResourceList", "resources": resources})
		return
	}
	var groups []any
	for group, all := range versions {
		groups = append(groups, m{"name": group, "versions": all, "preferredVersion": all[len(all)-1]})
	}
	f.json(w, m{"kind": "APIGroupList", "groups": groups})
}

func (f *fake) list(w io.Writer, path string) {
	items := []any{}
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		if strings.HasPrefix(key, path+"/") {
			items = append(items, f.objects[key])
		}
	}
	f.json(w, m{"kind": "List", "apiVersion": "v1", "metadata": m{}, "items": items})
}

func (f *fake) touch(o m) {
	f.version++
	o["metadata"].(m)["resourceVersion"] = strconv.Itoa(f.version)
}

func (f *fake) put(path string, o m) m {
	f.touch(o)
	meta := o["metadata"].(m)
	meta["uid"] = "uid-" + strconv.Itoa(f.version)
	meta["namespace"] = "ns"
	f.objects[path+"/"+meta["name"].(string)] = o
	return o
}

// remove deletes an object, which stays with its finalizers.
func (f *fake) remove(key string) {
	meta := f.objects[key]["metadata"].(m)
	if list, _ := meta["finalizers"].([]any); len(list) > 0 {
		meta["deletionTimestamp"] = "2026-11-22T10:00:00Z"
		return
	}
	delete(f.objects, key)
}

// finish lets a deleted object go when it has no finalizers left.
func (f *fake) finish(key string) {
	meta := f.objects[key]["metadata"].(m)
	if list, _ := meta["finalizers"].([]any); len(list) == 0 && meta["deletionTimestamp"] != nil {
		delete(f.objects, key)
	}
}

func merge(o, patch m) {
	for k, v := range patch {
		if v == nil {
			delete(o, k)
			continue
		}
		if sub, ok := v.(m); ok {
			old, _ := o[k].(m)
			if old == nil {
				old = m{}
				o[k] = old
			}
			merge(old, sub)
			continue
		}
		o[k] = v
	}
}

const (
	clusterPath    = "cluster.x-k8s.io/v1beta2/namespaces/ns/clusters"
	machinePath    = "cluster.x-k8s.io/v1beta2/namespaces/ns/machines"
	deploymentPath = "cluster.x-k8s.io/v1beta2/namespaces/ns/machinedeployments"
	infraPath      = "infrastructure.cluster.x-k8s.io/v1beta2/namespaces/ns/acmemachines"
)

// behave makes a Machine with its infrastructure for each MachineDeployment. The provider
// sets the finalizer of its objects again, but not while the Cluster is paused, and lets
// them go with the Cluster.
func behave(f *fake, method, path string) {
	switch name := path[strings.LastIndexByte(path, '/')+1:]; {
	case method == http.MethodPost && path == deploymentPath+"/w":
		owned := func(kind, name string, by m) m {
			return m{"name": name, "ownerReferences": []any{m{"kind": kind, "uid": by["metadata"].(m)["uid"], "controller": true}}}
		}
		machine := f.put(machinePath, m{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": owned("MachineDeployment", "m", f.objects[path]),
			"spec": m{"bootstrap": m{"dataSecretName": "m"}}, "status": m{"nodeRef": m{"name": "m"}}})
		f.put(infraPath, m{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AcmeMachine", "metadata": owned("Machine", "m", machine),
			"spec": m{"size": "big"}, "status": m{"initialization": m{"provisioned": true}}})
	case method == http.MethodDelete && path == machinePath+"/m", method == http.MethodDelete && path == clusterPath+"/c":
		for _, key := range []string{machinePath + "/m", infraPath + "/m"} {
			if f.objects[key] != nil {
				f.objects[key]["metadata"].(m)["finalizers"] = nil
				f.remove(key)
			}
		}
		return
	case strings.HasPrefix(name, "theirs"):
		f.t.Errorf("%s %s: that is not the driver's", method, path)
	}
	c, _ := f.objects[clusterPath+"/c"]["spec"].(m)
	if infra := f.objects[infraPath+"/m"]; infra != nil && c["paused"] != true && infra["metadata"].(m)["deletionTimestamp"] == nil {
		infra["metadata"].(m)["finalizers"] = []any{"acme"}
	}
}

func start(t *testing.T) (*fake, *Cluster) {
	t.Helper()
	f := &fake{t: t, objects: map[string]m{}, react: behave}
	s := httptest.NewServer(f)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Close)
	c := given.Value(connect(&rest.Config{Host: s.URL}, "ns"))(t)
	return f, c
}

// strangers puts objects of other people into the namespace, some of which belong to the
// Cluster of the driver by name, and one that looks like what the driver makes.
func (f *fake) strangers() {
	ref := func(path string) []any {
		if o := f.objects[path]; o != nil {
			return []any{m{"kind": "Cluster", "name": "c", "uid": o["metadata"].(m)["uid"], "controller": false}}
		}
		return []any{}
	}
	f.put(clusterPath, m{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": m{"name": "theirs"}, "spec": m{"paused": true}})
	f.put(machinePath, m{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": m{"name": "theirs", "finalizers": []any{"core"}, "ownerReferences": ref(clusterPath + "/c")}, "spec": m{"clusterName": "c"}, "status": m{"nodeRef": m{"name": "x"}}})
	f.put(deploymentPath, m{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": m{"name": "theirs", "ownerReferences": ref(clusterPath + "/c")}, "spec": m{"clusterName": "c", "replicas": 3}})
	f.put(infraPath, m{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AcmeMachine", "metadata": m{"name": "theirs", "finalizers": []any{"acme"}, "labels": m{"cluster.x-k8s.io/cluster-name": "c"},
		"annotations": m{pausedMark: ""}, "ownerReferences": []any{m{"kind": "Machine", "name": "theirs", "uid": "else", "controller": true}}}, "spec": m{"size": "big"}, "status": m{"ready": true}})
	f.put("ipam.cluster.x-k8s.io/v1beta2/namespaces/ns/ipaddressclaims", m{"apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddressClaim", "metadata": m{"name": "theirs"}, "spec": m{"clusterName": "c"}})
}

// of are the objects of strangers, as text, or those that are not.
func (f *fake) of(strangers bool) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]string{}
	for key, o := range f.objects {
		if strings.Contains(key, "theirs") == strangers {
			data, err := json.Marshal(o)
			if err != nil {
				f.t.Error(err)
			}
			out[key] = string(data)
		}
	}
	return out
}

var template = []json.RawMessage{
	json.RawMessage(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"c"},"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AcmeCluster","name":"c"}}}`),
	json.RawMessage(`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AcmeCluster","metadata":{"name":"c"},"spec":{}}`),
	json.RawMessage(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineDeployment","metadata":{"name":"w"},"spec":{"replicas":1}}`),
	json.RawMessage(`{"apiVersion":"ipam.cluster.x-k8s.io/v1alpha2","kind":"AcmePool","metadata":{"name":"p"},"spec":{}}`),
}

// options are for a course without waits.
func options(said *[]string, journal *[]*record.Event) Course {
	return Course{
		Namespace: "ns", Objects: template, Hold: 8 * time.Millisecond, Settle: 4 * time.Millisecond, Provision: 3 * time.Second,
		Restart: func(context.Context) error { return nil },
		Say:     func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) },
		Record: func(line []byte) error {
			e, err := record.Decode(line)
			*journal = append(*journal, e)
			return err
		},
	}
}

// TestCourse wants all steps, each write in the journal with the version that it made, no
// pause that lasts, and nothing left.
func TestCourse(t *testing.T) {
	f, client := start(t)
	var said []string
	var journal []*record.Event
	left, err := client.Drive(t.Context(), options(&said, &journal))
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if len(said) != len(Steps) {
		t.Errorf("steps: %v", said)
	}
	actions, versions := map[string]int{}, 0
	for _, e := range journal {
		a := e.Note.Get("action")
		name := a.Get("name").Str()
		actions[name]++
		if a.Get("resourceVersion").Str() != "" {
			versions++
		}
	}
	for _, name := range []string{"create", "pause", "unpause", "poke", "scale", "annotate", "strip", "wipe", "managed", "orphan", "claim", "restart", "delete"} {
		if actions[name] == 0 {
			t.Errorf("no action %s", name)
		}
	}
	if actions["pause"] > actions["unpause"] {
		t.Errorf("%d pauses, but only %d ends", actions["pause"], actions["unpause"])
	}
	writes := len(f.writes) - actions["delete"]
	if actions["poke"] == 0 || versions != writes {
		t.Errorf("%d writes, but the journal has the versions of %d: %v", writes, versions, f.writes)
	}
	if len(f.objects) > 0 {
		t.Errorf("left on the server: %v", slices.Sorted(maps.Keys(f.objects)))
	}
}

// TestInterrupted ends a course in the middle of each step: nothing stays, not even the
// pause.
func TestInterrupted(t *testing.T) {
	for _, step := range Steps {
		f, client := start(t)
		var said []string
		var journal []*record.Event
		o := options(&said, &journal)
		ctx, cancel := context.WithCancel(t.Context())
		say := o.Say
		o.Say = func(format string, args ...any) {
			say(format, args...)
			if args[0] == step.Name {
				time.AfterFunc(2*time.Millisecond, cancel)
			}
		}
		left, _ := client.Drive(ctx, o)
		cancel()
		if len(left) > 0 || len(f.objects) > 0 {
			t.Errorf("%s: left %v; on the server %v", step.Name, left, slices.Sorted(maps.Keys(f.objects)))
		}
	}
}

// A write that has begun outlasts the interruption, but ends.
func TestWriteEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := &http.Client{Transport: doing(func(r *http.Request) (*http.Response, error) {
			cancel()
			begun := time.Now()
			<-r.Context().Done()
			if took := time.Since(begun); took != finish {
				t.Errorf("the write ended after %s", took)
			}
			return nil, r.Context().Err()
		})}
		r := rest.NewRequestWithClient(&url.URL{Scheme: "https", Host: "a"}, "", rest.ClientContentConfig{}, client)
		if _, err := write(ctx, r.Verb("PUT")); err == nil {
			t.Error("the write succeeded")
		}
	})
}

type doing func(*http.Request) (*http.Response, error)

func (d doing) RoundTrip(r *http.Request) (*http.Response, error) { return d(r) }

// TestLeft names what the controllers do not let go.
func TestLeft(t *testing.T) {
	f, client := start(t)
	f.react = func(f *fake, method, path string) {
		behave(f, method, path)
		if o := f.objects[path]; method == http.MethodPost && strings.HasSuffix(path, "/drive-foreign") {
			o["metadata"].(m)["finalizers"] = []any{"wrong"}
		}
	}
	var said []string
	var journal []*record.Event
	left, err := client.Drive(t.Context(), options(&said, &journal))
	if want := []string{"IPAddressClaim ns/drive-foreign"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("got %v, %v", left, err)
	}
}

// TestAsksAgain has a webhook that refuses to delete the pool, once and for ever.
func TestAsksAgain(t *testing.T) {
	for times, want := range map[int][]string{1: nil, 1000: {"AcmePool ns/p (addresses are taken)"}} {
		f, client := start(t)
		asked := 0
		f.refuse = func(path string) string {
			if !strings.HasSuffix(path, "/acmepools/p") {
				return ""
			}
			if asked++; asked > times {
				return ""
			}
			return "addresses are taken"
		}
		var said []string
		var journal []*record.Event
		left, err := client.Drive(t.Context(), options(&said, &journal))
		if err != nil || !slices.Equal(left, want) {
			t.Errorf("refused %d times: got %v, %v", times, left, err)
		}
	}
}

// TestRefuses wants no write where the driver must not act.
func TestRefuses(t *testing.T) {
	raw := func(text string) []json.RawMessage { return []json.RawMessage{json.RawMessage(text)} }
	for name, c := range map[string]struct {
		objects []json.RawMessage
		there   string // where something is
		want    string
	}{
		"clusters":  {template, clusterPath, "already has Cluster theirs"},
		"machines":  {template, infraPath, "already has AcmeMachine theirs"},
		"claims":    {template, "ipam.cluster.x-k8s.io/v1beta2/namespaces/ns/ipaddressclaims", "already has IPAddressClaim theirs"},
		"secrets":   {template, "v1/namespaces/ns/secrets", "already has Secret c-theirs, which"},
		"nameless":  {raw(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"generateName":"c"}}`), "", "has no name"},
		"elsewhere": {raw(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"c","namespace":"prod"}}`), "", "is in namespace prod"},
		"kind":      {raw(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`), "", "is not of a namespaced kind of Cluster API"},
		"nothing":   {nil, "", "holds no objects"},
	} {
		f, client := start(t)
		if kind := served[strings.Replace(c.there, "/namespaces/ns", "", 1)]; c.there != "" {
			f.put(c.there, m{"apiVersion": c.there[:strings.Index(c.there, "/namespaces")], "kind": cmp.Or(kind, "PartialObjectMetadata"), "metadata": m{"name": map[bool]string{true: "theirs", false: "c-theirs"}[kind != ""]}})
		}
		f.put("v1/namespaces/ns/secrets", m{"apiVersion": "v1", "kind": "PartialObjectMetadata", "metadata": m{"name": "c2"}}) // of another
		var said []string
		var journal []*record.Event
		o := options(&said, &journal)
		o.Objects = c.objects
		if _, err := client.Drive(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
		if len(f.writes) > 0 {
			t.Errorf("%s: wrote %v", name, f.writes)
		}
	}
}

// TestPreferredVersion wants kinds that the preferred version of their group lacks.
func TestPreferredVersion(t *testing.T) {
	_, client := start(t)
	d := given.Value(client.driver(t.Context(), Course{}))(t)
	if k := d.kind("ipam.cluster.x-k8s.io", "AcmePool"); k.version != "v1alpha2" || k.plural != "acmepools" || !k.status {
		t.Errorf("got %+v", k)
	}
}

// TestFailing lets the server fail for a while in the middle of each step: nothing is left
// paused, and nothing at all at the end. A step that could not do its work is an error.
func TestFailing(t *testing.T) {
	for _, what := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		for _, times := range []int{2, 12} {
			for i := 1; i < 6; i++ {
				f, client := start(t)
				var said []string
				var journal []*record.Event
				pauses, failed := 0, 0
				f.fail = func(method, path string) bool {
					if method == http.MethodPatch && path == clusterPath+"/c" {
						pauses++
					}
					if pauses >= 2*i-1 && method == what && failed < times {
						failed++
						return true
					}
					return false
				}
				o := options(&said, &journal)
				o.Provision = 10 * time.Second
				left, err := client.Drive(t.Context(), o)
				if len(left) > 0 || len(f.objects) > 0 {
					t.Errorf("%d × %s after pause %d: left %v; on the server %v", times, what, i, left, slices.Sorted(maps.Keys(f.objects)))
				}
				if times < tries && err != nil {
					t.Errorf("%d × %s after pause %d: %v", times, what, i, err)
				}
			}
		}
	}
}

// TestPauseEnds has a server whose lists fail from the middle of a pause on: the pause ends
// all the same.
func TestPauseEnds(t *testing.T) {
	f, client := start(t)
	var said []string
	var journal []*record.Event
	paused, ended := false, false
	f.fail = func(method, path string) bool {
		if method == http.MethodPatch && path == clusterPath+"/c" {
			ended, paused = paused, true
		}
		return method == http.MethodGet && paused
	}
	o := options(&said, &journal)
	o.Provision = 20 * time.Millisecond
	left, err := client.Drive(t.Context(), o)
	if c, _ := f.objects[clusterPath+"/c"]["spec"].(m); !ended || c["paused"] == true {
		t.Errorf("the Cluster stays paused: %v", c)
	}
	if err == nil || len(left) == 0 {
		t.Errorf("nobody hears that the lists failed: %v, %v", left, err)
	}
}

// TestKilled kills the driver at each of its requests, before the server does it and after,
// while strangers work in the same namespace. A rerun with the same journal leaves nothing
// behind, and nothing of the strangers is different.
func TestKilled(t *testing.T) {
	f, client := start(t)
	var said []string
	var journal []*record.Event
	if left, err := client.Drive(t.Context(), options(&said, &journal)); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	killed, step := 0, share.Of(7, 1)
	for die := 1; die <= f.count; die += step {
		for _, done := range []bool{false, true} {
			killed++
			killAt(t, die, done)
		}
	}
	t.Logf("killed at %d of %d requests", killed, 2*f.count)
}

func killAt(t *testing.T, die int, done bool) {
	f, client := start(t)
	var said []string
	var journal []*record.Event
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dead := false
	f.die, f.done = die, done
	f.dead = func() { dead = true; cancel() }
	o := options(&said, &journal)
	o.Provision = 20 * time.Millisecond
	write := o.Record
	o.Record = func(line []byte) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if dead {
			return errors.New("killed")
		}
		return write(line)
	}
	say, put := o.Say, false
	o.Say = func(format string, args ...any) { // strangers come when the Cluster is there
		say(format, args...)
		f.mu.Lock()
		defer f.mu.Unlock()
		if args[0] == "pause-early" && !put {
			put = true
			f.strangers()
		}
	}
	_, _ = client.Drive(ctx, o)
	f.mu.Lock()
	f.die, f.react = 0, behave
	f.mu.Unlock()
	before := f.of(true)
	var j Journal
	for _, e := range journal {
		j.Add(e)
	}
	if j.Open() {
		o.Provision = time.Minute
		left, err := client.Undo(t.Context(), o, &j)
		if err != nil || len(left) > 0 {
			t.Errorf("killed at request %d, done %t: left %v, %v", die, done, left, err)
		}
	}
	if rest := f.of(false); len(rest) > 0 {
		t.Errorf("killed at request %d, done %t: after the rerun there is %v", die, done, slices.Sorted(maps.Keys(rest)))
	}
	if after := f.of(true); !maps.Equal(before, after) || put && len(after) != 5 {
		t.Errorf("killed at request %d, done %t: strangers had %v and have %v", die, done, before, after)
	}
}

// TestStrangers works beside strangers for the whole course, and meets an object that has
// taken the name of one of its own.
func TestStrangers(t *testing.T) {
	f, client := start(t)
	var said []string
	var journal []*record.Event
	o := options(&said, &journal)
	say := o.Say
	o.Say = func(format string, args ...any) {
		say(format, args...)
		f.mu.Lock()
		defer f.mu.Unlock()
		switch args[0] {
		case "provision":
			f.strangers()
		case "wipe":
			delete(f.objects, deploymentPath+"/w")
			f.put(deploymentPath, m{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": m{"name": "w"}, "spec": m{"replicas": 7}})
		}
	}
	var before map[string]string
	o.Restart = func(context.Context) error { before = f.of(true); return nil }
	left, err := client.Drive(t.Context(), o)
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if after := f.of(true); len(after) != 5 || !maps.Equal(before, after) {
		t.Errorf("strangers had %v and have %v", before, after)
	}
	if rest := f.of(false); len(rest) != 1 || !strings.Contains(rest[deploymentPath+"/w"], `"replicas":7`) {
		t.Errorf("the MachineDeployment that took the name of ours: %v", rest)
	}
}
