package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestMove compares move-plan with what the real clusterctl does between two real API
// servers: how the move ends, what arrives, what stays paused, and whether the plan can
// be verified afterwards.
func TestMove(t *testing.T) {
	path := given.Value(program())(t)
	built := given.Value(builtPrograms())(t)
	from, to := startEnd(t, path), startEnd(t, path)
	for name, tt := range map[string]struct {
		// objects of the source beside a Cluster, its infrastructure and a Secret
		// that belongs to it by name.
		objects string
		// arrived are objects of the target before the move.
		arrived string
		outcome string
		// fails says that clusterctl ends with an error.
		fails bool
		// paused says that the Cluster in the source is paused afterwards, and left
		// that it is still there.
		paused, left bool
	}{
		"everything moves": {outcome: "safe"},
		"a credential stays behind": {
			objects: `{apiVersion: v1, kind: Secret, metadata: {name: cloud-config}}`,
			outcome: "loses",
		},
		"an owner by a version that is not served": {
			objects: `{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: AcmeMachine, metadata: {name: c, ownerReferences: [{apiVersion: infrastructure.cluster.x-k8s.io/v0, kind: AcmeCluster, name: c, uid: AcmeCluster}]}}`,
			outcome: "fails",
		},
		"paused already": {
			objects: `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: other}, spec: {paused: true, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AcmeCluster, name: c}}}`,
			outcome: "refused", fails: true, left: true,
		},
		"blocked": {
			objects: `{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: AcmeMachine, metadata: {name: c, annotations: {clusterctl.cluster.x-k8s.io/block-move: ""}, ownerReferences: [{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: AcmeCluster, name: c, uid: AcmeCluster}]}}`,
			outcome: "fails", fails: true, paused: true, left: true,
		},
		"in the target already": {
			arrived: `{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: AcmeCluster, metadata: {name: c}, spec: {identityRef: {kind: Secret, name: other}}}`,
			outcome: "hurts",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // clusterctl repeats what fails for a while
			ns := strings.ReplaceAll(name, " ", "-")
			w := &move{t: t, ns: ns}
			w.namespace(from)
			w.create(from, `{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: AcmeCluster, metadata: {name: c}, spec: {identityRef: {kind: Secret, name: cloud-config}}}`)
			w.create(from, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c}, spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AcmeCluster, name: c}}}`)
			w.own(from)
			w.create(from, `{apiVersion: v1, kind: Secret, metadata: {name: c-kubeconfig}}`)
			if tt.objects != "" {
				w.create(from, tt.objects)
			}
			if tt.arrived != "" {
				w.namespace(to)
				w.create(to, tt.arrived)
			}
			saved := filepath.Join(t.TempDir(), "plan.json")
			planned := exec.CommandContext(t.Context(), built.tool, "move-plan", "--kubeconfig", from.Kubeconfig, "--to-kubeconfig", to.Kubeconfig, "-n", ns, "-o", "text", "-o", "json="+saved)
			text, err := planned.CombinedOutput()
			if (err != nil) != (tt.outcome != "safe") {
				t.Errorf("move-plan: %v\n%s", err, text)
			}
			var plan struct{ Outcome string }
			data, err := os.ReadFile(saved)
			if err == nil {
				err = json.Unmarshal(data, &plan)
			}
			if err != nil {
				t.Fatalf("plan: %v\n%s", err, data)
			}
			if plan.Outcome != tt.outcome {
				t.Errorf("outcome %q, want %q\n%s", plan.Outcome, tt.outcome, text)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
			defer cancel()
			var said bytes.Buffer
			moved := exec.CommandContext(ctx, built.clusterctl, "move", "--kubeconfig", from.Kubeconfig, "--to-kubeconfig", to.Kubeconfig, "-n", ns)
			moved.Env = []string{"HOME=" + scratch, "XDG_CONFIG_HOME=" + scratch, "CLUSTERCTL_DISABLE_VERSIONCHECK=true"}
			moved.Stdout, moved.Stderr = &said, &said
			err = moved.Run()
			if (err != nil) != tt.fails && tt.outcome != "fails" { // what fails by chance may not
				t.Errorf("clusterctl move: %v\n%s", err, said.String())
			}
			if tt.outcome == "fails" && !tt.fails && err == nil {
				t.Logf("this time the move did not fail")
			}
			w.after(from, tt.paused || tt.outcome == "fails" && err != nil, tt.left || tt.outcome == "fails" && err != nil)
			if err == nil {
				verified, err := exec.CommandContext(t.Context(), built.tool, "move-plan", "--verify", saved, "--kubeconfig", from.Kubeconfig, "--to-kubeconfig", to.Kubeconfig).CombinedOutput()
				if err != nil {
					t.Errorf("move-plan --verify: %v\n%s", err, verified)
				}
			}
			if t.Failed() {
				t.Logf("%s\n%s", text, said.String())
			}
		})
	}
}

// moveEnd is a management cluster.
type moveEnd struct {
	*server.Server
	client *dynamic.DynamicClient
}

var moveResources = map[string]schema.GroupVersionResource{
	"CustomResourceDefinition": {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	"Namespace":                {Version: "v1", Resource: "namespaces"},
	"Secret":                   {Version: "v1", Resource: "secrets"},
	"Cluster":                  {Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"},
	"AcmeCluster":              {Group: "infrastructure.cluster.x-k8s.io", Version: "v1", Resource: "acmeclusters"},
	"AcmeMachine":              {Group: "infrastructure.cluster.x-k8s.io", Version: "v1", Resource: "acmemachines"},
	"Provider":                 {Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Resource: "providers"},
}

// startEnd starts an API server with the definitions of the core provider, those of a
// provider acme, and clusterctl's inventory of both.
func startEnd(t *testing.T, program string) *moveEnd {
	t.Helper()
	s := given.Value(server.Start(t.Context(), program))(t)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := given.Value(dynamic.NewForConfig(s.Config))(t)
	e := &moveEnd{s, client}
	dir := given.Value(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output())(t)
	root := strings.TrimSpace(string(dir))
	var all []unstructured.Unstructured
	for _, pattern := range []string{"core/config/crd/bases/*.yaml", "cmd/clusterctl/config/crd/bases/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			objs := given.Value(objects(file))(t)
			all = append(all, objs...)
		}
	}
	for _, kind := range []string{"AcmeCluster", "AcmeMachine"} {
		all = append(all, permissive("infrastructure.cluster.x-k8s.io", strings.ToLower(kind)+"s", kind))
	}
	for _, o := range all {
		o.SetLabels(map[string]string{"clusterctl.cluster.x-k8s.io": "", "cluster.x-k8s.io/v1beta2": "v1beta2"})
		e.put(t, "", &o)
	}
	e.established(t, len(all))
	e.put(t, "", &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "capi-system"}}})
	for name, kind := range map[string]string{"cluster-api": "CoreProvider", "infrastructure-acme": "InfrastructureProvider"} {
		e.put(t, "capi-system", &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
			"metadata":     map[string]any{"name": name, "labels": map[string]any{"clusterctl.cluster.x-k8s.io": "", "cluster.x-k8s.io/provider": name}},
			"providerName": strings.TrimPrefix(name, "infrastructure-"), "type": kind, "version": "v1.14.2",
		}})
	}
	return e
}

// put creates an object.
func (e *moveEnd) put(t *testing.T, ns string, o *unstructured.Unstructured) {
	t.Helper()
	if _, err := e.client.Resource(moveResources[o.GetKind()]).Namespace(ns).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

func (e *moveEnd) established(t *testing.T, want int) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		list, err := e.client.Resource(moveResources["CustomResourceDefinition"]).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		ready := 0
		for _, o := range list.Items {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			if slices.ContainsFunc(conditions, func(c any) bool {
				m, _ := c.(map[string]any)
				return m["type"] == "Established" && m["status"] == "True"
			}) {
				ready++
			}
		}
		return ready >= want, nil
	})
	if err != nil {
		t.Fatalf("the definitions are not established: %v", err)
	}
}

// move is one case, in a namespace of its own.
type move struct {
	t  *testing.T
	ns string
}

func (w *move) namespace(e *moveEnd) {
	w.t.Helper()
	e.put(w.t, "", &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": w.ns}}})
}

// create makes an object from YAML in flow style. In the UIDs of its owners stands
// their kind.
func (w *move) create(e *moveEnd, text string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "object.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	objs, err := objects(file)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range objs {
		owners := o.GetOwnerReferences()
		for i, r := range owners {
			owners[i].UID = w.get(e, string(r.UID)).GetUID()
		}
		o.SetOwnerReferences(owners)
		e.put(w.t, w.ns, &o)
		if o.GetKind() != "Cluster" {
			continue
		}
		// As if its controllers had provisioned it.
		got, err := e.client.Resource(moveResources["Cluster"]).Namespace(w.ns).Get(w.t.Context(), o.GetName(), metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		got.Object["status"] = map[string]any{
			"initialization": map[string]any{"infrastructureProvisioned": true, "controlPlaneInitialized": true},
			"conditions":     []any{map[string]any{"type": "ControlPlaneInitialized", "status": "True", "reason": "ControlPlaneInitialized", "message": "the API server answers", "lastTransitionTime": "2026-01-01T00:00:00Z"}},
		}
		if _, err := e.client.Resource(moveResources["Cluster"]).Namespace(w.ns).UpdateStatus(w.t.Context(), got, metav1.UpdateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *move) get(e *moveEnd, kind string) *unstructured.Unstructured {
	w.t.Helper()
	o, err := e.client.Resource(moveResources[kind]).Namespace(w.ns).Get(w.t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// own makes the Cluster the owner of its infrastructure.
func (w *move) own(e *moveEnd) {
	w.t.Helper()
	o, owner := w.get(e, "AcmeCluster"), w.get(e, "Cluster")
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}})
	if _, err := e.client.Resource(moveResources["AcmeCluster"]).Namespace(w.ns).Update(w.t.Context(), o, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// after looks at the Cluster in the source.
func (w *move) after(e *moveEnd, paused, left bool) {
	w.t.Helper()
	o, err := e.client.Resource(moveResources["Cluster"]).Namespace(w.ns).Get(w.t.Context(), "c", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		if left {
			w.t.Error("the Cluster is gone from the source")
		}
		return
	case err != nil:
		w.t.Fatal(err)
	case !left:
		w.t.Error("the Cluster is still in the source")
		return
	}
	if is, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); is != paused {
		w.t.Errorf("the Cluster in the source is paused: %v, want %v", is, paused)
	}
}
