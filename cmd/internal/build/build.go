// Package build has the verbs that look at a source tree: build and init.
// It must not know how a release is built or published.
package build

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

func Command(env *cli.Env) *cobra.Command {
	var s targets.Source
	var out string
	var suite targets.Suite
	var dev, watch bool
	cmd := &cobra.Command{
		Use:   "build [SOURCE]... --version VERSION",
		Short: "Build the releases of a source tree into a folder",
		Long: `Builds every provider of a source tree and writes OUT/<label>/<version>/ with
the components, metadata, cluster templates, ClusterClasses and other assets,
and their checksums. Objects get the provider label; a release with more or
less than one Namespace, or with an object in another one, is refused.

SOURCE may also be the E2EConfig of an e2e suite. Then OUT becomes the local
repository that Cluster API's e2e framework would create from it, with
clusterctl-config.yaml; pass that file to -e2e.clusterctl-config. --provider
also accepts LABEL:VERSION then, and --version does not apply.

With --dev, OUT becomes the development repository of Cluster API's book, with
config.yaml, and the "clusterctl init" that uses it is printed. What to build
comes from the clusterctl-settings.json of each SOURCE: name and config, or
providers and provider_repos. The tree of Cluster API needs none. A tree
without one is built as without --dev. --version replaces nextVersion.

The same input gives the same bytes. A version that is already in OUT is
replaced in one step, so OUT is for builds; use release or publish for a
repository that others read.`,
		Example: `  # Build the tree you are in into ./out
  clusterctl-repo build --version v1.2.3

  # One of its providers, with the image of this release
  image=ghcr.io/acme/cluster-api-provider-acme
  clusterctl-repo build --version v1.2.3 --provider infrastructure-acme \
      --image $image=$image:v1.2.3

  # The local repository of an e2e suite
  clusterctl-repo build test/e2e/config/docker.yaml --out _artifacts/repository

  # Try Cluster API and a provider on a kind cluster, and rebuild after changes
  clusterctl-repo build ../cluster-api . --dev --watch`,
		Annotations: map[string]string{cli.Stepwise: "yes"},
		Args: func(cmd *cobra.Command, args []string) error {
			if dev {
				return nil
			}
			return cobra.MaximumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if dev && !cmd.Flags().Changed("out") {
				xdg, _ := targets.Home(env)
				out = filepath.Join(xdg, "cluster-api", "dev-repository")
			}
			if _, static := open.Static(out); static || open.IsURL(out) {
				return cli.Usagef("--out %s: build writes into a folder; publish or release sends releases to a server", out)
			}
			// Only for what it refuses, before anything is built.
			if err := targets.NotMirror(env, out); err != nil {
				return cli.Usagef("--out %w", err)
			}
			if dev {
				if err := suite.Unused(); err != nil {
					return err
				}
				d := developing{source: &s, out: out}
				return d.run(cmd.Context(), env, args, watch)
			}
			if watch {
				return cli.Usagef("--watch only works with --dev")
			}
			if name := targets.Arg(args); localrepo.Is(env.Path(name)) {
				return buildSuite(cmd.Context(), env, &suite, &s, name, out)
			}
			if err := suite.Unused(); err != nil {
				return err
			}
			b, err := s.Build(cmd.Context(), env, targets.Arg(args))
			if err != nil {
				return err
			}
			deprecated, err := check.Deprecations(cmd.Context(), b)
			if err != nil {
				return err
			}
			for _, f := range deprecated.Findings {
				env.Say("%s:%d:%d: %s: %s; %s", f.File, f.Pos.Line, f.Pos.Column, f.Severity, f.Message, `"kustomize edit fix" in each folder replaces them`)
			}
			// What would stop a release is only a warning here. A build does not lint, so it has no findings.
			for _, refusal := range check.Refusals(b) {
				env.Warn("%v", refusal)
			}
			// Does nothing without --add-series.
			if err := targets.SaveSeries(env, b); err != nil {
				return err
			}
			return put(cmd.Context(), env, b.Releases, out)
		},
	}
	s.Bind(cmd.Flags())
	s.BindSeries(cmd.Flags())
	suite.Bind(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "out", "")
	cmd.Flags().Lookup("out").DefValue = "out; with --dev clusterctl's dev-repository"
	cmd.Flags().BoolVar(&dev, "dev", false, "")
	cmd.Flags().BoolVar(&watch, "watch", false, "")
	return cmd
}

// put writes releases into a folder.
func put(ctx context.Context, env *cli.Env, releases []*repo.Release, out string) error {
	dest, err := local.New(env.Path(out))
	if err != nil {
		return cli.UsageError(err)
	}
	for _, r := range releases {
		result, err := dest.Replace(ctx, r)
		if err != nil {
			return err
		}
		word := "wrote"
		if result.Unchanged {
			word = "unchanged:"
		}
		env.Say("%s %s (%d files)", word, filepath.ToSlash(env.Short(result.Where)), len(r.Artifacts))
	}
	return nil
}
