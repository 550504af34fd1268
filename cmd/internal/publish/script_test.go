package publish_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/build"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/lint"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/publish"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// program has the verbs that the scripts of this package use.
var program = clitest.Program(build.Command, build.InitCommand, lint.Command, publish.Command, publish.ReleaseCommand)

func TestMain(m *testing.M) { clitest.Main(m, program) }

func TestScripts(t *testing.T) { clitest.Scripts(t, nil) }

// TestGates requires a part of the script for each gate.
func TestGates(t *testing.T) {
	script := given.Read(t, "testdata/gate.txtar")
	for _, g := range check.Gates {
		if !strings.Contains("\n"+string(script), "\n# "+g.Name+": ") {
			t.Errorf("testdata/gate.txtar has no part for the gate %s", g.Name)
		}
	}
}
