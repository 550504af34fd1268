package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// driveFlags are the flags of contract drive.
type driveFlags struct {
	watching
	restart         string
	skip            []string
	hold, provision time.Duration // how long pauses last, and machines take to start and to go
	disposable      bool
}

func driveCommand(env *cli.Env) *cobra.Command {
	var f driveFlags
	steps := steps()
	cmd := &cobra.Command{
		Use:   "drive FILE --kubeconfig FILE --namespace NAMESPACE",
		Short: "Act as a user in a disposable namespace, and judge what controllers do",
		Long: `Creates the Cluster of the rendered template FILE in a namespace that was made for it,
pauses, pokes, strips, wipes, scales and deletes, and judges what the controllers
do meanwhile. Machines are created and deleted for real. Each write is recorded,
so that it is not attributed to a controller.

Without --yes-this-cluster-is-disposable it only shows what it would do and to
which server, and exits with 2. It refuses a namespace that holds anything that
controllers could act on, and templates with objects of other namespaces. It
touches only what it made, and what controllers made of that. When it is done or
interrupted it deletes that, and names what it could not delete. --record is its
journal as well: if a run was killed, the same command first removes what it left.
The exit code is 3 if nothing that happened could be judged.

The steps are: ` + strings.Join(steps[:7], ", ") + `,
` + strings.Join(steps[7:], ", ") + `.`,
		Example: `  kubectl create namespace drive
  clusterctl generate cluster c1 -n drive \
      --kubernetes-version v1.34.0 > cluster.yaml
  clusterctl-repo contract drive cluster.yaml \
      --kubeconfig test.kubeconfig -n drive \
    --yes-this-cluster-is-disposable --record life.jsonl.gz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args[0]) },
	}
	flags := cmd.Flags()
	f.hold, f.provision = 24*time.Second, 20*time.Minute
	f.bind(flags)
	f.bounds["hold"], f.bounds["provision"] = &f.hold, &f.provision
	flags.Lookup("bound").Usage = f.bounds.names()
	flags.StringVar(&f.restart, "restart", "", "")
	flags.StringArrayVar(&f.skip, "skip", nil, "")
	flags.BoolVar(&f.disposable, "yes-this-cluster-is-disposable", false, "")
	return cmd
}

// steps are the names of all steps.
func steps() []string { return phrase.List(live.Steps, func(s live.Step) string { return s.Name }) }

func (f *driveFlags) run(ctx context.Context, env *cli.Env, template string) error {
	if err := f.parse(env); err != nil {
		return err
	}
	switch {
	case f.kubeconfig.File == "" || f.namespace == "":
		return cli.Usagef("--kubeconfig and --namespace are required")
	case f.namespace == "default" || strings.HasPrefix(f.namespace, "kube-"):
		return cli.Usagef("--namespace is %s; use a namespace created for this", f.namespace)
	case f.hold < f.options.Pause+2*time.Second:
		return cli.Usagef("--bound hold=%s must exceed the bound of pause by at least two seconds", f.hold)
	}
	for _, name := range f.skip {
		if !slices.Contains(steps(), name) {
			return cli.Unknown("step", name, steps())
		}
	}
	objects, err := templateObjects(env, template)
	if err != nil {
		return err
	}
	cluster, err := targets.Cluster(env, f.kubeconfig)
	if err != nil {
		return err
	}
	if !f.disposable {
		env.Say("would act in namespace %s of %s:", f.namespace, cluster.Host)
		for _, s := range live.Steps {
			if !slices.Contains(f.skip, s.Name) && (s.Name != "restart" || f.restart != "") {
				env.Say("  %-14s %s", s.Name, s.Does)
			}
		}
		return cli.Usagef("nothing was done: contract drive creates and deletes real machines; add --yes-this-cluster-is-disposable if %s may be used for that", cluster.Host)
	}
	o := live.Course{
		Namespace: f.namespace, Objects: objects, Hold: f.hold, Settle: f.options.Settle + 10*time.Second, Provision: f.provision,
		Skip: f.skip, Say: env.Say,
	}
	if f.restart != "" {
		o.Restart = func(ctx context.Context) error { return env.Shell(ctx, f.restart) }
	}
	if err := f.undo(ctx, env, cluster, o); err != nil {
		return err
	}
	if err := cluster.CheckDrive(ctx, o); err != nil {
		return cli.UsageError(err)
	}
	return f.follow(ctx, env, "contract drive", cluster, func(doing context.Context, s *session) error {
		told := context.AfterFunc(ctx, func() {
			env.Say("interrupted; removing what was made in %s, then reporting; interrupt again to leave it there", f.namespace)
		})
		o.Record = s.line
		left, err := cluster.Drive(doing, o)
		told()
		tellLeft(env, cluster, left)
		select {
		case <-time.After(linger):
		case <-doing.Done():
		}
		return err
	})
}

// linger is how long the watch continues after the end, for what is under way.
const linger = 2 * time.Second

func tellLeft(env *cli.Env, cluster *live.Cluster, left []string) {
	for _, name := range left {
		env.Say("left behind: %s in %s", name, cluster.Host)
	}
}

// undo removes what a run left that was killed, if the recording is its journal.
func (f *driveFlags) undo(ctx context.Context, env *cli.Env, cluster *live.Cluster, o live.Course) error {
	if f.record == "" {
		return nil
	}
	if info, err := os.Stat(env.Path(f.record)); err != nil || !info.Mode().IsRegular() {
		return nil // a journal is a file; a pipe, for example, would be read for as long as it is open
	}
	var j live.Journal
	if _, err := readRecording(ctx, env, f.record, j.Add); err != nil || !j.Open() {
		return err
	}
	server, err := cluster.Server(ctx)
	if err != nil {
		return err
	}
	if j.Namespace != f.namespace || j.Server != server {
		return cli.Usagef("%s is the journal of a run that did not finish, in namespace %s of a server with the UID %q; run it there again, or name another file",
			f.record, j.Namespace, j.Server)
	}
	env.Say("the last run did not finish; removing what it left in %s", f.namespace)
	left, err := cluster.Undo(ctx, o, &j)
	tellLeft(env, cluster, left)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("objects of the last run are left in namespace %s; remove them, and run this again", f.namespace)
	}
	return err
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
