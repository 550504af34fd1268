package root

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/publish"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// Documents are the kinds of JSON documents that this program writes.
func Documents() []report.Document {
	return slices.Concat(report.Documents, []report.Document{publish.ReceiptDocument, mirror.VerifyDocument, versionDocument})
}

func SchemaCommand(env *cli.Env) *cobra.Command {
	var kinds []string
	var list strings.Builder
	for _, d := range Documents() {
		kinds = append(kinds, d.Kind)
		fmt.Fprintf(&list, "  %-14s %s\n", d.Kind, d.Title)
	}
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON schema of clusterctl-repo.yaml, or of a JSON output",
		Long: `Prints the JSON schema of clusterctl-repo.yaml, for editors and other tools, or of
a kind of JSON document that this program writes:

` + list.String() + `
Every document begins with kind, schemaVersion, failures (what is missing in it;
it is complete if the list is empty) and suppressed (findings that comments in
the files suppress). Fields may be added; an incompatible change
gets another schemaVersion.`,
		Example: `  clusterctl-repo schema > clusterctl-repo.schema.json
  clusterctl-repo schema lint > lint.schema.json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: kinds,
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := config.Schema()
			if len(args) > 0 {
				i := slices.IndexFunc(Documents(), func(d report.Document) bool { return d.Kind == args[0] })
				if i < 0 {
					return cli.Usagef("unknown kind of document %q: expected %s", args[0], strings.Join(kinds, ", "))
				}
				text, err = Documents()[i].Schema()
			}
			if err != nil {
				return err
			}
			_, err = env.Out.Write(text)
			return err
		},
	}
}
