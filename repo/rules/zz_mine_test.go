package rules_test

import (
	"context"
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/rules"
)

func BenchmarkMine(b *testing.B) {
	r, _ := folder.Open(context.Background(), corpus(b))
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			for i, a := range release.Artifacts {
				data, _ := a.Bytes()
				n := repo.BytesArtifact(a.Name, data)
				n.Path = a.Path
				release.Artifacts[i] = n
			}
		}
	}
	force := &lint.Rule{ID: "X", Scope: lint.ScopeFile, Check: func(p *lint.Pass) { p.File.Docs(); p.Release.Roles() }}
	mine := []*lint.Rule{force}
	for _, x := range rules.All {
		if slices.Contains([]string{"CRD", "IC", "IM", "IMP", "BC", "CP", "IPAM"}, rules.FamilyOf(x.ID)) || x.ID == "COMP026" {
			mine = append(mine, x)
		}
	}
	run := func(name string, list []*lint.Rule) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := lint.Run(context.Background(), r, lint.Options{Rules: list}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("none", []*lint.Rule{force})
	run("mine", mine)
	for _, x := range mine[1:] {
		run(x.ID, []*lint.Rule{force, x})
	}
}
