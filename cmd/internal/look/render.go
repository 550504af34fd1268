package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	clusterctlconfig "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

func RenderCommand(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Print what clusterctl would generate from a release",
		Long: `Prints byte for byte what "clusterctl generate provider" and "clusterctl
generate cluster" print for a release, without a configuration that knows it
and without a cluster; or the same refusal, with its place in the file. For a
Cluster with a ClusterClass, "render topology" prints what Cluster API
makes of it.`,
		Example: `  clusterctl-repo render provider out/infrastructure-acme/v1.2.3
  clusterctl-repo render cluster out/infrastructure-acme/v1.2.3 my-cluster
  clusterctl-repo render topology out/infrastructure-acme/v1.2.3 my-cluster`,
	}
	cmd.AddCommand(renderProviderCommand(env), renderClusterCommand(env), renderTopologyCommand(env))
	return cmd
}

// rendering is what both kinds of rendering share.
type rendering struct {
	config  string
	writeTo string

	release    *repo.Release
	components *repo.Artifact
	values     *clusterctlconfig.Config
	own        bool // TARGET may be templates of users
	overrides  string
	// url is where the components are, if not in a folder.
	url string
}

func (r *rendering) bind(f *pflag.FlagSet) {
	f.StringVar(&r.config, "config", "", "")
	f.StringVar(&r.writeTo, "write-to", "", "")
}

// prepare opens the release and clusterctl's configuration.
func (r *rendering) prepare(ctx context.Context, env *cli.Env, name string) error {
	openTarget := targets.Open
	if r.own {
		openTarget = targets.OpenOwn
	}
	t, err := openTarget(ctx, env, name, nil)
	if err != nil {
		return err
	}
	if r.release, err = t.Release(); err != nil {
		return err
	}
	r.components = t.Components(r.release)
	if t.From != nil && r.components != nil {
		if r.url, err = t.From.URL(r.release.Version, r.components.Name); err != nil {
			return err
		}
	}
	if r.values, err = clusterctlConfig(env, r.config); err != nil {
		return cli.UsageError(err)
	}
	if r.overrides, err = r.values.OverridesFolder(); err != nil {
		return cli.UsageError(err)
	}
	if r.overrides == "" {
		xdg, home := targets.Home(env)
		for _, dir := range layouts.OverrideFolders(xdg, home) {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				r.overrides = dir
				break
			}
		}
	}
	return nil
}

// clusterctlConfig reads clusterctl.yaml from where clusterctl does.
func clusterctlConfig(env *cli.Env, name string) (*clusterctlconfig.Config, error) {
	lookup := clusterctlconfig.Env(env.LookupEnv)
	if name != "" {
		data, err := env.ReadFile(name)
		if err != nil {
			return nil, err
		}
		return clusterctlconfig.Read(name, data, lookup)
	}
	xdg, home := targets.Home(env)
	for _, dir := range []string{filepath.Join(xdg, "cluster-api"), filepath.Join(home, ".cluster-api")} {
		for _, ext := range []string{"json", "toml", "yaml", "yml"} {
			name := filepath.Join(dir, "clusterctl."+ext)
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				continue
			}
			data, err := env.ReadFile(name)
			if err != nil {
				return nil, err
			}
			env.Detail("clusterctl's configuration: %s", name)
			return clusterctlconfig.Read(name, data, lookup)
		}
	}
	return clusterctlconfig.Read("clusterctl.yaml", nil, lookup)
}

// file reads a file of the release, or the one that overrides it.
func (r *rendering) file(env *cli.Env, name string) (*yamldoc.File, error) {
	// The name may come from a template, which must not choose other folders.
	if r.overrides != "" && !r.release.Own && !strings.ContainsAny(name, `/\`) {
		path := filepath.Join(r.overrides, filepath.FromSlash(layouts.OverridePath(r.release.Provider, r.release.Version, name)))
		data, err := cli.ReadDocuments(path)
		if err == nil {
			env.Say("using the override %s", path)
			return yamldoc.NewFile(path, data), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("override %s: %w", path, files.Cause(err))
		}
	}
	f := r.release.Artifact(name)
	if f == nil {
		return nil, targets.NoFile(r.release, name)
	}
	data, err := f.Bytes()
	if err != nil {
		return nil, err
	}
	return yamldoc.NewFile(f.Path, data), nil
}

// print writes the result as clusterctl does.
func (r *rendering) print(env *cli.Env, text io.WriterTo) error {
	if r.writeTo == "" {
		return env.WriteText(text)
	}
	var data bytes.Buffer
	if _, err := text.WriteTo(&data); err != nil {
		return err
	}
	return env.WriteOutput(r.writeTo, data.Bytes())
}
