package oracle

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/documents/session"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestTutorial runs docs/getting-started.md from an empty folder to the real
// clusterctl.
func TestTutorial(t *testing.T) {
	page := given.Read(t, "../../docs/getting-started.md")
	program := given.Value(tool())(t)
	bin := t.TempDir()
	for name, path := range map[string]string{"clusterctl": binary(t).Path(), "clusterctl-repo": program} {
		given.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	given.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"), 0o755))
	shell, err := session.NewShell(t.TempDir(), t.TempDir(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
	given.NoError(t, err)
	given.Value(shell.Page(t.Context(), string(page), func(p string) bool { return p == "clusterctl" }))(t)
}
