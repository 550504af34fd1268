package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// inventoryCommand is the common part of vars and images: one table for each
// release of a target.
func (a *app) inventoryCommand(use, short, long, example string, table func(cmd *cobra.Command, w io.Writer, format string, releases []*repo.Release) error) *cobra.Command {
	var s source
	out := outputs{formats: []string{"text", "json", "markdown"}}
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
				return table(cmd, w, format, releases)
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
		func(cmd *cobra.Command, w io.Writer, format string, releases []*repo.Release) error {
			var all []report.ReleaseVariables
			for _, r := range releases {
				v, err := inventory.Variables(cmd.Context(), r)
				if err != nil {
					return err
				}
				all = append(all, report.ReleaseVariables{Provider: r.Provider.Label(), Version: r.Version, Variables: v})
			}
			return report.WriteVariables(w, format, all)
		})
}

func (a *app) imagesCommand() *cobra.Command {
	return a.inventoryCommand("images", "List the images of a release",
		`Lists the container images of the newest release in TARGET, in all kinds of
workloads. clusterctl itself only knows those in Deployments and DaemonSets.`,
		`  COMMAND /srv/repository

  # Only the references, for a script
  COMMAND out -o json | jq -r '.releases[].images[].ref'`,
		func(cmd *cobra.Command, w io.Writer, format string, releases []*repo.Release) error {
			var all []report.ReleaseImages
			for _, r := range releases {
				v, err := inventory.Images(cmd.Context(), r)
				if err != nil {
					return err
				}
				all = append(all, report.ReleaseImages{Provider: r.Provider.Label(), Version: r.Version, Images: v})
			}
			return report.WriteImages(w, format, all)
		})
}
