package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
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
--verify-key, SHA256SUMS of the mirror must be signed. Nothing is sent over the
network.`,
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
	switch info, err := os.Stat(env.Path(name)); {
	case err != nil:
		return nil, cli.Usagef("%s: %w; name the folder of a mirror", name, files.Cause(err))
	case !info.IsDir() && !mirror.IsBundle(name):
		return nil, cli.Usagef("%s is a file; name the folder of a mirror, or a bundle, which ends with .tar", name)
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
	trusted, err := keys.Keys(env)
	if err != nil || len(trusted) == 0 || report.Lock == nil && report.Checksums == nil {
		return report, err
	}
	message := "the mirror is not signed; have its owner sign it with mirror --sign-key"
	signed, err := targets.Signed(report.Checksums, report.Signature, trusted)
	if err != nil {
		message = err.Error() + "; get the mirror again, or have its owner sign it again"
	}
	if !signed {
		problem := mirror.Problem{Kind: mirror.Unsigned, Path: layouts.SignatureFile, Message: message}
		report.Problems = append(report.Problems, problem)
	}
	return report, nil
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

// mirrorAt fills in the options for a mirror that is there, as its lock says.
func mirrorAt(env *cli.Env, name string, opts *mirror.Options) (*mirror.Lock, error) {
	if info, err := os.Stat(env.Path(name)); err != nil {
		return nil, cli.Usagef("%s: %w; name the folder of a mirror", name, files.Cause(err))
	} else if !info.IsDir() {
		return nil, cli.Usagef("%s is a file; name the folder of a mirror. A bundle is never changed: write it again", name)
	}
	lock, err := mirror.ReadLock(env.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("%s is not a mirror: it has no %s", name, layouts.LockFile)
	}
	if err != nil {
		return nil, err
	}
	s := lock.Settings
	f := flags{to: name, settings: mirror.Settings{URL: s.URL}}
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
