package conformance

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/cost"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// Programs are built when the first test asks for them.
var (
	// tool returns the path of this project's program.
	tool func() (string, error)
	// stock returns the path of the clusterctl that is the judge of all others: the
	// one that test/oracle requires.
	stock func() (string, error)
	// built returns the folder with the releases of the examples.
	built func() (string, error)
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	cost.In(dir)
	tool = sync.OnceValues(func() (string, error) {
		path := filepath.Join(dir, "clusterctl-repo")
		// go run keeps what it linked, for the tests of other modules as well.
		return path, do("env", "CGO_ENABLED=0", "go", "run", "-C", "../..", "-exec", "cp", "-trimpath", "./cmd/clusterctl-repo", path)
	})
	stock = sync.OnceValues(func() (string, error) {
		if path := os.Getenv("CLUSTERCTL"); path != "" {
			return path, nil
		}
		path := filepath.Join(dir, "clusterctl")
		return path, do("go", "run", "-C", "../oracle", "-exec", "cp",
			"-ldflags", "-X sigs.k8s.io/cluster-api/version.gitVersion=v1.14.2", "sigs.k8s.io/cluster-api/cmd/clusterctl", path)
	})
	built = sync.OnceValues(func() (string, error) {
		path, err := tool()
		if err != nil {
			return "", err
		}
		sources, err := filepath.Glob("../../examples/*/metadata.yaml")
		if err != nil {
			return "", err
		}
		out := filepath.Join(dir, "examples")
		for _, s := range sources {
			if err := do(path, "build", filepath.Dir(s), "--version", "v0.1.0", "--out", out); err != nil {
				return "", err
			}
		}
		return out, nil
	})
	return m.Run()
}

func do(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w\n%s", name, args, err, out)
	}
	return nil
}

// path returns that of a program or folder that is made on demand.
func path(t testing.TB, of func() (string, error)) string {
	t.Helper()
	return given.Value(of())(t)
}
