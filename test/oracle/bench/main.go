// Bench measures the budgets of clusterctl-repo side by side with the stock
// clusterctl and kustomize, and prints the result as a page of Markdown. It
// builds all programs itself, at the versions that this module requires, and
// asserts only what does not depend on the machine: that both sides give the
// same bytes. It must not know how anything is implemented.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

const (
	oracleModule    = "github.com/clusterctl-repo/clusterctl-repo/test/oracle"
	kustomizeModule = "sigs.k8s.io/kustomize/kustomize/v5"
	clusterModule   = "sigs.k8s.io/cluster-api"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	runs := flag.Int("n", 5, "how often each side does its work")
	slow := flag.Int("slow", 3, "the same for work that takes long on the other side")
	corpusDir := flag.String("corpus", os.Getenv("CORPUS"), "folder with releases and sources of real providers (default: ../shared/corpus beside the repository)")
	only := flag.String("only", "", "run only the experiments whose name matches this regular expression")
	date := flag.String("date", time.Now().Format(time.DateOnly), "date in the report")
	write := flag.Bool("write", false, "write docs/benchmarks.md too")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}

	root, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", oracleModule)
	if err != nil {
		return err
	}
	root = filepath.Dir(filepath.Dir(root))
	if *corpusDir == "" {
		*corpusDir = filepath.Join(root, "..", "shared", "corpus")
	}
	if *corpusDir, err = filepath.Abs(*corpusDir); err != nil {
		return err
	}
	c, err := openCorpus(*corpusDir, filepath.Join(root, "test", "corpus"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := prepare(ctx, root, dir)
	if err != nil {
		return err
	}
	b.runs, b.slow, b.corpus = *runs, *slow, c
	if b.report, err = about(ctx, root, *date); err != nil {
		return err
	}
	for _, e := range experiments {
		if !chosen.MatchString(e.name) {
			continue
		}
		start := time.Now()
		if err := e.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", e.name, time.Since(start).Round(time.Second))
	}
	var out bytes.Buffer
	if err := b.report.write(&out); err != nil {
		return err
	}
	if *write {
		if err := writePage(filepath.Join(root, "docs", "benchmarks.md"), out.Bytes()); err != nil {
			return err
		}
	}
	_, err = os.Stdout.Write(out.Bytes())
	return err
}

// others begins the part of the page that test/conformance/bench writes.
const others = "<!-- publishing:"

// writePage replaces the page, but for the part of the others.
func writePage(path string, page []byte) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if i := bytes.Index(old, []byte(others)); i >= 0 {
		page = append(append(bytes.Clone(page), '\n'), old[i:]...)
	}
	return os.WriteFile(path, page, 0o644)
}

// prepare builds all programs.
func prepare(ctx context.Context, root, dir string) (*bench, error) {
	b := &bench{lab: &lab{dir: dir, timed: filepath.Join(dir, "timed")}}
	b.ours, b.kustomize, b.nodes = filepath.Join(dir, "clusterctl-repo"), filepath.Join(dir, "kustomize"), filepath.Join(dir, "nodes")
	for _, p := range []struct{ in, out, pkg string }{
		{root, b.ours, "./cmd/clusterctl-repo"},
		{"", b.kustomize, kustomizeModule},
		{"", b.nodes, oracleModule + "/bench/nodes"},
		{"", b.timed, oracleModule + "/bench/timed"},
	} {
		if _, err := output(ctx, p.in, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", p.out, p.pkg); err != nil {
			return nil, err
		}
	}
	var err error
	b.stock, err = real.Build(dir)
	return b, err
}

// about describes the machine and the programs.
func about(ctx context.Context, root, date string) (*report, error) {
	r := &report{Date: date, Machine: fmt.Sprintf("%s, %d processors, %s/%s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH), Tool: "of this repository"}
	for module, version := range map[string]*string{clusterModule: &r.Clusterctl, kustomizeModule: &r.Kustomize} {
		var err error
		if *version, err = output(ctx, "", "go", "list", "-m", "-f", "{{.Version}}", module); err != nil {
			return nil, err
		}
	}
	r.Go = runtime.Version()
	// Without a checkout the page is fine as well.
	if commit, err := output(ctx, root, "git", "describe", "--tags", "--always", "--dirty"); err == nil {
		r.Tool = commit
	}
	return r, nil
}

// processor names the processor where the system tells.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// output runs a command in a folder and returns what it prints.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as all of them are released
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}
