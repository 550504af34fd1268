// Package publish has the verbs that take releases to their destinations: publish and
// release. It must not know how a destination works.
package publish

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

func Command(env *cli.Env) *cobra.Command {
	s := shipment{terse: true}
	cmd := &cobra.Command{
		Use:   "publish TARGET --to DEST",
		Short: "Publish built releases, whole or not at all",
		Long: `Publishes every release of TARGET, and reads back what readers see. They see a
release when all its files are there and checked, not before. A version that is
already published with the same content is left alone; with other content it is
refused. What one run did not finish the next one does.

Nothing is published if
` + targets.GateHelp(func(g check.Gate) check.Verdict { return g.Built }) + targets.Help + "\n" + targets.DestHelp,
		Example: `  # Publish what make left, and what build wrote
  clusterctl-repo publish out --version v1.2.3 --to /srv/repository
  clusterctl-repo publish out --to /srv/repository

  # A GitHub release with its tag; what would happen?
  clusterctl-repo publish out \
      --to https://github.com/acme/cluster-api-provider-acme --dry-run

  # One OCI artifact for each provider
  clusterctl-repo publish out --to 'oci://registry.example.com/capi/{provider}'`,
		Annotations: map[string]string{cli.Stepwise: "yes"},
		Args:        cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(s.to) == 0 {
				return cli.Usagef("missing destination: add --to, such as --to /srv/repository")
			}
			if !open.IsURL(args[0]) {
				s.origin(cmd.Context(), env, args[0])
			}
			steps, err := s.finished(cmd.Context(), env, args[0], func(releases []*repo.Release) ([]step, error) {
				return s.steps(cmd.Context(), env, &config.Config{}, releases, args[0])
			})
			if err != nil {
				return s.fail(env, err)
			}
			return s.deliver(cmd.Context(), env, steps)
		},
	}
	s.bind(cmd.Flags())
	cmd.Flags().StringVar(&s.source.Version, "version", "", "")
	cmd.Flags().StringSliceVar(&s.source.Providers, "provider", nil, "")
	return cmd
}

// selected returns the releases of a target that have one of the labels.
func selected(releases []*repo.Release, labels []string) []*repo.Release {
	if len(labels) == 0 {
		return releases
	}
	return slices.DeleteFunc(releases, func(r *repo.Release) bool { return !slices.Contains(labels, r.Provider.Label()) })
}
