package probe_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestHealthyServer passes all checks, at every level and for every Cluster API.
func TestHealthyServer(t *testing.T) {
	ca := newAuthority(t)
	u := healthy().start(t, ca)
	for level := extension.Discover; level <= extension.All; level++ {
		for core := 12; core <= contract.NewestCore; core++ {
			o := options(t, u, ca)
			o.Level, o.Core = level, core
			// A machine with much to do may be slow.
			o.Severity = map[string]lint.Severity{"LIV060": lint.Off}
			start := time.Now()
			r := probe.Run(limited(t, 5*time.Minute), o)
			for _, f := range r.Findings {
				t.Errorf("%s, v1.%d: %s %s %s: %s", level, core, f.Rule.ID, f.Severity, f.Object, f.Message)
			}
			for _, err := range r.Failures {
				t.Errorf("%s, v1.%d: %v", level, core, err)
			}
			t.Logf("%s, v1.%d: %s, %d things measured", level, core, time.Since(start), len(r.Latencies))
		}
	}
}

// TestHealthyVariants are servers that do some things in another way, and nothing
// wrong.
func TestHealthyVariants(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	client := ca.issue(t, nil, time.Now().Add(time.Hour))
	for name, v := range map[string]struct {
		server  func(*server)
		options func(*probe.Options)
	}{
		"only HTTP/1.1": {server: func(s *server) { s.config = func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} } }},
		"only TLS 1.2":  {server: func(s *server) { s.config = func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 } }},
		"a client certificate": {
			server: func(s *server) {
				s.config = func(c *tls.Config) { c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool }
			},
			options: func(o *probe.Options) { o.Certificate = &client },
		},
		"a client certificate that may be left out": {server: func(s *server) {
			s.config = func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert }
		}},
		"a path before those of hooks": {
			server: func(s *server) {
				s.wrap = func(next http.Handler) http.Handler { return http.StripPrefix("/acme/extension", next) }
			},
			options: func(o *probe.Options) { o.URL.Path = "/acme/extension/" },
		},
		"answers with apiVersion, kind and a Content-Type": {server: func(s *server) {
			for hook, good := range s.answers {
				s.answers[hook] = func(r object) object {
					a := good(r)
					a["apiVersion"], a["kind"] = extension.APIVersion, hook+"Response"
					return a
				}
			}
			s.wrap = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					next.ServeHTTP(w, r)
				})
			}
		}},
		"hooks that let Cluster API wait": {server: func(s *server) {
			for _, h := range extension.Hooks(contract.NewestCore) {
				if h.Retry {
					s.answers[h.Name] = success(object{"retryAfterSeconds": 30, "message": "not yet"})
				}
			}
		}},
		"errors as 400": {server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			var object map[string]any
			if r.Method == http.MethodPost && json.Unmarshal(body, &object) != nil {
				http.Error(w, "no request", http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		})},
		"early hints": {server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			w.WriteHeader(http.StatusEarlyHints)
			next.ServeHTTP(w, r)
		})},
		"only Clusters that are being deleted": {server: change("BeforeClusterDelete", func(r, a object) {
			if r["cluster"].(object)["metadata"].(object)["deletionTimestamp"] == nil {
				a["status"], a["message"] = "Failure", "not being deleted"
			}
		})},
		"connections that are closed after each answer": {server: func(s *server) {
			s.config = func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }
			s.wrap = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					answer := httptest.NewRecorder()
					next.ServeHTTP(answer, r)
					conn, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						return
					}
					defer conn.Close() // without a word
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s", answer.Code, answer.Body.Len(), answer.Body)
				})
			}
		}},
		"two handlers for a hook": {server: func(s *server) {
			s.handlers = append(s.handlers, object{"name": "second", "requestHook": object{"apiVersion": extension.APIVersion, "hook": "BeforeClusterCreate"}})
		}},
		"a handler that is skipped": {
			server: answer("BeforeClusterCreate", object{"status": "Failure", "message": "x"}),
			options: func(o *probe.Options) {
				o.Skip = []string{name("BeforeClusterCreate")}
			},
		},
		"operations in any order, and some that change nothing": {server: func(s *server) {
			count := &atomic.Int64{}
			s.answers["GeneratePatches"] = patchEach("DockerMachineTemplate", "JSONPatch", func(object) any {
				list := []object{
					{"op": "add", "path": "/status", "value": object{}},
					{"op": "add", "path": "/spec/template/spec/a", "value": 1},
					{"op": "add", "path": "/spec/template/spec/b", "value": 2},
				}
				i := int(count.Add(1)) % 3
				return append(list[i:len(list):len(list)], list[:i]...)
			})
		}},
		"a registration at this place": {server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			if r.Host != serviceName+":8443" {
				w.WriteHeader(http.StatusMisdirectedRequest)
				return
			}
			next.ServeHTTP(w, r)
		}), options: func(o *probe.Options) {
			o.Registration = &probe.Registration{Ports: []string{"8443", o.URL.Port()}}
			o.Classes = clusterclass.In(classFile("apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: a}\nspec: {patches: [{name: a, external: {generatePatchesExtension: acme-generatepatches.acme, discoverVariablesExtension: acme-discovervariables.acme}}], variables: [{name: flavor, required: true, schema: {openAPIV3Schema: {default: small, enum: [small, large], uniqueItems: false, type: string}}}], upgrade: {external: {generateUpgradePlanExtension: acme-generateupgradeplan.acme}}}\n"))
		}},
		"a free field that gets another type": {
			server: patching("KubeadmControlPlaneTemplate", object{"op": "replace", "path": "/spec/template/spec/kubeadmConfigSpec", "value": "{}"}),
			options: func(o *probe.Options) {
				o.Schema = func(_, kind, _ string) (crd.Schema, bool) {
					free := yamldoc.Parse(yamldoc.NewFile("crd", []byte(`{type: object, x-kubernetes-preserve-unknown-fields: true}`))).Docs[0].Root
					return crd.Schema{Node: free}, kind == "KubeadmControlPlaneTemplate"
				}
			},
		},
		"empty metadata, which is not copied": {
			server:  patching("KubeadmControlPlaneTemplate", object{"op": "add", "path": "/spec/template/metadata", "value": object{}}),
			options: func(o *probe.Options) { o.Schema = contract.CoreSchema },
		},
		"at most 256 KiB of annotations": {server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			if bytes.Contains(body, bytes.Repeat([]byte("x"), 256<<10)) {
				write(w, object{"status": "Failure", "message": "metadata.annotations: Too long"})
				return
			}
			next.ServeHTTP(w, r)
		})},
		"only Machines that are being updated": {server: change("UpdateMachine", func(r, a object) {
			for _, o := range r["desired"].(object) {
				annotations, _ := o.(object)["metadata"].(object)["annotations"].(object)
				if _, ok := annotations["in-place-updates.internal.cluster.x-k8s.io/update-in-progress"]; !ok {
					a["status"], a["message"] = "Failure", "no update is in progress"
				}
			}
		})},
		"workers that go to the last version at once": {server: func(s *server) {
			refuseStep("BeforeWorkersUpgrade")(s)
			refuseStep("AfterWorkersUpgrade")(s)
		}},
		"settings that only name a secret": {
			server: answer("BeforeClusterCreate", object{"status": "Success", "message": "logged in with acme-login: true"}),
			options: func(o *probe.Options) {
				o.Settings = map[string]string{"secretName": "acme-login", "tokenEnabled": "true", "useToken": "true",
					"pullSecret": "acme-login", "credentials": "acme-login", "passwordKey": "acme-login", "tokenFile": "acme-login", "sshKey": "acme-login",
					"authSecret": "acme-login", "secretKey": "acme-login"}
			},
		},
		"a restart": {options: func(o *probe.Options) { o.Restart = func(context.Context) error { return nil } }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := healthy()
			if v.server != nil {
				v.server(s)
			}
			o := options(t, s.start(t, ca), ca)
			o.Severity = map[string]lint.Severity{"LIV060": lint.Off}
			if v.options != nil {
				v.options(&o)
			}
			r := probe.Run(limited(t, 5*time.Minute), o)
			for _, f := range r.Findings {
				t.Errorf("%s %s %s: %s", f.Rule.ID, f.Severity, f.Object, f.Message)
			}
			for _, err := range r.Failures {
				t.Error(err)
			}
		})
	}
}

// TestClientCertificateIsMissing says which flag helps.
func TestClientCertificateIsMissing(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	s := healthy()
	s.config = func(c *tls.Config) { c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool }
	r := probe.Run(limited(t, 5*time.Minute), options(t, s.start(t, ca), ca))
	if len(r.Findings) != 1 || r.Worst() != lint.Error || !strings.Contains(r.Findings[0].Message, "--client-cert") {
		t.Errorf("%+v", r.Findings)
	}
}

// TestConnectionsThatFail says in each case why.
func TestConnectionsThatFail(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	http10 := httptest.NewServer(healthy())
	defer http10.Close()
	silent := given.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	at := func(address string) *url.URL { return &url.URL{Scheme: "https", Host: address} }
	for name, tc := range map[string]struct {
		url  *url.URL
		want string
	}{
		"plain http":     {at(http10.Listener.Addr().String()), "the server speaks http, not https"},
		"another CA":     {healthy().start(t, other), "is not the given CA"},
		"closes at once": {at(silent.Addr().String()), "connection"},
		"nobody there":   {at("127.0.0.1:1"), "connection refused"},
	} {
		r := probe.Run(limited(t, 5*time.Minute), options(t, tc.url, ca))
		if len(r.Findings) != 1 || r.Findings[0].Rule.ID != "LIV001" || !strings.Contains(r.Findings[0].Message, tc.want) || (len(r.Failures) > 0) != (name == "nobody there") {
			t.Errorf("%s: %+v, %v", name, r.Findings, r.Failures)
		}
	}
}

// TestTheDeadlineIsKept stops in the middle of a call.
func TestTheDeadlineIsKept(t *testing.T) {
	ca := newAuthority(t)
	s := healthy()
	s.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != discoveryPath {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	start := time.Now()
	r := probe.Run(limited(t, 300*time.Millisecond), options(t, s.start(t, ca), ca))
	if took := time.Since(start); took > time.Minute || len(r.Failures) != 1 || len(r.Findings) > 0 {
		t.Errorf("after %s: failures %v, findings %+v", took, r.Failures, r.Findings)
	}
}
