package view

import (
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// Newest is the newest step from one contract of Cluster API to the next.
func Newest() *table.Contract {
	all := table.Contracts()
	return all[len(all)-1]
}

type migrationKey struct{}

// Migration is the edit that brings a file to the newest contract. It is nil if
// something would be left to do by hand, if users would have to write other values
// for variables, or if no edits are wanted.
func Migration(p *lint.Pass, f *manifest.File) *lint.Edit {
	if !p.WantsEdits() {
		return nil
	}
	made := f.Memo(migrationKey{}, func() any {
		r := migrate.Text(f.Raw.Name, []byte(f.Raw.Data), migrate.Options{Contract: Newest()})
		if r.Left > 0 || !r.Changed([]byte(f.Raw.Data)) {
			return ""
		}
		for _, finding := range r.Findings {
			if finding.Level > migrate.Note {
				return ""
			}
		}
		return string(r.New)
	}).(string)
	if made == "" {
		return nil
	}
	return &lint.Edit{End: len(f.Raw.Data), Text: made, Proven: true}
}
