package look_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/lint"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/look"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/publish"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/render"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// program has the verbs that the scripts of this package use.
var program = clitest.Program(lint.Command, look.DiffCommand, look.ImagesCommand, look.MovePlanCommand, look.VarsCommand, publish.Command, render.Command, render.ConfigCommand)

func TestMain(m *testing.M) { clitest.Main(m, program) }

func TestScripts(t *testing.T) {
	share.SkipInRace(t)
	clitest.Scripts(t, nil)
}
