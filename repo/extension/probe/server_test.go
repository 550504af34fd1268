// Each call has a connection of its own; post-quantum keys would make them expensive.
//go:debug tlsmlkem=0

package probe_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

type object = map[string]any

const serviceName = "webhook.acme-system.svc"

// server is an extension with one handler for each of some hooks, which does everything
// right until a test changes it.
type server struct {
	handlers []object
	// hook is the one that a test is about, if it is about one.
	hook string
	// answers are what hooks answer to a request that can be read.
	answers map[string]func(request object) object
	// wrap stands before everything else.
	wrap func(next http.Handler) http.Handler
	// dnsNames, notAfter and config are of the certificate and of TLS.
	dnsNames []string
	notAfter time.Time
	config   func(*tls.Config)
}

// name is the handler of a hook.
func name(hook string) string { return "acme-" + strings.ToLower(hook) }

func success(more ...object) func(object) object {
	return func(object) object {
		out := object{"status": "Success"}
		for _, m := range more {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
}

func encode(v any) string {
	data, _ := json.Marshal(v)
	return base64.StdEncoding.EncodeToString(data)
}

// jsonPatch and mergePatch are patches for all items of a kind.
func jsonPatch(kind string, operations ...object) func(object) object {
	return patchEach(kind, "JSONPatch", func(object) any { return operations })
}

func patchEach(kind, patchType string, patch func(item object) any) func(object) object {
	return func(request object) object {
		items := []object{}
		list, _ := request["items"].([]any)
		for _, i := range list {
			item := i.(object)
			if item["object"].(object)["kind"] == kind {
				items = append(items, object{"uid": item["uid"], "patchType": patchType, "patch": encode(patch(item))})
			}
		}
		return object{"status": "Success", "items": items}
	}
}

// goodPatch changes what may be changed.
var goodPatch = object{"op": "add", "path": "/spec/template/spec/image", "value": "acme"}

// healthy serves all hooks, or the one that is given and those that belong to it.
func healthy(hook string) *server {
	s := &server{hook: hook, dnsNames: []string{serviceName}, notAfter: time.Now().Add(90 * 24 * time.Hour), answers: map[string]func(object) object{}}
	for _, h := range extension.Hooks(contract.NewestCore) {
		switch {
		case h.IsDiscovery(), hook != "" && hook != h.Name && pairs[hook] != h.Name:
			continue
		case h.Retry:
			s.answers[h.Name] = success(object{"retryAfterSeconds": 0})
		default:
			s.answers[h.Name] = success()
		}
		// The maximum: a busy machine answers late.
		s.handlers = append(s.handlers, object{"name": name(h.Name), "timeoutSeconds": 9, "requestHook": object{"apiVersion": extension.APIVersion, "hook": h.Name}})
	}
	s.answers["GeneratePatches"] = jsonPatch("DockerMachineTemplate", goodPatch)
	s.answers["DiscoverVariables"] = success(object{"variables": []object{
		{"name": "flavor", "required": true, "schema": object{"openAPIV3Schema": object{"type": "string", "default": "small", "enum": []string{"small", "large"}}}},
	}})
	s.answers["GenerateUpgradePlan"] = minors
	s.answers["CanUpdateMachine"] = inPlace("machine")
	s.answers["CanUpdateMachineSet"] = inPlace("machineSet")
	return s
}

// pairs are hooks that come together.
var pairs = map[string]string{"CanUpdateMachine": "UpdateMachine", "CanUpdateMachineSet": "UpdateMachine", "UpdateMachine": "CanUpdateMachine"}

// minors is a plan with each minor version on the way.
func minors(r object) object {
	from, to := r["fromControlPlaneKubernetesVersion"].(string), r["toKubernetesVersion"].(string)
	steps := []object{}
	if from != to {
		for minor := minorOf(from) + 1; minor < minorOf(to); minor++ {
			steps = append(steps, object{"version": fmt.Sprintf("v1.%d.0", minor)})
		}
		steps = append(steps, object{"version": to})
	}
	return object{"status": "Success", "controlPlaneUpgrades": steps}
}

func minorOf(version string) (minor int) {
	_, _ = fmt.Sscanf(version, "v1.%d", &minor)
	return minor
}

// inPlace takes over the version of a machine.
func inPlace(key string) func(object) object {
	version := func(o any) (string, []string) {
		spec := o.(object)[key].(object)["spec"].(object)
		path := []string{"spec"}
		if key == "machineSet" {
			spec = spec["template"].(object)["spec"].(object)
			path = []string{"spec", "template", "spec"}
		}
		return spec["version"].(string), path
	}
	return func(request object) object {
		current, path := version(request["current"])
		desired, _ := version(request["desired"])
		if current == desired {
			return object{"status": "Success"}
		}
		var patch any = object{"version": desired}
		for i := len(path) - 1; i >= 0; i-- {
			patch = object{path[i]: patch}
		}
		return object{"status": "Success", key + "Patch": object{"patchType": "JSONMergePatch", "patch": encode(patch)}}
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for hook, answer := range s.answers {
		h := extension.Find(hook)
		for _, registered := range s.handlers {
			if registered["requestHook"].(object)["hook"] == hook && r.URL.Path == h.Path(registered["name"].(string)) {
				serve(w, r, answer)
				return
			}
		}
	}
	if r.URL.Path == extension.Find("Discovery").Path("") {
		serve(w, r, success(object{"handlers": s.handlers}))
		return
	}
	http.NotFound(w, r)
}

// serve reads the request and writes the answer.
func serve(w http.ResponseWriter, r *http.Request, answer func(object) object) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var request object
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request == nil {
		write(w, object{"status": "Failure", "message": "the request cannot be read"})
		return
	}
	write(w, answer(request))
}

func write(w http.ResponseWriter, answer object) {
	data, _ := json.Marshal(answer)
	_, _ = w.Write(data)
}

// authority is a CA.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	return authorityUntil(t, time.Now().Add(1000*24*time.Hour))
}

// authorityUntil is a CA whose certificate ends.
func authorityUntil(t testing.TB, notAfter time.Time) *authority {
	t.Helper()
	key := given.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Acme CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-100 * 24 * time.Hour), NotAfter: notAfter, KeyUsage: x509.KeyUsageCertSign,
	}
	der := given.Value(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	a := &authority{key: key, pool: x509.NewCertPool()}
	a.cert, _ = x509.ParseCertificate(der)
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) issue(t testing.TB, dnsNames []string, notAfter time.Time) tls.Certificate {
	t.Helper()
	key := given.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "acme"}, DNSNames: dnsNames,
		NotBefore: time.Now().Add(-50 * 24 * time.Hour), NotAfter: notAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der := given.Value(x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// start serves until the test ends and returns the address.
func (s *server) start(t testing.TB, ca *authority) *url.URL {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, s.dnsNames, s.notAfter)}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
	if s.config != nil {
		s.config(config)
	}
	var handler http.Handler = s
	if s.wrap != nil {
		handler = s.wrap(s)
	}
	ts := httptest.NewUnstartedServer(handler)
	ts.Config.ErrorLog = log.New(io.Discard, "", 0)
	ts.Config.Protocols = &http.Protocols{}
	ts.Config.Protocols.SetHTTP1(true)
	ts.Config.Protocols.SetHTTP2(true)
	ts.Config.TLSConfig = config
	ts.Listener = tls.NewListener(ts.Listener, config)
	ts.Start()
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return &url.URL{Scheme: "https", Host: ts.Listener.Addr().String()}
}

func options(t testing.TB, u *url.URL, ca *authority) probe.Options {
	t.Helper()
	topology := given.Value(extension.ReadTopology())(t)
	return probe.Options{
		URL: u, ServerName: serviceName, Roots: ca.pool, Core: contract.NewestCore, Level: extension.All,
		Topology: topology, Name: "acme",
	}
}
