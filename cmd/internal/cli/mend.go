package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// maxRounds of mending: an edit can bring another fault to light.
const maxRounds = 5

// mend makes the edits of findings and lints again, until none is left.
func (a *app) mend(ctx context.Context, r *lint.Report, repositories []*repo.Repository, args []string, o check.Options) (*lint.Report, []*repo.Repository, error) {
	for range maxRounds {
		n, err := a.edit(ctx, r)
		if err != nil || n == 0 {
			return r, repositories, err
		}
		if r, repositories, err = a.lint(ctx, args, o); err != nil {
			return nil, nil, err
		}
	}
	return r, repositories, nil
}

// edit makes the edits of findings and returns how many it made. Checksums of a
// release are written anew.
func (a *app) edit(ctx context.Context, r *lint.Report) (int, error) {
	byFile := map[string][]*lint.Finding{}
	var renames []*lint.Finding
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.Edit == nil:
		case f.Edit.Rename != "":
			renames = append(renames, f)
		default:
			byFile[f.File] = append(byFile[f.File], f)
		}
	}
	done := 0
	for _, name := range sorted(byFile) {
		if err := a.mayChange(name); err != nil {
			return done, err
		}
	}
	for _, f := range renames {
		if err := a.mayChange(f.File); err != nil {
			return done, err
		}
	}
	for _, name := range sorted(byFile) {
		n, err := a.editFile(ctx, name, byFile[name])
		if err != nil {
			return done, err
		}
		done += n
	}
	for _, f := range renames {
		from := a.path(f.File)
		to := filepath.Join(filepath.Dir(from), f.Edit.Rename)
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			a.say("not renamed: %s, because %s exists", f.File, a.short(to))
			continue
		}
		if err := os.Rename(from, to); err != nil {
			return done, fmt.Errorf("rename %s: %w", f.File, cause(err))
		}
		a.say("renamed %s to %s [%s]", f.File, f.Edit.Rename, f.Rule.ID)
		done++
	}
	return done, nil
}

// mayChange refuses a file that something next to it attests.
func (a *app) mayChange(name string) error {
	for _, attests := range []string{layouts.SignatureFile, layouts.ProvenanceFile, layouts.SignedProvenanceFile} {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(a.path(name)), attests)); err == nil {
			return usagef("--fix: %s stands next to %s, which would no longer be true; fix the source tree and build again", name, attests)
		}
	}
	return nil
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

func (a *app) editFile(ctx context.Context, name string, findings []*lint.Finding) (int, error) {
	data, err := a.readFile(name)
	if err != nil {
		return 0, err
	}
	slices.SortStableFunc(findings, func(x, y *lint.Finding) int {
		return cmp.Or(cmp.Compare(x.Edit.Start, y.Edit.Start), cmp.Compare(x.Edit.End, y.Edit.End))
	})
	var out bytes.Buffer
	at, n := 0, 0
	var last *lint.Edit
	for _, f := range findings {
		e := f.Edit
		if e.Start < at || e.End < e.Start || e.End > len(data) || last != nil && *last == *e {
			continue // overlaps an edit that was made; the next round may make it
		}
		out.Write(data[at:e.Start])
		out.WriteString(e.Text)
		at, last = e.End, e
		n++
		a.say("fixed %s:%d:%d: %s [%s]", f.File, f.Pos.Line, f.Pos.Column, f.Message, f.Rule.ID)
	}
	out.Write(data[at:])
	sums, err := a.checksums(ctx, name)
	if err != nil {
		return 0, err
	}
	if err := a.writeFile(name, out.Bytes()); err != nil {
		return 0, err
	}
	return n, sums()
}

// checksums prepares to write the checksums next to a file that will be changed
// anew. Nothing is done if there are none, or if they are wrong already.
func (a *app) checksums(ctx context.Context, name string) (after func() error, err error) {
	dir := filepath.Dir(a.path(name))
	nothing := func() error { return nil }
	compute := func() ([]byte, error) {
		r := &repo.Release{Path: dir}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || e.Name() == layouts.ChecksumFile {
				continue
			}
			data, err := a.readFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			r.Artifacts = append(r.Artifacts, repo.BytesArtifact(e.Name(), data))
		}
		r.Sort()
		return repo.Checksums(ctx, r)
	}
	file := filepath.Join(dir, layouts.ChecksumFile)
	there, err := os.ReadFile(file)
	if err != nil {
		return nothing, nil // a source tree, or a release without checksums
	}
	if right, err := compute(); err != nil || !bytes.Equal(there, right) {
		return nothing, err
	}
	return func() error {
		data, err := compute()
		if err != nil {
			return err
		}
		return a.writeFile(file, data)
	}, nil
}
