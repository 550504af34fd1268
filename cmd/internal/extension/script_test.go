package extension_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/extension"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/lint"
)

// program has the verbs that the scripts of this package use.
var program = clitest.Program(extension.Command, lint.ExplainCommand, lint.RulesCommand)

func TestMain(m *testing.M) { clitest.Main(m, program) }

func TestScripts(t *testing.T) { clitest.Scripts(t, map[string]clitest.Cmd{"serve": serve}) }
