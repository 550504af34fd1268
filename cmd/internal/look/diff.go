package look

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/diff"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

func DiffCommand(env *cli.Env) *cobra.Command {
	var s targets.Source
	var failOn string
	o := cli.Outputs{Formats: report.InventoryFormats}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show what an upgrade changes",
		Long: `Compares two releases of a provider, each a TARGET: versions and fields of the
APIs, contracts, variables, images, permissions, objects, templates and classes.
A change is breaking if something that works stops working, and needs attention
if it may need a decision or a value. With several providers in both, each is
compared with itself.
` + targets.Help + targets.SourceHelp,
		Example: `  # What would clusterctl upgrade bring?
  releases=https://github.com/acme/cluster-api-provider-acme/releases
  clusterctl-repo diff $releases/v1.2.0/infrastructure-components.yaml \
      $releases/latest/infrastructure-components.yaml

  # Does this source tree break its users? For a pull request
  clusterctl-repo diff /srv/repository/infrastructure-acme/v1.2.0 . \
      --fail-on breaking`,
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
				return cli.Usagef("--fail-on is %q; it must be breaking, attention or never", failOn)
			}
			sides, err := sides(cmd.Context(), env, args, &s)
			if err != nil {
				return err
			}
			all, compareErr := compareReleases(cmd.Context(), sides[0], sides[1])
			if len(all) == 0 && compareErr != nil {
				return compareErr
			}
			if err := env.Write(&o, func(w io.Writer, format string, _ term.Style) error {
				return report.WriteDiff(w, format, all, files.Parts(compareErr)...)
			}); err != nil {
				return err
			}
			if compareErr != nil {
				return compareErr
			}
			if report.Heaviest(all) >= level {
				return cli.Exit(cli.ExitFindings, nil)
			}
			return nil
		},
	}
	s.Bind(cmd.Flags())
	cmd.Flags().StringVar(&failOn, "fail-on", "never", "breaking, attention, never")
	o.Bind(cmd.Flags())
	return cmd
}

// sides opens what is compared. How to build a source tree does not concern a release
// next to it, and a tree that is built in memory has no checksums or provenance to
// compare.
func sides(ctx context.Context, env *cli.Env, names []string, s *targets.Source) (sides [2][]*repo.Release, err error) {
	var finished [2]bool
	for i, name := range names {
		if !open.IsURL(name) {
			_, err := folder.Open(ctx, env.Path(name))
			finished[i] = err == nil
		}
	}
	built := false
	for i, name := range names {
		of := s
		if finished[i] && !finished[1-i] {
			of = &targets.Source{Providers: s.Providers}
		}
		t, err := targets.Open(ctx, env, name, of)
		if err == nil {
			err = t.Unlisted() // a file that is not known would be a difference
		}
		if err != nil {
			return sides, err
		}
		if sides[i], err = t.Newest(); err != nil {
			return sides, err
		}
		built = built || t.Built
		if t.Built && s.Version == "" {
			env.Say("info: %s is built as the first version of its newest release series; pass --version to build another version", name)
		}
	}
	if built {
		for _, side := range sides {
			for _, r := range side {
				r.Artifacts = slices.DeleteFunc(r.Artifacts, func(f *repo.Artifact) bool { return layouts.KindOfFile(f.Name).Attests() })
			}
		}
	}
	return sides, nil
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
			var err error
			c.Changes, err = diff.Releases(ctx, from, to)
			failures = append(failures, err)
		}
		all = append(all, c)
	}
	if len(old) == 1 && len(new) == 1 {
		if p, q := old[0].Provider, new[0].Provider; p != q {
			return nil, cli.Usagef("cannot compare %s, a release of %s, with %s, a release of %s", old[0].Path, p, new[0].Path, q)
		}
		add(old[0], new[0])
		return all, errors.Join(failures...)
	}
	find := func(list []*repo.Release, r *repo.Release) *repo.Release {
		return phrase.First(list, func(other *repo.Release) bool { return other.Provider == r.Provider })
	}
	for _, r := range old {
		add(r, find(new, r))
	}
	for _, r := range new {
		if find(old, r) == nil {
			add(nil, r)
		}
	}
	if len(all) == len(old)+len(new) {
		return nil, cli.Usagef("the two sides share no provider")
	}
	return all, errors.Join(failures...)
}
