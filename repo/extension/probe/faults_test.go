package probe_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// long is a text of a server that is cut.
var long = strings.Repeat("x", 1000)

// fault is something that a server does wrong, and the only check that finds it.
type fault struct {
	id       string
	severity lint.Severity // that of the check if it is Off
	server   func(*server)
	options  func(*probe.Options)
	// expiredCA is set if the certificate of the CA has ended.
	expiredCA bool
	// level is one above that of the check, if it is only found there.
	level extension.Level
	// restart is what changes with a restart.
	restart func(*server)
	// message is a part of what is said.
	message string
}

const discoveryPath = "/" + extension.APIVersion + "/discovery"

// about notes that a fault is in the handlers whose paths contain a part, if there are any.
func about(part string, f func(*server)) func(*server) {
	return func(s *server) {
		if slices.ContainsFunc(extension.Hooks(contract.NewestCore), func(h *extension.Hook) bool { return strings.Contains(h.Path(name(h.Name)), part) }) {
			s.about = append(s.about, part)
		}
		f(s)
	}
}

// apart returns the handlers that a row need not call, as they are healthy and have rows of
// their own: those of the level that share nothing with the handlers of the fault, and at
// level All the pure ones too. Pure hooks of one kind share what they are asked about.
func (s *server) apart(level extension.Level) (names []string) {
	kind := func(part string) int {
		return slices.IndexFunc([]string{"canupdate", "generateupgradeplan", ""}, func(of string) bool { return strings.Contains(part, of) })
	}
	for _, h := range extension.Hooks(contract.NewestCore) {
		near := func(part string) bool {
			return part == "" || strings.Contains(h.Path(name(h.Name)), part) ||
				level == extension.Pure && kind(part) == kind(name(h.Name))
		}
		if level == extension.All && h.Level == extension.Pure ||
			h.Level == level && len(s.about) > 0 && !slices.ContainsFunc(s.about, near) {
			names = append(names, name(h.Name))
		}
	}
	return names
}

// answer replaces what a hook answers.
func answer(hook string, with object) func(*server) {
	return answering(hook, func(object) object { return with })
}

func answering(hook string, with func(object) object) func(*server) {
	return about(name(hook), func(s *server) { s.answers[hook] = with })
}

// change changes a good answer.
func change(hook string, with func(request, answer object)) func(*server) {
	return about(name(hook), func(s *server) {
		good := s.answers[hook]
		s.answers[hook] = func(r object) object {
			a := good(r)
			with(r, a)
			return a
		}
	})
}

// refuseStep lets a hook refuse a version on the way to that of the Cluster.
func refuseStep(hook string) func(*server) {
	return change(hook, func(r, a object) {
		if r["toKubernetesVersion"] == "v1.32.0" || r["kubernetesVersion"] == "v1.32.0" {
			a["status"], a["message"] = "Failure", "it is not the version of the Cluster"
		}
	})
}

// patching lets GeneratePatches answer with one patch for the templates of a kind.
func patching(kind string, operations ...object) func(*server) {
	return answering("GeneratePatches", jsonPatch(kind, operations...))
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

// when answers in place of the server.
func when(is func(r *http.Request, body []byte) bool, answer http.HandlerFunc) func(*server) {
	return between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
		if is(r, body) {
			next = answer
		}
		next.ServeHTTP(w, r)
	})
}

// at answers requests below a path.
func at(path string, answer http.HandlerFunc) func(*server) {
	return about(path, when(func(r *http.Request, _ []byte) bool { return strings.Contains(r.URL.Path, path) }, answer))
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func says(answer object) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { write(w, answer) }
}

func page(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

func aborts(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// crowded serves at most some requests below a path at once.
func crowded(path string, most int64) func(*server) {
	var running atomic.Int64
	return about(path, between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
		if strings.Contains(r.URL.Path, path) {
			defer running.Add(-1)
			if running.Add(1) > most {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		next.ServeHTTP(w, r)
	}))
}

// handler changes an entry of discovery.
func handler(i int, key string, value any) func(*server) {
	return func(s *server) { s.handlers[i][key] = value }
}

func variable(v object) func(*server) {
	return answer("DiscoverVariables", object{"status": "Success", "variables": []object{v}})
}

var stringSchema = object{"openAPIV3Schema": object{"type": "string"}}

func classFile(text string) *manifest.File {
	return manifest.New(repo.BytesArtifact("clusterclass-acme.yaml", []byte(text)), layouts.ClusterClass, []byte(text))
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

func faults() []fault {
	var count atomic.Int64
	// What counts up in one server must not depend on the others, which run at once.
	var discoveries atomic.Int64
	even := func() bool { return discoveries.Add(1)%2 == 0 }
	hijack := func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }
	return []fault{
		{id: "LIV001", server: func(s *server) { s.plain = true; s.config = func(c *tls.Config) { c.Certificates = nil } }},
		{id: "LIV002", server: func(s *server) { s.dnsNames = []string{"localhost"} }, message: "for localhost, not for " + serviceName},
		{id: "LIV003", server: func(s *server) { s.notAfter = time.Now().Add(-24 * time.Hour) }, message: "expired on"},
		{id: "LIV003", severity: lint.Warning, server: func(s *server) { s.notAfter = time.Now().Add(24 * time.Hour) }, message: "expires on"},
		{id: "LIV004", options: func(o *probe.Options) { o.OtherRoots = o.Roots }},
		{id: "LIV005", server: func(s *server) { s.config = func(c *tls.Config) { c.MinVersion = tls.VersionTLS10 } }, message: "1.0"},
		{id: "LIV005", severity: lint.Error, server: func(s *server) {
			s.config = func(c *tls.Config) {
				c.MinVersion, c.MaxVersion, c.NextProtos = tls.VersionTLS10, tls.VersionTLS11, nil
			}
		}, message: "does not support TLS 1.2"},
		{id: "LIV006", server: func(s *server) { s.plain = true }},
		{id: "LIV007", server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
			http.Error(w, "<html>no</html>", http.StatusNotFound)
		}), message: "404"},
		{id: "LIV007", server: when(func(r *http.Request, body []byte) bool {
			return strings.HasPrefix(r.Host, serviceName)
		}, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "unknown host", http.StatusMisdirectedRequest)
		}), message: "unknown host"},
		{id: "LIV008", server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
			write(w, object{"status": "OK"})
		}), message: `"OK"`},
		{id: "LIV008", server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
			write(w, object{"status": "OK", "message": long})
		}), message: `x…"`},
		{id: "LIV008", server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
			_, _ = io.WriteString(w, "<html>hello</html>")
		}), message: "not JSON"},
		{id: "LIV008", server: func(s *server) {
			for i := range extension.MaxHandlers {
				s.handlers = append(s.handlers, object{"name": fmt.Sprint("h", i), "requestHook": object{"apiVersion": extension.APIVersion, "hook": "BeforeClusterCreate"}})
			}
		}, message: "can only hold 512"},
		{id: "LIV009", server: func(s *server) { s.handlers = []object{} }},
		{id: "LIV010", server: func(s *server) { s.handlers[1]["name"] = s.handlers[0]["name"] }},
		{id: "LIV011", server: handler(3, "name", "Upgrade_Handler")},
		{id: "LIV012", server: handler(3, "requestHook", object{"apiVersion": extension.Group + "/v1", "hook": "BeforeClusterCreate"})},
		{id: "LIV012", server: handler(3, "requestHook", object{"apiVersion": "a/b/c", "hook": "BeforeClusterCreate"})},
		{id: "LIV013", server: handler(3, "requestHook", object{"apiVersion": extension.APIVersion, "hook": "beforeClusterUpgrade"}), message: "it is written BeforeClusterUpgrade"},
		{id: "LIV013", server: func(s *server) {
			s.handlers = []object{{"name": "plan", "requestHook": object{"apiVersion": extension.APIVersion, "hook": "GenerateUpgradePlan"}}}
		}, options: func(o *probe.Options) { o.Core = 11 }, message: "since v1.12"},
		{id: "LIV014", server: handler(3, "timeoutSeconds", 60)},
		{id: "LIV014", severity: lint.Info, server: handler(3, "timeoutSeconds", 0)},
		{id: "LIV015", server: handler(3, "failurePolicy", "ignore")},
		{id: "LIV016", server: func(s *server) {
			s.handlers = append(s.handlers, object{"name": "second", "requestHook": object{"apiVersion": extension.APIVersion, "hook": "UpdateMachine"}})
		}, message: "acme-updatemachine, second"},
		{id: "LIV017", server: func(s *server) {
			s.handlers = []object{{"name": "patches", "requestHook": object{"apiVersion": extension.APIVersion, "hook": "GeneratePatches"}}}
		}, options: func(o *probe.Options) {
			f := classFile("kind: Cluster\napiVersion: cluster.x-k8s.io/v1beta2\nmetadata: {name: c}\nspec: {topology: {classRef: {name: x}, version: v1.34.1, variables: [{name: flavor, value: small}]}}\n")
			o.Topology, _ = extension.ReadTopology(f)
		}, message: "flavor"},
		{id: "LIV018", server: when(func(r *http.Request, body []byte) bool {
			return r.URL.Path == discoveryPath && len(body) > 10 && r.Method == http.MethodPost && even()
		}, says(object{"status": "Success", "handlers": []object{}}))},
		{id: "LIV019", options: func(o *probe.Options) { o.Classes = clusterclass.In(classFile(namingClass)) }, message: `no handler "acme-generatepatches" for ValidateTopology`},
		{id: "LIV020", level: extension.All, server: at("beforeclustercreate", status(http.StatusInternalServerError)), message: "500"},
		{id: "LIV020", level: extension.All, server: at("beforeclustercreate", page("<html>")), message: "not JSON"},
		{id: "LIV020", level: extension.All, server: func(s *server) {
			handler(3, "timeoutSeconds", 1)(s)
			when(func(r *http.Request, body []byte) bool {
				return strings.Contains(r.URL.Path, s.handlers[3]["name"].(string))
			}, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })(s)
		}, message: "no answer in time (1s)"},
		{id: "LIV020", level: extension.All, server: at("beforeclustercreate", aborts)},
		{id: "LIV020", level: extension.All, server: func(s *server) {
			for _, h := range s.handlers {
				if h["name"] == name("BeforeClusterCreate") {
					h["failurePolicy"] = "Ignore"
				}
			}
			at("beforeclustercreate", status(http.StatusBadGateway))(s)
		}, message: "continues as if it had succeeded"},
		{id: "LIV020", level: extension.All, server: change("BeforeClusterCreate", func(r, _ object) {
			_ = r["cluster"].(object)["metadata"].(object)["labels"].(object)["example"]
		}), message: "with a Cluster without labels"},
		{id: "LIV020", level: extension.All, server: change("AfterControlPlaneUpgrade", func(r, _ object) { _ = r["controlPlaneUpgrades"].([]any)[0] }), message: "no further steps"},
		{id: "LIV020", level: extension.All, server: change("BeforeClusterUpgrade", func(r, _ object) {
			if strings.Contains(r["toKubernetesVersion"].(string), "+") {
				hijack(nil)
			}
		}), message: "build metadata"},
		{id: "LIV020", server: change("GeneratePatches", func(r, _ object) { _ = r["items"].([]any)[4] }), message: "a Cluster without workers"},
		{id: "LIV020", server: change("ValidateTopology", func(r, _ object) {
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte("東京")) {
				hijack(nil)
			}
		}), message: "Unicode"},
		{id: "LIV020", server: change("GeneratePatches", func(r, _ object) {
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte("fd00:")) {
				hijack(nil)
			}
		}), message: "IPv6"},
		{id: "LIV020", server: change("CanUpdateMachineSet", func(r, _ object) {
			var short [40]byte
			_ = short[:len(r["current"].(object)["machineSet"].(object)["spec"].(object)["clusterName"].(string))]
		}), message: "a name of 63 characters"},
		{id: "LIV021", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "success"})},
		{id: "LIV021", level: extension.All, server: answer("BeforeClusterCreate", object{"retryAfterSeconds": 0})},
		{id: "LIV021", level: extension.All, server: answer("BeforeClusterCreate", object{"status": 1})},
		{id: "LIV022", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "Failure"})},
		{id: "LIV023", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "Failure", "message": "no settings"}), message: "no settings"},
		{id: "LIV023", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "Failure", "message": long}), message: `x…"`},
		{id: "LIV024", server: answer("BeforeClusterCreate", object{"status": "Success", "retryAfterSeconds": -1})},
		{id: "LIV024", server: answer("BeforeClusterCreate", object{"status": "Success", "retryAfterSeconds": "10"})},
		{id: "LIV024", server: answer("BeforeClusterCreate", object{"status": "Success", "retryAfterSeconds": 1.5})},
		{id: "LIV025", level: extension.All, server: answer("AfterControlPlaneInitialized", object{"status": "Success", "retryAfterSeconds": 10})},
		{id: "LIV025", level: extension.All, server: answer("AfterControlPlaneInitialized", object{"status": "Success", "retryAfterSeconds": long}), message: "x…"},
		{id: "LIV026", server: func(s *server) {
			s.handlers = []object{{"name": "after", "requestHook": object{"apiVersion": extension.APIVersion, "hook": "AfterClusterUpgrade"}}}
			answer("AfterClusterUpgrade", object{"status": "Success", "retryAfterSeconds": 10})(s)
		}, options: func(o *probe.Options) { o.Core = 11 }},
		{id: "LIV027", server: func(s *server) {
			answer("BeforeClusterCreate", object{"status": "Failure", "message": "wait", "retryAfterSeconds": 10})(s)
		}, options: func(o *probe.Options) { o.Severity["LIV023"] = lint.Off }},
		{id: "LIV028", server: change("GeneratePatches", func(_, a object) { a["items"].([]object)[0]["uid"] = "nobody" })},
		{id: "LIV028", severity: lint.Warning, server: change("GeneratePatches", func(_, a object) {
			items := a["items"].([]object)
			a["items"] = append(items, items[0])
		})},
		{id: "LIV029", server: change("GeneratePatches", func(_, a object) { a["items"].([]object)[0]["patchType"] = "StrategicMerge" })},
		{id: "LIV030", server: change("GeneratePatches", func(_, a object) { a["items"].([]object)[0]["patch"] = `[{"op":"add"}]` })},
		{id: "LIV030", server: change("GeneratePatches", func(_, a object) { a["items"].([]object)[0]["patch"] = []object{} })},
		{id: "LIV030", server: change("GeneratePatches", func(_, a object) { a["items"].([]object)[0]["patch"] = encode(object{"a": 1}) })},
		{id: "LIV030", server: func(s *server) {
			s.answers["GeneratePatches"] = patchEach("DockerMachineTemplate", "JSONMergePatch", func(object) any { return []int{1} })
		}},
		{id: "LIV031", server: patching("DockerMachineTemplate", object{"op": "replace", "path": "/spec/none", "value": 1})},
		{id: "LIV032", server: patching("DockerMachineTemplate", object{"op": "add", "path": "/metadata/finalizers", "value": []string{"a"}}), message: "metadata.finalizers"},
		{id: "LIV032", server: patching("DockerMachineTemplate", object{"op": "add", "path": "/metadata/labels/a", "value": "b"}), options: func(o *probe.Options) { o.Core = 13 }, message: "metadata.labels.a"},
		{id: "LIV032", server: func(s *server) { // what is removed stays
			s.answers["GeneratePatches"] = jsonPatch("DockerMachineTemplate", object{"op": "remove", "path": "/spec"})
		}, message: "changes spec.template.spec.extraMounts, which Cluster API drops"},
		{id: "LIV033", server: patching("KubeadmControlPlaneTemplate", object{"op": "add", "path": "/spec/template/spec/replicas", "value": 5})},
		{id: "LIV034", server: patching("DockerMachineTemplate", object{"op": "add", "path": "/spec/template/spec/image", "value": 5}), options: func(o *probe.Options) {
			o.Schema = func(_, kind, _ string) (crd.Schema, bool) {
				if kind != "DockerMachineTemplate" {
					return crd.Schema{}, false
				}
				return crd.Schema{Node: yamldoc.Parse(yamldoc.NewFile("crd", []byte(`{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {template: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {image: {type: string}}}}}}}}}`))).Docs[0].Root}, true
			}
		}, message: "image"},
		{id: "LIV034", server: change("GeneratePatches", func(r, a object) { // the first may be anything
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte("東京")) {
				maps.Copy(a, jsonPatch("KubeadmControlPlaneTemplate",
					object{"op": "replace", "path": "/spec/template/spec/kubeadmConfigSpec/initConfiguration", "value": "a"},
					object{"op": "replace", "path": "/spec/template/spec/kubeadmConfigSpec/joinConfiguration", "value": "b"})(r))
			}
		}), options: func(o *probe.Options) {
			o.Schema = func(_, kind, _ string) (crd.Schema, bool) {
				const schema = `{properties: {spec: {properties: {template: {properties: {spec: {properties: {kubeadmConfigSpec:
					{properties: {initConfiguration: {x-kubernetes-preserve-unknown-fields: true}, joinConfiguration: {type: object}}}}}}}}}}}`
				return crd.Schema{Node: yamldoc.Parse(yamldoc.NewFile("crd", []byte(schema))).Docs[0].Root}, kind == "KubeadmControlPlaneTemplate"
			}
		}, message: "of another type at spec.template.spec.kubeadmConfigSpec.joinConfiguration"},
		{id: "LIV034", server: patching("DockerClusterTemplate", grown(extension.MaxObject)...), message: "more than an API server accepts"},
		{id: "LIV031", server: change("GeneratePatches", func(r, a object) {
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte("東京")) {
				a["items"].([]object)[0]["patch"] = encode([]object{{"op": "replace", "path": "/spec/none", "value": 1}})
			}
		}), message: "with Unicode in annotations and variables: a patch does not apply to the DockerMachineTemplate"},
		{id: "LIV034", server: func(s *server) {
			s.answers["GeneratePatches"] = patchEach("DockerMachineTemplate", "JSONMergePatch", func(object) any {
				return object{"spec": object{"template": object{"metadata": object{"labels": object{"a": "b c"}}}}}
			})
		}, message: `has an invalid label a: "b c"`},
		{id: "LIV034", server: func(s *server) {
			s.answers["GeneratePatches"] = func(r object) object {
				text, _ := json.Marshal(r)
				return patchEach("DockerMachineTemplate", "JSONMergePatch", func(object) any {
					label := "a"
					if bytes.Contains(text, []byte("+acme")) {
						label = "v1+acme"
					}
					return object{"spec": object{"template": object{"metadata": object{"labels": object{"a": label}}}}}
				})(r)
			}
		}, message: "with a pre-release version with build metadata: the patched DockerMachineTemplate for"},
		{id: "LIV035", server: func(s *server) {
			s.answers["GeneratePatches"] = patchEach("DockerMachineTemplate", "JSONPatch", func(object) any {
				return []object{{"op": "add", "path": "/spec/template/spec/name", "value": count.Add(1)}}
			})
		}, message: "DockerMachineTemplate"},
		{id: "LIV035", server: func(s *server) {
			good := s.answers["GeneratePatches"]
			var once sync.Once
			var first object
			s.answers["GeneratePatches"] = func(r object) object {
				once.Do(func() { first = good(r) })
				return first
			}
		}, message: "with other uids"},
		{id: "LIV034", server: patching("KubeadmControlPlaneTemplate", object{"op": "replace", "path": "/spec/template/spec/kubeadmConfigSpec", "value": "{}"}), message: "of another type at spec.template.spec.kubeadmConfigSpec"},
		{id: "LIV035", severity: lint.Warning, server: change("GeneratePatches", func(r, a object) {
			if text, _ := json.Marshal(r["variables"]); !bytes.Contains(text, []byte("7a4f0a52")) {
				a["items"] = []object{}
			}
		}), message: "with another uid of the Cluster"},
		{id: "LIV035", severity: lint.Warning, server: change("GeneratePatches", func(r, a object) {
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte(`"replicas":7`)) {
				a["items"] = []object{}
			}
		}), message: "with more replicas of workers"},
		{id: "LIV035", options: often, server: func(s *server) { // mixes up requests that come at once
			var others atomic.Int64
			good := s.answers["GeneratePatches"]
			s.answers["GeneratePatches"] = func(r object) object {
				switch text, _ := json.Marshal(r["variables"]); {
				case bytes.Contains(text, []byte(extension.OtherName)):
					others.Add(1)
					defer others.Add(-1)
					time.Sleep(50 * time.Millisecond)
				case others.Load() > 0:
					return object{"status": "Success", "items": []object{}}
				}
				return good(r)
			}
		}, message: "different answer"},
		{id: "LIV036", server: func(s *server) {
			s.answers["GeneratePatches"] = func(r object) object {
				list := r["items"].([]any)
				item := list[0].(object)
				return object{"status": "Success", "items": []object{{"uid": item["uid"], "patchType": "JSONMergePatch", "patch": encode(object{"spec": object{"first": true}})}}}
			}
		}},
		{id: "LIV036", server: change("GeneratePatches", func(r, a object) {
			if first := r["variables"].([]any)[0].(object); first["name"] == "builtin" {
				a["items"] = []object{}
			}
		}), message: "with the variables in another order"},
		{id: "LIV037", severity: lint.Warning, server: change("ValidateTopology", refusePatched)},
		{id: "LIV037", severity: lint.Error, server: when(func(r *http.Request, body []byte) bool {
			return strings.Contains(r.URL.Path, "validatetopology") && bytes.Contains(body, []byte(`"image":"acme"`))
		}, status(http.StatusBadGateway))},
		{id: "LIV038", server: variable(object{"name": "builtin", "required": false, "schema": stringSchema})},
		{id: "LIV038", server: variable(object{"name": "a.b", "required": false, "schema": stringSchema})},
		{id: "LIV038", server: variable(object{"name": "", "required": false, "schema": stringSchema})},
		{id: "LIV038", server: variable(object{"name": strings.Repeat("a", 257), "required": false, "schema": stringSchema})},
		{id: "LIV038", server: variable(object{"name": "a", "required": false, "schema": object{"openAPIV3Schema": object{"type": "text"}}})},
		{id: "LIV038", server: variable(object{"name": "a", "required": false, "schema": object{"openAPIV3Schema": object{"type": "string", "default": 1}}})},
		{id: "LIV038", server: answer("DiscoverVariables", object{"status": "Success", "variables": []object{
			{"name": "a", "required": false, "schema": stringSchema}, {"name": "a", "required": false, "schema": stringSchema},
		}})},
		{id: "LIV038", server: variable(object{"name": "a", "required": true, "schema": object{"openAPIV3Schema": object{"type": "string", "uniqueItems": false}}}), options: func(o *probe.Options) {
			o.Classes = clusterclass.In(classFile("apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: acme}\nspec: {patches: [{name: a, external: {discoverVariablesExtension: acme-discovervariables.acme}}], variables: [{name: a, required: false, schema: {openAPIV3Schema: {type: string}}}]}\n"))
		}, message: "the ClusterClass acme defines it differently"},
		{id: "LIV038", server: func(s *server) {
			s.handlers = append(s.handlers, object{"name": "second", "requestHook": object{"apiVersion": extension.APIVersion, "hook": "DiscoverVariables"}})
			when(func(r *http.Request, body []byte) bool {
				return strings.HasSuffix(r.URL.Path, "/second") && json.Valid(body) && len(body) > 10
			}, says(object{"status": "Success", "variables": []object{{"name": "flavor", "required": false, "schema": stringSchema}}}))(s)
		}, options: func(o *probe.Options) {
			o.Classes = clusterclass.In(classFile("apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: acme}\nspec: {patches: [{name: a, external: {discoverVariablesExtension: acme-discovervariables.acme}}, {name: b, external: {discoverVariablesExtension: second.acme}}]}\n"))
		}, message: `variable "flavor": handler "acme-discovervariables", which the ClusterClass acme also uses, defines it differently`},
		{id: "LIV039", server: func(s *server) {
			s.answers["DiscoverVariables"] = func(object) object {
				return object{"status": "Success", "variables": []object{{"name": "a", "required": false, "schema": object{"openAPIV3Schema": object{"type": "integer", "default": count.Add(1)}}}}}
			}
		}},
		{id: "LIV040", server: variable(object{"name": "a", "required": false, "schema": stringSchema, "metadata": object{"labels": object{"a": "b"}}})},
		{id: "LIV040", server: variable(object{"name": "a", "required": false, "schema": stringSchema, "deprecatedV1Beta1Metadata": object{"labels": object{"a": "b"}}}), options: func(o *probe.Options) { o.Core = 12 }},
		{id: "LIV041", server: answer("GenerateUpgradePlan", object{"status": "Success", "controlPlaneUpgrades": []object{{"version": "v1.33.0"}, {"version": "v1.34.0"}}}), message: "skips minor versions"},
		{id: "LIV041", server: answer("GenerateUpgradePlan", object{"status": "Success", "controlPlaneUpgrades": []object{{"version": "v1.32.0"}, {"version": "v1.33.0"}, {"version": "v1.34.0"}}}), message: "not greater than v1.32.0"},
		{id: "LIV041", server: change("GenerateUpgradePlan", func(r, a object) {
			if r["fromWorkersKubernetesVersion"] == nil {
				a["status"], a["message"] = "Failure", "no version of workers"
			}
		}), message: "(workers: none) to v1.34.0: Failure"},
		{id: "LIV041", server: change("GenerateUpgradePlan", func(r, a object) {
			if r["toKubernetesVersion"] == "v1.34.1" {
				a["controlPlaneUpgrades"] = []object{}
			}
		}), message: "v1.34.1: controlPlaneUpgrades ends with v1.34.0"},
		{id: "LIV042", severity: lint.Warning, server: change("CanUpdateMachine", func(r, a object) {
			if a["machinePatch"] != nil {
				a["machinePatch"] = object{"patchType": "JSONPatch", "patch": encode([]object{{"op": "add", "path": "/metadata/labels/a", "value": "b"}})}
			}
		}), message: "metadata.labels.a"},
		{id: "LIV042", server: change("CanUpdateMachineSet", func(r, a object) {
			if a["machineSetPatch"] != nil {
				a["machineSetPatch"] = object{"patchType": "JSONPatch", "patch": encode([]object{{"op": "replace", "path": "/spec/none", "value": "b"}})}
			}
		}), message: "does not apply"},
		{id: "LIV042", severity: lint.Info, server: change("CanUpdateMachine", func(_, a object) {
			a["infrastructureMachinePatch"] = object{"patchType": "JSONMergePatch", "patch": encode(object{"status": object{"ready": false}})}
		}), message: "status.ready, which Cluster API ignores"},
		{id: "LIV042", severity: lint.Warning, server: change("CanUpdateMachine", func(_, a object) {
			if a["machinePatch"] != nil {
				a["machinePatch"] = object{"patchType": "JSONMergePatch", "patch": encode(object{"spec": object{"version": "v1.35.0"}})}
			}
		}), message: "spec.version to a value that is not the desired one"},
		{id: "LIV042", severity: lint.Warning, server: change("CanUpdateMachineSet", func(_, a object) {
			if a["machineSetPatch"] != nil {
				a["machineSetPatch"] = object{"patchType": "JSONPatch", "patch": encode([]object{{"op": "remove", "path": "/spec/selector"}})}
			}
		}), message: "spec.selector to a value"},
		{id: "LIV042", server: change("CanUpdateMachine", func(r, a object) {
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte("+acme")) {
				a["machinePatch"] = object{"patchType": "JSONPatch", "patch": encode([]object{{"op": "remove", "path": "/spec/none"}})}
			}
		}), message: "with a pre-release version with build metadata: machinePatch does not apply"},
		{id: "LIV043", server: change("CanUpdateMachine", func(r, a object) {
			a["machinePatch"] = object{"patchType": "JSONMergePatch", "patch": encode(object{"spec": object{"version": "v1.34.1"}})}
		})},
		{id: "LIV044", server: answer("UpdateMachine", object{"status": "Success", "retryAfterSeconds": -5})},
		{id: "LIV044", server: answer("UpdateMachine", object{"status": "Done"})},
		{id: "LIV044", server: answer("UpdateMachine", object{"status": "Success", "retryAfterSeconds": "now"})},
		{id: "LIV045", server: func(s *server) {
			calls := &atomic.Int64{}
			s.answers["BeforeClusterCreate"] = func(object) object {
				if calls.Add(1) > 1 {
					return object{"status": "Failure", "message": "already exists"}
				}
				return object{"status": "Success", "retryAfterSeconds": 0}
			}
		}, message: "already exists"},
		{id: "LIV045", server: func(s *server) {
			calls := &atomic.Int64{}
			s.answers["UpdateMachine"] = func(object) object {
				if calls.Add(1) == 1 {
					return object{"status": "Success", "retryAfterSeconds": 0}
				}
				return object{"status": "Success", "message": "it begins", "retryAfterSeconds": 5}
			}
		}, message: "after an answer that lets Cluster API continue"},
		{id: "LIV046", level: extension.All, server: when(func(r *http.Request, body []byte) bool {
			return strings.Contains(r.URL.Path, "beforeclustercreate") && string(body) == "[]"
		}, func(w http.ResponseWriter, r *http.Request) {
			write(w, object{"status": "Failure", "message": fmt.Sprint("request ", count.Add(1))})
		})},
		{id: "LIV046", server: when(func(r *http.Request, body []byte) bool {
			return strings.Contains(r.URL.Path, "validatetopology") && string(body) == "{"
		}, func(w http.ResponseWriter, r *http.Request) {
			write(w, object{"status": "Failure", "message": fmt.Sprint("request ", count.Add(1))})
		})},
		{id: "LIV046", server: change("GenerateUpgradePlan", func(r, a object) {
			if r["toKubernetesVersion"] == "v1.34.1" {
				a["status"], a["message"] = "Failure", fmt.Sprint("unknown version, call ", count.Add(1))
			}
		})},
		{id: "LIV046", server: change("GeneratePatches", func(r, a object) {
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte("+acme")) {
				a["status"], a["message"] = "Failure", fmt.Sprint("item ", r["items"].([]any)[0].(object)["uid"])
			}
		}), message: "f0000001"},
		{id: "LIV047", server: at("/v1alpha1/clusterctl-repo-probe", says(object{"status": "Success"}))},
		{id: "LIV048", server: when(func(r *http.Request, body []byte) bool {
			return strings.HasSuffix(r.URL.Path, "discovervariables/clusterctl-repo-probe")
		}, says(object{"status": "Success"}))},
		{id: "LIV049", server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			r.URL.Path = strings.Replace(r.URL.Path, "v1alpha99", "v1alpha1", 1)
			next.ServeHTTP(w, r)
		})},
		{id: "LIV050", level: extension.All, server: when(func(r *http.Request, body []byte) bool {
			return strings.Contains(r.URL.Path, "beforeclustercreate") && string(body) == "[]"
		}, aborts)},
		{id: "LIV050", server: when(func(r *http.Request, body []byte) bool {
			return r.URL.Path == discoveryPath && string(body) == "" && r.Method == http.MethodPost
		}, says(object{"status": "Success"}))},
		{id: "LIV051", level: extension.Pure, server: when(func(r *http.Request, body []byte) bool {
			return bytes.Contains(body, []byte(`"kind":"Other"`)) && strings.Contains(r.URL.Path, "generatepatches")
		}, status(http.StatusInternalServerError))},
		{id: "LIV052", level: extension.Pure, server: when(func(r *http.Request, body []byte) bool {
			return bytes.Contains(body, []byte(`"clusterctlRepoProbe"`)) && strings.Contains(r.URL.Path, "generatepatches")
		}, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "unknown field", http.StatusBadRequest) })},
		{id: "LIV053", server: when(func(r *http.Request, body []byte) bool {
			return r.URL.Path == discoveryPath && r.Header.Get("Content-Type") == "" && r.Method == http.MethodPost
		}, status(http.StatusUnsupportedMediaType))},
		{id: "LIV054", level: extension.Pure, server: when(func(r *http.Request, body []byte) bool {
			return strings.Contains(r.URL.Path, "generatepatches") && r.URL.RawQuery != ""
		}, status(http.StatusBadRequest))},
		{id: "LIV055", server: when(func(r *http.Request, body []byte) bool {
			return r.ProtoMajor == 1
		}, status(http.StatusHTTPVersionNotSupported))},
		{id: "LIV056", server: when(func(r *http.Request, body []byte) bool {
			return bytes.Contains(body, []byte(`"clusterctl-repo-probe"`)) && strings.Contains(r.URL.Path, "generatepatches")
		}, says(object{"status": "Failure", "message": "unknown setting"})), message: "unknown setting"},
		{id: "LIV057", server: when(func(r *http.Request, body []byte) bool {
			return strings.Contains(r.URL.Path, "generatepatches") && bytes.Contains(body, []byte("holderReference")) && !bytes.Contains(body, []byte(`"color"`))
		}, aborts), options: func(o *probe.Options) { o.Settings = map[string]string{"color": "red"} }},
		{id: "LIV058", server: when(func(r *http.Request, body []byte) bool {
			return r.URL.Path == discoveryPath && r.Method == http.MethodGet
		}, says(object{"status": "Success"}))},
		{id: "LIV059", server: crowded(discoveryPath, 10), message: "calls at once fail"},
		{id: "LIV059", level: extension.Pure, options: often, server: crowded("validatetopology", 20), message: "calls at once fail"},
		{id: "LIV059", level: extension.Pure, options: often, server: func(s *server) { // two hooks at once
			var running [2]atomic.Int64
			between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
				i := slices.IndexFunc([]string{"generatepatches", "validatetopology"}, func(hook string) bool { return strings.Contains(r.URL.Path, hook) })
				if i < 0 {
					next.ServeHTTP(w, r)
					return
				}
				defer running[i].Add(-1)
				if running[i].Add(1); running[1-i].Load() > 0 {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				time.Sleep(20 * time.Millisecond)
				next.ServeHTTP(w, r)
			})(s)
		}, message: "calls at once fail"},
		{id: "LIV060", level: extension.Pure, server: func(s *server) {
			s.answers["GenerateUpgradePlan"] = slow(s.answers["GenerateUpgradePlan"], 1100*time.Millisecond)
		}},
		{id: "LIV061", server: when(func(r *http.Request, body []byte) bool {
			return len(body) > 1<<20
		}, status(http.StatusRequestEntityTooLarge)), message: "413"},
		{id: "LIV061", server: when(func(r *http.Request, body []byte) bool {
			return len(body) > 1<<20 && strings.Contains(r.URL.Path, "validatetopology")
		}, aborts), message: "a request of"},
		{id: "LIV061", severity: lint.Error, server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			if strings.Contains(r.URL.Path, "validatetopology") {
				for part := bytes.Repeat([]byte(" "), 1<<20); ; { // without an end
					if _, err := w.Write(part); err != nil {
						return
					}
				}
			}
			next.ServeHTTP(w, r)
		}), message: "20 MiB"},
		{id: "LIV062", level: extension.Pure, server: at("generatepatches", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"/", http.StatusTemporaryRedirect)
		})},
		{id: "LIV062", severity: lint.Warning, server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
		}), options: func(o *probe.Options) { o.Core = 13 }},
		{id: "LIV063", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "Success", "retryAfterSeconds": 0, "retryAfter": 10})},
		{id: "LIV063", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "Success", "retryAfterSeconds": 0, long: 10}), message: "x…"},
		{id: "LIV063", level: extension.Pure, server: variable(object{"name": "a", "required": false, "schema": stringSchema, "colour": "b"})},
		{id: "LIV064", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "Success", "kind": "BeforeClusterCreateRequest"})},
		{id: "LIV064", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "Success", "apiVersion": "v1"})},
		{id: "LIV065", server: func(s *server) {
			dead := &atomic.Int64{}
			between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
				// Gone after the many calls at once, and the slow ones.
				if r.URL.Path == discoveryPath && r.Method == http.MethodPost && len(body) > 10 && !bytes.Contains(body, []byte("Other")) && dead.Add(1) > 59 {
					hijack(w)
				}
				next.ServeHTTP(w, r)
			})(s)
		}},
		{id: "LIV066", server: when(func(r *http.Request, body []byte) bool {
			return r.URL.Path == "/readyz"
		}, status(http.StatusServiceUnavailable)), options: func(o *probe.Options) {
			ready := *o.URL
			ready.Path = "/readyz"
			o.Ready = &ready
		}},
		{id: "LIV067", restart: func(s *server) { s.handlers[0]["name"] = "other" }},
		{id: "LIV068", options: func(o *probe.Options) {
			o.Registration = &probe.Registration{File: "runtime-extension-components.yaml", Object: "ExtensionConfig acme", Path: "/extension"}
		}, message: "/extension"},
		{id: "LIV068", options: func(o *probe.Options) {
			o.Registration = &probe.Registration{File: "runtime-extension-components.yaml", Object: "ExtensionConfig acme", Ports: []string{"1"}}
		}, message: "the port 1"},
		{id: "LIV069", server: func(s *server) {
			var one sync.Mutex
			s.wrap = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					one.Lock()
					body, _ := io.ReadAll(r.Body)
					one.Unlock()
					r.Body = io.NopCloser(bytes.NewReader(body))
					next.ServeHTTP(w, r)
				})
			}
		}, message: "while others send their requests slowly: no answer in time"},
		{id: "LIV069", server: func(s *server) {
			s.wrap = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == discoveryPath && r.ContentLength > 0 {
						body := make([]byte, r.ContentLength)
						n, _ := r.Body.Read(body) // what is there, and no more
						if n < len(body) {
							w.WriteHeader(http.StatusInternalServerError)
							return
						}
						r.Body = io.NopCloser(bytes.NewReader(body))
					}
					next.ServeHTTP(w, r)
				})
			}
		}, message: "in two parts it answers 500"},
		{id: "LIV070", server: func(s *server) {
			s.handlers = append(s.handlers, object{"name": "second", "requestHook": object{"apiVersion": extension.APIVersion, "hook": "BeforeClusterCreate"}})
			answer("BeforeClusterCreate", object{"status": "Success", "retryAfterSeconds": 10, "message": "wait"})(s)
			when(func(r *http.Request, body []byte) bool {
				return strings.HasSuffix(r.URL.Path, "/second") && bytes.Contains(body, []byte("cluster"))
			}, says(object{"status": "Success", "retryAfterSeconds": 300, "message": "wait"}))(s)
		}, message: "acme-beforeclustercreate 10, second 300; Cluster API waits for 10 seconds"},
		{id: "LIV003", expiredCA: true, message: `the certificate of the CA "CN=Acme CA" expired`},
		{id: "LIV003", expiredCA: true, server: func(s *server) { s.between = true }, message: `the certificate of the CA "CN=Acme CA" expired`},
		{id: "LIV023", expiredCA: true, level: extension.All, server: func(s *server) {
			s.between = true
			answer("BeforeClusterCreate", object{"status": "Failure", "message": "no settings"})(s)
		}, options: func(o *probe.Options) { o.Severity["LIV003"] = lint.Off }, message: "no settings"},
		{id: "LIV008", server: between(func(w http.ResponseWriter, r *http.Request, _ []byte, next http.Handler) {
			write(w, object{"handlers": []object{}})
		}), message: "the answer has no status"},
		{id: "LIV018", options: often, server: rarely(discoveryPath, func(a object) { a["handlers"] = []object{} })},
		{id: "LIV035", options: often, server: rarely("generatepatches", func(a object) { a["items"] = []object{} }), message: "Template"},
		{id: "LIV039", options: often, server: rarely("discovervariables", func(a object) { a["variables"] = []object{} }), message: "different answer"},
		{id: "LIV061", server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			r.Body = http.MaxBytesReader(w, io.NopCloser(bytes.NewReader(body)), 1<<20)
			next.ServeHTTP(w, r)
		}), message: "MB: Failure"},
		{id: "LIV061", level: extension.All, severity: lint.Error, server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			if strings.Contains(r.URL.Path, "beforeclustercreate") {
				_, _ = io.WriteString(w, `{"status":"Success","message":"`)
				for range (extension.MaxBody >> 16) + 1 {
					_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<16))
				}
				_, _ = io.WriteString(w, `"}`)
				return
			}
			next.ServeHTTP(w, r)
		}), message: "larger than 20 MiB"},
		{id: "LIV071", options: often, server: rarely("generateupgradeplan", func(a object) {
			a["controlPlaneUpgrades"] = append([]any{}, a["controlPlaneUpgrades"].([]any)...)
			a["workersUpgrades"] = []any{object{"version": "v1.33.9"}}
		}), message: "different answer"},
		{id: "LIV072", options: often, server: rarely("validatetopology", func(a object) { a["status"], a["message"] = "Failure", "try again" }), message: "Failure: try again"},
		{id: "LIV072", options: often, server: rarely("canupdatemachine/", nil), message: "500"},
		{id: "LIV073", server: answer("BeforeClusterCreate", object{"status": "Success", "retryAfterSeconds": 30}), message: "without"},
		{id: "LIV073", severity: lint.Error, server: answer("BeforeClusterCreate", object{"status": "Success", "retryAfterSeconds": 30, "message": strings.Repeat("not yet ", 5000)}), message: "holds only 32768"},
		{id: "LIV074", server: answer("BeforeClusterCreate", object{"status": "Success", "retryAfterSeconds": 2147483647, "message": "later"}), message: "24855 days"},
		{id: "LIV075", server: answer("BeforeClusterDelete", object{"status": "Success", "retryAfterSeconds": 1, "message": "not yet"}), options: func(o *probe.Options) { o.RetryBudget = 6 * time.Second }, message: "still blocks"},
		{id: "LIV075", severity: lint.Info, server: answer("BeforeClusterUpgrade", object{"status": "Success", "retryAfterSeconds": 1, "message": "not yet"}), options: func(o *probe.Options) { o.RetryBudget = 6 * time.Second }, message: "still blocks"},
		{id: "LIV075", severity: lint.Info, server: answer("BeforeClusterUpgrade", object{"status": "Success", "retryAfterSeconds": 60, "message": "not yet"}), options: func(o *probe.Options) { o.RetryBudget = 2 * time.Second }, message: "is not known"},
		{id: "LIV024", server: waiting("BeforeClusterDelete", object{"status": "Success", "retryAfterSeconds": -1}), options: followed, message: "is -1"},
		{id: "LIV044", server: waiting("UpdateMachine", object{"status": "Success", "retryAfterSeconds": -1}), options: followed, message: "is -1"},
		{id: "LIV045", server: waiting("BeforeClusterDelete", object{"status": "Success"}, object{"status": "Success", "retryAfterSeconds": 5, "message": "not yet"}), options: followed, message: "lets Cluster API continue"},
		{id: "LIV073", server: waiting("BeforeClusterDelete", object{"status": "Success", "retryAfterSeconds": 20}), options: func(o *probe.Options) { followed(o); o.Severity["LIV075"] = lint.Off }, message: "is 20, without"},
		{id: "LIV074", server: waiting("BeforeClusterDelete", object{"status": "Success", "retryAfterSeconds": 1 << 30, "message": "not yet"}), options: func(o *probe.Options) { followed(o); o.Severity["LIV075"] = lint.Off }, message: "days"},
		{id: "LIV076", server: waiting("BeforeClusterDelete", object{"status": "Failure", "message": "called\ntoo late"}), options: followed, message: "called too late"},
		{id: "LIV076", server: waiting("BeforeClusterDelete", object{"status": "Success"}, object{"status": "Failure", "message": "no such Cluster"}), options: followed, message: "no such Cluster"},
		{id: "LIV077", server: between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
			if r.Method == http.MethodPost && !json.Valid(body) && r.URL.Path != discoveryPath {
				write(w, object{"status": "Failure", "message": "cannot decode " + string(body)})
				return
			}
			next.ServeHTTP(w, r)
		}), message: "repeats a value"},
		{id: "LIV078", server: func(s *server) {
			var stored atomic.Bool
			between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
				if strings.Contains(r.URL.Path, "validatetopology") {
					stored.Store(true)
				}
				if strings.Contains(r.URL.Path, name("DiscoverVariables")) && stored.Load() && json.Valid(body) && len(body) > 10 {
					write(w, object{"status": "Success", "variables": []object{}})
					return
				}
				next.ServeHTTP(w, r)
			})(s)
		}, message: "after other calls"},
		{id: "LIV078", server: func(s *server) { // keeps a value of the first Cluster
			var once sync.Once
			var first any
			s.answers["GeneratePatches"] = patchEach("DockerMachineTemplate", "JSONPatch", func(object) any {
				return []object{{"op": "add", "path": "/spec/template/spec/image", "value": first}}
			})
			good := s.answers["GeneratePatches"]
			s.answers["GeneratePatches"] = func(r object) object {
				once.Do(func() { first = r["variables"].([]any)[1].(object)["value"] })
				return good(r)
			}
		}, message: "\"test-cluster\" of another one"},
		{id: "LIV078", server: func(s *server) { // tells of the Cluster before
			var last atomic.Value
			last.Store("")
			s.answers["ValidateTopology"] = func(r object) object {
				text, _ := json.Marshal(r["variables"])
				if bytes.Contains(text, []byte(extension.OtherName)) {
					last.Store(extension.OtherName)
				}
				return object{"status": "Success", "message": "valid, after " + last.Load().(string)}
			}
		}, message: "of another one"},
		{id: "LIV078", server: func(s *server) { // takes Clusters of a name for the same
			var seen sync.Map
			s.answers["GeneratePatches"] = func(r object) object {
				holder := r["items"].([]any)[0].(object)["holderReference"].(object)
				of, _ := seen.LoadOrStore(holder["name"], holder["namespace"])
				return jsonPatch("DockerMachineTemplate", object{"op": "add", "path": "/spec/template/spec/image", "value": of})(r)
			}
		}, message: extension.NamesakeText},
		{id: "LIV078", server: func(s *server) { // breaks when a client goes away
			var broken atomic.Bool
			between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
				if !strings.Contains(r.URL.Path, name("ValidateTopology")) {
					next.ServeHTTP(w, r)
					return
				}
				select {
				case <-r.Context().Done():
					broken.Store(true)
				case <-time.After(50 * time.Millisecond):
				}
				if broken.Load() {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				next.ServeHTTP(w, r)
			})(s)
		}, message: "500"},
		{id: "LIV078", server: func(s *server) { // learns settings
			var first atomic.Value
			s.answers["GeneratePatches"] = func(r object) object {
				if settings, ok := r["settings"].(object); ok {
					first.CompareAndSwap(nil, settings["image"])
				}
				if first.Load() == nil {
					return object{"status": "Failure", "message": "the setting image is missing"}
				}
				return jsonPatch("DockerMachineTemplate", object{"op": "add", "path": "/spec/template/spec/image", "value": first.Load()})(r)
			}
		}, options: func(o *probe.Options) { o.Settings = map[string]string{"image": "a"} }, message: "different answer: Success"},
		{id: "LIV078", server: func(s *server) { // needs another hook first
			var ready atomic.Bool
			change("DiscoverVariables", func(_, _ object) { ready.Store(true) })(s)
			change("GeneratePatches", func(_, a object) {
				if !ready.Load() {
					a["items"] = []object{}
				}
			})(s)
		}, message: "different answer: DockerMachineTemplate"},
		{id: "LIV079", server: func(s *server) {
			s.handlers = slices.DeleteFunc(s.handlers, func(h object) bool { return h["name"] == name("UpdateMachine") })
		}, message: "but no handler serves UpdateMachine"},
		{id: "LIV079", server: func(s *server) {
			s.handlers = slices.DeleteFunc(s.handlers, func(h object) bool { return strings.Contains(h["name"].(string), "canupdate") })
		}, message: "none says what can be updated"},
		{id: "LIV080", server: func(s *server) {
			for _, h := range s.handlers {
				if h["name"] == name("GeneratePatches") {
					h["failurePolicy"] = "Ignore"
				}
			}
		}, message: "needs the answer of GeneratePatches"},
		// What Cluster API and providers add to requests later.
		{id: "LIV052", level: extension.Pure, server: strictly("GeneratePatches", "items", "object"), message: "in the templates: Failure: unknown field"},
		{id: "LIV052", level: extension.Pure, server: strictly("ValidateTopology", "items", "holderReference"), message: "in a holderReference: Failure: unknown field"},
		{id: "LIV052", level: extension.Pure, server: strictly("ValidateTopology", "variables", "value"), message: "in builtin: Failure: unknown field"},
		{id: "LIV052", level: extension.All, server: strictly("BeforeClusterCreate", "cluster"), message: "in the Cluster: Failure: unknown field"},
		{id: "LIV052", level: extension.All, server: strictly("UpdateMachine", "desired"), message: "in the objects: Failure: unknown field"},
		{id: "LIV052", level: extension.Pure, server: change("GeneratePatches", func(r, a object) { // skips what it does not know
			if text, _ := json.Marshal(r["items"]); bytes.Contains(text, []byte("clusterctlRepoProbe")) {
				a["items"] = []object{}
			}
		}), message: "in the templates, the result is a different DockerMachineTemplate"},
		// Requests in the middle of an upgrade, and with other changes than that of the version.
		{id: "LIV020", level: extension.All, server: change("BeforeControlPlaneUpgrade", func(r, a object) {
			if r["toKubernetesVersion"] == "v1.32.0" {
				delete(a, "status")
			}
		}), message: "with the first step of an upgrade of three minor versions"},
		{id: "LIV020", level: extension.All, server: change("AfterWorkersUpgrade", func(r, a object) {
			if steps, _ := r["workersUpgrades"].([]any); len(steps) == 2 && r["kubernetesVersion"] == "v1.32.0" {
				delete(a, "status")
			}
		}), message: "with the first step of an upgrade of three minor versions"},
		{id: "LIV023", level: extension.All, server: refuseStep("BeforeControlPlaneUpgrade"),
			options: func(o *probe.Options) { o.Skip = nil }, message: "the first step of the extension's own plan is Failure"},
		{id: "LIV023", level: extension.All, server: func(s *server) {
			change("GenerateUpgradePlan", func(r, a object) { // the workers take each step too
				if from := r["fromWorkersKubernetesVersion"]; from != nil {
					r["fromControlPlaneKubernetesVersion"] = from
					a["workersUpgrades"] = minors(r)["controlPlaneUpgrades"]
				}
			})(s)
			refuseStep("AfterWorkersUpgrade")(s)
		}, options: func(o *probe.Options) { o.Skip = nil }, message: "the first step of the extension's own plan is Failure"},
		{id: "LIV020", server: change("CanUpdateMachine", func(r, a object) {
			if differs(r, "infrastructureMachine") {
				delete(a, "status")
			}
		}), message: "with a change of the infrastructure only"},
		{id: "LIV042", server: change("CanUpdateMachineSet", func(r, a object) {
			if differs(r, "bootstrapConfigTemplate") {
				a["bootstrapConfigTemplatePatch"] = object{"patchType": "JSONPatch", "patch": encode([]object{{"op": "replace", "path": "/spec/none", "value": 1}})}
			}
		}), message: "with a change of the bootstrap configuration only: bootstrapConfigTemplatePatch does not apply"},
		{id: "LIV041", server: change("GenerateUpgradePlan", func(r, a object) {
			if r["fromControlPlaneKubernetesVersion"] == "v1.31.0-rc.1" {
				delete(a, "status")
			}
		}), message: "from v1.31.0-rc.1"},
		// What changes without a reason to replace machines.
		{id: "LIV035", severity: lint.Warning, server: change("GeneratePatches", func(r, a object) {
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte(`-infrastructure-2"`)) {
				a["items"] = []object{}
			}
		}), message: "with other names of the generated templates"},
		{id: "LIV035", severity: lint.Warning, server: change("GeneratePatches", func(r, a object) {
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte(`"version":"v1.34.0"`)) && bytes.Contains(text, []byte(`"version":"v1.34.1"`)) {
				a["items"] = []object{}
			}
		}), message: "with a new version of the topology that the machines do not have yet"},
		{id: "LIV034", server: patchingMetadata("labels", "a", true), message: "has an invalid label a: true: it must be a string"},
		{id: "LIV034", server: patchingMetadata("annotations", "a/b/c", "d"), message: "has an invalid annotation a/b/c"},
		{id: "LIV034", server: patchingMetadata("annotations", "a", 2), message: "has an invalid annotation a: 2: it must be a string"},
		{id: "LIV034", server: patching("DockerMachineTemplate", object{"op": "move", "from": "/spec/template/spec", "path": "/spec/template/body"}), message: "has no spec.template.spec"},
		{id: "LIV020", server: change("ValidateTopology", func(r, a object) {
			if items, _ := r["items"].([]any); len(items) > 20 {
				delete(a, "status")
			}
		}), message: "with many workers"},
		{id: "LIV061", server: when(func(r *http.Request, body []byte) bool {
			return len(body) > 16<<10 && strings.Contains(r.URL.Path, "validatetopology")
		}, says(object{"status": "Failure", "message": "the request cannot be read"})), message: "kB: Failure: the request cannot be read"},
		// Messages.
		{id: "LIV022", severity: lint.Error, server: change("ValidateTopology", func(r, a object) {
			if text, _ := json.Marshal(r); bytes.Contains(text, []byte(strings.Repeat("a", 63))) {
				a["status"], a["message"] = "Failure", strings.Repeat("not allowed ", 5000)
			}
		}), message: "holds only 32768"},
		{id: "LIV046", level: extension.All, server: func(s *server) { // while it blocks
			s.answers["BeforeClusterUpgrade"] = func(object) object {
				return object{"status": "Success", "retryAfterSeconds": 60, "message": fmt.Sprint("attempt ", count.Add(1))}
			}
		}, options: func(o *probe.Options) {
			o.RetryBudget = time.Second
			o.Severity = map[string]lint.Severity{"LIV075": lint.Off}
		}, message: "each call gets another message"},
		{id: "LIV077", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "Success", "message": "logged in with hunter2"}), options: func(o *probe.Options) {
			o.Settings = map[string]string{"apiToken": "hunter2"}
		}, message: "has the value of the setting apiToken"},
		{id: "LIV077", level: extension.All, server: answer("BeforeClusterCreate", object{"status": "Success", "message": "logged in with Hunter+2"}), options: func(o *probe.Options) {
			o.Settings = map[string]string{"loginSecret": "Hunter+2"}
		}, message: "has the value of the setting loginSecret"},
		// Connections.
		{id: "LIV002", server: func(s *server) { s.sometimes = []string{"metrics.acme-system.svc"} }, message: "some connections get a certificate for metrics.acme-system.svc"},
		{id: "LIV072", options: often, server: func(s *server) { // not seen on connections that are kept: there the call is made again
			s.config = func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }
			var seen sync.Map
			var first atomic.Int64
			when(func(r *http.Request, body []byte) bool {
				_, again := seen.LoadOrStore(r.RemoteAddr, true)
				return !again && strings.Contains(r.URL.Path, "validatetopology") && first.Add(1)%4 == 0
			}, aborts)(s)
		}, message: "the server closes the connection"},
		{id: "LIV060", level: extension.All, severity: lint.Info, server: func(s *server) {
			s.answers["BeforeClusterCreate"] = slow(s.answers["BeforeClusterCreate"], 1100*time.Millisecond)
		}, message: "it needs 1."},
		{id: "LIV038", server: func(s *server) {
			many := make([]object, 1001)
			for i := range many {
				many[i] = object{"name": fmt.Sprint("v", i), "required": false, "schema": stringSchema}
			}
			s.answers["DiscoverVariables"] = success(object{"variables": many})
		}, message: "there are 1001 variables"},
	}
}

// TestLaterHooksAreCheckedToo has a hook with a warning before one that remembers: its fault
// is found all the same.
func TestLaterHooksAreCheckedToo(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	s := healthy()
	var stored atomic.Bool
	var turn atomic.Int64
	between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
		real := json.Valid(body) && len(body) > 10
		switch {
		case strings.Contains(r.URL.Path, "validatetopology"):
			stored.Store(true)
		case strings.Contains(r.URL.Path, "generateupgradeplan") && real && !bytes.Contains(body, []byte("marker")) && turn.Add(1)%2 == 1:
			write(w, object{"status": "Failure", "message": "not now"})
			return
		case strings.Contains(r.URL.Path, "discovervariables") && stored.Load() && real:
			write(w, object{"status": "Success", "variables": []object{}})
			return
		}
		next.ServeHTTP(w, r)
	})(s)
	r := probe.Run(limited(t, 20*time.Minute), options(t, s.start(t, ca), ca))
	found := map[string]bool{}
	for _, f := range r.Findings {
		found[f.Rule.ID] = true
	}
	if !found["LIV072"] || !found["LIV078"] {
		t.Errorf("got %v", found)
	}
}

// followed has retries followed for a while.
func followed(o *probe.Options) { o.RetryBudget = 4 * time.Second }

// waiting lets a hook wait for the first call, the second and three early ones, and then
// gives answers, of which the last one remains.
func waiting(hook string, then ...object) func(*server) {
	return about(name(hook), func(s *server) {
		var mu sync.Mutex
		var first string
		calls := 0
		s.answers[hook] = func(r object) object {
			mu.Lock()
			defer mu.Unlock()
			if first == "" {
				first = encode(r)
			}
			if first == encode(r) {
				calls++
			}
			if calls <= 5 {
				return object{"status": "Success", "retryAfterSeconds": 1, "message": "not yet"}
			}
			return then[min(calls-6, len(then)-1)]
		}
	})
}

// often repeats requests as users of the command do.
func often(o *probe.Options) { o.Rarity, o.Chance = 0, 0 }

// rarely changes one of twelve answers below a path, or fails.
func rarely(path string, change func(answer object)) func(*server) {
	var calls atomic.Int64
	return about(path, between(func(w http.ResponseWriter, r *http.Request, body []byte, next http.Handler) {
		if !strings.Contains(r.URL.Path, path) || len(body) < 10 || r.Method != http.MethodPost || bytes.Contains(body, []byte("Other")) || bytes.Contains(body, []byte("marker")) || calls.Add(1)%12 != 0 {
			next.ServeHTTP(w, r)
			return
		}
		if change == nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		recorded := httptest.NewRecorder()
		next.ServeHTTP(recorded, r)
		var a object
		if json.Unmarshal(recorded.Body.Bytes(), &a) == nil {
			change(a)
		}
		write(w, a)
	}))
}

// strictly refuses requests of a hook with a field that it does not know below some keys.
func strictly(hook string, path ...string) func(*server) {
	return change(hook, func(r, a object) {
		parts := []any{r}
		for _, key := range path {
			var below []any
			for _, part := range parts {
				switch v := part.(object)[key].(type) {
				case []any:
					below = append(below, v...)
				default:
					below = append(below, v)
				}
			}
			parts = slices.DeleteFunc(below, func(v any) bool { _, ok := v.(object); return !ok })
		}
		if text, _ := json.Marshal(parts); bytes.Contains(text, []byte("clusterctlRepoProbe")) {
			a["status"], a["message"] = "Failure", "unknown field"
		}
	})
}

// differs tells whether an update in place changes one of the objects.
func differs(r object, name string) bool {
	return encode(r["current"].(object)[name]) != encode(r["desired"].(object)[name])
}

// patchingMetadata lets GeneratePatches give labels or annotations to machines.
func patchingMetadata(field, key string, value any) func(*server) {
	return func(s *server) {
		s.answers["GeneratePatches"] = patchEach("DockerMachineTemplate", "JSONMergePatch", func(object) any {
			return object{"spec": object{"template": object{"metadata": object{field: object{key: value}}}}}
		})
	}
}

// grown are operations that make an object longer than some bytes.
func grown(length int) []object {
	const part = 1 << 16
	out := []object{{"op": "add", "path": "/spec/template/spec/p0", "value": strings.Repeat("x", part)}}
	for len(out)*part <= length {
		out = append(out, object{"op": "copy", "from": "/spec/template/spec/p0", "path": fmt.Sprintf("/spec/template/spec/p%d", len(out))})
	}
	return out
}

func slow(f func(object) object, d time.Duration) func(object) object {
	return func(r object) object {
		time.Sleep(d)
		return f(r)
	}
}

// refusePatched fails for templates that are patched.
func refusePatched(r, a object) {
	if data, _ := json.Marshal(r["items"]); bytes.Contains(data, []byte(`"image":"acme"`)) {
		a["status"], a["message"] = "Failure", "the image is not allowed"
	}
}

// TestEachFaultHasItsCheck starts a server for each fault: exactly the check of the
// fault finds something.
func TestEachFaultHasItsCheck(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	seen := map[string]bool{}
	for i, f := range faults() {
		seen[f.id] = true
		if share.Race && !share.All() && i%8 != 0 {
			continue // what is checked at once is the same for all
		}
		t.Run(fmt.Sprintf("%s-%d", f.id, i), func(t *testing.T) {
			t.Parallel()
			s := healthy()
			if f.server != nil {
				f.server(s)
			}
			ca := ca
			if f.expiredCA {
				ca = authorityUntil(t, time.Now().Add(-24*time.Hour))
			}
			o := options(t, s.start(t, ca), ca)
			o.Level = max(checks.ByID(f.id).Level, f.level)
			o.Skip = s.apart(o.Level)
			if f.restart != nil {
				o.Restart = func(context.Context) error { f.restart(s); return nil }
			}
			if f.id != "LIV060" { // a machine with much to do must not spoil the others
				o.Severity = map[string]lint.Severity{"LIV060": lint.Off}
			}
			if f.options != nil {
				f.options(&o)
			}
			r := probe.Run(limited(t, 20*time.Minute), o)
			want := f.severity
			if want == lint.Off {
				want = checks.ByID(f.id).Severity
			}
			said := false
			for _, got := range r.Findings {
				if got.Rule.ID != f.id || got.Severity != want {
					t.Errorf("%s %s %s: %s", got.Rule.ID, got.Severity, got.Object, got.Message)
				}
				said = said || strings.Contains(got.Message, f.message)
				if strings.Contains(got.Message, "\n") || got.File == "" {
					t.Errorf("a finding at %q: %q", got.File, got.Message)
				}
			}
			if !said {
				t.Errorf("no finding of %s says %q: %+v", f.id, f.message, r.Findings)
			}
			for _, err := range r.Failures {
				t.Error(err)
			}
		})
	}
	for _, c := range checks.All {
		if !seen[c.ID] {
			t.Errorf("no server violates %s", c.ID)
		}
	}
}
