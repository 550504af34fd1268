package rules_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestCorpusDefinitions wants the same verdict on the definitions alone as lint has of the release
// that they are part of.
func TestCorpusDefinitions(t *testing.T) {
	r := given.Value(folder.Open(t.Context(), share.Corpus(t, "releases")))(t)
	report := given.Value(lint.Run(t.Context(), r, lint.Options{Rules: rules.All, Partial: true}))(t)
	want := map[string][]string{}
	for _, f := range report.Findings {
		family := rules.FamilyOf(f.Rule.ID)
		if slices.Contains([]string{"CRD", "BC", "CP", "IC", "IM", "IMP", "IPAM"}, family) && f.Rule.ID != "CRD025" && f.Rule.ID != "IPAM003" {
			want[f.File] = append(want[f.File], fmt.Sprint(f.Rule.ID, " ", f.Object, " ", f.Message))
		}
	}
	definitions := 0
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			components := release.Components()
			data := given.Value(components.Bytes())(t)
			var files []rules.CRDFile
			for i, part := range bytes.Split(data, []byte("\n---\n")) {
				if bytes.Contains(part, []byte("\nkind: CustomResourceDefinition\n")) {
					files = append(files, rules.CRDFile{Name: fmt.Sprint(i), Data: part})
				}
			}
			definitions += len(files)
			got, err := rules.CheckCRDs(t.Context(), files, rules.CRDOptions{Profile: contract.DefaultProfile()})
			if errors.Is(err, rules.ErrNoDefinitions) {
				continue
			}
			given.NoError(t, err)
			var list []string
			for _, f := range got.Findings {
				list = append(list, fmt.Sprint(f.Rule.ID, " ", f.Object, " ", f.Message))
			}
			slices.Sort(list)
			slices.Sort(want[components.Path])
			if !slices.Equal(list, want[components.Path]) {
				t.Errorf("%s: got\n%s\nwant\n%s", components.Path, strings.Join(list, "\n"), strings.Join(want[components.Path], "\n"))
			}
		}
	}
	if definitions < 152 {
		t.Errorf("only %d definitions were compared", definitions)
	}
}

// TestTrees wants the definitions of each source tree to be judged without a
// configuration: by role, and without asking for labels that the build adds.
func TestTrees(t *testing.T) {
	sources := share.Corpus(t, "sources")
	trees := given.Value(os.ReadDir(sources))(t)
	for _, tree := range trees {
		folders := definitionFolders(t, filepath.Join(sources, tree.Name()))
		if len(folders) == 0 {
			t.Errorf("%s has no folder with definitions", tree.Name())
		}
		for _, dir := range folders {
			files, err := rules.ReadCRDs(dir)
			if err != nil {
				t.Errorf("%s: %v", dir, err)
				continue
			}
			r, err := rules.CheckCRDs(t.Context(), files, rules.CRDOptions{})
			if err != nil {
				t.Errorf("%s: %v", dir, err)
				continue
			}
			for _, failure := range r.Failures {
				t.Errorf("%s: %v", dir, failure)
			}
			for _, f := range r.Findings {
				if f.Rule.Name == "contract-label" && f.Severity == lint.Error {
					t.Errorf("%s: the label that the build adds is asked for: %s", dir, f.Message)
				}
				if !slices.ContainsFunc(files, func(x rules.CRDFile) bool { return x.Name == f.File }) {
					t.Errorf("%s: %s is at %q, which is not one of the files", dir, f.Rule.ID, f.File)
				}
			}
		}
	}
	if len(trees) < 17 {
		t.Errorf("only %d trees", len(trees))
	}
}

// definitionFolders are the folders in which controller-gen puts definitions.
func definitionFolders(t *testing.T, tree string) []string {
	var out []string
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		slashed := filepath.ToSlash(path)
		if err == nil && d.IsDir() && (strings.HasSuffix(slashed, "/crd/bases") || strings.HasSuffix(slashed, "/crds")) && strings.Contains(slashed, "config/") {
			out = append(out, path)
		}
		return err
	})
	given.NoError(t, err)
	return out
}

// TestPlaces wants findings at the lines of the files that hold the definitions.
func TestPlaces(t *testing.T) {
	files := given.Value(rules.ReadCRDs("../../../examples/cluster-api-provider-acme/config/crd/bases"))(t)
	for i := range files {
		if strings.HasSuffix(files[i].Name, "_acmemachines.yaml") {
			files[i].Data = bytes.ReplaceAll(files[i].Data, []byte("providerID:"), []byte("provider:"))
		}
	}
	r := given.Value(rules.CheckCRDs(context.Background(), files, rules.CRDOptions{}))(t)
	for _, f := range r.Findings {
		if f.Rule.ID == "IM001" && strings.HasSuffix(f.File, "_acmemachines.yaml") && f.Pos.Line > 1 {
			return
		}
	}
	t.Errorf("no finding at the changed file: %+v", r.Findings)
}

// Without a label, the newer contract counts if as much is missing for each.
func TestNewerContract(t *testing.T) {
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n" +
		"  group: infrastructure.cluster.x-k8s.io\n  names: {kind: FooCluster, plural: fooclusters}\n" +
		"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n"
	files := []rules.CRDFile{{Name: "a.yaml", Data: []byte(text)}}
	r := given.Value(rules.CheckCRDs(t.Context(), files, rules.CRDOptions{}))(t)
	if !slices.ContainsFunc(spread(r.Findings), func(f lint.Finding) bool {
		return f.Rule.ID == "IC001" && strings.HasSuffix(f.Message, " has no status.initialization.provisioned")
	}) {
		t.Errorf("got %+v", r.Findings)
	}
}
