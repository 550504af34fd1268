package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// bench is what the experiments share.
type bench struct {
	*lab
	ours, kustomize, nodes string // programs
	stock                  *real.Binary
	// runs is how often the work is done, slow how often where a side takes
	// long for it.
	runs, slow int
	corpus     *corpus
	report     *report
}

// experiment is one line of the budgets.
type experiment struct {
	name string
	run  func(*bench, context.Context) error
}

var experiments = []experiment{
	{"start", (*bench).start},
	{"lint", (*bench).lint},
	{"memory", (*bench).memory},
	{"build", (*bench).build},
	{"render", (*bench).render},
	{"rerun", (*bench).rerun},
	{"large", (*bench).large},
	{"growth", (*bench).growth},
}

// tool is a run of clusterctl-repo.
func (b *bench) tool(args ...string) process {
	return process{args: append([]string{b.ours}, args...), env: b.stock.Env()}
}

// linting is a run of its lint, whatever it finds.
func (b *bench) linting(dir string) process {
	return b.tool("lint", dir, "--fail-on", "never")
}

// clusterctl is a run of the stock program.
func (b *bench) clusterctl(config string, args ...string) process {
	return process{args: append(append([]string{b.stock.Path()}, args...), "--config", config), env: b.stock.Env()}
}

// start compares what it takes to do nothing.
func (b *bench) start(ctx context.Context) error {
	empty := filepath.Join(b.dir, "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		return err
	}
	ours := side{name: "clusterctl-repo version", runs: 10 * b.runs, processes: []process{b.tool("version")}}
	theirs := side{name: "clusterctl version", runs: 10 * b.runs, processes: []process{b.clusterctl(empty, "version")}}
	c, err := b.compare(ctx, ours, theirs)
	if err != nil {
		return err
	}
	b.report.measured("start", ours, c[0])
	b.report.measured("start", theirs, c[1])
	b.report.row(timesFaster("Start: `version`", "clusterctl", c[0], c[1], 5,
		"The time of a program that does next to nothing: loading it and initialising its packages."))
	return nil
}

// lint compares checking the corpus with using it, and with reading it.
func (b *bench) lint(ctx context.Context) error {
	file := filepath.Join(b.dir, "clusterctl.yaml")
	if err := settings(file, b.corpus.releases); err != nil {
		return err
	}
	variables, err := b.corpus.variables()
	if err != nil {
		return err
	}
	use := side{name: "clusterctl generate, per artifact", runs: b.slow}
	templates := 0
	for _, r := range b.corpus.releases {
		info, ok := r.Type.Info()
		if !ok {
			return fmt.Errorf("%s: unknown type", r.Label())
		}
		release := r.Name + ":" + r.version
		use.processes = append(use.processes, b.clusterctl(file, "generate", "provider", info.Flag, release))
		for _, t := range r.templates {
			templates++
			flavor := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(t, "cluster-template"), ".yaml"), "-")
			use.processes = append(use.processes, b.clusterctl(file, "generate", "cluster", "my-cluster", "--infrastructure", release,
				"--flavor", flavor, "--target-namespace", "default", "--kubernetes-version", "v1.36.0"))
		}
	}
	for i := range use.processes {
		use.processes[i].env = append(use.processes[i].env, variables...)
		use.processes[i].mayFail = true
	}
	ours := side{name: "clusterctl-repo lint", runs: b.runs, processes: []process{b.linting(filepath.Join(b.corpus.dir, "releases"))}}
	parse := func(workers int) side {
		return side{name: fmt.Sprintf("parse into nodes, workers: %d", workers), runs: b.runs, processes: []process{{
			args: append([]string{b.nodes, strconv.Itoa(workers)}, b.corpus.files()...), env: b.stock.Env(),
		}}}
	}
	one, all := parse(1), parse(runtime.GOMAXPROCS(0))
	c, err := b.compare(ctx, ours, one, all, use)
	if err != nil {
		return err
	}
	const work = "lint the corpus"
	for i, s := range []side{ours, one, all, use} {
		b.report.measured(work, s, c[i])
	}
	title := fmt.Sprintf("`lint` the corpus: %d providers, %d templates, %d MB", len(b.corpus.releases), templates, b.corpus.bytes/1e6)
	b.report.row(timesFaster(title, fmt.Sprintf("clusterctl `generate provider` or `generate cluster` once for each of the %d artifacts", len(use.processes)), c[0], c[3], 50,
		fmt.Sprintf("With clusterctl a check of a release is to use each of its files once. It refuses %d of them, be it for the files or for values that are guessed from the names of variables.", c[3][0].Exit)))
	b.report.row(timesTheCost(title, fmt.Sprintf("parsing the same documents into nodes with as many workers (%d)", runtime.GOMAXPROCS(0)), c[0], c[2], 1,
		fmt.Sprintf("What all rules, the positions and the variables cost on top of one parse. In CPU time it is %.1f times.", seconds(median(c[0], cpu))/seconds(median(c[2], cpu)))))
	return nil
}

// memory compares checking the corpus with checking ten of it.
func (b *bench) memory(ctx context.Context) error {
	const times = 10
	dir, err := os.MkdirTemp(b.dir, "repeated")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := b.corpus.repeat(dir, times); err != nil {
		return err
	}
	once := side{name: "clusterctl-repo lint", runs: b.runs, processes: []process{b.linting(filepath.Join(b.corpus.dir, "releases"))}}
	often := side{name: fmt.Sprintf("the same with %d versions of each", times), runs: max(1, b.runs/2), processes: []process{b.linting(dir)}}
	c, err := b.compare(ctx, once, often)
	if err != nil {
		return err
	}
	b.report.measured("memory", once, c[0])
	b.report.measured("memory", often, c[1])
	const limit = 150e6
	b.report.row(row{
		work: "Memory of `lint` over the corpus", ours: megabytes(c[0].rss()), against: "–", ratio: "–",
		goal: "≤ " + megabytes(limit), met: c[0].rss() <= limit,
		reading: "The peak of resident memory; it follows the largest releases, of which only a few megabytes are checked at the same time.",
	})
	ratio := float64(c[1].rss()) / float64(c[0].rss())
	b.report.row(row{
		work: fmt.Sprintf("Memory with %d times as many versions", times), ours: megabytes(c[1].rss()), against: "one version of each: " + megabytes(c[0].rss()),
		ratio: fmt.Sprintf("%.2f", ratio), goal: "flat: ≤ 1.25", met: ratio <= 1.25,
		reading: fmt.Sprintf("Only the metadata of earlier releases stays in memory. The time is %.1f times that of one version.", seconds(c[1].wall())/seconds(c[0].wall())),
	})
	return nil
}

// build compares building the source trees, and what comes out.
func (b *bench) build(ctx context.Context) error {
	sources, err := b.corpus.sources()
	if err != nil {
		return err
	}
	// What kustomize prints is kept beside the kustomizations made for it.
	out, scratch := filepath.Join(b.dir, "built"), filepath.Join(b.dir, "expected")
	ours := side{name: "clusterctl-repo build --as-is, per source tree", runs: b.slow, before: func() error { return os.RemoveAll(out) }}
	theirs := side{name: "kustomize build, per artifact", runs: b.slow}
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return err
	}
	var all []kustomization
	for _, s := range sources {
		p := b.tool("build", s.dir, "--no-cache", "--as-is", "--version", s.version, "--out", out)
		if s.config != "" {
			p.args = append(p.args, "--config", s.config)
		}
		ours.processes = append(ours.processes, p)
		ks, err := s.kustomizations(scratch)
		if err != nil {
			return err
		}
		for _, k := range ks {
			p := process{args: []string{b.kustomize, "build", k.dir}, env: b.stock.Env(), stdout: filepath.Join(scratch, strconv.Itoa(len(all))+".yaml")}
			if k.restrictor == config.NoRestrictions {
				p.args = append(p.args, "--load-restrictor", "LoadRestrictionsNone")
			}
			theirs.processes = append(theirs.processes, p)
			all = append(all, k)
		}
	}
	c, err := b.compare(ctx, ours, theirs)
	if err != nil {
		return err
	}
	for i, k := range all {
		want, err := os.ReadFile(theirs.processes[i].stdout)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(out, k.file))
		if err != nil {
			return err
		}
		if !bytes.Equal(k.finished(want), got) {
			return fmt.Errorf("%s: the build differs from that of kustomize", k.file)
		}
	}
	b.report.measured("build the corpus", ours, c[0])
	b.report.measured("build the corpus", theirs, c[1])
	b.report.row(timesFaster(fmt.Sprintf("`build` the corpus: %d source trees", len(sources)), fmt.Sprintf("`kustomize build` once for each of the %d kustomizations", len(all)), c[0], c[1], 3.5,
		fmt.Sprintf("All %d files are the same byte by byte, after the replacements that the configurations ask for. The builds also find the providers, copy the other files, and write checksums.", len(all))))
	return nil
}

// render compares the worst case of clusterctl's variables.
func (b *bench) render(ctx context.Context) error {
	const escapes, objects, size = 6000, 20, 3_000_000
	config := func(i int, line string, lines int) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%d\n  namespace: foo-system\ndata:\n  text: |\n", i) +
			strings.Repeat("    "+line+"\n", lines)
	}
	filler := strings.Repeat("x", 95)
	text := config(0, "echo $$", escapes) + many(objects, func(i int) string { return config(i+1, filler, size/objects/100) })
	r, err := synthetic(filepath.Join(b.dir, "escapes"), "v1.0.0", text)
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "escapes.yaml")
	if err := settings(file, []release{r}); err != nil {
		return err
	}
	ours := side{name: "clusterctl-repo render provider", runs: b.runs, processes: []process{b.tool("render", "provider", r.dir)}}
	theirs := side{name: "clusterctl generate provider", runs: b.slow, processes: []process{b.clusterctl(file, "generate", "provider", "--infrastructure", r.Name+":"+r.version)}}
	a, z := filepath.Join(b.dir, "ours.yaml"), filepath.Join(b.dir, "theirs.yaml")
	ours.processes[0].stdout, theirs.processes[0].stdout = a, z
	c, err := b.compare(ctx, ours, theirs)
	if err != nil {
		return err
	}
	if same, err := equal(a, z); err != nil || !same {
		return errors.Join(err, errors.New("render differs from clusterctl"))
	}
	b.report.measured("render escapes", ours, c[0])
	b.report.measured("render escapes", theirs, c[1])
	b.report.row(timesFaster(fmt.Sprintf("`render` %.1f MB with %d `$$`", float64(len(text))/1e6, escapes), "clusterctl `generate provider`", c[0], c[1], 200,
		"Both print the same bytes. Each escape makes clusterctl's parser copy the rest of the file; here they all stand at its beginning, the worst case."))
	return nil
}

func equal(a, b string) (bool, error) {
	x, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	y, err := os.ReadFile(b)
	return len(x) > 0 && bytes.Equal(x, y), err
}
