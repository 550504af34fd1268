// Package look has the verbs that show something and change nothing: what a release holds
// (vars, images), what clusterctl makes of it (render, config), what changes between two
// (diff), what a move takes (move-plan), and what the contracts demand (contract). It must
// not know rules, nor how clusterctl renders or moves.
package look

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// inventoryCommand is the common part of vars and images: take what list finds
// in each release of a target, and print it with write.
func inventoryCommand[T any](env *cli.Env, use, short, long, example string,
	list func(context.Context, *repo.Release) ([]T, error),
	write func(w io.Writer, format string, releases []report.Inventory[T], failures ...error) error,
) *cobra.Command {
	var s targets.Source
	o := cli.Outputs{Formats: report.InventoryFormats}
	cmd := &cobra.Command{
		Use:     use + " TARGET",
		Short:   short,
		Long:    long + "\n" + targets.Help + targets.SourceHelp + "\n" + targets.OwnHelp,
		Example: strings.ReplaceAll(example, "COMMAND", "clusterctl-repo "+use),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := targets.OpenOwn(cmd.Context(), env, args[0], &s)
			if err != nil {
				return err
			}
			releases, err := t.Newest()
			if err != nil {
				return err
			}
			var all []report.Inventory[T]
			var failures []error
			for _, r := range releases {
				for _, a := range r.Artifacts {
					if a.Literal {
						env.Say("info: %s has ${} only in scripts, so it is taken as what kubectl applies; clusterctl generate cluster --from would ask for them", a.Name)
					}
				}
				items, err := list(cmd.Context(), r)
				if cmd.Context().Err() != nil {
					return err
				}
				failures = append(failures, files.Parts(err)...)
				of := report.Inventory[T]{Release: r, Items: items}
				if variables, ok := any(items).([]inventory.Variable); ok && slices.ContainsFunc(o.All, func(o cli.Output) bool { return o.Format == "markdown" }) {
					of.Offers = inventory.OffersOf(r, variables)
				}
				all = append(all, of)
			}
			if len(failures) > 0 {
				// Only JSON says that it is incomplete.
				o.All = slices.DeleteFunc(o.All, func(o cli.Output) bool { return o.Format != "json" })
			}
			err = env.Write(&o, func(w io.Writer, format string, _ term.Style) error { return write(w, format, all, failures...) })
			return errors.Join(append(failures, err)...)
		},
	}
	s.Bind(cmd.Flags())
	o.Bind(cmd.Flags())
	return cmd
}

func VarsCommand(env *cli.Env) *cobra.Command {
	return inventoryCommand(env, "vars", "List the variables of a release",
		`Lists the variables of the newest release in TARGET, of each provider that it
holds: type, default, where they are used, and what "clusterctl generate
cluster --list-variables" does not show: nested variables, those in
ClusterClasses, and defaults that a later use does not get.

With -o markdown it is the part of a provider's documentation that the clusterctl
provider contract asks for: the variables with their meaning, the flavors of the cluster
templates with what must be set for each, and the ClusterClasses with their
own variables. The meaning is the comment next to a use, or else the description of
the field in the schema of the release.`,
		`  COMMAND out/infrastructure-acme/v1.2.3

  # Variables, flavors and classes for the documentation of the provider
  COMMAND . -o markdown

  # What must be set, for a script
  COMMAND out -o json | jq -r '.variables[] | select(.required)
      | .provider + " " + .name'`,
		inventory.Variables, report.WriteVariables)
}
