package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live"
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
}

// kinds are those of the server by the folder of their path.
var kinds = map[string]string{
	"cluster.x-k8s.io/v1beta2/clusters": "Cluster", "cluster.x-k8s.io/v1beta2/machines": "Machine", "cluster.x-k8s.io/v1beta2/machinedeployments": "MachineDeployment",
	"infrastructure.cluster.x-k8s.io/v1beta2/acmeclusters": "AcmeCluster", "infrastructure.cluster.x-k8s.io/v1beta2/acmemachines": "AcmeMachine",
	"ipam.cluster.x-k8s.io/v1beta2/ipaddressclaims": "IPAddressClaim", "ipam.cluster.x-k8s.io/v1alpha2/acmepools": "AcmePool",
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	path := strings.TrimPrefix(r.URL.Path, "/apis/")
	if r.URL.Path == "/apis" || strings.Count(path, "/") == 1 {
		f.discovery(w, r.URL.Path)
		return
	}
	if !strings.Contains(path, "/namespaces/ns/") {
		f.t.Errorf("%s %s: outside the namespace", r.Method, path)
	}
	if r.Method != http.MethodGet {
		f.writes = append(f.writes, r.Method+" "+path)
	}
	key := strings.TrimSuffix(path, "/status")
	o, ok := f.objects[key]
	if strings.Count(path, "/") == 4 { // a list, or what is created in it
		if r.Method == http.MethodGet {
			f.list(w, path)
			return
		}
		o, ok = f.create(r, path), true
		key += "/" + o["metadata"].(m)["name"].(string)
	}
	if !ok {
		w.WriteHeader(404)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`)
		return
	}
	switch r.Method {
	case http.MethodPatch:
		var patch m
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
			f.t.Error(err)
		}
		merge(o, patch)
		f.touch(o)
	case http.MethodDelete:
		if f.refuse != nil {
			if why := f.refuse(key); why != "" {
				w.WriteHeader(http.StatusForbidden)
				f.json(w, m{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": http.StatusForbidden, "message": why})
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
	for _, key := range slices.Sorted(maps.Keys(kinds)) {
		parts := strings.Split(key, "/")
		versions[parts[0]] = append(versions[parts[0]], m{"groupVersion": parts[0] + "/" + parts[1], "version": parts[1]})
		if path == "/apis/"+parts[0]+"/"+parts[1] {
			resources = append(resources, m{"name": parts[2], "kind": kinds[key], "namespaced": true}, m{"name": parts[2] + "/status", "kind": kinds[key], "namespaced": true})
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

func (f *fake) create(r *http.Request, path string) m {
	var o m
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		f.t.Error(err)
	}
	return f.put(path, o)
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
	clusterPath = "cluster.x-k8s.io/v1beta2/namespaces/ns/clusters"
	machinePath = "cluster.x-k8s.io/v1beta2/namespaces/ns/machines"
	infraPath   = "infrastructure.cluster.x-k8s.io/v1beta2/namespaces/ns/acmemachines"
)

// behave makes a Machine with its infrastructure for each Cluster, and removes both with
// it.
func behave(f *fake, method, path string) {
	name, ok := strings.CutPrefix(path, clusterPath+"/")
	if !ok || strings.HasPrefix(name, "drive-") {
		return
	}
	switch method {
	case http.MethodPost:
		f.put(machinePath, m{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": m{"name": "m"},
			"spec": m{"bootstrap": m{"dataSecretName": "m"}}, "status": m{"nodeRef": m{"name": "m"}}})
		f.put(infraPath, m{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AcmeMachine", "metadata": m{"name": "m", "finalizers": []any{"acme"}},
			"spec": m{"size": "big"}, "status": m{"initialization": m{"provisioned": true}}})
	case http.MethodDelete:
		delete(f.objects, machinePath+"/m")
		delete(f.objects, infraPath+"/m")
	}
}

func start(t *testing.T) (*fake, rest.Interface) {
	t.Helper()
	f := &fake{t: t, objects: map[string]m{}, react: behave}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	c, err := live.New(&rest.Config{Host: s.URL}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	return f, c.REST()
}

var template = []json.RawMessage{
	json.RawMessage(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"c"},"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AcmeCluster","name":"c"}}}`),
	json.RawMessage(`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AcmeCluster","metadata":{"name":"c"},"spec":{}}`),
	json.RawMessage(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineDeployment","metadata":{"name":"w"},"spec":{"replicas":1}}`),
	json.RawMessage(`{"apiVersion":"ipam.cluster.x-k8s.io/v1alpha2","kind":"AcmePool","metadata":{"name":"p"},"spec":{}}`),
}

// options are for a course without waits.
func options(said *[]string, journal *[]*record.Event) Options {
	return Options{
		Namespace: "ns", Objects: template, Hold: 8 * time.Millisecond, Settle: 4 * time.Millisecond, Provision: 3 * time.Second,
		Restart: func(context.Context) error { return nil },
		Say:     func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) },
		Record: func(line []byte) {
			e, err := record.Decode(line)
			if err != nil {
				panic(err)
			}
			*journal = append(*journal, e)
		},
	}
}

// TestCourse wants all steps, each write in the journal with the version that it made, no
// pause that lasts, and nothing left.
func TestCourse(t *testing.T) {
	f, client := start(t)
	var said []string
	var journal []*record.Event
	left, err := Run(t.Context(), client, options(&said, &journal))
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if len(said) != len(Steps) {
		t.Errorf("steps: %v", said)
	}
	actions := map[string]int{}
	for _, e := range journal {
		a := e.Note.Get("action")
		name := a.Get("name").Str()
		actions[name]++
		if name != "restart" && (a.Get("uid").Str() == "" || name != "delete" && a.Get("resourceVersion").Str() == "") {
			t.Errorf("the journal does not say which version: %s", a.Text())
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
	done := 0
	for name, n := range actions {
		if name != "restart" {
			done += n
		}
	}
	if done < len(f.writes) {
		t.Errorf("%d writes, but %d in the journal: %v", len(f.writes), done, f.writes)
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
		left, _ := Run(ctx, client, o)
		cancel()
		if len(left) > 0 || len(f.objects) > 0 {
			t.Errorf("%s: left %v; on the server %v", step.Name, left, slices.Sorted(maps.Keys(f.objects)))
		}
	}
}

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
	left, err := Run(t.Context(), client, options(&said, &journal))
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
		left, err := Run(t.Context(), client, options(&said, &journal))
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
		there   bool
		want    string
	}{
		"clusters":  {template, true, "already has 1 Clusters"},
		"elsewhere": {raw(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"c","namespace":"prod"}}`), false, "is in namespace prod"},
		"kind":      {raw(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`), false, "is not of a kind of Cluster API"},
		"nothing":   {nil, false, "holds no objects"},
	} {
		f, client := start(t)
		if c.there {
			f.put(clusterPath, m{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": m{"name": "theirs"}})
		}
		var said []string
		var journal []*record.Event
		o := options(&said, &journal)
		o.Objects = c.objects
		if _, err := Run(t.Context(), client, o); err == nil || !strings.Contains(err.Error(), c.want) {
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
	d := &driver{client: client}
	if err := d.discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("ipam.cluster.x-k8s.io/v1alpha2")
	o.SetKind("AcmePool")
	if k := d.of(o); k.version != "v1alpha2" || k.plural != "acmepools" || !k.status {
		t.Errorf("got %+v", k)
	}
}
