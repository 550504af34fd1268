package integrations

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// lanes returns the steps of .ci/run.
func lanes(t *testing.T) []string {
	t.Helper()
	script := given.Read(t, "../../.ci/run")
	var steps []string
	for _, m := range regexp.MustCompile(`(?m)^steps=\((.*)\)$`).FindAllSubmatch(script, -1) {
		steps = append(steps, strings.Fields(string(m[1]))...)
	}
	if len(steps) < 5 {
		t.Fatalf(".ci/run has only the steps %v", steps)
	}
	return steps
}

// TestWorkflowRunsTheSteps compares the jobs of the workflow with .ci/run.
func TestWorkflowRunsTheSteps(t *testing.T) {
	steps := slices.DeleteFunc(lanes(t), func(s string) bool { return s == "cluster-build" })
	workflow := given.Read(t, "../../.github/workflows/ci.yml")
	m := regexp.MustCompile(`(?m)^ +step: \[(.*)\]$`).FindSubmatch(workflow)
	if m == nil {
		t.Fatal("ci.yml has no list of steps")
	}
	jobs := strings.Split(string(m[1]), ", ")
	slices.Sort(steps)
	slices.Sort(jobs)
	if !slices.Equal(steps, jobs) {
		t.Errorf("ci.yml runs %v, .ci/run %v", jobs, steps)
	}
	makefile := given.Read(t, "../../Makefile")
	for _, s := range lanes(t) {
		if !regexp.MustCompile(`(?m)^` + s + `:.* ## `).Match(makefile) {
			t.Errorf("make has no target %s", s)
		}
	}
}

// TestCIReportsEveryStep runs .ci/run with a make that only pretends.
func TestCIReportsEveryStep(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: bash is missing")
	}
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("skipped: flock is missing")
	}
	const pretend = "#!/bin/sh\nfor i in 1 2 3; do echo \"$1 line $i\"; sleep 0.02; done\n[ \"$1\" != \"$FAIL\" ]\n"
	bin := t.TempDir()
	given.NoError(t, os.WriteFile(filepath.Join(bin, "make"), []byte(pretend), 0o755))
	given.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"), 0o755))
	run := func(fail string, steps ...string) (string, error) {
		cmd := exec.Command("../../.ci/run", steps...)
		cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "FAIL="+fail)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	steps := lanes(t)
	out, err := run("")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, s := range steps {
		if !strings.Contains(out, s+" line 1\n"+s+" line 2\n"+s+" line 3\n") {
			t.Errorf("the output of %s is not kept together:\n%s", s, out)
		}
	}
	for _, s := range []string{steps[0], steps[len(steps)-1]} {
		out, err := run(s)
		if err == nil || !regexp.MustCompile(`(?m)^`+s+` +FAILED +\d+ s$`).MatchString(out) || strings.Count(out, " line 3") != len(steps) {
			t.Errorf("a failure of %s: %v\n%s", s, err, out)
		}
	}
	if out, err := run("race", "test", "demo"); err != nil || strings.Contains(out, "race") {
		t.Errorf("only test and demo: %v\n%s", err, out)
	}
}
