package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
	clusterctlconfig "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl/config"
)

func (a *app) renderCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Print what clusterctl would generate from a release",
		Long: `Prints byte for byte what "clusterctl generate provider" and "clusterctl
generate cluster" print for a release, without a configuration that knows it
and without a cluster; or the same refusal, with its place in the file.`,
		Example: `  clusterctl-repo render provider out/infrastructure-acme/v1.2.3
  clusterctl-repo render cluster out/infrastructure-acme/v1.2.3 my-cluster`,
	}
	cmd.AddCommand(a.renderProviderCommand(), a.renderClusterCommand())
	return cmd
}

// rendering is what both kinds of rendering share.
type rendering struct {
	config  string
	writeTo string

	release    *repo.Release
	components *repo.Artifact
	values     *clusterctlconfig.Config
	overrides  string
	// url is where the components are, if not in a folder.
	url string
}

func (r *rendering) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.config, "config", "", "clusterctl's configuration file (default: where clusterctl looks for it)")
	cmd.Flags().StringVar(&r.writeTo, "write-to", "", "file to write to instead of standard output")
}

// home returns the folders in which clusterctl keeps its things, found by the
// rules of its library (adrg/xdg).
func (a *app) home() (xdg, home string) {
	if home, _ = a.Env("HOME"); home == "" {
		home = "/"
	}
	if xdg, _ = a.Env("XDG_CONFIG_HOME"); !filepath.IsAbs(xdg) {
		xdg = filepath.Join(home, ".config")
	}
	return xdg, home
}

// prepare opens the release and clusterctl's configuration.
func (a *app) prepare(ctx context.Context, r *rendering, name string) error {
	t, err := a.open(ctx, name, nil)
	if err != nil {
		return err
	}
	if r.release, err = t.release(); err != nil {
		return err
	}
	r.components = t.components(r.release)
	if t.from != nil && r.components != nil {
		if r.url, err = t.from.URL(r.release.Version, r.components.Name); err != nil {
			return err
		}
	}
	if r.values, err = a.clusterctlConfig(r.config); err != nil {
		return usage(err)
	}
	if r.overrides, err = r.values.OverridesFolder(); err != nil {
		return usage(err)
	}
	if r.overrides == "" {
		xdg, home := a.home()
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
func (a *app) clusterctlConfig(name string) (*clusterctlconfig.Config, error) {
	env := clusterctlconfig.Env(a.Env)
	if name != "" {
		data, err := a.readFile(name)
		if err != nil {
			return nil, err
		}
		return clusterctlconfig.Read(name, data, env)
	}
	xdg, home := a.home()
	for _, dir := range []string{filepath.Join(xdg, "cluster-api"), filepath.Join(home, ".cluster-api")} {
		for _, ext := range []string{"json", "toml", "yaml", "yml"} {
			name := filepath.Join(dir, "clusterctl."+ext)
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				continue
			}
			data, err := a.readFile(name)
			if err != nil {
				return nil, err
			}
			a.detail("clusterctl's configuration: %s", name)
			return clusterctlconfig.Read(name, data, env)
		}
	}
	return clusterctlconfig.Read("clusterctl.yaml", nil, env)
}

// file reads a file of the release, or the one that overrides it.
func (a *app) file(r *rendering, name string) (*yamldoc.File, error) {
	// The name may come from a template, which must not choose other folders.
	if r.overrides != "" && !strings.ContainsAny(name, `/\`) {
		path := filepath.Join(r.overrides, filepath.FromSlash(layouts.OverridePath(r.release.Provider, r.release.Version, name)))
		data, err := readDocuments(path)
		if err == nil {
			a.say("using the override %s", path)
			return yamldoc.NewFile(path, data), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("override %s: %w", path, cause(err))
		}
	}
	f := r.release.Artifact(name)
	if f == nil {
		return nil, fmt.Errorf("%s has no file %s", r.release.Path, name)
	}
	data, err := f.Bytes()
	if err != nil {
		return nil, err
	}
	return yamldoc.NewFile(f.Path, data), nil
}

// print writes the result as clusterctl does.
func (a *app) print(r *rendering, text io.WriterTo) error {
	if r.writeTo == "" {
		return a.stopping.all(a.Out, text)
	}
	var data bytes.Buffer
	if _, err := text.WriteTo(&data); err != nil {
		return err
	}
	return a.writeOutput(r.writeTo, data.Bytes())
}

func (a *app) renderProviderCommand() *cobra.Command {
	var r rendering
	var namespace string
	var raw, describe bool
	cmd := &cobra.Command{
		Use:   "provider TARGET",
		Short: "Print what clusterctl generate provider prints",
		Long: `Prints what "clusterctl generate provider" prints. Variables come from the
environment and from clusterctl's configuration file, by clusterctl's rules.
` + targetHelp,
		Example: `  clusterctl-repo render provider out/infrastructure-acme/v1.2.3 --target-namespace infra
  clusterctl-repo render provider out/infrastructure-acme/v1.2.3 --describe`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.prepare(ctx, &r, args[0]); err != nil {
				return err
			}
			components := r.components
			if components == nil {
				info, _ := r.release.Provider.Type.Info()
				return fmt.Errorf("%s has no components file; expected %s", r.release.Path, info.ComponentsFile)
			}
			file, err := a.file(&r, layouts.MetadataFile)
			if err != nil {
				return err
			}
			if err := metadata.Check(file, r.release.Provider, r.release.Version); err != nil {
				return err
			}
			f, err := a.file(&r, components.Name)
			if err != nil {
				return err
			}
			images, err := r.values.Images()
			if err != nil {
				return usage(err)
			}
			in := clusterctl.ProviderInput{
				Provider: r.release.Provider, Version: r.release.Version, File: f,
				TargetNamespace: namespace, Raw: raw || describe, Variables: r.values, Images: images,
			}
			if describe {
				c, err := clusterctl.RenderProvider(ctx, in)
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(a.text, c.Describe(cmp.Or(r.url, fileURL(components.Path))))
				return err
			}
			out, err := clusterctl.PrintProvider(ctx, in)
			if err != nil {
				return err
			}
			return a.print(&r, out)
		},
	}
	r.flags(cmd)
	cmd.Flags().StringVarP(&namespace, "target-namespace", "n", "", "namespace to install into (default: that of the components)")
	cmd.Flags().BoolVar(&raw, "raw", false, "leave the variables as they are")
	cmd.Flags().BoolVar(&describe, "describe", false, "print what the provider is, its variables and images")
	return cmd
}

// fileURL returns the URL of a path, as it stands in clusterctl.yaml.
func fileURL(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

func (a *app) renderClusterCommand() *cobra.Command {
	var r rendering
	var flavor string
	var list bool
	var in clusterctl.ClusterInput
	var controlPlane, worker int64
	cmd := &cobra.Command{
		Use:   "cluster TARGET NAME",
		Short: "Print what clusterctl generate cluster prints",
		Long: `Prints what "clusterctl generate cluster" prints for a cluster template of an
infrastructure provider, with the ClusterClasses that it uses. Variables come
from the environment and from clusterctl's configuration file, by clusterctl's
rules.
` + targetHelp,
		Example: `  clusterctl-repo render cluster out/infrastructure-acme/v1.2.3 my-cluster --kubernetes-version v1.34.0

  # Which variables does a flavor need?
  clusterctl-repo render cluster out/infrastructure-acme/v1.2.3 my-cluster --flavor topology --list-variables`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.prepare(ctx, &r, args[0]); err != nil {
				return err
			}
			f, err := a.file(&r, layouts.TemplateFile(flavor))
			if err != nil {
				return err
			}
			in.Provider, in.Template, in.Name, in.Variables, in.ListVariablesOnly = r.release.Provider, f, args[1], r.values, list
			in.Class = func(name string) (*yamldoc.File, error) { return a.file(&r, layouts.ClusterClassFile(name)) }
			if cmd.Flags().Changed("control-plane-machine-count") {
				in.ControlPlaneMachineCount = &controlPlane
			}
			if cmd.Flags().Changed("worker-machine-count") {
				in.WorkerMachineCount = &worker
			}
			t, err := clusterctl.RenderCluster(ctx, in)
			if err != nil {
				return err
			}
			if list {
				_, err := fmt.Fprint(a.text, in.ListVariables(t, a.Env))
				return err
			}
			out, err := t.YAML()
			if err != nil {
				return err
			}
			return a.print(&r, bytes.NewReader(out))
		},
	}
	r.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&flavor, "flavor", "f", "", "flavor of the template (default: cluster-template.yaml)")
	f.StringVarP(&in.Namespace, "target-namespace", "n", "default", "namespace of the cluster")
	f.StringVar(&in.KubernetesVersion, "kubernetes-version", "", "Kubernetes version (default: the variable KUBERNETES_VERSION)")
	f.Int64Var(&controlPlane, "control-plane-machine-count", 1, "number of control plane machines")
	f.Int64Var(&worker, "worker-machine-count", 0, "number of worker machines")
	f.BoolVar(&list, "list-variables", false, "print the variables instead of the cluster")
	return cmd
}
