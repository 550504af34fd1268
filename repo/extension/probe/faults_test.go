package probe_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// long is a text of a server that is cut.
var long = strings.Repeat("x", 1000)

// fault is something that a server does wrong, and the only check that finds it.
type fault struct {
	id       string
	severity lint.Severity // that of the check if it is Off
	// hook has the fault; without one it is in the server, and no hook is called.
	hook    string
	server  func(*server)
	options func(*probe.Options)
	// expiredCA is set if the certificate of the CA has ended.
	expiredCA bool
	// also is another check that finds something, if it cannot be otherwise.
	also string
	// message is a part of what is said.
	message string
}

const discoveryPath = "/" + extension.APIVersion + "/discovery"

// answer replaces what the hook answers.
func answer(with object) func(*server) {
	return func(s *server) { s.answers[s.hook] = func(object) object { return with } }
}

// change changes a good answer.
func change(with func(request, answer object)) func(*server) {
	return func(s *server) {
		good := s.answers[s.hook]
		s.answers[s.hook] = func(r object) object {
			a := good(r)
			with(r, a)
			return a
		}
	}
}

// counted changes the second answer and those after it.
func counted(with func(call int64, answer object)) func(*server) {
	var calls atomic.Int64
	return change(func(_, a object) {
		if n := calls.Add(1); n > 1 {
			with(n, a)
		}
	})
}

// refusing lets the hook fail if the request has a text, or has it not.
func refusing(has bool, text, message string) func(*server) {
	return change(func(r, a object) {
		if data, _ := json.Marshal(r); bytes.Contains(data, []byte(text)) == has {
			a["status"], a["message"] = "Failure", message
		}
	})
}

// strictly refuses requests with a field that it does not know in a part.
func strictly(part string) func(*server) {
	return change(func(r, a object) {
		if data, _ := json.Marshal(r[part]); bytes.Contains(data, []byte("clusterctlRepoProbe")) {
			a["status"], a["message"] = "Failure", "no such field"
		}
	})
}

// patching answers with one patch for the templates of a kind.
func patching(kind string, operations ...object) func(*server) {
	return func(s *server) {
		s.answers[s.hook] = patchEach(kind, "JSONPatch", func(object) any { return operations })
	}
}

// item changes the first patch of a good answer.
func item(key string, value any) func(*server) {
	return change(func(_, a object) { a["items"].([]object)[0][key] = value })
}

// between stands before the server.
func between(f func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler)) func(*server) {
	return func(s *server) {
		s.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				f(w, r, body, next)
			})
		}
	}
}

// at answers in place of the server if the path has a part and the body is one, if that is given.
func at(part, only string, answer http.HandlerFunc) func(*server) {
	return between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
		if strings.Contains(r.URL.Path, part) && (only == "" || only == string(body)) {
			next = answer
		}
		next.ServeHTTP(w, r)
	})
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func page(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

func aborts(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func large(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(extension.MaxBody+1))
	_, _ = w.Write(make([]byte, 1<<20))
}

func moved(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, r.URL.Path+"/", http.StatusTemporaryRedirect)
}

// entry changes an entry of discovery.
func entry(i int, key string, value any) func(*server) {
	return func(s *server) { s.handlers[i][key] = value }
}

// named is an entry of discovery.
func named(name, hook string) object {
	return object{"name": name, "timeoutSeconds": 10, "requestHook": object{"apiVersion": extension.APIVersion, "hook": hook}}
}

func variable(v object) func(*server) {
	return answer(object{"status": "Success", "variables": []object{v}})
}

// machinePatch is the patch of a machine if there is one.
func machinePatch(patchType string, patch any) func(*server) {
	return change(func(_, a object) {
		if a["machinePatch"] != nil {
			a["machinePatch"] = object{"patchType": patchType, "patch": encode(patch)}
		}
	})
}

var stringSchema = object{"openAPIV3Schema": object{"type": "string"}}

func classesIn(text string) []*clusterclass.Class {
	return clusterclass.In(manifest.New(repo.BytesArtifact("clusterclass-acme.yaml", []byte(text)), layouts.ClusterClass, []byte(text)))
}

const namingClass = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: acme}
spec:
  patches:
  - name: a
    external:
      generatePatchesExtension: acme-generatepatches.acme
      validateTopologyExtension: acme-generatepatches.acme
  - name: b
    external: {generatePatchesExtension: gone.other}
`

// faults are by the number of the check.
var faults = []fault{
	{id: "LIV001", server: func(s *server) {
		s.config = func(c *tls.Config) { c.MaxVersion, c.MinVersion = tls.VersionTLS11, tls.VersionTLS10 }
	}, message: "protocol version"},
	{id: "LIV002", server: func(s *server) { s.dnsNames = []string{"localhost"} },
		message: "for localhost, not for " + serviceName},
	{id: "LIV003", server: func(s *server) { s.notAfter = time.Now().Add(-24 * time.Hour) }, message: "expired on"},
	{id: "LIV003", severity: lint.Warning, server: func(s *server) { s.notAfter = time.Now().Add(24 * time.Hour) },
		message: "expires on"},
	{id: "LIV003", expiredCA: true, message: `the certificate of the CA "CN=Acme CA" is only valid from`},
	{id: "LIV007", server: at("", "", status(http.StatusNotFound)), message: "404"},
	{id: "LIV007", server: at("", "", large), message: "larger than 20 MiB"},
	{id: "LIV007", server: at(discoveryPath, "", moved), message: "307"},
	{id: "LIV007", server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
		if strings.HasPrefix(r.Host, serviceName) {
			next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "unknown host", http.StatusMisdirectedRequest)
			})
		}
		next.ServeHTTP(w, r)
	}), message: "unknown host"},
	{id: "LIV008", server: at(discoveryPath, "", page(`{"status":"OK","message":"`+long+`"}`)),
		message: `"OK", want Success; the message is "xxx`},
	{id: "LIV008", server: at(discoveryPath, "", page(`{"handlers":[]}`)), message: "the answer has no status"},
	{id: "LIV008", server: at("", "", page("<html>hello</html>")), message: "not JSON"},
	{id: "LIV008", severity: lint.Warning, server: func(s *server) { s.handlers = []object{} }, message: "is empty"},
	{id: "LIV008", server: func(s *server) {
		for i := range extension.MaxHandlers {
			s.handlers = append(s.handlers, named(fmt.Sprint("h", i), "BeforeClusterCreate"))
		}
	}, message: "can only hold 512"},
	{id: "LIV010", server: func(s *server) { s.handlers[1]["name"] = s.handlers[0]["name"] }},
	{id: "LIV011", server: entry(3, "name", "Upgrade_Handler")},
	{id: "LIV012",
		server: entry(3, "requestHook", object{"apiVersion": extension.Group + "/v1", "hook": "BeforeClusterCreate"})},
	{id: "LIV013",
		server:  entry(3, "requestHook", object{"apiVersion": extension.APIVersion, "hook": "beforeClusterUpgrade"}),
		message: "it is written BeforeClusterUpgrade"},
	{id: "LIV013", server: func(s *server) { s.handlers = []object{named("plan", "GenerateUpgradePlan")} },
		options: func(o *probe.Options) { o.Core = 11 }, message: "since v1.12"},
	{id: "LIV014", server: entry(3, "timeoutSeconds", 60)},
	{id: "LIV014", severity: lint.Info, server: entry(3, "timeoutSeconds", 0)},
	{id: "LIV014", severity: lint.Warning, server: entry(3, "timeoutSeconds", 11), message: "at most 10"},
	{id: "LIV014", hook: "BeforeClusterCreate", also: "LIV021", server: func(s *server) { // is called all the same
		s.handlers[0]["timeoutSeconds"] = -1
		answer(object{"status": "Done"})(s)
	}, message: "between 0 and 30"},
	{id: "LIV021", hook: "BeforeClusterCreate", server: at("acme-", "", page("null")), message: "has no status"},
	{id: "LIV021", hook: "BeforeClusterCreate", also: "LIV014", server: func(s *server) {
		s.handlers[0]["timeoutSeconds"] = -1
		answer(object{"status": "Done"})(s)
	}, message: "Done"},
	{id: "LIV015", server: entry(3, "failurePolicy", "ignore")},
	{id: "LIV016", server: func(s *server) { s.handlers = append(s.handlers, named("second", "UpdateMachine")) },
		message: "acme-updatemachine, second"},
	{id: "LIV019", options: func(o *probe.Options) { o.Classes = classesIn(namingClass) },
		message: `no handler "acme-generatepatches" for ValidateTopology`},
	{id: "LIV019", options: func(o *probe.Options) {
		o.Name, o.Classes = "", classesIn(strings.ReplaceAll(namingClass, "acme-generatepatches.acme", "acme"))
	}, message: "written HANDLER.EXTENSIONCONFIG"},

	{id: "LIV020", hook: "BeforeClusterCreate", server: at("acme-", "", status(http.StatusInternalServerError)),
		message: "500"},
	{id: "LIV020", hook: "BeforeClusterCreate", server: at("acme-", "", page("<html>")), message: "not JSON"},
	{id: "LIV020", hook: "BeforeClusterCreate", server: at("acme-", "", aborts), message: "panic"},
	{id: "LIV020", hook: "GeneratePatches", server: at("acme-", "", moved), message: "307"},
	{id: "LIV020", hook: "BeforeClusterCreate", server: func(s *server) {
		s.handlers[0]["timeoutSeconds"] = 1
		at("acme-", "", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })(s)
	}, message: "no answer in time (1s)"},
	{id: "LIV020", hook: "AfterControlPlaneUpgrade",
		server:  change(func(r, _ object) { _ = r["controlPlaneUpgrades"].([]any)[0] }),
		message: "none of the fields that may be missing"},
	{id: "LIV020", hook: "GenerateUpgradePlan", server: change(func(r, a object) {
		if r["fromWorkersKubernetesVersion"] == nil {
			a["status"] = "None"
		}
	}), message: `the status "None"`},
	{id: "LIV020", hook: "BeforeClusterCreate", server: change(func(r, _ object) { _ = r["settings"].(object) }),
		options: func(o *probe.Options) { o.Settings = map[string]string{"color": "red"} }, message: "no settings"},
	{id: "LIV021", hook: "BeforeClusterCreate", server: answer(object{"status": "success"})},
	{id: "LIV021", hook: "UpdateMachine", server: answer(object{"retryAfterSeconds": 0})},
	{id: "LIV021", hook: "BeforeClusterCreate", server: answer(object{"status": 1})},
	{id: "LIV022", hook: "BeforeClusterCreate", server: answer(object{"status": "Failure", "message": " "})},
	{id: "LIV022", hook: "BeforeClusterCreate", server: answer(object{"status": "Success", "retryAfterSeconds": 30}),
		message: "blocks, without"},
	{id: "LIV022", severity: lint.Error, hook: "BeforeClusterCreate",
		server:  answer(object{"status": "Success", "retryAfterSeconds": 30, "message": strings.Repeat("not yet ", 5000)}),
		message: "holds only 32768"},
	{id: "LIV022", severity: lint.Error, hook: "ValidateTopology",
		server:  answer(object{"status": "Failure", "message": strings.Repeat("not allowed ", 5000)}),
		message: "holds only 32768"},
	{id: "LIV023", hook: "BeforeClusterCreate", server: answer(object{"status": "Failure", "message": "no settings"}),
		message: "no settings"},
	{id: "LIV023", hook: "BeforeClusterCreate", server: answer(object{"status": "Failure", "message": "not\n" + long}),
		message: `x…"`},
	{id: "LIV024", hook: "BeforeClusterCreate", server: answer(object{"status": "Success", "retryAfterSeconds": -1})},
	{id: "LIV024", hook: "UpdateMachine", server: answer(object{"status": "Success", "retryAfterSeconds": "10"})},
	{id: "LIV024", hook: "BeforeClusterCreate", server: answer(object{"status": "Success", "retryAfterSeconds": 1.5})},
	{id: "LIV025", hook: "AfterControlPlaneInitialized",
		server:  answer(object{"status": "Success", "retryAfterSeconds": 10}),
		message: "AfterControlPlaneInitialized does not wait"},
	{id: "LIV025", hook: "AfterClusterUpgrade", server: answer(object{"status": "Success", "retryAfterSeconds": 10}),
		options: func(o *probe.Options) { o.Core = 11 }, message: "v1.11 of Cluster API does not wait"},
	{id: "LIV025", hook: "BeforeClusterCreate", also: "LIV023",
		server: answer(object{"status": "Failure", "message": "wait", "retryAfterSeconds": 10}), message: "with the status Failure"},
	{id: "LIV028", hook: "GeneratePatches", server: item("uid", "nobody")},
	{id: "LIV028", severity: lint.Warning, hook: "GeneratePatches", server: change(func(_, a object) {
		a["items"] = append(a["items"].([]object), a["items"].([]object)[0])
	}), message: "appears twice"},
	{id: "LIV030", hook: "GeneratePatches", server: item("patchType", "StrategicMerge"), message: "StrategicMerge"},
	{id: "LIV030", hook: "GeneratePatches", server: item("patch", `[{"op":"add"}]`), message: "base64"},
	{id: "LIV030", hook: "GeneratePatches", server: item("patch", []object{{"op": "add"}}), message: "items.patch is a"},
	{id: "LIV030", hook: "GeneratePatches", server: item("patch", encode(object{"a": 1})), message: "not a list"},
	{id: "LIV030", hook: "GeneratePatches", server: func(s *server) {
		s.answers[s.hook] = patchEach("DockerMachineTemplate", "JSONMergePatch", func(object) any { return []int{1} })
	}, message: "not a JSON object"},
	{id: "LIV031", hook: "GeneratePatches",
		server: patching("DockerMachineTemplate", object{"op": "replace", "path": "/spec/none", "value": 1})},
	{id: "LIV031", hook: "GeneratePatches", also: "LIV032", server: func(s *server) { // what is dropped is not there
		patching("DockerMachineTemplate", object{"op": "add", "path": "/metadata/finalizers", "value": []string{"a"}})(s)
		change(func(_, a object) {
			first := a["items"].([]object)[0]
			a["items"] = []object{first, {"uid": first["uid"], "patchType": "JSONPatch",
				"patch": encode([]object{{"op": "test", "path": "/metadata/finalizers/0", "value": "a"}})}}
		})(s)
	}, message: "items[1]"},
	{id: "LIV032", hook: "GeneratePatches",
		server:  patching("DockerMachineTemplate", object{"op": "add", "path": "/metadata/finalizers", "value": []string{"a"}}),
		message: "metadata.finalizers, which Cluster API drops"},
	{id: "LIV032", hook: "GeneratePatches",
		server:  patching("DockerMachineTemplate", object{"op": "add", "path": "/metadata/labels/a", "value": "b"}),
		options: func(o *probe.Options) { o.Core = 13 }, message: "metadata.labels.a"},
	{id: "LIV032", hook: "GeneratePatches",
		server:  patching("KubeadmControlPlaneTemplate", object{"op": "add", "path": "/spec/template/spec/replicas", "value": 5}),
		message: "replicas, which Cluster API sets itself"},
	{id: "LIV038", hook: "DiscoverVariables",
		server: variable(object{"name": "builtin", "required": false, "schema": stringSchema})},
	{id: "LIV038", hook: "DiscoverVariables",
		server: variable(object{"name": "a.b", "required": false, "schema": stringSchema})},
	{id: "LIV038", hook: "DiscoverVariables",
		server: variable(object{"name": strings.Repeat("a", 257), "required": false, "schema": stringSchema})},
	{id: "LIV038", hook: "DiscoverVariables",
		server:  change(func(_, a object) { a["variables"] = append(a["variables"].([]object), a["variables"].([]object)...) }),
		message: "taken by another"},
	{id: "LIV038", hook: "DiscoverVariables", server: change(func(_, a object) {
		many := make([]object, 1001)
		for i := range many {
			many[i] = object{"name": fmt.Sprint("v", i), "required": false, "schema": stringSchema}
		}
		a["variables"] = many
	}), message: "there are 1001 variables"},
	{id: "LIV041", hook: "GenerateUpgradePlan",
		server:  answer(object{"status": "Success", "controlPlaneUpgrades": []object{{"version": "v1.33.0"}, {"version": "v1.34.0"}}}),
		message: "skips minor versions"},
	{id: "LIV042", severity: lint.Warning, hook: "CanUpdateMachine",
		server:  machinePatch("JSONPatch", []object{{"op": "add", "path": "/metadata/labels/a", "value": "b"}}),
		message: "metadata.labels.a"},
	{id: "LIV042", hook: "CanUpdateMachine",
		server:  machinePatch("JSONPatch", []object{{"op": "replace", "path": "/spec/none", "value": "b"}}),
		message: "does not apply"},
	{id: "LIV042", hook: "CanUpdateMachineSet",
		server:  change(func(_, a object) { a["machineSetPatch"] = object{"patchType": "JSONPatch", "patch": "?"} }),
		message: "cannot be read"},
	{id: "LIV045", hook: "BeforeClusterCreate",
		server:  counted(func(_ int64, a object) { a["status"], a["message"] = "Failure", "already exists" }),
		message: "already exists"},
	{id: "LIV045", hook: "UpdateMachine",
		server:  counted(func(_ int64, a object) { a["message"], a["retryAfterSeconds"] = "it begins", 5 }),
		message: "after an answer that lets Cluster API continue"},
	{id: "LIV046", hook: "BeforeClusterUpgrade", server: func(s *server) {
		s.answers[s.hook] = success(object{"retryAfterSeconds": 60, "message": "attempt 1"})
		counted(func(n int64, a object) { a["message"] = fmt.Sprint("attempt ", n) })(s)
	}, message: `"attempt 1" and then "attempt 2"`},
	{id: "LIV046", hook: "ValidateTopology", also: "LIV023", server: func(s *server) {
		s.answers[s.hook] = func(object) object { return object{"status": "Failure", "message": "request 1"} }
		counted(func(n int64, a object) { a["message"] = fmt.Sprint("request ", n) })(s)
	}, message: "request 2"},
	{id: "LIV047", server: at("/v1alpha1/clusterctl-repo-probe", "", page(`{"status":"Success"}`)),
		message: "unknown hook"},
	{id: "LIV047", server: at("discovervariables/clusterctl-repo-probe", "", page(`{"status":"Success"}`)),
		message: "unknown handler"},
	{id: "LIV047", server: at("/v1alpha99/", "", page(`{"status":"Success"}`)), message: "unknown version"},
	{id: "LIV050", hook: "BeforeClusterCreate", server: at("acme-", "{", aborts), message: "panic"},
	{id: "LIV050", hook: "BeforeClusterCreate", server: at("acme-", "{", status(http.StatusBadGateway)), message: "502"},
	{id: "LIV050", hook: "GeneratePatches", server: at("acme-", "{", page(`{"status":"Success"}`)),
		message: "the status is Success"},
	{id: "LIV052", hook: "GeneratePatches", server: strictly("items"), message: "unknown fields: Failure: no such field"},
	{id: "LIV052", hook: "BeforeClusterCreate",
		server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			if bytes.Contains(body, []byte(`"clusterctlRepoProbe":"x","kind":"BeforeClusterCreateRequest"`)) {
				next = status(http.StatusBadRequest)
			}
			next.ServeHTTP(w, r)
		}), message: "unknown fields: it answers 400"},
	{id: "LIV052", hook: "UpdateMachine", server: strictly("desired"), message: "unknown fields"},
	{id: "LIV052", hook: "BeforeClusterDelete", server: strictly("cluster"), message: "unknown fields"},
	{id: "LIV052", hook: "ValidateTopology", server: refusing(true, `"cluster":{"clusterctlRepoProbe"`, "no such builtin"),
		message: "unknown fields"},
	{id: "LIV052", hook: "ValidateTopology",
		server:  refusing(true, `{"name":"clusterctlRepoProbe","value":"x"}`, "no such variable"),
		message: "an unknown variable: Failure: no such variable"},
	{id: "LIV052", hook: "DiscoverVariables",
		server:  refusing(true, `"settings":{"clusterctlRepoProbe"`, "no such setting"),
		message: "an unknown setting"},
	{id: "LIV060", hook: "GenerateUpgradePlan", server: func(s *server) {
		var calls atomic.Int64
		change(func(_, _ object) {
			if calls.Add(1) <= 2 {
				time.Sleep(1010 * time.Millisecond)
			}
		})(s)
	}, message: "it needs 1."},
	{id: "LIV063", hook: "BeforeClusterCreate",
		server:  answer(object{"status": "Success", "retryAfterSeconds": 0, long: 10}),
		message: "x…"},
	{id: "LIV063", server: func(s *server) { s.handlers[0]["failPolicy"] = "Fail" }, message: "handlers[0].failPolicy"},
	{id: "LIV063", severity: lint.Warning, hook: "BeforeClusterCreate",
		server:  answer(object{"status": "Success", "retryAfterSeconds": 0, "kind": "BeforeClusterDeleteResponse"}),
		message: "the kind of the answer is BeforeClusterDeleteResponse; want BeforeClusterCreateResponse"},
	{id: "LIV063", severity: lint.Warning, hook: "BeforeClusterCreate",
		server:  answer(object{"status": "Success", "retryAfterSeconds": 0, "apiVersion": extension.Group + "/v1"}),
		message: "the apiVersion of the answer is"},
	{id: "LIV063", severity: lint.Warning, server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
		w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
		next.ServeHTTP(w, r)
	}), message: "the Content-Type of the answer is application/yaml"},
	{id: "LIV063", hook: "DiscoverVariables",
		server:  variable(object{"name": "a", "required": false, "schema": stringSchema, "colour": "b"}),
		message: "colour"},
	{id: "LIV063", hook: "DiscoverVariables",
		server:  variable(object{"name": "a", "required": false, "schema": stringSchema, "metadata": object{"labels": object{"a": "b"}}}),
		message: "metadata"},
	{id: "LIV068", options: func(o *probe.Options) {
		o.Registration = &probe.Registration{File: "runtime-extension-components.yaml", Object: "ExtensionConfig acme", Path: "/extension"}
	}, message: "/extension"},
	{id: "LIV068", options: func(o *probe.Options) {
		o.Registration = &probe.Registration{File: "runtime-extension-components.yaml", Object: "ExtensionConfig acme", Ports: []string{"1"}, Name: o.URL.Hostname()}
	}, message: "calls port 1 of the Service"},
	{id: "LIV071", hook: "GeneratePatches", server: counted(func(n int64, a object) {
		a["items"].([]object)[0]["patch"] = encode([]object{{"op": "add", "path": "/spec/template/spec/image", "value": n}})
	}), message: "another DockerMachineTemplate"},
	{id: "LIV071", hook: "DiscoverVariables", server: counted(func(_ int64, a object) { a["variables"] = []object{} }),
		message: "other variables"},
	{id: "LIV071", hook: "GenerateUpgradePlan",
		server:  counted(func(_ int64, a object) { a["workersUpgrades"] = []object{{"version": "v1.33.9"}} }),
		message: "another plan"},
	{id: "LIV071", severity: lint.Warning, hook: "CanUpdateMachine", server: counted(func(_ int64, a object) { delete(a, "machinePatch") }),
		message: "another machinePatch"},
	{id: "LIV071", severity: lint.Warning, hook: "CanUpdateMachineSet", server: counted(func(_ int64, a object) { delete(a, "machineSetPatch") }),
		message: "another machineSetPatch"},
	{id: "LIV071", severity: lint.Warning, hook: "ValidateTopology",
		server:  counted(func(_ int64, a object) { a["status"], a["message"] = "Failure", "try again" }),
		message: "Failure: try again"},
	{id: "LIV071", hook: "GeneratePatches", server: func(s *server) { // takes the items of the first request
		var first atomic.Value
		good := s.answers[s.hook]
		s.answers[s.hook] = func(r object) object {
			first.CompareAndSwap(nil, good(r))
			return first.Load().(object)
		}
	}, message: "another DockerMachineTemplate"},
	{id: "LIV079", server: func(s *server) { s.handlers = []object{named("can", "CanUpdateMachine")} },
		message: "but no handler serves UpdateMachine"},
	{id: "LIV079", server: func(s *server) { s.handlers = []object{named("update", "UpdateMachine")} },
		message: "none says what can be updated"},
	{id: "LIV080", server: func(s *server) {
		s.handlers = []object{named("patches", "GeneratePatches")}
		s.handlers[0]["failurePolicy"] = "Ignore"
	}, message: "needs the answer of GeneratePatches"},
}

// TestEachFaultHasItsCheck starts a server for each fault: exactly the check of the
// fault finds something.
func TestEachFaultHasItsCheck(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	seen := map[string]bool{}
	for i, f := range faults {
		seen[f.id] = true
		t.Run(fmt.Sprintf("%s-%d", f.id, i), func(t *testing.T) {
			t.Parallel()
			s := healthy(f.hook)
			if f.server != nil {
				f.server(s)
			}
			ca := ca
			if f.expiredCA {
				ca = authorityUntil(t, time.Now().Add(-24*time.Hour))
			}
			o := options(t, s.start(t, ca), ca)
			if f.hook == "" {
				o.Level = extension.Discover
			}
			if f.options != nil {
				f.options(&o)
			}
			want := f.severity
			if want == lint.Off {
				want = checks.ByID(f.id).Severity
			}
			said := false
			for _, got := range found(t, o, f.id) {
				if got.Rule.ID != f.also && (got.Rule.ID != f.id || got.Severity != want) {
					t.Errorf("%s %s %s: %s", got.Rule.ID, got.Severity, got.Object, got.Message)
				}
				said = said || got.Rule.ID == f.id && strings.Contains(got.Message, f.message)
				if strings.Contains(got.Message, "\n") || got.File == "" || len(got.Message) > 1000 {
					t.Errorf("a finding at %q: %q", got.File, got.Message)
				}
			}
			if !said {
				t.Errorf("no finding of %s says %q", f.id, f.message)
			}
		})
	}
	for _, c := range checks.All {
		if !seen[c.ID] {
			t.Errorf("no server violates %s", c.ID)
		}
	}
}
