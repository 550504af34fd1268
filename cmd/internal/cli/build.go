package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

func (a *app) buildCommand() *cobra.Command {
	var s source
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "build [SOURCE] --version VERSION",
		Short: "Build the releases of a source tree into a folder",
		Long: `Builds every provider of a source tree and writes OUT/<label>/<version>/ with
the components, metadata, cluster templates, ClusterClasses and other assets,
and their checksums. Objects get the provider label; a release with more or
less than one Namespace, or with an object in another one, is refused.

The same input gives the same bytes. A version that is already there is left
alone if it is equal, and otherwise only replaced with --force.`,
		Example: `  # Build the tree you are in into ./out
  clusterctl-repo build --version v1.2.3

  # One of its providers, with the image of this release
  clusterctl-repo build --version v1.2.3 --provider infrastructure-acme \
      --image controller=ghcr.io/acme/controller:v1.2.3`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			releases, _, err := a.build(cmd.Context(), &s, sourceArg(args))
			if err != nil {
				return err
			}
			return a.put(cmd.Context(), releases, out, force)
		},
	}
	s.flags(cmd)
	cmd.Flags().StringVar(&out, "out", "out", "folder to write to")
	cmd.Flags().BoolVar(&force, "force", false, "replace versions that are there with other content")
	return cmd
}

// put writes releases into a folder.
func (a *app) put(ctx context.Context, releases []*repo.Release, out string, force bool) error {
	dest, err := local.New(a.path(out))
	if err != nil {
		return usage(err)
	}
	for _, r := range releases {
		if force {
			// Only a folder of this name that holds a release is removed.
			if old, err := dest.Fetch(ctx, r.Provider, r.Version); err == nil {
				if err := os.RemoveAll(old.Path); err != nil {
					return fmt.Errorf("replace %s: %w", old.Path, err)
				}
			} else if !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		result, err := dest.Put(ctx, r)
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
