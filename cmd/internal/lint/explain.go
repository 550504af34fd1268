package lint

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

func ExplainCommand(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "explain RULE",
		Short: "Explain a rule with examples",
		Long: `Explains what a rule means, what happens to users, who proves it, and what to do.
RULE is the ID or the name of a rule of lint, or of a check of "extension check".`,
		Example: `  clusterctl-repo explain META006
  clusterctl-repo explain image-version`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, r := range slices.Concat(rules.Catalogue, checks.Family.Rules) {
				ids = append(ids, r.ID+"\t"+r.Title, r.Name+"\t"+r.ID)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			style := env.TextStyle()
			rule := rules.Named(args[0])
			if check := checks.ByID(args[0]); check != nil {
				rule = &check.Rule
			}
			if family, err := rules.Matching(rules.Catalogue, args); rule == nil && err == nil {
				return cli.Usagef("%s is a family of %s; clusterctl-repo rules %[1]s lists them", args[0], phrase.Count(len(family), "rule"))
			}
			if rule == nil {
				return cli.UsageError(rules.Unknown(args[0]))
			}
			e := report.Example{Prose: "For example: " + rule.Example}
			if rule.Check != nil {
				example, err := examples.Load(rule.ID)
				if err != nil {
					return err
				}
				e = report.Example{Prose: example.Prose, Bad: shown(example.Bad), Good: shown(example.Good)}
			}
			var text strings.Builder
			if err := report.WriteRule(&text, rule, e, style); err != nil {
				return err
			}
			_, err := io.WriteString(env.Text, term.Fold(text.String(), term.Columns(env.Text)))
			return err
		},
	}
}

func shown(files examples.Files) []report.Fragment {
	var out []report.Fragment
	for _, f := range files.Shown {
		out = append(out, report.Fragment{Title: f.Title(), Text: f.Text})
	}
	return out
}
