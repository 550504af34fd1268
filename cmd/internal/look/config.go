package look

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func ConfigCommand(env *cli.Env) *cobra.Command {
	var pin bool
	var images, url string
	cmd := &cobra.Command{
		Use:   "config TARGET...",
		Short: "Print the clusterctl.yaml entries for releases",
		Long: `Prints the provider entries for clusterctl.yaml that make clusterctl read the
given releases, and on request the override that takes all images from another
registry.
` + targets.Help,
		Example: `  clusterctl-repo config /srv/repository > clusterctl.yaml
  clusterctl generate provider --config clusterctl.yaml --infrastructure acme

  # For a web server that serves a folder
  clusterctl-repo publish out --to static:/srv/www
  clusterctl-repo config static:/srv/www \
      --url https://gitlab.example.com > clusterctl.yaml

  # For an air-gapped site with its own registry
  clusterctl-repo config /srv/repository --pin \
      --image-registry registry.example.com/capi`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			type entry struct {
				Name string               `json:"name"`
				Type layouts.ProviderType `json:"type"`
				URL  string               `json:"url"`
			}
			type override struct {
				Repository string `json:"repository"`
			}
			var out struct {
				Providers []entry             `json:"providers"`
				Images    map[string]override `json:"images,omitempty"`
			}
			for _, name := range args {
				folder, static := open.Static(name)
				typed := name
				if static {
					name = folder
				} else if url != "" {
					return cli.Usagef("--url only works with a TARGET of the form static:DIR, not with %s", name)
				}
				t, err := targets.Open(cmd.Context(), env, name, nil)
				if static && errors.Is(err, fs.ErrNotExist) {
					return cli.Usagef("%s: the folder holds nothing that \"publish --to %[1]s\" or mirror has written", typed)
				}
				if err != nil {
					return err
				}
				releases, err := t.Newest()
				if err != nil {
					return err
				}
				for _, r := range releases {
					components := t.Components(r)
					if components == nil {
						return fmt.Errorf("%s has no components file", r.Path)
					}
					dest, err := t.Destination(env, r)
					if err != nil {
						return err
					}
					if static {
						if dest, err = open.Served(dest, r.Provider.Label(), url); err != nil {
							return cli.UsageError(err)
						}
					}
					version := "latest"
					if named := t.Of(r); static || pin || named.Version != "" && !named.Latest {
						version = r.Version
					}
					at, err := dest.URL(version, components.Name)
					if err != nil {
						return err
					}
					if _, err := layouts.ParseProviderURL(at, r.Provider); err != nil {
						env.Say("%s clusterctl does not read %s; mirror copies the release to where it does", env.Style.Yellow("warning:"), at)
					}
					out.Providers = append(out.Providers, entry{r.Provider.Name, r.Provider.Type, at})
				}
			}
			if images != "" {
				out.Images = map[string]override{"all": {images}}
			}
			text, err := yamldoc.Marshal(out)
			if err != nil {
				return err
			}
			_, err = env.Out.Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "")
	cmd.Flags().BoolVar(&pin, "pin", false, "")
	cmd.Flags().StringVar(&images, "image-registry", "", "")
	return cmd
}
