package contract_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/contract"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

func TestMain(m *testing.M) { clitest.Main(m, clitest.Program(contract.Command)) }

func TestScripts(t *testing.T) {
	share.SkipInRace(t)
	clitest.Scripts(t, nil)
}
