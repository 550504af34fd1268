package check

import (
	"context"
	"path/filepath"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/fix"
)

// Rewrite replaces files that still have their old content: all of them, or none
// if one cannot be replaced. The checksums next to a changed file are made anew if
// they were right; a file that a signature or a provenance statement covers is
// refused.
func Rewrite(ctx context.Context, dir string, changed []FixedFile) error {
	f := &fixing{ctx: ctx, dir: dir, disk: map[string][]byte{}, memory: map[string][]byte{}, names: map[string][]string{}}
	for _, c := range changed {
		if err := attested(filepath.ToSlash(c.Name)); err != nil {
			return err
		}
		key, err := fix.Locate(dir, c.Name)
		if err != nil {
			return err
		}
		f.disk[key], f.memory[key], f.names[key] = c.Old, c.New, []string{filepath.ToSlash(c.Name)}
	}
	return f.replaceAll(func() error { return nil })
}
