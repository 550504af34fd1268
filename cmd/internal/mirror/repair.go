package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
)

func repairCommand(env *cli.Env) *cobra.Command {
	var from []string
	var key targets.Key
	var verify targets.Verification
	cmd := &cobra.Command{
		Use:   "repair FOLDER",
		Short: "Restore what is missing or damaged in a mirror",
		Long: `Copies again what is missing or damaged in a mirror, from where the lock file
says that it came from, or from the TARGETs of --from, and rewrites the other
files of the mirror. Only the content of the lock file is accepted. Each
release is replaced in one step. After the mirror was moved, repair makes its
clusterctl.yaml default to the new place. With --sign-key, the mirror must have
been signed with that key, or else its releases with one that is trusted.`,
		Example: `  clusterctl-repo mirror repair /srv/mirror
  clusterctl-repo mirror repair /srv/mirror --from /media/usb/mirror`,
		Annotations: map[string]string{cli.Stepwise: "yes"},
		Args:        cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return repair(cmd.Context(), env, args[0], from, &key, &verify)
		},
	}
	cmd.Flags().StringArrayVar(&from, "from", nil, "")
	key.Bind(cmd.Flags())
	verify.Bind(cmd.Flags())
	return cmd
}

func repair(ctx context.Context, env *cli.Env, name string, from []string, key *targets.Key, verify *targets.Verification) error {
	opts := mirror.Options{Repair: true}
	if _, err := mirrorAt(env, name, &opts); err != nil {
		return err
	}
	report, err := checkMirror(ctx, env, name, &targets.Verification{})
	if err != nil {
		return err
	}
	if err := credible(env, key, verify, &opts); err != nil {
		return err
	}
	var given []mirror.Want
	var read flags
	defer read.close()
	for _, arg := range from {
		more, isBundle, err := wantsOfBundle(env, &read, arg, &mirror.Options{})
		if err == nil && !isBundle {
			more, err = wantsOf(ctx, env, arg, nil, verify)
		}
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		given = append(given, more...)
	}
	var wants []mirror.Want
	for _, l := range report.Broken {
		w, err := wantAgain(ctx, env, &l, given, verify)
		if err != nil {
			return err
		}
		if w.From.String() != l.Source {
			w.From = mirror.Named{Source: w.From, Name: l.Source}
		}
		w.Provider, w.Version = l.Identity(), mirror.Exactly(l.Version)
		wants = append(wants, w)
	}
	for _, p := range report.Problems {
		if part, ok := strings.CutPrefix(p.Path, layouts.ImagesFolder+"/"); ok && p.Kind == mirror.Damaged {
			read.suspects = append(read.suspects, part)
		}
	}
	bringImages(env, &read, &opts)
	if _, err := runMirror(ctx, env, wants, opts, finishIt); err != nil {
		return err
	}
	left, err := checkMirror(ctx, env, name, &targets.Verification{})
	if err != nil {
		return err
	}
	if err := writeMirrorReport(env, env.Text, "text", left); err != nil {
		return err
	}
	if len(left.Problems) > 0 {
		return cli.Exit(cli.ExitFindings, nil)
	}
	return nil
}

// wantAgain finds where a release of the lock can be read once more.
func wantAgain(ctx context.Context, env *cli.Env, l *mirror.Locked, given []mirror.Want, verify *targets.Verification) (mirror.Want, error) {
	for _, w := range given {
		if w.Provider != (layouts.Provider{}) && w.Provider != l.Identity() {
			continue
		}
		if _, err := w.From.Fetch(ctx, l.Version); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return w, err
		}
		w.File = cmp.Or(w.File, l.Components)
		return w, nil
	}
	if len(given) > 0 {
		return mirror.Want{}, fmt.Errorf("%s %s is incomplete, and no --from has it; name one that does", l.Provider, l.Version)
	}
	source := l.Source
	if open.IsURL(source) {
		at := source + "/" + l.Version + "/" + l.Components
		switch {
		case strings.Contains(source, "@sha256:"):
			at = source
		case strings.HasPrefix(source, "oci://"):
			at = source + ":" + l.Version
		}
		w, err := wantURL(env, at, l.Identity(), l.Version, verify)
		w.File = cmp.Or(w.File, l.Components)
		return w, err
	}
	wants, err := wantsOf(ctx, env, source, nil, verify)
	if err != nil {
		return mirror.Want{}, fmt.Errorf("%s %s came from %s, which cannot be read: %w; name another place with --from", l.Provider, l.Version, source, err)
	}
	return wantAgain(ctx, env, l, wants, verify)
}
