package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// inventoryCommand is the common part of vars and images: take what list finds
// in each release of a target, and print it with write.
func inventoryCommand[T any](a *app, use, short, long, example string,
	list func(context.Context, *repo.Release) ([]T, error),
	write func(w io.Writer, format string, releases []report.Inventory[T]) error,
) *cobra.Command {
	var s source
	out := outputs{formats: report.InventoryFormats}
	cmd := &cobra.Command{
		Use:     use + " TARGET",
		Short:   short,
		Long:    long + "\n" + targetHelp + sourceHelp,
		Example: strings.ReplaceAll(example, "COMMAND", "clusterctl-repo "+use),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			t, err := a.open(cmd.Context(), args[0], &s)
			if err != nil {
				return err
			}
			releases, err := t.newest()
			if err != nil {
				return err
			}
			var all []report.Inventory[T]
			for _, r := range releases {
				items, err := list(cmd.Context(), r)
				if err != nil {
					return err
				}
				all = append(all, report.Inventory[T]{Release: r, Items: items})
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error { return write(w, format, all) })
		},
	}
	s.flags(cmd)
	out.flag(cmd)
	return cmd
}

func (a *app) varsCommand() *cobra.Command {
	return inventoryCommand(a, "vars", "List the variables of a release",
		`Lists the variables of the newest release in TARGET, of each provider that it
holds: type, default, where they are used, and what "clusterctl generate
cluster --list-variables" does not show: nested variables, those in
ClusterClasses, and defaults that a later use does not get.`,
		`  COMMAND out/infrastructure-acme/v1.2.3

  # For the README of the provider
  COMMAND . -o markdown

  # What must be set, for a script
  COMMAND out -o json | jq -r '.variables[] | select(.required) | .provider + " " + .name'`,
		inventory.Variables, report.WriteVariables)
}

func (a *app) imagesCommand() *cobra.Command {
	return inventoryCommand(a, "images", "List the images of a release",
		`Lists the container images of the newest release in TARGET, of each provider
that it holds, in all kinds of workloads. clusterctl itself only knows those in
Deployments and DaemonSets.`,
		`  COMMAND /srv/repository

  # Only the references, for a script
  COMMAND out/infrastructure-acme -o json | jq -r '.images[].ref'`,
		inventory.Images, report.WriteImages)
}
