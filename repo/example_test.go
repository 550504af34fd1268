package repo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// Lint a source tree. Findings point at the lines that cause them, whatever
// patches and variables lie between.
func Example_lint() {
	result, err := check.Folder(context.Background(), "testdata/source", check.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range result.Report.Findings {
		if f.Severity == lint.Error {
			fmt.Printf("%s:%d:%d: %s [%s]\n", f.File, f.Pos.Line, f.Pos.Column, f.Rule.Name, f.Rule.ID)
		}
	}
	// Output: testdata/source/config/default/team.yaml:6:11: label-values [YAML009]
}

// Build the releases of a source tree and publish them to a folder, each in one
// step that readers see whole or not at all.
func Example_publish() {
	ctx := context.Background()
	root, _ := os.MkdirTemp("", "example-")
	defer os.RemoveAll(root)
	tree, err := transform.Open("../examples/cluster-api-provider-acme", transform.Options{Version: transform.Versions{All: "v0.1.0"}})
	if err != nil {
		panic(err)
	}
	build, err := tree.Build(ctx)
	if err != nil {
		panic(err)
	}
	repository, _ := local.New(root)
	for _, release := range build.Releases {
		result, err := repository.Put(ctx, release)
		where, _ := filepath.Rel(root, result.Where)
		fmt.Println(where, len(release.Artifacts), "files", err)
	}
	// Output: infrastructure-acme/v0.1.0 10 files <nil>
}

// Add a rule of one's own to those of the catalogue.
func Example_rule() {
	owned := &lint.Rule{
		ID: "ACME001", Name: "owner-missing", Title: "Namespaces must have the label owner", Severity: lint.Error, Scope: lint.ScopeRelease,
		Check: func(p *lint.Pass) {
			for _, namespace := range p.Release.Installed().Kind("", "Namespace") {
				if labels := namespace.Doc.Root.Get("metadata", "labels"); labels.Get("owner") == nil {
					p.On(namespace, labels, "Namespace %s has no label owner", namespace.Name)
				}
			}
		},
	}
	result, err := check.Folder(context.Background(), "testdata/source", check.Options{Rules: append(rules.All[:len(rules.All):len(rules.All)], owned)})
	for _, f := range result.Report.Findings {
		if f.Rule == owned {
			fmt.Println(filepath.ToSlash(f.File), f.Message, err)
		}
	}
	// Output: testdata/source/config/default/team.yaml Namespace acme-system has no label owner <nil>
}
