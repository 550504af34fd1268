package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// Findings is how verbs report findings: the flags -o and --fail-on.
type Findings struct {
	Outputs
	// Level is the severity from which on the exit code is 1; above Error for never.
	Level lint.Severity
	// Least is the severity from which on findings are shown.
	Least  lint.Severity
	failOn string
}

func (f *Findings) Bind(flags *pflag.FlagSet) {
	f.Formats = report.FindingsFormats
	f.bind(flags, f.Settle)
	flags.StringVar(&f.failOn, "fail-on", "error", "")
}

// BindLevel adds only --fail-on, of which never is the default, for findings that are printed
// as text; Settle checks it.
func (f *Findings) BindLevel(flags *pflag.FlagSet) {
	f.Formats = []string{"text"}
	flags.StringVar(&f.failOn, "fail-on", "never", "")
}

// Settle checks both flags; Env.Check calls it if both are bound.
func (f *Findings) Settle() error {
	var err error
	if f.failOn == "never" {
		f.Level = lint.Error + 1
	} else if f.Level, err = lint.ParseSeverity(f.failOn); err != nil || f.Level == lint.Off {
		return Usagef("--fail-on is %q; it must be error, warning, info or never", f.failOn)
	}
	return f.Outputs.Parse()
}

// Judge prints a report on repositories, with options, and turns it into an exit code.
func (f *Findings) Judge(e *Env, all *lint.Report, options report.Options, repositories ...*repo.Repository) error {
	r := *all
	r.Findings = slices.DeleteFunc(slices.Clone(all.Findings), func(one lint.Finding) bool { return one.Severity < f.Least })
	r.Rest = slices.DeleteFunc(slices.Clone(all.Rest), func(rest lint.Rest) bool { return rest.Severity < f.Least })
	if n := len(all.Findings) - len(r.Findings); n > 0 {
		e.Say("%d findings below --min-severity are not shown", n)
	}
	options.Below = e.belowRoot()
	err := e.summarize(f, &r, options)
	err = errors.Join(err, e.Write(&f.Outputs, func(w io.Writer, format string, style term.Style) error {
		options.Paint, options.Version = style, e.Version
		return report.WriteFindings(w, format, &r, options)
	}))
	for _, failure := range r.Failures {
		e.Complain(failure)
	}
	// That the job was not done, because the report is incomplete or could not be
	// written, weighs more than findings.
	switch {
	case err != nil:
		return Exit(ExitFailed, err)
	case len(r.Failures) > 0:
		return Exit(ExitFailed, nil)
	case all.Worst() >= f.Level:
		return Exit(ExitFindings, nil)
	}
	return nil
}

// belowRoot is the path of the working directory in the repository that GitHub
// shows: below GITHUB_WORKSPACE, or else below the folder with .git. It is empty if
// there is none.
func (e *Env) belowRoot() string {
	root, _ := e.LookupEnv("GITHUB_WORKSPACE")
	below := func() string {
		rel, err := filepath.Rel(root, e.Dir)
		if root == "" || err != nil || !filepath.IsLocal(rel) {
			return ""
		}
		return filepath.ToSlash(rel)
	}
	if rel := below(); rel != "" {
		return rel
	}
	for root = e.Dir; ; root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			return below()
		}
		if root == filepath.Dir(root) {
			return ""
		}
	}
}

// summarize adds the summary that GitHub shows for a job, if annotations are
// asked for in one.
func (e *Env) summarize(to *Findings, r *lint.Report, options report.Options) error {
	name, ok := e.LookupEnv("GITHUB_STEP_SUMMARY")
	if !ok || name == "" || !to.Has("github") {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		used := int64(0) // by other runs of the same step
		if info, err := f.Stat(); err == nil {
			used = info.Size()
		}
		w := term.NewWriter(f, term.Text)
		err = errors.Join(report.WriteGitHubSummary(w, r, options, int(used)), w.Flush(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the summary that GITHUB_STEP_SUMMARY names: %w", files.Cause(err))
	}
	return nil
}
