package rig

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/cert"

	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
)

// manager is a controller manager of Cluster API. The ports are fixed, because nothing
// else is in the network namespace.
type manager struct {
	name, program string
	dir, module   string // of the source
	config        string // folder in the module that holds config/default
	port, health  int
	flags         []string
}

// infra is the index of the infrastructure provider in managers.
const infra = 3

var common = []string{"--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics"}

const capi = "sigs.k8s.io/cluster-api"

var managers = []*manager{
	{name: "core", program: capi + "/core", dir: ".", module: capi, config: "core", port: 9001, health: 9101, flags: append([]string{"--feature-gates=MachinePool=true,ClusterTopology=true"}, common...)},
	{name: "bootstrap", program: capi + "/bootstrap/kubeadm", dir: ".", module: capi, config: "bootstrap/kubeadm", port: 9002, health: 9102, flags: append([]string{"--feature-gates=MachinePool=true"}, common...)},
	{name: "kcp", program: capi + "/controlplane/kubeadm", dir: ".", module: capi, config: "controlplane/kubeadm", port: 9003, health: 9103, flags: append([]string{"--feature-gates=MachinePool=true,ClusterTopology=true"}, common...)},
	{name: "capd", program: infraModule + "/infrastructure/docker", dir: ".", module: infraModule, config: "infrastructure/docker", port: 9004, health: 9104, flags: append([]string{"--feature-gates=MachinePool=true,ClusterTopology=true"}, common...)},
	{name: "ipam", program: "sigs.k8s.io/cluster-api-ipam-provider-in-cluster", dir: "ipam", module: "sigs.k8s.io/cluster-api-ipam-provider-in-cluster", port: 9005, health: 9105, flags: []string{"--webhook-cert-name=tls.crt", "--webhook-key-name=tls.key", "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics"}},
}

// Rig is a running management cluster.
type Rig struct {
	*server.Server
	Client   *dynamic.DynamicClient
	programs string
	dir      string
	running  map[string]*process
}

// Start starts a management cluster with the programs in a folder, and keeps its files in
// another one. It waits until everything is ready.
func Start(ctx context.Context, programs, dir string) (*Rig, error) {
	s, err := server.Start(ctx, filepath.Join(programs, "kube"))
	if err != nil {
		return nil, err
	}
	r := &Rig{Server: s, programs: programs, dir: dir, running: map[string]*process{}}
	if err := r.start(ctx); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

func (r *Rig) start(ctx context.Context) (err error) {
	if r.Client, err = dynamic.NewForConfig(r.Config); err != nil {
		return err
	}
	ca, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"tls.crt": ca, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(r.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	if err := r.run("kube-controller-manager", filepath.Join(r.programs, "kube-controller-manager"), []string{
		"--kubeconfig=" + r.Kubeconfig, "--leader-elect=false", "--secure-port=0", "--bind-address=127.0.0.1",
		"--controllers=garbage-collector-controller,namespace-controller",
	}); err != nil {
		return err
	}
	var hooks []*unstructured.Unstructured
	for _, m := range managers {
		all, err := m.manifests(ctx, ca)
		if err != nil {
			return err
		}
		for _, o := range all {
			// Before the managers answer, webhooks would refuse everything.
			if resource := resources[o.GetKind()]; resource == mutating || resource == validating {
				hooks = append(hooks, o)
				continue
			}
			if err := r.create(ctx, o); err != nil {
				return err
			}
		}
	}
	if err := r.established(ctx); err != nil {
		return err
	}
	for _, m := range managers {
		if err := r.Manage(ctx, m.name, filepath.Join(r.programs, m.name)); err != nil {
			return err
		}
	}
	for _, o := range hooks {
		if err := r.create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rig) create(ctx context.Context, o *unstructured.Unstructured) error {
	_, err := r.Client.Resource(resources[o.GetKind()]).Create(ctx, o, metav1.CreateOptions{FieldManager: "rig"})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// Define creates definitions and waits until they are served.
func (r *Rig) Define(ctx context.Context, all ...*unstructured.Unstructured) error {
	for _, o := range all {
		if err := r.create(ctx, o); err != nil {
			return err
		}
	}
	return r.established(ctx)
}

// patience bounds how long parts of the rig may take to get ready.
const patience = 2 * time.Minute

func until(ctx context.Context, what string, done func(context.Context) bool) error {
	poll := func(ctx context.Context) (bool, error) { return done(ctx), nil }
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, poll); err != nil {
		return fmt.Errorf("%s: not ready in time: %w", what, err)
	}
	return nil
}

func (r *Rig) established(ctx context.Context) error {
	unready := func(d unstructured.Unstructured) bool {
		conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
		return !slices.ContainsFunc(conditions, func(c any) bool {
			m := c.(map[string]any)
			return m["type"] == "Established" && m["status"] == "True"
		})
	}
	return until(ctx, "definitions", func(ctx context.Context) bool {
		all, err := r.Client.Resource(definitions).List(ctx, metav1.ListOptions{})
		return err == nil && !slices.ContainsFunc(all.Items, unready)
	})
}

// Manage starts a manager by its name with a program and further flags, after ending the
// one that runs, and waits until it is ready.
func (r *Rig) Manage(ctx context.Context, name, program string, flags ...string) error {
	for _, m := range managers {
		if m.name == name {
			return r.manage(ctx, m, program, flags)
		}
	}
	return fmt.Errorf("unknown manager %s", name)
}

// Beside starts a further infrastructure provider for the namespace with its name. The
// index must be its own.
func (r *Rig) Beside(ctx context.Context, name, program string, index int) error {
	m := *managers[infra]
	m.name, m.port, m.health = name, 9200+index, 9300+index
	return r.manage(ctx, &m, program, []string{"--namespace=" + name})
}

func (r *Rig) manage(ctx context.Context, m *manager, program string, flags []string) error {
	if p := r.running[m.name]; p != nil {
		p.stop()
	}
	health := fmt.Sprintf("127.0.0.1:%d", m.health)
	probe := "--health-addr="
	if m.name == "ipam" {
		probe = "--health-probe-bind-address="
	}
	flags = slices.Concat([]string{fmt.Sprintf("--webhook-port=%d", m.port), "--webhook-cert-dir=" + r.dir, probe + health}, m.flags, flags)
	if err := r.run(m.name, program, flags); err != nil {
		return err
	}
	if err := until(ctx, m.name, func(ctx context.Context) bool { return answers(ctx, "http://"+health+"/readyz") }); err != nil {
		log := r.running[m.name].log.String()
		return fmt.Errorf("%w\n%s", err, log[max(0, len(log)-4096):])
	}
	return nil
}

// Program returns the path of a program that was built.
func (r *Rig) Program(name string) string { return filepath.Join(r.programs, name) }

// Restart returns a shell command that restarts a manager, for contract drive.
func (r *Rig) Restart(name string) string { return "kill $(cat " + r.pidFile(name) + ")" }

func (r *Rig) pidFile(name string) string { return filepath.Join(r.dir, name+".pid") }

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// process runs a program again whenever it ends, until it is stopped.
type process struct {
	mu      sync.Mutex
	cmd     *exec.Cmd
	stopped bool
	done    chan struct{}
	log     server.Tail
}

func (r *Rig) run(name, program string, flags []string) error {
	p := &process{done: make(chan struct{})}
	r.running[name] = p
	begin := func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.stopped {
			return context.Canceled
		}
		p.cmd = exec.Command(program, flags...)
		// So that field managers are those of the images of providers.
		p.cmd.Args[0] = "manager"
		p.cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig, "POD_IP=127.0.0.1", "POD_NAME="+name, "POD_NAMESPACE="+name+"-system", "POD_UID="+name)
		p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
		if err := p.cmd.Start(); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
		return os.WriteFile(r.pidFile(name), fmt.Appendf(nil, "%d", p.cmd.Process.Pid), 0o600)
	}
	if err := begin(); err != nil {
		return err
	}
	go func() {
		defer close(p.done)
		for {
			err := p.cmd.Wait()
			fmt.Fprintf(&p.log, "%s ended: %v\n", name, err)
			time.Sleep(200 * time.Millisecond)
			if begin() != nil {
				return
			}
		}
	}()
	return nil
}

func (p *process) stop() {
	p.mu.Lock()
	p.stopped = true
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended just now
	cmd := p.cmd
	p.mu.Unlock()
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		<-p.done
	}
}

// Stop ends everything.
func (r *Rig) Stop() error {
	var wait sync.WaitGroup
	for _, p := range r.running {
		wait.Go(p.stop)
	}
	wait.Wait()
	return r.Server.Stop()
}
