package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
)

func (a *app) mirrorVerifyCommand() *cobra.Command {
	var keys verification
	out := outputs{formats: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "verify DIR|BUNDLE",
		Short: "Check a mirror offline against its lock file, checksums and signatures",
		Long: `Reads every file of a mirror and compares it with mirror.lock.json and
SHA256SUMS; a bundle is read without being unpacked. Missing, damaged and
unexpected files are findings, and so is what a stopped run left. With
--verify-key, SHA256SUMS of the mirror must be signed, or else every release in
it, and the files beside them must be what mirror makes of these. Nothing is sent
over the network.`,
		Example: `  clusterctl-repo mirror verify /srv/mirror
  clusterctl-repo mirror verify /srv/mirror --verify-key cosign.pub -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			report, err := a.checkMirror(cmd.Context(), args[0], &keys)
			if err != nil {
				return err
			}
			if err := a.write(outs, func(w io.Writer, format string, _ bool) error { return a.writeMirrorReport(w, format, report) }); err != nil {
				return err
			}
			if len(report.Problems) > 0 {
				return &codeError{exitFindings, nil}
			}
			return nil
		},
	}
	keys.flag(cmd)
	out.flag(cmd)
	return cmd
}

// checkMirror checks a mirror in a folder. What makes it unusable as a mirror
// is an error.
func (a *app) checkMirror(ctx context.Context, name string, keys *verification) (*mirror.Report, error) {
	dir := a.path(name)
	if info, err := os.Stat(dir); err == nil && !info.IsDir() && mirror.IsBundle(name) {
		return a.checkBundle(ctx, name, keys)
	}
	report, err := mirror.Check(ctx, dir, mirror.DefaultJobs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage(err)
	}
	if err != nil || !keys.given() {
		return report, err
	}
	signed, err := keys.signed(a, report.Checksums, report.Signature)
	if err != nil || signed {
		return report, err
	}
	return report, a.checkReleases(ctx, name, keys, report)
}

// signed reports whether the checksums of a mirror are signed with a key that is
// trusted for every provider; false without one. That replaces the signatures of
// the releases, but not their provenance.
func (v *verification) signed(a *app, sums, sig []byte) (bool, error) {
	demands, err := v.demands(a)
	if err != nil || demands == nil || demands.RequireProvenance || sig == nil {
		return false, err
	}
	var public []*sign.PublicKey
	for _, k := range demands.Keys {
		if len(k.Providers) == 0 {
			public = append(public, k.PublicKey)
		}
	}
	return signedBy(sums, sig, public), nil
}

// checkBundle checks a bundle without unpacking it.
func (a *app) checkBundle(ctx context.Context, name string, keys *verification) (*mirror.Report, error) {
	report := &mirror.Report{Problems: []mirror.Problem{}, Notes: []string{}}
	damaged := func(err error) (*mirror.Report, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		report.Problems = append(report.Problems, mirror.Problem{Kind: mirror.Damaged, Path: name, Message: err.Error() + "; carry the bundle over again"})
		return report, nil
	}
	b, err := mirror.OpenBundle(a.path(name))
	if err != nil {
		return damaged(err)
	}
	defer b.Close()
	wants, lock, err := mirror.Carried(b)
	if err != nil {
		return damaged(err)
	}
	report.Lock, report.Releases, report.Files = lock, len(lock.Releases), len(b.Names())
	if report.Bytes, err = b.Verify(ctx); err != nil {
		return damaged(err)
	}
	for _, n := range lock.Requires {
		report.Notes = append(report.Notes, fmt.Sprintf("it is a difference, and the other side has to have %s %s", n.Provider, n.Version))
	}
	for _, stranger := range mirror.Strangers(lock, b.Names()) {
		report.Problems = append(report.Problems, mirror.Problem{Kind: mirror.Unexpected, Path: name, Message: stranger + " belongs to no release in " + layouts.LockFile + ", and no run of mirror writes it; make the bundle anew"})
	}
	demands, err := keys.demands(a)
	if err != nil || demands == nil {
		return report, err
	}
	if signed, err := keys.signed(a, b.Checksums, b.Signature); err != nil || signed {
		return report, err
	}
	for i, w := range wants {
		r, err := w.From.Fetch(ctx, lock.Releases[i].Version)
		if err == nil {
			_, err = a.approve(ctx, demands, r, lock.Releases[i].Identity())
		}
		if err != nil {
			l := lock.Releases[i]
			report.Problems = append(report.Problems, mirror.Problem{Kind: mirror.Unsigned, Path: name, Message: err.Error(), Provider: l.Provider, Version: l.Version})
		}
	}
	return report, nil
}

func signedBy(sums, sig []byte, keys []*sign.PublicKey) bool {
	if raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(sig))); err == nil {
		sig = raw
	}
	for _, k := range keys {
		if k.Verify(sums, sig) {
			return true
		}
	}
	return false
}

// checkReleases verifies the signature of every release of a mirror.
func (a *app) checkReleases(ctx context.Context, name string, keys *verification, report *mirror.Report) error {
	demands, err := keys.demands(a)
	if err != nil || demands == nil {
		return err
	}
	if report.Lock == nil {
		return nil
	}
	var opts mirror.Options
	if _, err := a.mirrorAt(name, &opts); err != nil {
		return err
	}
	for _, l := range report.Lock.Releases {
		at := mirror.Problem{Kind: mirror.Unsigned, Path: filepath.ToSlash(filepath.Join(report.Lock.Settings.Folder, l.Provider, l.Version)), Provider: l.Provider, Version: l.Version}
		p := l.Identity()
		to, err := opts.To.Of(p)
		if err != nil {
			return err
		}
		r, err := to.Fetch(ctx, l.Version)
		if errors.Is(err, fs.ErrNotExist) {
			continue // reported as missing
		}
		if err == nil {
			_, err = a.approve(ctx, demands, r, p)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			at.Message = fmt.Sprintf("%v; sign the mirror with mirror --sign-key, or remove the release with mirror prune", err)
			report.Problems = append(report.Problems, at)
		}
	}
	if len(report.Problems) > 0 {
		return nil
	}
	// No signature covers the files beside the releases, so they must follow from
	// them.
	differ, err := mirror.Derived(ctx, opts)
	for _, file := range differ {
		report.Problems = append(report.Problems, mirror.Problem{Kind: mirror.Unsigned, Path: file, Message: "it is not what mirror makes of the releases here, and the mirror is not signed; run mirror repair"})
	}
	if s := report.Lock.Settings; s.ImageRegistry != "" {
		report.Notes = append(report.Notes, fmt.Sprintf("clusterctl takes images from %s; the mirror is not signed, so check that this is meant", s.ImageRegistry))
	}
	if report.Lock.Settings.Images {
		report.Notes = append(report.Notes, "the container images in "+layouts.ImagesFolder+" are not signed; sign the mirror with mirror --sign-key")
	}
	return err
}

// mirrorDocument is what mirror verify writes as JSON.
var mirrorDocument = report.Document{Kind: "mirror-verify", Version: 1, Body: mirror.Report{}, Title: "what is wrong with a mirror"}

// writeMirrorReport prints what mirror verify found.
func (a *app) writeMirrorReport(w io.Writer, format string, r *mirror.Report) error {
	if format == "json" {
		return mirrorDocument.Write(w, nil, r)
	}
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s: %s: %s\n", p.Path, p.Kind, p.Message)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	word := "the mirror is whole"
	if n := len(r.Problems); n > 0 {
		word = fmt.Sprintf("%d problems", n)
	}
	fmt.Fprintf(&b, "%s: %d releases, %d files, %d bytes\n", word, r.Releases, r.Files, r.Bytes)
	text := a.printableLines(b.String())
	_, err := io.WriteString(w, text)
	return err
}

// printableLines is printable for several lines.
func (a *app) printableLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if body, ok := strings.CutSuffix(line, "\n"); ok {
			lines[i] = a.printable(body) + "\n"
		}
	}
	return strings.Join(lines, "")
}

// mirrorAt fills in the options for a mirror that is there, as its lock says.
func (a *app) mirrorAt(name string, opts *mirror.Options) (*mirror.Lock, error) {
	lock, err := mirror.ReadLock(a.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage(err)
	}
	if err != nil {
		return nil, err
	}
	s := lock.Settings
	f := mirrorFlags{to: name, url: s.URL, maxWait: 15 * time.Minute}
	switch {
	case s.To != "":
		f.to, f.out = s.To, name
	case s.Folder == open.StaticFolder:
		f.to = "static:" + name
	case s.Folder != "":
		return nil, fmt.Errorf("%s: unknown folder %q for the releases", layouts.LockFile, s.Folder)
	}
	return lock, a.mirrorTo(&f, opts)
}

func (a *app) mirrorRepairCommand() *cobra.Command {
	var from []string
	var key attestation
	var verify verification
	cmd := &cobra.Command{
		Use:   "repair DIR",
		Short: "Restore what is missing or damaged in a mirror",
		Long: `Copies again what is missing or damaged in a mirror, from where the lock file
says that it came from, or from the TARGETs of --from, and writes the files
beside the releases anew. Only the content of the lock file is accepted. Each
release is replaced in one step. After the mirror was moved, repair makes its
clusterctl.yaml default to the new place. With --sign-key, the mirror must have
been signed with that key, or else its releases with one that is trusted.`,
		Example: `  clusterctl-repo mirror repair /srv/mirror
  clusterctl-repo mirror repair /srv/mirror --from /media/usb/mirror`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.repair(cmd.Context(), args[0], from, &key, &verify)
		},
	}
	cmd.Flags().StringArrayVar(&from, "from", nil, "read from this `TARGET` instead of the place in the lock file; may be repeated")
	key.flag(cmd)
	verify.flag(cmd)
	return cmd
}

func (a *app) repair(ctx context.Context, name string, from []string, key *attestation, verify *verification) error {
	report, err := a.checkMirror(ctx, name, &verification{})
	if err != nil {
		return err
	}
	if report.Lock == nil {
		return fmt.Errorf("%s cannot be used to repair the mirror: it is missing or damaged; restore it from a copy, or move the mirror away and mirror again", layouts.LockFile)
	}
	opts := mirror.Options{Repair: true}
	if _, err := a.mirrorAt(name, &opts); err != nil {
		return err
	}
	if err := a.credible(key, verify, &opts); err != nil {
		return err
	}
	var given []mirror.Want
	var read mirrorFlags
	defer read.close()
	for _, arg := range from {
		more, isBundle, err := a.wantsOfBundle(&read, arg, &mirror.Options{})
		if err == nil && !isBundle {
			more, err = a.wantsOf(ctx, arg, nil)
		}
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		given = append(given, more...)
	}
	var wants []mirror.Want
	for _, l := range report.Broken {
		w, err := a.wantAgain(ctx, &l, given)
		if err != nil {
			return err
		}
		if w.From.String() != l.Source {
			w.From = mirror.Named(w.From, l.Source)
		}
		w.Provider, w.Version = l.Identity(), mirror.Exactly(l.Version)
		wants = append(wants, w)
	}
	a.bringImages(&read, &opts)
	if err := forgetBlobs(a.path(name), report); err != nil {
		return err
	}
	if _, err := a.runMirror(ctx, wants, opts); err != nil {
		return err
	}
	left, err := a.checkMirror(ctx, name, &verification{})
	if err != nil {
		return err
	}
	if err := a.writeMirrorReport(a.text, "text", left); err != nil {
		return err
	}
	if len(left.Problems) > 0 {
		return &codeError{exitFindings, nil}
	}
	return nil
}

// forgetBlobs removes damaged parts of images, which are then fetched again:
// their names say what they should be.
func forgetBlobs(dir string, report *mirror.Report) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range report.Problems {
		if p.Kind == mirror.Damaged && strings.HasPrefix(p.Path, layouts.ImagesFolder+"/") {
			if err := root.Remove(p.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// wantAgain finds where a release of the lock can be read once more.
func (a *app) wantAgain(ctx context.Context, l *mirror.Locked, given []mirror.Want) (mirror.Want, error) {
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
		return mirror.Want{}, fmt.Errorf("%s %s is not whole, and no --from has it; name one that does", l.Provider, l.Version)
	}
	source := l.Source
	if isURL(source) {
		at := source + "/" + l.Version + "/" + l.Components
		switch {
		case strings.Contains(source, "@sha256:"):
			at = source
		case strings.HasPrefix(source, "oci://"):
			at = source + ":" + l.Version
		}
		w, err := a.wantURL(at, l.Identity(), l.Version)
		w.File = cmp.Or(w.File, l.Components)
		return w, err
	}
	wants, err := a.wantsOf(ctx, source, nil)
	if err != nil {
		return mirror.Want{}, fmt.Errorf("%s %s came from %s, which cannot be read: %w; name another place with --from", l.Provider, l.Version, source, err)
	}
	return a.wantAgain(ctx, l, wants)
}

func (a *app) mirrorPruneCommand() *cobra.Command {
	var keep int
	var unlisted, dryRun bool
	var key attestation
	var verify verification
	cmd := &cobra.Command{
		Use:   "prune DIR [LABEL@VERSION]...",
		Short: "Remove releases and leftovers from a mirror",
		Long: `Removes the named versions or ranges, and with --keep all but the newest
versions of each provider. clusterctl.yaml, the lock file, the list of images
and the checksums are written anew. What stopped runs left is always removed,
and with --unlisted also every file that is in no list. With --sign-key, the
mirror must have been signed with that key, or else its releases with one that
is trusted.`,
		Example: `  # Only the three newest versions of each provider stay
  clusterctl-repo mirror prune /srv/mirror --keep 3
  clusterctl-repo mirror prune /srv/mirror 'infrastructure-aws@<2.8' --dry-run`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("keep") && keep < 1 {
				return usagef("--keep %d: at least one version must stay", keep)
			}
			if verify.given() && key.keyFile == "" {
				return usagef("--verify-key, --policy and --require-provenance say what may be signed, so they need --sign-key")
			}
			ctx, dir := cmd.Context(), args[0]
			var opts mirror.Options
			lock, err := a.mirrorAt(dir, &opts)
			if err != nil {
				return err
			}
			if err := a.credible(&key, &verify, &opts); err != nil {
				return err
			}
			a.bringImages(&mirrorFlags{}, &opts)
			if opts.Apart {
				return usagef("the releases of %s are in %s; only those in a folder can be removed", dir, lock.Settings.To)
			}
			gone, err := pruned(lock, args[1:], keep)
			if err != nil {
				return err
			}
			var extra []string
			if unlisted {
				report, err := mirror.Check(ctx, a.path(dir), mirror.DefaultJobs)
				if err != nil {
					return err
				}
				for _, p := range report.Problems {
					if p.Kind == mirror.Unexpected {
						extra = append(extra, p.Path)
					}
				}
			}
			verb := "would remove"
			if !dryRun {
				verb = "removed"
				result, err := mirror.Prune(ctx, gone, extra, opts)
				if err != nil {
					return err
				}
				a.tellMirror(result, opts.Dir)
			}
			for _, l := range gone {
				a.say("%s %s %s", verb, l.Provider, l.Version)
			}
			for _, name := range extra {
				a.say("%s %s", verb, name)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "how many versions of each provider stay")
	cmd.Flags().BoolVar(&unlisted, "unlisted", false, "also remove files that are in no list of the mirror")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be removed")
	key.flag(cmd)
	verify.flag(cmd)
	return cmd
}

// pruned are the releases that the arguments of prune mean, each once.
func pruned(lock *mirror.Lock, args []string, keep int) (out []mirror.Locked, err error) {
	seen := map[[2]string]bool{}
	add := func(list []mirror.Locked) {
		for _, l := range list {
			if key := [2]string{l.Provider, l.Version}; !seen[key] {
				seen[key] = true
				out = append(out, l)
			}
		}
	}
	for _, arg := range args {
		label, version, named := strings.Cut(arg, "@")
		p, err := mirror.ParseLabel(label)
		if err != nil {
			return nil, usagef("%s: %w", arg, err)
		}
		s, err := mirror.ParseSelector(version)
		if err != nil {
			return nil, usagef("%s: %w", arg, err)
		}
		if !named || s.IsLatest() {
			return nil, usagef("%s: name the versions to remove, such as %s@v1.2.3 or %s@<2.0", arg, label, label)
		}
		found := lock.Select(p, s)
		if len(found) == 0 {
			return nil, usagef("%s: the mirror holds no such version", arg)
		}
		add(found)
	}
	if keep > 0 {
		add(lock.Keep(keep))
	}
	return out, nil
}
