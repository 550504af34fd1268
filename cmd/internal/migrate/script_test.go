package migrate_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/build"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/contract"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/lint"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/look"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/migrate"
)

// program has the verbs that the scripts of this package use.
var program = clitest.Program(build.Command, contract.Command, lint.Command, lint.ExplainCommand, look.DiffCommand, migrate.Command)

func TestMain(m *testing.M) { clitest.Main(m, program) }

func TestScripts(t *testing.T) { clitest.Scripts(t, nil) }
