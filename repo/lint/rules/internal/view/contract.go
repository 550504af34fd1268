package view

import (
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// Newest is the newest step from one contract of Cluster API to the next.
func Newest() *table.Contract {
	all := table.Contracts()
	return all[len(all)-1]
}

type migrationKey struct{}

// Migration is the edit that brings a file to the newest contract. It is nil if no
// edits are wanted, or if this one would leave something to do.
func Migration(p *lint.Pass, f *manifest.File) *lint.Edit {
	if !p.WantsEdits() {
		return nil
	}
	made := f.Memo(migrationKey{}, func() any { return p.Migrated(f.Raw) }).(string)
	if made == "" {
		return nil
	}
	return &lint.Edit{End: len(f.Raw.Data), Text: made, Proven: true}
}
