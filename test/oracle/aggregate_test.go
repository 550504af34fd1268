package oracle

import (
	"math/rand/v2"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// TestAggregation compares what several handlers of a hook come to together.
func TestAggregation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		var seconds []int32
		var messages []string
		var answers []*extension.RetryResponse
		for range r.IntN(5) {
			seconds = append(seconds, []int32{0, 0, 1, 5, 30, -1, -7, 1 << 30}[r.IntN(8)])
			messages = append(messages, pick(r, "wait", "", "not yet"))
			a := &extension.RetryResponse{RetryAfterSeconds: seconds[len(seconds)-1]}
			a.Message = messages[len(messages)-1]
			answers = append(answers, a)
		}
		wait, message := real.Aggregate(seconds, messages)
		if got := extension.Together(answers); got.RetryAfterSeconds != wait || got.Message != message {
			t.Fatalf("%v %q: Cluster API waits for %d with %q, the tool says %d with %q", seconds, messages, wait, message, got.RetryAfterSeconds, got.Message)
		}
	}
}
