// Newpackage starts a package: it writes doc.go and the row in the table of
// test/imports. `make new-package` runs it.
//
// It must not know which packages there are.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/clusterctl-repo/clusterctl-repo/test/imports"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "new-package:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 || args[0] == "" || args[1] == "" || args[2] == "" {
		return errors.New(`want make new-package DIR=repo/facts/example FOR="what lives there" NEVER="what it must not know"`)
	}
	written, err := imports.New(".", args[0], args[1], args[2])
	if err != nil {
		return err
	}
	for _, name := range written {
		fmt.Println("wrote", name)
	}
	fmt.Println("next: write the code, run go test ./test/imports and list in the row what it imports, then make generate")
	return nil
}
