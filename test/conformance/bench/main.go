// Bench measures publishing and mirroring side by side with the programs that
// people use for the same, on servers of this machine, and prints the result as a
// section of Markdown. Both sides get the same files and meet the same servers in
// the same way: encrypted and through a proxy where the real ones are encrypted.
//
// It must not know how anything is implemented.
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
	"strings"
	"time"
)

const conformanceModule = "github.com/clusterctl-repo/clusterctl-repo/test/conformance"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	b := &bench{}
	flag.IntVar(&b.runs, "n", 3, "how often each side does its work")
	corpus := flag.String("corpus", os.Getenv("CORPUS"), "folder with releases of real providers (default: ../shared/corpus beside the repository)")
	only := flag.String("only", "", "run only the experiments whose name matches this regular expression")
	date := flag.String("date", time.Now().Format(time.DateOnly), "date in the report")
	write := flag.Bool("write", false, "put the section into docs/benchmarks.md too")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	here, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", conformanceModule)
	if err != nil {
		return err
	}
	root := filepath.Dir(filepath.Dir(here))
	if *corpus == "" {
		*corpus = filepath.Join(root, "..", "shared", "corpus")
	}
	b.corpus = filepath.Join(*corpus, "releases")
	if b.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	b.tool, b.timed = filepath.Join(b.dir, "clusterctl-repo"), filepath.Join(b.dir, "timed")
	for _, p := range []struct{ in, out, pkg string }{
		{root, b.tool, "./cmd/clusterctl-repo"},
		{filepath.Join(root, "test", "oracle"), b.timed, "./bench/timed"},
	} {
		if _, err := output(ctx, p.in, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", p.out, p.pkg); err != nil {
			return err
		}
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
	section := b.report.section(*date, b.versions(ctx))
	if *write {
		if err := replaceSection(filepath.Join(root, "docs", "benchmarks.md"), section); err != nil {
			return err
		}
	}
	_, err = os.Stdout.WriteString(section)
	return err
}

// The section is between these lines of the page, the rest of which another
// program writes.
const (
	sectionBegin = "<!-- publishing: written by test/conformance/bench -->\n"
	sectionEnd   = "<!-- publishing: end -->\n"
)

// replaceSection puts a section in the place of the one in a page, or at its end.
func replaceSection(page, section string) error {
	data, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before, rest, found := strings.Cut(string(data), sectionBegin)
	_, after, _ := strings.Cut(rest, sectionEnd)
	if !found {
		before = strings.TrimRight(before, "\n") + "\n\n"
	}
	return os.WriteFile(page, []byte(before+section+after), 0o644)
}

// versions names the programs that were measured against.
func (b *bench) versions(ctx context.Context) string {
	var out []string
	for _, args := range [][]string{{"gh", "--version"}, {"curl", "--version"}, {"skopeo", "--version"}, {"docker-registry", "--version"}} {
		text, err := output(ctx, "", args...)
		if err != nil {
			continue
		}
		line, _, _ := strings.Cut(text, "\n")
		words := strings.Fields(line)
		for _, w := range words {
			if strings.Trim(w, "v0123456789.+ds") == "" && strings.Contains(w, ".") {
				out = append(out, args[0]+" "+w)
				break
			}
		}
	}
	return strings.Join(out, ", ")
}

// output runs a command in a folder and returns what it prints.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as releases are built
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}
