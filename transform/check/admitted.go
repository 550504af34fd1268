package check

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// computed are rules about what package topology finds where it needs it, with values in the
// place of variables.
var computed = []string{"TOP001", "TOP006", "TOP008", "TOP009", "TOP010", "TOP011", "CC001", "CC021"}

// Admitted returns what the API server and the webhooks of Cluster API refuse of Clusters and
// classes as they are applied, as far as the rules of lint know it: each a *yamldoc.Error.
func Admitted(ctx context.Context, objects []*manifest.Object) error {
	var text strings.Builder
	for _, o := range objects {
		start, end := o.Doc.Range()
		text.WriteString("---\n" + strings.ReplaceAll(o.Doc.Text()[start:end], "$", "$$") + "\n")
	}
	file := repo.BytesArtifact(layouts.TemplateFile(""), []byte(text.String())).As(layouts.ClusterTemplate)
	applied := &repo.Release{Own: true, Artifacts: []*repo.Artifact{file}}
	report, err := lint.Run(ctx, &repo.Repository{Providers: []*repo.Provider{{Releases: []*repo.Release{applied}}}}, lint.Options{
		Rules: slices.DeleteFunc(slices.Clone(rules.All), func(r *lint.Rule) bool {
			family := strings.TrimRight(r.ID, "0123456789")
			return r.Proof != lint.APIServer || !slices.Contains([]string{"TOP", "CC", "CV", "PA"}, family) || slices.Contains(computed, r.ID)
		}),
		Trace: func(f *lint.Finding, d *yamldoc.Document, n *yamldoc.Node, _, _ int) {
			if d == nil || d.Index > len(objects) {
				return
			}
			o := objects[d.Index-1]
			f.File, f.Pos = o.Doc.File.Name, o.Doc.Pos(nil)
			if i, same := slices.Index(nodes(d), n), nodes(o.Doc); i >= 0 && i < len(same) {
				f.Pos = o.Doc.Pos(same[i])
			}
		},
	})
	if err != nil {
		return err
	}
	refused := phrase.Only(report.Findings, func(f lint.Finding) bool { return f.Severity == lint.Error })
	return errors.Join(phrase.List(refused, func(f lint.Finding) error {
		return &yamldoc.Error{File: f.File, Pos: f.Pos, Err: errors.New(f.Message)}
	})...)
}

func nodes(d *yamldoc.Document) (out []*yamldoc.Node) {
	d.Root.Walk(func(_ yamldoc.Path, n *yamldoc.Node) bool {
		out = append(out, n)
		for i := range n.Fields() {
			out = append(out, n.Fields()[i].Key())
		}
		return true
	})
	return out
}
