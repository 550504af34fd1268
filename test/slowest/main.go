// Command slowest shows what go test -json tells: what fails, and a line for each
// package. To the file in its argument it appends a line for each test: its seconds
// or "skip", its name, and why it was skipped. It must not know any test.
//
//	go test -json ./... | slowest FILE
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

func main() {
	times, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = show(os.Stdin, os.Stdout, times)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// show prints the output of tests when they fail, and of packages at once.
func show(events io.Reader, out, times io.Writer) error {
	said := map[string][]string{}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text()) // of go itself
			continue
		}
		id := e.Package + " " + e.Test
		top, _, isPart := strings.Cut(e.Test, "/")
		switch {
		case e.Action == "build-output":
			fmt.Fprint(out, e.Output)
		case e.Action == "output" && e.Test == "" && e.Output != "PASS\n":
			fmt.Fprint(out, e.Output)
		case e.Action == "output" && e.Test != "" && !strings.HasPrefix(e.Output, "=== "):
			said[id] = append(said[id], e.Output)
		case e.Test == "" || e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
			continue
		case e.Action == "fail":
			fmt.Fprint(out, strings.Join(said[id], ""))
		case e.Action == "skip":
			fmt.Fprintf(times, "skip %s %s\n", id, strings.Join(strings.Fields(strings.Join(said[id], " ")), " "))
		}
		if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
			delete(said, id)
			if !isPart && e.Action != "skip" {
				fmt.Fprintf(times, "%.1f %s %s\n", e.Elapsed, e.Package, top)
			}
		}
	}
	// A test that a panic or a time limit ended has no verdict.
	for _, output := range said {
		fmt.Fprint(out, strings.Join(output, ""))
	}
	return lines.Err()
}
