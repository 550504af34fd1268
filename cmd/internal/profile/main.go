// Profile runs the program on releases and sources of real providers and writes where
// its time goes, for the Go compiler: default.pgo beside the main function. The
// compiler makes what is called most often faster; a profile that is out of date does
// no harm. It must not know how the work is done.
//
//	go run ./cmd/internal/profile -corpus DIR -o cmd/clusterctl-repo/default.pgo
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/memory"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
}

func run() error {
	corpus := flag.String("corpus", "../shared/corpus", "folder with releases and sources of real providers")
	out := flag.String("o", "default.pgo", "file to write")
	rounds := flag.Int("n", 5, "how often to do the work")
	flag.Parse()
	work, err := workOn(*corpus)
	if err != nil {
		return err
	}
	memory.Trade() // as the program does
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		return err
	}
	for range *rounds {
		for _, args := range work {
			// Some releases have findings, and some are refused: exit codes do not count.
			cli.Main(context.Background(), args, cli.IO{
				In: bytes.NewReader(nil), Out: io.Discard, Err: io.Discard, Dir: ".",
				Env: func(string) (string, bool) { return "", false },
			})
		}
	}
	pprof.StopCPUProfile()
	return os.WriteFile(*out, profile.Bytes(), 0o644)
}

// workOn are the command lines, on all releases and sources.
func workOn(corpus string) ([][]string, error) {
	all := filepath.Join(corpus, "releases")
	work := [][]string{{"lint", all}, {"lint", all, "-o", "json"}, {"images", all}, {"vars", all}}
	releases, err := filepath.Glob(filepath.Join(all, "*", "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range releases {
		work = append(work, []string{"render", "provider", dir})
	}
	sources, err := filepath.Glob(filepath.Join(corpus, "sources", "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range sources {
		work = append(work, []string{"lint", "--no-cache", dir})
	}
	if len(releases) == 0 || len(sources) == 0 {
		return nil, errors.New(corpus + " has no releases or no sources")
	}
	return work, nil
}
