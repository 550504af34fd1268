package publish_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/lint"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/publish"
)

// program has the verbs that the scripts of this package use.
var program = clitest.Program(lint.Command, publish.Command, publish.ReleaseCommand)

func TestMain(m *testing.M) { clitest.Main(m, program) }

func TestScripts(t *testing.T) { clitest.Scripts(t, nil) }
