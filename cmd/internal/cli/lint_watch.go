package cli

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// watchInterval is how often --watch looks for changes. Files are looked at again
// until two looks in a row find the same, so that a save is not read halfway.
const watchInterval = 250 * time.Millisecond

// watchable refuses targets and reports that cannot be watched.
func watchable(targets []string, outs []output, fix bool) error {
	if fix {
		return usagef("--watch changes no files; leave out --fix")
	}
	for _, o := range outs {
		if o.format != "text" || o.file != "" {
			return usagef("--watch prints text only; leave out -o")
		}
	}
	for _, name := range targets {
		if isURL(name) {
			return usagef("--watch needs folders, but %s is a URL", name)
		}
	}
	return nil
}

// lintAgain checks the targets again after each change of a file, and prints which
// findings are new and which are gone. It ends with ctx.
func (a *app) lintAgain(ctx context.Context, targets []string, o check.Options, known map[string]bool, before *lint.Report, outs []output) error {
	a.say("watching %d files; press Ctrl-C to stop", len(a.files(targets)))
	checked := a.files(targets)
	last := checked
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchInterval):
		}
		now := a.files(targets)
		settled := sameFiles(now, last)
		last = now
		if !settled || sameFiles(now, checked) {
			continue
		}
		checked = now
		start := time.Now()
		r, _, err := a.lint(ctx, targets, o)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			fmt.Fprintf(a.Err, "%s %v\n", a.style.Red("error:"), err)
			continue
		}
		r.Without(known)
		added, gone := changes(before, r)
		if err := a.judge(&lint.Report{Findings: added, Failures: r.Failures, Files: r.Files, Releases: r.Releases, Providers: r.Providers}, outs, lint.Error+1, report.Options{}); err != nil && len(r.Failures) == 0 {
			return err
		}
		for _, f := range gone {
			fmt.Fprintf(a.text, "%s %s:%d:%d: %s [%s]\n", a.style.Bold("resolved:"), f.File, f.Pos.Line, f.Pos.Column, f.Message, f.Rule.ID)
		}
		a.say("%s: %d new, %d resolved, %d in total (%s)", time.Now().Format(time.TimeOnly), len(added), len(gone), len(r.Findings), time.Since(start).Round(time.Millisecond))
		before = r
	}
}

// changes returns the findings that only one of two reports has.
func changes(before, after *lint.Report) (added, gone []lint.Finding) {
	without := func(findings, others []lint.Finding) []lint.Finding {
		known := map[string]bool{}
		for _, f := range others {
			known[f.Fingerprint] = true
		}
		return slices.DeleteFunc(slices.Clone(findings), func(f lint.Finding) bool { return known[f.Fingerprint] })
	}
	return without(after.Findings, before.Findings), without(before.Findings, after.Findings)
}

// stamp tells versions of a file apart without reading it.
type stamp struct {
	size     int64
	modified time.Time
}

// files lists the files of the targets. What cannot be looked at counts as absent.
func (a *app) files(targets []string) map[string]stamp {
	out := map[string]stamp{}
	for _, target := range targets {
		_ = filepath.WalkDir(a.path(target), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case e.IsDir() && e.Name() == ".git":
				return fs.SkipDir
			case !e.Type().IsRegular():
				return nil
			}
			if info, err := e.Info(); err == nil {
				out[path] = stamp{info.Size(), info.ModTime()}
			}
			return nil
		})
	}
	return out
}

func sameFiles(a, b map[string]stamp) bool {
	if len(a) != len(b) {
		return false
	}
	for name, s := range a {
		if t, ok := b[name]; !ok || t.size != s.size || !t.modified.Equal(s.modified) {
			return false
		}
	}
	return true
}
