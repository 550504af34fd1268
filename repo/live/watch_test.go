package live

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const (
	clustersURL = "/apis/cluster.x-k8s.io/v1beta2/clusters"
	machinesURL = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/acmemachines"
	secretsURL  = "/api/v1/secrets"
	leasesURL   = "/apis/coordination.k8s.io/v1/leases"
)

// watched is an API server whose answers a test gives.
type watched struct {
	t  *testing.T
	mu sync.Mutex
	// requests are the paths of LIST and WATCH requests, with "watch " before the latter
	// and its resourceVersion after it.
	requests []string
	open     map[string]int // watches by path
	most     int            // watches of one path at the same time
	lists    map[string][]string
	version  string
	denied   map[string]bool
	events   map[string]chan string // lines of watches; closing one ends the watch
	groups   map[string][]string    // group/version: kinds
}

func newWatched(t *testing.T) *watched {
	return &watched{
		t: t, open: map[string]int{}, lists: map[string][]string{}, version: "10", denied: map[string]bool{}, events: map[string]chan string{},
		groups: map[string][]string{"cluster.x-k8s.io/v1beta2": {"Cluster"}, "infrastructure.cluster.x-k8s.io/v1beta2": {"AcmeMachine"}},
	}
}

func (f *watched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		f.t.Errorf("%s %s: only GET is allowed", r.Method, r.URL)
	}
	w.Header().Set("Content-Type", "application/json")
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/apis/")
	switch kinds, ok := f.groups[path]; {
	case r.URL.Path == "/apis":
		f.serveGroups(w)
	case ok:
		var out []any
		for _, kind := range kinds {
			out = append(out, map[string]any{"name": strings.ToLower(kind) + "s", "kind": kind, "namespaced": kind != "GlobalPool", "verbs": []string{"list", "watch"}},
				map[string]any{"name": strings.ToLower(kind) + "s/status", "kind": kind, "namespaced": true, "verbs": []string{"get"}})
		}
		f.json(w, map[string]any{"kind": "APIResourceList", "resources": out})
	case r.URL.Path == "/api/v1/namespaces/kube-system":
		f.json(w, map[string]any{"metadata": map[string]any{"uid": "the-server"}})
	case f.denied[r.URL.Path]:
		f.refuse(w, 403, "Forbidden", "User \"u\" cannot list resource")
	case r.URL.Query().Get("watch") == "true":
		f.watch(w, r)
	case !f.serves(r.URL.Path):
		f.refuse(w, 404, "NotFound", "the server could not find the requested resource")
	default:
		f.requests = append(f.requests, r.URL.Path)
		fmt.Fprintf(w, `{"kind":"List","metadata":{"resourceVersion":%q},"items":[%s]}`, f.version, strings.Join(f.lists[r.URL.Path], ","))
	}
}

// serves reports whether a path belongs to a kind that the server has.
func (f *watched) serves(path string) bool {
	for gv, kinds := range f.groups {
		for _, kind := range kinds {
			if path == "/apis/"+gv+"/"+strings.ToLower(kind)+"s" {
				return true
			}
		}
	}
	return path == secretsURL || path == leasesURL
}

func (f *watched) serveGroups(w http.ResponseWriter) {
	var out []any
	for gv := range f.groups {
		group, version, _ := strings.Cut(gv, "/")
		v := map[string]any{"groupVersion": gv, "version": version}
		out = append(out, map[string]any{"name": group, "versions": []any{v}, "preferredVersion": v})
	}
	f.json(w, map[string]any{"kind": "APIGroupList", "groups": out})
}

func (f *watched) json(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		f.t.Error(err)
	}
}

func (f *watched) refuse(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	f.json(w, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}

// watch sends the lines of the channel of the path until it is closed. The caller holds
// the lock, which is free meanwhile.
func (f *watched) watch(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	f.requests = append(f.requests, "watch "+path+" "+r.URL.Query().Get("resourceVersion"))
	f.open[path]++
	f.most = max(f.most, f.open[path])
	lines := f.events[path]
	f.mu.Unlock()
	defer func() { f.mu.Lock(); f.open[path]-- }()
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case line, ok := <-lines:
			if !ok {
				return
			}
			fmt.Fprintln(w, line)
			w.(http.Flusher).Flush()
		}
	}
}

// channel makes the events that the next watch of a path sends.
func (f *watched) channel(path string) chan string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events[path] = make(chan string)
	return f.events[path]
}

func (f *watched) change(do func()) { f.mu.Lock(); defer f.mu.Unlock(); do() }

// count counts requests that begin with a text.
func (f *watched) count(prefix string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

// recorder collects the lines of a watch.
type recorder struct {
	mu    sync.Mutex
	lines []*record.Event
	raw   []string
}

func (r *recorder) sink(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := record.Decode(line)
	if err != nil {
		panic(err)
	}
	r.lines, r.raw = append(r.lines, e), append(r.raw, string(line))
}

// what is "TYPE name version", with "!" for what a list told.
func (r *recorder) what() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.lines {
		if e.Object.Exists() {
			mark := ""
			if e.Initial {
				mark = "!"
			}
			meta := e.Object.Get("metadata")
			out = append(out, e.Type+mark+" "+meta.Get("name").Str()+" "+meta.Get("resourceVersion").Str())
		}
	}
	return out
}

// begin starts a watch and stops it when the test ends.
func (f *watched) begin(r *recorder, o WatchOptions) {
	server := httptest.NewServer(f)
	c, err := connect(&rest.Config{Host: server.URL}, "t")
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- c.watch(ctx, o, pace{50 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}, r.sink)
	}()
	f.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
	})
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func machineJSON(name, version string) string {
	return fmt.Sprintf(`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AcmeMachine","metadata":{"name":%q,"namespace":"t","uid":"uid-%s","resourceVersion":%q}}`, name, name, version)
}

func eventJSON(kind, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object)
}

// TestGlobalKinds: a kind without namespaces is watched in the whole cluster. Kinds are
// sorted by group; those of others are left out.
func TestGlobalKinds(t *testing.T) {
	f := newWatched(t)
	f.groups = map[string][]string{
		"infrastructure.cluster.x-k8s.io/v1beta2": {"GlobalPool", "AcmeMachine"},
		"bootstrap.cluster.x-k8s.io/v1":           {"ZetaConfig"},
		"mycluster.x-k8s.io/v1":                   {"Other"},
	}
	server := httptest.NewServer(f)
	defer server.Close()
	c := given.Value(connect(&rest.Config{Host: server.URL}, "t"))(t)
	const group = "/apis/infrastructure.cluster.x-k8s.io/v1beta2"
	want := []string{"/apis/bootstrap.cluster.x-k8s.io/v1/namespaces/t/zetaconfigs",
		group + "/namespaces/t/acmemachines", group + "/globalpools"}
	var got []string
	for _, kind := range given.Value(c.kinds(t.Context()))(t) {
		got = append(got, kind.path("t"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReconnect lets the server end a watch, which is resumed where it ended, and forget
// old versions, which leads to a list whose differences are told.
func TestReconnect(t *testing.T) {
	f, r := newWatched(t), &recorder{}
	f.lists[machinesURL] = []string{machineJSON("a", "5"), machineJSON("b", "6")}
	first := f.channel(machinesURL)
	f.begin(r, WatchOptions{})
	first <- eventJSON("MODIFIED", machineJSON("a", "11"))
	first <- eventJSON("BOOKMARK", machineJSON("", "20"))
	second := f.channel(machinesURL)
	close(first)
	second <- eventJSON("ADDED", machineJSON("c", "21"))
	if n := f.count("watch " + machinesURL + " 20"); n != 1 {
		t.Errorf("%d watches from the bookmark", n)
	}
	if n := f.count(machinesURL); n != 1 {
		t.Errorf("%d lists before the version expired", n)
	}
	f.change(func() {
		f.lists[machinesURL] = []string{machineJSON("a", "30"), machineJSON("c", "21")}
		f.version = "31"
	})
	second <- eventJSON("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired","message":"too old"}`)
	close(f.channel(machinesURL)) // the next watch ends at once; it must not be asked again and again
	eventually(t, "second list", func() bool { return f.count(machinesURL) == 2 && f.count("watch "+machinesURL+" 31") > 0 })
	want := []string{"ADDED! a 5", "ADDED! b 6", "MODIFIED a 11", "ADDED c 21", "MODIFIED! a 30", "DELETED! b 6"}
	eventually(t, "events", func() bool { return slices.Equal(r.what(), want) })
	if f.most != 1 {
		t.Errorf("%d watches of a resource at the same time", f.most)
	}
	before, start := f.count("watch "+machinesURL), time.Now()
	time.Sleep(100 * time.Millisecond)
	if n, span := f.count("watch "+machinesURL)-before, time.Since(start); time.Duration(n)*100*time.Millisecond > 12*span {
		t.Errorf("%d watches within %v of a server that ends them at once", n, span)
	}
}

// TestRights wants resources that must not be read to be named once.
func TestRights(t *testing.T) {
	f, r := newWatched(t), &recorder{}
	f.denied[secretsURL] = true
	f.begin(r, WatchOptions{})
	eventually(t, "list of machines", func() bool { return f.count(machinesURL) == 1 })
	denied := func() (out []*record.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, e := range r.lines {
			if e.Type == record.Denied {
				out = append(out, e)
			}
		}
		return out
	}
	eventually(t, "a line about rights", func() bool { return len(denied()) > 0 })
	time.Sleep(100 * time.Millisecond) // for more of them
	lines := denied()
	for _, e := range lines {
		if e.Note.Get("resource").Str() != "secrets" || !strings.Contains(e.Note.Get("reason").Str(), "cannot list") {
			t.Errorf("got %s", e.Note.Text())
		}
	}
	if len(lines) != 1 {
		t.Errorf("%d lines say that Secrets cannot be read", len(lines))
	}
}

// TestDefinitionsChange lets kinds come, and change their version, while others are
// watched.
func TestDefinitionsChange(t *testing.T) {
	f, r := newWatched(t), &recorder{}
	f.begin(r, WatchOptions{})
	eventually(t, "first lists", func() bool { return f.count("watch "+machinesURL) == 1 && f.count("watch "+clustersURL) == 1 })
	f.change(func() { f.groups["bootstrap.cluster.x-k8s.io/v1beta1"] = []string{"AcmeConfig"} })
	const v1beta1, v1beta2 = "/apis/bootstrap.cluster.x-k8s.io/v1beta1/acmeconfigs", "/apis/bootstrap.cluster.x-k8s.io/v1beta2/acmeconfigs"
	gone := f.channel(v1beta1)
	eventually(t, "new kind", func() bool { return f.count("watch "+v1beta1) == 1 })
	f.change(func() {
		delete(f.groups, "bootstrap.cluster.x-k8s.io/v1beta1")
		f.groups["bootstrap.cluster.x-k8s.io/v1beta2"] = []string{"AcmeConfig"}
	})
	gone <- eventJSON("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Gone","message":"changed"}`)
	eventually(t, "new version", func() bool { return f.count("watch "+v1beta2) == 1 })
	if n := f.count(machinesURL); n != 1 {
		t.Errorf("%d lists of a resource that did not change", n)
	}
}

// TestSecrets wants names and sizes, never values.
func TestSecrets(t *testing.T) {
	f, r := newWatched(t), &recorder{}
	value := base64.StdEncoding.EncodeToString([]byte("hunter2"))
	object := func(version string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"t","uid":"s","resourceVersion":%q,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hunter2"}},"data":{"value":%q},"stringData":{"x":"hunter2"}}`, version, value)
	}
	f.lists[secretsURL] = []string{object("1")}
	events := f.channel(secretsURL)
	f.begin(r, WatchOptions{})
	events <- eventJSON("MODIFIED", object("11"))
	eventually(t, "two versions", func() bool { return len(r.what()) == 2 })
	for i, line := range r.raw {
		if strings.Contains(line, "hunter2") || strings.Contains(line, value) {
			t.Errorf("the recording holds a secret: %s", line)
		}
		if e := r.lines[i]; e.Object.Exists() {
			if n, _ := e.Object.Get("data", "value").Int(); n != 7 {
				t.Errorf("size %d", n)
			}
		}
	}
}

// TestLeases wants only changes of the holder, not that it still holds.
func TestLeases(t *testing.T) {
	f, r := newWatched(t), &recorder{}
	lease := func(version, holder string) string {
		return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l","namespace":"acme-system","uid":"l","resourceVersion":%q},"spec":{"holderIdentity":%q,"renewTime":%q}}`, version, holder, version)
	}
	f.lists[leasesURL] = []string{lease("1", "a")}
	events := f.channel(leasesURL)
	f.begin(r, WatchOptions{Namespace: "t"})
	events <- eventJSON("MODIFIED", lease("11", "a"))
	events <- eventJSON("MODIFIED", lease("12", "b"))
	eventually(t, "two versions", func() bool { return slices.Equal(r.what(), []string{"ADDED! l 1", "MODIFIED l 12"}) })
}

// TestLarge watches ten thousand machines with one LIST and one WATCH.
func TestLarge(t *testing.T) {
	f, r := newWatched(t), &recorder{}
	const n = 10000
	for i := range n {
		f.lists[machinesURL] = append(f.lists[machinesURL], machineJSON(fmt.Sprintf("m%d", i), fmt.Sprint(i+1)))
	}
	events := f.channel(machinesURL)
	f.begin(r, WatchOptions{})
	events <- eventJSON("MODIFIED", machineJSON("m7", "20000"))
	eventually(t, "all machines", func() bool { return len(r.what()) == n+1 })
	if n := f.count(machinesURL) + f.count("watch "+machinesURL); n != 2 {
		t.Errorf("%d requests for the machines", n)
	}
}

// TestUnreachable wants an error if the server does not answer at the beginning.
func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c := given.Value(connect(&rest.Config{Host: server.URL}, "t"))(t)
	if err := c.Watch(t.Context(), WatchOptions{}, func([]byte) {}); err == nil {
		t.Error("no error")
	}
}
