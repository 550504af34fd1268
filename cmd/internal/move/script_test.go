package move_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/move"
)

// program has the verbs that the scripts of this package use.
var program = clitest.Program(move.Command)

func TestMain(m *testing.M) { clitest.Main(m, program) }

func TestScripts(t *testing.T) { clitest.Scripts(t, nil) }
