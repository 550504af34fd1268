package build

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/likeness"
)

// initFlags are the flags of init.
type initFlags struct {
	config, version string
	force, print    bool
	cache           targets.Cache
}

// InitCommand is the verb init.
func InitCommand(env *cli.Env) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [SOURCE]",
		Short: "Find out how a source tree is released and write clusterctl-repo.yaml",
		Long: `Finds the providers of a source tree by the conventions that most of them
follow. What is written was built in memory before.

A tree that follows the conventions builds without the file; keep it to pin or
change a decision.`,
		Example: `  # See what would be built, without writing
  clusterctl-repo init --dry-run

  # Write clusterctl-repo.yaml into another tree
  clusterctl-repo init ../cluster-api-provider-acme

  # Choose the metadata.yaml that covers the next version
  clusterctl-repo init --version v0.4.0`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := env.Path(targets.Arg(args))
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				return cli.Usagef("%s is a file, not the folder of a source tree", env.Short(dir))
			}
			existing, err := existingConfig(dir)
			switch {
			case err != nil:
				return cli.Usagef("%s: %w", env.Short(filepath.Join(dir, existing)), files.Cause(err))
			case existing != "" && !f.force && !f.print:
				return cli.Usagef("%s exists; use --force to replace it, or --dry-run to only see the result", env.Short(filepath.Join(dir, existing)))
			}
			given, err := given(env, dir, existing, &f)
			if err != nil {
				return err
			}
			version, err := transform.ParseVersions(f.version)
			if err != nil {
				return err
			}
			restore := (&targets.Source{}).Mute(env)
			p, err := likeness.Conventions(cmd.Context(), env.Short(dir), likeness.Options{Given: given, Version: version, Cache: f.cache.Open(env)})
			restore()
			if err != nil {
				return err
			}
			return proposed(env, p, dir, filepath.Join(dir, cmp.Or(existing, config.FileName)), f.print)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "")
	fl.StringVar(&f.version, "version", "", "")
	fl.BoolVar(&f.force, "force", false, "")
	fl.BoolVar(&f.print, "dry-run", false, "")
	f.cache.Bind(fl)
	return cmd
}

// existingConfig returns the name of the configuration at the root of a tree; ""
// if there is none.
func existingConfig(dir string) (string, error) {
	for _, name := range transform.ConfigNames {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			if !info.Mode().IsRegular() {
				return name, errors.New("it is not a regular file, so it cannot be read or replaced")
			}
			return name, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
	}
	return "", nil
}

// given is the configuration that init completes; nil begins anew, as --force does.
func given(env *cli.Env, dir, existing string, f *initFlags) (*config.Config, error) {
	name := f.config
	if name == "" {
		if existing == "" || f.force {
			return nil, nil
		}
	}
	if name != "" {
		name = env.Short(name)
	}
	c, _, err := transform.LoadConfig(env.Short(dir), name)
	return c, err
}

// proposed prints or writes a proposal, with the reasons.
func proposed(env *cli.Env, p *likeness.Proposal, dir, file string, print bool) error {
	for _, text := range p.Said {
		env.Say("info: %s", text)
	}
	if print {
		if p.Problem != nil {
			env.Say("info: the tree does not build yet: %v", p.Problem)
		}
		_, err := env.Out.Write(p.Text)
		return err
	}
	if p.Problem != nil {
		return cli.Exit(cli.ExitFailed, fmt.Errorf("nothing was written, because the tree does not build yet: %w", p.Problem))
	}
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, p.Text) { // existingConfig looked at it
		env.Say("%s is up to date", env.Short(file))
		return nil
	}
	if err := env.WriteFile(file, p.Text); err != nil {
		return err
	}
	for _, r := range p.Releases {
		env.Say("builds %s %s (%d files)", r.Provider.Label(), r.Version, len(r.Artifacts))
	}
	allow := ""
	if p.Config.RemoteBases {
		allow = " --allow remote"
	}
	source := "" // is the working directory
	if short := env.Short(dir); short != "." {
		source = short + " "
	}
	env.Say("wrote %s; next: %s build %s--version %s%s", env.Short(file), env.Program(), source, p.Version, allow)
	return nil
}
