package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror/documents"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
)

func verifyCommand(env *cli.Env) *cobra.Command {
	var keys targets.Verification
	o := cli.Outputs{Formats: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "verify FOLDER|BUNDLE",
		Short: "Check a mirror offline against its lock file, checksums and signatures",
		Long: `Reads every file of a mirror and compares it with mirror.lock.json and
SHA256SUMS; a bundle is read without being unpacked. Missing, damaged and
unexpected files are findings, and so is what a stopped run left. With
--verify-key, SHA256SUMS of the mirror must be signed, or else every release in
it, and the other files must be what mirror makes of these. Nothing is sent
over the network.`,
		Example: `  clusterctl-repo mirror verify /srv/mirror
  clusterctl-repo mirror verify /srv/mirror --verify-key cosign.pub -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := checkMirror(cmd.Context(), env, args[0], &keys)
			if err != nil {
				return err
			}
			if err := env.Write(&o, func(w io.Writer, format string, _ term.Style) error { return writeMirrorReport(env, w, format, report) }); err != nil {
				return err
			}
			if len(report.Problems) > 0 {
				return cli.Exit(cli.ExitFindings, nil)
			}
			return nil
		},
	}
	keys.Bind(cmd.Flags())
	o.Bind(cmd.Flags())
	return cmd
}

// checkMirror checks a mirror in a folder or bundle. What makes it unusable as a
// mirror is an error.
func checkMirror(ctx context.Context, env *cli.Env, name string, keys *targets.Verification) (*mirror.Report, error) {
	if err := present(env, name); err != nil {
		return nil, err
	}
	report, err := mirror.Check(ctx, env.Path(name), mirror.DefaultJobs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("%s is not a mirror: it has neither %s nor %s", name, layouts.LockFile, layouts.ChecksumFile)
	}
	if err != nil {
		return nil, err
	}
	for i, p := range report.Problems {
		if p.Path == env.Path(name) {
			report.Problems[i].Path = name // the bundle as a whole
		}
	}
	if !keys.Given() || report.Lock == nil && report.Checksums == nil {
		return report, nil
	}
	signed, err := keys.Signed(env, report.Checksums, report.Signature)
	if wrong, ok := errors.AsType[*sign.SignatureError](err); ok {
		message := wrong.Error()
		if len(wrong.Keys) > 0 {
			message += "; get the mirror again, or have its owner sign it again"
		}
		report.Problems = append(report.Problems, mirror.Problem{Kind: mirror.Unsigned, Path: layouts.SignatureFile, Message: message})
		return report, nil
	}
	if err != nil || signed {
		return report, err
	}
	return report, checkReleases(ctx, env, name, keys, report)
}

// checkReleases verifies the signature of every release of a mirror.
func checkReleases(ctx context.Context, env *cli.Env, name string, keys *targets.Verification, report *mirror.Report) error {
	demands, err := keys.Demands(env)
	if err != nil || demands == nil {
		return err
	}
	if report.Lock == nil {
		return nil
	}
	var opts mirror.Options
	if _, err := mirrorAt(env, name, &opts); err != nil {
		return err
	}
	reading, err := opts.Reading()
	if err != nil {
		return err
	}
	defer reading.Close()
	for _, l := range report.Lock.Releases {
		folder := filepath.ToSlash(filepath.Join(report.Lock.Settings.Folder, l.Provider, l.Version))
		at := mirror.Problem{Kind: mirror.Unsigned, Path: folder, Provider: l.Provider, Version: l.Version}
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
			_, err = targets.Approve(ctx, env, demands, r, p)
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
	// No signature covers the files next to the releases, so they must follow from
	// them.
	differ, err := mirror.Derived(ctx, opts)
	for _, file := range differ {
		report.Problems = append(report.Problems, mirror.Problem{Kind: mirror.Unsigned, Path: file, Message: "it is not what mirror makes of the releases here, and the mirror is not signed; run mirror repair"})
	}
	if s := report.Lock.Settings; s.ImageRegistry != "" {
		report.Notes = append(report.Notes, fmt.Sprintf("clusterctl takes images from %s; the mirror is not signed, so check that this is intended", s.ImageRegistry))
	}
	if report.Lock.Settings.Images {
		report.Notes = append(report.Notes, "the container images in "+layouts.ImagesFolder+" are not signed; sign the mirror with mirror --sign-key")
	}
	return err
}

// VerifyDocument is what mirror verify writes as JSON.
var VerifyDocument = report.Document{Kind: "mirror-verify", Version: 1, Body: mirror.Report{}, Title: "what is wrong with a mirror"}

// writeMirrorReport prints what mirror verify found.
func writeMirrorReport(env *cli.Env, w io.Writer, format string, r *mirror.Report) error {
	if format == "json" {
		return VerifyDocument.Write(w, nil, r)
	}
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s: %s: %s\n", p.Path, p.Kind, p.Message)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "info: %s\n", n)
	}
	word := "the mirror is whole"
	if n := len(r.Problems); n > 0 {
		word = phrase.Count(n, "problem")
	}
	fmt.Fprintf(&b, "%s: %s, %s, %s\n", word, phrase.Count(r.Releases, "release"), phrase.Count(r.Files, "file"), phrase.Count(r.Bytes, "byte"))
	_, err := io.WriteString(w, env.Printable(b.String()))
	return err
}

// present refuses an argument that is neither a folder nor a bundle.
func present(env *cli.Env, name string) error {
	switch info, err := os.Stat(env.Path(name)); {
	case err != nil:
		return cli.Usagef("%s: %w; name the folder of a mirror", name, files.Cause(err))
	case !info.IsDir() && !mirror.IsBundle(name):
		return cli.Usagef("%s is a file; name the folder of a mirror, or a bundle, which ends with .tar", name)
	}
	return nil
}

// mirrorAt fills in the options for a mirror that is there, as its lock says.
func mirrorAt(env *cli.Env, name string, opts *mirror.Options) (*documents.Lock, error) {
	if info, err := os.Stat(env.Path(name)); err == nil && !info.IsDir() && mirror.IsBundle(name) {
		f := flags{to: name, maxWait: cli.UsualWait}
		if err := bundleTo(env, &f, opts); err != nil {
			return nil, err
		}
		b, err := mirror.OpenBundle(opts.Bundle)
		if err != nil {
			return nil, err
		}
		defer b.Close()
		_, lock, err := mirror.Carried(b)
		if err != nil {
			return nil, err
		}
		return lock, mirrorTo(env, &f, opts)
	}
	if err := present(env, name); err != nil {
		return nil, err
	}
	lock, err := mirror.ReadLock(env.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("%s is not a mirror: it has no %s", name, layouts.LockFile)
	}
	if err != nil {
		return nil, err
	}
	s := lock.Settings
	f := flags{to: name, settings: documents.Settings{URL: s.URL}, maxWait: cli.UsualWait}
	switch {
	case s.To != "":
		f.to, f.out = s.To, name
	case s.Folder == open.StaticFolder:
		f.to = "static:" + name
	case s.Folder != "":
		return nil, fmt.Errorf("%s: unknown folder %q for the releases", layouts.LockFile, s.Folder)
	}
	return lock, mirrorTo(env, &f, opts)
}
