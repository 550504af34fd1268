package lint

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// RulesCommand is the verb rules.
func RulesCommand(env *cli.Env) *cobra.Command {
	o := cli.Outputs{Formats: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "rules [RULE|FAMILY|SEVERITY|PROOF]...",
		Short: "List the rules",
		Long: `Lists all rules with their severity and who proves them: clusterctl (it
refuses, or silently does something else), apiserver, contract (a MUST or
SHOULD of the provider contract) or practice. Arguments choose among them: rules
and families, severities, and proofs.`,
		Example: `  clusterctl-repo rules
  clusterctl-repo rules -o json

  # The errors about metadata that clusterctl itself proves
  clusterctl-repo rules META error clusterctl`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return familyWords(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := matching(args)
			if err != nil {
				return err
			}
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error {
				return report.WriteRules(w, format, list)
			})
		},
	}
	o.Bind(cmd.Flags())
	return cmd
}

// matching are the rules that words choose: of the rules and families among them, if there
// are any, those with one of the severities and one of the proofs.
func matching(words []string) ([]*lint.Rule, error) {
	var severities []lint.Severity
	var proven []lint.Proof
	var named []string
	for _, word := range words {
		if s, err := lint.ParseSeverity(word); err == nil && s != lint.Off {
			severities = append(severities, s)
		} else if slices.Contains(lint.Proof("").Words(), word) {
			proven = append(proven, lint.Proof(word))
		} else {
			named = append(named, word)
		}
	}
	list := rules.Catalogue
	if len(named) > 0 {
		var err error
		if list, err = rules.Matching(list, named); err != nil {
			return nil, cli.UsageError(err)
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(r *lint.Rule) bool {
		return len(severities) > 0 && !slices.Contains(severities, r.Severity) ||
			len(proven) > 0 && !slices.Contains(proven, r.Proof)
	}), nil
}

// familyWords completes families of rules.
func familyWords() []string {
	return phrase.List(rules.Families, func(f *lint.Family) string { return f.Prefix })
}
