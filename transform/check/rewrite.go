package check

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Rewrite replaces files that still have their old content: all of them, or none
// if one cannot be replaced. The checksums next to a changed file are rewritten if
// they were right; a file that a signature covers is refused.
func Rewrite(ctx context.Context, dir string, changed []FixedFile) error {
	f := &fixing{ctx: ctx, dir: dir, disk: map[string][]byte{}, memory: map[string][]byte{}, names: map[string][]string{}}
	for _, c := range changed {
		if err := attested(filepath.ToSlash(c.Name)); err != nil {
			return err
		}
		key, err := locate(dir, c.Name)
		if err != nil {
			return err
		}
		f.disk[key], f.memory[key], f.names[key] = c.Old, c.New, []string{filepath.ToSlash(c.Name)}
	}
	return f.replaceAll(func() error { return nil })
}

// migrated is what a migration to the newest contract makes of a file; empty if it
// would leave something to do by hand, or if users would have to write other values
// for variables.
func migrated(f *yamldoc.File) string {
	all := table.Contracts()
	r := migrate.Text(f.Name, []byte(f.Data), migrate.Options{Contract: all[len(all)-1]})
	report := migrate.Report{Files: []*migrate.File{{Result: r}}}
	if r.Left > 0 || slices.ContainsFunc(report.Findings(), func(f migrate.Finding) bool { return f.Level > migrate.Note }) || !r.Changed([]byte(f.Data)) {
		return ""
	}
	return string(r.New)
}

// locate returns where a file below root really is, with symbolic links
// followed. The error says if that is outside of root.
func locate(root, name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", files.Cause(err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", files.Cause(err)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", errors.New("a symbolic link leads out of the folder")
	}
	return real, nil
}
