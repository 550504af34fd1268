package look

import (
	"fmt"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
)

// A shard of a Job needs the index that Kubernetes gives.
func TestJobShardNeedsItsIndex(t *testing.T) {
	for value, ok := range map[string]bool{"0": true, "7": true, "8": false, "": false, "x": false, "-1": false} {
		env := cli.NewEnv(cli.IO{LookupEnv: func(string) (string, bool) { return value, value != "" }})
		if s, err := parseShard(env, "job/8"); (err == nil) != ok || ok && fmt.Sprint(s.Index-1) != value {
			t.Errorf("%q: %v, %v", value, s, err)
		}
	}
}
