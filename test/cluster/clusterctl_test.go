package cluster

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/apply"
	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
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
	p := given.Value(builtPrograms())(t)
	s := given.Value(start())(t)
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

// TestInit is the final word on whether repositories work: the stock clusterctl
// installs all real providers from one that build made.
func TestInit(t *testing.T) {
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
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
}
