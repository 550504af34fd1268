package look

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

func contractCheckCommand(env *cli.Env) *cobra.Command {
	var core cli.Core
	var named string
	var f cli.Findings
	var role, settings string
	cmd := &cobra.Command{
		Use:   "check (FILE | FOLDER | -)...",
		Short: "Check CRDs against the contract, without a release",
		Long: `Checks CustomResourceDefinitions against the contract of their role: files,
folders with YAML or JSON such as config/crd/bases, or "-" for standard input.
All are judged together, by the rules that lint applies to the CRDs of a release.

The role of each kind is the one in which templates, classes or samples among the
files use it. Of other kinds it is recognized by name and fields, or given by
--role. The text names every kind with the role in which it was judged, or why it
was not. If none was, the exit code is 3.

The contract is the one whose label the CRDs have; if none of them has a label,
because the build adds it later, the one with the fewest missing fields.`,
		Example: `  clusterctl-repo contract check config/crd/bases

  # With objects that use the kinds, where names do not tell their roles
  clusterctl-repo contract check config/crd/bases config/samples templates

  # What the generator writes, before it is a file
  controller-gen crd paths=./api/... output:crd:stdout \
      | clusterctl-repo contract check -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("name files or folders with CRDs, or \"-\" for standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var o rules.CRDOptions
			var err error
			if o.Profile, err = core.Profile(named); err != nil {
				return err
			}
			if role != "" {
				if o.Role, err = contract.ParseRole(role); err != nil {
					return cli.UsageError(err)
				}
			}
			if o.Severity, err = targets.Severities(env, settings); err != nil {
				return err
			}
			files, err := definitionFiles(env, args)
			if err != nil {
				return err
			}
			r, err := rules.CheckCRDs(cmd.Context(), files, o)
			if errors.Is(err, rules.ErrNoDefinitions) {
				return cli.UsageError(fmt.Errorf("%s: %w%s", phrase.Few(args, 10), err, otherFolders(env, args)))
			}
			if err != nil {
				return err
			}
			r.Command, r.Subject = "contract check", fmt.Sprintf("the CRDs of %s", phrase.Few(args, 10))
			if err := f.Judge(env, r, report.Options{}); err != nil || slices.ContainsFunc(r.Kinds, (*contract.Kind).Described) {
				return err
			}
			return cli.Exit(cli.ExitFailed, fmt.Errorf("nothing was judged: no kind has a role in the contracts; name files that use the kinds as well, or give their role with --role"))
		},
	}
	cmd.Flags().StringVar(&named, "contract", "", "")
	flags := cmd.Flags()
	flags.StringVar(&role, "role", "", "")
	flags.StringVar(&settings, "config", "", "")
	core.Bind(cmd.Flags())
	f.Bind(flags)
	return cmd
}

// otherFolders names folders with definitions below those that were given.
func otherFolders(env *cli.Env, args []string) string {
	var found []string
	for _, name := range args {
		if name != "-" {
			found = append(found, phrase.List(rules.CRDFolders(env.Path(name)), env.Short)...)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; there are some in " + strings.Join(found, ", ")
}

// definitionFiles reads the arguments of contract check.
func definitionFiles(env *cli.Env, args []string) ([]rules.CRDFile, error) {
	var out []rules.CRDFile
	for _, name := range args {
		if name == "-" {
			data, err := env.ReadInput()
			if err != nil {
				return nil, err
			}
			out = append(out, rules.CRDFile{Name: "-", Data: data})
			continue
		}
		found, err := rules.ReadCRDs(env.Path(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Usagef("%s: %w", filepath.ToSlash(name), files.Cause(err))
		}
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			f.Name = env.Short(f.Name)
			out = append(out, f)
		}
	}
	return out, nil
}
