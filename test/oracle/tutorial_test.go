package oracle

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/documents/session"
)

// TestTutorial runs docs/getting-started.md from an empty folder to the real
// clusterctl.
func TestTutorial(t *testing.T) {
	page, err := os.ReadFile("../../docs/getting-started.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, path := range map[string]string{"clusterctl": binary(t).Path(), "clusterctl-repo": program} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	shell, err := session.NewShell(t.TempDir(), t.TempDir(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shell.Page(t.Context(), string(page), func(p string) bool { return p == "clusterctl" }); err != nil {
		t.Error(err)
	}
}
