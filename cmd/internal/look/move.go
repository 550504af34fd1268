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

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// mover is the verb move-plan.
type mover struct {
	env       *cli.Env
	source    targets.Source
	out       cli.Outputs
	namespace string
	target    []string
	with      []string
	all       bool

	types    move.Types // of the flag with
	plans    []report.MovePlan
	failures []error
}

func MovePlanCommand(env *cli.Env) *cobra.Command {
	m := &mover{env: env, out: cli.Outputs{Formats: report.InventoryFormats}}
	cmd := &cobra.Command{
		Use:   "move-plan (TARGET | DUMP...)",
		Short: "Show what clusterctl move moves, what stays, and why",
		Long: `Says of each object whether clusterctl move moves it, leaves it in the source, or
whether that is not known; what decides it; and what to change. It also says what
the cluster to which objects are moved must have. It follows clusterctl, and
changes nothing.

For a TARGET it uses the owners that the controllers will set in each cluster
template and ClusterClass of the newest release.

DUMP is a management cluster as it is: a file or a folder with YAML or JSON as
kubectl prints it, or "-" for standard input; several are read as one. The labels
of CustomResourceDefinitions decide what clusterctl sees, so it should hold them,
and the Secrets, the ConfigMaps and all objects of providers. A folder that
clusterctl move --to-directory has written shows what --from-directory restores.

--with names what defines further kinds: releases, as if clusterctl had installed
them, or dumps, as they are. --target names the dump of the other cluster, file
by file, which is compared with what it must have.

The exit code is 0 if everything that belongs to a Cluster or a provider moves, and
1 if something stays, or is not known.
` + targets.Help + targets.SourceHelp,
		Example: `  # What do the templates of a release leave behind?
  clusterctl-repo move-plan out/infrastructure-acme/v1.2.3

  # A management cluster, and the one to which it is moved
  kubectl get crd -o json > crds.json
  kinds=$(kubectl get crd -o name | cut -d/ -f2 | paste -sd, -)
  kubectl get "$kinds,secrets,configmaps" -A -o json > objects.json
  clusterctl-repo move-plan crds.json objects.json -n my-clusters \
      --target target-crds.json --target target-objects.json

  # What would be lost, for a script
  clusterctl-repo move-plan dump/ -o json |
    jq -r '.objects[] | select(.lost) | .name'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	m.source.Bind(flags)
	flags.StringVarP(&m.namespace, "namespace", "n", "", "")
	flags.StringArrayVar(&m.with, "with", nil, "")
	flags.StringArrayVar(&m.target, "target", nil, "")
	flags.BoolVar(&m.all, "all", false, "")
	m.out.Bind(flags)
	return cmd
}

func (m *mover) run(ctx context.Context, args []string) error {
	for _, name := range m.with {
		releases, d, err := m.open(ctx, name)
		if err != nil {
			return err
		}
		if d != nil {
			m.types = move.Either(m.types, move.TypesIn(d))
			m.failures = append(m.failures, d.Problems...)
		}
		for _, r := range releases {
			m.types = move.Either(m.types, move.TypesOf(r))
		}
	}
	var target *move.Dump
	if len(m.target) > 0 {
		var err error
		if target, err = m.read(ctx, m.target...); err != nil {
			return err
		}
		m.failures = append(m.failures, target.Problems...)
	}
	if err := m.plan(ctx, args, target); err != nil {
		return err
	}
	plans := phrase.List(m.plans, func(p report.MovePlan) *move.Plan { return p.Plan })
	if target != nil {
		move.Check(plans, target)
	}
	err := m.env.Write(&m.out, func(w io.Writer, format string, _ term.Style) error {
		return report.WriteMovePlans(w, format, m.plans, m.all, m.failures...)
	})
	if err != nil {
		return err
	}
	for _, failure := range m.failures {
		m.env.Complain(failure)
	}
	switch answer, _ := move.Conclude(plans, true); {
	case answer != move.Answers()[0]:
		return cli.Exit(cli.ExitFindings, nil)
	case len(m.failures) > 0:
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}

// open opens a TARGET, or else reads a dump.
func (m *mover) open(ctx context.Context, name string) ([]*repo.Release, *move.Dump, error) {
	if name == "-" {
		d, err := m.read(ctx, name)
		return nil, d, err
	}
	var notes []transform.Note // which only count if it is not a dump
	source := m.source
	source.Note = func(n transform.Note) { notes = append(notes, n) }
	t, err := targets.OpenOwn(ctx, m.env, name, &source)
	not, ok := errors.AsType[*folder.NotRepositoryError](err)
	if ok && !not.Source && !errors.Is(err, fs.ErrNotExist) {
		d, err := m.read(ctx, name)
		return nil, d, err
	}
	var releases []*repo.Release
	if err == nil {
		releases, err = t.Newest()
	}
	if err == nil && releases[0].Own && !open.IsURL(name) {
		if d, unread := m.read(ctx, name); unread == nil && d.Exist() || !haveVariables(releases[0]) {
			return nil, d, unread // a dump, whose variables are those of scripts
		}
	}
	for _, n := range notes {
		targets.Tell(m.env)(n)
	}
	return releases, nil, err
}

// haveVariables tells templates from objects without UIDs.
func haveVariables(r *repo.Release) bool {
	return slices.ContainsFunc(r.Artifacts, func(a *repo.Artifact) bool {
		text, _ := a.Text()
		return strings.Contains(text, "${")
	})
}

// plan plans what the arguments name.
func (m *mover) plan(ctx context.Context, args []string, target *move.Dump) error {
	if len(args) > 1 {
		d, err := m.read(ctx, args...)
		if err != nil {
			return err
		}
		return m.planDump(d, target, args)
	}
	releases, d, err := m.open(ctx, args[0])
	switch {
	case err != nil:
		return err
	case d != nil:
		return m.planDump(d, target, args)
	case m.namespace != "":
		return cli.Usagef("--namespace is for dumps; a template has one namespace")
	}
	for _, r := range releases {
		move.EachTemplate(r, m.types, func(file *repo.Artifact, plan *move.Plan) {
			if plan == nil {
				m.failures = append(m.failures, fmt.Errorf("%s cannot be read; lint says why", file.Path))
				return
			}
			label := r.Provider.Label()
			if r.Own {
				m.plans = append(m.plans, report.MovePlan{Title: file.Path, Plan: plan, File: file.Name})
				return
			}
			m.plans = append(m.plans, report.MovePlan{
				Title: fmt.Sprintf("%s %s, %s", label, r.Version, file.Name), Plan: plan,
				Provider: label, Version: r.Version, File: file.Name,
			})
		})
	}
	if len(m.plans)+len(m.failures) == 0 {
		m.env.Say("%s holds neither a cluster template nor a ClusterClass", args[0])
	}
	return nil
}

// read reads files, folders and standard input as one dump.
func (m *mover) read(ctx context.Context, names ...string) (*move.Dump, error) {
	d := &move.Dump{}
	for _, name := range names {
		var err error
		switch {
		case name == "-":
			err = d.Read(ctx, "standard input", m.env.In)
		case open.IsURL(name):
			return nil, cli.Usagef("%s: a dump is a file or a folder", name)
		default:
			err = d.Add(ctx, m.env.Short(m.env.Path(name)))
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, move.ErrNothing) {
			return nil, cli.Usagef("%s: %w", filepath.ToSlash(name), files.Cause(err))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.ToSlash(name), files.Cause(err))
		}
	}
	if len(d.Objects) == 0 {
		return nil, cmp.Or(errors.Join(d.Problems...), cli.Usagef("%s: no object is in there; write it with kubectl get, "+
			"as \"clusterctl-repo move-plan --help\" shows", strings.Join(names, ", ")))
	}
	return d, nil
}

// planDump plans the move of the namespace that the flag names, or of the one with
// Clusters, or a restore.
func (m *mover) planDump(d, target *move.Dump, args []string) error {
	m.failures = append(m.failures, d.Problems...)
	o := move.Options{Namespace: m.namespace, Installed: m.types, Restore: d.Saved == len(d.Objects)}
	title := strings.Join(args, ", ")
	switch {
	case o.Restore && m.namespace != "":
		return cli.Usagef("%s was written by clusterctl move --to-directory and is restored as a whole; leave --namespace out",
			title)
	case o.Restore:
		if target != nil {
			o.Installed = move.Either(o.Installed, move.TypesIn(target))
		}
		m.plans = []report.MovePlan{{Title: "restore of " + title, Plan: move.FromDump(d, o)}}
		return nil
	}
	if o.Namespace == "" {
		all := move.Namespaces(d)
		if len(all) > 1 {
			return cli.Usagef("the objects are in several namespaces (%s), and clusterctl moves one at a time: "+
				"name it with --namespace", phrase.Few(all, 10))
		}
		o.Namespace = append(all, "default")[0]
	}
	title = fmt.Sprintf("namespace %s of %s", o.Namespace, title)
	m.plans = []report.MovePlan{{Title: title, Plan: move.FromDump(d, o)}}
	return nil
}
