package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/apply"
	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

// programs are the stock clusterctl and this project's own program.
type programs struct{ clusterctl, tool string }

var builtPrograms = sync.OnceValues(func() (programs, error) {
	p := programs{filepath.Join(scratch, "clusterctl"), filepath.Join(scratch, "clusterctl-repo")}
	stock := exec.Command("go", "run", "-exec", "cp", "-ldflags", "-X sigs.k8s.io/cluster-api/version.gitVersion=v1.14.2", "sigs.k8s.io/cluster-api/cmd/clusterctl", p.clusterctl)
	own := exec.Command("go", "run", "-exec", "cp", "./cmd/clusterctl-repo", p.tool)
	own.Dir = filepath.Join("..", "..")
	for _, cmd := range []*exec.Cmd{stock, own} {
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return p, nil
})

// management is an API server that becomes a management cluster.
type management struct {
	programs
	*server.Server
	client     dynamic.Interface
	mapper     *restmapper.DeferredDiscoveryRESTMapper
	home       string
	repository string
	config     string // the clusterctl.yaml
}

// newManagement starts a server of its own, because clusterctl leaves behind what
// it installs. Cert-manager, which is not at hand here, is taken to be installed
// and run by somebody else: clusterctl only tries whether the server takes an
// Issuer and a Certificate, and permissive definitions let it.
func newManagement(t *testing.T) *management {
	t.Helper()
	path := given.Value(program())(t)
	p := given.Value(builtPrograms())(t)
	s := given.Value(server.Start(t.Context(), path))(t)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	m := &management{programs: p, Server: s, home: t.TempDir(), repository: t.TempDir()}
	m.config = filepath.Join(m.home, "clusterctl.yaml")
	m.client = given.Value(dynamic.NewForConfig(s.Config))(t)
	d := given.Value(discovery.NewDiscoveryClientForConfig(s.Config))(t)
	m.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))
	c := given.Value(apply.New(s.Config))(t)
	session := c.Session(apply.NewLibrary())
	for _, crd := range certManager() {
		given.NoError(t, session.Create(t.Context(), &crd, apply.Clusterctl))
	}
	return m
}

// run starts a program and returns what it prints.
func (m *management) run(t *testing.T, env []string, program string, args ...string) (string, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	// Nothing else is inherited; GOGC is that of the Makefile.
	cmd.Env = append([]string{
		"HOME=" + m.home, "XDG_CONFIG_HOME=" + m.home, "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "GOGC=" + os.Getenv("GOGC"),
	}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it took too long: %w", err)
	}
	return stdout.String(), stderr.String(), err
}

// build makes a release of a source tree in the repository.
func (m *management) build(t *testing.T, source, version string, more ...string) {
	t.Helper()
	args := append([]string{"build", source, "--version", version, "--out", m.repository}, more...)
	if _, stderr, err := m.run(t, nil, m.tool, args...); err != nil {
		t.Fatalf("build %s: %v\n%s", source, err, stderr)
	}
}

// configure writes the clusterctl.yaml for the repository.
func (m *management) configure(t *testing.T) {
	t.Helper()
	text, stderr, err := m.run(t, nil, m.tool, "config", m.repository)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	given.NoError(t, os.WriteFile(m.config, []byte(text), 0o600))
}

// providerFlags are the flags of clusterctl for the types of providers.
var providerFlags = map[layouts.ProviderType]string{
	layouts.Core: "--core", layouts.Bootstrap: "--bootstrap", layouts.ControlPlane: "--control-plane", layouts.Infrastructure: "--infrastructure",
	layouts.IPAM: "--ipam", layouts.RuntimeExtension: "--runtime-extension", layouts.Addon: "--addon",
}

// init installs releases with the stock clusterctl.
func (m *management) init(t *testing.T, releases ...*repo.Release) error {
	t.Helper()
	var args, env []string
	for _, r := range releases {
		args = append(args, providerFlags[r.Provider.Type], r.Provider.Name+":"+r.Version)
		env = append(env, environment(t, r)...)
	}
	return m.clusterctlOn(t, env, "init", args...)
}

// environment gives the variables of the components plausible values.
func environment(t *testing.T, r *repo.Release) (env []string) {
	for _, p := range parts(t, r) {
		if p.kind == layouts.Components {
			for name, value := range plausible(p.required) {
				env = append(env, name+"="+value)
			}
		}
	}
	return env
}

// clusterctlOn runs the stock clusterctl on the management cluster.
func (m *management) clusterctlOn(t *testing.T, env []string, verb string, args ...string) error {
	t.Helper()
	args = append(append(strings.Fields(verb), "--config", m.config, "--kubeconfig", m.Kubeconfig), args...)
	_, stderr, err := m.run(t, env, m.clusterctl, args...)
	m.settle(t)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, stderr)
	}
	return nil
}

var (
	namespaces          = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// settle does the work of controllers that do not run here: it ends the namespace
// that clusterctl deletes, and takes away webhooks that nobody answers.
func (m *management) settle(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	if ns, err := m.client.Resource(namespaces).Get(ctx, "cert-manager-test", metav1.GetOptions{}); err == nil {
		unstructured.RemoveNestedField(ns.Object, "spec", "finalizers")
		if _, err := m.client.Resource(namespaces).Update(ctx, ns, metav1.UpdateOptions{}, "finalize"); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		r := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: kind}
		given.NoError(t, m.client.Resource(r).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	list := given.Value(m.client.Resource(definitionsResource).List(ctx, metav1.ListOptions{}))(t)
	for _, crd := range list.Items {
		if strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
			patch := []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
			if _, err := m.client.Resource(definitionsResource).Patch(ctx, crd.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.mapper.Reset()
}

// at is the client for the place of an object.
func (m *management) at(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := m.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return m.client.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
	}
	return m.client.Resource(mapping.Resource), nil
}

// corpusVersions are the versions of the corpus by source tree.
func corpusVersions(t *testing.T, releases string) map[string]string {
	t.Helper()
	sources, err := os.ReadDir(filepath.Join(releases, "..", "sources"))
	if err != nil {
		t.Skipf("no source trees in the corpus: %v", err)
	}
	r := given.Value(folder.Open(t.Context(), releases))(t)
	out := map[string]string{}
	for _, s := range sources {
		for _, p := range r.Providers {
			if strings.HasSuffix(s.Name(), p.Name) || strings.HasSuffix(p.Name, s.Name()) {
				out[s.Name()] = p.Releases[0].Version
			}
		}
	}
	return out
}

// notInstalled are providers that clusterctl does not install here, with the
// reason.
var notInstalled = map[string]string{}

// TestInitAndMove is the final word on whether repositories work: the stock
// clusterctl installs all real providers from one that build made, and moves
// Clusters made from their templates as move-plan says.
func TestInitAndMove(t *testing.T) {
	releases := share.Corpus(t, "releases")
	m := newManagement(t)
	configs := given.Value(filepath.Abs(filepath.Join("..", "corpus")))(t)
	versions := corpusVersions(t, releases)
	for _, source := range slices.Sorted(maps.Keys(versions)) {
		var more []string
		if config := filepath.Join(configs, source+".yaml"); fileExists(config) {
			more = []string{"--config", config}
		}
		m.build(t, filepath.Join(releases, "..", "sources", source), versions[source], more...)
	}
	m.configure(t)
	r := given.Value(folder.Open(t.Context(), m.repository))(t)
	var first, others []*repo.Release
	for _, p := range r.Providers {
		if p.Label() == "cluster-api" || p.Name == "kubeadm" {
			first = append(first, p.Releases[0])
		} else {
			others = append(others, p.Releases[0])
		}
	}
	if len(first) != 3 || len(others) < 15 {
		t.Fatalf("%d and %d releases", len(first), len(others))
	}
	if err := m.init(t, first...); err != nil {
		t.Fatalf("init of Cluster API: %v", err)
	}
	installed := len(first)
	for _, release := range others {
		label := release.Provider.Label()
		err := m.init(t, release)
		switch reason := notInstalled[label]; {
		case err == nil && reason != "":
			t.Errorf("%s is installed by now; it was not because %s", label, reason)
		case err == nil:
			installed++
		case reason == "":
			t.Errorf("init of %s: %v", label, err)
		}
	}
	t.Logf("%d of %d providers installed", installed, len(first)+len(others))
	a := &moveAgreement{management: m, random: rand.New(rand.NewPCG(1, 2)), verdicts: map[string]int{}}
	for _, release := range append(first, others...) {
		a.release(t, release)
	}
	t.Logf("%d namespaces moved, %d refused: %v", a.moved, a.refused, a.verdicts)
	if a.moved < 20 || a.verdicts["left"] == 0 || a.verdicts["deleted"] == 0 || a.verdicts["moves"] == 0 {
		t.Error("the moves are too much alike")
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// moveAgreement compares move --to-directory and move-plan.
type moveAgreement struct {
	*management
	random         *rand.Rand
	moved, refused int
	verdicts       map[string]int
}

// mostTemplates of a provider are moved.
const mostTemplates = 2

func (a *moveAgreement) release(t *testing.T, r *repo.Release) {
	number := 0
	for i, p := range parts(t, r) {
		if p.kind != layouts.ClusterTemplate || number == mostTemplates {
			continue
		}
		namespace := fmt.Sprintf("move-%s-%d", r.Provider.Name, i)
		if a.make(t, p, namespace) {
			number++
			a.compare(t, p, namespace)
		}
	}
}

// make creates a Cluster from a template, with the owners that controllers would
// set, and some that they would not. It returns false if nothing of it can be
// created here.
func (a *moveAgreement) make(t *testing.T, p part, namespace string) bool {
	t.Helper()
	ctx := t.Context()
	one := int64(1)
	c, err := clusterctl.RenderCluster(ctx, clusterctl.ClusterInput{
		Provider: p.provider, Template: p.file, Variables: plausible(p.required).Get, Name: "c", Namespace: namespace, WorkerMachineCount: &one,
	})
	if err != nil {
		return false
	}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}
	given.Value(a.client.Resource(namespaces).Create(ctx, ns, metav1.CreateOptions{}))(t)
	objects := append(c.Objects, more(namespace)...)
	var all [][]byte
	for _, o := range objects {
		text := given.Value(yamldoc.Marshal(o.Object))(t)
		all = append(all, text)
	}
	g := owners.Template(manifest.New(repo.BytesArtifact("cluster.yaml", nil), layouts.Asset, bytes.Join(all, []byte("---\n"))).Objects(), nil)
	made := map[owners.ID]*unstructured.Unstructured{}
	clusters := 0
	for _, o := range objects {
		at, err := a.at(&o)
		if err != nil {
			continue // the kind of a provider that is not installed
		}
		created, err := at.Create(ctx, &o, metav1.CreateOptions{})
		if err != nil {
			continue // a variable has no plausible value
		}
		gvk := o.GroupVersionKind()
		made[owners.ID{Group: gvk.Group, Kind: gvk.Kind, Name: o.GetName()}] = created
		if status := statusOf(gvk.Kind); status != "" && gvk.Group == "cluster.x-k8s.io" {
			// In the version that is stored: nobody converts older ones here.
			stored := o.DeepCopy()
			stored.SetAPIVersion("cluster.x-k8s.io/v1beta2")
			at = given.Value(a.at(stored))(t)
			if _, err := at.Patch(ctx, o.GetName(), types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
		}
		if gvk.Kind == "Cluster" {
			// One in an old version may not be valid unconverted, so that
			// clusterctl could not pause it.
			pause := []byte(`{"spec":{"paused":true}}`)
			if _, err := at.Patch(ctx, o.GetName(), types.MergePatchType, pause, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				return false
			}
			clusters++
		}
	}
	for _, n := range g.Nodes {
		if o := made[n.ID]; o != nil {
			a.own(t, n, o, made)
		}
	}
	return clusters > 0
}

// more is what a Cluster has besides its template.
func more(namespace string) []unstructured.Unstructured {
	var out []unstructured.Unstructured
	for _, o := range []map[string]any{
		{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "c-kubeconfig"}},
		{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "c-ca"}},
		{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "of-nobody"}},
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "d"}, "spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
		}},
		{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": map[string]any{"name": "m"}, "spec": map[string]any{
			"clusterName": "c", "bootstrap": map[string]any{"dataSecretName": "s"},
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DockerMachine", "name": "m"},
		}},
	} {
		u := unstructured.Unstructured{Object: o}
		u.SetNamespace(namespace)
		out = append(out, u)
	}
	return out
}

// statusOf is the status of an object that can be moved.
func statusOf(kind string) string {
	switch kind {
	case "Cluster":
		return `{"status":{"initialization":{"infrastructureProvisioned":true,"controlPlaneInitialized":true},"conditions":[
			{"type":"ControlPlaneInitialized","status":"True","reason":"Test","message":"so","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	case "Machine":
		return `{"status":{"nodeRef":{"name":"node"}}}`
	}
	return ""
}

// own sets the owners of an object: those that controllers set, those that they may
// set, and sometimes one that is not moved or not there.
func (a *moveAgreement) own(t *testing.T, n *owners.Node, o *unstructured.Unstructured, made map[owners.ID]*unstructured.Unstructured) {
	t.Helper()
	var refs []metav1.OwnerReference
	add := func(owner *unstructured.Unstructured, uid types.UID) {
		refs = append(refs, metav1.OwnerReference{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: uid})
	}
	for _, e := range n.In {
		owner := made[e.From.ID]
		if owner != nil && (e.Link == owners.Owner || e.Link == owners.MayOwn && a.random.IntN(2) == 0) {
			add(owner, owner.GetUID())
		}
	}
	if d := made[owners.ID{Group: "apps", Kind: "Deployment", Name: "d"}]; d != nil && n.Kind != "Cluster" {
		switch a.random.IntN(15) {
		case 0:
			add(d, d.GetUID())
		case 1:
			add(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "gone"}}}, "gone")
		}
	}
	if len(refs) == 0 {
		return
	}
	at := given.Value(a.at(o))(t)
	patch := given.Value(json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": refs}}))(t)
	if _, err := at.Patch(t.Context(), o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// compare runs both programs on the same namespace.
func (a *moveAgreement) compare(t *testing.T, p part, namespace string) {
	t.Helper()
	stdout, stderr, planErr := a.run(t, nil, a.tool, "move-plan", "--kubeconfig", a.Kubeconfig, "-n", namespace, "-o", "json")
	var plan struct {
		Objects  []struct{ Group, Kind, Namespace, Name, Verdict, Reason string }
		Refusals []struct{ Object, Reason string }
		Certain  bool
		Problems []string
		Gaps     []string
	}
	if err := json.Unmarshal([]byte(stdout), &plan); err != nil {
		t.Fatalf("%s: %v, %v\n%s", p, err, planErr, stderr)
	}
	if !plan.Certain || len(plan.Problems) > 0 {
		t.Errorf("%s: the plan is not certain: %v %v", p, plan.Problems, plan.Gaps)
	}
	dir := t.TempDir()
	_, stderr, err := a.run(t, nil, a.clusterctl, "move", "--config", a.config, "--kubeconfig", a.Kubeconfig, "-n", namespace, "--to-directory", dir)
	if (err != nil) != (len(plan.Refusals) > 0) {
		t.Errorf("%s: clusterctl: %v\n%s\nthe plan: %v", p, err, stderr, plan.Refusals)
		return
	}
	if err != nil {
		t.Logf("%s: refused: %v", p, plan.Refusals)
		a.refused++
		return
	}
	a.moved++
	files := given.Value(os.ReadDir(dir))(t)
	saved := map[string]bool{}
	for _, f := range files {
		saved[f.Name()] = true
	}
	for _, o := range plan.Objects {
		a.verdicts[o.Verdict]++
		name := fmt.Sprintf("%s_%s_%s.yaml", o.Kind, o.Namespace, o.Name)
		if moves := o.Verdict == "moves" || o.Verdict == "copied"; moves != saved[name] {
			t.Errorf("%s: %s %s: saved %t, but the plan: %s, %s", p, o.Kind, o.Name, saved[name], o.Verdict, o.Reason)
		}
		delete(saved, name)
	}
	for name := range saved {
		t.Errorf("%s: the plan does not know %s", p, name)
	}
}

// TestUpgrade lets the stock clusterctl upgrade an example provider from one version
// to the next, both from a repository that build made.
func TestUpgrade(t *testing.T) {
	m := newManagement(t)
	examples := given.Value(filepath.Abs(filepath.Join("..", "..", "examples")))(t)
	const from, to = "v0.1.0", "v0.2.0"
	m.build(t, filepath.Join(examples, "cluster-api"), from)
	// --add-series writes the source, so a copy is built.
	source := filepath.Join(t.TempDir(), "cluster-api-provider-acme")
	given.NoError(t, os.CopyFS(source, os.DirFS(filepath.Join(examples, "cluster-api-provider-acme"))))
	for _, version := range []string{from, to} {
		m.build(t, source, version, "--add-series")
	}
	m.configure(t)
	r := given.Value(folder.Open(t.Context(), filepath.Join(m.repository, "infrastructure-acme")))(t)
	env := environment(t, r.Providers[0].Releases[0])
	given.NoError(t, m.clusterctlOn(t, env, "init", "--core", "cluster-api:"+from, "--bootstrap", "-", "--control-plane", "-", "--infrastructure", "acme:"+from))
	given.NoError(t, m.clusterctlOn(t, env, "upgrade apply", "--infrastructure", "acme:"+to))
	inventory := schema.GroupVersionResource{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Resource: "providers"}
	list := given.Value(m.client.Resource(inventory).List(t.Context(), metav1.ListOptions{}))(t)
	versions := map[string]string{}
	for _, p := range list.Items {
		versions[p.GetName()], _, _ = unstructured.NestedString(p.Object, "version")
	}
	if want := map[string]string{"cluster-api": from, "infrastructure-acme": to}; !maps.Equal(versions, want) {
		t.Errorf("%v, want %v", versions, want)
	}
	m.unserved(t)
}

// unserved adds a kind that is stored in a version that is not served: clusterctl
// then moves nothing at all, and move-plan says so.
func (m *management) unserved(t *testing.T) {
	t.Helper()
	crd := permissive("unserved.example.com", "foos", "Foo")
	crd.SetLabels(map[string]string{"clusterctl.cluster.x-k8s.io": ""})
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	given.NoError(t, err)
	stored := versions[0].(map[string]any)
	stored["served"] = false
	served := map[string]any{"name": "v2", "served": true, "storage": false, "schema": stored["schema"]}
	given.NoError(t, unstructured.SetNestedSlice(crd.Object, []any{stored, served}, "spec", "versions"))
	given.Value(m.client.Resource(definitionsResource).Create(t.Context(), &crd, metav1.CreateOptions{}))(t)
	if err := m.clusterctlOn(t, nil, "move", "-n", "default", "--to-directory", t.TempDir()); err == nil || !strings.Contains(err.Error(), "unserved.example.com/v1") {
		t.Errorf("clusterctl: %v", err)
	}
	stdout, stderr, err := m.run(t, nil, m.tool, "move-plan", "--kubeconfig", m.Kubeconfig, "-n", "default")
	if err == nil || !strings.Contains(stdout, `CustomResourceDefinition foos.unserved.example.com: objects are stored in version "v1"`) {
		t.Errorf("move-plan: %v\n%s%s", err, stdout, stderr)
	}
}
