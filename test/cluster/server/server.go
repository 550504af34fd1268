// Package server starts a real Kubernetes API server with its etcd for tests, with
// envtest, from the modules that this one requires. No controllers run, so nothing acts
// on the objects.
//
// It must not know what is put into the server.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Version is that of k8s.io/kubernetes in go.mod, which the server says it is.
// clusterctl refuses a server without one.
const Version = "v1.36.3"

// flags are those of the linker that make programs of Kubernetes say so.
const flags = "-s -w -X " + about + ".gitVersion=" + Version + " -X " + about + ".gitMajor=1 -X " + about + ".gitMinor=36"

const about = "k8s.io/component-base/version"

// bound ends a program when the test that started it has ended, however that ended.
const bound = "#!/bin/sh\n(while kill -0 $PPID && kill -0 $$; do sleep 1; done; kill -9 $$) >/dev/null 2>&1 &\nexec \"$0.bin\" \"$@\"\n"

// Build compiles the programs into a folder, for Start. The first time on a machine it
// takes several minutes; go run keeps what it linked, which go build does not.
func Build(ctx context.Context, dir string) error {
	for name, pkg := range map[string]string{"kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver", "etcd": "go.etcd.io/etcd/server/v3"} {
		path := filepath.Join(dir, name)
		build := exec.CommandContext(ctx, "go", "run", "-exec", "cp", "-ldflags", flags, pkg, path+".bin")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
		if err := os.WriteFile(path, []byte(bound), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// Server is a running API server that nothing but this process uses.
type Server struct {
	// Kubeconfig is a file that gives all rights to its reader.
	Kubeconfig string
	// Config gives the same rights, without a limit on the rate of requests.
	Config *rest.Config

	env *envtest.Environment
	dir string
}

// Start runs the programs that Build made in a folder, and waits until the server is ready.
func Start(programs string) (*Server, error) {
	dir, err := os.MkdirTemp(programs, "server")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s := &Server{Kubeconfig: filepath.Join(dir, "kubeconfig"), dir: dir, env: &envtest.Environment{
		UseExistingCluster: new(false), ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}}
	s.env.ControlPlane.Etcd = &envtest.Etcd{Path: filepath.Join(programs, "etcd"), DataDir: filepath.Join(dir, "etcd"), Err: log}
	api := s.env.ControlPlane.GetAPIServer()
	api.Path, api.CertDir, api.Err = filepath.Join(programs, "kube-apiserver"), dir, log
	// The endpoints of a server may not be on loopback, and the machine need not have another network.
	api.Configure().Set("advertise-address", "192.0.2.1").Set("endpoint-reconciler-type", "none")
	s.Config, err = s.env.Start()
	if err == nil {
		err = os.WriteFile(s.Kubeconfig, s.env.KubeConfig, 0o600)
	}
	if err != nil {
		said, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("start the API server: %w\n%s", errors.Join(err, s.Stop()), said[max(0, len(said)-64<<10):])
	}
	s.Config.QPS = -1
	// The test judges what is refused; warnings are not part of that.
	s.Config.WarningHandler = rest.NoWarnings{}
	return s, nil
}

// Stop ends the server and removes its data.
func (s *Server) Stop() error { return cmp.Or(s.env.Stop(), os.RemoveAll(s.dir)) }
