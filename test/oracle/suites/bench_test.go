package suites

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/cost"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

var marker = regexp.MustCompile(`"\{go://[^@]*@v(1\.\d+)\}"`)

// BenchmarkSuite makes the local repository of Cluster API's e2e suite: all of it,
// again, and after a change of one kustomization. What is fetched otherwise lies on
// disk. The templates are there for the framework and all of these; "whole" builds
// them too, as make does before the framework.
func BenchmarkSuite(b *testing.B) {
	dir := b.TempDir()
	cost.In(dir)
	tree, tool := filepath.Join(dir, "tree"), filepath.Join(dir, "clusterctl-repo")
	corpus := share.Corpus(b, ".")
	copyTree(b, filepath.Join(corpus, "e2e", "cluster-api"), tree)
	kustomize := given.Value(kustomizeBinary())(b)
	build := exec.Command("go", "build", "-o", tool, "./cmd/clusterctl-repo")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	config := filepath.Join(tree, "test", "e2e", "config", "docker.yaml")
	data := given.Read(b, config)
	data = marker.ReplaceAll(data, []byte(`"v$1.0"`))
	// Only make knows what this one is made from.
	data = regexp.MustCompile(`(?m)^.*cluster-template-kcp-adoption\.yaml.*\n`).ReplaceAll(data, nil)
	for name, file := range map[string]string{"core": "cluster-api", "bootstrap": "bootstrap-kubeadm", "control-plane": "control-plane-kubeadm", "infrastructure": "infrastructure-docker"} {
		local, err := filepath.Glob(filepath.Join(corpus, "releases", file, "*", name+"-components*.yaml"))
		if err != nil || len(local) == 0 {
			b.Fatal(file, err)
		}
		data = regexp.MustCompile(`"https://\S*/`+name+`-components\S*"`).ReplaceAll(data, []byte(local[0]))
	}
	given.NoError(b, os.WriteFile(config, data, 0o600))
	clean := filepath.Join(dir, "clean")
	given.NoError(b, os.CopyFS(clean, os.DirFS(tree)))
	out, cache := filepath.Join(dir, "out"), filepath.Join(dir, "cache")
	env := append(os.Environ(), "HOME="+dir)
	in := func(tree string) cost.Process {
		config := filepath.Join(tree, "test", "e2e", "config", "docker.yaml")
		return cost.Process{Args: []string{tool, "build", config, "--out", out, "--offline", "--cache", cache}, Env: env}
	}
	templates := cost.Process{Args: []string{"make", "generate-e2e-templates-main", "KUSTOMIZE=" + kustomize}, Dir: tree, Env: env}
	changed := filepath.Join(tree, "test", "extension", "config", "default", "kustomization.yaml")
	side := func(name string, ours cost.Process, before func() error) cost.Side {
		return cost.Side{Name: name, Do: func() cost.Cost {
			given.NoError(b, before())
			return cost.Run(b, ours)
		}}
	}
	forget := func() error { return os.RemoveAll(cache) }
	c := cost.Compare(b,
		cost.Of(b, "make", templates),
		cost.Side{Name: "framework", Do: func() cost.Cost {
			start := time.Now()
			given.NoError(b, createRepository(b, config, filepath.Join(b.TempDir(), "out")))
			return cost.Cost{Wall: time.Since(start)}
		}},
		side("whole", in(clean), forget),
		side("all", in(tree), forget),
		side("again", in(tree), func() error { return nil }),
		side("one", in(tree), func() error {
			text, err := os.ReadFile(changed)
			if err == nil {
				err = os.WriteFile(changed, slices.Concat(text, []byte("# edit\n")), 0o600)
			}
			return err
		}),
	)
	cost.AtMost(b, "whole-of-make-and-framework", cost.Ratio(c[2].Wall, c[0].Wall+c[1].Wall), 1./5)
	cost.AtMost(b, "all-of-framework", cost.Ratio(c[3].Wall, c[1].Wall), 1./5)
	cost.AtMost(b, "again-ms", c[4].Wall.Seconds()*1e3, 150)
	cost.AtMost(b, "one-of-whole", cost.Ratio(c[5].Wall, c[2].Wall), 1./5)
	cost.AtMost(b, "one-of-all", cost.Ratio(c[5].Wall, c[3].Wall), 1./5)
}
