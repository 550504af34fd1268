// Nodes reads files, cuts them into YAML documents and parses each of them into
// nodes, which is the least that any linter with positions has to do:
//
//	nodes WORKERS FILE...
//
// It has the settings of the garbage collector that clusterctl-repo has.
//
// It must not know releases or variables.
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v4"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func main() {
	debug.SetGCPercent(800)
	workers, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = parse(workers, os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parse spreads the documents of one file after the other over the workers. It
// prints how many documents there are, and how many are no YAML as they are.
func parse(workers int, files []string) error {
	docs := make(chan []byte)
	var total int
	var bad atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for data := range docs {
				var n yaml.Node
				l, err := yaml.NewLoader(bytes.NewReader(data))
				if err == nil {
					err = l.Load(&n)
				}
				if err != nil {
					bad.Add(1)
				}
			}
		})
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		chunks, err := yamldoc.Split(string(data))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, c := range chunks {
			total++
			docs <- []byte(c.Data)
		}
	}
	close(docs)
	wg.Wait()
	fmt.Println(total, "documents,", bad.Load(), "of them no YAML")
	return nil
}
