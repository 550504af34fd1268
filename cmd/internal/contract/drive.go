package contract

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live/drive"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live/watch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// driveFlags are the flags of contract drive.
type driveFlags struct {
	watching
	template, restart string
	skip              []string
	hold, provision   time.Duration
	disposable        bool
}

func driveCommand(env *cli.Env) *cobra.Command {
	var f driveFlags
	var steps []string
	for _, s := range drive.Steps {
		steps = append(steps, s.Name)
	}
	cmd := &cobra.Command{
		Use:   "drive --namespace NS --template FILE",
		Short: "Act as a user in a disposable namespace, and judge what controllers do",
		Long: `Creates the Cluster of a rendered template in a namespace that was made for it,
pauses, pokes, strips, wipes, scales and deletes, and judges what the controllers
do meanwhile. Machines are created and deleted for real. Each write is written
down, so that none is blamed on a controller.

Without --yes-this-cluster-is-disposable it only shows what it would do and to
which server, and exits with 2. It refuses a namespace that has Clusters, and
templates with objects of other namespaces. When it is done or interrupted it
deletes what it made, and names what it could not delete.

The steps are: ` + strings.Join(steps[:7], ", ") + `,
` + strings.Join(steps[7:], ", ") + `.`,
		Example: `  kubectl create namespace drive
  clusterctl generate cluster c1 -n drive --kubernetes-version v1.34.0 > cluster.yaml
  clusterctl-repo contract drive --kubeconfig test.kubeconfig -n drive --template cluster.yaml \
    --yes-this-cluster-is-disposable --record life.jsonl.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	flags := cmd.Flags()
	f.bind(flags, "the kubeconfig of the management cluster (required)", "the namespace to act in; it must exist and have no Clusters (required)")
	flags.StringVar(&f.template, "template", "", "create the objects in this `FILE`, a rendered cluster template (required)")
	flags.StringVar(&f.restart, "restart", "", "a shell `COMMAND` that restarts the provider's controller")
	flags.StringArrayVar(&f.skip, "skip", nil, "leave out this `STEP`; may be repeated")
	flags.DurationVar(&f.hold, "hold", 24*time.Second, "how long pauses last")
	flags.DurationVar(&f.provision, "provision", 20*time.Minute, "how long machines may take to start and to go")
	flags.BoolVar(&f.disposable, "yes-this-cluster-is-disposable", false, "act; without it nothing is written")
	return cmd
}

func (f *driveFlags) run(ctx context.Context, env *cli.Env) error {
	if err := f.parse(env); err != nil {
		return err
	}
	switch {
	case f.cluster.File == "" || f.namespace == "" || f.template == "":
		return cli.Usagef("--kubeconfig, --namespace and --template are required")
	case !layouts.IsDNSLabel(f.namespace):
		return cli.Usagef("--namespace is %q; it must be the name of a namespace", f.namespace)
	case f.namespace == "default" || strings.HasPrefix(f.namespace, "kube-"):
		return cli.Usagef("--namespace is %s; use a namespace that was made for this", f.namespace)
	case f.hold < f.options.Pause+2*time.Second:
		return cli.Usagef("--hold is %s; it must be at least two seconds more than --pause-bound", f.hold)
	}
	for _, name := range f.skip {
		if !slices.ContainsFunc(drive.Steps, func(s drive.Step) bool { return s.Name == name }) {
			return cli.Usagef("--skip names the unknown step %q", name)
		}
	}
	objects, err := templateObjects(env, f.template)
	if err != nil {
		return err
	}
	cluster, err := targets.Cluster(env, f.cluster)
	if err != nil {
		return err
	}
	if !f.disposable {
		env.Say("would act in namespace %s of %s:", f.namespace, cluster.Host)
		for _, s := range drive.Steps {
			if !slices.Contains(f.skip, s.Name) && (s.Name != "restart" || f.restart != "") {
				env.Say("  %-14s %s", s.Name, s.Does)
			}
		}
		return cli.Usagef("nothing was done: contract drive creates and deletes real machines; add --yes-this-cluster-is-disposable if %s may be used for that", cluster.Host)
	}
	s, err := newSession(env, f.options, f.record)
	if err != nil {
		return err
	}
	o := drive.Options{
		Namespace: f.namespace, Objects: objects, Hold: f.hold, Settle: f.options.Settle + 10*time.Second, Provision: f.provision,
		Skip: f.skip, Record: s.line, Say: env.Say,
	}
	if f.restart != "" {
		o.Restart = func(ctx context.Context) error { return env.Shell(ctx, f.restart) }
	}
	if err := drive.Check(ctx, cluster.REST(), o); err != nil {
		return cli.UsageError(err)
	}
	left, err := f.driven(ctx, env, cluster, s, o)
	for _, name := range left {
		env.Say("left behind: %s in %s", name, cluster.Host)
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	return f.finish(ctx, env, "contract drive", s.judge, cluster)
}

// driven drives and watches at the same time.
func (f *driveFlags) driven(ctx context.Context, env *cli.Env, cluster *live.Cluster, s *session, o drive.Options) (left []string, err error) {
	env.CloseWhenStopped() // what was made has to go
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := s.tick(watching)
	ended := make(chan error, 1)
	go func() {
		ended <- watch.Run(watching, cluster.REST(), watch.Options{Namespace: f.namespace, Events: f.events}, s.line)
	}()
	told := context.AfterFunc(ctx, func() {
		env.Say("interrupted; removing what was made in %s, then reporting; interrupt again to leave it there", f.namespace)
	})
	left, err = drive.Run(ctx, cluster.REST(), o)
	told()
	select {
	case <-time.After(lag):
	case <-ctx.Done():
	}
	cancel()
	err = errors.Join(err, <-ended)
	stop()
	return left, errors.Join(err, s.close())
}

// templateObjects reads a rendered template.
func templateObjects(env *cli.Env, name string) ([]json.RawMessage, error) {
	data, err := env.ReadFile(name)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	chunks, err := yamldoc.Split(string(data))
	if err != nil {
		return nil, cli.Usagef("%s: %w", name, err)
	}
	var out []json.RawMessage
	for _, c := range chunks {
		text, err := yamldoc.ToJSON([]byte(c.Data))
		if err != nil {
			return nil, cli.Usagef("%s: %w", name, err)
		}
		if strings.TrimSpace(string(text)) != "null" {
			out = append(out, text)
		}
	}
	return out, nil
}
