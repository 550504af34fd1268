package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON schema of clusterctl-repo.yaml",
		Long:    `Prints the JSON schema of clusterctl-repo.yaml, for editors and other tools.`,
		Example: `  clusterctl-repo schema > clusterctl-repo.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = a.Out.Write(text)
			return err
		},
	}
}

// version is set by the release build; otherwise the module version is shown.
var version string

func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Long:    `Prints the version of this program, and the clusterctl it agrees with.`,
		Example: `  clusterctl-repo version`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.Out, "clusterctl-repo %s (renders as clusterctl v1.14.2) %s %s/%s\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
