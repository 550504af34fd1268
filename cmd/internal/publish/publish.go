// Package publish has the verbs that take releases to their destinations: publish and
// release. It must not know how a destination works.
package publish

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Command is the verb publish.
func Command(env *cli.Env) *cobra.Command {
	var d delivery
	var labels []string
	cmd := &cobra.Command{
		Use:   "publish TARGET --to DEST",
		Short: "Publish built releases, whole or not at all",
		Long: `Publishes every release of TARGET, and reads back what readers see. They see a
release when all its files are there and checked, not before. A version that is
already published with the same content is left alone; with other content it is
refused. What one run did not finish the next one does.
` + targets.Help + "\n" + targets.DestHelp,
		Example: `  # Publish what build wrote
  clusterctl-repo publish out --to /srv/repository

  # A GitHub release with its tag; what would happen?
  clusterctl-repo publish out \
      --to https://github.com/acme/cluster-api-provider-acme --dry-run

  # One OCI artifact for each provider
  clusterctl-repo publish out --to 'oci://registry.example.com/capi/{provider}'`,
		Annotations: map[string]string{cli.Stepwise: "yes"},
		Args:        cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(d.to) == 0 {
				return cli.Usagef("missing destination: add --to, such as --to /srv/repository")
			}
			var sites []publish.Site
			for _, to := range d.to {
				site, err := d.site(env, to)
				if err != nil {
					return err
				}
				sites = append(sites, site)
			}
			t, err := targets.Open(cmd.Context(), env, args[0], nil)
			if err != nil {
				return err
			}
			var releases []*repo.Release
			var all []string
			for _, p := range t.Repository.Providers {
				releases = append(releases, p.Releases...)
				all = append(all, p.Label())
			}
			for _, label := range labels {
				if !slices.Contains(all, label) {
					return cli.Usagef("%s has no provider %s; it has %s", t.Repository.Path, label, strings.Join(all, ", "))
				}
			}
			if releases = selected(releases, labels); len(releases) == 0 {
				return cli.Usagef("%s holds no release to publish", args[0])
			}
			return d.deliver(cmd.Context(), env, phrase.List(sites, func(s publish.Site) step { return step{s, releases} }))
		},
	}
	d.bind(cmd.Flags())
	cmd.Flags().StringSliceVar(&labels, "provider", nil, "")
	return cmd
}

// selected returns the releases of a target that have one of the labels.
func selected(releases []*repo.Release, labels []string) []*repo.Release {
	if len(labels) == 0 {
		return releases
	}
	return slices.DeleteFunc(releases, func(r *repo.Release) bool { return !slices.Contains(labels, r.Provider.Label()) })
}
