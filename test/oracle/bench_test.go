package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/cost"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// A benchmark that is over its budget tells so. docs/benchmarks.md says what the
// budgets mean.

// bench is what the benchmarks share.
type bench struct {
	*testing.B
	ours  string
	stock *real.Binary
	dir   string
}

func newBench(b *testing.B) *bench {
	b.Helper()
	ours := given.Value(tool())(b)
	return &bench{b, ours, binary(b), newFolder(b)}
}

// corpus returns the folder with sources and releases of real providers, or skips.
func (b *bench) corpus() string {
	b.Helper()
	return share.Corpus(b, "")
}

// run is a run of this project's program.
func (b *bench) run(args ...string) cost.Process {
	return cost.Process{Args: append([]string{b.ours}, args...), Env: b.stock.Env()}
}

// lint is a run of its lint, whatever it finds.
func (b *bench) lint(args ...string) cost.Process {
	return b.run(append([]string{"lint", "--fail-on", "never"}, args...)...)
}

// clusterctl is a run of the stock program.
func (b *bench) clusterctl(config string, args ...string) cost.Process {
	return cost.Process{Args: append(append([]string{b.stock.Path()}, args...), "--config", config), Env: b.stock.Env()}
}

// known writes a clusterctl.yaml that knows the releases.
func (b *bench) known(releases ...real.Release) string {
	b.Helper()
	text := fmt.Sprintf("overridesFolder: %q\nproviders:\n", filepath.Join(b.dir, "no-overrides"))
	for _, r := range releases {
		text += fmt.Sprintf("- name: %q\n  type: %q\n  url: %q\n", r.Name, r.Type, r.URL())
	}
	return filepath.Join(write(b, map[string]string{"clusterctl.yaml": text}), "clusterctl.yaml")
}

// BenchmarkStart compares what it takes to do nothing.
func BenchmarkStart(bb *testing.B) {
	b := newBench(bb)
	c := cost.Compare(bb, cost.Of(bb, "ours", b.run("version")), cost.Of(bb, "clusterctl", b.clusterctl(b.known(), "version")))
	cost.AtMost(bb, "of-clusterctl", cost.Ratio(c[0].Wall, c[1].Wall), 1./5)
}

// BenchmarkLint compares checking the corpus with using each of its files once, and
// with parsing the same documents into nodes with as many workers.
func BenchmarkLint(bb *testing.B) {
	b := newBench(bb)
	root := filepath.Join(b.corpus(), "releases")
	all := releases(b, root)
	known := b.known(all...)
	var use []cost.Process
	var paths []string
	var texts [][]byte
	for _, r := range all {
		dir := r.Dir()
		for _, name := range files(b, dir) {
			kind := layouts.KindOfFile(name)
			release := r.Name + ":" + r.Version
			switch kind {
			case layouts.Components:
				use = append(use, b.clusterctl(known, "generate", "provider", "--"+strings.TrimPrefix(flagOf(b, r), "--"), release))
			case layouts.ClusterTemplate:
				flavor := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(name, "cluster-template"), ".yaml"), "-")
				use = append(use, b.clusterctl(known, "generate", "cluster", "my-cluster", "--infrastructure", release,
					"--flavor", flavor, "--target-namespace", "default", "--kubernetes-version", "v1.36.0"))
			case layouts.ClusterClass, layouts.Metadata:
			default:
				continue
			}
			paths = append(paths, filepath.Join(dir, name))
			data := given.Read(b, filepath.Join(dir, name))
			texts = append(texts, data)
		}
	}
	env := dummies(texts...).env()
	for i := range use {
		use[i].Env, use[i].MayFail = append(use[i].Env, env...), true
	}
	nodes := cost.Side{Name: "nodes", Do: func() cost.Cost { return parseNodes(b, paths) }}
	c := cost.Compare(bb, cost.Of(bb, "ours", b.lint(root)), nodes, cost.Of(bb, "clusterctl", use...))
	cost.AtMost(bb, "of-nodes", cost.Ratio(c[0].Wall, c[1].Wall), 1)
	cost.AtMost(bb, "of-clusterctl", cost.Ratio(c[0].Wall, c[2].Wall), 1./50)
	cost.AtMost(bb, "peak-MB", float64(c[0].RSS)/1e6, 150)
}

// parseNodes reads files, cuts them into documents and parses each into nodes, which is
// the least that any linter with positions has to do.
func parseNodes(b *bench, paths []string) cost.Cost {
	start := time.Now()
	docs := make(chan string)
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for d := range docs {
				var n yaml.Node
				_ = yaml.Unmarshal([]byte(d), &n) // some are no YAML before their variables have values
			}
		})
	}
	for _, p := range paths {
		data := given.Read(b, p)
		chunks, err := yamldoc.Split(string(data))
		if err != nil {
			b.Fatalf("%s: %v", p, err)
		}
		for _, c := range chunks {
			docs <- string(c.Data)
		}
	}
	close(docs)
	running.Wait()
	return cost.Cost{Wall: time.Since(start)}
}

// BenchmarkVersions compares the memory of checking the corpus with that of ten
// versions of each release.
func BenchmarkVersions(bb *testing.B) {
	b := newBench(bb)
	root := filepath.Join(b.corpus(), "releases")
	for _, r := range releases(b, root) {
		v := given.Value(layouts.ParseVersion(r.Version))(b)
		for i := range 10 {
			to := filepath.Join(b.dir, provider(r).Label(), fmt.Sprintf("v%d.%d.%d", v.Major(), v.Minor(), i))
			given.NoError(b, os.CopyFS(to, os.DirFS(r.Dir())))
		}
	}
	c := cost.Compare(bb, cost.Of(bb, "one", b.lint(root)), cost.Of(bb, "ten", b.lint(b.dir)))
	cost.AtMost(bb, "memory-of-one", float64(c[1].RSS)/float64(c[0].RSS), 1.25)
}

// sourceTree is a source tree of the corpus.
type sourceTree struct {
	dir, version string
	flags        []string // --config, if it needs one
	plan         *config.Plan
}

func (b *bench) source(dir string) sourceTree {
	b.Helper()
	s := sourceTree{dir: dir}
	settings := &config.Config{}
	file := given.Value(filepath.Abs(filepath.Join("..", "corpus", filepath.Base(dir)+".yaml")))(b)
	if data, err := os.ReadFile(file); err == nil {
		s.flags = []string{"--config", file}
		settings = given.Value(config.Decode(file, data))(b)
	} else if !errors.Is(err, fs.ErrNotExist) {
		b.Fatal(err)
	}
	full, _, err := detect.Complete(os.DirFS(dir), settings, detect.Hints{Folder: filepath.Base(dir)})
	if err != nil {
		b.Fatalf("%s: %v", dir, err)
	}
	// All providers of a tree have one version.
	t, _ := layouts.TypeByWord(full.Providers[0].Type)
	label := layouts.Provider{Type: t, Name: full.Providers[0].Name}.Label()
	versions, err := filepath.Glob(filepath.Join(b.corpus(), "releases", label, "*"))
	if err != nil || len(versions) == 0 {
		b.Fatalf("the corpus has no release of %s: %v", label, err)
	}
	s.version = filepath.Base(versions[0])
	if s.plan, err = config.Resolve(os.DirFS(dir), full, nil); err != nil {
		b.Fatalf("%s: %v", dir, err)
	}
	return s
}

// BenchmarkBuild compares building the source trees with building each of their
// kustomizations. That both give the same bytes is tested in transform/kustomize.
func BenchmarkBuild(bb *testing.B) {
	b := newBench(bb)
	kustomize := filepath.Join(b.dir, "kustomize")
	build := cost.Process{Args: []string{"go", "build", "-o", kustomize, "sigs.k8s.io/kustomize/kustomize/v5"}, Env: append(os.Environ(), "CGO_ENABLED=0")}
	cost.Run(bb, build)
	dirs := given.Value(filepath.Glob(filepath.Join(b.corpus(), "sources", "*")))(b)
	out := filepath.Join(b.dir, "built")
	var ours, theirs []cost.Process
	for _, dir := range dirs {
		s := b.source(dir)
		ours = append(ours, b.run(append([]string{"build", dir, "--cache=off", "--as-is", "--version", s.version, "--out", out}, s.flags...)...))
		for _, p := range s.plan.Providers {
			for _, o := range p.Outputs {
				if o.Kustomize == "" {
					continue
				}
				k := cost.Process{Args: []string{kustomize, "build", filepath.Join(dir, filepath.FromSlash(o.Kustomize))}, Env: b.stock.Env()}
				if o.LoadRestrictor == config.NoRestrictions {
					k.Args = append(k.Args, "--load-restrictor", "LoadRestrictionsNone")
				}
				theirs = append(theirs, k)
			}
		}
	}
	building := cost.Side{Name: "ours", Do: func() cost.Cost {
		given.NoError(b, os.RemoveAll(out))
		return cost.Run(bb, ours...)
	}}
	c := cost.Compare(bb, building, cost.Of(bb, "kustomize", theirs...))
	cost.AtMost(bb, "of-kustomize", cost.Ratio(c[0].Wall, c[1].Wall), 1/3.5)
}

// synthetic writes a release of the infrastructure provider foo below dir.
func (b *bench) synthetic(dir, version, components string) real.Release {
	b.Helper()
	r := real.Release{Root: dir, Type: string(foo.Type), Name: foo.Name, Version: version, Components: "infrastructure-components.yaml"}
	to := r.Dir()
	given.NoError(b, os.MkdirAll(to, 0o755))
	b.add(to, r.Components, namespace+components)
	b.add(to, "metadata.yaml", seriesOf("1.0=v1beta1"))
	return r
}

func (b *bench) add(dir, name, text string) {
	b.Helper()
	given.NoError(b, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// BenchmarkRender compares the worst case of clusterctl's variables: each escape
// makes its parser copy the rest of the file, and here all stand at its beginning.
func BenchmarkRender(bb *testing.B) {
	b := newBench(bb)
	text := func(i int, line string, lines int) string {
		return configMap(i) + "data:\n  text: |\n" + strings.Repeat("    "+line+"\n", lines)
	}
	r := b.synthetic(b.dir, "v1.0.0", text(0, "echo $$", 6000)+many(20, func(i int) string { return text(i+1, strings.Repeat("x", 95), 1500) }))
	ours, theirs := b.run("render", "provider", r.Dir()), b.clusterctl(b.known(r), "generate", "provider", "--infrastructure", r.Name+":"+r.Version)
	ours.Stdout, theirs.Stdout = filepath.Join(b.dir, "ours.yaml"), filepath.Join(b.dir, "theirs.yaml")
	c := cost.Compare(bb, cost.Of(bb, "ours", ours), cost.Of(bb, "clusterctl", theirs))
	cost.AtMost(bb, "of-clusterctl", cost.Ratio(c[0].Wall, c[1].Wall), 1./200)
	got, err := os.ReadFile(ours.Stdout)
	want, err2 := os.ReadFile(theirs.Stdout)
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(got, want) {
		b.Errorf("render differs from clusterctl: %v", err)
	}
}

// BenchmarkAgain measures lint and build of a source tree after one of its
// templates changed: the rest comes from the cache.
func BenchmarkAgain(bb *testing.B) {
	for _, verb := range []string{"lint", "build"} {
		bb.Run(verb, func(bb *testing.B) {
			b := newBench(bb)
			s := b.source(filepath.Join(b.corpus(), "sources", "cluster-api-provider-aws"))
			dir, out := filepath.Join(b.dir, "edited"), filepath.Join(b.dir, "out")
			given.NoError(b, os.CopyFS(dir, os.DirFS(s.dir)))
			flags := append([]string{dir, "--cache", filepath.Join(b.dir, "cache")}, s.flags...)
			p := b.lint(flags...)
			if verb == "build" {
				p = b.run(append([]string{"build", "--version", s.version, "--out", out}, flags...)...)
			}
			template := filepath.Join(dir, "templates", "cluster-template.yaml")
			text := given.Read(b, template)
			cost.Run(bb, p)
			c := cost.Compare(bb, cost.Side{Name: "ours", Do: func() cost.Cost {
				text = append(text, "# edit\n"...)
				given.NoError(b, errors.Join(os.RemoveAll(out), os.WriteFile(template, text, 0o644)))
				return cost.Run(bb, p)
			}})
			cost.AtMost(bb, "ms", c[0].Wall.Seconds()*1e3, 100)
		})
	}
}

func configMap(n int) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%d\n  namespace: foo-system\n", n)
}

// workload is the nth Deployment of a components file.
func workload(n int, value string) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller-%d
  namespace: foo-system
  labels:
    cluster.x-k8s.io/provider: infrastructure-foo
spec:
  replicas: 1
  selector:
    matchLabels:
      app: controller-%[1]d
  template:
    metadata:
      labels:
        app: controller-%[1]d
    spec:
      containers:
      - name: manager
        image: registry.example.com/foo/controller-%[1]d:v1.0.0
        args:
        - --feature=%s
`, n, value)
}

// foos is a CustomResourceDefinition of about 6 kB.
func foos(n int) string {
	return fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: foo%[1]ds.infrastructure.cluster.x-k8s.io
  labels:
    cluster.x-k8s.io/provider: infrastructure-foo
    cluster.x-k8s.io/v1beta1: v1beta1
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: Foo%[1]d, listKind: Foo%[1]dList, plural: foo%[1]ds, singular: foo%[1]d}
  scope: Namespaced
  versions:
  - name: v1beta1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
%[2]s            type: object
        type: object
    served: true
    storage: true
    subresources:
      status: {}
`, n, many(24, func(i int) string {
		return fmt.Sprintf("              field%d:\n                description: |-\n                  Field%[1]d says how large part %[1]d of the machine is, and how\n                  it is attached to the other parts.\n                maxLength: 64\n                type: string\n", i)
	}))
}

// flavor is a cluster template.
const flavor = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: "${CLUSTER_NAME}", namespace: "${NAMESPACE}"}
spec:
  infrastructureRef:
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
    kind: FooCluster
    name: ${CLUSTER_NAME}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: FooCluster
metadata: {name: "${CLUSTER_NAME}", namespace: "${NAMESPACE}"}
spec:
  region: ${FOO_REGION:="here"}
  size: ${FOO_SIZE}
`

// growing are inputs that can have any size: what is written of n units below a
// folder, and what is done with it.
var growing = []struct {
	unit  string
	size  int // the smallest one
	verbs string
	write func(b *bench, n int) string
}{
	{"documents", 500, "lint render images", componentsOf(func(i int) string { return workload(i, "none") })},
	{"variables", 2000, "lint render vars", func(b *bench, n int) string {
		return b.synthetic(b.dir, "v1.0.0", configMap(0)+"data:\n"+many(n, func(i int) string {
			return fmt.Sprintf("  key%d: \"${VARIABLE_%[1]d:=value %[1]d} $$ ${SHARED:=x}\"\n", i)
		})).Dir()
	}},
	{"documents-with-a-variable", 500, "lint render vars images", componentsOf(func(i int) string { return workload(i, fmt.Sprintf("${VARIABLE_%d:=none}", i)) })},
	{"items-of-one-list", 5000, "lint render", func(b *bench, n int) string {
		return b.synthetic(b.dir, "v1.0.0", "---\napiVersion: v1\nkind: List\nmetadata:\n  name: list\n  namespace: foo-system\nspec:\n"+
			many(n, func(i int) string { return fmt.Sprintf("- name: item-%d\n  value: text\n", i) })).Dir()
	}},
	{"versions", 100, "lint", func(b *bench, n int) string {
		for i := range n {
			b.synthetic(b.dir, fmt.Sprintf("v1.0.%d", i), many(5, func(i int) string { return workload(i, "none") }))
		}
		return b.dir
	}},
	{"templates", 100, "lint vars", func(b *bench, n int) string {
		dir := b.synthetic(b.dir, "v1.0.0", workload(0, "none")).Dir()
		for i := range n {
			b.add(dir, fmt.Sprintf("cluster-template-f%d.yaml", i), flavor)
		}
		return dir
	}},
	{"definitions", 100, "lint render vars images", componentsOf(foos)},
	{"tiny-documents", 500, "lint", componentsOf(configMap)},
}

// componentsOf makes a release of one file.
func componentsOf(of func(i int) string) func(*bench, int) string {
	return func(b *bench, n int) string { return b.synthetic(b.dir, "v1.0.0", many(n, of)).Dir() }
}

// BenchmarkGrowth measures inputs of 64 times the size of the smallest beside the
// smallest. The budgets are 6 times the input and 120 MB of memory, and a time for
// each unit that does not grow: twice that of the small input, beside the start.
func BenchmarkGrowth(bb *testing.B) {
	const factor = 64
	for _, in := range growing {
		for _, verb := range strings.Fields(in.verbs) {
			bb.Run(in.unit+"/"+verb, func(bb *testing.B) {
				args := map[string][]string{"lint": {"lint", "--fail-on", "never", "-o", "json"}, "render": {"render", "provider"}, "vars": {"vars"}, "images": {"images"}}[verb]
				small, large := newBench(bb), newBench(bb)
				input := in.write(large, factor*in.size)
				c := cost.Compare(bb, cost.Of(bb, "start", small.run("version")),
					cost.Of(bb, "small", small.run(append(args[:len(args):len(args)], in.write(small, in.size))...)),
					cost.Of(bb, "large", small.run(append(args[:len(args):len(args)], input)...)))
				perUnit := func(c, start cost.Cost, n int) float64 {
					return float64((c.Wall - start.Wall).Nanoseconds()) / 1e3 / float64(n)
				}
				a, z := perUnit(c[1], c[0], in.size), perUnit(c[2], c[0], factor*in.size)
				bb.ReportMetric(a, "small-µs/unit")
				cost.AtMost(bb, "large-µs/unit", z, 2*a)
				cost.AtMost(bb, "peak-MB", float64(c[2].RSS)/1e6, 6*megabytes(bb, input)+120)
			})
		}
	}
}

// BenchmarkDiff measures two files of 59 MB.
func BenchmarkDiff(bb *testing.B) {
	b := newBench(bb)
	text := many(9000, foos)
	before, after := b.synthetic(b.dir, "v1.0.0", text), b.synthetic(b.dir, "v1.0.1", strings.ReplaceAll(text, "maxLength: 64", "maxLength: 32"))
	p := b.run("diff", before.Dir(), after.Dir(), "-o", "json")
	p.MayFail = true // for changes
	c := cost.Compare(bb, cost.Of(bb, "ours", p))
	cost.AtMost(bb, "peak-MB", float64(c[0].RSS)/1e6, 6*megabytes(bb, b.dir)+120)
}

// megabytes is the size of all files below a folder.
func megabytes(b *testing.B, dir string) float64 {
	b.Helper()
	var n int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	given.NoError(b, err)
	return float64(n) / 1e6
}
