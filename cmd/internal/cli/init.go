package cli

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

func (a *app) initCommand() *cobra.Command {
	var s source
	var force, print bool
	cmd := &cobra.Command{
		Use:   "init [SOURCE]",
		Short: "Detect the layout of a source tree and write clusterctl-repo.yaml",
		Long: `Finds the providers of a source tree by the conventions that most of them follow,
and writes what it found, and why, as a configuration. A tree that follows the
conventions builds without the file; keep it to pin or change a decision.`,
		Example: `  # See what would be built, without writing
  clusterctl-repo init --print

  # Write clusterctl-repo.yaml into another tree
  clusterctl-repo init ../cluster-api-provider-acme`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := a.path(sourceArg(args))
			file := filepath.Join(dir, config.FileName)
			if _, err := os.Lstat(file); err == nil && !force && !print {
				return usagef("%s exists; use --force to replace it, or --print to only see the result", a.short(file))
			}
			o, err := a.options(&s)
			if err != nil {
				return err
			}
			t, err := sourcetree.Open(a.short(dir), o)
			if err != nil {
				return err
			}
			text, err := config.Write(t.Config, t.Decisions)
			if err != nil {
				return err
			}
			if print {
				_, err := a.Out.Write(text)
				return err
			}
			if old, err := readRegular(dir, config.FileName); err == nil && bytes.Equal(old, text) {
				a.say("%s is up to date", a.short(file))
				return nil
			}
			if err := a.writeFile(file, text); err != nil {
				return err
			}
			a.say("wrote %s; check it with: clusterctl-repo build %s --version v1.2.3", a.short(file), a.short(dir))
			return nil
		},
	}
	cmd.Flags().StringVar(&s.config, "config", "", "existing configuration to complete (default: clusterctl-repo.yaml in the source tree, if it is there)")
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	cmd.Flags().BoolVar(&print, "print", false, "print the configuration instead of writing it")
	return cmd
}

// readRegular reads a file of a source tree.
func readRegular(dir, name string) ([]byte, error) {
	tree, err := files.Open(dir)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	return tree.ReadFile(name)
}

func sourceArg(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "."
}
