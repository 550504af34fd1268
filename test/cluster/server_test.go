package cluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestServer starts a server and stops it.
func TestServer(t *testing.T) {
	path := given.Value(program())(t)
	s := given.Value(server.Start(t.Context(), path))(t)
	c := given.Value(discovery.NewDiscoveryClientForConfig(s.Config))(t)
	if v, err := c.ServerVersion(); err != nil || v.GitVersion != server.Version {
		t.Errorf("the server is %v, %v; want %s", v, err, server.Version)
	}
	given.NoError(t, s.Stop())
	if exists(filepath.Dir(s.Kubeconfig)) {
		t.Error("its data is still there")
	}
	if _, err := c.ServerVersion(); err == nil {
		t.Error("it still answers")
	}
}

// TestServerVersion demands that the server says the version that it is.
func TestServerVersion(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != server.Version {
		t.Errorf("k8s.io/kubernetes is %s, %v; the server says %s", got, err, server.Version)
	}
}

// starter is the environment variable that makes this test a program that only
// starts a server and then waits to be killed.
const starter = "CLUSTER_TEST_STARTS"

func start(program string) int {
	s, err := server.Start(context.Background(), program)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(s.Kubeconfig)
	select {}
}

// TestServerEndsWithItsTest kills a test that has started a server.
func TestServerEndsWithItsTest(t *testing.T) {
	path := given.Value(program())(t)
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), starter+"="+path)
	victim.Stderr = os.Stderr
	stdout := given.Value(victim.StdoutPipe())(t)
	given.NoError(t, victim.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	data := filepath.Dir(line)
	if !exists(data) {
		t.Errorf("no data in %s", data)
	}
	given.NoError(t, victim.Process.Kill())
	if err := victim.Wait(); err == nil {
		t.Error("it ended by itself")
	}
	for deadline := time.Now().Add(20 * time.Second); exists(data); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server outlives the test that started it")
		}
	}
}

func TestServerDoesNotStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for _, program := range []string{"true", "cat"} { // ends at once, never says anything
		if s, err := server.Start(ctx, program); err == nil {
			t.Errorf("%s: %v", program, s)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
