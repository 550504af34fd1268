package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/contractcheck"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
	"github.com/clusterctl-repo/clusterctl-repo/transform/verdict"
)

func (a *app) contractCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "Show the provider contracts, and judge how providers behave",
		Long: `Shows what Cluster API demands of the kinds of providers, checks CRDs without a
release around them, and judges whether controllers behave as the contract says:
from a recording, beside a running cluster, or by acting in a namespace that was
made for it.`,
		Example: `  clusterctl-repo contract show InfraMachine
  clusterctl-repo contract check config/crd/bases
  clusterctl-repo contract replay recording.jsonl.gz`,
	}
	cmd.AddCommand(a.contractListCommand(), a.contractShowCommand(), a.contractDocsCommand(), a.contractCheckCommand(), a.contractMatrixCommand(), a.contractPlanCommand(), a.contractWatchCommand(), a.contractDriveCommand(), a.replayCommand())
	return cmd
}

// statements are the checks of behaviour by role.
func statements() map[contract.Role][]report.Statement {
	out := map[contract.Role][]report.Statement{}
	for _, c := range behaviour.All {
		s := report.Statement{ID: c.ID, Level: string(c.Level), Title: c.Title}
		if c.Role != "" {
			out[c.Role] = append(out[c.Role], s)
			continue
		}
		for _, page := range contract.Pages {
			if page.Role != contract.MachinePoolMachine {
				out[page.Role] = append(out[page.Role], s)
			}
		}
	}
	return out
}

// contractFlag is the flag --contract.
type contractFlag struct{ value string }

func (f *contractFlag) flag(cmd *cobra.Command, fallback string) {
	cmd.Flags().StringVar(&f.value, "contract", fallback, "the `CONTRACT`, v1beta1 or v1beta2")
}

func (a *app) contractListCommand() *cobra.Command {
	var core coreFlag
	out := outputs{formats: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the roles of the provider contracts",
		Long:    `Lists the roles with the number of fields that each contract names, and of statements about behaviour.`,
		Example: `  clusterctl-repo contract list`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			version, err := core.core()
			if err != nil {
				return err
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error {
				return report.WriteContracts(w, format, version, statements())
			})
		},
	}
	core.flag(cmd)
	out.flag(cmd)
	return cmd
}

func (a *app) contractShowCommand() *cobra.Command {
	var core coreFlag
	var c contractFlag
	out := outputs{formats: report.ContractFormats}
	cmd := &cobra.Command{
		Use:   "show ROLE",
		Short: "Show what a contract demands of a role",
		Long: `Shows the fields that a contract names for a role (InfraCluster, InfraMachine,
InfraMachinePool, MachinePoolMachine, BootstrapConfig, ControlPlane) with the
section of the contract page, what Cluster API does with each, and the
statements about behaviour. They are the tables that lint judges by. The formats
json, yaml and openapi are stable.`,
		Example: `  clusterctl-repo contract show InfraMachine
  clusterctl-repo contract show ControlPlane --contract v1beta1 -o openapi`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, p := range contract.Pages {
				names = append(names, string(p.Role))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			role, err := pageRole(args[0])
			if err != nil {
				return err
			}
			chosen, err := contract.ParseContract(c.value)
			if err != nil {
				return usage(err)
			}
			version, err := core.core()
			if err != nil {
				return err
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error {
				return report.WriteContract(w, format, role, chosen, version, statements()[role])
			})
		},
	}
	c.flag(cmd, string(contract.Accepted[0]))
	core.flag(cmd)
	out.flag(cmd)
	return cmd
}

// pageRole reads the name of a role that has a page, in any case.
func pageRole(s string) (contract.Role, error) {
	var names []string
	for _, p := range contract.Pages {
		if strings.EqualFold(string(p.Role), s) {
			return p.Role, nil
		}
		names = append(names, string(p.Role))
	}
	return "", usagef("unknown role %q: expected %s", s, strings.Join(names, ", "))
}

func (a *app) contractDocsCommand() *cobra.Command {
	var core coreFlag
	var c contractFlag
	cmd := &cobra.Command{
		Use:     "docs DIR",
		Short:   "Write a page for each role of a contract",
		Long:    `Writes what contract show prints as Markdown into one file for each role.`,
		Example: `  clusterctl-repo contract docs docs/contract`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			chosen, err := contract.ParseContract(c.value)
			if err != nil {
				return usage(err)
			}
			version, err := core.core()
			if err != nil {
				return err
			}
			if err := a.makeFolder(args[0]); err != nil {
				return err
			}
			for _, p := range contract.Pages {
				var b bytes.Buffer
				if err := report.WriteContract(&b, "markdown", p.Role, chosen, version, statements()[p.Role]); err != nil {
					return err
				}
				name := filepath.Join(args[0], strings.ToLower(string(p.Role))+".md")
				if err := a.writeFile(name, b.Bytes()); err != nil {
					return err
				}
				a.say("wrote %s", filepath.ToSlash(name))
			}
			return nil
		},
	}
	c.flag(cmd, string(contract.Accepted[0]))
	core.flag(cmd)
	return cmd
}

func (a *app) contractCheckCommand() *cobra.Command {
	var core coreFlag
	var c contractFlag
	var fail failOn
	var role, settings, kubeconfig, kubeContext string
	out := outputs{formats: report.FindingsFormats}
	cmd := &cobra.Command{
		Use:   "check (FILE | DIR | - | --kubeconfig FILE)...",
		Short: "Check CRDs against the contract, without a release",
		Long: `Checks CustomResourceDefinitions against the contract of their role: files,
folders with YAML or JSON such as config/crd/bases, or "-" for standard input.
All are judged together, by the rules that lint applies to the CRDs of a release.
With --kubeconfig the CRDs of providers in a running cluster are judged; it is only
read.

The role of each kind is recognized by its name and fields, or given by --role.
The contract is the one whose label the CRDs have; if none of them has a label,
because the build adds it later, the one of which the fewest fields are missing.`,
		Example: `  clusterctl-repo contract check config/crd/bases

  # What the generator writes, before it is a file
  controller-gen crd paths=./api/... output:crd:stdout | clusterctl-repo contract check -

  # The CRDs of the providers in a running cluster
  clusterctl-repo contract check --kubeconfig management.kubeconfig`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && kubeconfig == "" {
				return usagef("name files or folders with CRDs, \"-\" for standard input, or give --kubeconfig")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			level, err := fail.level()
			if err != nil {
				return err
			}
			outs, err := out.parse()
			if err != nil {
				return err
			}
			o := contractcheck.Options{Profile: contract.DefaultProfile()}
			if c.value != "" {
				if o.Profile.Contract, err = contract.ParseContract(c.value); err != nil {
					return usage(err)
				}
			}
			if o.Profile.Core, err = core.core(); err != nil {
				return err
			}
			if role != "" {
				if o.Role, err = contract.ParseRole(role); err != nil {
					return usage(err)
				}
			}
			if settings != "" {
				config, _, err := sourcetree.LoadConfig(a.Dir, settings)
				if err != nil {
					return err
				}
				if o.Severity, err = check.Severities(config); err != nil {
					return err
				}
			}
			files, err := a.definitionFiles(args)
			if err != nil {
				return err
			}
			names := args
			if kubeconfig != "" {
				cluster, err := a.liveCluster(kubeconfig, kubeContext)
				if err != nil {
					return err
				}
				all, err := cluster.Definitions(cmd.Context())
				if err != nil {
					return err
				}
				for _, d := range all {
					files = append(files, contractcheck.File{Name: d.Name, Data: d.JSON})
				}
				names = append(slices.Clone(args), cluster.Host)
			}
			r, err := contractcheck.Check(cmd.Context(), files, o)
			if errors.Is(err, contractcheck.ErrNoDefinitions) {
				return usage(fmt.Errorf("%s: %w%s", fewNames(names), err, a.otherFolders(args)))
			}
			if err != nil {
				return err
			}
			r.Command, r.Subject = "contract check", fmt.Sprintf("the CRDs of %s", fewNames(names))
			return a.judge(r, outs, level, report.Options{})
		},
	}
	c.flag(cmd, "")
	flags := cmd.Flags()
	flags.StringVar(&role, "role", "", "the `ROLE` of all kinds (default: recognized)")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "check the CRDs of providers in the cluster of this `FILE`")
	flags.StringVar(&kubeContext, "kubeconfig-context", "", "the context in the kubeconfig to use")
	flags.StringVar(&settings, "config", "", "take the severities of rules from the configuration in this `FILE`")
	core.flag(cmd)
	fail.flag(cmd)
	out.flag(cmd)
	return cmd
}

// otherFolders names folders with definitions below those that were given.
func (a *app) otherFolders(args []string) string {
	var found []string
	for _, name := range args {
		if name != "-" {
			for _, dir := range contractcheck.Below(a.path(name)) {
				found = append(found, a.short(dir))
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; there are some in " + strings.Join(found, ", ")
}

// definitionFiles reads the arguments of contract check.
func (a *app) definitionFiles(args []string) ([]contractcheck.File, error) {
	var out []contractcheck.File
	for _, name := range args {
		if name == "-" {
			data, err := io.ReadAll(io.LimitReader(a.In, repo.MaxFileSize+1))
			if err != nil {
				return nil, fmt.Errorf("standard input: %w", err)
			}
			if len(data) > repo.MaxFileSize {
				return nil, usagef("standard input has more than %d MB", repo.MaxFileSize>>20)
			}
			out = append(out, contractcheck.File{Name: "-", Data: data})
			continue
		}
		files, err := contractcheck.Read(a.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usagef("%s: %w", filepath.ToSlash(name), cause(err))
		}
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			f.Name = a.short(f.Name)
			out = append(out, f)
		}
	}
	return out, nil
}

func (a *app) contractMatrixCommand() *cobra.Command {
	var core coreFlag
	var s source
	out := outputs{formats: report.MatrixFormats}
	cmd := &cobra.Command{
		Use:   "matrix TARGET...",
		Short: "Show which providers are ready for which contract",
		Long: `Shows for the newest release of each provider which contracts its CRDs declare,
and which fields that the contract demands are missing.
` + targetHelp + sourceHelp,
		Example: `  clusterctl-repo contract matrix out -o markdown

  # Is what this source tree releases next ready?
  clusterctl-repo contract matrix .`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			version, err := core.core()
			if err != nil {
				return err
			}
			rows := []report.MatrixRow{}
			for _, name := range args {
				more, err := a.matrix(cmd.Context(), name, &s, version)
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error { return report.WriteMatrix(w, format, rows) })
		},
	}
	core.flag(cmd)
	s.flags(cmd)
	out.flag(cmd)
	return cmd
}

func (a *app) matrix(ctx context.Context, name string, s *source, core int) (rows []report.MatrixRow, err error) {
	err = a.eachNewest(ctx, name, s, func(r *repo.Release, all []*crd.CRD) error {
		rows = append(rows, matrixRow(r, all, core))
		return nil
	})
	return rows, err
}

// eachNewest calls do with the newest release of each provider in a target, and its
// CRDs.
func (a *app) eachNewest(ctx context.Context, name string, s *source, do func(r *repo.Release, all []*crd.CRD) error) error {
	t, err := a.open(ctx, name, s)
	if err != nil {
		return err
	}
	releases, err := t.newest()
	if err != nil {
		return err
	}
	for _, r := range releases {
		all, err := verdict.Definitions(r)
		if err != nil {
			return err
		}
		if err := do(r, all); err != nil {
			return err
		}
	}
	return nil
}

func matrixRow(r *repo.Release, all []*crd.CRD, core int) report.MatrixRow {
	row := report.MatrixRow{Provider: r.Provider.Label(), Version: r.Version}
	for _, c := range contract.Accepted {
		cell := report.MatrixCell{Name: string(c), Missing: []string{}}
		cell.Declared, cell.Missing = contract.Lacks(all, contract.Profile{Core: core, Contract: c})
		cell.Ready = len(cell.Missing) == 0
		row.Cells = append(row.Cells, cell)
	}
	return row
}
