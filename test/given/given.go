// Package given has what many tests begin with: files. It must not know the program.
package given

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// File writes a file, and makes its folder.
func File(t testing.TB, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}
