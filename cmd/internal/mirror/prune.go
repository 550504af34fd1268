package mirror

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

func pruneCommand(env *cli.Env) *cobra.Command {
	var keep int
	var unlisted, dryRun bool
	var key targets.Key
	var verify targets.Verification
	cmd := &cobra.Command{
		Use:   "prune FOLDER [LABEL@VERSION]...",
		Short: "Remove releases and leftovers from a mirror",
		Long: `Removes the named versions or ranges, and with --keep all but the newest
versions of each provider. clusterctl.yaml, the lock file, the list of images
and the checksums are rewritten. What interrupted runs left is always
removed, and with --unlisted also every file that is not listed. With
--sign-key, the mirror must have been signed with that key, or else its
releases with one that is trusted. If the releases are not in FOLDER, those that
are already gone from their place can be named, and are only removed from the
lists.`,
		Example: `  # Only the three newest versions of each provider stay
  clusterctl-repo mirror prune /srv/mirror --keep 3
  clusterctl-repo mirror prune /srv/mirror 'infrastructure-aws@<2.8' --dry-run`,
		Annotations: map[string]string{cli.Stepwise: "yes"},
		Args:        cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("keep") && keep < 1 {
				return cli.Usagef("--keep is %d; it must be at least 1", keep)
			}
			if cmd.Flags().Changed("verify-key") && key.File == "" {
				return cli.Usagef("--verify-key says what may be signed, so it needs --sign-key")
			}
			ctx, dir := cmd.Context(), args[0]
			var opts mirror.Options
			lock, err := mirrorAt(env, dir, &opts)
			if err != nil {
				return err
			}
			if err := credible(env, &key, &verify, &opts); err != nil {
				return err
			}
			bringImages(env, &flags{}, &opts)
			begun, err := mirror.Begun(opts.Dir, lock)
			if err != nil {
				return err
			}
			gone, err := pruned(lock, begun, args[1:], keep, unlisted)
			if err != nil {
				return err
			}
			var extra []string
			find := func() ([]string, error) {
				if !unlisted {
					return nil, nil
				}
				report, err := mirror.Check(ctx, env.Path(dir), mirror.DefaultJobs)
				if err != nil {
					return nil, err
				}
				for _, p := range report.Problems {
					if p.Kind == mirror.Unexpected {
						extra = append(extra, p.Path)
					}
				}
				return extra, nil
			}
			verb := "would remove"
			if dryRun {
				_, err = find()
			} else {
				verb = "removed"
				var result *mirror.Result
				if result, err = mirror.Prune(ctx, gone, find, opts); err == nil {
					tellMirror(env, result, opts.Dir)
				}
			}
			if err != nil {
				return err
			}
			if len(gone)+len(extra) == 0 {
				env.Say("no release to remove; name some as LABEL@VERSION, or pass --keep or --unlisted")
			}
			for _, l := range gone {
				env.Say("%s %s %s", verb, l.Provider, l.Version)
			}
			for _, name := range extra {
				env.Say("%s %s", verb, name)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "")
	cmd.Flags().BoolVar(&unlisted, "unlisted", false, "")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "")
	key.Bind(cmd.Flags())
	verify.Bind(cmd.Flags())
	return cmd
}

// pruned are the releases that the arguments of prune mean, each once; those that an
// interrupted run has begun can be named, and are not listed.
func pruned(lock *mirror.Lock, begun []mirror.Locked, args []string, keep int, unlisted bool) (out []mirror.Locked, err error) {
	all := &mirror.Lock{Releases: slices.Concat(lock.Releases, begun)}
	for _, arg := range args {
		label, version, named := strings.Cut(arg, "@")
		p, err := mirror.ParseLabel(label)
		if err != nil {
			return nil, cli.Usagef("%s: %w", arg, err)
		}
		s, err := mirror.ParseSelector(version)
		if err != nil {
			return nil, cli.Usagef("%s: %w", arg, err)
		}
		if !named || s.IsLatest() {
			return nil, cli.Usagef("%s: name the versions to remove, such as %s@v1.2.3 or %s@<2.0", arg, label, label)
		}
		found := s.Of(all, p)
		if len(found) == 0 {
			return nil, cli.Usagef("%s: the mirror does not have this version", arg)
		}
		out = append(out, found...)
	}
	if keep > 0 {
		out = append(out, lock.Keep(keep)...)
	}
	if unlisted {
		out = append(out, begun...)
	}
	return phrase.DistinctBy(out, func(l mirror.Locked) mirror.ReleaseName { return l.ReleaseName }), nil
}
