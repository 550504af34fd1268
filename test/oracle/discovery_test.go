package oracle

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// discovery is an answer of a server.
type discovery struct {
	status int
	body   string
}

// pick returns one of a list; the first is the likeliest, because most parts of an
// answer should be right.
func pick(r *rand.Rand, list ...string) string {
	if r.IntN(12) > 0 {
		return list[0]
	}
	return list[r.IntN(len(list))]
}

// handlerText is one handler, perhaps with something odd in it.
func handlerText(r *rand.Rand, n int) string {
	hooks := extension.Hooks(contract.NewestCore)
	hook := hooks[r.IntN(len(hooks))].Name
	fields := []string{
		pick(r, `"name"`, `"NAME"`, `"Name"`, `"nam"`) + ":" + pick(r, fmt.Sprintf(`"handler-%d"`, n), `"same"`, `"Upper"`, `""`, `"a.b"`, `"-a"`, `"a_b"`,
			`"`+strings.Repeat("a", 63)+`"`, `"`+strings.Repeat("a", 64)+`"`, `null`, `1`, `"ä"`, `"a\u0000"`, `"a/b"`, `"0"`),
	}
	if r.IntN(20) > 0 {
		fields = append(fields, pick(r, `"requestHook"`, `"requesthook"`)+":"+pick(r,
			fmt.Sprintf(`{"apiVersion":%s,"hook":%s}`,
				pick(r, `"hooks.runtime.cluster.x-k8s.io/v1alpha1"`, `"hooks.runtime.cluster.x-k8s.io/v1"`, `"v1alpha1"`, `""`, `"a/b/c"`, `"/"`, `"/v1alpha1"`, `"hooks.runtime.cluster.x-k8s.io/"`, `null`, `1`,
					`"hooks.runtime.cluster.x-k8s.io/v1alpha1 "`, `"HOOKS.runtime.cluster.x-k8s.io/v1alpha1"`),
				pick(r, `"`+hook+`"`, `"`+strings.ToLower(hook)+`"`, `"Nothing"`, `""`, `null`, `["x"]`)),
			`null`, `{}`, `[]`, `"x"`))
	}
	if r.IntN(3) == 0 {
		fields = append(fields, `"timeoutSeconds":`+pick(r, `10`, `0`, `1`, `30`, `31`, `-1`, `null`, `"10"`, `1.5`, `1e1`, `10.0`, `2147483647`, `2147483648`, `true`, `-0`))
	}
	if r.IntN(3) == 0 {
		fields = append(fields, `"failurePolicy":`+pick(r, `"Fail"`, `"Ignore"`, `"ignore"`, `""`, `null`, `1`, `" Fail"`))
	}
	if r.IntN(10) == 0 {
		fields = append(fields, `"more":{"x":[1]}`)
	}
	if r.IntN(15) == 0 { // a key that is there twice
		fields = append(fields, fmt.Sprintf(`"name":"twice-%d"`, n))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func discoveryText(r *rand.Rand) discovery {
	var handlers []string
	for n := range r.IntN(6) {
		handlers = append(handlers, pick(r, handlerText(r, n), `null`, `{}`, `1`, `[]`))
	}
	fields := []string{
		pick(r, `"status"`, `"Status"`, `"state"`) + ":" + pick(r, `"Success"`, `"success"`, `"Failure"`, `""`, `null`, `true`, `"SUCCESS"`),
		pick(r, `"handlers"`, `"HANDLERS"`, `"items"`) + ":" + pick(r, "["+strings.Join(handlers, ",")+"]", `null`, `{}`, `"x"`, `[[]]`),
	}
	for _, more := range []string{
		`"message":` + pick(r, `"hello"`, `null`, `1`),
		`"kind":` + pick(r, `"DiscoveryResponse"`, `"Other"`, `1`, `null`),
		`"apiVersion":` + pick(r, `"hooks.runtime.cluster.x-k8s.io/v1alpha1"`, `{}`),
		`"retryAfterSeconds":` + pick(r, `10`, `"x"`),
		`"unknown":` + pick(r, `1`, `{"a":null}`),
	} {
		if r.IntN(4) == 0 {
			fields = append(fields, more)
		}
	}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	body := "{" + strings.Join(fields, ",") + "}"
	body = pick(r, body, body+"\n", body+" and more", body+body, " \n"+body, "\uFEFF"+body, body[:len(body)-1], "["+body+"]", "", "null", "1", `"x"`, "<html>", "{}", "\xff"+body, strings.Replace(body, "handler", "h\xff", 1))
	status := 200
	if r.IntN(25) == 0 {
		status = []int{201, 204, 301, 307, 400, 404, 500, 503}[r.IntN(8)]
	}
	return discovery{status, body}
}

// verdict is what the tool says of an answer without calling anybody.
func verdict(d discovery) error {
	if d.status != 200 {
		return fmt.Errorf("status %d", d.status)
	}
	r, err := extension.Find("Discovery").Decode([]byte(d.body))
	if err != nil {
		return err
	}
	if status := r.Common().Status; status != extension.Success {
		return fmt.Errorf("status %q", status)
	}
	for _, p := range r.(*extension.DiscoveryResponse).Problems(contract.NewestCore) {
		return fmt.Errorf("%s", p.Message)
	}
	return nil
}

// refusing are the checks whose errors mean that Cluster API refuses the discovery.
var refusing = map[string]bool{
	"LIV007": true, "LIV008": true, "LIV010": true, "LIV011": true, "LIV012": true, "LIV013": true, "LIV014": true, "LIV015": true,
}

// TestDiscoveryVerdicts compares the verdict on thousands of answers to discovery
// with that of Cluster API's own client, and that of the whole probe on some.
func TestDiscoveryVerdicts(t *testing.T) {
	const answers, probed = 6000, 150
	r := rand.New(rand.NewPCG(6, 13254))
	list := make([]discovery, answers)
	for i := range list {
		list[i] = discoveryText(r)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		number, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(list) || "/"+rest != extension.Find("Discovery").Path("") {
			http.NotFound(w, r)
			return
		}
		if list[i].status >= 300 && list[i].status < 400 {
			w.Header().Set("Location", "/")
		}
		w.WriteHeader(list[i].status)
		_, _ = io.WriteString(w, list[i].body)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	core := given.Value(real.NewDiscoverer(ctx))(t)
	topology := given.Value(extension.ReadTopology())(t)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	accepted := 0
	for i, d := range list {
		at := server.URL + "/" + strconv.Itoa(i)
		want := core.Discover(ctx, at, ca)
		if want == nil {
			accepted++
		}
		if got := verdict(d); (got == nil) != (want == nil) {
			t.Errorf("%d %s\nCluster API: %v\nthe tool: %v", d.status, d.body, want, got)
		}
		if i >= probed {
			continue
		}
		u := given.Value(url.Parse(at))(t)
		report := probe.Run(ctx, probe.Options{URL: u, Roots: roots, Core: contract.NewestCore, Topology: topology})
		refused := false
		for _, f := range report.Findings {
			refused = refused || f.Severity == lint.Error && refusing[f.Rule.ID]
		}
		if refused != (want != nil) {
			t.Errorf("%d %s\nCluster API: %v\nthe probe: %+v", d.status, d.body, want, report.Findings)
		}
	}
	t.Logf("Cluster API accepts %d of %d answers", accepted, answers)
	if accepted < answers/10 || accepted > answers*9/10 {
		t.Errorf("only %d of %d answers are accepted", accepted, answers)
	}
}
