package kustomize

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// What is missing may be made while the tree is open; what is there stays.
func TestTreeFindsWhatIsMadeLater(t *testing.T) {
	dir := t.TempDir()
	tree := given.Value(OpenTree(dir, nil))(t)
	defer tree.Close()
	if tree.Exists("made") {
		t.Error("made exists before it was made")
	}
	if _, _, err := tree.CleanedAbs("made"); err == nil {
		t.Error("made has a target before it was made")
	}
	given.NoError(t, os.Mkdir(filepath.Join(dir, "made"), 0o755))
	for range 2 {
		if !tree.Exists("made") || !tree.IsDir("made") {
			t.Error("made is not found")
		}
		if target, name, err := tree.CleanedAbs("made"); err != nil || target.String() != filepath.Join(tree.dir, "made") || name != "" {
			t.Errorf("the target of made is %s, %s, %v", target, name, err)
		}
	}
}
