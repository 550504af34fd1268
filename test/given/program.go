package given

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// The program that make test built, and its build ID. The go command keeps results
// of tests for the same values of the variables that they read, and need not look at a
// program that they start: without the ID, another program would get the results of this one.
const (
	programVariable = "CLUSTERCTL_REPO_TEST_PROGRAM"
	idVariable      = "CLUSTERCTL_REPO_TEST_PROGRAM_ID"
)

// Program is the file of this module's program, for tests that start it as its users do:
// the one that make test built, or one that is built now, alone in a folder. Root is the
// folder of the module.
func Program(root, dir string) (string, error) {
	switch name, id := os.Getenv(programVariable), os.Getenv(idVariable); {
	case name != "" && id == "":
		return "", errors.New(programVariable + " is set without " + idVariable)
	case name != "":
		return name, nil
	}
	name := filepath.Join(dir, "clusterctl-repo")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", name, "./cmd/clusterctl-repo")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return name, nil
}
