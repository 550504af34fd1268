package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
)

// maxRounds of fixing: an edit can make room for another one.
const maxRounds = 5

// Fixed is what Fix changed, or would change.
type Fixed struct {
	// Before is what was found at first, After what is found now.
	Before, After *Result
	// Changed are the changed files, sorted by name, with their content.
	Changed []FixedFile
	// Fixes are the findings that were fixed, in the order in which that was done.
	Fixes []*lint.Finding
	// Refused are the edits that were not made.
	Refused []unfixed
	// Renamed are the new paths of files and folders by their old ones.
	Renamed map[string]string
}

// FixedFile is the content of a file before and after.
type FixedFile struct {
	Name     string
	Old, New []byte
}

// Fix checks a folder, applies the fixes of findings whose fingerprints are not
// known, and checks it again. Nothing is written unless write is set. A fix is
// refused if the file is not the one that was checked, if another value would
// change, or if it would bring a new finding; each file is changed with all its
// other fixes, in one step, or not at all. The checksums next to a changed file
// are rewritten if they were right; what a signature covers is not changed, which is
// an error.
func Fix(ctx context.Context, dir string, o Options, known map[string]bool, write bool) (*Fixed, error) {
	o.edits = true
	before, err := Folder(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	f := &fixing{ctx: ctx, dir: dir, opts: o, known: known, disk: map[string][]byte{}, memory: map[string][]byte{}, names: map[string][]string{}, barred: map[string]bool{}, seen: fingerprints(before)}
	f.out = &Fixed{Before: before, After: before, Renamed: map[string]string{}}
	for range maxRounds {
		again, err := f.round()
		if err != nil {
			return nil, err
		}
		if !again {
			break
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.memory)) {
		if !bytes.Equal(f.disk[key], f.memory[key]) {
			f.out.Changed = append(f.out.Changed, FixedFile{f.names[key][0], f.disk[key], f.memory[key]})
		}
	}
	if write {
		if err := f.write(); err != nil {
			return nil, err
		}
	}
	return f.out, f.rename(write)
}

// fixing is the work on one folder. Files go by where they really are.
type fixing struct {
	ctx   context.Context
	dir   string
	opts  Options
	known map[string]bool
	out   *Fixed
	// seen are the fingerprints at the beginning.
	seen map[string]bool
	// disk is the content at the beginning, memory what it becomes.
	disk, memory map[string][]byte
	// names are the names that findings have for a file.
	names  map[string][]string
	barred map[string]bool
}

func fingerprints(r *Result) map[string]bool {
	out := map[string]bool{}
	for _, f := range r.Report.Findings {
		out[f.Fingerprint] = true
	}
	return out
}

// round makes the edits of the findings there are now. It is false if there was
// nothing to do.
func (f *fixing) round() (bool, error) {
	byFile := map[string][]*lint.Finding{}
	for i := range f.out.After.Report.Findings {
		finding := &f.out.After.Report.Findings[i]
		if finding.Edit == nil || finding.Edit.Rename != "" || f.known[finding.Fingerprint] {
			continue
		}
		key, err := locate(f.dir, filepath.FromSlash(finding.File))
		if err != nil {
			f.refuse(finding, err.Error())
			continue
		}
		if f.barred[key] {
			continue
		}
		if err := attested(finding.File); err != nil {
			return false, err
		}
		if !slices.Contains(f.names[key], finding.File) {
			f.names[key] = append(f.names[key], finding.File)
		}
		byFile[key] = append(byFile[key], finding)
	}
	var keys []string
	plans := map[string]*plan{}
	for _, key := range slices.Sorted(maps.Keys(byFile)) {
		data, err := f.content(key)
		if err != nil {
			f.refuse(byFile[key][0], err.Error())
			continue
		}
		p := planned(string(data), byFile[key])
		for _, r := range p.refused {
			f.refuse(r.Finding, r.Reason)
		}
		if len(p.fixed) > 0 {
			plans[key], keys = p, append(keys, key)
		} else if len(p.refused) > 0 {
			f.barred[key] = true
		}
	}
	if len(keys) == 0 {
		return false, nil
	}
	return true, f.accept(keys, plans)
}

func (f *fixing) refuse(finding *lint.Finding, reason string) {
	for _, r := range f.out.Refused {
		if r.Finding.Fingerprint == finding.Fingerprint {
			return
		}
	}
	f.out.Refused = append(f.out.Refused, unfixed{Finding: finding, Reason: reason})
}

// content is that of a file as far as it was fixed.
func (f *fixing) content(key string) ([]byte, error) {
	if data, ok := f.memory[key]; ok {
		return data, nil
	}
	data, err := files.Read(key)
	if err == nil {
		f.disk[key] = data
	}
	return data, err
}

// accept keeps the plans that bring no new finding: all of them, or else those
// that do not by themselves.
func (f *fixing) accept(keys []string, plans map[string]*plan) error {
	r, fresh, err := f.with(keys, plans)
	if err != nil {
		return err
	}
	if fresh == nil {
		f.keep(keys, plans, r)
		return nil
	}
	if len(keys) == 1 {
		f.barred[keys[0]] = true
		for _, finding := range plans[keys[0]].fixed {
			f.refuse(finding, fmt.Sprintf("the file would then have a new finding: %s [%s]", fresh.Message, fresh.Rule.ID))
		}
		return nil
	}
	half := len(keys) / 2
	if err := f.accept(keys[:half], plans); err != nil {
		return err
	}
	return f.accept(keys[half:], plans)
}

func (f *fixing) keep(keys []string, plans map[string]*plan, r *Result) {
	for _, key := range keys {
		f.memory[key] = []byte(plans[key].new)
		f.out.Fixes = append(f.out.Fixes, plans[key].fixed...)
	}
	f.out.After = r
}

// with checks the folder with further fixed files, and returns a finding that
// was not there before, if there is one.
func (f *fixing) with(keys []string, plans map[string]*plan) (*Result, *lint.Finding, error) {
	root, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return nil, nil, err
	}
	content := maps.Clone(f.memory)
	for _, key := range keys {
		content[key] = []byte(plans[key].new)
	}
	overlay := map[string][]byte{}
	for key, data := range content {
		rel, err := filepath.Rel(root, key)
		if err != nil {
			return nil, nil, err
		}
		overlay[filepath.ToSlash(rel)] = data
		for _, name := range f.names[key] {
			if rel, err := filepath.Rel(f.dir, filepath.FromSlash(name)); err == nil {
				overlay[filepath.ToSlash(rel)] = data
			}
		}
	}
	r, err := f.again(f.dir, overlay)
	if f.ctx.Err() != nil {
		return nil, nil, context.Cause(f.ctx)
	}
	if err != nil {
		// What worked before the edit does not work after it.
		return nil, &lint.Finding{Rule: &lint.Rule{ID: "LINT003"}, Message: err.Error()}, nil
	}
	return r, f.fresh(r), nil
}

// again checks a folder once more, with other content for some files.
func (f *fixing) again(dir string, overlay map[string][]byte) (*Result, error) {
	o := f.opts
	o.Source.Note, o.Source.Overlay = nil, overlay
	return Folder(f.ctx, dir, o)
}

// fresh returns a finding that was not there at the beginning.
func (f *fixing) fresh(r *Result) *lint.Finding {
	for i := range r.Report.Findings {
		if !f.seen[r.Report.Findings[i].Fingerprint] {
			return &r.Report.Findings[i]
		}
	}
	return nil
}

// attested refuses a file that a signature next to it covers.
func attested(name string) error {
	if _, err := os.Lstat(filepath.Join(filepath.Dir(filepath.FromSlash(name)), layouts.SignatureFile)); err == nil {
		return wrong(fmt.Errorf("%s cannot be fixed: %s next to it would no longer be true; "+
			"fix the source tree and build again", name, layouts.SignatureFile))
	}
	return nil
}

// write replaces the changed files, and undoes that if what is then on the disk
// is not what was foreseen.
func (f *fixing) write() error {
	return f.replaceAll(func() error {
		r, err := f.again(f.dir, nil)
		if err != nil {
			return err
		}
		if fresh := f.fresh(r); fresh != nil {
			return fmt.Errorf("%s: nothing was fixed, because there would be a new finding: %s [%s]", fresh.File, fresh.Message, fresh.Rule.ID)
		}
		f.out.After = r
		return nil
	})
}

// replaceAll writes the changed files and their checksums, and undoes that if one
// cannot be written or if verify fails afterwards.
func (f *fixing) replaceAll(verify func() error) error {
	type written struct {
		key      string
		old, new []byte
	}
	var done []written
	undo := func(err error) error {
		for _, w := range slices.Backward(done) {
			err = errors.Join(err, files.Replace(w.key, w.new, w.old))
		}
		return err
	}
	replace := func(key string, old, content []byte) error {
		if bytes.Equal(old, content) {
			return nil
		}
		if err := files.Replace(key, old, content); err != nil {
			return err
		}
		done = append(done, written{key, old, content})
		return nil
	}
	sums := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(f.memory)) {
		if f.ctx.Err() != nil {
			return undo(context.Cause(f.ctx))
		}
		dir := filepath.Dir(filepath.FromSlash(f.names[key][0]))
		if _, ok := sums[dir]; !ok {
			sums[dir] = summed(f.ctx, dir)
		}
		if err := replace(key, f.disk[key], f.memory[key]); err != nil {
			return undo(err)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(sums)) {
		if !sums[dir] {
			continue
		}
		old, err := files.Read(filepath.Join(dir, layouts.ChecksumFile))
		if err != nil {
			return undo(err)
		}
		content, err := checksums(f.ctx, dir)
		if err != nil {
			return undo(err)
		}
		key, err := filepath.EvalSymlinks(filepath.Join(dir, layouts.ChecksumFile))
		if err != nil {
			return undo(err)
		}
		if err := replace(key, old, content); err != nil {
			return undo(err)
		}
	}
	if len(done) == 0 {
		return nil
	}
	if err := verify(); err != nil {
		return undo(err)
	}
	return nil
}

// summed reports whether a folder is a release whose checksums are right.
func summed(ctx context.Context, dir string) bool {
	there, err := files.Read(filepath.Join(dir, layouts.ChecksumFile))
	if err != nil {
		return false // a source tree, or a release without checksums
	}
	right, err := checksums(ctx, dir)
	return err == nil && bytes.Equal(there, right)
}

// checksums are those of the files in a folder.
func checksums(ctx context.Context, dir string) ([]byte, error) {
	r, err := folder.Flat(ctx, dir)
	if err != nil {
		return nil, err
	}
	return repo.Checksums(ctx, r)
}

// rename gives files and folders the names that findings propose, unless that
// brings a new finding.
func (f *fixing) rename(write bool) error {
	for _, finding := range f.out.Before.Report.Findings {
		if finding.Edit == nil || finding.Edit.Rename == "" || f.known[finding.Fingerprint] {
			continue
		}
		if err := attested(path.Join(finding.File, layouts.MetadataFile)); err != nil {
			return err
		}
		from := filepath.FromSlash(finding.File)
		to := filepath.Join(filepath.Dir(from), finding.Edit.Rename)
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			f.refuse(&finding, fmt.Sprintf("%s exists", to))
			continue
		}
		f.out.Renamed[from] = to
		f.out.Fixes = append(f.out.Fixes, &finding)
		if !write {
			continue
		}
		if err := os.Rename(from, to); err != nil {
			return fmt.Errorf("rename %s: %w", from, err)
		}
		dir := f.dir
		if filepath.Clean(dir) == filepath.Clean(from) {
			dir = to
		}
		r, err := f.again(dir, nil)
		if err == nil && f.fresh(r) == nil {
			f.out.After, f.dir = r, dir
			continue
		}
		if undo := os.Rename(to, from); undo != nil {
			return errors.Join(err, undo)
		}
		delete(f.out.Renamed, from)
		f.out.Fixes = f.out.Fixes[:len(f.out.Fixes)-1]
		reason := "the folder would then have a new finding"
		if err != nil {
			reason = err.Error()
		} else if fresh := f.fresh(r); fresh != nil {
			reason += fmt.Sprintf(": %s [%s]", fresh.Message, fresh.Rule.ID)
		}
		f.refuse(&finding, reason)
	}
	return nil
}

// locate returns where a file below root really is, with symbolic links
// followed. The error says if that is outside of root.
func locate(root, name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", files.Cause(err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", files.Cause(err)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", errors.New("a symbolic link leads out of the folder")
	}
	return real, nil
}
