package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// moveFlags are the flags of move-plan.
type moveFlags struct {
	source        targets.Source
	out           cli.Outputs
	namespace     string
	allNamespaces bool
	all           bool
	from          cli.Kubeconfig
	toKubeconfig  string
	toContext     string
	to            []string
	verify        string
}

// live reports whether a management cluster is to be asked.
func (f *moveFlags) live() bool { return f.from.File != "" || f.from.Context != "" }

// target reports whether the cluster to which objects are moved is known.
func (f *moveFlags) target() bool {
	return f.toKubeconfig != "" || f.toContext != "" || len(f.to) > 0
}

// MovePlanCommand is the verb move-plan.
func MovePlanCommand(env *cli.Env) *cobra.Command {
	f := moveFlags{out: cli.Outputs{Formats: report.MoveFormats}}
	cmd := &cobra.Command{
		Use:   "move-plan (TARGET | SNAPSHOT... | --kubeconfig FILE)",
		Short: "Show what clusterctl move would do, before it does it",
		Long: `Shows which objects clusterctl move would move, copy, leave behind, or have
Kubernetes delete because their owners are gone; why; and what to change. It also
shows why clusterctl would refuse to start, where it would fail after it has
started, what stays paused then, and how to recover. It follows clusterctl step by
step, and changes nothing.

For a TARGET it uses the owners that the controllers will set in each cluster
template and ClusterClass of the newest release. What all templates share is shown
once; --all shows each template by itself.

SNAPSHOT is a management cluster as it is: a file or a folder with YAML or JSON
as kubectl prints it, or "-" for standard input. Several are read as one. It
should hold the CustomResourceDefinitions, the Secrets, the ConfigMaps and all
objects of providers; the contents of Secrets are not needed and not kept.
Objects without a UID get one of their own. A folder that clusterctl move
--to-directory has written shows what move --from-directory would restore.

With --kubeconfig or --kubeconfig-context it asks a management cluster for what
clusterctl would list there. It only reads, and no values of Secrets.

With --to-kubeconfig, or --to-snapshot, it also compares the management cluster
that objects are moved to: providers and their versions, API versions, objects
and ClusterClasses that exist already, namespaces, and the ExtensionConfigs that
ClusterClasses need.

The formats runbook (text) and runbook-markdown have the tasks before, during and
after the move with their commands, and how to recover from each failure. After the move,
--verify compares what arrived with a plan saved by -o json=FILE.

The exit code is 1 if something would be lost, or clusterctl would refuse, fail or
do harm, and 3 if too little is known to rule that out.
` + targets.Help + targets.SourceHelp,
		Example: `  # What do the templates of a release leave behind?
  clusterctl-repo move-plan out/infrastructure-acme/v1.2.3

  # A management cluster from a dump
  kubectl get crd -o json > crds.json
  kinds=$(kubectl api-resources --verbs=list -o name | grep cluster.x-k8s.io \
      | paste -sd, -)
  kubectl get "$kinds,secrets,configmaps" -A -o json > objects.json
  clusterctl-repo move-plan crds.json objects.json -n my-clusters

  # Both ends as they are now, with a runbook and the plan to verify later
  clusterctl-repo move-plan --kubeconfig old \
      --to-kubeconfig new -n my-clusters \
    -o text -o runbook-markdown=runbook.md -o json=plan.json

  # After the move: did everything arrive?
  clusterctl-repo move-plan --verify plan.json --kubeconfig old \
      --to-kubeconfig new

  # A picture for the ticket, and the objects that are lost for a script
  clusterctl-repo move-plan dump/ -o html=plan.html -o json |
    jq -r '.objects[] | select(.lost) | .kind + " " + .name'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	f.bind(cmd.Flags())
	return cmd
}

// bind adds the flags.
func (f *moveFlags) bind(flags *pflag.FlagSet) {
	f.source.Bind(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "")
	f.from.Bind(flags)
	flags.StringVar(&f.toKubeconfig, "to-kubeconfig", "", "")
	flags.StringVar(&f.toContext, "to-kubeconfig-context", "", "")
	flags.StringArrayVar(&f.to, "to-snapshot", nil, "")
	flags.StringVar(&f.verify, "verify", "", "")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "")
	flags.BoolVar(&f.all, "all", false, "")
	f.out.Bind(flags)
}

// moves is what move-plan found.
type moves struct {
	plans    []report.MovePlan
	problems []error
	more     int
}

func (f *moveFlags) run(ctx context.Context, env *cli.Env, args []string) error {
	if f.namespace != "" && f.allNamespaces {
		return cli.Usagef("--namespace and --all-namespaces exclude each other")
	}
	if f.verify != "" {
		return f.verifyMove(ctx, env, args)
	}
	m, err := f.moves(ctx, env, args)
	if err != nil {
		return err
	}
	err = env.Write(&f.out, func(w io.Writer, format string, style term.Style) error {
		return report.WriteMovePlans(w, format, m.plans, report.MoveOptions{
			Paint: style, Version: env.Version, All: f.all, Problems: m.problems, MoreProblems: m.more,
		})
	})
	if err != nil {
		return err
	}
	for _, problem := range m.problems {
		env.Complain(problem)
	}
	if m.more > 0 {
		fmt.Fprintf(env.Err, "%s and %d more like these\n", env.Style.Red("error:"), m.more)
	}
	switch {
	case slices.ContainsFunc(m.plans, func(p report.MovePlan) bool { return p.Harms() }):
		return cli.Exit(cli.ExitFindings, nil)
	case len(m.problems) > 0, slices.ContainsFunc(m.plans, func(p report.MovePlan) bool { return !p.Certain() }):
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}

// moves reads what the arguments name and plans.
func (f *moveFlags) moves(ctx context.Context, env *cli.Env, args []string) (*moves, error) {
	if f.live() {
		if len(args) > 0 {
			return nil, cli.Usagef("a snapshot and a kubeconfig exclude each other")
		}
		return f.movesOfCluster(ctx, env)
	}
	if len(args) == 0 {
		return nil, cli.Usagef("name a release, a snapshot, or a management cluster with --kubeconfig. Run \"clusterctl-repo move-plan --help\" for usage.")
	}
	if len(args) == 1 {
		if t, err := f.moveTarget(ctx, env, args[0]); t != nil || err != nil {
			return f.movesOfTarget(env, t, err)
		}
	}
	s := &snapshot.Snapshot{}
	for _, name := range args {
		if err := readSnapshot(ctx, env, s, name); err != nil {
			return nil, err
		}
	}
	if len(s.Objects) == 0 {
		return nil, cmp.Or(errors.Join(s.Problems...),
			cli.Usagef("%s: the snapshot holds no object; make it with kubectl get, as \"clusterctl-repo move-plan --help\" shows", strings.Join(args, ", ")))
	}
	objects := 0
	for i := range s.Objects {
		if _, ok := s.Objects[i].Detail.(*snapshot.Definition); !ok {
			objects++
		}
	}
	return f.movesOfSnapshot(ctx, env, s, owners.Options{Restore: objects > 0 && s.Saved == objects}, strings.Join(args, ", "))
}

// moveTarget opens a TARGET. It returns nil if the name is that of a snapshot.
func (f *moveFlags) moveTarget(ctx context.Context, env *cli.Env, name string) (*targets.Target, error) {
	if name == "-" {
		return nil, nil
	}
	t, err := targets.Open(ctx, env, name, nil)
	if not, ok := errors.AsType[*folder.NotRepositoryError](err); ok && !errors.Is(err, fs.ErrNotExist) {
		if !not.Source {
			return nil, nil
		}
		return targets.Open(ctx, env, name, &f.source)
	}
	return t, err
}

func (f *moveFlags) movesOfTarget(env *cli.Env, t *targets.Target, err error) (*moves, error) {
	if err != nil {
		return nil, err
	}
	if f.namespace != "" || f.allNamespaces {
		return nil, cli.Usagef("--namespace and --all-namespaces are for snapshots; a template has one namespace")
	}
	if f.target() {
		return nil, cli.Usagef("--to-snapshot and --to-kubeconfig are for snapshots, not for templates")
	}
	releases, err := t.Newest()
	if err != nil {
		return nil, err
	}
	m := &moves{}
	for _, r := range releases {
		owners.EachTemplate(r, func(file *repo.Artifact, _ layouts.FileKind, graph *owners.Graph) {
			if graph == nil {
				m.problems = append(m.problems, fmt.Errorf("%s cannot be read; lint says why", file.Path))
				return
			}
			m.plans = append(m.plans, report.MovePlan{
				Title: fmt.Sprintf("%s %s, %s", r.Provider.Label(), r.Version, file.Name), Provider: r.Provider.Label(), Version: r.Version, File: file.Name,
				Plan: &owners.Plan{Graph: graph},
			})
		})
	}
	if len(m.plans)+len(m.problems) == 0 {
		env.Say("%s contains neither a cluster template nor a ClusterClass", t.Repository.Path)
	}
	return m, nil
}

// movesOfCluster asks a management cluster.
func (f *moveFlags) movesOfCluster(ctx context.Context, env *cli.Env) (*moves, error) {
	cluster, err := targets.Cluster(env, f.from)
	if err != nil {
		return nil, err
	}
	namespace := cmp.Or(f.namespace, cluster.Namespace)
	if f.allNamespaces {
		namespace = ""
	}
	env.Detail("asking %s", cluster.Host)
	s, err := cluster.Read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return f.movesOfSnapshot(ctx, env, s, owners.Options{Namespace: namespace, Complete: !s.Incomplete()}, cluster.Host)
}

// targetCluster reads the management cluster to which objects are moved. Wanted are
// the objects that matter.
func (f *moveFlags) targetCluster(ctx context.Context, env *cli.Env, wanted []snapshot.Object) (s *snapshot.Snapshot, what string, err error) {
	if len(f.to) == 0 {
		c, err := targets.Cluster(env, cli.Kubeconfig{File: f.toKubeconfig, Context: f.toContext})
		if err != nil {
			return nil, "", err
		}
		env.Detail("asking %s", c.Host)
		s, err = c.ReadTarget(ctx, wanted)
		return s, c.Host, err
	}
	if f.toKubeconfig != "" || f.toContext != "" {
		return nil, "", cli.Usagef("--to-snapshot and --to-kubeconfig exclude each other")
	}
	s = &snapshot.Snapshot{}
	for _, name := range f.to {
		if err := readSnapshot(ctx, env, s, name); err != nil {
			return nil, "", err
		}
	}
	return s, strings.Join(f.to, ", "), nil
}

// readSnapshot reads a file, a folder, or standard input.
func readSnapshot(ctx context.Context, env *cli.Env, s *snapshot.Snapshot, name string) error {
	if name == "-" {
		return s.Read(ctx, "standard input", env.In)
	}
	if open.IsURL(name) {
		return cli.Usagef("%s: a snapshot is a file or a folder", name)
	}
	err := s.ReadFile(ctx, env.Short(env.Path(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, snapshot.ErrNothing):
		return cli.Usagef("%s: %w", filepath.ToSlash(name), files.Cause(err))
	case err != nil:
		return fmt.Errorf("%s: %w", filepath.ToSlash(name), files.Cause(err))
	}
	return nil
}

// movesOfSnapshot plans the move of the namespace that the flags name.
func (f *moveFlags) movesOfSnapshot(ctx context.Context, env *cli.Env, s *snapshot.Snapshot, o owners.Options, what string) (*moves, error) {
	o.All = f.allNamespaces
	if o.Namespace == "" {
		o.Namespace = f.namespace
	}
	switch {
	case o.Restore:
		if f.namespace != "" {
			return nil, cli.Usagef("%s was written by clusterctl move --to-directory and is restored as a whole; leave --namespace out", what)
		}
		what = "restore of " + what
	case o.All:
		what = "all namespaces of " + what
	default:
		if o.Namespace == "" {
			switch all := owners.Namespaces(s); len(all) {
			case 0:
			case 1:
				o.Namespace = all[0]
			default:
				return nil, cli.Usagef("several namespaces have Clusters (%s), and clusterctl moves one at a time: name it with --namespace", phrase.Few(all, 10))
			}
		}
		if o.Namespace != "" {
			what = fmt.Sprintf("namespace %s of %s", o.Namespace, what)
		}
	}
	m := &moves{problems: s.Problems, more: s.MoreProblems}
	if f.target() {
		to, name, err := f.targetCluster(ctx, env, s.Objects)
		if err != nil {
			return nil, err
		}
		what += " to " + name
		o.Target, o.TargetComplete = to, len(f.to) == 0 && !to.Incomplete()
		m.problems, m.more = append(m.problems, to.Problems...), m.more+to.MoreProblems
	}
	plan := owners.FromSnapshot(s, o)
	if plan.Elsewhere > 0 {
		env.Detail("objects in other namespaces: %d", plan.Elsewhere)
	}
	if plan.Repeated > 0 {
		env.Say("objects that appear more than once: %d; the first counts", plan.Repeated)
	}
	m.plans = []report.MovePlan{{Title: what, Plan: plan}}
	return m, nil
}
