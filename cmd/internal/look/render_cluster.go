package look

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

// clusterRendering is what the renderings of a cluster template share.
type clusterRendering struct {
	rendering
	flavor               string
	in                   clusterctl.ClusterInput
	controlPlane, worker int64
}

func (c *clusterRendering) bind(f *pflag.FlagSet) {
	c.rendering.bind(f)
	f.StringVarP(&c.flavor, "flavor", "f", "", "")
	f.StringVarP(&c.in.Namespace, "target-namespace", "n", "default", "")
	f.StringVar(&c.in.KubernetesVersion, "kubernetes-version", "", "")
	f.Int64Var(&c.controlPlane, "control-plane-machine-count", 1, "")
	f.Int64Var(&c.worker, "worker-machine-count", 0, "")
}

// prepare opens what TARGET and the flags name, and reads the template.
func (c *clusterRendering) prepare(env *cli.Env, cmd *cobra.Command, target, name string) error {
	there := func(name string) bool { _, err := os.Stat(env.Path(name)); return err == nil || open.IsURL(name) }
	if !there(target) && target != "-" && there(name) {
		return cli.Usagef("%s does not exist; TARGET comes before NAME: render %s %s %[1]s", target, cmd.Name(), name)
	}
	c.own = true
	if err := c.rendering.prepare(cmd.Context(), env, target); err != nil {
		return err
	}
	template := layouts.TemplateFile(c.flavor)
	if c.release.Own {
		var err error
		if template, err = ownTemplate(c.release, c.flavor); err != nil {
			return err
		}
	}
	f, err := c.file(env, template)
	if err != nil {
		return err
	}
	c.in.Provider, c.in.Template, c.in.Name, c.in.Variables = c.release.Provider, f, name, c.values.Get
	if cmd.Flags().Changed("control-plane-machine-count") {
		c.in.ControlPlaneMachineCount = &c.controlPlane
	}
	if cmd.Flags().Changed("worker-machine-count") {
		c.in.WorkerMachineCount = &c.worker
	}
	return nil
}

// ownTemplate is the file of a user that a flavor names: with its name, or what is left of that
// without the parts that clusterctl demands. Without a flavor it is the only one that is not
// a ClusterClass.
func ownTemplate(r *repo.Release, flavor string) (string, error) {
	var names []string
	for _, a := range r.Artifacts {
		base := path.Base(a.Name)
		switch {
		case flavor != "" && slices.Contains([]string{a.Name, base, strings.TrimSuffix(base, path.Ext(base)), "cluster-template-" + base}, flavor),
			flavor != "" && base == layouts.TemplateFile(flavor):
			return a.Name, nil
		case a.Kind() == layouts.ClusterTemplate:
			names = append(names, a.Name)
		}
	}
	if flavor == "" && len(names) == 1 {
		return names[0], nil
	}
	if flavor == "" && slices.Contains(names, layouts.TemplateFile("")) {
		return layouts.TemplateFile(""), nil
	}
	if len(names) == 0 {
		return "", cli.Usagef("%s holds no cluster template, only ClusterClasses", r.Path)
	}
	if flavor != "" {
		return "", cli.Usagef("%s holds no template %s%s", r.Path, flavor, phrase.Among(flavor, names))
	}
	return "", cli.Usagef("%s holds several templates; name one with --flavor: %s", r.Path, phrase.Few(names, 10))
}

func renderClusterCommand(env *cli.Env) *cobra.Command {
	var r clusterRendering
	var list bool
	cmd := &cobra.Command{
		Use:   "cluster TARGET NAME",
		Short: "Print what clusterctl generate cluster prints",
		Long: `Prints what "clusterctl generate cluster" prints for a cluster template of an
infrastructure provider, with the ClusterClasses that it uses. Variables come
from the environment and from clusterctl's configuration file, by clusterctl's
rules.
` + targets.Help + "\n" + targets.OwnHelp + ` It is rendered as by
"clusterctl generate cluster --from"; --flavor names the file in a folder.`,
		Example: `  clusterctl-repo render cluster out/infrastructure-acme/v1.2.3 my-cluster \
      --kubernetes-version v1.34.0

  # Which variables does a flavor need?
  clusterctl-repo render cluster out/infrastructure-acme/v1.2.3 my-cluster \
      --flavor topology --list-variables`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.prepare(env, cmd, args[0], args[1]); err != nil {
				return err
			}
			r.in.ListVariablesOnly = list
			if !r.release.Own { // for which clusterctl does not look, as with --from
				r.in.Class = func(name string) (*yamldoc.File, error) { return r.file(env, layouts.ClusterClassFile(name)) }
			}
			t, err := clusterctl.RenderCluster(cmd.Context(), r.in)
			if err != nil {
				return err
			}
			if list {
				_, err := fmt.Fprint(env.Text, r.in.ListVariables(t, env.LookupEnv))
				return err
			}
			out, err := t.YAML()
			if err != nil {
				return err
			}
			return r.print(env, bytes.NewReader(out))
		},
	}
	r.bind(cmd.Flags())
	cmd.Flags().BoolVar(&list, "list-variables", false, "")
	return cmd
}
