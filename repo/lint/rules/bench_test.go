package rules_test

import (
	"context"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// BenchmarkLintCorpus compares linting all corpus releases with nothing but
// parsing the files that lint reads. Both work on bytes in memory.
func BenchmarkLintCorpus(b *testing.B) {
	r, err := folder.Open(context.Background(), corpus(b))
	if err != nil {
		b.Fatal(err)
	}
	var files [][]byte
	var size int64
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			components := release.Components()
			for i, a := range release.Artifacts {
				data, err := a.Bytes()
				if err != nil {
					b.Fatal(err)
				}
				if kind := a.Kind(); a == components || kind != layouts.Asset && kind != layouts.Checksums {
					files = append(files, data)
					size += int64(len(data))
				}
				release.Artifacts[i] = repo.BytesArtifact(a.Name, data)
			}
		}
	}
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			for _, data := range files {
				yamldoc.Parse(yamldoc.NewFile("", data))
			}
		}
	})
	b.Run("lint", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			if _, err := lint.Run(context.Background(), r, lint.Options{Rules: rules.All, Select: []string{lint.SelectAll}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
