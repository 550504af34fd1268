package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// inventoryCommand is the common part of vars and images: one table for each
// release of a target.
func (a *app) inventoryCommand(use, short, long, example string, table func(cmd *cobra.Command, w io.Writer, format string, r *repo.Release) error) *cobra.Command {
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
			return a.write(outs, func(w io.Writer, format string, _ bool) error {
				if format == "json" && len(releases) > 1 {
					return usagef("JSON is one object for one release, and %s holds %d; name one of them", args[0], len(releases))
				}
				for i, r := range releases {
					if i > 0 {
						fmt.Fprintln(w)
					}
					if err := table(cmd, w, format, r); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	s.flags(cmd)
	out.flag(cmd)
	return cmd
}

func (a *app) varsCommand() *cobra.Command {
	return a.inventoryCommand("vars", "List the variables of a release",
		`Lists the variables of the newest release in TARGET: type, default, where they
are used, and what "clusterctl generate cluster --list-variables" does not
show: nested variables, those in ClusterClasses, and defaults that a later use
does not get.`,
		`  COMMAND out/infrastructure-acme/v1.2.3

  # For the README of the provider
  COMMAND . -o markdown`,
		func(cmd *cobra.Command, w io.Writer, format string, r *repo.Release) error {
			v, err := inventory.Variables(cmd.Context(), r)
			if err != nil {
				return err
			}
			return report.WriteVariables(w, format, r, v)
		})
}

func (a *app) imagesCommand() *cobra.Command {
	return a.inventoryCommand("images", "List the images of a release",
		`Lists the container images of the newest release in TARGET, in all kinds of
workloads. clusterctl itself only knows those in Deployments and DaemonSets.`,
		`  COMMAND /srv/repository

  # Only the references, for a script
  COMMAND out/infrastructure-acme -o json | jq -r '.images[].ref'`,
		func(cmd *cobra.Command, w io.Writer, format string, r *repo.Release) error {
			v, err := inventory.Images(cmd.Context(), r)
			if err != nil {
				return err
			}
			return report.WriteImages(w, format, r, v)
		})
}
