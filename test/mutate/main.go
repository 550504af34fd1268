// Mutate changes the core of the program in small ways, one at a time, and
// counts how many of the changes a test notices: `make mutate`. A mutant is the program
// with one file replaced, so that it costs a build and a run of the tests of its package.
//
// It must not know what the packages do.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
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
	{pkg: "repo/move", tests: []suite{{pkg: "repo/move", skip: "Linear"}, {pkg: "repo/lint/rules", run: "^TestExamples$/MOVE"}, {pkg: "cmd/clusterctl-repo", run: "^TestScripts$/look/move_plan"}}},
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
	var lived []string
	tried := len(results)
	for _, r := range results {
		switch {
		case r.refused:
			tried--
		case !r.killed:
			lived = append(lived, fmt.Sprintf("  lived: %s:%d %s", r.m.file, r.m.line, r.m.key()))
		}
	}
	rate := 100 * (tried - len(lived)) / max(tried, 1)
	fmt.Printf("%-22s %4d mutants, %4d killed, %3d lived: %3d %%  (%s)\n", t.pkg, tried, tried-len(lived), len(lived), rate, took.Round(time.Second))
	for _, line := range lived {
		fmt.Println(line)
	}
	return rate >= goal && tried > 0
}

// result is the fate of a mutant: the compiler refused it, or a test failed, or neither.
type result struct {
	m               *mutant
	refused, killed bool
}

// try runs the tests without a mutant, and then with each of them on all processors.
func (t target) try(ctx context.Context, dir string, sample int) ([]result, error) {
	files, err := t.sources()
	if err != nil {
		return nil, err
	}
	var mutants []*mutant
	for name, src := range files {
		found, err := find(name, src)
		if err != nil {
			return nil, err
		}
		mutants = append(mutants, found...)
	}
	mutants = choose(mutants, sample)
	limits := make([]time.Duration, len(t.tests))
	for i, s := range t.tests {
		start := time.Now()
		out, err := s.test(ctx, filepath.Join(dir, fmt.Sprint("baseline", i)), nil, 5*time.Minute)
		if err != nil {
			return nil, fmt.Errorf("tests fail without any mutant: %w\n%s", err, out)
		}
		limits[i] = 4*time.Since(start) + 10*time.Second
	}
	results := make([]result, len(mutants))
	parallel.Each(len(mutants), func(i int) {
		m := mutants[i]
		results[i].m = m
		src := files[m.file]
		overlay := map[string]string{m.file: src[:m.start] + m.text + src[m.end:]}
		for j, s := range t.tests {
			if ctx.Err() != nil || results[i].killed || results[i].refused {
				break
			}
			_, err := s.test(ctx, filepath.Join(dir, fmt.Sprint(i, "-", j)), overlay, limits[j])
			results[i].refused = errors.Is(err, errBuild)
			results[i].killed = err != nil && !results[i].refused
		}
	})
	return results, ctx.Err()
}

// choose picks mutants by a hash of what they are.
func choose(mutants []*mutant, sample int) []*mutant {
	slices.SortFunc(mutants, func(a, b *mutant) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.start, b.start)) })
	if sample == 0 || sample >= len(mutants) {
		return mutants
	}
	hash := func(m *mutant) uint64 {
		h := fnv.New64a()
		h.Write([]byte(m.key()))
		return h.Sum64()
	}
	return slices.SortedStableFunc(slices.Values(mutants), func(a, b *mutant) int { return cmp.Compare(hash(a), hash(b)) })[:sample]
}

// sources returns what the files to mutate hold, by name.
func (t target) sources() (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(filepath.FromSlash(t.pkg), cmp.Or(t.files, "*.go")))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_windows.go") || strings.HasSuffix(name, "_other.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	if len(files) == 0 {
		return nil, errors.New("no files to mutate")
	}
	return files, nil
}

var errBuild = errors.New("the tests do not build")

// test builds the tests with files in the place of others, and runs them.
func (s suite) test(ctx context.Context, tmp string, overlay map[string]string, limit time.Duration) ([]byte, error) {
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	replace := map[string]string{}
	for name, text := range overlay {
		file := filepath.Join(tmp, filepath.Base(name))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, err
		}
		replace[name] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(tmp, "overlay.json"), list, 0o644)
	}
	if err != nil {
		return nil, err
	}
	file := filepath.Join(tmp, "tests")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", filepath.Join(tmp, "overlay.json"), "-o", file, "./"+s.pkg)
	if out, err := build.CombinedOutput(); err != nil {
		return out, errBuild
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "-test.failfast", "-test.short", "-test.run="+s.run, "-test.skip="+cmp.Or(s.skip, "^$"))
	cmd.Dir = filepath.FromSlash(s.pkg)
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=1GiB", "CORPUS=/nonexistent")
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}
