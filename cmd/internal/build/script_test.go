package build_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/build"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/lint"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/look"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/publish"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/render"
)

// program has the verbs that the scripts of this package use.
var program = clitest.Program(build.Command, build.InitCommand, lint.Command, lint.ExplainCommand, look.VarsCommand, look.ImagesCommand, look.DiffCommand, publish.ReleaseCommand, render.Command, render.ConfigCommand)

func TestMain(m *testing.M) { clitest.Main(m, program) }

func TestScripts(t *testing.T) { clitest.Scripts(t, nil) }
