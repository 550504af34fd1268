// Package server starts a real Kubernetes API server for tests. It is a process
// of its own, built from the modules that this one requires: Kubernetes keeps too
// much in global variables for a test, and takes its version from the linker.
//
// It must not know what is put into the server.
package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Version is that of k8s.io/kubernetes in go.mod, which the server says it is.
// clusterctl refuses a server without one.
const Version = "v1.36.3"

// flags are those of the linker that make programs of Kubernetes say so.
const flags = "-s -w -X " + about + ".gitVersion=" + Version + " -X " + about + ".gitMajor=1 -X " + about + ".gitMinor=36"

const about = "k8s.io/component-base/version"

// How long the server may take; on a machine with nothing else to do it starts
// in three seconds and ends at once.
const (
	startTime = 2 * time.Minute
	stopTime  = 20 * time.Second
)

// Build compiles the program kube and returns its path, a file in dir. The first
// time on a machine it takes several minutes; go run keeps what it linked, which
// go build does not.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "kube")
	build := exec.CommandContext(ctx, "go", "run", "-exec", "cp", "-ldflags", flags,
		"github.com/clusterctl-repo/clusterctl-repo/test/cluster/server/kube", path)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the API server: %w\n%s", err, out)
	}
	return path, nil
}

// Server is a running API server that nothing but this process uses.
type Server struct {
	// Kubeconfig is a file that gives all rights to its reader.
	Kubeconfig string
	// Config gives the same rights, without a limit on the rate of requests.
	Config *rest.Config

	cmd   *exec.Cmd
	stdin io.Closer
	log   *tail
	ended chan struct{}
	err   error // why it ended
}

// Start runs the program that Build made and waits until it is ready. It ends
// with Stop, and also when this process ends.
func Start(ctx context.Context, program string) (*Server, error) {
	s := &Server{cmd: exec.Command(program), log: &tail{}, ended: make(chan struct{})}
	s.cmd.Stderr = s.log
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	line := make(chan string, 1)
	go func() {
		first, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- strings.TrimSpace(first)
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case s.Kubeconfig = <-line:
	case <-ctx.Done():
		err = fmt.Errorf("not ready: %w", ctx.Err())
	}
	if err == nil && s.Kubeconfig == "" {
		err = errors.New("it ended before it was ready")
	}
	if err == nil {
		s.Config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("start the API server: %w\n%s", errors.Join(err, s.Stop()), s.log)
	}
	s.Config.QPS = -1
	// The test judges what is refused; warnings are not part of that.
	s.Config.WarningHandler = rest.NoWarnings{}
	return s, nil
}

// Stop ends the server and removes its data. It returns an error if the server
// had to be killed or had ended with one before.
func (s *Server) Stop() error {
	s.stdin.Close()
	select {
	case <-s.ended:
		return s.err
	case <-time.After(stopTime):
		_ = s.cmd.Process.Kill() // it may have ended just now
		<-s.ended
		return fmt.Errorf("the API server did not end within %s and was killed", stopTime)
	}
}

// Log returns the last things that the server wrote down.
func (s *Server) Log() string { return s.log.String() }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	const most = 64 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*most {
		t.text = bytes.Clone(t.text[len(t.text)-most:])
	}
	return len(p), nil
}

// String returns the end.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
