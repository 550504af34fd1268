package documents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/documents/session"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// scratch is for what all tests use, and removed after them.
var scratch string

// program is the program, alone in its folder.
var program = sync.OnceValues(func() (string, error) { return given.Program(root, filepath.Join(scratch, "bin")) })

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "documents"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// bin is the folder of the program.
func bin(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: bash is missing")
	}
	return filepath.Dir(given.Value(program())(t))
}

// stub writes a program that does nothing but keep what it is called with.
func stub(t *testing.T, dir, name, script string) {
	t.Helper()
	given.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
}

// TestTutorial runs docs/getting-started.md in an empty folder. test/oracle runs
// it with the real clusterctl too.
func TestTutorial(t *testing.T) {
	page := given.Read(t, filepath.Join(root, "docs/getting-started.md"))
	stubs := t.TempDir()
	stub(t, stubs, "go", `[ "$*" = "install github.com/clusterctl-repo/clusterctl-repo/cmd/clusterctl-repo@latest" ]`)
	shell, err := session.NewShell(t.TempDir(), t.TempDir(), "PATH="+stubs+":"+bin(t)+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+t.TempDir())
	given.NoError(t, err)
	ran := given.Value(shell.Page(t.Context(), string(page), func(string) bool { return false }))(t)
	if ran < 12 {
		t.Errorf("only %d blocks were run", ran)
	}
}
