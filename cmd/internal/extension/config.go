package extension

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func configCommand(env *cli.Env) *cobra.Command {
	var name, service, namespace, caFile string
	var settings []string
	cmd := &cobra.Command{
		Use:   "config TARGET",
		Short: "Print the ExtensionConfig that registers a released extension",
		Long: `Prints the ExtensionConfig by which Cluster API finds the server of a runtime
extension: its Service, and the Secret of its Certificate for the CA. Settings
and the selector of namespaces are those of the ExtensionConfig in the release,
if it has one.
` + targets.Help + targets.SourceHelp,
		Example: `  clusterctl-repo extension config out/runtime-extension-acme \
      | kubectl apply -f -

  # For a server with certificates from elsewhere
  clusterctl-repo extension config out/runtime-extension-acme --name acme \
      --ca-file ca.crt`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := targets.Open(cmd.Context(), env, args[0], &targets.Source{})
			if err != nil {
				return err
			}
			r, err := t.Release()
			if err != nil {
				return err
			}
			components := t.Components(r)
			if components == nil {
				return fmt.Errorf("%s has no components file", r.Path)
			}
			file, err := manifest.Read(components, layouts.Components)
			if err == nil {
				err = file.Err()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", components.Path, err)
			}
			s, err := extension.FindServer(file.Objects(), service)
			if err != nil {
				return fmt.Errorf("%s: %w; name it with --service", components.Path, err)
			}
			c := extension.Config{Name: name, Namespace: namespace}
			if c.Name == "" {
				c.Name = r.Provider.Name
				if s.Config != nil {
					c.Name = s.Config.Name
				}
			}
			if c.Settings, err = keyValues(settings); err != nil {
				return err
			}
			if caFile != "" {
				if c.CA, _, err = readCA(env, caFile); err != nil {
					return err
				}
			}
			made, err := s.Write(c)
			switch {
			case errors.Is(err, extension.ErrNoCA):
				return fmt.Errorf("%s: %w; give its CA with --ca-file", components.Path, err)
			case err != nil:
				return cli.Usagef("%s: %w", components.Path, err)
			}
			text, err := yamldoc.Marshal(made)
			if err != nil {
				return err
			}
			_, err = env.Out.Write(text)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "")
	flags.StringVar(&service, "service", "", "")
	flags.StringVar(&namespace, "target-namespace", "", "")
	flags.StringVar(&caFile, "ca-file", "", "")
	flags.StringArrayVar(&settings, "setting", nil, "")
	return cmd
}
