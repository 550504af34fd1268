// Package given has what many tests begin with: files, and the corpus of real
// providers. It must not know the program.
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

// Corpus is a folder of the corpus, which CORPUS names or which lies above the project.
// Without a corpus it skips the test.
func Corpus(t testing.TB, folder string) string {
	t.Helper()
	root := os.Getenv("CORPUS")
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; root == "" && at != filepath.Dir(at); at = filepath.Dir(at) {
		if above := filepath.Join(at, "shared", "corpus"); isFolder(above) {
			root = above
		}
	}
	if root = filepath.Join(root, folder); !isFolder(root) {
		t.Skip("there is no corpus of real providers: set CORPUS to its folder")
	}
	if root, err = filepath.Abs(root); err != nil {
		t.Fatal(err)
	}
	return root
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
