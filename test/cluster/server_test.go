package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestServer starts a server and stops it.
func TestServer(t *testing.T) {
	s := given.Value(start())(t)
	c := given.Value(discovery.NewDiscoveryClientForConfig(s.Config))(t)
	if v, err := c.ServerVersion(); err != nil || v.GitVersion != server.Version {
		t.Errorf("the server is %v, %v; want %s", v, err, server.Version)
	}
	given.NoError(t, s.Stop())
	if _, err := os.Stat(s.Kubeconfig); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its data is still there: %v", err)
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
// starts a server, of the programs in that folder, and then waits to be killed.
const starter = "CLUSTER_TEST_STARTS"

func startAndWait(programs string) int {
	s, err := server.Start(programs)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(s.Config.Host)
	select {}
}

// TestServerEndsWithItsTest kills a test that has started a server.
func TestServerEndsWithItsTest(t *testing.T) {
	given.NoError(t, built())
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), starter+"="+scratch)
	victim.Stderr = os.Stderr
	stdout := given.Value(victim.StdoutPipe())(t)
	given.NoError(t, victim.Start())
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	at := given.Value(url.Parse(strings.TrimSpace(line)))(t)
	answers := func() bool {
		conn, err := net.Dial("tcp", at.Host)
		return err == nil && conn.Close() == nil
	}
	if !answers() {
		t.Errorf("no server at %q", line)
	}
	given.NoError(t, victim.Process.Kill())
	_ = victim.Wait()
	for deadline := time.Now().Add(20 * time.Second); answers(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server outlives the test that started it")
		}
	}
}
