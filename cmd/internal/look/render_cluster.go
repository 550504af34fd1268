package look

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

func renderClusterCommand(env *cli.Env) *cobra.Command {
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
` + targets.Help,
		Example: `  clusterctl-repo render cluster out/infrastructure-acme/v1.2.3 my-cluster \
      --kubernetes-version v1.34.0

  # Which variables does a flavor need?
  clusterctl-repo render cluster out/infrastructure-acme/v1.2.3 my-cluster \
      --flavor topology --list-variables`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			there := func(name string) bool { _, err := os.Stat(env.Path(name)); return err == nil || open.IsURL(name) }
			if !there(args[0]) && there(args[1]) {
				return cli.Usagef("%s does not exist; TARGET comes before NAME: render cluster %s %[1]s", args[0], args[1])
			}
			if err := r.prepare(ctx, env, args[0]); err != nil {
				return err
			}
			f, err := r.file(env, layouts.TemplateFile(flavor))
			if err != nil {
				return err
			}
			in.Provider, in.Template, in.Name, in.Variables, in.ListVariablesOnly = r.release.Provider, f, args[1], r.values.Get, list
			in.Class = func(name string) (*yamldoc.File, error) { return r.file(env, layouts.ClusterClassFile(name)) }
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
				_, err := fmt.Fprint(env.Text, in.ListVariables(t, env.LookupEnv))
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
	f := cmd.Flags()
	f.StringVarP(&flavor, "flavor", "f", "", "")
	f.StringVarP(&in.Namespace, "target-namespace", "n", "default", "")
	f.StringVar(&in.KubernetesVersion, "kubernetes-version", "", "")
	f.Int64Var(&controlPlane, "control-plane-machine-count", 1, "")
	f.Int64Var(&worker, "worker-machine-count", 0, "")
	f.BoolVar(&list, "list-variables", false, "")
	return cmd
}
