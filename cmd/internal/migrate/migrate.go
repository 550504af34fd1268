// Package migrate has the verb migrate. It must not know what changes between contracts.
package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	"github.com/clusterctl-repo/clusterctl-repo/transform/propose"
)

// Command is the verb migrate.
func Command(env *cli.Env) *cobra.Command {
	var to, series string
	var write, diff bool
	o := cli.Outputs{Formats: report.MigrationFormats}
	cmd := &cobra.Command{
		Use:   "migrate [TARGET|FILE|FOLDER|KIND|-]",
		Short: "Rewrite manifests for the next contract of Cluster API",
		Long: `Rewrites templates, ClusterClasses, Clusters and the kustomize sources of them
from one contract of Cluster API to the next: core, kubeadm bootstrap and control
plane, addons, ipam and runtime. The text is edited, not rewritten:
comments, order, quotes, blank lines and variables stay what they are.

By default the command shows a diff and writes nothing; with --write it replaces
the files. What is read from standard input is written to standard output. What
cannot be migrated is left as it is, or marked with a comment, and reported; the
exit code is then 1.

Without an argument the current folder is migrated. In a folder, hidden folders,
vendor and node_modules are skipped. A release URL, as clusterctl accepts
it, is only migrated for the diff.

The source tree of a provider is also built, in memory. CRDs get the label of the
contract where the build proves that no required field is missing; what
is left in CRDs, with the Go types to add, and in roles is reported. With --version
metadata.yaml gets a release series with the contract, once the CRDs are ready.

For a KIND of Cluster API, such as KubeadmControlPlane, it only prints what becomes
of the fields of the kind.`,
		Example: `  # What would change in this source tree?
  clusterctl-repo migrate . --contract v1beta2

  # Change it, and list what is left to do
  clusterctl-repo migrate . --contract v1beta2 --write -o text

  # The release that brings the contract is v1.3.0
  clusterctl-repo migrate . --write --version v1.3.0

  # What becomes of the fields of a kind?
  clusterctl-repo migrate KubeadmControlPlane

  # One template, from a pipe
  clusterctl-repo migrate - < cluster-template.yaml > migrated.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			contract := table.To(to)
			if contract == nil {
				known := phrase.List(table.Contracts(), func(c *table.Contract) string { return c.To })
				return cli.Usagef("cannot migrate to %q: expected %s", to, strings.Join(known, ", "))
			}
			if write && diff {
				return cli.Usagef("--diff writes nothing, so it contradicts --write; use one of them")
			}
			m := migration{env: env, opts: migrate.Options{Contract: contract}, write: write, diff: diff, out: o}
			if series != "" {
				v, err := layouts.ParseVersion(series)
				if err != nil {
					return cli.Usagef("--version: %w", err)
				}
				m.series = &v
			}
			return m.run(cmd.Context(), targets.Arg(args))
		},
	}
	cmd.Flags().StringVar(&to, "contract", "v1beta2", "")
	cmd.Flags().BoolVar(&write, "write", false, "")
	cmd.Flags().BoolVar(&diff, "diff", false, "")
	cmd.Flags().StringVar(&series, "version", "", "")
	o.Bind(cmd.Flags())
	return cmd
}

// migration is one run of migrate.
type migration struct {
	env         *cli.Env
	opts        migrate.Options
	write, diff bool
	out         cli.Outputs
	series      *layouts.Version
}

func (m *migration) run(ctx context.Context, name string) error {
	if name == "-" {
		return m.filter(ctx)
	}
	if open.IsURL(name) {
		return m.release(ctx, name)
	}
	dir := m.env.Path(name)
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		text, kinds := guide(name)
		switch {
		case text != "":
			_, err := fmt.Fprint(m.env.Out, text)
			return err
		case phrase.Nearest(name, kinds) != "":
			return cli.Unknown("file, folder or kind", name, kinds)
		}
		return cli.Usagef("%s: %w", filepath.ToSlash(name), files.Cause(err))
	}
	if err != nil {
		return err
	}
	var r *migrate.Report
	prefix := filepath.ToSlash(m.env.Short(name))
	if info.IsDir() {
		if r, err = migrate.Folder(ctx, dir, prefix, m.opts); err == nil {
			err = m.provider(ctx, name, prefix, r)
		}
	} else {
		if m.series != nil {
			return cli.Usagef("--version needs the folder of a source tree")
		}
		dir = filepath.Dir(dir)
		var data []byte
		if data, err = cli.ReadDocuments(m.env.Path(name)); err == nil {
			r = m.one(prefix, data)
		}
	}
	if err != nil {
		return err
	}
	if err := anything(r, name); err != nil {
		return err
	}
	r.Add(migrate.CompareEffects(ctx, r.All, m.opts.Contract)...)
	if m.write {
		var changed []check.FixedFile
		for _, f := range r.Files {
			if f.Changed(f.Old) {
				changed = append(changed, check.FixedFile{Name: m.env.Path(filepath.FromSlash(f.Name)), Old: f.Old, New: f.New})
			}
		}
		if err := check.Rewrite(ctx, dir, changed); err != nil {
			return err
		}
	}
	return m.report(r)
}

// provider migrates what a source tree says about the contract besides templates.
func (m *migration) provider(ctx context.Context, name, prefix string, r *migrate.Report) error {
	source := &targets.Source{}
	o, err := source.Options(m.env)
	if err != nil {
		return err
	}
	o.Note = nil // the tree is only looked at
	defer source.Mute(m.env)()
	return propose.Migrate(ctx, m.env.Short(m.env.Path(name)), prefix, r, propose.Migration{
		Source: o, From: contract.Contract(m.opts.Contract.From), To: contract.Contract(m.opts.Contract.To), Core: contract.NewestCore, Series: m.series,
	})
}

// anything refuses what holds no manifests at all: it was not migrated, and is not what
// the user meant.
func anything(r *migrate.Report, name string) error {
	if slices.ContainsFunc(r.Files, func(f *migrate.File) bool { return f.Changed(f.Old) }) ||
		slices.ContainsFunc(r.All, func(f *migrate.File) bool { return bytes.Contains(f.Old, []byte("kind")) }) {
		return nil
	}
	return cli.Usagef("%s holds no Kubernetes object; name a manifest, or a folder with .yaml or .yml files", name)
}

func (m *migration) one(name string, data []byte) *migrate.Report {
	f := &migrate.File{Name: name, Old: data, Result: migrate.Text(name, data, m.opts)}
	return &migrate.Report{Files: []*migrate.File{f}, All: []*migrate.File{f}}
}

// filter migrates standard input to standard output.
func (m *migration) filter(ctx context.Context) error {
	if m.write || m.series != nil {
		return cli.Usagef("--write and --version need files; what is read from standard input is written to standard output")
	}
	data, err := m.env.ReadInput()
	if err != nil {
		return err
	}
	if err := yamldoc.CheckCount(data); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	r := m.one("-", data)
	if err := anything(r, "standard input"); err != nil {
		return err
	}
	r.Add(migrate.CompareEffects(ctx, r.All, m.opts.Contract)...)
	if m.diff || m.out.Chosen() {
		return m.report(r)
	}
	if _, err := m.env.Out.Write(r.Files[0].New); err != nil {
		return err
	}
	m.talk(r)
	return m.verdict(r)
}

// release migrates the templates and classes of a release that cannot be changed.
func (m *migration) release(ctx context.Context, name string) error {
	if m.write || m.series != nil {
		return cli.Usagef("--write and --version need a folder, but %s is a URL", name)
	}
	releases, err := targets.OpenNewest(ctx, m.env, name, nil)
	if err != nil {
		return err
	}
	all := &migrate.Report{}
	for _, r := range releases {
		for _, artifact := range r.Artifacts {
			if kind := artifact.Kind(); kind != layouts.ClusterTemplate && kind != layouts.ClusterClass {
				continue
			}
			data, err := artifact.Bytes()
			if err != nil {
				return err
			}
			all.Files = append(all.Files, m.one(artifact.Name, data).Files...)
		}
	}
	all.Add(migrate.CompareEffects(ctx, all.Files, m.opts.Contract)...)
	return m.report(all)
}

// report prints what was asked for. The diff leaves no room on standard output for
// what a person should know, which then goes to standard error.
func (m *migration) report(r *migrate.Report) error {
	if m.write && !m.out.Chosen() && !m.diff {
		m.out.All = nil
	}
	if m.diff && m.out.Chosen() {
		if err := report.WriteMigration(m.env.Out, "diff", r); err != nil {
			return err
		}
	}
	if err := m.env.Write(&m.out, func(w io.Writer, format string, _ term.Style) error { return report.WriteMigration(w, format, r) }); err != nil {
		return err
	}
	if !m.out.Chosen() {
		m.talk(r)
	}
	return m.verdict(r)
}

// talk lists what a person should know.
func (m *migration) talk(r *migrate.Report) {
	m.env.Say("%s", strings.TrimRight(report.MigrationSummary(r), "\n"))
}

// verdict is the exit code.
func (m *migration) verdict(r *migrate.Report) error {
	if r.Left() {
		return cli.Exit(cli.ExitFindings, nil)
	}
	return nil
}

// guide says what becomes of a kind in the next contracts; "" for what is not one.
// Known are all kinds.
func guide(kind string) (text string, known []string) {
	var out strings.Builder
	for _, c := range table.Contracts() {
		for i := range c.Kinds {
			known = append(known, c.Kinds[i].Kind)
			if strings.EqualFold(c.Kinds[i].Kind, kind) {
				out.WriteString(c.Kinds[i].Guide("#"))
			}
		}
	}
	return out.String(), known
}
