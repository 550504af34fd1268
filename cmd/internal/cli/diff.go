package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/diff"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

func (a *app) diffCommand() *cobra.Command {
	var s source
	var failOn string
	out := outputs{formats: report.InventoryFormats}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show what an upgrade changes",
		Long: `Compares two releases of a provider, each a TARGET: versions and fields of the
APIs, contracts, variables, images, permissions, objects, templates and classes.
A change is breaking if something that works stops working, and needs attention
if it may need a decision or a value. With several providers in both, each is
compared with itself.
` + targetHelp + sourceHelp,
		Example: `  # What would clusterctl upgrade bring?
  clusterctl-repo diff \
      https://github.com/acme/cluster-api-provider-acme/releases/v1.2.0/infrastructure-components.yaml \
      https://github.com/acme/cluster-api-provider-acme/releases/latest/infrastructure-components.yaml

  # Does this source tree break its users? For a pull request
  clusterctl-repo diff /srv/repository/infrastructure-acme/v1.2.0 . --fail-on breaking`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			level := diff.Breaking + 1
			switch failOn {
			case diff.Breaking.String():
				level = diff.Breaking
			case diff.Attention.String():
				level = diff.Attention
			case "never":
			default:
				return usagef("--fail-on is %q; it must be breaking, attention or never", failOn)
			}
			outs, err := out.parse()
			if err != nil {
				return err
			}
			var sides [2][]*repo.Release
			for i, name := range args {
				t, err := a.open(cmd.Context(), name, &s)
				if err != nil {
					return err
				}
				if sides[i], err = t.newest(); err != nil {
					return err
				}
			}
			all, compareErr := compareReleases(cmd.Context(), sides[0], sides[1])
			if err := a.write(outs, func(w io.Writer, format string, _ bool) error { return report.WriteDiff(w, format, all) }); err != nil {
				return err
			}
			if compareErr != nil {
				return compareErr
			}
			if report.Heaviest(all) >= level {
				return &codeError{code: exitFindings}
			}
			return nil
		},
	}
	s.flags(cmd)
	cmd.Flags().StringVar(&failOn, "fail-on", "never", "exit with 1 if there is a change of this impact: breaking, attention or never")
	out.flag(cmd)
	return cmd
}

// compareReleases compares the releases of each provider. A provider of one side
// alone is one change; two releases of different providers that
// are alone on their sides are compared all the same.
func compareReleases(ctx context.Context, old, new []*repo.Release) ([]report.Comparison, error) {
	var all []report.Comparison
	var failures []error
	add := func(from, to *repo.Release) {
		c := report.Comparison{Old: from, New: to}
		switch {
		case to == nil:
			c.Changes = []diff.Change{diff.Gone(from.Provider.Label())}
		case from == nil:
			c.Changes = []diff.Change{diff.New(to.Provider.Label())}
		default:
			changes, err := diff.Releases(ctx, from, to)
			c.Changes = changes
			if err != nil {
				failures = append(failures, err)
			}
		}
		all = append(all, c)
	}
	if len(old) == 1 && len(new) == 1 {
		if p, q := old[0].Provider, new[0].Provider; p != q {
			return nil, usagef("%s is a release of %s and %s one of %s; there is nothing to compare", old[0].Path, p, new[0].Path, q)
		}
		add(old[0], new[0])
		return all, errors.Join(failures...)
	}
	find := func(list []*repo.Release, r *repo.Release) *repo.Release {
		for _, other := range list {
			if other.Provider == r.Provider {
				return other
			}
		}
		return nil
	}
	common := 0
	for _, r := range old {
		other := find(new, r)
		if other != nil {
			common++
		}
		add(r, other)
	}
	for _, r := range new {
		if find(old, r) == nil {
			add(nil, r)
		}
	}
	if common == 0 {
		return nil, usage(fmt.Errorf("the two sides have no provider in common"))
	}
	return all, errors.Join(failures...)
}
