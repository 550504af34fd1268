package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live/drive"
	"github.com/clusterctl-repo/clusterctl-repo/repo/live/watch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// driveFlags are the flags of contract drive.
type driveFlags struct {
	watchFlags
	template, restart string
	skip              []string
	hold, provision   time.Duration
	disposable        bool
}

func (a *app) contractDriveCommand() *cobra.Command {
	f := driveFlags{watchFlags: watchFlags{out: outputs{formats: report.FindingsFormats}}}
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
		RunE: func(cmd *cobra.Command, _ []string) error { return a.drive(cmd.Context(), &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig of the management cluster (required)")
	flags.StringVar(&f.kubeContext, "kubeconfig-context", "", "the context in the kubeconfig to use")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "the namespace to act in; it must exist and have no Clusters (required)")
	flags.StringVar(&f.template, "template", "", "create the objects in this `FILE`, a rendered cluster template (required)")
	flags.StringVar(&f.restart, "restart", "", "a shell `COMMAND` that restarts the provider's controller")
	flags.StringArrayVar(&f.skip, "skip", nil, "leave out this `STEP`; may be repeated")
	flags.DurationVar(&f.hold, "hold", 24*time.Second, "how long pauses last")
	flags.DurationVar(&f.provision, "provision", 20*time.Minute, "how long machines may take to start and to go")
	flags.BoolVar(&f.disposable, "yes-this-cluster-is-disposable", false, "act; without it nothing is written")
	flags.BoolVar(&f.events, "events", false, "also watch Events, which some checks need")
	flags.StringVar(&f.record, "record", "", "write a recording into this `FILE`, gzipped if its name ends in .gz")
	f.bounds.flag(cmd)
	f.fail.flag(cmd)
	f.out.flag(cmd)
	return cmd
}

func (a *app) drive(ctx context.Context, f *driveFlags) error {
	level, err := f.fail.level()
	if err != nil {
		return err
	}
	outs, err := f.out.parse()
	if err != nil {
		return err
	}
	bounds, err := f.bounds.parse(a)
	if err != nil {
		return err
	}
	switch {
	case f.kubeconfig == "" || f.namespace == "" || f.template == "":
		return usagef("--kubeconfig, --namespace and --template are required")
	case !layouts.IsDNSLabel(f.namespace):
		return usagef("--namespace is %q; it must be the name of a namespace", f.namespace)
	case f.namespace == "default" || strings.HasPrefix(f.namespace, "kube-"):
		return usagef("--namespace is %s; use a namespace that was made for this", f.namespace)
	case f.hold < bounds.Pause+2*time.Second:
		return usagef("--hold is %s; it must be at least two seconds more than --pause-bound", f.hold)
	}
	for _, name := range f.skip {
		if !slices.ContainsFunc(drive.Steps, func(s drive.Step) bool { return s.Name == name }) {
			return usagef("--skip names the unknown step %q", name)
		}
	}
	objects, err := a.templateObjects(f.template)
	if err != nil {
		return err
	}
	cluster, err := a.liveCluster(f.kubeconfig, f.kubeContext)
	if err != nil {
		return err
	}
	if !f.disposable {
		a.say("would act in namespace %s of %s:", f.namespace, cluster.Host)
		for _, s := range drive.Steps {
			if !slices.Contains(f.skip, s.Name) && (s.Name != "restart" || f.restart != "") {
				a.say("  %-14s %s", s.Name, s.Does)
			}
		}
		return usagef("nothing was done: contract drive creates and deletes real machines; add --yes-this-cluster-is-disposable if %s may be used for that", cluster.Host)
	}
	s, err := a.session(bounds, f.record)
	if err != nil {
		return err
	}
	o := drive.Options{
		Namespace: f.namespace, Objects: objects, Hold: f.hold, Settle: bounds.Settle + 10*time.Second, Provision: f.provision,
		Skip: f.skip, Record: s.line, Say: a.say,
	}
	if f.restart != "" {
		o.Restart = func(ctx context.Context) error { return a.shell(ctx, f.restart) }
	}
	if err := drive.Check(ctx, cluster.REST(), o); err != nil {
		return usage(err)
	}
	left, err := a.driven(ctx, cluster, f, s, o)
	for _, name := range left {
		a.say("left behind: %s in %s", name, cluster.Host)
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	r := s.judge.Report("contract drive", fmt.Sprintf("%d events of %s", s.judge.Events, cluster.Host))
	a.undecided(s.judge)
	var timelines []report.Timeline
	if wantsPage(outs) {
		// ^C ended the watch, but must not end the report.
		if timelines, err = a.timelines(context.WithoutCancel(ctx), s.judge, f.record); err != nil {
			return err
		}
	}
	return a.judge(r, outs, level, report.Options{Timelines: timelines})
}

// driven drives and watches at the same time.
func (a *app) driven(ctx context.Context, cluster *live.Cluster, f *driveFlags, s *session, o drive.Options) (left []string, err error) {
	a.stopping.closing.Store(true) // what was made has to go
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := s.tick(watching)
	ended := make(chan error, 1)
	go func() {
		ended <- watch.Run(watching, cluster.REST(), watch.Options{Namespace: f.namespace, Events: f.events}, s.line)
	}()
	told := context.AfterFunc(ctx, func() {
		a.say("interrupted; removing what was made in %s, then reporting; interrupt again to leave it there", f.namespace)
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
func (a *app) templateObjects(name string) ([]json.RawMessage, error) {
	data, err := a.readFile(name)
	if err != nil {
		return nil, usage(err)
	}
	chunks, err := yamldoc.Split(data)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	var out []json.RawMessage
	for _, c := range chunks {
		text, err := yamldoc.ToJSON(c.Data)
		if err != nil {
			return nil, usagef("%s: %w", name, err)
		}
		if strings.TrimSpace(string(text)) != "null" {
			out = append(out, text)
		}
	}
	return out, nil
}
