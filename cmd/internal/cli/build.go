package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

func (a *app) buildCommand() *cobra.Command {
	var s source
	var out string
	cmd := &cobra.Command{
		Use:   "build [SOURCE] --version VERSION",
		Short: "Build the releases of a source tree into a folder",
		Long: `Builds every provider of a source tree and writes OUT/<label>/<version>/ with
the components, metadata, cluster templates, ClusterClasses and other assets,
and their checksums. Objects get the provider label; a release with more or
less than one Namespace, or with an object in another one, is refused.

The same input gives the same bytes. A version that is already in OUT is
replaced in one step, so OUT is for builds; use release or publish for a
repository that others read.`,
		Example: `  # Build the tree you are in into ./out
  clusterctl-repo build --version v1.2.3

  # One of its providers, with the image of this release
  clusterctl-repo build --version v1.2.3 --provider infrastructure-acme \
      --image ghcr.io/acme/cluster-api-provider-acme=ghcr.io/acme/cluster-api-provider-acme:v1.2.3`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.build(cmd.Context(), &s, sourceArg(args))
			if err != nil {
				return err
			}
			if err := a.sayDeprecations(cmd.Context(), b); err != nil {
				return err
			}
			if err := a.saveSeries(b, false); err != nil {
				return err
			}
			return a.put(cmd.Context(), b.Releases, out)
		},
	}
	s.flags(cmd)
	cmd.Flags().StringVar(&out, "out", "out", "folder to write to")
	return cmd
}

// sayDeprecations says which kustomizations use fields that kustomize warns of: one
// line for each.
func (a *app) sayDeprecations(ctx context.Context, b *sourcetree.Build) error {
	r, err := check.Deprecations(ctx, b)
	if err != nil {
		return err
	}
	for _, f := range r.Findings {
		a.say("%s:%d:%d: %s: %s; %s", f.File, f.Pos.Line, f.Pos.Column, f.Severity, f.Message, `"kustomize edit fix" does that`)
	}
	return nil
}

// put writes releases into a folder.
func (a *app) put(ctx context.Context, releases []*repo.Release, out string) error {
	dest, err := local.New(a.path(out))
	if err != nil {
		return usage(err)
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
		a.say("%s %s (%d files)", word, filepath.ToSlash(a.short(result.Where)), len(r.Artifacts))
	}
	return nil
}
