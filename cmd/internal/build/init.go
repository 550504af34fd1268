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

type initFlags struct {
	config, version, like string
	force, print, remote  bool
	cache                 targets.Cache
}

func InitCommand(env *cli.Env) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [SOURCE]",
		Short: "Find out how a source tree is released and write clusterctl-repo.yaml",
		Long: `Writes the configuration that makes the files of a release again, and proves it.
Each file is looked for by its content: among the files of the source tree, and
what its kustomizations build, with other images or texts where the release has
them. The result is built in memory and compared with the release. Files that
come out otherwise are named, with the difference. Makefiles are not read.

The release is --like, a folder or URL; without it, the latest one of the git
remote on GitHub or GitLab. If neither can be read, the conventions decide that
most providers follow. If the tag of the release is in git, its tree is looked
at, and the working tree only if that makes more files.

A tree that follows the conventions builds without the file; keep it to pin or
change a decision.`,
		Example: `  # See what would be written, like the latest release of the git remote
  clusterctl-repo init --dry-run

  # Make what make release has left in a folder
  clusterctl-repo init --like out --version v1.2.3

  # Write clusterctl-repo.yaml into another tree, like one of its releases
  clusterctl-repo init ../cluster-api-provider-acme \
      --like https://github.com/acme/cluster-api-provider-acme`,
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
			o := likeness.Options{Given: given, Version: version, Cache: f.cache.Open(env), AllowRemote: f.remote, Temp: os.TempDir()}
			like, err := f.releases(cmd.Context(), env, dir)
			if err != nil {
				return err
			}
			restore := (&targets.Source{AllowRemote: f.remote}).Mute(env)
			var p *likeness.Proposal
			if len(like.Each) > 0 {
				p, err = likeness.Like(cmd.Context(), env.Short(dir), like, o)
			} else {
				p, err = likeness.Conventions(cmd.Context(), env.Short(dir), o)
			}
			restore()
			if err != nil {
				return err
			}
			if len(like.Each) > 0 {
				env.Say("%s", p.Counts.Summary(like.Each[0].Version))
			}
			return proposed(env, p, dir, filepath.Join(dir, cmp.Or(existing, config.FileName)), f.print)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "")
	fl.StringVar(&f.like, "like", "", "")
	fl.StringVar(&f.version, "version", "", "")
	fl.BoolVar(&f.force, "force", false, "")
	fl.BoolVar(&f.print, "dry-run", false, "")
	cli.Allow(fl, "remote", &f.remote)
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
