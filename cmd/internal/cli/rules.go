package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

func (a *app) rulesCommand() *cobra.Command {
	out := outputs{formats: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules",
		Long: `Lists all rules with their severity and who proves them: clusterctl (it
refuses, or silently does something else), apiserver, contract (a MUST or
SHOULD of the provider contract) or practice. Those of the family LIV are the
checks of "extension check"; all others belong to lint.`,
		Example: `  clusterctl-repo rules
  clusterctl-repo rules -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error {
				return report.WriteRules(w, format, rules.Catalogue)
			})
		},
	}
	out.flag(cmd)
	return cmd
}

// suggestion proposes the rule that was probably meant.
func suggestion(id string) string {
	if near := rules.Suggest(id); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
