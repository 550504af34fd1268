package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"k8s.io/client-go/rest"
)

// fixed is an API server that gives fixed answers and remembers the questions.
type fixed struct {
	answers map[string]string // by path, and by path and token of a page
	mu      sync.Mutex
	asked   []string
}

func (f *fixed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if token := r.URL.Query().Get("continue"); token != "" {
		path += " " + token
	}
	if r.URL.Query().Get("limit") == "0" {
		path += " all"
	}
	f.mu.Lock()
	f.asked = append(f.asked, r.Method+" "+path+" "+r.Header.Get("Accept"))
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer, ok := f.answers[path]
	status := func(code int, reason string) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"said the server","code":%d}`, reason, code)
	}
	switch {
	case !ok:
		status(404, "NotFound")
	case answer == "forbidden":
		status(403, "Forbidden")
	case answer == "unauthorized":
		status(401, "Unauthorized")
	case answer == "gone":
		status(410, "Expired")
	default:
		fmt.Fprint(w, answer)
	}
}

const secretToken = "do-not-tell"

func serveFixed(t *testing.T, answers map[string]string) (*fixed, *Cluster) {
	t.Helper()
	f := &fixed{answers: answers}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	c := given.Value(connect(&rest.Config{Host: s.URL, BearerToken: secretToken}, ""))(t)
	return f, c
}

func list(kind string, items ...string) string {
	return fmt.Sprintf(`{"kind":"%sList","apiVersion":"x/v1","metadata":{},"items":[%s]}`, kind, strings.Join(items, ","))
}

func page(next, item string) string {
	return fmt.Sprintf(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":%q},"items":[%s]}`, next, item)
}

func item(name, namespace, more string) string {
	return fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":%q,"namespace":%q}%s}`, name, namespace, more)
}

func definition(group, version, kind, scope, label string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"%s.%s","labels":{%s}},"spec":{"group":%q,"scope":%q,"names":{"kind":%q,"plural":%q},"versions":[{"name":"old","storage":false},{"name":%q,"storage":true}]}}`,
		plural, group, label, group, scope, kind, plural, version)
}

const byClusterctl = `"clusterctl.cluster.x-k8s.io":""`

// management answers as a management cluster.
func management() map[string]string {
	definitions := list("CustomResourceDefinition",
		definition("cluster.x-k8s.io", "v1beta2", "Cluster", "Namespaced", byClusterctl),
		strings.ReplaceAll(definition("cluster.x-k8s.io", "v1beta2", "ClusterClass", "Namespaced", byClusterctl), "clusterclasss", "clusterclasses"),
		definition("foo", "v1", "Foo", "Namespaced", byClusterctl),
		definition("foo", "v1", "Template", "Namespaced", ""),
		definition("foo", "v1", "Hidden", "Namespaced", ""),
		definition("foo", "v1", "Global", "Cluster", byClusterctl),
		definition("foo", "v9", "Unserved", "Namespaced", byClusterctl),
		definition("clusterctl.cluster.x-k8s.io", "v1alpha3", "Provider", "Namespaced", ""),
	)
	cluster := func(name, namespace, class string) string {
		return fmt.Sprintf(`{"kind":"Cluster","apiVersion":"cluster.x-k8s.io/v1beta2","metadata":{"name":%q,"namespace":%q},"spec":{"topology":{"classRef":{%s}}}}`, name, namespace, class)
	}
	return map[string]string{
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": definitions,
		"/apis/clusterctl.cluster.x-k8s.io/v1alpha3/providers": list("Provider",
			`{"kind":"Provider","apiVersion":"clusterctl.cluster.x-k8s.io/v1alpha3","metadata":{"name":"p","namespace":"foo-system"},"type":"InfrastructureProvider"}`,
			`{"kind":"Provider","apiVersion":"clusterctl.cluster.x-k8s.io/v1alpha3","metadata":{"name":"q","namespace":"core-system"},"type":"CoreProvider"}`),
		"/apis/cluster.x-k8s.io/v1beta2/clusters":                             list("Cluster", cluster("a", "ns", `"name":"cc","namespace":"classes"`), cluster("b", "other", `"name":"x","namespace":"ns"`)),
		"/apis/cluster.x-k8s.io/v1beta2/namespaces/classes/clusterclasses/cc": `{"kind":"ClusterClass","apiVersion":"cluster.x-k8s.io/v1beta2","metadata":{"name":"cc","namespace":"classes"},"spec":{"infrastructure":{"templateRef":{"apiVersion":"foo/v1","kind":"Template","name":"t"}}}}`,
		"/apis/foo/v1/namespaces/classes/templates/t":                         `{"kind":"Template","apiVersion":"foo/v1","metadata":{"name":"t","namespace":"classes"}}`,
		"/apis/cluster.x-k8s.io/v1beta2/namespaces/ns/clusterclasses":         list("ClusterClass"),
		"/apis/foo/v1/namespaces/ns/foos":                                     page("next", item("f1", "ns", "")),
		"/apis/foo/v1/namespaces/ns/foos next":                                page("", item("f2", "ns", "")),
		"/apis/foo/v1/globals":                                                page("", item("g", "", "")),
		"/api/v1/namespaces/ns/secrets":                                       page("", item("s", "ns", "")),
		"/api/v1/namespaces/foo-system/secrets":                               page("", item("credentials", "foo-system", "")),
		"/api/v1/namespaces/ns/configmaps":                                    page("", item("m", "ns", "")),
	}
}

func names(t *testing.T, c *Cluster) (objects, problems []string) {
	t.Helper()
	s := given.Value(c.Read(t.Context(), "ns"))(t)
	for i := range s.Objects {
		if o := &s.Objects[i]; o.Kind != "CustomResourceDefinition" {
			objects = append(objects, o.String())
		}
	}
	for _, err := range s.Problems {
		problems = append(problems, err.Error())
	}
	return objects, problems
}

func TestRead(t *testing.T) {
	f, c := serveFixed(t, management())
	objects, problems := names(t, c)
	want := []string{
		"Provider foo-system/p", "Provider core-system/q", "Secret ns/s", "ConfigMap ns/m", "Cluster ns/a", "Cluster other/b",
		"Foo ns/f1", "Foo ns/f2", "Global g", "Secret foo-system/credentials", "ClusterClass classes/cc", "Template classes/t",
	}
	if !slices.Equal(objects, want) || len(problems) > 0 {
		t.Errorf("%q\n%q", objects, problems)
	}
	if c.Namespace != "default" {
		t.Error(c.Namespace)
	}
	for _, asked := range f.asked {
		if !strings.HasPrefix(asked, "GET ") {
			t.Error("it does not only read:", asked)
		}
		if strings.Contains(asked, "secrets") && !strings.Contains(asked, "as=PartialObjectMetadataList") {
			t.Error("it asks for the content of Secrets:", asked)
		}
		if strings.Contains(asked, "hidden") {
			t.Error("clusterctl does not list that:", asked)
		}
	}
}

// TestNoAccess demands that what must not be read is said, and the rest read.
func TestNoAccess(t *testing.T) {
	answers := management()
	answers["/apis/foo/v1/namespaces/ns/foos next"] = "forbidden"
	answers["/apis/cluster.x-k8s.io/v1beta2/clusters"] = "forbidden"
	answers["/apis/cluster.x-k8s.io/v1beta2/namespaces/ns/clusters"] = list("Cluster", item("only", "ns", ""))
	_, c := serveFixed(t, answers)
	objects, problems := names(t, c)
	if !slices.Contains(objects, "Cluster ns/only") || !slices.Contains(objects, "Global g") {
		t.Error(objects)
	}
	if len(problems) != 2 || !strings.Contains(problems[0], "clusters.cluster.x-k8s.io cannot be read: ") || !strings.Contains(problems[1], "foos.foo in namespace ns cannot be read: ") {
		t.Error(problems)
	}
}

// TestServer: a server that forbids reading kube-system still counts as reachable; one that
// rejects the user does not.
func TestServer(t *testing.T) {
	const namespace = "/api/v1/namespaces/kube-system"
	for answer, want := range map[string]string{
		"forbidden": "", "unauthorized": "cannot query the API server", `{"metadata":{"uid":"u"}}`: "",
	} {
		_, c := serveFixed(t, map[string]string{namespace: answer})
		uid, err := c.Server(t.Context())
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", answer, err)
		}
		if (uid == "u") != strings.Contains(answer, "uid") {
			t.Errorf("%s: %q", answer, uid)
		}
	}
}

// TestExpired reads a list again that took too long.
func TestExpired(t *testing.T) {
	answers := management()
	answers["/apis/foo/v1/namespaces/ns/foos next"] = "gone"
	answers["/apis/foo/v1/namespaces/ns/foos all"] = page("", item("f1", "ns", "")+","+item("f2", "ns", "")+","+item("f3", "ns", ""))
	_, c := serveFixed(t, answers)
	objects, problems := names(t, c)
	var foos []string
	for _, o := range objects {
		if strings.HasPrefix(o, "Foo ") {
			foos = append(foos, o)
		}
	}
	if !slices.Equal(foos, []string{"Foo ns/f1", "Foo ns/f2", "Foo ns/f3"}) || len(problems) > 0 {
		t.Error(foos, problems)
	}
}

func TestReadFails(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"not a management cluster": {map[string]string{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": list("CustomResourceDefinition")}, "is not a management cluster"},
		"no definitions":           {map[string]string{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": "forbidden"}, "customresourcedefinitions.apiextensions.k8s.io cannot be read"},
		"not logged in":            {map[string]string{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": "unauthorized"}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, cluster := serveFixed(t, c.answers)
			_, err := cluster.Read(t.Context(), "ns")
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secretToken) {
				t.Error(err)
			}
		})
	}
	_, cluster := serveFixed(t, management())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cluster.Read(ctx, "ns"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open(t.TempDir()+"/none", ""); err == nil || !strings.HasPrefix(err.Error(), "kubeconfig: ") {
		t.Error(err)
	}
}

// TestDefinitions wants those of providers, from all pages, as files that can be judged.
func TestDefinitions(t *testing.T) {
	crd := func(group, labels string) string {
		return fmt.Sprintf(`{"metadata":{"name":"x.%s","labels":{%s},"managedFields":[{}]},"spec":{"group":%q},"status":{"conditions":[],"storedVersions":["v1alpha1","v1"]}}`, group, labels, group)
	}
	_, c := serveFixed(t, map[string]string{
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": fmt.Sprintf(`{"metadata":{"continue":"more"},"items":[%s,%s]}`,
			crd("infrastructure.cluster.x-k8s.io", ""), crd("cert-manager.io", "")),
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions more": fmt.Sprintf(`{"metadata":{},"items":[%s,%s,%s]}`,
			crd("acme.example.com", `"cluster.x-k8s.io/v1beta2":"v1"`), crd("addons.cluster.x-k8s.io", `"cluster.x-k8s.io/provider":"cluster-api"`), crd("clusterctl.cluster.x-k8s.io", "")),
	})
	all := given.Value(c.Definitions(t.Context()))(t)
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
		if !slices.Equal(d.StoredVersions, []string{"v1alpha1", "v1"}) {
			t.Errorf("stored versions %v", d.StoredVersions)
		}
		text := string(d.JSON)
		if !strings.Contains(text, `"kind": "CustomResourceDefinition"`) || strings.Contains(text, "status") || strings.Contains(text, "managedFields") {
			t.Errorf("got %s", text)
		}
	}
	if want := []string{"x.acme.example.com", "x.infrastructure.cluster.x-k8s.io"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	_, c = serveFixed(t, map[string]string{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": "forbidden"})
	if _, err := c.Definitions(t.Context()); err == nil || !strings.Contains(err.Error(), "said the server") {
		t.Errorf("got %v", err)
	}
}
