// Mutate changes the core of the program in small ways, one at a time, and
// counts how many of the changes a test notices: `make mutate`.
//
// All mutants of a package are built into one test binary, each behind a switch
// that the environment sets, so a mutant costs one run of the tests and no build.
// A first run without a mutant records which ones the tests reach.
//
// It must not know what the packages do.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
)

// A target is a package whose tests are tested.
type target struct {
	pkg   string
	files string // a pattern of file names; all if empty
	tests []suite
}

// A suite is the tests that count for a target.
type suite struct {
	pkg  string
	run  string // as -test.run; all if empty
	skip string // as -test.skip: tests that limit what is allocated or written, which mutants add to
}

var targets = []target{
	{pkg: "repo/lint", tests: []suite{{pkg: "repo/lint", skip: "ManyIgnores"}}},
	{pkg: "repo/text/vars", tests: []suite{{pkg: "repo/text/vars", skip: "IsNotCopied|Linear"}}},
	{pkg: "repo/capi/metadata", tests: []suite{{pkg: "repo/capi/metadata"}}},
	{pkg: "repo/move/owners", tests: []suite{{pkg: "repo/move/owners", skip: "Linear"}, {pkg: "repo/lint/rules", run: "^TestExamples$/MOVE"}, {pkg: "cmd/clusterctl-repo", run: "^TestScripts$/look/move_plan"}}},
	{pkg: "repo/move/dump", tests: []suite{{pkg: "repo/move/dump", skip: "OneByOne"}}},
	{pkg: "publish/github", files: "put*.go", tests: []suite{{pkg: "publish/github"}}},
	{pkg: "publish/gitlab", files: "put*.go", tests: []suite{{pkg: "publish/gitlab"}}},
	{pkg: "publish/oci", files: "put*.go", tests: []suite{{pkg: "publish/oci"}}},
	{pkg: "publish/local", files: "put*.go", tests: []suite{{pkg: "publish/local", skip: "TooLarge"}}},
}

// goal is the least share of mutants that tests have to notice.
const goal = 85

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	sample := flag.Int("sample", 0, "try at most so many mutants of each package, always the same ones")
	match := flag.String("run", "", "packages of the table whose path contains this, or the path of one package outside it")
	by := flag.String("tests", "", "for a package outside the table: the packages whose tests to run, separated by blanks (default: the package itself)")
	flag.Parse()
	tmp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	list := slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return !strings.Contains(t.pkg, *match) })
	switch {
	case *by != "" && len(list) > 0:
		return fmt.Errorf("-tests needs -run with a package outside the table; %q matches %s", *match, list[0].pkg)
	case len(list) == 0:
		list = []target{{pkg: *match}}
		for _, pkg := range strings.Fields(cmp.Or(*by, *match)) {
			list[0].tests = append(list[0].tests, suite{pkg: pkg})
		}
	}
	below := false
	for _, t := range list {
		if _, err := os.Stat(filepath.FromSlash(t.pkg)); err != nil {
			return err
		}
		start := time.Now()
		results, err := t.try(ctx, filepath.Join(tmp, strings.ReplaceAll(t.pkg, "/", "-")), *sample)
		if err != nil {
			return fmt.Errorf("%s: %w", t.pkg, err)
		}
		if !report(t, results, time.Since(start)) {
			below = true
		}
	}
	if below {
		return fmt.Errorf("at least one package is below %d %%; write tests that notice its survivors", goal)
	}
	return nil
}

// report prints the result of a package and reports whether it is good enough.
func report(t target, results []result, took time.Duration) bool {
	count := map[string]int{}
	var lived []string
	for _, r := range results {
		if count[r.outcome]++; r.outcome != killed {
			lived = append(lived, fmt.Sprintf("  %s: %s:%d %s", r.outcome, path.Join(t.pkg, r.m.file), r.m.line, strings.TrimPrefix(r.m.key(), r.m.file+" ")))
		}
	}
	rate := 100
	if len(results) > 0 {
		rate = 100 * count[killed] / len(results)
	}
	fmt.Printf("%-22s %4d mutants, %4d killed, %3d lived, %3d not reached: %3d %%  (%s)\n", t.pkg, len(results), count[killed], count[livedOn], count[unreached], rate, took.Round(time.Second))
	for _, line := range lived {
		fmt.Println(line)
	}
	return rate >= goal
}

const (
	killed    = "killed"
	livedOn   = "lived"
	unreached = "not reached"
)

type result struct {
	m       *mutant
	outcome string
}

// try builds the mutants of a package into its tests and runs them.
func (t target) try(ctx context.Context, dir string, sample int) ([]result, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files, err := t.sources()
	if err != nil {
		return nil, err
	}
	var mutants []*mutant
	for _, f := range files {
		found, err := find(f.name, f.src)
		if err != nil {
			return nil, err
		}
		mutants = append(mutants, found...)
	}
	for i, m := range mutants {
		m.id = i + 1
	}
	binaries, mutants, err := t.build(ctx, dir, files, mutants)
	if err != nil {
		return nil, err
	}
	for _, b := range binaries {
		if err := b.baseline(ctx, dir); err != nil {
			return nil, err
		}
	}
	binaries = slices.DeleteFunc(binaries, func(b *binary) bool { return len(b.reached) == 0 })
	slices.SortFunc(binaries, func(a, b *binary) int { return cmp.Compare(a.took, b.took) })
	return runAll(ctx, binaries, choose(mutants, sample)), ctx.Err()
}

// choose picks mutants by a hash of what they are.
func choose(mutants []*mutant, sample int) []*mutant {
	if sample == 0 || sample >= len(mutants) {
		return mutants
	}
	hash := func(m *mutant) uint64 {
		h := fnv.New64a()
		h.Write([]byte(m.key()))
		return h.Sum64()
	}
	byPlace := func(a, b *mutant) int { return cmp.Compare(a.id, b.id) }
	picked := slices.SortedFunc(slices.Values(mutants), func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(hash(a), hash(b)), byPlace(a, b))
	})[:sample]
	slices.SortFunc(picked, byPlace)
	return picked
}

type source struct{ name, path, src, pkg string }

func (t target) sources() ([]source, error) {
	names, err := filepath.Glob(filepath.Join(filepath.FromSlash(t.pkg), "*.go"))
	if err != nil {
		return nil, err
	}
	var files []source
	for _, name := range names {
		base := filepath.Base(name)
		if ok, err := path.Match(cmp.Or(t.files, "*"), base); err != nil {
			return nil, err
		} else if !ok || strings.HasSuffix(base, "_test.go") || strings.HasSuffix(base, "_windows.go") || strings.HasSuffix(base, "_other.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(text), "\n// Code generated ") || strings.HasPrefix(string(text), "// Code generated ") {
			continue
		}
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		clause := strings.SplitN(string(text[strings.Index("\n"+string(text), "\npackage "):]), "\n", 2)[0]
		files = append(files, source{base, abs, string(text), strings.TrimPrefix(clause, "package ")})
	}
	if len(files) == 0 {
		return nil, errors.New("no files to mutate")
	}
	return files, nil
}

// A binary is the tests of one package with all mutants built in.
type binary struct {
	suite
	file    string
	took    time.Duration
	reached map[int]bool
}

// build compiles the tests, and drops mutants that the compiler refuses.
func (t target) build(ctx context.Context, dir string, files []source, mutants []*mutant) ([]*binary, []*mutant, error) {
	for range 12 {
		texts := map[string]string{}
		overlay := []string{}
		add := func(real, name, text string) error {
			file := filepath.Join(dir, name)
			overlay = append(overlay, strconv.Quote(real)+": "+strconv.Quote(file))
			return os.WriteFile(file, []byte(text), 0o644)
		}
		for _, f := range files {
			texts[f.name] = rewrite(f.src, slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.file != f.name }))
			if err := add(f.path, f.name, texts[f.name]); err != nil {
				return nil, nil, err
			}
		}
		if err := add(filepath.Join(filepath.Dir(files[0].path), "zz_mutated.go"), "zz_mutated.go", fmt.Sprintf(support, files[0].pkg)); err != nil {
			return nil, nil, err
		}
		list := filepath.Join(dir, "overlay.json")
		if err := os.WriteFile(list, []byte(`{"Replace": {`+strings.Join(overlay, ",\n")+"}}"), 0o644); err != nil {
			return nil, nil, err
		}
		var binaries []*binary
		var failed []byte
		for _, test := range t.tests {
			file := filepath.Join(dir, strings.ReplaceAll(test.pkg, "/", "-")+".test")
			cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", list, "-gcflags=-e", "-o", file, "./"+test.pkg)
			if out, err := cmd.CombinedOutput(); err != nil {
				failed = out
				break
			}
			binaries = append(binaries, &binary{suite: test, file: file, reached: map[int]bool{}})
		}
		if failed == nil {
			return binaries, mutants, nil
		}
		refused := map[int]bool{}
		for _, e := range compileError.FindAllStringSubmatch(string(failed), -1) {
			line, _ := strconv.Atoi(e[2])
			column, _ := strconv.Atoi(e[3])
			for _, id := range blame(texts[filepath.Base(e[1])], line, column) {
				refused[id] = true
			}
		}
		if len(refused) == 0 {
			return nil, nil, fmt.Errorf("the tests do not build:\n%s", failed)
		}
		mutants = slices.DeleteFunc(mutants, func(m *mutant) bool { return refused[m.id] })
	}
	return nil, nil, errors.New("the mutants do not build after 12 attempts")
}

// baseline runs the tests without a mutant.
func (b *binary) baseline(ctx context.Context, dir string) error {
	hits := filepath.Join(dir, "hits-"+filepath.Base(b.file))
	start := time.Now()
	if out, err := b.run(ctx, 0, hits, 5*time.Minute); err != nil {
		return fmt.Errorf("tests fail without any mutant: %w\n%s", err, out)
	}
	b.took = time.Since(start)
	text, err := os.ReadFile(hits)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, line := range strings.Fields(string(text)) {
		id, err := strconv.Atoi(line)
		if err != nil {
			return err
		}
		b.reached[id] = true
	}
	return nil
}

func (b *binary) run(ctx context.Context, id int, hits string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.file, "-test.failfast", "-test.short", "-test.run="+b.suite.run, "-test.skip="+cmp.Or(b.skip, "^$"))
	cmd.Dir = filepath.FromSlash(b.pkg)
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(id), "MUTANT_HITS="+hits, "GOMEMLIMIT=1GiB", "CORPUS=/nonexistent")
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// runAll tries the mutants on all processors.
func runAll(ctx context.Context, binaries []*binary, mutants []*mutant) []result {
	results := make([]result, len(mutants))
	parallel.Each(len(mutants), func(i int) {
		if ctx.Err() == nil {
			results[i] = result{mutants[i], fate(ctx, binaries, mutants[i])}
		}
	})
	return results
}

// fate runs the tests that reach a mutant until one fails. Tests that take much
// longer than without it count as failed.
func fate(ctx context.Context, binaries []*binary, m *mutant) string {
	outcome := unreached
	for _, b := range binaries {
		if !b.reached[m.id] {
			continue
		}
		outcome = livedOn
		if _, err := b.run(ctx, m.id, "", 4*b.took+10*time.Second); err != nil {
			return killed
		}
	}
	return outcome
}
