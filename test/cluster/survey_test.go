package cluster

import (
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/apply"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestSurveyJobs sends the Jobs of examples/survey to the API server, which
// accepts them as they are and would start what the test of the command line
// starts as processes.
func TestSurveyJobs(t *testing.T) {
	for _, name := range []string{"job.yaml", "merge.yaml"} {
		t.Run(name, func(t *testing.T) {
			objs := given.Value(objects(filepath.Join("..", "..", "examples", "survey", name)))(t)
			jobs := 0
			for i := range objs {
				objs[i].SetNamespace("default")
				if objs[i].GetKind() == "Job" {
					jobs++
				}
			}
			s := session(t)
			defer end(t, s)
			for _, r := range send(t, s, objs, apply.Kubectl) {
				t.Error(r)
			}
			if jobs != 1 {
				t.Errorf("%d Jobs in %s", jobs, name)
			}
		})
	}
}
