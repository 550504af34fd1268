package probe_test

import (
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

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// found checks a server, which must be possible, and returns the findings. Those that it is
// slow are left out unless they are wanted: a machine may have much to do.
func found(t *testing.T, o probe.Options, wanted string) (list []lint.Finding) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := probe.Run(ctx, o)
	for _, err := range r.Failures {
		t.Error(err)
	}
	for _, f := range r.Findings {
		if f.Rule.ID != "LIV060" || wanted == "LIV060" {
			list = append(list, f)
		}
	}
	return list
}

// TestHealthyServer passes all checks, at every level and for every Cluster API.
func TestHealthyServer(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	u := healthy("").start(t, ca)
	for level := extension.Discover; level <= extension.All; level++ {
		for core := 12; core <= contract.NewestCore; core++ {
			o := options(t, u, ca)
			o.Level, o.Core = level, core
			called := map[string]bool{}
			o.Record = func(hook, _ string, request, answer []byte) {
				called[hook] = json.Valid(request) && json.Valid(answer)
			}
			for _, f := range found(t, o, "") {
				t.Errorf("%s, v1.%d: %s %s %s: %s", level, core, f.Rule.ID, f.Severity, f.Object, f.Message)
			}
			for _, h := range extension.Hooks(core) {
				if called[h.Name] != (h.Level <= level) {
					t.Errorf("%s, v1.%d: %s is called: %t", level, core, h.Name, called[h.Name])
				}
			}
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
		hook    string
		server  func(*server)
		options func(*probe.Options)
	}{
		"only HTTP/1.1": {hook: "BeforeClusterCreate", server: func(s *server) {
			s.config = func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }
		}},
		"a client certificate": {
			hook: "BeforeClusterCreate",
			server: func(s *server) {
				s.config = func(c *tls.Config) { c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool }
			},
			options: func(o *probe.Options) { o.Certificate = &client },
		},
		"a client certificate that may be left out": {hook: "BeforeClusterCreate", server: func(s *server) {
			s.config = func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert }
		}},
		"a path before those of hooks": {
			hook: "BeforeClusterCreate",
			server: func(s *server) {
				s.wrap = func(next http.Handler) http.Handler { return http.StripPrefix("/acme/extension", next) }
			},
			options: func(o *probe.Options) { o.URL.Path = "/acme/extension/" },
		},
		"answers with apiVersion and kind": {server: func(s *server) {
			for hook, good := range s.answers {
				s.answers[hook] = func(r object) object {
					a := good(r)
					a["apiVersion"], a["kind"] = extension.APIVersion, hook+"Response"
					return a
				}
			}
		}},
		"hooks that let Cluster API wait": {server: func(s *server) {
			for _, h := range extension.Hooks(contract.NewestCore) {
				if h.Retry {
					s.answers[h.Name] = success(object{"retryAfterSeconds": 30, "message": "not yet"})
				}
			}
		}},
		"errors as 400": {hook: "BeforeClusterCreate", server: at("acme-", "{", status(http.StatusBadRequest))},
		"settings that it needs": {
			hook:    "BeforeClusterCreate",
			server:  refusing(false, `"color":"red"`, "the setting color is missing"),
			options: func(o *probe.Options) { o.Settings = map[string]string{"color": "red"} },
		},
		"redirects, which older versions of Cluster API follow": {
			hook: "BeforeClusterCreate", options: func(o *probe.Options) { o.Core = 13 },
			server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
				path, slash := strings.CutSuffix(r.URL.Path, "/")
				if !slash {
					next = http.HandlerFunc(moved)
				}
				r.URL.Path = path
				next.ServeHTTP(w, r)
			}),
		},
		"only Clusters that are being deleted": {hook: "BeforeClusterDelete", server: change(func(r, a object) {
			if r["cluster"].(object)["metadata"].(object)["deletionTimestamp"] == nil {
				a["status"], a["message"] = "Failure", "not being deleted"
			}
		})},
		"two handlers for a hook": {hook: "BeforeClusterCreate", server: func(s *server) {
			s.handlers = append(s.handlers, named("second", "BeforeClusterCreate"))
		}},
		"a handler that is skipped": {
			hook:    "BeforeClusterCreate",
			server:  answer(object{"status": "Failure", "message": "x"}),
			options: func(o *probe.Options) { o.Skip = []string{name("BeforeClusterCreate")} },
		},
		"operations in another order, and some that change nothing": {hook: "GeneratePatches", server: func(s *server) {
			list := []object{
				{"op": "add", "path": "/status", "value": object{}},
				{"op": "add", "path": "/spec/template/spec/a", "value": 1},
				{"op": "add", "path": "/spec/template/spec/b", "value": 2},
			}
			patching("DockerMachineTemplate", list...)(s)
			counted(func(n int64, a object) {
				for _, i := range a["items"].([]object) {
					i["patch"] = encode(append(list[n%3:len(list):len(list)], list[:n%3]...))
				}
			})(s)
		}},
		"variables in another order": {hook: "DiscoverVariables", server: func(s *server) {
			one, two := object{"name": "a", "required": false, "schema": stringSchema}, object{"name": "b", "required": false, "schema": stringSchema}
			s.answers[s.hook] = success(object{"variables": []object{one, two}})
			counted(func(_ int64, a object) { a["variables"] = []object{two, one} })(s)
		}},
		"variables that the extension defines": {hook: "GeneratePatches", server: func(s *server) {
			s.handlers = append(s.handlers, named("variables", "DiscoverVariables"))
			good := s.answers[s.hook]
			s.answers[s.hook] = func(r object) object {
				if list, sent := r["variables"].([]any); sent && !strings.Contains(fmt.Sprint(list), "flavor") {
					return object{"status": "Failure", "message": "there is no flavor"}
				}
				return good(r)
			}
		}},
		"replicas of what is no control plane": {
			hook:   "GeneratePatches",
			server: patching("DockerMachineTemplate", object{"op": "add", "path": "/spec/template/spec/replicas", "value": 5}),
		},
		"the status of a machine": {hook: "CanUpdateMachine", server: change(func(_, a object) {
			a["infrastructureMachinePatch"] = object{"patchType": "JSONMergePatch", "patch": encode(object{"status": object{"ready": false}})}
		})},
		"only what Cluster API sends": {hook: "BeforeClusterCreate", server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
			limit := r.URL.Query().Get("timeout")
			if limit != "9s" && (limit != "10s" || strings.Contains(r.URL.Path, "acme-")) || r.Header.Get("Content-Type") != "" {
				next = status(http.StatusBadRequest)
			}
			next.ServeHTTP(w, r)
		})},
		"a registration at this place": {
			server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
				if r.Host != serviceName+":8443" {
					next = status(http.StatusMisdirectedRequest)
				}
				next.ServeHTTP(w, r)
			}),
			options: func(o *probe.Options) {
				o.Registration = &probe.Registration{Ports: []string{"8443", o.URL.Port()}}
				o.Classes = classesIn(strings.Replace(namingClass, "validateTopologyExtension: acme-g", "generatePatchesExtension: acme-g", 1))
			},
		},
		"only Machines that are being updated": {
			hook:   "UpdateMachine",
			server: refusing(false, "in-place-updates.internal.cluster.x-k8s.io/update-in-progress", "no update is in progress"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := healthy(v.hook)
			if v.server != nil {
				v.server(s)
			}
			o := options(t, s.start(t, ca), ca)
			if v.options != nil {
				v.options(&o)
			}
			for _, f := range found(t, o, "") {
				t.Errorf("%s %s %s: %s", f.Rule.ID, f.Severity, f.Object, f.Message)
			}
		})
	}
}

// TestConnectionsThatFail says in each case why.
func TestConnectionsThatFail(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	plain := httptest.NewServer(healthy(""))
	defer plain.Close()
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
	strict := healthy("")
	strict.config = func(c *tls.Config) { c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool }
	at := func(address string) *url.URL { return &url.URL{Scheme: "https", Host: address} }
	for name, tc := range map[string]struct {
		url  *url.URL
		want string
	}{
		"plain http":            {at(plain.Listener.Addr().String()), "the server speaks http, not https"},
		"another CA":            {healthy("").start(t, other), "is not the given CA"},
		"no client certificate": {strict.start(t, ca), "--client-cert"},
		"closes at once":        {at(silent.Addr().String()), "connection"},
		"nobody there":          {at("127.0.0.1:1"), "connection refused"},
	} {
		r := probe.Run(t.Context(), options(t, tc.url, ca))
		if len(r.Findings) != 1 || r.Findings[0].Rule.ID != "LIV001" || !strings.Contains(r.Findings[0].Message, tc.want) || (len(r.Failures) > 0) != (name == "nobody there") {
			t.Errorf("%s: %+v, %v", name, r.Findings, r.Failures)
		}
	}
}

// TestEachConnectionIsVerified has a second server at the same address, of another CA.
func TestEachConnectionIsVerified(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	stranger := newAuthority(t).issue(t, []string{serviceName}, time.Now().Add(100*24*time.Hour))
	s := healthy("")
	s.config = func(c *tls.Config) {
		usual := c.Certificates[0]
		var connections atomic.Int64
		c.Certificates, c.GetCertificate = nil, func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if connections.Add(1) > 1 {
				return &stranger, nil
			}
			return &usual, nil
		}
	}
	list := found(t, options(t, s.start(t, ca), ca), "")
	if len(list) != 1 || list[0].Rule.ID != "LIV007" || !strings.Contains(list[0].Message, "unknown authority") {
		t.Errorf("got %+v", list)
	}
}

// TestTheDeadlineIsKept stops in the middle of a call.
func TestTheDeadlineIsKept(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	s := healthy("")
	at("acme-", "", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})(s)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	r := probe.Run(ctx, options(t, s.start(t, ca), ca))
	if took := time.Since(start); took > time.Minute || len(r.Failures) != 1 || len(r.Findings) > 0 {
		t.Errorf("after %s: failures %v, findings %+v", took, r.Failures, r.Findings)
	}
}
