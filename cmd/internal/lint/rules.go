package lint

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// RulesCommand is the verb rules.
func RulesCommand(env *cli.Env) *cobra.Command {
	o := cli.Outputs{Formats: []string{"text", "json"}}
	var severity, proof string
	cmd := &cobra.Command{
		Use:   "rules [RULE|FAMILY]...",
		Short: "List the rules",
		Long: `Lists all rules with their severity and who proves them: clusterctl (it
refuses, or silently does something else), apiserver, contract (a MUST or
SHOULD of the provider contract) or practice. Those of the family LIV are the
checks of "extension check"; all others belong to lint. Arguments and flags
choose among them.`,
		Example: `  clusterctl-repo rules
  clusterctl-repo rules -o json

  # The errors about metadata that clusterctl itself proves
  clusterctl-repo rules META --severity error --proof clusterctl`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return familyWords(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.Parse(); err != nil {
				return err
			}
			list := rules.Catalogue
			var err error
			if len(args) > 0 {
				if list, err = rules.Matching(list, args); err != nil {
					return cli.UsageError(err)
				}
			}
			if list, err = filtered(list, severity, proof); err != nil {
				return err
			}
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error {
				return report.WriteRules(w, format, list)
			})
		},
	}
	o.Bind(cmd.Flags())
	cmd.Flags().StringVar(&severity, "severity", "", "only rules of this severity: error, warning or info")
	cmd.Flags().StringVar(&proof, "proof", "", "only rules proven by this: clusterctl, apiserver, contract or practice")
	return cmd
}

// filtered leaves the rules of a severity and a proof; empty words leave all.
func filtered(list []*lint.Rule, severity, proof string) ([]*lint.Rule, error) {
	for _, f := range []struct{ flag, value string }{{"severity", severity}, {"proof", proof}} {
		if f.value != "" && !slices.Contains(cli.FlagValues[f.flag], f.value) {
			return nil, cli.Usagef("--%s is %q; it must be one of %s", f.flag, f.value, strings.Join(cli.FlagValues[f.flag], ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(r *lint.Rule) bool {
		return severity != "" && r.Severity.String() != severity || proof != "" && string(r.Proof) != proof
	}), nil
}

// familyWords completes families of rules.
func familyWords() []string {
	var out []string
	for _, f := range rules.Families {
		out = append(out, f.Prefix)
	}
	return out
}

// suggestion proposes the rule that was probably meant.
