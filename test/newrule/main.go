// Newrule starts a rule: it writes the row with its check, an example and a test.
// `make new-rule` runs it.
//
// It must not know any rule.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "new-rule:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 || args[0] == "" || args[1] == "" {
		return fmt.Errorf("want make new-rule ID=CC031 NAME=worker-class-name")
	}
	w, err := New(".", args[0], args[1])
	if err != nil {
		return err
	}
	fmt.Print(w.walkthrough(args[0]))
	return nil
}

// walkthrough says what to do next. CONTRIBUTING.md has the same steps.
func (w written) walkthrough(id string) string {
	return fmt.Sprintf(steps, w.Row, w.Example, w.Test, id)
}

const steps = `1. %[1]s: replace every TODO in the row, then write the check below it.
2. %[2]s: show the fault in bad, the same files in order in good, and "# want %[4]s" on the line of the finding.
   With the proof clusterctl or apiserver, add the line "oracle VERDICT PATTERN" (see repo/lint/rules/examples/doc.go).
3. %[3]s: test what the example does not show, or delete the file.
4. make generate, and read the differences below docs and repo/lint/rules/testdata.
5. go test ./repo/lint/rules/...
`
