package look_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// jobArgs are the arguments of the container in a manifest of examples/survey.
func jobArgs(t *testing.T, name string) []string {
	t.Helper()
	file := filepath.Join("..", "..", "..", "examples", "survey", name)
	data := given.Read(t, file)
	for _, d := range yamldoc.Parse(yamldoc.NewFile(name, data)).Docs {
		if d.Root.Get("kind").Str() != "Job" {
			continue
		}
		var args []string
		for _, a := range d.Root.Get("spec", "template", "spec", "containers").List()[0].Get("args").List() {
			args = append(args, a.Str())
		}
		return args
	}
	t.Fatalf("%s holds no Job", name)
	return nil
}

// synthetic writes a repository with n providers of two versions each, and a list
// of their URLs.
func synthetic(t *testing.T, dir string, n int) {
	t.Helper()
	var list strings.Builder
	for i := range n {
		label := fmt.Sprintf("infrastructure-p%03d", i)
		for minor := 1; minor <= 2; minor++ {
			at := filepath.Join(dir, "repository", label, fmt.Sprintf("v0.%d.0", minor))
			metadata := "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n"
			for m := 1; m <= minor; m++ {
				metadata += fmt.Sprintf("- {major: 0, minor: %d, contract: v1beta1}\n", m)
			}
			components := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: p, labels: {cluster.x-k8s.io/provider: %s}}\n", label)
			if i%3 == 0 {
				components += "---\nnot: [an object\n"
			}
			given.Files(t, at, map[string]string{"metadata.yaml": metadata, "infrastructure-components.yaml": components})
		}
		fmt.Fprintf(&list, "file://%s/repository/%s/latest/infrastructure-components.yaml\n", filepath.ToSlash(dir), label)
	}
	given.File(t, filepath.Join(dir, "fleet.txt"), list.String())
}

// The pods of the example Job, as processes with the arguments and the environment
// that they have there, give what one run gives. Some are killed and started
// again, as Kubernetes does.
func TestJobShardsAreTheWhole(t *testing.T) {
	const providers, shards = 500, 8
	dir := t.TempDir()
	synthetic(t, dir, providers)
	place := strings.NewReplacer("/fleet/", dir+"/", "/survey/", dir+"/")
	command := func(index int, args []string) *exec.Cmd {
		var own []string
		for _, a := range args {
			own = append(own, place.Replace(strings.ReplaceAll(a, "$(JOB_COMPLETION_INDEX)", fmt.Sprint(index))))
		}
		c := exec.Command("clusterctl-repo", own...)
		c.Env = append(os.Environ(), "HOME="+dir, fmt.Sprint("JOB_COMPLETION_INDEX=", index))
		return c
	}
	job := jobArgs(t, "job.yaml")
	var wait sync.WaitGroup
	for index := range shards {
		wait.Go(func() {
			if index%3 == 0 { // interrupted once its state has begun
				first := command(index, job)
				if err := first.Start(); err != nil {
					t.Error(err)
					return
				}
				state := filepath.Join(dir, fmt.Sprintf("state-%d.jsonl", index))
				for range 100_000 {
					if info, err := os.Stat(state); err == nil && info.Size() > 0 {
						break
					}
				}
				_ = first.Process.Kill()
				_ = first.Wait()
			}
			if out, err := command(index, job).CombinedOutput(); err != nil {
				t.Errorf("shard %d: %v\n%s", index, err, out)
			}
		})
	}
	wait.Wait()
	if out, err := command(0, jobArgs(t, "merge.yaml")).CombinedOutput(); err != nil {
		t.Fatalf("merge: %v\n%s", err, out)
	}
	whole := filepath.Join(dir, "whole.json")
	one := exec.Command("clusterctl-repo", "survey", filepath.Join(dir, "fleet.txt"), "-o", "json="+whole, "--cache", filepath.Join(dir, "whole"))
	if out, err := one.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := given.Read(t, whole)
	got := given.Read(t, filepath.Join(dir, "fleet.json"))
	if !bytes.Equal(got, want) || bytes.Count(want, []byte(`"subject"`)) != providers {
		t.Errorf("the merged shards differ from one run over %d providers", providers)
	}
}
