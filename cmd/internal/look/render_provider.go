package look

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

func renderProviderCommand(env *cli.Env) *cobra.Command {
	var r rendering
	var namespace string
	var raw, describe bool
	cmd := &cobra.Command{
		Use:   "provider TARGET",
		Short: "Print what clusterctl generate provider prints",
		Long: `Prints what "clusterctl generate provider" prints. Variables come from the
environment and from clusterctl's configuration file, by clusterctl's rules.
` + targets.Help,
		Example: `  clusterctl-repo render provider out/infrastructure-acme/v1.2.3 \
      --target-namespace infra
  clusterctl-repo render provider out/infrastructure-acme/v1.2.3 --describe`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := r.prepare(ctx, env, args[0]); err != nil {
				return err
			}
			components := r.components
			if components == nil {
				info, _ := r.release.Provider.Type.Info()
				return fmt.Errorf("%s has no components file; expected %s", r.release.Path, info.ComponentsFile)
			}
			file, err := r.file(env, layouts.MetadataFile)
			if err != nil {
				return err
			}
			if err := metadata.Check(file, r.release.Provider, r.release.Version); err != nil {
				return err
			}
			f, err := r.file(env, components.Name)
			if err != nil {
				return err
			}
			images, err := r.values.Images()
			if err != nil {
				return cli.UsageError(err)
			}
			in := clusterctl.ProviderInput{
				Provider: r.release.Provider, Version: r.release.Version, File: f,
				TargetNamespace: namespace, Raw: raw || describe, Variables: r.values.Get, Images: images,
			}
			if describe {
				c, err := clusterctl.RenderProvider(ctx, in)
				if err != nil {
					return err
				}
				path, err := filepath.Abs(components.Path)
				if err != nil {
					path = components.Path
				}
				file := url.URL{Scheme: "file", Path: filepath.ToSlash(path)} // as it stands in clusterctl.yaml
				_, err = fmt.Fprint(env.Text, c.Describe(cmp.Or(r.url, file.String())))
				return err
			}
			out, err := clusterctl.PrintProvider(ctx, in)
			if err != nil {
				return err
			}
			return r.print(env, out)
		},
	}
	r.bind(cmd.Flags())
	cmd.Flags().StringVarP(&namespace, "target-namespace", "n", "", "")
	cmd.Flags().BoolVar(&raw, "raw", false, "")
	cmd.Flags().BoolVar(&describe, "describe", false, "")
	return cmd
}
